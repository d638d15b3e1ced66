// Stage multilevel, encoder: the places of the runs of a section.
#pragma once
#include "common/scan.cuh"
#include "multilevel/memory.cuh"

namespace fz {
namespace multilevel {
struct PlaceMemory {
  uint64_t sums[32];
  uint32_t most[32], width;
  uint64_t before;
};

// All threads of a block must call the function. Returns the number of runs that did not fit into their slots, of those that this
// thread looked at.
FZ_DEV uint32_t find_places(Coding& c, const uint32_t* sizes, uint64_t* places, PlaceMemory& own) {
  const uint32_t count = c.mask_runs + c.runs;
  uint32_t most = 0, overflows = 0;
  for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
    most = max(most, sizes[i]);
    overflows += sizes[i] > (i < c.mask_runs ? c.mask_room : c.room);
  }
  most = block_scan_to<Most>(most, own.most);
  if (threadIdx.x == blockDim.x - 1) own.width = 32 - __clz((int)most);
  __syncthreads();
  const uint32_t head = 2 + (c.has_masks ? 2 : 0) + (uint32_t)(((uint64_t)count * own.width + 15) / 16) + c.table_words;
  uint64_t before = head;
#pragma unroll 1
  for (uint32_t from = 0; from < count; from += blockDim.x) {
    const uint32_t i = from + threadIdx.x;
    const uint64_t words = i < count ? sizes[i] : 0, upto = block_sum_to(words, own.sums);
    if (i < count) places[i] = before + upto - words;
    if (threadIdx.x == blockDim.x - 1) own.before = before + upto;
    __syncthreads();
    before = own.before;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    c.width = own.width;
    c.head = head;
    c.list = before;
    c.words = before;
  }
  return overflows;
}
}  // namespace multilevel
}  // namespace fz
