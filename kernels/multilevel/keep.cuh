// Stage multilevel, encoder: tokens of points in memory, and their counts.
#pragma once
#include "multilevel/memory.cuh"
#include "multilevel/quantize.cuh"

namespace fz {
namespace multilevel {
// A token is kept with its context and its low raw bits. The other raw bits, which few points have, are kept in a separate array.
struct Keeper {
  uint16_t *kept, *more;
  FZ_DEV Keeper(const EncoderMemory& memory, uint32_t first) : kept(memory.kept + first), more(memory.more + first) {}
  FZ_DEV Token put(uint32_t i, uint32_t context, uint32_t u) const {
    const Token t = token_of(u);
    const uint32_t raw = t.bits ? u & ((1u << t.bits) - 1) : 0;
    kept[i] = (uint16_t)(t.token | context << 6 | (raw & ((1u << KEPT_BITS) - 1)) << 10);
    if (t.bits > KEPT_BITS) more[i] = (uint16_t)(raw >> KEPT_BITS);
    return t;
  }
};

// Counts of a block.
struct BlockCounts {
  uint32_t of[CONTEXTS * SYMBOLS], quiet[CONTEXTS], busy;
  unsigned long long raw;
  FZ_DEV void clear() {
    for (uint32_t i = threadIdx.x; i < CONTEXTS * SYMBOLS; i += blockDim.x) of[i] = 0;
    if (threadIdx.x < CONTEXTS) quiet[threadIdx.x] = 0;
    if (threadIdx.x == 0) busy = 0;
    if (threadIdx.x == 0) raw = 0;
    __syncthreads();
  }
  // Counts a token and returns the number of its raw bits. A thread must sum these numbers for `add_raw`, because many atomic
  // additions to one sum are slow.
  FZ_DEV uint32_t add(uint32_t context, Token t, uint32_t exact) {
    atomicAdd(&of[context * SYMBOLS + t.token], 1u);
    return t.token == EXACT ? exact : t.bits;
  }
  // All threads of a warp must call the function.
  FZ_DEV void add_raw(uint32_t bits) {
    const uint32_t sum = __reduce_add_sync(ALL, bits);
    if (sum && (threadIdx.x & 31) == 0) atomicAdd(&raw, (unsigned long long)sum);
  }
  FZ_DEV void flush(Counts& all) {
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < CONTEXTS * SYMBOLS; i += blockDim.x)
      if (of[i]) atomicAdd(&all.of[0][0] + i, of[i]);
    if (threadIdx.x < CONTEXTS && quiet[threadIdx.x]) atomicAdd(&all.quiet[threadIdx.x], quiet[threadIdx.x]);
    if (threadIdx.x == 0 && busy) atomicAdd(&all.busy, busy);
    if (threadIdx.x == 0 && raw) atomicAdd(&all.raw, raw);
  }
};
}  // namespace multilevel
}  // namespace fz
