// Stage multilevel: codes and tokens of values, by the rules of src/stages/multilevel/code.rs and token.rs.
#pragma once
#include "multilevel/predict.cuh"

namespace fz {
namespace multilevel {
// Codes are below this number. The numbers from it on represent patterns, and the next one any other exact value.
constexpr uint32_t CODES = 1u << 21;
// Encoders keep a token with its context and up to 6 of its raw bits: token, context << 6, raw << 10.
constexpr uint32_t KEPT_BITS = 6;

// The token of a code, and the number of its raw bits.
struct Token {
  uint32_t token, bits;
};
FZ_DEV Token token_of(uint32_t u) {
  if (u >= CODES) return {PATTERN + (u - CODES), 0};
  // The leading bits of a code are in its token; of few there are two behind the first one. Selections take less time than branches.
  const uint32_t e = 31 - __clz((int)(u | 16)), bits = e < 8 ? e - 2 : e - 1, first = e < 8 ? 4 * e - 4 : 2 * e + 14;
  return {u < 16 ? u : first + (u >> bits), u < 16 ? 0 : bits};
}
// The number of raw bits of a token, which is `exact` for an exact value.
FZ_DEV uint32_t raw_bits(uint32_t t, uint32_t exact) {
  const uint32_t bits = t < 16 ? 0 : t < 32 ? t / 4 - 2 : t / 2 - 9;
  return t < PATTERN ? bits : t == EXACT ? exact : 0;
}
// The code of a token with these raw bits. The token is not that of an exact value.
FZ_DEV uint32_t code_of(uint32_t t, uint32_t raw) {
  if (t < 16) return t;
  const uint32_t bits = raw_bits(t, 0);
  return (t < 32 ? 4 + (t & 3) : 2 + (t & 1)) << bits | raw;
}

template <class T> struct Quotient {
  int32_t q;
  T restored;
  bool coded;
};

// The numbers of a call that an encoder requires.
template <class T> struct Coder {
  typedef Num<T> N;
  Predictor<T> of;
  T bound;
  const MultilevelMetadata* m;
  Coder() = default;
  FZ_DEV Coder(double threshold, const MultilevelMetadata& metadata) : of(threshold, metadata), bound(N::from(metadata.bound)), m(&metadata) {}
  FZ_DEV Quotient<T> quotient(T x, T p, T most) const {
    const T sum = (x - p) * of.rate + N::MAGIC, q = sum - N::MAGIC, restored = N::fma(q, of.step, p), d = x - restored;
    bool close = N::abs(d) < bound;
    if (N::abs(d) == bound) {
      // The rounding error of the subtraction, by TwoSum. It decides if the rounded difference equals the bound.
      const T back = d + restored, lost = (x - back) - (restored - (back - d));
      close = N::abs(back) <= N::most() && (lost == T(0) || (lost > T(0)) != (d > T(0)));
    }
    return {magic_integer(sum), restored, of.is_bounded(x) && N::abs(q) < most && close};
  }
  // The code of an exact value: that of its pattern, or of any other one.
  FZ_DEV uint32_t exact(T x) const {
    for (uint32_t i = 0; i < m->patterns; i++)
      if (m->pattern[i] == N::bits(x)) return CODES + i;
    return CODES + PATTERNS;
  }
  // The code of a point; `restored` becomes its restored value. `b` is the left neighbor.
  FZ_DEV uint32_t code(T x, Predicted<T> p, T b, T& restored) const {
    const Quotient<T> r = quotient(x, p.p, T(MOST_QUOTIENT));
    restored = r.coded ? r.restored : x;
    uint32_t u = zigzag(r.q) + (p.context == FILL2);
    if (p.context == FILL2 && N::bits(x) == N::bits(b)) {
      // b is not bounded, so x is not coded, and `restored` is x: a decoder restores these bits from b.
      u = 0;
    } else if (!r.coded) {
      u = exact(x);
    }
    return u;
  }
};
}  // namespace multilevel
}  // namespace fz
