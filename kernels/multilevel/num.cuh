// Stage multilevel: operations of the stage on f32 and f64, with the results of src/stages/multilevel/value.rs.
#pragma once
#include "common/memory.cuh"
#include "multilevel/params.h"

// Marks a function that few points require, so that it is not inlined into the code for all points.
#ifdef FZ_EMULATED
#define FZ_APART static
#else
#define FZ_APART __device__ __noinline__
#endif

namespace fz {
namespace multilevel {
// Returns a value that is the same in all lanes, in a uniform register: branches that depend on it do not let lanes diverge, so that warp
// operations behind them require fewer instructions.
FZ_DEV uint32_t uniform(uint32_t x) { return __reduce_or_sync(ALL, x); }
// The same for the value of lane `k`.
FZ_DEV uint32_t uniform_of(uint32_t x, uint32_t k) { return uniform((threadIdx.x & 31) == k ? x : 0); }
// Returns a value that the compiler keeps in a register, because computing it again would be slow.
FZ_DEV uint32_t kept(uint32_t x) {
#ifndef FZ_EMULATED
  asm volatile("" : "+r"(x));
#endif
  return x;
}
template <class T> FZ_DEV T* kept(T* p) {
#ifndef FZ_EMULATED
  asm volatile("" : "+l"(p));
#endif
  return p;
}
// A pointer into shared memory that occupies one register.
template <class T> struct Shared {
#ifdef FZ_EMULATED
  T* at;
  FZ_DEV explicit Shared(T& of) : at(&of) {}
  FZ_DEV T& operator*() const { return *at; }
#else
  uint32_t at;
  FZ_DEV explicit Shared(T& of) : at(kept((uint32_t)__cvta_generic_to_shared(&of))) {}
  FZ_DEV T& operator*() const { return *reinterpret_cast<T*>(__cvta_shared_to_generic(at)); }
#endif
};

template <class T> struct Num;
template <> struct Num<float> {
  typedef uint32_t Bits;
  typedef float2 Pair;
  static constexpr int MANTISSA = 23, BIAS = 127, BITS = 32;
  // Adding this number rounds to an integer, which is in the low bits of the sum.
  static constexpr float MAGIC = 12582912.0f;
  static constexpr uint32_t MAGIC_LOW = 0x4b400000u;
  static FZ_DEV float most() { return __uint_as_float(0x7f7fffffu); }
  static FZ_DEV float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
  static FZ_DEV float abs(float x) { return fabsf(x); }
  static FZ_DEV uint32_t bits(float x) { return __float_as_uint(x); }
  static FZ_DEV float value(uint64_t b) { return __uint_as_float((uint32_t)b); }
  static FZ_DEV float from(double x) { return __double2float_rn(x); }
  static FZ_DEV float integer(int32_t i) { return __int2float_rn(i); }
  // A faster `integer` for magnitudes up to 2^22.
  static FZ_DEV float small_integer(int32_t i) { return __uint_as_float(MAGIC_LOW + (uint32_t)i) - MAGIC; }
  // The results equal those of comparisons, unless both numbers are NaN.
  static FZ_DEV float larger(float a, float b) { return fmaxf(a, b); }
  static FZ_DEV float smaller(float a, float b) { return fminf(a, b); }
  static FZ_DEV uint32_t toward_zero(float x) { return __float2uint_rz(x); }
};
template <> struct Num<double> {
  typedef uint64_t Bits;
  typedef double2 Pair;
  static constexpr int MANTISSA = 52, BIAS = 1023, BITS = 64;
  static constexpr double MAGIC = 6755399441055744.0;
  static constexpr uint32_t MAGIC_LOW = 0;
  static FZ_DEV double most() { return __longlong_as_double(0x7fefffffffffffffll); }
  static FZ_DEV double fma(double a, double b, double c) { return __fma_rn(a, b, c); }
  static FZ_DEV double abs(double x) { return fabs(x); }
  static FZ_DEV uint64_t bits(double x) { return (uint64_t)__double_as_longlong(x); }
  static FZ_DEV double value(uint64_t b) { return __longlong_as_double((long long)b); }
  static FZ_DEV double from(double x) { return x; }
  static FZ_DEV double integer(int32_t i) { return __int2double_rn(i); }
  static FZ_DEV double small_integer(int32_t i) { return __longlong_as_double(0x4338000000000000ll + i) - MAGIC; }
  static FZ_DEV double larger(double a, double b) { return a > b ? a : b; }
  static FZ_DEV double smaller(double a, double b) { return a < b ? a : b; }
  static FZ_DEV uint32_t toward_zero(double x) { return __double2uint_rz(x); }
};

// The integer in the low bits of a sum with MAGIC.
template <class T> FZ_DEV int32_t magic_integer(T sum) { return (int32_t)((uint32_t)Num<T>::bits(sum) - Num<T>::MAGIC_LOW); }

// The context of an activity, which is in units of the step. Only NaN may have a sign; its context is the largest with and without it.
template <class T> FZ_DEV uint32_t bucket(T activity) {
  const int exponent = (int)(Num<T>::bits(activity) >> Num<T>::MANTISSA);
  return (uint32_t)max(0, min(11, exponent - (Num<T>::BIAS - 7)));
}

// The approximate cost of an error in bits; `rate` is 1 / step.
template <class T> FZ_DEV uint32_t cost_of(T error, T rate) {
  const T scaled = Num<T>::abs(error) * (rate * T(4));
  // The comparison is false for NaN.
  const uint32_t whole = scaled < T(2147483647.0) ? Num<T>::toward_zero(scaled) : 2147483647u;
  return 32 - __clz((int)whole);
}


FZ_DEV uint32_t zigzag(int32_t q) { return (uint32_t)q << 1 ^ (uint32_t)(q >> 31); }
FZ_DEV int32_t unzigzag(uint32_t u) { return (int32_t)(u >> 1) ^ -(int32_t)(u & 1); }
}  // namespace multilevel
}  // namespace fz
