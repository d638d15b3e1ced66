// Stage fast, encoder: exceptions, the values without a code.
#pragma once
#include "fast/quantize.cuh"
#include "fast/bitplanes.cuh"

namespace fz {
namespace fast {
// The exceptions of a unit: a mask of those of this lane, the bits of the first one, and whether
// all of this lane are equal.
struct Exceptions { uint32_t mask, low, high, same; };

// Loads four rows of the lane. All loads are issued at once, since alignment is checked only once.
template <class T, int DIM> FZ_DEV void load_rows(T (&x)[16], const Params& p, const Unit<DIM>& u, const T* src, uint32_t from, bool rows) {
  bool inside;
  if (rows) {
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) load_row(reinterpret_cast<T(&)[4]>(x[4 * j]), src + u.lane_first(p) + (from + j) * Unit<DIM>::row(p));
  } else if (aligned(src, sizeof(T))) {
#pragma unroll
    for (uint32_t e = 0; e < 16; e++) x[e] = src[u.at(p, 4 * from + e, &inside)];
  } else {
#pragma unroll
    for (uint32_t e = 0; e < 16; e++) x[e] = load<T>(src + u.at(p, 4 * from + e, &inside));
  }
}

// Replaces each exception by the code before it, or by the first code of the unit.
template <class C> FZ_DEV void stand_in(uint32_t mask, C (&q)[32]) {
  C first = 0;
#pragma unroll
  for (int e = 31; e >= 0; e--) first = mask >> e & 1 ? first : q[e];
  const uint32_t some = __ballot_sync(ALL, mask != ALL);
  C last = some ? __shfl_sync(ALL, first, __ffs(some) - 1) : C(0);
#pragma unroll
  for (int e = 0; e < 32; e++) q[e] = last = mask >> e & 1 ? last : q[e];  // seed: fast-before
}

// The codes of a unit, with replacements for exceptions. `values` loads four rows of the lane.
// Everything stays in registers: exceptions are a bit mask, and replacements are selected code by
// code, so that lanes do not diverge.
template <class T, class Values> FZ_DEV Exceptions exceptions(const Grid<T>& grid, const Values& values, typename Grid<T>::Code (&q)[32]) {
  Exceptions r = {0, 0, 0, 1};
#pragma unroll
  for (uint32_t half = 0; half < 2; half++) {
    T x[16];
    values(4 * half, x);
    uint32_t mask = 0;
#pragma unroll
    for (uint32_t e = 0; e < 16; e++) mask |= grid.coded(x[e], q[16 * half + e]) ? 0 : 1u << e;
    // Few values of a warp are exceptions.
    const uint32_t some = __reduce_or_sync(ALL, mask);
#pragma unroll
    for (uint32_t e = 0; e < 16; e++) {
      if (!(some >> e & 1)) continue;
      const bool exact = mask >> e & 1, first = exact & !r.mask;
      const uint64_t b = Real<T>::bits(x[e]);
      const uint32_t low = (uint32_t)b, high = (uint32_t)(b >> 32);
      r.low = first ? low : r.low;
      r.high = first ? high : r.high;
      r.same &= !exact | ((low == r.low) & (high == r.high));
      r.mask |= exact ? 1u << (16 * half + e) : 0;
    }
  }
  if (__any_sync(ALL, r.mask != 0)) stand_in(r.mask, q);
  return r;
}

// As `exceptions`, for values that are stored among the codes under `mask`.
FZ_DEV Exceptions exceptions_in_place(uint32_t mask, float (&q)[32]) {
  Exceptions r = {mask, 0, 0, 1};
#pragma unroll
  for (int e = 31; e >= 0; e--) r.low = mask >> e & 1 ? __float_as_uint(q[e]) : r.low;  // seed: fills-low
#pragma unroll
  for (int e = 0; e < 32; e++) r.same &= !(mask >> e & 1) | (__float_as_uint(q[e]) == r.low);  // seed: fills-same
  stand_in(mask, q);
  return r;
}

// As `exceptions`, with the codes stored in `mine`. For units whose rows cannot be loaded in
// pieces, or with exceptions: it is short, and loads the values again.
template <class T, int DIM> FZ_RARE Exceptions exceptions_apart(const Args& a, uint32_t number, uint4* mine) {
  const Params& p = params<Params>(a);
  const T* src = reinterpret_cast<const T*>(address(input(a, 0)));
  const Chunk chunk = chunk_at<DIM>(p, number);
  const Unit<DIM> u(p, chunk, threadIdx.x >> 5);
  const Grid<T> grid(a, p, src + Unit<DIM>(p, chunk, 0).first);
  const bool rows = u.whole && in_pieces<T, DIM>(p, src);
  typename Grid<T>::Code q[32];
  const Exceptions r = exceptions(grid, [&](uint32_t from, T (&x)[16]) { load_rows<T, DIM>(x, p, u, src, from, rows); }, q);
  if (DIM == 1) put_rows(mine, q); else put(mine, q);
  return r;
}

// Measures a unit that is not loaded as rows. Values that replace others beyond the edge are values
// of the array too.
template <class T, int DIM> FZ_RARE void measure_apart(const Args& a, uint32_t number, T threshold) {
  const Params& p = params<Params>(a);
  const Unit<DIM> u(p, chunk_at<DIM>(p, number), threadIdx.x >> 5);
  quantizer::Extremes<T> extremes;
#pragma unroll 1
  for (uint32_t from = 0; from < 8; from += 4) {
    T x[16];
    load_rows<T, DIM>(x, p, u, reinterpret_cast<const T*>(address(input(a, 0))), from, false);
#pragma unroll
    for (int e = 0; e < 16; e++) extremes.add_bounded(x[e], threshold);
  }
  extremes.record(a);
}
// Measures the values of a unit that this lane has, by a warp.
template <int N> FZ_DEV void measure_rows(const Args& a, const float (&t)[N], float threshold) {
  quantizer::Extremes<float> extremes;
#pragma unroll
  for (int e = 0; e < N; e++) extremes.add(t[e]);
  if (!__all_sync(ALL, extremes.bounded(threshold))) {
    extremes = quantizer::Extremes<float>();
#pragma unroll
    for (int e = 0; e < N; e++) extremes.add_bounded(t[e], threshold);
  }
  extremes.record(a);
}

// Stores the masks and the number of words of the exceptions of a unit, and returns their kind.
template <class T> FZ_DEV uint32_t note_exceptions(const Exceptions& r, uint32_t k, Shared& s) {
  constexpr uint32_t EACH = sizeof(T) / 4;
  const uint32_t lane = threadIdx.x & 31, lanes = __ballot_sync(ALL, r.mask != 0), from = __ffs(lanes) - 1;
  if (!lanes) return NONE;
  const uint32_t low = __shfl_sync(ALL, r.low, from), high = __shfl_sync(ALL, r.high, from);
  const bool one = __all_sync(ALL, r.mask == 0 || (r.same && r.low == low && r.high == high));
  const uint32_t n = __reduce_add_sync(ALL, __popc(r.mask)), kind = !one ? VALUES : n == UNIT ? ALL_ONE : ONE_VALUE;
  s.masks[k][lane] = r.mask;
  if (lane == 0) {
    s.values[k][0] = low;
    s.values[k][1] = high;
    s.exact_words[k] = kind == ALL_ONE ? EACH : 1 + __popc(lanes) + EACH * (one ? 1 : n);
  }
  __syncwarp();
  return kind;
}

// Writes the exceptions; returns the number of words.
template <class T, int DIM, bool ANYWHERE>
FZ_DEV uint32_t put_exceptions(const Args& a, uint32_t number, uint32_t k, const Shared& s, uint32_t kind, uint8_t* o) {
  constexpr uint32_t EACH = sizeof(T) / 4;
  const uint32_t lane = threadIdx.x & 31, mask = s.masks[k][lane], lanes = __ballot_sync(ALL, mask != 0);
  uint32_t at = 0;
  if (kind != ALL_ONE) {
    if (lane == 0) put_at<ANYWHERE>(o, lanes);
    if (mask) put_at<ANYWHERE>(o + 4 * (1 + __popc(lanes & below())), mask);
    at = 1 + __popc(lanes);
  }
  if (kind != VALUES) {
    if (lane < EACH) put_at<ANYWHERE>(o + 4 * (at + lane), s.values[k][lane]);
  } else {
    const Params& p = params<Params>(a);
    const T* src = reinterpret_cast<const T*>(address(input(a, 0)));
    const Unit<DIM> u(p, chunk_at<DIM>(p, number), k);
    const uint32_t n = __popc(mask);
    at += EACH * (warp_sum_to(n) - n);
    // Several loads are issued before the first value is written.
    constexpr int TOGETHER = 4;
    for (uint32_t m = mask; m;) {
      uint64_t x[TOGETHER];
      uint32_t many = 0;
#pragma unroll
      for (int i = 0; i < TOGETHER; i++) {
        if (!m) continue;
        bool in;
        x[i] = Real<T>::bits(load<T>(src + u.at(p, __ffs(m) - 1, &in)));
        m &= m - 1;
        many++;
      }
#pragma unroll
      for (int i = 0; i < TOGETHER; i++) {
        if (i >= (int)many) continue;
        put_at<ANYWHERE>(o + 4 * at++, (uint32_t)x[i]);
        if (EACH == 2) put_at<ANYWHERE>(o + 4 * at++, (uint32_t)(x[i] >> 32));
      }
    }
  }
  return s.exact_words[k];
}
}  // namespace fast
}  // namespace fz
