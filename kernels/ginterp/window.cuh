// Stage ginterp: a tile with its far faces in shared memory, and the order in which its points are
// predicted, as src/stages/ginterp/walk.rs.
//
// Points on a far face belong to the next tile, and both tiles predict them from the same points in
// the same way, so tiles do not depend on each other.
#pragma once
#include "ginterp/predict.cuh"

namespace fz {
namespace ginterp {
// Values of a tile of edge `BODY_EDGE`, far faces included.
template <int BODY_EDGE, bool FLAT> struct Room {
  static constexpr int EDGE = BODY_EDGE + 1, VALUES = EDGE * EDGE * (FLAT ? 1 : EDGE);
  // From one plane to the next, and the axes of classes, by bits.
  static constexpr int PLANE = FLAT ? 0 : EDGE * EDGE;
  static constexpr uint32_t AXES = FLAT ? 3 : 7;
  static FZ_DEV int index(uint32_t x, uint32_t y, uint32_t z) { return (int)((z * EDGE + y) * EDGE + x); }
};

// Part of the array: the elements of a tile from the first one on, far faces included.
struct Window {
  uint32_t origin[3], extent[3], body[3];
  FZ_DEV Window(const Grid& g, const uint32_t (&first)[3]) {
#pragma unroll
    for (int d = 0; d < 3; d++) {
      origin[d] = first[d];
      body[d] = g.body[d];
      extent[d] = min(g.body[d] + (g.body[d] > 1 ? 1 : 0), g.dims[d] - first[d]);
    }
  }
  // The window of the tile with these numbers.
  static FZ_DEV Window of(const Grid& g, const uint32_t (&tile)[3]) {
    const uint32_t first[3] = {tile[0] * g.body[0], tile[1] * g.body[1], tile[2] * g.body[2]};
    return Window(g, first);
  }
  FZ_DEV uint32_t element(const Grid& g, uint32_t x, uint32_t y, uint32_t z) const {
    return g.element(origin[0] + x, origin[1] + y, origin[2] + z);
  }
  // True if a point is an anchor of this tile or of a tile after it.
  FZ_DEV bool is_anchor(uint32_t x, uint32_t y, uint32_t z) const {
    return (x == 0 || x == body[0]) && (y == 0 || y == body[1]) && (z == 0 || z == body[2]);
  }
};

// Calls `f(x, y, z)` for all elements below these limits, x along the lanes of a warp.
template <class F> FZ_DEV void each_element(const uint32_t (&limit)[3], F f) {
  const uint32_t lane = threadIdx.x & 31, warps = blockDim.x >> 5, rows = limit[1] * limit[2];
  for (uint32_t row = threadIdx.x >> 5; row < rows; row += warps)
    for (uint32_t x = lane; x < limit[0]; x += 32) f(x, row % limit[1], row / limit[1]);
}

// A point of a level: its class, its number in each dimension of the class, and its coordinates.
struct Point {
  uint32_t level, c, number[3], at[3];
};

// Calls `f(point)` for all points of a pass of a level. Nothing depends on the last points of far
// faces along y and z, which are left out unless the window is `closed`.
template <class F> FZ_DEV void each_point(const Window& w, bool closed, uint32_t level, uint32_t pass, LevelFlags flags, F f) {
  const bool flat = w.body[2] == 1, last = pass == (flat && (flags.md || flags.reverse) ? 1u : 2u);
  const uint32_t spacing = 1u << level, classes = classes_of(pass, flags);
#pragma unroll 1
  for (uint32_t c = 1; c < 8; c++) {
    if (!(classes >> c & 1)) continue;
    uint32_t count[3];
#pragma unroll
    for (int d = 0; d < 3; d++) {
      const uint32_t extent = level == 0 && last && d > 0 && !closed ? min(w.extent[d], w.body[d]) : w.extent[d];
      const uint32_t points = (extent + spacing - 1) >> level;
      count[d] = c >> d & 1 ? points / 2 : (points + 1) / 2;
    }
    const uint32_t plane = count[0] * count[1], all = plane * count[2];
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < all; i += blockDim.x) {
      Point p;
      p.level = level;
      p.c = c;
      p.number[2] = i / plane;
      p.number[1] = (i - p.number[2] * plane) / count[0];
      p.number[0] = i - p.number[2] * plane - p.number[1] * count[0];
#pragma unroll
      for (int d = 0; d < 3; d++) p.at[d] = (2 * p.number[d] + (c >> d & 1)) << level;
      f(p);
    }
  }
}

// The prediction of a point from the values of its window.
template <class A, class R, class T> FZ_DEV Predicted<T> predict(const T* v, const Window& w, const Point& p, LevelFlags flags) {
  const int spacing = 1 << p.level, step[3] = {spacing, spacing * R::EDGE, spacing * R::PLANE};
  return predict<A>(v + R::index(p.at[0], p.at[1], p.at[2]), step, p.at, w.extent, 1u << p.level, p.c & R::AXES, flags);
}

// Calls `f(point, prediction)` for all points, level by level from the coarsest; `f` sets the value
// of the point. `start(level)` is called in all threads before each level; it has the flags of the
// level as a result. Ends with a barrier.
template <class A, class R, class T, class S, class F> FZ_DEV void each_level(const Window& w, uint32_t levels, const T* v, S start, F f) {
#pragma unroll 1
  for (uint32_t level = levels; level-- > 0;) {
    const LevelFlags flags = start(level);
#pragma unroll 1
    for (uint32_t pass = 0; pass < 3; pass++) {
      each_point(w, false, level, pass, flags, [&](const Point& p) { f(p, predict<A, R>(v, w, p, flags)); });
      __syncthreads();
    }
  }
}
}  // namespace ginterp
}  // namespace fz
