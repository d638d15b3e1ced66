// Values to multiples of the step and back: the arithmetic of lorenzo_quant, operation for
// operation that of the CPU.
//
// Nothing is contracted: files are compiled without it, and no expression here is written fused.
#pragma once
#include "common/lists.cuh"
#include "lorenzo_quant/params.h"
#include "quantizer/bins.cuh"

namespace fz {
namespace lorenzo_quant {
template <class T> using Real = quantizer::Real<T>;

// The NaN that arithmetic results in, equal on every backend.
template <class T> FZ_DEV T nan() { return Real<T>::value((typename Real<T>::Bits)(sizeof(T) == 4 ? 0x7fffffffull : 0x7fffffffffffffffull)); }
template <class T> FZ_DEV T canonical(T x) { return x == x ? x : nan<T>(); }

FZ_DEV float with_sign(float x, float sign) { return copysignf(x, sign); }
FZ_DEV double with_sign(double x, double sign) { return copysign(x, sign); }

// Rounded to an integer, half away from zero; an integer, an infinity, or a NaN is unchanged.
template <class T> FZ_DEV T round_away(T x) {
  // From here on every float is an integer; below, adding it rounds half to even.
  constexpr T WHOLE = sizeof(T) == 4 ? T(8388608.0) : T(4503599627370496.0);
  const T a = Real<T>::abs(x), even = (a + WHOLE) - WHOLE;
  const T away = even + (a - even == T(0.5) ? T(1) : T(0));
  return a < WHOLE ? with_sign(away, x) : x;
}

// The multiple that represents `x`: the nearest, or the one on the other side of `x`. NaN: `x` must
// be stored exactly. Differences to both are floats, as the page of the stage proves, so the
// comparisons are exact.
template <class T> FZ_DEV T nearest_of(T x, T inverse, T step, T promise, T guard) {
  const T nearest = round_away(x * inverse);
  // NaN fails, and with it every value under a step that is none.
  if (!(Real<T>::abs(nearest) <= guard)) return nan<T>();
  if (Real<T>::abs(x - nearest * step) <= promise) return nearest;
  const T other = x > nearest * step ? nearest + T(1) : nearest - T(1);  // seed: multiple-other
  return Real<T>::abs(other) <= guard && Real<T>::abs(x - other * step) <= promise ? other : nan<T>();
}
// This is rare, and so a separate function.
template <class T> __device__ __attribute__((noinline)) T find(T x, T inverse, T step, T promise, T guard) { return nearest_of(x, inverse, step, promise, guard); }

// The arithmetic of one call.
template <class T> struct Multiples {
  T inverse, step, promise, guard, threshold;
  bool strict;

  FZ_DEV Multiples(const LorenzoQuantParams& p, const quantizer::BoundMetadata& f) {
    step = quantizer::step_of<T>(f);
    inverse = T(1) / step;
    promise = Real<T>::from(f.promise);
    const int bits = (sizeof(T) == 4 ? 24 : 53) - (int)p.ndim;
    guard = f.radius == 0 ? T(-1) : (T)(double)(1ull << bits);
    threshold = Real<T>::from(p.threshold);
    strict = (p.switches & STRICT) != 0;
  }
  // The multiple of `x`, or false: it is exact. Not strict, every value has one, and be it NaN.
  FZ_DEV bool of(T x, T& q) const {
    q = round_away(x * inverse);
    if (!strict) return true;
    const bool small = Real<T>::abs(x) < threshold;
    const bool within_bound = (Real<T>::abs(x - q * step) <= promise) & (Real<T>::abs(q) <= guard);  // seed: multiple-promise
    if (small && !within_bound) q = find(x, inverse, step, promise, guard);
    return small && q == q;
  }
};

// A difference below the radius as a code, and back.
template <class C, class T> FZ_DEV C code_of(T d, bool zigzag) { return quantizer::code_of<C>((int32_t)d, zigzag); }
template <class C, class T> FZ_DEV T difference_of(C c, bool zigzag) {
  if (zigzag) c = (C)((C)(c >> 1) ^ (C)(C(0) - (C)(c & 1)));
  if constexpr (sizeof(C) == 1) return (T)(int32_t)(int8_t)c;
  else if constexpr (sizeof(C) == 2) return (T)(int32_t)(int16_t)c;
  else return (T)(int32_t)c;
}

// Calls `f(T(), C())` for the types of a call.
template <class F> FZ_DEV void by_types(const LorenzoQuantParams& p, F f) {
  const uint32_t types = p.value << 4 | p.code;
  if (types == 0x41) f(float(), uint8_t());
  else if (types == 0x42) f(float(), uint16_t());
  else if (types == 0x44) f(float(), uint32_t());
  else if (types == 0x82) f(double(), uint16_t());
  else if (types == 0x84) f(double(), uint32_t());
}
}  // namespace lorenzo_quant
}  // namespace fz
