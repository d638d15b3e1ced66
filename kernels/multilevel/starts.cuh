// Stage multilevel: the starts of the runs of a section, from the masks of its batches.
#pragma once
#include "common/scan.cuh"
#include "multilevel/memory.cuh"

namespace fz {
namespace multilevel {
// Consecutive batches of a thread.
constexpr uint32_t START_BATCHES = 16;

// The mask of the steps of a batch that are in runs.
FZ_DEV uint32_t busy_of(const Section& s, uint32_t mask, uint32_t batch) {
  if (s.kind == DIFFERENCES) return mask ? s.all(batch) : 0;
  return mask;
}

// The masks of consecutive batches that a thread has, four in a word.
struct StartMasks {
  uint32_t first, w[START_BATCHES / 4];
  // The loads are aligned: the masks of a section start at a multiple of 256.
  FZ_DEV StartMasks(const Section& s, const uint8_t* masks, uint32_t from) : first(from + threadIdx.x * START_BATCHES) {
    const uint4 q = first < s.batches ? *reinterpret_cast<const uint4*>(masks + first) : make_uint4(0, 0, 0, 0);
    w[0] = q.x;
    w[1] = q.y;
    w[2] = q.z;
    w[3] = q.w;
  }
  // Replaces the masks by those of the steps in runs. Returns true if a mask has a step that does not exist.
  FZ_DEV bool check(const Section& s) {
    bool bad = false;
#pragma unroll
    for (uint32_t k = 0; k < START_BATCHES; k++) {
      const uint32_t shift = 8 * (k % 4), mask = first + k < s.batches ? w[k / 4] >> shift & 255 : 0, all = mask ? s.all(first + k) : 0;
      if (s.kind != DIFFERENCES) bad |= (mask & ~all) != 0;
      w[k / 4] = (w[k / 4] & ~(255u << shift)) | (mask ? busy_of(s, mask, first + k) : 0) << shift;
    }
    return bad;
  }
  FZ_DEV uint32_t count() const { return __popc(w[0]) + __popc(w[1]) + __popc(w[2]) + __popc(w[3]); }
  // The place of a step, 8 · batch + step. `before` steps of this thread are before it.
  FZ_DEV uint32_t place(uint32_t before) const {
    uint32_t mask = w[0], at = first;
    bool behind = true;
#pragma unroll
    for (uint32_t k = 1; k < START_BATCHES / 4; k++) {
      const uint32_t own = __popc(mask);
      behind &= before >= own;
      before -= behind ? own : 0;
      mask = behind ? w[k] : mask;
      at += behind ? 4 : 0;
    }
    while (before--) mask &= mask - 1;
    return at * BATCH + __ffs((int)mask) - 1;
  }
};

// All threads of a block must call the function, which returns the number of steps in the runs. If a mask has a step that does
// not exist, `bad` becomes true in some thread.
FZ_DEV uint32_t find_starts(const Section& s, const Coding& c, const uint8_t* masks, uint32_t* starts, uint32_t limit, uint32_t* words, bool& bad) {
  // All steps exist in most sections.
  const bool whole = s.kind != DIFFERENCES && (s.in_lines() ? s.along : s.steps) % BATCH == 0 && s.batches % START_BATCHES == 0;
  const uint32_t each = blockDim.x * START_BATCHES;
  uint32_t before = 0;
  StartMasks ahead(s, masks, 0);
#pragma unroll 1
  for (uint32_t from = 0; from < s.batches; from += each) {
    StartMasks own = ahead;
    ahead = StartMasks(s, masks, from + each);
    if (!whole) bad |= own.check(s);
    const uint32_t count = own.count(), upto = block_sum_to(count, words), sum = before + upto - count;
    // The runs whose first step is one of this thread. There may be several short ones.
    for (uint32_t run = (sum + c.per_run - 1) / c.per_run; run * c.per_run < sum + count; run++)
      if (run < limit) starts[run] = own.place(run * c.per_run - sum);
    __shared__ uint32_t total;
    if (threadIdx.x == blockDim.x - 1) total = upto;
    __syncthreads();
    before += total;
    __syncthreads();
  }
  return before;
}
}  // namespace multilevel
}  // namespace fz
