// Stage multilevel: what the launches that resolve a call hand on to each other.
#pragma once
#include "multilevel/plan.cuh"
#include "multilevel/predict.cuh"

namespace fz {
namespace multilevel {
// The sets of axes in the order in which they are tried.
constexpr uint32_t SETS = 4;
struct Choice {
  MultilevelMetadata metadata;
  // By axis and level: the cost of a point, times 256.
  unsigned long long lines[3][MOST_LEVELS];
  // The cost of differences along 1, 2, and 3 axes, and the number of elements examined; `unfit`: differences cannot be coded.
  unsigned long long differences[3];
  uint32_t looked, unfit;
};
static_assert(sizeof(Choice) <= CHOICE_BYTES, "as in Rust");

FZ_DEV uint32_t long_axes(const MultilevelParams& p) {
  return 1 | (p.dims[1] > 1 ? 2 : 0) | (p.dims[2] > 1 ? 4 : 0);
}
}  // namespace multilevel
}  // namespace fz
