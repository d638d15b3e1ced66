// Differences of multiples, of a tile of values in the order of memory: every thread computes those
// of its own values from the values themselves, so that threads exchange data only in one
// dimension, and listed differences can be computed again.
//
// A value that stays exact has the multiple of its neighbor along x. If that neighbor is exact too,
// it has the multiple of the next one that is not, in its tile; 0 if there is none.
#pragma once
#include "lorenzo_quant/multiples.cuh"

namespace fz {
namespace lorenzo_quant {
// Lengths of a tile.
template <int DIMS> struct Shape {
  static constexpr uint32_t WIDTH = DIMS == 1 ? STRIP : DIMS == 2 ? 32 : 8, HEIGHT = DIMS == 2 ? 32 : 8;
};

// Differences of one unit. Of predicted values, only the first ones have differences. Bits mark
// outliers and exact values.
template <class T> struct Differences {
  static constexpr int N = 16 / sizeof(T);
  T d[N];
  uint32_t outliers, exact;

  FZ_DEV void judge(T radius, uint32_t have) {
    outliers = 0;
    exact &= (1u << (have < N ? have : N)) - 1;
#pragma unroll
    for (int k = 0; k < N; k++)
      if (k < (int)have && !(Real<T>::abs(d[k]) < radius)) outliers |= 1u << k;
  }
};

// The array, and the places of its parts. Values beyond its end count as zero.
template <class T, int DIMS> struct Field {
  static constexpr int N = 16 / sizeof(T);
  static constexpr uint32_t WIDTH = Shape<DIMS>::WIDTH;
  const uint8_t* src;
  uint64_t values;
  uint32_t count, nx, ny;
  Multiples<T> m;

  FZ_DEV Field(const Args& a, const LorenzoQuantParams& p, const Multiples<T>& multiples)
      : src(address(input(a, 0))), values(length(input(a, 0)) / sizeof(T)), count(p.count), nx(p.dims[0]), ny(p.dims[1]), m(multiples) {}

  FZ_DEV T at(uint64_t i) const { return i < values ? load<T>(src + i * sizeof(T)) : T(0); }

  // The multiple of element `i`, which is number `x` of its row.
  FZ_DEV T multiple(uint64_t i, uint32_t x, bool& exact) const {
    T q;
    exact = !m.of(at(i), q);
    if (exact)
      do {
        if (x % WIDTH == 0) return T(0);
        x--;
        i--;
      } while (!m.of(at(i), q));
    return q;
  }
  FZ_DEV T multiple(uint64_t i, uint32_t x) const {
    bool exact;
    return multiple(i, x, exact);
  }

  // ---- one element at any place, independent of its unit
  FZ_DEV T behind(uint64_t i, uint32_t x, bool deep, bool& exact) const {
    const T q = multiple(i, x, exact);
    return DIMS == 3 && deep ? q - multiple(i - (uint64_t)nx * ny, x) : q;
  }
  // Two dimensions: the difference to the element above, then along x; three: to the plane behind,
  // along x, to the row above.
  struct One {
    T d;
    bool exact;
  };
  // Receives its data as values, because data behind pointers would not stay in registers.
  static __device__ __attribute__((noinline)) One apart(const Field f, uint32_t i) { return f.difference(i); }
  FZ_DEV One difference(uint32_t i) const {
    const uint32_t x = i % nx, row = i / nx, y = DIMS == 2 ? row : row % ny, z = DIMS == 2 ? 0 : row / ny;
    const bool left = x % WIDTH != 0, up = y % Shape<DIMS>::HEIGHT != 0, deep = z % 8 != 0;
    bool exact, other;
    T d;
    if (DIMS == 2) {
      d = multiple(i, x, exact);
      if (up) d = d - multiple(i - nx, x);
      if (left) {
        T before = multiple(i - 1, x - 1);
        if (up) before = before - multiple(i - 1 - nx, x - 1);
        d = d - before;
      }
    } else {
      d = behind(i, x, deep, exact);
      if (left) d = d - behind(i - 1, x - 1, deep, other);
      if (up) {
        T above = behind(i - nx, x, deep, other);
        if (left) above = above - behind(i - nx - 1, x - 1, deep, other);
        d = d - above;
      }
    }
    return {d, exact};
  }

  // ---- N elements in a row, and the one before them Multiples from element `i` of the array on;
  // q[0] is that of the element before, if that is in the same tile.
  FZ_DEV uint32_t row(uint64_t i, uint32_t x, T (&q)[N + 1]) const {
    Row<T, N> values;
    values.load(src + i * sizeof(T), N);
    q[0] = T(0);
    if (x % WIDTH != 0) q[0] = multiple(i - 1, x - 1);
    uint32_t exact = 0;
#pragma unroll
    for (int k = 0; k < N; k++)
      if (!m.of(values.e[k], q[k + 1])) {
        exact |= 1u << k;
        q[k + 1] = (x + k) % WIDTH != 0 ? q[k] : T(0);
      }
    return exact;
  }
  FZ_DEV uint32_t row_minus(uint64_t i, uint32_t x, bool any, uint64_t distance, T (&q)[N + 1]) const {
    const uint32_t exact = row(i, x, q);
    if (any) {
      T other[N + 1];
      row(i - distance, x, other);
#pragma unroll
      for (int k = 0; k <= N; k++) q[k] = q[k] - other[k];
    }
    return exact;
  }
  FZ_DEV static void along(const T (&q)[N + 1], uint32_t x, T (&d)[N]) {
#pragma unroll
    for (int k = 0; k < N; k++) d[k] = (x + k) % WIDTH != 0 ? q[k + 1] - q[k] : q[k + 1];
  }

  // The differences of elements `i` and those behind it, of which `have` are predicted.
  FZ_DEV void unit(uint32_t i, uint32_t have, Differences<T>& out) const {
    out.exact = 0;
    if (have == 0) return;
    const uint32_t x = i % nx;
    if (have < N || nx - x < N || (uint64_t)i + N > values) {
#pragma unroll
      for (int k = 0; k < N; k++) {
        const One one = k < (int)have ? apart(*this, i + k) : One{T(0), false};
        out.d[k] = one.d;
        out.exact |= (uint32_t)one.exact << k;
      }
      return;
    }
    const uint32_t y = DIMS == 2 ? i / nx : i / nx % ny, z = DIMS == 2 ? 0 : i / nx / ny;
    const bool up = y % Shape<DIMS>::HEIGHT != 0, deep = z % 8 != 0;
    T q[N + 1];
    if (DIMS == 2) {
      out.exact = row_minus(i, x, up, nx, q);
      along(q, x, out.d);
    } else {
      const uint64_t plane = (uint64_t)nx * ny;
      T above[N] = {};
      if (up) {
        row_minus(i - nx, x, deep, plane, q);
        along(q, x, above);
      }
      out.exact = row_minus(i, x, deep, plane, q);
      along(q, x, out.d);
#pragma unroll
      for (int k = 0; k < N; k++) out.d[k] = up ? out.d[k] - above[k] : out.d[k];
    }
  }
};

// The data that the warps of a block exchange in one dimension: the last multiple of each.
template <class T> struct Last {
  T q[8];
  uint32_t any[8];
};

// Calls `each(i, differences)` for the units of a tile; `first`: its first element. All threads
// call it.
template <class T, int DIMS, class F> FZ_DEV void over_tile(const Field<T, DIMS>& f, uint64_t first, T radius, Last<T>& last, F each) {
  constexpr int N = 16 / sizeof(T);
  const uint32_t left = rest(f.count, first);
  if constexpr (DIMS != 1) {
#pragma unroll 1
    for (int i = 0; i < UNITS; i++) {
      const uint32_t e = unit_at(i) / sizeof(T), have = part(left, e);
      Differences<T> u;
      f.unit((uint32_t)(first + e), have, u);
      u.judge(radius, have);
      each(i, u);
    }
  } else {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    // The multiples; in place of one that is none, the one before it in its unit. `some`: lanes
    // whose unit has any.
    Differences<T> u[UNITS];
    uint32_t some[UNITS], ended = 0;
    T end = T(0);
#pragma unroll
    for (int i = 0; i < UNITS; i++) {
      const uint32_t e = unit_at(i) / sizeof(T);
      Row<T, N> x;
      x.load(f.src + (first + e) * sizeof(T), part(rest(f.values, first), e));
      T q = T(0);
      bool any = false;
      u[i].exact = 0;
#pragma unroll
      for (int k = 0; k < N; k++) {
        T mine;
        if (f.m.of(x.e[k], mine)) { q = mine; any = true; }
        else u[i].exact |= 1u << k;
        u[i].d[k] = q;
      }
      some[i] = __ballot_sync(ALL, any);
      const T of_warp = __shfl_sync(ALL, q, some[i] ? 31 - __clz(some[i]) : 0);
      if (some[i]) { end = of_warp; ended = 1; }
    }
    if (lane == 0) { last.q[warp] = end; last.any[warp] = ended; }
    __syncthreads();
    // The last multiple before the units of this warp, in its tile.
    constexpr uint32_t WARPS = STRIP * sizeof(T) / (UNITS * 512);
    T before = T(0);
#pragma unroll
    for (uint32_t k = 0; k < WARPS; k++) {
      const uint32_t w = warp / WARPS * WARPS + k;
      if (w < warp && last.any[w]) before = last.q[w];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < UNITS; i++) {
      // The last difference of the nearest lane before this one that has any, and of the last lane
      // of all.
      const uint32_t below = some[i] & ((1u << lane) - 1);
      const T there = __shfl_sync(ALL, u[i].d[N - 1], below ? 31 - __clz(below) : 0);
      const T top = __shfl_sync(ALL, u[i].d[N - 1], some[i] ? 31 - __clz(some[i]) : 0);
      T prior = below ? there : before;
      if (some[i]) before = top;
      const uint32_t e = unit_at(i) / sizeof(T);
      const bool start = (first + e) % STRIP == 0;
      bool any = false;
#pragma unroll
      for (int k = 0; k < N; k++) {
        any = any || !(u[i].exact >> k & 1);
        const T q = any ? u[i].d[k] : prior;
        u[i].d[k] = k == 0 && start ? q : q - prior;
        prior = q;
      }
      u[i].judge(radius, part(left, e));
      each(i, u[i]);
    }
  }
}
}  // namespace lorenzo_quant
}  // namespace fz
