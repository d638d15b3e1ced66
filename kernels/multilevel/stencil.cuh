// Stage multilevel: the stencil of a level, from the costs of a sample.
#pragma once
#include "multilevel/ended.cuh"

namespace fz {
namespace multilevel {
FZ_DEV uint32_t stencil_of(const StencilSums& sums) {
  uint32_t best = 0;
  unsigned long long least = sums.of[0];
#pragma unroll
  for (uint32_t k = 1; k < 4; k++) {
    const unsigned long long sum = sums.of[k];
    best = sum < least ? k : best;
    least = sum < least ? sum : least;
  }
  return 2 * best + 2;
}
// The grid that codes the base section.
FZ_DEV Ended& ended_of(const EncoderMemory& memory) { return *reinterpret_cast<Ended*>(memory.sums + MOST_LEVELS); }
FZ_DEV Skips skips_of(const Args& a) { return Skips(params<MultilevelParams>(a), *reinterpret_cast<const MultilevelMetadata*>(address(input(a, 1)))); }
// The first launch behind the passes calls the function: there may be no pass that has waited.
FZ_DEV void wait_for_base(const Args& a) {
  if (skips_of(a).base) ended_of(EncoderMemory(a, params<MultilevelParams>(a))).wait();
}
// In place of `cancelled`: whether the encoder codes a level in its sections. All threads of a block must call the function. `first` is
// true in the first launch of a level.
FZ_DEV bool is_level(const Args& a, const MultilevelParams& p, const EncoderMemory& memory, uint32_t level, bool first) {
  const Skips skips = skips_of(a);
  if (skips.skips(level)) return false;
  const unsigned long long failed = failure(a);
  if (skips.base) {
    if (first && skips.waits(level)) ended_of(memory).wait();
    return !cancelled(a, failed) && elements(p) > 0;
  }
  const uint32_t differences = reinterpret_cast<const MultilevelMetadata*>(address(input(a, 1)))->differences;
  return !cancelled(a, failed) && elements(p) > 0 && differences == 0 && level <= memory.plan->base_ends;
}
// The distance between the points of a sample of about `most` out of `count` points, as in src/stages/multilevel/stencil.rs.
FZ_DEV uint32_t sample_stride(uint32_t count, uint32_t most) { return max(1u, count / most) | 1; }
}  // namespace multilevel
}  // namespace fz
