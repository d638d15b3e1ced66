// Values to bins and back: the arithmetic of the quantizer, operation for operation that of the
// CPU.
//
// Nothing is contracted: files are compiled without it, and no expression here is written fused.
#pragma once
#include "common/units.cuh"
#include "quantizer/params.h"

namespace fz {
namespace quantizer {
// Constants of tiles of f32, see TileBins. They are computed once and stored behind the metadata.
struct TileMetadata {
  float inverse, step, promise, floor;
  uint32_t above;
  float radius, threshold;
  uint32_t keeps;
};
static_assert(sizeof(TileMetadata) == TILE_FACTS_BYTES, "as in Rust");

// BoundMetadata is stored in the arena, at a fixed aligned place of the plan.
template <class F> FZ_DEV F load_aligned(const Operand& o, uint32_t at) {
  static_assert(sizeof(F) == 32, "two pieces");
  const uint4* p = reinterpret_cast<const uint4*>(o.base + at);
  const uint4 w[2] = {p[0], p[1]};
  F f;
  memcpy(&f, w, sizeof f);
  return f;
}
FZ_DEV TileMetadata load_tile_metadata(const Operand& o) { return load_aligned<TileMetadata>(o, sizeof(BoundMetadata)); }
// As load_tile_metadata for functions that need nearly all fields: two loads, independent of the
// fields in use.
FZ_DEV TileMetadata load_tile_facts_whole(const Operand& o) {
  const uint4* p = reinterpret_cast<const uint4*>(o.base + sizeof(BoundMetadata));
  const uint4 w[2] = {load_whole(p), load_whole(p + 1)};
  TileMetadata f;
  static_assert(sizeof f == sizeof w, "two pieces");
  memcpy(&f, w, sizeof f);
  return f;
}
FZ_DEV BoundMetadata load_metadata(const Operand& o) {
  BoundMetadata f = load_aligned<BoundMetadata>(o, 0);
  // All ones, or 0 if both fields exist: the header has stored the f32 alone. A header with the f64
  // alone may also store 0.
  const bool told = __double_as_longlong(f.bound) != -1;
  if (!told || (f.bound == 0.0 && __float_as_uint(f.bound_f32) != 0xffffffffu)) f.bound = (double)f.bound_f32;  // seed: bound-of-none
  return f;
}
FZ_DEV void store_metadata(const Args& a, const BoundMetadata& f) {
  *reinterpret_cast<BoundMetadata*>(address(output(a, 0))) = f;
  publish(output(a, 0), METADATA_BYTES);
}

// f32 and f64: bits, rounding half to even as a float and as an integer. Accepted bins are below
// 2^31 in magnitude.
template <class T> struct Real;
template <> struct Real<float> {
  typedef uint32_t Bits;
  typedef int32_t Bin;
  // Below this, adding and taking away 1.5 x 2^(mantissa bits) rounds, and the low bits of the sum
  // are the integer.
  static constexpr float FAST = 4194304.0f, MAGIC = 12582912.0f;
  static FZ_DEV float infinity() { return __uint_as_float(0x7f800000u); }
  static FZ_DEV uint32_t bits(float x) { return __float_as_uint(x); }
  static FZ_DEV float value(uint32_t b) { return __uint_as_float(b); }
  static FZ_DEV float from(double x) { return (float)x; }
  static FZ_DEV float abs(float x) { return fabsf(x); }
  static FZ_DEV float round(float x) { return rintf(x); }
  static FZ_DEV int32_t bin(float x) { return __float2int_rn(x); }
  // The result of 0 times infinity on the CPU.
  static FZ_DEV float nan() { return __uint_as_float(0xffc00000u); }
};
template <> struct Real<double> {
  typedef uint64_t Bits;
  typedef int64_t Bin;
  static constexpr double FAST = 2251799813685248.0, MAGIC = 6755399441055744.0;
  static FZ_DEV double infinity() { return __longlong_as_double(0x7ff0000000000000ll); }
  static FZ_DEV uint64_t bits(double x) { return (uint64_t)__double_as_longlong(x); }
  static FZ_DEV double value(uint64_t b) { return __longlong_as_double((long long)b); }
  static FZ_DEV double from(double x) { return x; }
  static FZ_DEV double abs(double x) { return fabs(x); }
  static FZ_DEV double round(double x) { return rint(x); }
  static FZ_DEV int64_t bin(double x) { return __double2ll_rn(x); }
  static FZ_DEV double nan() { return __longlong_as_double((long long)0xfff8000000000000ull); }
};

constexpr uint32_t FLOOR = 0x4a800000u;  // bits of 2^22
FZ_DEV TileMetadata tile_metadata(const QuantizerParams& p, const BoundMetadata& f) {
  TileMetadata t;
  t.step = __fmul_rn(2.0f, (float)f.bound);
  t.inverse = __fdiv_rn(1.0f, t.step);
  t.keeps = (p.switches & STRICT) != 0;
  t.promise = t.keeps ? (float)f.promise : Real<float>::infinity();
  t.radius = (float)f.radius;
  t.threshold = (float)p.threshold;
  // A value in a bin below `fine` is below the threshold, and its bin below the radius: the
  // quotient is a little less than it could be, so that no rounding matters, nor does one of x *
  // inverse below 2^21. NaN: none is.
  const float quotient = fminf(__fmul_rn(__fmul_rn(t.threshold, t.inverse), 0.999999f), 2097152.0f);  // seed: tile-limit
  const uint32_t fine = quotient >= 1.0f ? min(f.radius, (uint32_t)quotient) : 0;
  const uint32_t power = fine > 1 ? 1u << (32 - __clz(fine - 1)) : fine;
  t.floor = 4194304.0f + (float)(power - fine);
  t.above = fine ? FLOOR + 2 * power : 0;
  return t;
}
// BoundMetadata and the constants that tiles derive from it.
template <class T> FZ_DEV void store_all(const Args& a, const QuantizerParams& p, const BoundMetadata& f) {
  store_metadata(a, f);
  if constexpr (sizeof(T) == 4) *reinterpret_cast<TileMetadata*>(address(output(a, 0)) + sizeof(BoundMetadata)) = tile_metadata(p, f);
}

template <class T> FZ_DEV T step_of(const BoundMetadata& f) { return T(2) * Real<T>::from(f.bound); }

// The arithmetic of one call.
template <class T> struct Bins {
  typedef Real<T> R;
  typedef typename R::Bin Bin;
  T inverse, step, promise, radius, threshold;
  bool strict;

  FZ_DEV Bins() {}
  FZ_DEV Bins(const QuantizerParams& p, const BoundMetadata& f)
      : inverse(T(1) / step_of<T>(f)), step(step_of<T>(f)), promise(R::from(f.promise)), radius(R::from((double)f.radius)),
        threshold(R::from(p.threshold)), strict((p.switches & STRICT) != 0) {}

  FZ_DEV bool fast() const { return radius <= R::FAST; }

  // The reference narrows f64 products to f32.
  FZ_DEV T scaled(T x) const {
    if constexpr (sizeof(T) == 8) {
      if (!strict) return (double)((float)x * (float)inverse);
    }
    return x * inverse;
  }
  FZ_DEV bool within_bound(T x, T k) const { return R::abs(x - k * step) <= promise; }

  // The bin of `x`, and true if it may represent `x`. The check is the decoder's own expression.
  template <bool FAST> FZ_DEV bool nearest(T x, Bin& bin) const {
    const T q = scaled(x);
    T k;
    bool inside = true;
    if (FAST) {
      const T sum = q + R::MAGIC;
      k = sum - R::MAGIC;
      bin = (Bin)(R::bits(sum) - R::bits(R::MAGIC));
      inside = R::abs(q) < R::FAST;
    } else {
      k = R::round(q);
      bin = R::bin(q);
    }
    return inside & (R::abs(k) < radius) & (R::abs(x) < threshold) & (!strict || within_bound(x, k));
  }

  // The bin on the other side of `x`, where the nearest one does not keep the bound.
  FZ_DEV bool other(T x, Bin& bin) const {
    const T q = x * inverse;
    if (!strict || !(R::abs(q) < radius && R::abs(x) < threshold)) return false;
    bin = R::bin(q) + (x - R::round(q) * step > T(0) ? 1 : -1);
    const T k = (T)bin;
    return within_bound(x, k) && R::abs(k) < radius;
  }

  // The bin that represents `x`, if any.
  template <bool FAST> FZ_DEV bool find(T x, Bin& bin) const { return nearest<FAST>(x, bin) || other(x, bin); }

  // The value of the nearest bin, and true if it represents `x` regardless of the threshold.
  FZ_DEV T nearest_value(T x) const {
    const T q = x * inverse;
    return fast() ? (q + R::MAGIC) - R::MAGIC : R::round(q);
  }
  FZ_DEV bool hits(T x) const {
    const T k = nearest_value(x);
    return within_bound(x, k) & (R::abs(k) < radius);
  }
  // True if no bin represents `x`, which the nearest bin does not, although a bin for its magnitude
  // exists. The result of `find` without the bins: as values both neighbors follow from each other,
  // because adding 1 rounds like converting the sum of integers.
  FZ_DEV bool misses(T x) const {
    if (hits(x) || !(R::abs(x * inverse) < radius && R::abs(x) < threshold)) return false;
    const T k = nearest_value(x), other = k + (x - k * step > T(0) ? T(1) : T(-1));
    return !(within_bound(x, other) && R::abs(other) < radius);
  }
};

// A bin as a code of type C, and back.
template <class C, class Bin> FZ_DEV C code_of(Bin bin, bool zigzag) {
  const C c = (C)bin;
  return zigzag ? (C)((C)(c << 1) ^ (C)(C(0) - (C)(c >> (8 * sizeof(C) - 1)))) : c;
}
template <class C> FZ_DEV int64_t bin_of(C c, bool zigzag) {
  if (zigzag) c = (C)((C)(c >> 1) ^ (C)(C(0) - (C)(c & 1)));
  if constexpr (sizeof(C) == 2) return (int16_t)c;
  else if constexpr (sizeof(C) == 4) return (int32_t)c;
  else return (int64_t)c;
}

// The value of a bin. An infinite step, which files of others have, makes no number of bin 0.
template <class T> FZ_DEV T value_of(int64_t bin, T step) {
  const T x = (T)bin * step;
  return x == x ? x : Real<T>::nan();
}

// Types and place of a call: calls `f(T(), C(), Width<in place>())`.
template <class F> FZ_DEV void by_types(const QuantizerParams& p, F f) {
  const uint32_t types = p.value << 8 | p.code << 4 | ((p.switches & IN_PLACE) != 0);
  if (types == 0x441) f(float(), uint32_t(), Width<1>());
  else if (types == 0x881) f(double(), uint64_t(), Width<1>());
  else if (types == 0x420) f(float(), uint16_t(), Width<0>());
  else if (types == 0x440) f(float(), uint32_t(), Width<0>());
  else if (types == 0x820) f(double(), uint16_t(), Width<0>());
  else if (types == 0x840) f(double(), uint32_t(), Width<0>());
}
}  // namespace quantizer
}  // namespace fz
