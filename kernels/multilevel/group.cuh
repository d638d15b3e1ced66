// Stage multilevel, encoder: predictions from taps in shared memory, for a few steps at a time so that their latencies overlap.
#pragma once
#include "multilevel/staged.cuh"

namespace fz {
namespace multilevel {
// Steps that are predicted together: more steps would require too many registers.
constexpr uint32_t GROUP = 4;
template <class T> struct Predictions {
  T p[GROUP];
  uint32_t context[GROUP];
};

// The 8 steps of a batch of a pass over x. Lane l has the place of step l mod 8.
struct RowPack {
  // The number of the row, the index of its first known point, and the first point of the step in the row.
  uint32_t number, row, x;
  FZ_DEV RowPack() : number(0), row(0), x(0) {}
  FZ_DEV RowPack(const Section& s, uint32_t length, uint32_t batch) {
    const uint32_t step = min(batch * BATCH + threadIdx.x % BATCH, s.steps - 1);
    number = step / s.strips;
    row = number * length;
    x = (step - number * s.strips) * STEP;
  }
  FZ_DEV uint32_t in(const Section& s, uint32_t per_y, uint32_t per_z) const {
    const uint32_t z = number / s.points[1];
    return (number - z * s.points[1]) * per_y + z * per_z;
  }
  // A mask of the lanes whose step has points that lack taps.
  FZ_DEV uint32_t ends(uint32_t known) const { return __ballot_sync(ALL, x == 0 || x + STEP + 4 > known); }
};

// Begins to copy the taps of a pack: those of each step, four before it, and four after it. `length` is the number of known values
// of a row. If `wide`, rows are aligned to 16 bytes.
template <class T> FZ_DEV void stage_pack(StagedTaps<T>& to, const T* known, const RowPack& pack, uint32_t length, bool wide) {
  const uint32_t lane = threadIdx.x & 31;
  if (wide) {
    constexpr uint32_t CHUNK = 16 / sizeof(T), CHUNKS = ROW_TAPS / CHUNK;
#pragma unroll
    for (uint32_t from = 0; from < BATCH * CHUNKS; from += 32) {
      const uint32_t c = from + lane, j = c / CHUNKS, k = (c - j * CHUNKS) * CHUNK;
      const uint32_t row = __shfl_sync(ALL, pack.row, j & 7);
      const int first = (int)(__shfl_sync(ALL, pack.x, j & 7) + k) - 4;
      if (j < BATCH && first >= 0 && first < (int)length) fz_copy<16>(&to.at[j * ROW_TAPS + k], known + row + first);
    }
    return;
  }
  const int last = (int)length - 1;
#pragma unroll
  for (uint32_t j = 0; j < BATCH; j++) {
    const T* row = known + __shfl_sync(ALL, pack.row, j);
    const int first = (int)(__shfl_sync(ALL, pack.x, j) + lane) - 3;
    T* taps = &to.at[j * ROW_TAPS + lane + 1];
    fz_copy<sizeof(T)>(taps, row + max(0, min(first, last)));
    if (lane < 7) fz_copy<sizeof(T)>(taps + STEP, row + min(first + (int)STEP, last));
  }
}

// The prediction of a point that lacks taps or is beside a value that is not bounded. There are few such points.
template <class T> FZ_APART Predicted<T> predict_apart(const Predictor<T>* of, uint32_t stencil, uint32_t left, uint32_t right, const T* taps, uint32_t apart) {
  T t[8];
#pragma unroll
  for (uint32_t k = 0; k < 8; k++) t[k] = taps[k * apart];
  return of->predict_any(stencil, left, right, t);
}
// Predicts a group of steps. The taps of step j are at taps + j · NEXT and `APART` apart. `ends` is not 0 if some steps lack taps, and
// i(j) is the point of step j.
template <int STENCIL, uint32_t APART, uint32_t NEXT, class T, class Index>
FZ_DEV void predict_group(Predictions<T>& to, const Predictor<T>& of, const T* taps, uint32_t ends, uint32_t known, Index i) {
  uint32_t apart = 0;
#pragma unroll
  for (uint32_t j = 0; j < GROUP; j++) {
    const Taps<T> w = staged_taps<STENCIL, APART>(taps + j * NEXT);
    const Guess<T> g = inside<STENCIL>(w.t0, w.a5, w.a, w.b, w.c, w.d, w.d5, w.t7);
    if (!of.is_usual(g.p)) apart |= 1u << j;
    to.p[j] = of.finish(g.p);
    to.context[j] = bucket(g.v * of.rate);
  }
#pragma unroll
  for (uint32_t j = 0; j < GROUP; j++) {
    if (!(ends >> j & 1)) continue;
    const uint32_t k = i(j);
    if (k < 3 || k + 5 > known) apart |= 1u << j;
  }
  const uint32_t any = __reduce_or_sync(ALL, apart);
  if (!any) return;
#pragma unroll
  for (uint32_t j = 0; j < GROUP; j++) {
    if (!(any >> j & 1)) continue;
    const uint32_t left = i(j) + 1;
    if (!(apart >> j & 1)) continue;
    const Predicted<T> r = predict_apart(&of, STENCIL, left, known > left ? known - left : 0, taps + j * NEXT, APART);
    to.p[j] = r.p;
    to.context[j] = r.context;
  }
}
}  // namespace multilevel
}  // namespace fz
