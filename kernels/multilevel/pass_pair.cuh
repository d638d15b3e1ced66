// Stage multilevel, encoder: the passes over y and x of the finest level together, so that points of the pass over y are not read back from
// memory. A block codes pairs of rows: an even row of known points, and the odd row behind it, which is predicted from even rows.
#pragma once
#include "multilevel/pass_wide.cuh"

namespace fz {
namespace multilevel {
// The known points of a row, and the even rows in shared memory: 8 taps, and those that are on their way.
constexpr uint32_t PAIR_WIDTH = 256, PAIR_RING = 16;
// Arrays of fewer units are coded apart: blocks would have no unit.
constexpr uint32_t PAIR_UNITS = 512;

// Shared memory of a block.
template <class T> struct __align__(16) PairRoom {
  BlockCounts counts;
  Columns<T> y, x;
  T even[PAIR_RING][PAIR_WIDTH];
  // By parity of the step and place of the pair.
  T odd[2][2][PAIR_WIDTH];
  // Masks of the batches of a row of lines, by parity of the batch.
  uint32_t masks[2][PAIR_WIDTH / STEP];
};
template <> struct PairRoom<double> {};

template <class T> struct PairEncoder {
  const WideEncoder<T>& y;
  const WideEncoder<T>& x;
  PairRoom<T>& room;

  // True if the kernel codes both passes; `y` and `x` are their sections.
  FZ_DEV static bool fits(const Shape& shape, const Section& y, const Section& x, const uint8_t* source) {
    return x.level == 1 && x.points[0] == PAIR_WIDTH && shape.n[1] % (2 * BATCH) == 0 && y.points[2] * y.per_line >= PAIR_UNITS && WideEncoder<T>::fits(shape, y, source) && WideEncoder<T>::fits(shape, x, source);
  }
  // Begins to copy even row `r` and the next one.
  FZ_DEV void stage(const T* even, int r) const {
    const int row = r + (int)(threadIdx.x / (PAIR_WIDTH / WIDE));
    const uint32_t at = threadIdx.x % (PAIR_WIDTH / WIDE) * WIDE;
    if (row >= 0 && row < (int)y.s.known) fz_copy16(&room.even[(uint32_t)row % PAIR_RING][at], even + (uint64_t)(uint32_t)row * (2 * PAIR_WIDTH) + at);
  }
  FZ_DEV static Four<T> load_shared(const T* p) { return *reinterpret_cast<const Four<T>*>(p); }
  // The values at even or odd places from here on, and two of the others, so that the compiler does not split the loads.
  struct Values {
    T at[WIDE], other[2];
  };
  template <int FIRST> FZ_DEV static Values values(const T* from) {
    const Four<T> a = load_four(from), b = load_four(from + WIDE);
    return {{a.at[FIRST], a.at[FIRST + 2], b.at[FIRST], b.at[FIRST + 2]}, {a.at[FIRST ? 2 : 1], b.at[FIRST ? 2 : 1]}};
  }
  // Points beside values that are not bounded are coded as rare ones.
  FZ_DEV bool bounded(const Values& v) const { return x.coder.of.is_bounded(v.other[0]) & x.coder.of.is_bounded(v.other[1]); }

  // Codes four points of row `i` of the pass over y.
  template <int STENCIL, bool PLAIN> FZ_DEV bool code_y(WideCounts& own, uint16_t* to, const Values& v, T (&restored)[WIDE], uint32_t i, uint32_t column) const {
    constexpr int TAPS = STENCIL < 4 ? 4 : STENCIL, FIRST = (8 - TAPS) / 2;
    Four<T> taps[TAPS];
#pragma unroll
    for (int k = 0; k < TAPS; k++) taps[k] = load_shared(&room.even[0][0] + ((i + FIRST + k - 3) * PAIR_WIDTH % (PAIR_RING * PAIR_WIDTH) + column));
    auto tap = [&](int k, uint32_t j) -> T { return k >= FIRST && k < FIRST + TAPS ? taps[k < FIRST ? 0 : k - FIRST < TAPS ? k - FIRST : 0].at[j] : T(0); };
    const uint32_t points = y.s.known;
    return y.template code<STENCIL, PLAIN>(own, bounded(v), true, to, v.at, restored, i + 1, points - i - 1, 0, tap, [&](Guess<T>(&g)[WIDE]) {
      if (i < 3 || i + 5 > points) y.template line_ends<STENCIL>(g, tap, i, points);
    });
  }
  // Codes four points of half `HALF` of a row of the pass over x.
  template <int STENCIL, bool PLAIN, int HALF> FZ_DEV bool code_x(WideCounts& own, uint16_t* to, const Values& v, const T* row) const {
    const uint32_t lane = threadIdx.x & 31, column = PAIR_WIDTH / 2 * HALF + lane * WIDE;
    // Taps beyond the ends of a row are replaced.
    const Four<T> before = load_shared(row + (HALF == 0 && lane == 0 ? column : column - WIDE)), taps = load_shared(row + column);
    const Four<T> behind = load_shared(row + (HALF == 1 && lane == 31 ? column : column + WIDE));
    auto tap = [&](int k, uint32_t j) -> T {
      const int i = k + (int)j - 3;
      return i < 0 ? before.at[i < 0 ? i + 4 : 0] : i < 4 ? taps.at[i < 0 || i > 3 ? 0 : i] : behind.at[i < 4 || i > 7 ? 0 : i - 4];
    };
    T restored[WIDE];
    return x.template code<STENCIL, PLAIN>(own, bounded(v), true, to, v.at, restored, column + 1, PAIR_WIDTH - column - 1, 1, tap, [&](Guess<T>(&g)[WIDE]) {
      const bool is_end = lane == (HALF ? 31 : 0);
#pragma unroll
      for (uint32_t j = 0; j < WIDE; j++) {
        const Guess<T> e = near_end<STENCIL>(g[j], HALF ? BATCH : j + 1, HALF ? 3 - j : BATCH, tap(1, j), tap(2, j), tap(3, j), tap(4, j), tap(5, j), tap(6, j), x.coder.of.step);
        g[j].p = is_end ? e.p : g[j].p;
        g[j].v = is_end ? e.v : g[j].v;
      }
    });
  }

  // A unit is a batch of all lines of a plane: 8 pairs of rows. Two pairs at a time: a warp codes half a row of the pass over y, and a
  // row of the pass over x.
  template <int STENCIL, bool PLAIN> FZ_DEV void encode(WideCounts& of_y, WideCounts& of_x) const {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, pair = warp / 2, column = warp % 2 * (PAIR_WIDTH / 2) + lane * WIDE;
    const uint32_t per_line = y.s.per_line, along = y.s.along, units = y.s.points[2] * per_line;
    const uint32_t end = (uint32_t)((uint64_t)units * (blockIdx.x + 1) / gridDim.x);
    uint32_t unit = (uint32_t)((uint64_t)units * blockIdx.x / gridDim.x);
    if (threadIdx.x < 2 * PAIR_WIDTH / STEP) (&room.masks[0][0])[threadIdx.x] = 0;
#pragma unroll 1
    while (unit < end) {
      const uint32_t plane = unit / per_line, first = unit - plane * per_line, stop = min(per_line, first + (end - unit));
      const T* even = x.known.at + (uint64_t)plane * (2 * along * PAIR_WIDTH);
      __syncthreads();
#pragma unroll 1
      for (int r = (int)(first * BATCH) - 4; r < (int)(first * BATCH) + 8; r += 2) stage(even, r);
      fz_copies_close();
      fz_copies_close();
      fz_copies_but<1>();
      // Places of values and codes. A pair of rows has four rows of half the length.
      const uint32_t row = plane * 2 * along + 2 * first * BATCH + warp;
      const T* x_from = x.source + (uint64_t)row * (2 * PAIR_WIDTH) + lane * (2 * WIDE);
      const T* y_from = x.source + (uint64_t)(row - warp + 2 * pair + 1) * (2 * PAIR_WIDTH) + 2 * column;
      uint16_t* x_to = x.keeper.kept + (uint64_t)row * PAIR_WIDTH + lane * WIDE;
      uint16_t* y_to = y.keeper.kept + (uint64_t)(plane * along + first * BATCH + pair) * PAIR_WIDTH + column;
      uint8_t* x_masks = x.masks + row;
      Values y_ahead = values<0>(y_from), x_ahead = values<1>(x_from), x_behind = values<1>(x_from + PAIR_WIDTH);
      __syncthreads();
      uint32_t mask = 0;
      const uint32_t last = stop * BATCH;
#pragma unroll 1
      for (uint32_t i = first * BATCH; i < last; i += 2) {
        stage(even, (int)i + 8);
        fz_copies_close();
        const bool more = i + 2 < last;
        const uint32_t parity = i / 2 % 2, batch = i / BATCH;
        Values v = y_ahead;
        y_from += 8 * PAIR_WIDTH;
        if (more) y_ahead = values<0>(y_from);
        T restored[WIDE];
        if (code_y<STENCIL, PLAIN>(of_y, y_to, v, restored, i + pair, column)) mask |= 1u << (i + pair) % BATCH;
        *reinterpret_cast<Four<T>*>(&room.odd[parity][pair][column]) = {{restored[0], restored[1], restored[2], restored[3]}};
        y_to += 2 * PAIR_WIDTH;
        if (i % BATCH == BATCH - 2) {
          if (lane % OCTET == 0) atomicOr(&room.masks[batch % 2][column / STEP], mask);
          mask = 0;
        }
        fz_copies_but<1>();
        __syncthreads();
        if (i % BATCH == BATCH - 2 && threadIdx.x < PAIR_WIDTH / STEP) {
          uint32_t& own = room.masks[batch % 2][threadIdx.x];
          y.masks[(plane * (PAIR_WIDTH / STEP) + threadIdx.x) * per_line + batch] = (uint8_t)own;
          of_y.busy += __popc(own);
          own = 0;
        }
        const T* taps = warp % 2 ? room.odd[parity][pair] : room.even[(i + pair) % PAIR_RING];
        x_from += 8 * PAIR_WIDTH;
        v = x_ahead;
        if (more) x_ahead = values<1>(x_from);
        const bool low = code_x<STENCIL, PLAIN, 0>(of_x, x_to, v, taps);
        v = x_behind;
        if (more) x_behind = values<1>(x_from + PAIR_WIDTH);
        const bool high = code_x<STENCIL, PLAIN, 1>(of_x, x_to + PAIR_WIDTH / 2, v, taps);
        x_to += 4 * PAIR_WIDTH;
        // The first lane of each octet has the bit of its step.
        const uint32_t of_row = ((__ballot_sync(ALL, low) & 0x01010101) * 0x01020408 >> 24 & 15) | ((__ballot_sync(ALL, high) & 0x01010101) * 0x01020408 >> 20 & 240);
        if (lane == 0) {
          *x_masks = (uint8_t)of_row;
          of_x.busy += __popc(of_row);
        }
        x_masks += 4;
      }
      unit += stop - first;
    }
  }
};
}  // namespace multilevel
}  // namespace fz
