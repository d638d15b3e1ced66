// Stage multilevel: results that the launches that resolve a call pass on to the next launch.
#pragma once
#include "multilevel/plan.cuh"
#include "multilevel/predict.cuh"

namespace fz {
namespace multilevel {
// The sets of axes in the order in which they are tried.
constexpr uint32_t SETS = 4;
struct Choice {
  MultilevelMetadata metadata;
  // The cost of a point, times 256, by axis and level.
  unsigned long long lines[3][MOST_LEVELS];
  // Sums of the costs of differences along 1, 2, and 3 axes, with the number of those other than 0 in the upper half. `unfit` is not 0
  // if differences cannot be coded.
  unsigned long long differences[3];
  uint32_t unfit;
};
static_assert(sizeof(Choice) <= CHOICE_BYTES, "as in Rust");

FZ_DEV uint32_t long_axes(const MultilevelParams& p) {
  return 1 | (p.dims[1] > 1 ? 2 : 0) | (p.dims[2] > 1 ? 4 : 0);
}
}  // namespace multilevel
}  // namespace fz
