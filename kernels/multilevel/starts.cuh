// Stage multilevel: the starts of the runs of a section, from the masks of its batches.
#pragma once
#include "common/scan.cuh"
#include "multilevel/memory.cuh"

namespace fz {
namespace multilevel {
constexpr uint32_t START_THREADS = 1024, START_BATCHES = 16;

// The mask of the steps of a batch that are in runs.
FZ_DEV uint32_t busy_of(const Section& s, uint32_t mask, uint32_t batch) {
  if (s.kind == DIFFERENCES) return mask ? s.all(batch) : 0;
  return mask;
}

// All threads of a block must call the function, which returns the number of steps in the runs. If a mask has a step that does
// not exist, `bad` becomes true in some thread.
FZ_DEV uint32_t find_starts(const Section& s, const Coding& c, const uint8_t* masks, uint32_t* starts, uint32_t limit, uint32_t* words, bool& bad) {
  uint32_t before = 0;
#pragma unroll 1
  for (uint32_t from = 0; from < s.batches; from += START_THREADS * START_BATCHES) {
    const uint32_t first = from + threadIdx.x * START_BATCHES;
    // The loads are aligned: the masks of a section start at a multiple of 256.
    const uint4 q = first < s.batches ? *reinterpret_cast<const uint4*>(masks + first) : make_uint4(0, 0, 0, 0);
    const uint32_t w[4] = {q.x, q.y, q.z, q.w};
    uint32_t count = 0;
    uint8_t busy[START_BATCHES];
#pragma unroll
    for (uint32_t k = 0; k < START_BATCHES; k++) {
      const uint32_t mask = first + k < s.batches ? w[k / 4] >> 8 * (k % 4) & 255 : 0;
      if (mask && s.kind != DIFFERENCES) bad |= (mask & ~s.all(first + k)) != 0;
      busy[k] = mask ? (uint8_t)busy_of(s, mask, first + k) : 0;
      count += __popc(busy[k]);
    }
    const uint32_t upto = block_sum_to(count, words);
    // Finds the runs whose first step is in these batches. There may be several short ones in a batch.
    uint32_t sum = before + upto - count, run = (sum + c.per_run - 1) / c.per_run, next = run * c.per_run;
    if (next < sum + count) {
#pragma unroll
      for (uint32_t k = 0; k < START_BATCHES; k++) {
        const uint32_t own = __popc(busy[k]);
        while (next < sum + own) {
          uint32_t left = next - sum, mask = busy[k];
          while (left--) mask &= mask - 1;
          if (run < limit) starts[run] = (first + k) * BATCH + __ffs((int)mask) - 1;
          run++;
          next += c.per_run;
        }
        sum += own;
      }
    }
    __shared__ uint32_t total;
    if (threadIdx.x == START_THREADS - 1) total = upto;
    __syncthreads();
    before += total;
    __syncthreads();
  }
  return before;
}
}  // namespace multilevel
}  // namespace fz
