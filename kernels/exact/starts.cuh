// Stage exact: the starts of runs, from the classes of batches, by several blocks.
#pragma once
#include "exact/early.cuh"
#include "exact/memory.cuh"
#include "multilevel/starts.cuh"

namespace fz {
namespace exact {
// Batches of a block at a time.
constexpr uint32_t START_THREADS = 1024, WIDE = START_THREADS * multilevel::START_BATCHES;

// The number of bytes other than 0.
FZ_DEV uint32_t busy_bytes(uint32_t w) { return __popc((((w & 0x7f7f7f7fu) + 0x7f7f7f7fu) | w) & 0x80808080u); }

// Every block counts the steps before its batches, all of which have BATCH ones. Blocks take turns with the parts. Returns the number
// of all steps to the block that has the last batch, and ~0 to others.
FZ_DEV uint32_t find_starts(const Part& part, const uint8_t* classes, uint32_t* starts, uint32_t* words) {
  const Section& s = part.s;
  const uint32_t per_run = part.c.per_run, runs = part.c.runs;
  __shared__ uint32_t total;
  auto all_of = [&](uint32_t upto) -> uint32_t {
    if (threadIdx.x == blockDim.x - 1) total = upto;
    __syncthreads();
    const uint32_t all = total;
    __syncthreads();
    return all;
  };
  uint32_t passed = 0, before = 0, steps = ~0u;
#pragma unroll 1
  for (uint32_t from = blockIdx.x / PARTS * WIDE; from < s.batches; from += gridDim.x / PARTS * WIDE) {
    uint32_t busy = 0;
#pragma unroll 8
    for (uint32_t at = passed; at < from; at += WIDE) {
      const uint4 q = reinterpret_cast<const uint4*>(classes + at)[threadIdx.x];
      busy += busy_bytes(q.x) + busy_bytes(q.y) + busy_bytes(q.z) + busy_bytes(q.w);
    }
    passed = from;
    before += BATCH * all_of(block_sum_to(busy, words));
    multilevel::StartMasks own(s, classes, from);
    own.check(s);
    const uint32_t count = own.count(), upto = block_sum_to(count, words), sum = before + upto - count;
    // The runs whose first step is one of this thread. There may be several short ones.
    for (uint32_t run = (sum + per_run - 1) / per_run; run * per_run < sum + count; run++)
      if (run < runs) starts[run] = own.place(run * per_run - sum);
    const uint32_t all = all_of(upto);
    if (from + WIDE >= s.batches) steps = before + all;
  }
  return steps;
}
}  // namespace exact
}  // namespace fz
