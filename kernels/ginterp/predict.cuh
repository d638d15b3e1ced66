// Stage ginterp: the prediction of one point, operation for operation that of
// src/stages/ginterp/predict.rs. Only operations that are written as fused are fused.
#pragma once
#include "ginterp/geometry.cuh"

namespace fz {
namespace ginterp {
FZ_DEV float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
FZ_DEV double fused(double a, double b, double c) { return __fma_rn(a, b, c); }

// The neighbors of a point along an axis: those at distances -3, -1, 1, and 3 in units of the spacing.
// BEFORE: -1 alone; BOTH: -1 and 1; LEFT: also 3; RIGHT: also -3; CUBIC: all four.
enum Neighbors : uint32_t { BEFORE, BOTH, LEFT, RIGHT, CUBIC };
// The neighbors of a point `at` in a tile of `extent` elements, far face included.
FZ_DEV Neighbors neighbors_of(uint32_t at, uint32_t spacing, uint32_t extent) {
  const bool near = at >= 3 * spacing, far = at + 3 * spacing < extent, next = at + spacing < extent;
  return near && far ? CUBIC : near && next ? RIGHT : far ? LEFT : next ? BOTH : BEFORE;
}
// The rank of a prediction. Between two axes, the prediction with the higher rank counts; if ranks
// are equal, their mean.
FZ_DEV uint32_t rank_of(Neighbors n) { return n == CUBIC ? 3u : n >= LEFT ? 2u : (uint32_t)n; }

// Where a line is evaluated, as far as roundings depend on it.
struct Place {
  bool md, cube, natural;
};

// (-3a + 23b + 23c - 3d) / 40.
template <class T> FZ_DEV T natural_cubic(T a_and_b, T c, T d) { return fused(T(-3), d, fused(T(23), c, a_and_b)) / T(40); }

// The arithmetic of the strict layout.
struct Strict {
  template <class T> static FZ_DEV T before(T b) { return b + T(0); }
  template <class T> static FZ_DEV T left(T b, T c, T d, Place) { return (fused(T(6), c, T(3) * b) - d) * T(0.125); }
  template <class T> static FZ_DEV T cubic(T a, T b, T c, T d, Place place) {
    if (place.natural) return natural_cubic(fused(T(23), b, T(-3) * a), c, d);
    return (fused(T(9), c, fused(T(9), b, -a)) - d) * T(0.0625);
  }
};
// The arithmetic of the reference, whose compiler fuses other operations in other places.
struct Reference {
  template <class T> static FZ_DEV T before(T b) { return b; }
  template <class T> static FZ_DEV T left(T b, T c, T d, Place place) {
    if (place.cube) return Strict::left(b, c, d, place);
    return (fused(T(3), b, T(6) * c) - d) * T(0.125);
  }
  template <class T> static FZ_DEV T cubic(T a, T b, T c, T d, Place place) {
    if (place.md) return Strict::cubic(a, b, c, d, place);
    if (place.natural) return natural_cubic(fused(T(-3), a, T(23) * b), c, d);
    return (fused(T(9), c, T(9) * b - a) - d) * T(0.0625);
  }
};
template <class T> FZ_DEV T both_sides(T b, T c) { return (b + c) * T(0.5); }
template <class T> FZ_DEV T right_side(T a, T b, T c) { return fused(T(3), c, fused(T(6), b, -a)) * T(0.125); }

// Along one axis: `v` is the point, and its neighbors are `step` values apart.
template <class A, class T> FZ_DEV T line(const T* v, int step, Neighbors n, Place place) {
  const T b = v[-step];
  if (n == BEFORE) return A::before(b);
  const T c = v[step];
  if (n == BOTH) return both_sides(b, c);
  if (n == LEFT) return A::left(b, c, v[3 * step], place);
  const T a = v[-3 * step];
  if (n == RIGHT) return right_side(a, b, c);
  return A::cubic(a, b, c, v[3 * step], place);
}

// Between two axes.
template <class A, class T> FZ_DEV T face(const T* v, int first, Neighbors along_first, int second, Neighbors along_second, Place place) {
  const uint32_t x = rank_of(along_first), y = rank_of(along_second);
  if (x == 0 && y == 0) return v[-second] + v[-first] - v[-first - second];
  if (x > y) return line<A>(v, first, along_first, place);
  const T other = line<A>(v, second, along_second, place);
  if (x < y) return other;
  return (other + line<A>(v, first, along_first, place)) * T(0.5);
}

// Between three axes: the mean of those with a cubic; without any, x alone.
template <class A, class T> FZ_DEV T cube(const T* v, const int (&step)[3], const Neighbors (&along)[3], Place place) {
  const bool of_x = along[0] == CUBIC, of_y = along[1] == CUBIC, of_z = along[2] == CUBIC;
  if (!of_y && !of_z) return line<A>(v, step[0], along[0], place);
  T x = T(0), y = T(0), z = T(0);
  if (of_x) x = line<A>(v, step[0], CUBIC, place);
  if (of_y) y = line<A>(v, step[1], CUBIC, place);
  if (of_z) z = line<A>(v, step[2], CUBIC, place);
  if (of_y && of_z) return of_x ? (x + y + z) / T(3) : (z + y) * T(0.5);
  const T one = of_z ? z : y;
  return of_x ? (one + x) * T(0.5) : one;
}

// How a level is predicted, from its bits in the metadata.
struct LevelFlags {
  bool md, natural, reverse;
  FZ_DEV LevelFlags() {}
  FZ_DEV LevelFlags(bool md, bool natural, bool reverse) : md(md), natural(natural), reverse(reverse) {}
  FZ_DEV explicit LevelFlags(uint32_t bits) : md((bits & MD) != 0), natural((bits & NATURAL) != 0), reverse((bits & REVERSE) != 0) {}
  FZ_DEV uint8_t bits() const { return (uint8_t)((md ? MD : 0) | (natural ? NATURAL : 0) | (reverse ? REVERSE : 0)); }
};

// The axes that a class of points is predicted along, by bits: all odd ones at once, or the last of
// z, y, x, or of x, y, z.
FZ_DEV uint32_t axes_of(uint32_t c, LevelFlags f) {
  if (f.md) return c;
  if (f.reverse) return c & 4 ? 4 : c & 2 ? 2 : 1;
  return c & 1 ? 1 : c & 2 ? 2 : 4;
}
// The classes of a pass, 0 to 2, by bits.
FZ_DEV uint32_t classes_of(uint32_t pass, LevelFlags f) {
  if (f.md) return pass == 0 ? 1u << 1 | 1u << 2 | 1u << 4 : pass == 1 ? 1u << 3 | 1u << 5 | 1u << 6 : 1u << 7;
  if (f.reverse) return pass == 0 ? 1u << 1 : pass == 1 ? 1u << 2 | 1u << 3 : 1u << 4 | 1u << 5 | 1u << 6 | 1u << 7;
  return pass == 0 ? 1u << 4 : pass == 1 ? 1u << 2 | 1u << 6 : 1u << 1 | 1u << 3 | 1u << 5 | 1u << 7;
}

// A point of a class: its prediction, and whether it has neighbors on both sides and no others along
// a single axis.
template <class T> struct Predicted {
  T value;
  bool both;
};
template <class A, class T>
FZ_DEV Predicted<T> predict(const T* v, const int (&step)[3], const uint32_t (&at)[3], const uint32_t (&extent)[3], uint32_t spacing, uint32_t c, LevelFlags f) {
  const uint32_t axes = axes_of(c, f);
  // In passes along one axis the flag means the other spline, as in the reference.
  const Place place = {f.md, axes == 7, f.natural == f.md};
  Neighbors along[3];
#pragma unroll
  for (int d = 0; d < 3; d++) along[d] = neighbors_of(at[d], spacing, extent[d]);
  if (axes == 7) return {cube<A>(v, step, along, place), false};
  if (axes == 3) return {face<A>(v, step[0], along[0], step[1], along[1], place), false};
  if (axes == 5) return {face<A>(v, step[0], along[0], step[2], along[2], place), false};
  if (axes == 6) return {face<A>(v, step[1], along[1], step[2], along[2], place), false};
  const Neighbors n = axes == 1 ? along[0] : axes == 2 ? along[1] : along[2];
  return {line<A>(v, axes == 1 ? step[0] : axes == 2 ? step[1] : step[2], n, place), n == BOTH};
}
}  // namespace ginterp
}  // namespace fz
