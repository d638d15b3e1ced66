// Stage fast, encoder of any unit: a register for each code.
#pragma once
#include "fast/encode_chunk.cuh"

namespace fz {
namespace fast {
// True if all codes are equal, with an early exit. The order of equal codes does not matter.
template <class C> FZ_DEV bool one_code(const C (&q)[32]) {
  const C first = __shfl_sync(ALL, q[0], 0);
  bool same = (q[0] == first) & (q[31] == first);
  if (!__all_sync(ALL, same)) return false;
#pragma unroll
  for (int e = 1; e < 31; e++) same = same & (q[e] == first);  // seed: one-code-turn
  return __all_sync(ALL, same);
}

// MASKED: values without a code stay in the registers of the codes, under a mask; otherwise such a
// unit is loaded again. MEASURES: the extremes of the array are recorded.
template <class T, int DIM, bool IS_SMALL, bool MASKED, bool EDGES = false, bool MEASURES = false> struct UnitEncoder : Coded {
  typedef typename Grid<T>::Code C;
  static constexpr bool FULL_WIDTH = true;  // planes beyond 16 bits occur
  C q[32];

  // Counts words, see `settle`.
  FZ_DEV Outcome count(const Args& a, uint32_t number, Shared& s) {
    const Params& p = params<Params>(a);
    const uint32_t lane = threadIdx.x & 31;
    k = warp_of();
    kind = NONE;
    bool single = true, good = true;
    uint4* const mine = s.codes[k];
    Widths offsets = {0, 0, 0}, intra = {0, 0, 0};
    const Source<T, DIM, EDGES> from(a, p, number, k);
    T t[sizeof(T) == 4 ? 32 : 4];
    if (!a.fresh && __any_sync(ALL, cancelled(a))) return CANCELLED;
    if (sizeof(T) == 4 && from.rows) {
#pragma unroll
      for (int j = 0; j < 8; j++) from.load(*reinterpret_cast<T(*)[4]>(&t[sizeof(T) == 4 ? 4 * j : 0]), j);
    }
    // All loads are issued before the first result is used.
    const unsigned long long failed = failure(a);
    const Grid<T> grid(a, p, sizeof(T) == 4 ? from.src : from.first(p));
    if (__any_sync(ALL, cancelled(a, failed) | grid.impossible())) return CANCELLED;
    uint32_t kept = 0;
    [[maybe_unused]] quantizer::Extremes<T> measured;
    if constexpr (MEASURES) {
      if (from.u.exists && !from.rows) measure_apart<T, DIM>(a, number, grid.threshold);
      if constexpr (sizeof(T) == 4) {
        if (from.u.exists && from.rows) measure_rows(a, t, grid.threshold);
      }
    }
    if (from.u.exists && from.rows) {
      if constexpr (MASKED) {
#pragma unroll
        for (int e = 0; e < 32; e++) {
          C code;
          const bool coded = grid.coded(t[e], code);
          q[e] = coded ? code : t[e];
          kept |= coded ? 0 : 1u << e;  // seed: fills-mask
        }
      } else if constexpr (sizeof(T) == 4) {
        if (grid.limited) {
#pragma unroll
          for (int e = 0; e < 32; e++) good = good && fabsf(t[e]) < grid.threshold;
        }
#pragma unroll
        for (int e = 0; e < 32; e++) {
          q[e] = grid.code(t[e]);
          good &= grid.close(t[e], q[e]);
        }
      } else {
#pragma unroll
        for (int j = 0; j < 8; j++) {
          from.load(t, j);
          if constexpr (MEASURES) {
#pragma unroll
            for (int e = 0; e < 4; e++) measured.add_bounded(t[e], grid.threshold);
          }
#pragma unroll
          for (int e = 0; e < 4; e++) { const bool ok = grid.coded(t[e], q[4 * j + e]); good &= ok; }
        }
      }
      if constexpr (MEASURES && sizeof(T) == 8) measured.record(a);
      if (DIM == 1 && !one_code(q)) {
        put_groups(mine, q);
        __syncwarp();
        get_rows(mine, q);
      }
    }
    good = good && from.rows;
    if (from.u.exists) {
      C least = 0, low = 0, high = 0;
      if constexpr (MASKED) {
        if (__any_sync(ALL, kept)) kind = note_exceptions<T>(exceptions_in_place(kept, q), k, s);
      }
      if (__any_sync(ALL, good)) {
        range(q, least, low, high);
        if (sizeof(T) == 4 && !MASKED) good = good && larger(low, high) <= C(Grid<T>::MOST) && least >= C(-Grid<T>::MOST);
      }
      if (!__all_sync(ALL, good)) {
        kind = code_with_exceptions<T, DIM, IS_SMALL>(a, number, k, s, grid, from, t, q);
        range(q, least, low, high);
      }
      const int32_t base = __reduce_min_sync(ALL, whole(least));
      from_whole(base, least);
      if (lane == 0) { s.least[k] = base; s.firsts[k] = whole(q[0]); }
      offsets = widths(low - least, high - least, 0);
      single = offsets.sums == 0;
      if (DIM == 2) put(mine, q);
      if (!single) {
        difference<DIM>(q);
        if (DIM == 3) put(mine, q);
        // The header has the first value.
        C first = lane ? q[0] : C(0);  // seed: fast-first
        extremes(q, first, low, high);
        intra = widths(low, high, 1);
      } else if (DIM == 3) {
#pragma unroll
        for (int e = 0; e < 32; e++) q[e] = lane == 0 && e == 0 ? q[0] : C(0);
        put(mine, q);
      }
    }
    if (lane == 0) note_code(s, *this, from.u.exists, single);
    if (DIM == 3) __syncthreads(); else __syncwarp();
    settle<DIM>(s, *this, from.u.exists, single, offsets, intra, [&] {
      take_away(s.codes[k - 1], q);
      C low, high;
      extremes(q, q[0], low, high);
      return widths(low, high, 1);
    });
    reference = grid.reference();
    return COUNTED_WORDS;
  }

  // The two lower bytes of the codes as bit planes.
  FZ_DEV void planes(const Shared& s, Planes& b) {
    const uint32_t mode = descriptor & 3;
    if (!most) return;
    if (mode == OFFSETS || (DIM == 3 && k && mode == INTRA)) recompute<DIM>(s, k, mode, q);
    else if (mode == INTRA && (threadIdx.x & 31) == 0) q[0] = 0;
    if (most <= 16) to_two_bytes(q); else to_integers(q);
    planes_of(q, 0, b.low);
    if (most > 8) planes_of(q, 1, b.high);
  }
};
}  // namespace fast
}  // namespace fz
