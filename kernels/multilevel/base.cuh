// Stage multilevel: the points of the base section: roots, and levels of few points.
#pragma once
#include "multilevel/memory.cuh"
#include "multilevel/predict.cuh"

namespace fz {
namespace multilevel {
// The grid of the base section: points at multiples of 2^ends of the interpolated axes.
struct BaseGrid {
  const Shape& shape;
  uint32_t ends, n[3];
  FZ_DEV BaseGrid(const Shape& s, uint32_t base_ends) : shape(s), ends(base_ends) {
    for (int d = 0; d < 3; d++) n[d] = s.grid(d, base_ends);
  }
  FZ_DEV uint32_t count() const { return n[0] * n[1] * n[2]; }
  // `root` is the place of a root in the grid, and `root_element` its place in the array.
  FZ_DEV uint32_t roots_along_y() const { return shape.has(1) ? 1 : shape.n[1]; }
  FZ_DEV uint32_t root(uint32_t i) const { return (i / roots_along_y() * n[1] + i % roots_along_y()) * n[0]; }
  FZ_DEV uint64_t root_element(uint32_t i) const {
    return ((uint64_t)(i / roots_along_y()) * shape.n[1] + i % roots_along_y()) * shape.n[0];
  }
  // The element of the array at a place of the grid.
  FZ_DEV uint64_t element(uint32_t place) const {
    const uint32_t x = place % n[0], y = place / n[0] % n[1], z = place / n[0] / n[1];
    auto of = [&](int d, uint32_t i) -> uint64_t { return shape.has(d) ? (uint64_t)i << ends : i; };
    return (of(2, z) * shape.n[1] + of(1, y)) * shape.n[0] + of(0, x);
  }
  // The index of a place of the grid among the known points of the first level that is a section.
  FZ_DEV uint64_t known(uint32_t place) const {
    const uint32_t x = place % n[0], y = place / n[0] % n[1], z = place / n[0] / n[1];
    const uint32_t rows = shape.grid(1, ends - 1), length = halved(shape.n[0], ends);
    return ((uint64_t)(shape.has(2) ? 2 * z : z) * rows + (shape.has(1) ? 2 * y : y)) * length + x;
  }
};

// The points of a pass in the base grid. If `coarse`, only the points whose taps are in coarser levels: the sample for the stencil.
struct BasePass {
  uint32_t axis, unit, points[3], spacing[3], stride, known;
  FZ_DEV BasePass(const BaseGrid& g, uint32_t level, int of_axis, bool coarse) : axis(of_axis), unit(1u << (level - 1 - g.ends)) {
    const Shape& s = g.shape;
    for (int d = 0; d < 3; d++) {
      const bool fine = d > of_axis && !coarse;
      points[d] = !s.has(d) || d == of_axis ? s.points(level, of_axis, d) : halved(s.n[d], fine ? level - 1 : level);
      spacing[d] = !s.has(d) ? 1 : fine ? unit : 2 * unit;
    }
    stride = axis == 0 ? 1 : axis == 1 ? g.n[0] : g.n[0] * g.n[1];
    known = halved(s.n[axis], level);
  }
  FZ_DEV uint32_t count() const { return points[0] * points[1] * points[2]; }
  // Returns the place of a point in the grid; `along` becomes its number along the axis.
  FZ_DEV uint32_t place(const BaseGrid& g, uint32_t i, uint32_t& along) const {
    const uint32_t at[3] = {i % points[0], i / points[0] % points[1], i / points[0] / points[1]};
    along = axis == 0 ? at[0] : axis == 1 ? at[1] : at[2];
    return (at[2] * spacing[2] * g.n[1] + at[1] * spacing[1]) * g.n[0] + at[0] * spacing[0] + unit * stride;
  }
  template <class T> FZ_DEV void taps(const T* grid, uint32_t place, uint32_t along, T (&t)[8]) const {
    const int apart = (int)(2 * unit * stride), first = (int)place - (int)(unit * stride);
#pragma unroll
    for (int j = 0; j < 8; j++) {
      const int i = (int)along + j - 3;
      t[j] = i >= 0 && i < (int)known ? grid[first + (j - 3) * apart] : T(0);
    }
  }
};
}  // namespace multilevel
}  // namespace fz
