// LorenzoQuant, encoders: memory for the numbers of entries and of codes, which is zero when the call starts.
#pragma once
#include "common/lists.cuh"
#include "huffman/params.h"
#include "lorenzo_quant/multiples.cuh"

namespace fz {
namespace lorenzo_quant {
// Entries of both kinds.
struct Totals {
  uint64_t outliers, exact;
  FZ_DEV uint64_t all() const { return outliers + exact; }
};
FZ_DEV const Totals& totals(const Args& a) { return *reinterpret_cast<const Totals*>(a.zeroed); }
// Room in the lists, in entries.
FZ_DEV uint64_t room_in_lists(const Args& a, const LorenzoQuantParams& p) { return least(output(a, 2).max / p.value, output(a, 3).max / 4); }

// Entries of the tiles: outliers of all, then exact values of all.
FZ_DEV uint64_t tiles_of(const Args& a, const LorenzoQuantParams& p) {
  const uint64_t per = TILE / p.value, room = output(a, 0).max / p.code, all = room > p.count ? room : p.count;
  return (all + per - 1) / per;
}
FZ_DEV TileCount* found_of(const Args& a) { return reinterpret_cast<TileCount*>(a.zeroed + sizeof(Totals)); }

// Zeros after the entries, for a stage that reads all of the room.
FZ_DEV void clear(uint8_t* list, uint64_t from, uint64_t to, uint32_t width) {
  const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = from * width + (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < to * width; i += step) list[i] = 0;
}

// The counts of all codes, behind the counts of the tiles, in the layout of huffman::HuffmanCounts.
FZ_DEV uint8_t* counts_of(const Args& a, const LorenzoQuantParams& p) {
  const uint64_t tiles = tiles_of(a, p);
  return reinterpret_cast<uint8_t*>(found_of(a) + 2 * (tiles ? tiles : 1));
}
// Adds the counts of a block, of `symbols` codes.
FZ_DEV void add_counts(const Args& a, const LorenzoQuantParams& p, const uint32_t* shared, uint32_t symbols) {
  __syncthreads();
  uint32_t* all = reinterpret_cast<uint32_t*>(counts_of(a, p) + huffman::COUNTS_AT);
  for (uint32_t i = threadIdx.x; i < symbols; i += blockDim.x) {
    uint32_t found = shared[i];
    // Elements beyond the array are zeros.
    if (i == 0 && blockIdx.x == 0) found += (uint32_t)(output(a, 0).max / p.code - p.count);
    if (found) atomicAdd(&all[i], found);
  }
}
}  // namespace lorenzo_quant
}  // namespace fz
