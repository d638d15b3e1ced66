// Stage multilevel: the element of the array for a point of a section. Only exact values require it, which are few.
#pragma once
#include "multilevel/base.cuh"

namespace fz {
namespace multilevel {
// The element of point `i` of a pass.
FZ_DEV uint64_t pass_element(const Shape& shape, uint32_t level, uint32_t axis, uint32_t i) {
  const uint32_t n0 = shape.points(level, axis, 0), n1 = shape.points(level, axis, 1), spacing = 1u << (level - 1);
  const uint32_t at[3] = {i % n0, i / n0 % n1, i / n0 / n1};
  uint64_t element = 0;
  for (int d = 2; d >= 0; d--) {
    const uint64_t apart = !shape.has(d) ? 1 : d > (int)axis ? spacing : 2 * spacing;
    element = element * shape.n[d] + at[d] * apart + (d == (int)axis ? spacing : 0);
  }
  return element;
}

FZ_APART uint64_t element_of(const Plan& plan, const Section& s, uint32_t i) {
  const Shape& shape = plan.shape;
  if (s.kind == DIFFERENCES) return i;
  if (s.kind == PASS) return pass_element(shape, s.level, s.axis, i);
  const uint32_t roots = shape.roots();
  if (i < roots) return BaseGrid(shape, plan.base_ends).root_element(i);
  i -= roots;
  for (uint32_t level = plan.levels; level > plan.base_ends; level--)
    for (int axis = 2; axis >= 0; axis--) {
      if (!shape.has_pass(level, axis)) continue;
      const uint32_t count = shape.points(level, axis, 0) * shape.points(level, axis, 1) * shape.points(level, axis, 2);
      if (i < count) return pass_element(shape, level, axis, i);
      i -= count;
    }
  return 0;
}
}  // namespace multilevel
}  // namespace fz
