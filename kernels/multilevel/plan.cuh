// Stage multilevel: the sections of an array, by the rules of src/stages/multilevel/grid.rs and
// steps.rs. Arrays on a device have fewer than 2^31 elements, so indices have 32 bits.
#pragma once
#include "common/launch.cuh"
#include "multilevel/params.h"

namespace fz {
namespace multilevel {
// The kinds of sections: the base section as one run, a pass, an array by differences, and many roots.
constexpr uint32_t BASE = 0, PASS = 1, DIFFERENCES = 2, ROOTS = 3;

// n / 2^times, rounded up.
FZ_DEV uint32_t halved(uint32_t n, uint32_t times) { return (uint32_t)(((uint64_t)n + (1ull << times) - 1) >> times); }

// A section. Codes, masks, and runs of all sections are consecutive in memory.
struct Section {
  uint32_t kind, level, axis;
  // The number of points along each axis, and of known points along the axis of the pass.
  uint32_t points[3], known;
  // The number of points and of batches of all sections before this one.
  uint32_t first_point, first_batch;
  uint32_t count, steps, batches;
  // For passes over z and y, `strips` are the strips of a row, and `along` and `per_line` the steps and batches of a line. For other
  // sections `strips` are the steps of a row.
  uint32_t strips, along, per_line;
  uint32_t pad;
  FZ_DEV bool in_lines() const { return kind == PASS && axis != 0; }
  // The mask of the steps that exist in a batch.
  FZ_DEV uint32_t all(uint32_t batch) const {
    const uint32_t left = in_lines() ? along - batch % per_line * BATCH : steps - batch * BATCH;
    return left >= BATCH ? (1u << BATCH) - 1 : (1u << left) - 1;
  }
  // The number of the first step of a batch among all steps of the section.
  FZ_DEV uint32_t first_step(uint32_t batch) const {
    return in_lines() ? batch / per_line * along + batch % per_line * BATCH : batch * BATCH;
  }
  // The batch of a step, and the place of the step in the batch.
  FZ_DEV uint32_t batch_of(uint32_t step) const { return in_lines() ? step / along * per_line + step % along / BATCH : step / BATCH; }
  FZ_DEV uint32_t place_of(uint32_t step) const { return in_lines() ? step % along % BATCH : step % BATCH; }
};

// The lengths of an array, and its interpolated axes as bits.
struct Shape {
  uint32_t n[3];
  uint32_t axes;
  Shape() = default;
  FZ_DEV Shape(const MultilevelParams& p, uint32_t of) : axes(of) {
    for (int d = 0; d < 3; d++) n[d] = (uint32_t)p.dims[d];
  }
  FZ_DEV bool has(int d) const { return axes >> d & 1; }
  FZ_DEV uint32_t elements() const { return n[0] * n[1] * n[2]; }
  FZ_DEV uint32_t levels() const {
    uint32_t longest = 1;
    for (int d = 0; d < 3; d++) longest = has(d) ? max(longest, n[d]) : longest;
    return longest > 1 ? 32 - __clz((int)(longest - 1)) : 0;
  }
  // The number of points along axis d at multiples of 2^k of the interpolated axes.
  FZ_DEV uint32_t grid(int d, uint32_t k) const { return has(d) ? halved(n[d], k) : n[d]; }
  FZ_DEV bool is_small(uint32_t k) const { return (uint64_t)grid(0, k) * grid(1, k) * grid(2, k) <= BASE_POINTS; }
  FZ_DEV uint32_t roots() const { return (has(1) ? 1 : n[1]) * (has(2) ? 1 : n[2]) * (has(0) ? min(n[0], 1u) : n[0]); }
  FZ_DEV uint32_t base_ends() const {
    const uint32_t all = levels();
    if (roots() > BASE_POINTS) return all;
    for (uint32_t k = all; k > 0; k--)
      if (!is_small(k - 1)) return k;
    return 0;
  }
  FZ_DEV bool has_pass(uint32_t level, int axis) const { return has(axis) && n[axis] > 1u << (level - 1); }
  // The number of points of a pass along axis d.
  FZ_DEV uint32_t points(uint32_t level, int axis, int d) const {
    if (!has(d)) return n[d];
    if (d == axis) return halved(n[d] - (1u << (level - 1)), level);
    return halved(n[d], d > axis ? level - 1 : level);
  }
};

constexpr uint32_t MOST_SECTIONS = 96, MOST_LEVELS = 32;
struct Plan {
  Shape shape;
  uint32_t sections, levels, base_ends, points, batches;
  Section of[MOST_SECTIONS];
  // The number of the section of a pass, by level and axis.
  uint8_t number[MOST_LEVELS][3];
  // Stencils of the base section.
  uint8_t stencil[MOST_LEVELS];
};

FZ_DEV void put_section(Plan& plan, Section s) {
  // The batches of a section start at a multiple of 256, so that 256 consecutive batches belong to one section.
  s.first_point = plan.points;
  s.first_batch = plan.batches;
  plan.points += s.count;
  plan.batches += (s.batches + 255) & ~255u;
  plan.of[plan.sections++] = s;
}

FZ_DEV Section pass_section(const Shape& shape, uint32_t level, int axis) {
  Section s = {};
  s.kind = PASS;
  s.level = level;
  s.axis = axis;
  for (int d = 0; d < 3; d++) s.points[d] = shape.points(level, axis, d);
  s.known = halved(shape.n[axis], level);
  s.count = s.points[0] * s.points[1] * s.points[2];
  s.strips = (s.points[0] + STEP - 1) / STEP;
  if (axis == 0) {
    s.steps = s.strips * s.points[1] * s.points[2];
    s.batches = (s.steps + BATCH - 1) / BATCH;
  } else {
    s.along = s.points[axis];
    s.per_line = (s.along + BATCH - 1) / BATCH;
    const uint32_t lines = s.strips * s.points[3 - axis];
    s.steps = lines * s.along;
    s.batches = lines * s.per_line;
  }
  return s;
}

// A section of `count` points in one row.
FZ_DEV Section row_section(uint32_t kind, uint32_t count) {
  Section s = {};
  s.kind = kind;
  s.count = s.points[0] = count;
  s.points[1] = s.points[2] = 1;
  s.steps = s.strips = count / STEP + (count % STEP != 0);
  s.batches = (s.steps + BATCH - 1) / BATCH;
  return s;
}

// One thread must call the function.
FZ_DEV void make_plan(Plan& plan, const MultilevelParams& p, const MultilevelMetadata& m) {
  plan.shape = Shape(p, m.axes);
  plan.sections = plan.points = plan.batches = 0;
  plan.levels = plan.base_ends = 0;
  if (m.differences > 0) {
    put_section(plan, row_section(DIFFERENCES, plan.shape.elements()));
    return;
  }
  const Shape& shape = plan.shape;
  plan.levels = shape.levels();
  plan.base_ends = shape.base_ends();
  Section base = row_section(shape.roots() > BASE_POINTS ? ROOTS : BASE, shape.roots());
  for (uint32_t level = plan.levels; level > plan.base_ends; level--)
    for (int axis = 2; axis >= 0; axis--)
      if (shape.has_pass(level, axis)) {
        const uint32_t count = shape.points(level, axis, 0) * shape.points(level, axis, 1) * shape.points(level, axis, 2);
        base.count += count;
        base.steps += (count + STEP - 1) / STEP;
      }
  base.batches = (base.steps + BATCH - 1) / BATCH;
  put_section(plan, base);
  for (uint32_t level = plan.base_ends; level > 0; level--)
    for (int axis = 2; axis >= 0; axis--)
      if (shape.has_pass(level, axis)) {
        plan.number[level][axis] = (uint8_t)plan.sections;
        put_section(plan, pass_section(shape, level, axis));
      }
}

// The section that contains a batch, where batches are numbered over all sections.
FZ_DEV uint32_t section_of(const Plan& plan, uint32_t batch) {
  uint32_t k = plan.sections - 1;
  while (k > 0 && plan.of[k].first_batch > batch) k--;
  return k;
}
}  // namespace multilevel
}  // namespace fz
