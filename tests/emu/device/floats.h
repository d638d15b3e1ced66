// Arithmetic with a named rounding, conversions, and views of bits.
//
// The compiler is told -frounding-math, -ffp-contract=off, and operands pass through volatile: an operation is neither
// folded nor moved out of the rounding it names.
#pragma once
#include <fenv.h>

namespace fzemu {
template <int mode, class T, class Op> T rounded(T a, T b, Op op) {
  if (mode == FE_TONEAREST) return op(a, b);
  volatile T x = a, y = b;
  const int before = fegetround();
  fesetround(mode);
  volatile T r = op(x, y);
  fesetround(before);
  return r;
}
template <int mode> float narrow(double x) {
  volatile double v = x;
  const int before = fegetround();
  fesetround(mode);
  volatile float r = float(v);
  fesetround(before);
  return r;
}

// The device saturates; of NaN it makes 0, or the top bit alone where the result has 64 bits.
template <class I, class F> I saturated(F integral) {
  constexpr I least = I(-1) < I(0) ? I(I(1) << (sizeof(I) * 8 - 2)) * -2 : I(0);
  constexpr I most = I(~least);
  if (integral != integral) return sizeof(I) == 4 ? I(0) : I(1ull << 63);
  // As powers of two both limits are exact in F.
  const F end = F(2) * F(most / 2 + 1);
  if (integral >= end) return most;
  if (integral <= F(least)) return least;
  return I(integral);
}
}  // namespace fzemu

#define FZ_ROUNDINGS(apply) apply(rn, FE_TONEAREST) apply(rz, FE_TOWARDZERO) apply(ru, FE_UPWARD) apply(rd, FE_DOWNWARD)
#define FZ_ARITHMETIC(T, letter, suffix, mode)                                                                              \
  inline T __##letter##add_##suffix(T a, T b) { return fzemu::rounded<mode>(a, b, [](T x, T y) { return x + y; }); }        \
  inline T __##letter##sub_##suffix(T a, T b) { return fzemu::rounded<mode>(a, b, [](T x, T y) { return x - y; }); }        \
  inline T __##letter##mul_##suffix(T a, T b) { return fzemu::rounded<mode>(a, b, [](T x, T y) { return x * y; }); }        \
  inline T __##letter##div_##suffix(T a, T b) { return fzemu::rounded<mode>(a, b, [](T x, T y) { return x / y; }); }        \
  inline T __##letter##sqrt_##suffix(T a) { return fzemu::rounded<mode>(a, a, [](T x, T) { return T(sqrt(x)); }); }
#define FZ_BOTH(suffix, mode)              \
  FZ_ARITHMETIC(float, f, suffix, mode)    \
  FZ_ARITHMETIC(double, d, suffix, mode)   \
  inline float __double2float_##suffix(double x) { return fzemu::narrow<mode>(x); }
FZ_ROUNDINGS(FZ_BOTH)
#undef FZ_BOTH
#undef FZ_ARITHMETIC
#undef FZ_ROUNDINGS
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline float __fmaf_rz(float a, float b, float c) { return fzemu::rounded<FE_TOWARDZERO>(a, b, [=](float x, float y) { return fmaf(x, y, c); }); }
inline double __fma_rz(double a, double b, double c) { return fzemu::rounded<FE_TOWARDZERO>(a, b, [=](double x, double y) { return fma(x, y, c); }); }

#define FZ_TO_INTEGER(F, from, I, to)                                                                  \
  inline I __##from##2##to##_rn(F x) { return fzemu::saturated<I>(F(rint(x))); }                       \
  inline I __##from##2##to##_rz(F x) { return fzemu::saturated<I>(F(trunc(x))); }                      \
  inline I __##from##2##to##_ru(F x) { return fzemu::saturated<I>(F(ceil(x))); }                       \
  inline I __##from##2##to##_rd(F x) { return fzemu::saturated<I>(F(floor(x))); }
#define FZ_FROM(F, from)                                                                                \
  FZ_TO_INTEGER(F, from, int, int) FZ_TO_INTEGER(F, from, unsigned, uint)                               \
  FZ_TO_INTEGER(F, from, long long, ll) FZ_TO_INTEGER(F, from, unsigned long long, ull)
FZ_FROM(float, float)
FZ_FROM(double, double)
#undef FZ_FROM
#undef FZ_TO_INTEGER

inline float __int2float_rn(int x) { return float(x); }
inline float __uint2float_rn(unsigned x) { return float(x); }
inline float __ll2float_rn(long long x) { return float(x); }
inline float __ull2float_rn(unsigned long long x) { return float(x); }
inline double __int2double_rn(int x) { return double(x); }
inline double __uint2double_rn(unsigned x) { return double(x); }
inline double __ll2double_rn(long long x) { return double(x); }
inline double __ull2double_rn(unsigned long long x) { return double(x); }

namespace fzemu {
template <class To, class From> To bits(From x) {
  static_assert(sizeof(To) == sizeof(From), "bits are seen as they are");
  To to;
  memcpy(&to, &x, sizeof to);
  return to;
}
}  // namespace fzemu
inline unsigned __float_as_uint(float x) { return fzemu::bits<unsigned>(x); }
inline int __float_as_int(float x) { return fzemu::bits<int>(x); }
inline float __uint_as_float(unsigned x) { return fzemu::bits<float>(x); }
inline float __int_as_float(int x) { return fzemu::bits<float>(x); }
inline long long __double_as_longlong(double x) { return fzemu::bits<long long>(x); }
inline double __longlong_as_double(long long x) { return fzemu::bits<double>(x); }
inline int __double2hiint(double x) { return int(fzemu::bits<unsigned long long>(x) >> 32); }
inline int __double2loint(double x) { return int(fzemu::bits<unsigned long long>(x)); }
inline double __hiloint2double(int hi, int lo) { return fzemu::bits<double>((unsigned long long)unsigned(hi) << 32 | unsigned(lo)); }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.f) : 0.f; }
// Of two numbers one of which is NaN, also a signaling one, the device takes the other.
inline float fz_emu_fminf(float a, float b) { return a != a ? b : b != b ? a : a < b ? a : b; }
inline float fz_emu_fmaxf(float a, float b) { return a != a ? b : b != b ? a : a > b ? a : b; }
#define fminf(a, b) fz_emu_fminf(a, b)
#define fmaxf(a, b) fz_emu_fmaxf(a, b)
