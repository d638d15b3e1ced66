// Stage ginterp, strict volumes: predictions along an axis, and between axes, as
// src/stages/ginterp/predict.rs.
#pragma once
#include "ginterp/volume.cuh"

namespace fz {
namespace ginterp {
// Ranks of a prediction along an axis.
constexpr int NEAREST = 0, LINEAR = 1, QUADRATIC = 2, CUBIC = 3;

// A prediction along an axis from neighbors at distances -3, -1, 1, and 3; `a`, `c`, and `d` are
// true if the first and the last two exist. One formula has the roundings of all cases if missing
// neighbors are 0.
template <class T> struct Line {
  T w1, w2, scale;
  bool a, c, d;
  int rank;
  FZ_DEV void weigh() {
    w1 = rank == CUBIC ? T(9) : rank == QUADRATIC ? (a ? T(6) : T(3)) : T(1);
    w2 = rank == CUBIC ? T(9) : rank == QUADRATIC ? (a ? T(3) : T(6)) : rank == LINEAR ? T(1) : T(0);
    scale = rank == CUBIC ? T(0.0625) : rank == QUADRATIC ? T(0.125) : rank == LINEAR ? T(0.5) : T(1);
  }
  // Of point `at` of an axis of `extent` points, spacing `u`.
  FZ_DEV Line(int at, int u, int extent) {
    const bool near = at >= 3 * u;
    c = at + u < extent;
    d = at + 3 * u < extent;
    a = near && c;
    rank = near && d ? CUBIC : !c ? NEAREST : near || d ? QUADRATIC : LINEAR;
    weigh();
  }
  // Of odd point `i` of `n`, all of which have a next one.
  FZ_DEV Line(int i, int n) {
    a = i > 0;
    c = true;
    d = i < n - 1;
    rank = a && d ? CUBIC : QUADRATIC;
    w1 = !a ? T(3) : !d ? T(6) : T(9);
    w2 = !a ? T(6) : !d ? T(3) : T(9);
    scale = rank == CUBIC ? T(0.0625) : T(0.125);
  }
  FZ_DEV T of(T va, T vb, T vc, T vd) const { return (Real<T>::fma(w2, vc, Real<T>::fma(w1, vb, -va)) - vd) * scale; }
  // The prediction of the point at `v`, whose neighbors are multiples of `apart` away.
  FZ_DEV T at(const T* v, int apart) const {
    const T va = a ? v[-3 * apart] : T(0), vc = c ? v[apart] : T(0), vd = d ? v[3 * apart] : T(0);
    return of(va, v[-apart], vc, vd);
  }
};

// The line of odd point `i` of an axis at a level; tiles with far faces have `n` of them, others end
// after `extent` points.
template <class T, bool FULL> FZ_DEV Line<T> line_of(int i, int n, int level, int extent) {
  if (FULL) return Line<T>(i, n);
  return Line<T>((2 * i + 1) << level, 1 << level, extent);
}

// Even rows beside odd ones, `apart` from each other, from the one before them on. Rows that there
// are not are the row of zeros, so nothing branches.
template <class T> struct Rows {
  const T *a, *b, *c, *d;
  FZ_DEV Rows(const T* before, int apart, const Line<T>& line, const T* zeros)
      : a(line.a ? before - apart : zeros), b(before), c(line.c ? before + apart : zeros), d(line.d ? before + 2 * apart : zeros) {}
  FZ_DEV T at(const Line<T>& line, int i) const { return line.of(a[i], b[i], c[i], d[i]); }
};

// Four values at a multiple of 16 bytes.
FZ_DEV void load4(float (&v)[4], const float* p) {
  const float4 q = *reinterpret_cast<const float4*>(p);
  v[0] = q.x; v[1] = q.y; v[2] = q.z; v[3] = q.w;
}
FZ_DEV void load4(double (&v)[4], const double* p) {
  const double2 q = reinterpret_cast<const double2*>(p)[0], r = reinterpret_cast<const double2*>(p)[1];
  v[0] = q.x; v[1] = q.y; v[2] = r.x; v[3] = r.y;
}
FZ_DEV void store4(float* p, const float (&v)[4]) { *reinterpret_cast<float4*>(p) = make_float4(v[0], v[1], v[2], v[3]); }
FZ_DEV void store4(double* p, const double (&v)[4]) {
  reinterpret_cast<double2*>(p)[0] = make_double2(v[0], v[1]);
  reinterpret_cast<double2*>(p)[1] = make_double2(v[2], v[3]);
}
// Two values at a multiple of their length.
FZ_DEV void store2(float* p, float x, float y) { *reinterpret_cast<float2*>(p) = make_float2(x, y); }
FZ_DEV void store2(double* p, double x, double y) { *reinterpret_cast<double2*>(p) = make_double2(x, y); }

template <class T> FZ_DEV void across4(T (&p)[4], const Rows<T>& rows, const Line<T>& line, int i) {
  T a[4], b[4], c[4], d[4];
  load4(a, rows.a + i);
  load4(b, rows.b + i);
  load4(c, rows.c + i);
  load4(d, rows.d + i);
#pragma unroll
  for (int n = 0; n < 4; n++) p[n] = line.of(a[n], b[n], c[n], d[n]);
}

// Half of a row of level 0: the even points around four odd ones, from the one before the first on. In
// tiles with far faces only the first and the last odd point of a row have no cubic.
template <class T, bool FULL> struct RowPart {
  T e[7];
  int half, extent;
  FZ_DEV RowPart(const T* row, int half, int extent) : half(half), extent(extent) {
    T v[4];
    load4(v, row + 4 * half);
#pragma unroll
    for (int i = 0; i < 4; i++) e[1 + i] = v[i];
    e[0] = half ? row[3] : T(0);
    e[5] = row[4 * half + 4];
    e[6] = half ? T(0) : row[5];
  }
  FZ_DEV Line<T> line(int i) const {
    if (!FULL) return Line<T>(2 * (4 * half + i) + 1, 1, extent);
    return Line<T>(i == 0 ? 4 * half : i == 3 ? 3 + 4 * half : 1, 8);
  }
  FZ_DEV T at(const Line<T>& line, int i) const {
    if (FULL) return line.of(e[i], e[i + 1], e[i + 2], e[i + 3]);
    return line.of(line.a ? e[i] : T(0), e[i + 1], line.c ? e[i + 2] : T(0), line.d ? e[i + 3] : T(0));
  }
};

// Between two axes the higher rank counts, of equal ranks the mean.
template <class T> FZ_DEV T face(T p, int rank_p, T q, int rank_q) {
  const T mean = (p + q) * T(0.5);
  return rank_p > rank_q ? p : rank_p < rank_q ? q : mean;
}

// s / 3, rounded to nearest. 1/3 rounded times s is a quotient within a unit of its last place, so
// its remainder is exact. s / 3 is no closer than a sixth of a unit to where roundings change, which
// the error of the last operation does not reach. A quotient without a remainder remains: zeros keep
// their sign, and infinities stay.
template <class T> FZ_DEV T third(T s) {
  const T y = T(1) / T(3);
  T q = s * y;
  const T r = Real<T>::fma(T(-3), q, s);
  if (fabs(r) > T(0)) q = Real<T>::fma(r, y, q);
  return q;
}

// Between three axes: the mean of those with a cubic; without any, x alone.
template <class T> FZ_DEV T cube(T x, bool cubic_x, T y, bool cubic_y, T z, bool cubic_z) {
  const T two = cubic_z && cubic_y ? z + y : cubic_z ? z + x : y + x;
  const T three = third(x + y + z);
  const int cubics = (int)cubic_x + (int)cubic_y + (int)cubic_z;
  return cubics == 3 ? three : cubics == 2 ? two * T(0.5) : cubic_z ? z : cubic_y ? y : x;
}
}  // namespace ginterp
}  // namespace fz
