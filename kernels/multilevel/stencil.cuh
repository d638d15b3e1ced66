// Stage multilevel: the stencil of a level, from the costs of a sample.
#pragma once
#include "multilevel/memory.cuh"

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
// In place of `cancelled`: whether the encoder codes a level in its sections. Many launches have no level, so the loads overlap.
FZ_DEV bool is_level(const Args& a, const MultilevelParams& p, const Plan& plan, uint32_t level) {
  const unsigned long long failed = failure(a);
  const uint32_t differences = reinterpret_cast<const MultilevelMetadata*>(address(input(a, 1)))->differences, ends = plan.base_ends;
  return !cancelled(a, failed) && elements(p) > 0 && differences == 0 && level <= ends;
}
// The distance between the points of a sample of about `most` out of `count` points, as in src/stages/multilevel/stencil.rs.
FZ_DEV uint32_t sample_stride(uint32_t count, uint32_t most) { return max(1u, count / most) | 1; }
}  // namespace multilevel
}  // namespace fz
