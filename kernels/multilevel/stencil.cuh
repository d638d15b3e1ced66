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
// The distance between the points of a sample of about `most` out of `count` points, as in src/stages/multilevel/stencil.rs.
FZ_DEV uint32_t sample_stride(uint32_t count, uint32_t most) { return max(1u, count / most) | 1; }
}  // namespace multilevel
}  // namespace fz
