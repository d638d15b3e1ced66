// Stage multilevel: predictions along one axis and contexts. The operations and their order are those of
// src/stages/multilevel/predict.rs.
#pragma once
#include "multilevel/num.cuh"

namespace fz {
namespace multilevel {
// A prediction with its activity, and below with its context.
template <class T> struct Guess {
  T p, v;
};
template <class T> struct Predicted {
  T p;
  uint32_t context;
};

// The formulas of the stencils, from sums of taps at equal distances.
template <class T> FZ_DEV T four_taps(T s1, T s3) { return Num<T>::fma(s1, T(0.5625), s3 * T(-0.0625)); }
template <class T> FZ_DEV T six_taps(T s1, T s3, T s5) {
  return Num<T>::fma(s5, T(3.0 / 256), Num<T>::fma(s3, T(-25.0 / 256), s1 * T(150.0 / 256)));
}
template <class T> FZ_DEV T eight_taps(T s1, T s3, T s5, T s7) {
  const T inner = Num<T>::fma(s3, T(-245.0 / 2048), s1 * T(1225.0 / 2048));
  return Num<T>::fma(s7, T(-5.0 / 2048), Num<T>::fma(s5, T(49.0 / 2048), inner));
}

// The prediction of a point that has all taps of its stencil.
template <int STENCIL, class T> FZ_DEV Guess<T> inside(T t0, T a5, T a, T b, T c, T d, T d5, T t7) {
  typedef Num<T> N;
  const T s1 = b + c, s3 = a + d, w = N::abs(s1 - s3);
  if constexpr (STENCIL == 2) return {s1 * T(0.5), N::fma(w, T(0.0625), N::abs(b - c) * T(0.03125))};
  if constexpr (STENCIL == 4) return {four_taps(s1, s3), w * T(0.0625)};
  const T s5 = a5 + d5, p6 = six_taps(s1, s3, s5);
  if constexpr (STENCIL == 6) return {p6, Num<T>::larger(N::abs(p6 - four_taps(s1, s3)), w * T(1.0 / 64))};
  const T p8 = eight_taps(s1, s3, s5, t0 + t7);
  return {p8, Num<T>::larger(N::abs(p8 - p6) * T(2), w * T(1.0 / 128))};
}

// The prediction of any point, by the number of points on its left and right. Taps that do not exist are not used. Few points are at the
// ends of rows.
template <class T> FZ_APART Guess<T> anywhere(uint32_t stencil, uint32_t left, uint32_t right, T t0, T a5, T a, T b, T c, T d, T d5, T t7, T step) {
  typedef Num<T> N;
  if (right == 0) {
    if (left == 1) return {b, step};
    return {stencil == 2 ? b : N::fma(b - a, T(0.5), b), N::abs(b - a) * T(0.5)};
  }
  if ((left == 1 && right == 1) || (stencil == 2 && (left == 1 || right == 1))) return {(b + c) * T(0.5), N::abs(b - c) * T(0.25)};
  if (right == 1) return {N::fma(b, T(0.75), N::fma(c, T(0.375), a * T(-0.125))), N::abs(N::fma(b, T(-2), a + c)) * T(0.125)};
  if (left == 1) return {N::fma(c, T(0.75), N::fma(b, T(0.375), d * T(-0.125))), N::abs(N::fma(c, T(-2), b + d)) * T(0.125)};
  if (stencil == 2) return inside<2>(t0, a5, a, b, c, d, d5, t7);
  if (stencil == 8 && left >= 4 && right >= 4) return inside<8>(t0, a5, a, b, c, d, d5, t7);
  if (stencil >= 6 && left >= 3 && right >= 3) return inside<6>(t0, a5, a, b, c, d, d5, t7);
  return inside<4>(t0, a5, a, b, c, d, d5, t7);
}

// The prediction of a point that may lack taps. g is the prediction with all taps of the stencil. Unlike `anywhere`, the function
// is inlined, and lanes that lack the outer taps select instead of branching.
template <int STENCIL, class T> FZ_DEV Guess<T> near_end(Guess<T> g, uint32_t left, uint32_t right, T a5, T a, T b, T c, T d, T d5, T step) {
  typedef Num<T> N;
  const uint32_t fewer = min(left, right);
  if (STENCIL == 8 && fewer < 4) g = inside<6>(a5, a5, a, b, c, d, d5, d5);
  if (STENCIL >= 6 && fewer < 3) g = inside<4>(a, a, a, b, c, d, d, d);
  if (fewer > 1) return g;
  if (right == 0) return {left == 1 || STENCIL == 2 ? b : N::fma(b - a, T(0.5), b), left == 1 ? step : N::abs(b - a) * T(0.5)};
  if (STENCIL == 2 || (left == 1 && right == 1)) return {(b + c) * T(0.5), N::abs(b - c) * T(0.25)};
  const T near = right == 1 ? b : c, other = right == 1 ? c : b, far = right == 1 ? a : d;
  return {N::fma(near, T(0.75), N::fma(other, T(0.375), far * T(-0.125))), N::abs(N::fma(near, T(-2), far + other)) * T(0.125)};
}

// The prediction of a point beside values that are not bounded, by its nearest taps.
template <class T> FZ_APART Predicted<T> careful(T b, T c, bool has_c, T threshold, T center, T step, T rate) {
  typedef Num<T> N;
  const bool left = N::abs(b) < threshold, right = N::abs(c) < threshold;
  if (!has_c) return left ? Predicted<T>{b, bucket(step * rate)} : Predicted<T>{center, FILL2};
  if (left && right) return {b * T(0.5) + c * T(0.5), bucket(N::abs(b - c) * T(0.25) * rate)};
  if (left || right) return {left ? b : c, FILL1};
  return {center, N::bits(b) == N::bits(c) ? FILL2 : FILL1};
}

// The numbers of a call that predictions depend on.
template <class T> struct Predictor {
  typedef Num<T> N;
  T step, rate, center, low, high, limit, threshold;
  bool lattice;
  Predictor() = default;
  FZ_DEV Predictor(double of_threshold, const MultilevelMetadata& m)
      : step(N::from(m.step)), center(N::from(m.center)), low(N::from(m.low)), high(N::from(m.high)), threshold(N::from(of_threshold)), lattice((m.flags & LATTICE) != 0) {
    rate = step > T(0) ? T(1) / step : T(0);
    limit = N::smaller(N::smaller(N::larger(N::abs(low), N::abs(high)) * T(4), threshold * T(2)), N::most());
  }
  // Both comparisons are false for NaN.
  FZ_DEV bool is_bounded(T x) const { return N::abs(x) < threshold; }
  FZ_DEV bool is_usual(T p) const { return N::abs(p) <= limit; }
  FZ_DEV T on_lattice(T p) const {
    if (__builtin_expect(lattice, 0)) p = ((p * rate + N::MAGIC) - N::MAGIC) * step;
    return p;
  }
  FZ_DEV T finish(T p) const { return N::smaller(N::larger(on_lattice(p), low), high); }
  FZ_DEV Predicted<T> resolve(Guess<T> g, T b, T c, bool has_c) const {
    Predicted<T> r = {g.p, bucket(g.v * rate)};
    if (!is_usual(g.p)) r = careful(b, c, has_c, threshold, center, step, rate);
    r.p = finish(r.p);
    return r;
  }
  FZ_DEV Predicted<T> predict_any(uint32_t stencil, uint32_t left, uint32_t right, const T (&t)[8]) const {
    return resolve(anywhere(stencil, left, right, t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], step), t[3], t[4], right > 0);
  }
  // The value of code `u`, which is not that of an exact value.
  FZ_DEV T restore(uint32_t u, Predicted<T> p, T b) const {
    if (p.context == FILL2) {
      if (u == 0) return b;
      u--;
    }
    return N::fma(N::small_integer(unzigzag(u)), step, p.p);
  }
};
}  // namespace multilevel
}  // namespace fz
