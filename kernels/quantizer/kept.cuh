// The base that a workspace keeps from call to call, and the range of the array that a call measures
// while it codes. src/stages/quantizer/bound.rs has the rule.
//
// A call has two tries. The first one codes with the kept base. The launches that resolve the bound
// in the second try compare the base with the measured range; if the base does not suit, the
// launches of the second try code the array again, otherwise they return at once.
#pragma once
#include "quantizer/bins.cuh"

namespace fz {
namespace quantizer {
// Zero when the workspace is made. `base`, `low`, and `high` are read by all blocks of a launch, so
// that no block of this launch writes them: the second try stores `next`, which its last launch
// copies.
struct Kept {
  double base, next;             // 0: none
  unsigned long long low, high;  // keys of the extremes that the call has found so far; 0: none
  uint32_t again;                // 1: the array has to be coded again
};
static_assert(sizeof(Kept) <= KEPT_BYTES, "as in Rust");
FZ_DEV Kept* kept_of(const Args& a) { return reinterpret_cast<Kept*>(a.kept); }

// True if a kept base keeps the promise for an array with this base, at a bound that is not much
// smaller.
FZ_DEV bool suits(double kept, double base) { return kept > 0.0 && kept <= base && base <= MOST_OF_PREVIOUS * kept; }

// Extremes as keys, which are ordered like the values: of -low and of high, so that the larger key
// counts. No key of a number is 0.
template <class T> struct Key;
template <> struct Key<float> {
  typedef unsigned int Word;
  static FZ_DEV Word of(float x) {
    const uint32_t b = __float_as_uint(x);
    return b >> 31 ? ~b : b | 0x80000000u;
  }
  static FZ_DEV float value(Word k) { return __uint_as_float(k >> 31 ? k & 0x7fffffffu : ~k); }
  static FZ_DEV Word largest(Word k) { return __reduce_max_sync(ALL, k); }
};
template <> struct Key<double> {
  typedef unsigned long long Word;
  static FZ_DEV Word of(double x) {
    const Word b = Real<double>::bits(x);
    return b >> 63 ? ~b : b | 1ull << 63;
  }
  static FZ_DEV double value(Word k) { return Real<double>::value(k >> 63 ? k & ~(1ull << 63) : ~k); }
  static FZ_DEV Word largest(Word k) {
    const uint32_t high = __reduce_max_sync(ALL, (uint32_t)(k >> 32));
    return (Word)high << 32 | __reduce_max_sync(ALL, (uint32_t)(k >> 32) == high ? (uint32_t)k : 0u);
  }
};

// The extremes that this thread has seen of the array.
template <class T> struct Extremes {
  T low, high;
  FZ_DEV Extremes() : low(Real<T>::infinity()), high(-Real<T>::infinity()) {}
  // NaN changes nothing.
  FZ_DEV void add(T x) {
    if constexpr (sizeof(T) == 4) { low = fminf(low, x); high = fmaxf(high, x); }
    else { low = x < low ? x : low; high = x > high ? x : high; }
  }
  FZ_DEV void add_bounded(T x, T threshold) { add(Real<T>::abs(x) < threshold ? x : Real<T>::nan()); }
  // If the extremes are bounded, all values are.
  FZ_DEV bool bounded(T threshold) const { return low > -threshold && high < threshold; }
  // Adds them to those of the call, by a warp. The keys that are known so far can be late, which
  // costs an addition too many.
  FZ_DEV void record(const Args& a) const {
    typedef typename Key<T>::Word Word;
    Kept* kept = kept_of(a);
    const volatile Word *known_low = reinterpret_cast<const volatile Word*>(&kept->low), *known_high = reinterpret_cast<const volatile Word*>(&kept->high);
    const Word least = *known_low, most = *known_high;
    const Word own_low = Key<T>::largest(Key<T>::of(-low)), own_high = Key<T>::largest(Key<T>::of(high));
    if ((threadIdx.x & 31) != 0 || own_low == Key<T>::of(-Real<T>::infinity())) return;
    if (own_low > least) atomicMax(reinterpret_cast<Word*>(&kept->low), own_low);
    if (own_high > most) atomicMax(reinterpret_cast<Word*>(&kept->high), own_high);
  }
};

// A launch that codes: false if it has nothing to do, in all threads of the grid. The second try also
// moves the base of the next call to its place.
FZ_DEV bool begin_try(const Args& a) {
  if (a.tag != SECOND_TRY) return true;
  wait_prerequisites();
  Kept* kept = kept_of(a);
  if (blockIdx.x == 0 && threadIdx.x == 0) kept->base = kept->next;
  return kept->again != 0;
}
}  // namespace quantizer
}  // namespace fz
