// Stage ginterp: values to codes and back, operation for operation as src/stages/ginterp/code.rs.
#pragma once
#include "ginterp/predict.cuh"
#include "quantizer/bins.cuh"

namespace fz {
namespace ginterp {
template <class T> using Real = quantizer::Real<T>;
template <class T> FZ_DEV bool is_finite(T x) { return Real<T>::abs(x) < Real<T>::infinity(); }
// The NaN of an arithmetic operation, the same on every device.
template <class T> FZ_DEV T canonical(T x) {
  return x == x ? x : Real<T>::value((typename Real<T>::Bits)(sizeof(T) == 4 ? 0x7fffffffull : 0x7fffffffffffffffull));
}
FZ_DEV float toward_zero(float x) { return truncf(x); }
FZ_DEV double toward_zero(double x) { return trunc(x); }
FZ_DEV float with_sign(float x, float sign) { return copysignf(x, sign); }
FZ_DEV double with_sign(double x, double sign) { return copysign(x, sign); }
// 2^(mantissa bits): after adding it, an integer below half of it is in the low bits.
template <class T> FZ_DEV T shift_of() { return sizeof(T) == 4 ? T(8388608.0) : T(4503599627370496.0); }
// To an integer toward zero, cut off at its limits; the result for a NaN differs in the reference.
FZ_DEV int32_t integer_of(float x) { return x == x ? __float2int_rz(x) : 0; }
FZ_DEV int32_t integer_of(double x) { return x == x ? __double2int_rz(x) : (int32_t)0x80000000u; }
FZ_DEV uint32_t unsigned_of(float x) { return __float2uint_rz(x); }
FZ_DEV uint32_t unsigned_of(double x) { return __double2uint_rz(x); }
template <class T> FZ_DEV T from_int(int32_t i) { return (T)i; }
template <class T> FZ_DEV T from_unsigned(uint32_t i) { return (T)i; }

// Values that have a bound, and the limits of predictions.
template <class T> struct Limits {
  T low, high, threshold;
  FZ_DEV Limits() {}
  FZ_DEV Limits(const GinterpParams& p, double low, double high)
      : low(Real<T>::from(low)), high(Real<T>::from(high)), threshold(Real<T>::from(p.threshold_or_base)) {}
  // NaN and infinities fail.
  FZ_DEV bool is_bounded(T x) const { return Real<T>::abs(x) < threshold && is_finite(x); }
  // A prediction within the range. NaN becomes the smallest value.
  FZ_DEV T clamp(T p) const {
    p = p > low ? p : low;
    return p < high ? p : high;
  }
  // The word in a tile for a value without a code.
  FZ_DEV T stand_in(T x, T p) const { return is_bounded(x) ? x : is_finite(p) ? p : T(0); }
};

// The numbers of a call, those of one level at a time.
template <class T> struct Numbers {
  T step, rcp, limit, bound;
  uint32_t radius;
  FZ_DEV Numbers() {}
  FZ_DEV explicit Numbers(const GinterpMetadata& m)
      : limit(Real<T>::from((double)m.limit)), bound(Real<T>::from(m.bound)), radius(m.radius) {}
  FZ_DEV void set_level(const GinterpMetadata& m, uint32_t level) {
    step = Real<T>::from(m.step[level]);
    rcp = Real<T>::from(m.rcp[level]);
  }
};

// A bound for every value. Code 0 is kept for those without a code.
template <class V> struct Bounded {
  typedef V Value;
  typedef Strict Arithmetic;
  static constexpr bool STRICT_LAYOUT = true;
  Limits<V> limits;
  Numbers<V> n;
  FZ_DEV Bounded(const GinterpParams& p, const GinterpMetadata& m) : limits(p, m.low, m.high), n(m) {}

  FZ_DEV V anchor(V x) const { return limits.is_bounded(x) ? x : limits.clamp(V(0)); }
  FZ_DEV bool is_kept(V x) const { return !limits.is_bounded(x); }
  // Exactly |x - r| <= bound, in real numbers: d = x - r was rounded, and that matters if it is the
  // bound alone.
  FZ_DEV bool keeps(V x, V r) const {
    const V d = x - r;
    if (Real<V>::abs(d) != n.bound) return Real<V>::abs(d) < n.bound;
    const V b = d - x, dropped = (x - (d - b)) + (-r - b);
    return dropped == V(0) || (dropped < V(0)) != (d < V(0));
  }
  // The code of `x`, or 0; `v` is the value that later points are predicted from.
  FZ_DEV uint32_t encode(V x, V p, V& v) const {
    p = limits.clamp(p);
    const V e = x - p, t = Real<V>::abs(e) * (n.rcp * V(0.5)) + V(0.5), q = with_sign(toward_zero(t), e);
    v = fused(q, n.step, p);
    if (Real<V>::abs(q) < n.limit && limits.is_bounded(x) && keeps(x, v))
      return (uint32_t)Real<V>::bits(q + (shift_of<V>() + Real<V>::from((double)n.radius))) & (sizeof(V) == 4 ? 0x7fffffu : 0xffffffffu);
    v = limits.stand_in(x, p);
    return 0;
  }
  FZ_DEV V decode(uint32_t code, V p) const { return fused(from_int<V>((int32_t)(code - n.radius)), n.step, limits.clamp(p)); }
};

// The reference, with its losses: integers that wrap, and an outlier is a code that the type of the
// codes is too narrow for.
template <class V> struct Literal {
  typedef V Value;
  typedef Reference Arithmetic;
  static constexpr bool STRICT_LAYOUT = false;
  Numbers<V> n;
  FZ_DEV Literal(const GinterpParams&, const GinterpMetadata& m) : n(m) {}

  FZ_DEV V anchor(V x) const { return x; }
  FZ_DEV bool is_kept(V) const { return false; }
  // The code as a number, `v` as above.
  FZ_DEV V number(V x, V p, V& v) const {
    const V e = x - p;
    V t = fused(Real<V>::abs(e), n.rcp, V(1));
    t = e < V(0) ? -t : t;
    const V number = from_int<V>((int32_t)((uint32_t)integer_of(t * V(0.5)) + n.radius));
    v = restore(number, p);
    return number;
  }
  FZ_DEV bool is_inline(V number) const { return number >= V(0) && number < Real<V>::from(2.0 * (double)n.radius); }
  FZ_DEV uint32_t code(V number) const { return is_inline(number) ? unsigned_of(number) : 0; }
  FZ_DEV uint32_t encode(V x, V p, V& v) const { return code(number(x, p, v)); }
  FZ_DEV V restore(V number, V p) const { return fused(number - Real<V>::from((double)n.radius), n.step, p); }
  // `apart`: the one line of the reference's decoder that its compiler does not fuse.
  FZ_DEV V decode(uint32_t code, V listed, V p, bool apart) const {
    const V number = from_unsigned<V>(code) + listed;
    return apart ? p + (number - Real<V>::from((double)n.radius)) * n.step : restore(number, p);
  }
};
}  // namespace ginterp
}  // namespace fz
