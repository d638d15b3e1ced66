// Stage ginterp, strict volumes: predictions and values to codes and back, as
// src/stages/ginterp/code.rs.
#pragma once
#include "ginterp/volume.cuh"

namespace fz {
namespace ginterp {
// Four codes as words, the first in the low bits.
template <class C> struct CodeWords {
  static constexpr int N = sizeof(C);
  typedef typename Whole<4 * N>::Word Word;
  uint32_t w[N];
  FZ_DEV void fill(uint32_t code) {
#pragma unroll
    for (int i = 0; i < N; i++) w[i] = N == 1 ? code * 0x01010101u : N == 2 ? code * 0x10001u : code;
  }
  FZ_DEV uint32_t get(int i) const {
    if (N == 1) return w[0] >> 8 * i & 0xff;
    if (N == 2) return i & 1 ? w[i / 2 % N] >> 16 : w[i / 2 % N] & 0xffff;
    return w[i % N];
  }
  // Codes in the low bits of words; `mask` selects them.
  FZ_DEV void set(const uint32_t (&code)[4], uint32_t mask) {
    if (N == 1) {
      w[0] = __byte_perm(__byte_perm(code[0], code[1], 0x0040), __byte_perm(code[2], code[3], 0x0040), 0x5410);
    } else if (N == 2) {
      w[0] = __byte_perm(code[0], code[1], 0x5410);
      w[1 % N] = __byte_perm(code[2], code[3], 0x5410);
    } else {
#pragma unroll
      for (int i = 0; i < 4; i++) w[i % N] = code[i] & mask;
    }
  }
  FZ_DEV bool has_zero() const {
    uint32_t found = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
      if (N == 1) found |= (w[i] - 0x01010101u) & ~w[i] & 0x80808080u;
      else if (N == 2) found |= (w[i] - 0x00010001u) & ~w[i] & 0x80008000u;
      else found |= w[i] == 0;
    }
    return found != 0;
  }
  // At an address that is a multiple of their length.
  FZ_DEV void load_whole(const uint8_t* p) {
    const Word word = __ldg(reinterpret_cast<const Word*>(p));
    memcpy(w, &word, sizeof w);
  }
  FZ_DEV void store_whole(uint8_t* p) const {
    Word word;
    memcpy(&word, w, sizeof w);
    *reinterpret_cast<Word*>(p) = word;
  }
};
// The eight codes of a row.
template <class C> struct RowCodes {
  CodeWords<C> half[2];
  // A half whose number is not known when this is compiled.
  FZ_DEV CodeWords<C> pick(int h) const {
    CodeWords<C> some;
#pragma unroll
    for (int i = 0; i < CodeWords<C>::N; i++) some.w[i] = h ? half[1].w[i] : half[0].w[i];
    return some;
  }
  FZ_DEV void load_whole(const uint8_t* p) {
    if (sizeof(C) == 2) {
      const uint4 q = __ldg(reinterpret_cast<const uint4*>(p));
      memcpy(half, &q, sizeof q);
    } else {
      half[0].load_whole(p);
      half[1].load_whole(p + 4 * sizeof(C));
    }
  }
};

// ---- encoder
// The code of `x`, predicted as `p`, and the value that is restored, if it is in reach by more than a
// rounding. Values that are not bounded are NaN, which is below nothing.
template <class T> FZ_DEV bool quantize(const Scale<T>& n, T x, T p, T& v, uint32_t& word) {
  typedef Real<T> R;
  const T e = x - p, t = fabs(e) * n.half_rcp + T(0.5);
  const T q = (T)copysign(R::add_toward_zero(t, R::SHIFT) - R::SHIFT, e);
  const T r = R::fma(q, n.step, p);
  const bool hit = (t < n.limit) & (fabs(x - r) < n.bound);
  v = hit ? r : p;
  word = hit ? R::word(q + n.shift) : R::NO_CODE;
  return hit;
}
// A point that `quantize` did not accept, with its prediction as `v`.
template <class T> FZ_DEV void repair(const Numbers<T>& numbers, int level, T x, T& v, uint32_t& word) {
  typedef Real<T> R;
  const Scale<T> n(numbers, level);
  const T p = v, e = x - p, t = fabs(e) * n.half_rcp + T(0.5);
  if (t < n.limit) {
    const T q = (T)copysign(R::add_toward_zero(t, R::SHIFT) - R::SHIFT, e);
    const T r = R::fma(q, n.step, p), d = x - r;
    if (fabs(d) == n.bound) {
      // The difference was rounded, and that matters where it is the bound alone.
      const T b = d - x, dropped = (x - (d - b)) + (-r - b);
      if (dropped == T(0) || (dropped < T(0)) != (d < T(0))) {  // seed: ginterp-volume-tie
        v = r;
        word = R::word(q + n.shift);
        return;
      }
    }
  }
  v = R::is_finite(x) ? x : R::is_finite(p) ? p : T(0);  // seed: ginterp-volume-stand-in
}
template <class T> struct Coded4 {
  T v[4];
  uint32_t word[4];
};
// `owned`: how many of them belong to the tile.
template <class T> FZ_RARE Coded4<T> repair4(VolumeShared<T>& s, int level, uint32_t owned, T x0, T x1, T x2, T x3, Coded4<T> c) {
  const T x[4] = {x0, x1, x2, x3};
  uint32_t zeros = 0;
#pragma unroll
  for (uint32_t i = 0; i < 4; i++) {
    if (c.word[i] != Real<T>::NO_CODE) continue;
    repair(s.numbers, level, x[i], c.v[i], c.word[i]);
    zeros += i < owned && c.word[i] == Real<T>::NO_CODE;
  }
  if (zeros > 0) atomicAdd(&s.zeros, zeros);
  return c;
}
template <class T> struct Coded1 {
  T v;
  uint32_t word;
};
template <class T> FZ_RARE Coded1<T> repair1(VolumeShared<T>& s, int level, bool owned, T x, Coded1<T> c) {
  repair(s.numbers, level, x, c.v, c.word);
  if (owned && c.word == Real<T>::NO_CODE) atomicAdd(&s.zeros, 1u);
  return c;
}

// ---- decoder
// The value of a code.
template <class C> FZ_DEV float restore(const Scale<float>& n, uint32_t radius, uint32_t code, float p) {
  const float q = sizeof(C) < 4 ? __uint_as_float(code | 0x4b000000u) - n.shift : __int2float_rn((int)(code - radius));
  return __fmaf_rn(q, n.step, p);
}
template <class C> FZ_DEV double restore(const Scale<double>& n, uint32_t radius, uint32_t code, double p) {
  // Differences of codes of 32 bits may wrap: 2^52 + 2^31 takes the sign out of the way.
  const double q = sizeof(C) < 4 ? __longlong_as_double(0x4330000000000000ll | code) - n.shift
                                 : __longlong_as_double(0x4330000000000000ll | (code - radius ^ 0x80000000u)) - 4503601774854144.0;
  return __fma_rn(q, n.step, p);
}
}  // namespace ginterp
}  // namespace fz
