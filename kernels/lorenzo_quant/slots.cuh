// LorenzoQuant, encoders in three dimensions: where the entries of bricks go.
//
// A slot is a part of a brick whose elements are contiguous in the array: a row of the brick; all rows of a plane
// of it, if the array is no wider than a brick; the brick, if the array has no more rows either. Encoders count the
// entries of slots, another launch finds the number of entries before each slot.
#pragma once
#include "huffman/params.h"
#include "lorenzo_quant/bricks.cuh"
#include "lorenzo_quant/tallies.cuh"

namespace fz {
namespace lorenzo_quant {
// The slots of a brick, and their number in all bricks, below 2^32.
template <class T> FZ_DEV uint32_t slots_of(const Brick<T>& b) { return b.across > 1 ? SIDE * SIDE : b.down > 1 ? SIDE : 1; }
template <class T> FZ_DEV uint64_t all_slots(const Brick<T>& b) {
  const uint64_t n = b.across > 1 ? b.across * b.ny * b.nz : b.down > 1 ? b.down * b.nz : b.all;
  return (n + SLOTS_EACH - 1) / SLOTS_EACH * SLOTS_EACH;
}
// The slot of row `r` of plane `z`. Slots ascend as the elements do.
template <class T> FZ_DEV uint32_t slot_at(const Brick<T>& b, uint32_t z, uint32_t r) {
  const uint32_t across = (uint32_t)b.across, down = (uint32_t)b.down;
  if (across > 1) return ((b.z + z) * b.ny + b.y + r) * across + b.x / Brick<T>::WIDTH;  // seed: slot-row
  return down > 1 ? (b.z + z) * down + b.y / SIDE : b.z / SIDE;
}

// Memory of a call.
struct Slots {
  uint64_t count;
  // Zero when the call starts. States of the blocks that add up the counts, for both kinds of entries; numbers of
  // outliers of each slot in the lower halves, of exact values in the upper ones; counts of all codes, in the layout of
  // huffman::HuffmanCounts.
  uint64_t* states[2];
  uint32_t* here;
  uint8_t* codes;
  // Entries of both kinds before each slot.
  uint2* before;

  template <class T> FZ_DEV Slots(const Args& a, const Brick<T>& b) : count(all_slots(b)) {
    const uint64_t blocks = (count + SLOTS_OF_BLOCK - 1) / SLOTS_OF_BLOCK;
    states[0] = reinterpret_cast<uint64_t*>(a.zeroed + sizeof(Totals));
    states[1] = states[0] + blocks;
    here = reinterpret_cast<uint32_t*>(states[1] + blocks);
    codes = reinterpret_cast<uint8_t*>(here + count);
    before = reinterpret_cast<uint2*>(a.scratch);
  }
};

// Numbers of entries that a warp has found, equal in all lanes.
struct Tally {
  uint32_t outliers = 0, exact = 0;
  // Flags of this lane in row `r` of plane `z`. All lanes call it.
  template <class T> FZ_DEV void add(uint32_t* here, const Brick<T>& b, uint32_t z, uint32_t r, uint32_t out, uint32_t kept) {
    const uint32_t n = __popc(out) | (uint32_t)__popc(kept) << 16;
    if (!__any_sync(ALL, n != 0)) return;
    const uint32_t sum = __reduce_add_sync(ALL, n);
    outliers += sum & 0xffff;
    exact += sum >> 16;
    if ((threadIdx.x & 31) == 0) atomicAdd(&here[slot_at(b, z, r)], sum);
  }
  FZ_DEV void close(uint64_t totals) const {
    if ((threadIdx.x & 31) != 0) return;
    if (outliers) atomicAdd(reinterpret_cast<unsigned long long*>(totals + offsetof(Totals, outliers)), (unsigned long long)outliers);
    if (exact) atomicAdd(reinterpret_cast<unsigned long long*>(totals + offsetof(Totals, exact)), (unsigned long long)exact);
  }
};

// Adds the counts of a block, of `symbols` codes.
FZ_DEV void add_counts(const Args& a, const LorenzoQuantParams& p, const uint32_t* shared, uint32_t symbols) {
  __syncthreads();
  uint32_t* all = reinterpret_cast<uint32_t*>(Slots(a, Brick<float>(p)).codes + huffman::COUNTS_AT);
  for (uint32_t i = threadIdx.x; i < symbols; i += blockDim.x) {
    uint32_t found = shared[i];
    // Elements beyond the array are zeros.
    if (i == 0 && blockIdx.x == 0) found += (uint32_t)(output(a, 0).max / p.code - p.count);
    if (found) atomicAdd(&all[i], found);
  }
}
}  // namespace lorenzo_quant
}  // namespace fz
