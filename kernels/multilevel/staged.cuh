// Stage multilevel: taps of a batch in shared memory. While a warp processes a batch, the taps of the next one are
// copied.
#pragma once
#include "common/shared_memory.cuh"
#include "multilevel/walk.cuh"

namespace fz {
namespace multilevel {
// The taps of the steps of a batch: in rows of 32 lanes for a pass over z or y, by steps for a pass over x.
constexpr uint32_t LINE_TAPS = BATCH + 7, ROW_TAPS = STEP + 8;
template <class T> struct __align__(16) StagedTaps {
  T at[LINE_TAPS * STEP];
  static_assert(BATCH * ROW_TAPS <= LINE_TAPS * STEP, "rows need less");
};

// The taps of a point. `staged_taps` loads those of a stencil, which are `APART` apart from t on; the others are undefined.
template <class T> struct Taps {
  T t0, a5, a, b, c, d, d5, t7;
};
template <int STENCIL, uint32_t APART, class T> FZ_DEV Taps<T> staged_taps(const T* t) {
  const T a = t[2 * APART], b = t[3 * APART], c = t[4 * APART], d = t[5 * APART];
  T t0 = b, a5 = b, d5 = b, t7 = b;
  if constexpr (STENCIL >= 6) {
    a5 = t[APART];
    d5 = t[6 * APART];
  }
  if constexpr (STENCIL == 8) {
    t0 = t[0];
    t7 = t[7 * APART];
  }
  return {t0, a5, a, b, c, d, d5, t7};
}

// The prediction of point i, whose taps are `APART` apart from t on. If `ends` is false, no tap is missing.
template <int STENCIL, uint32_t APART, class T> FZ_DEV Predicted<T> predict_staged(const Predictor<T>& of, const T* t, bool ends, uint32_t i, uint32_t known) {
  const Taps<T> w = staged_taps<STENCIL, APART>(t);
  Guess<T> g = inside<STENCIL>(w.t0, w.a5, w.a, w.b, w.c, w.d, w.d5, w.t7);
  if (ends) g = near_end<STENCIL>(g, i + 1, known > i ? known - i - 1 : 0, w.a5, w.a, w.b, w.c, w.d, w.d5, of.step);
  return of.resolve(g, w.b, w.c, i + 1 < known);
}

// Begins to copy the taps of the steps in `mask`. `i` is the first step of the batch.
template <int STENCIL, class T> FZ_DEV void stage_line(StagedTaps<T>& to, const Line<T>& line, uint32_t i, uint32_t mask, uint32_t known) {
  constexpr uint32_t TAPS = STENCIL < 4 ? 4 : STENCIL, FIRST = (8 - TAPS) / 2;
  uint32_t rows = 0;
#pragma unroll
  for (uint32_t k = 0; k < TAPS; k++) rows |= mask << (FIRST + k);
#pragma unroll
  for (uint32_t r = FIRST; r < LINE_TAPS - FIRST; r++)
    if (rows >> r & 1) fz_copy<sizeof(T)>(&to.at[r * STEP + (threadIdx.x & 31)], line.even + (uint64_t)max(0, min((int)(i + r) - 3, (int)known - 1)) * line.apart);
}
}  // namespace multilevel
}  // namespace fz
