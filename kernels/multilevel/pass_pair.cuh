// Stage multilevel, encoder: the passes over y and x of a level together, so that points of the pass over y are not read back from memory.
// A block codes pairs of rows: an even row of known points, and the odd row behind it, which is predicted from even rows.
#pragma once
#include "multilevel/pass_wide.cuh"

namespace fz {
namespace multilevel {
// Passes of fewer units are coded apart: blocks would have no unit.
constexpr uint32_t PAIR_UNITS = 512;
// The known points of the even rows in shared memory: those of 8 taps, and those that are on their way.
constexpr uint32_t PAIR_POINTS = 4096;

// Shared memory of a block. Loads of taps beyond the ends of rows may be in other members.
template <class T> struct __align__(16) PairRoom {
  BlockCounts counts;
  Columns<T> y, x;
  T even[PAIR_POINTS];
  // The rows between them, by parity of the iteration.
  T odd[2][WIDE * STEP * WIDE];
  // Masks of the batches of a row of lines, by parity of the batch.
  uint32_t masks[2][BATCH];
};
template <> struct PairRoom<double> {};

// Begins to copy 16 bytes into shared memory.
FZ_DEV void copy_row(void* to, const void* from) {
#ifdef FZ_EMULATED
  memcpy(to, from, 16);
#else
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint32_t)__cvta_generic_to_shared(to)), "l"(from) : "memory");
#endif
}

// `WIDTH` is the number of known points of a row: 128, or 256, of which a warp codes a half at a time.
template <class T, uint32_t WIDTH> struct PairEncoder {
  // Points that a warp codes at a time, such parts of a row, and pairs of rows that the four warps of a block code in an iteration.
  static constexpr uint32_t PART = WIDE * STEP, PARTS = WIDTH / PART, PAIRS = 4 / PARTS, RING = PAIR_POINTS / WIDTH, STRIPS = WIDTH / STEP;
  const WideEncoder<T>& y;
  const WideEncoder<T>& x;
  // The known points of the level below, or null.
  const Known<T>& finer;
  PairRoom<T>& room;

  // True if the kernel of the pass over x codes both passes; `y` and `x` are their sections.
  FZ_DEV static bool fits(const Shape& shape, const Section& y, const Section& x, const uint8_t* source) {
    return x.points[0] == WIDTH && y.known == y.along && y.along % BATCH == 0 && y.points[2] * y.per_line >= PAIR_UNITS && WideEncoder<T>::fits(shape, y, source) && WideEncoder<T>::fits(shape, x, source);
  }
  // Begins to copy even rows from row `r` on, as many as an iteration has.
  FZ_DEV void stage(const T* even, int r) const {
    const int row = r + (int)(threadIdx.x / (WIDTH / WIDE));
    const uint32_t at = threadIdx.x % (WIDTH / WIDE) * WIDE;
    if (row >= 0 && row < (int)y.s.known) copy_row(&room.even[(uint32_t)row % RING * WIDTH + at], even + (uint64_t)(uint32_t)row * (2 * WIDTH) + at);
  }
  FZ_DEV static Four<T> load_shared(const T* p) { return *reinterpret_cast<const Four<T>*>(p); }

  // Four values that are 2 · `spacing` apart. In the finest level with two of the values between them, so that the compiler does not split
  // the loads.
  struct Values {
    T at[WIDE], other[2];
  };
  template <int ODD> FZ_DEV static Values values(const T* from, uint32_t spacing) {
    if (spacing == 1) {
      const Four<T> a = load_four(from), b = load_four(from + WIDE);
      return {{a.at[ODD], a.at[ODD + 2], b.at[ODD], b.at[ODD + 2]}, {a.at[ODD ? 2 : 1], b.at[ODD ? 2 : 1]}};
    }
    from += ODD * spacing;
    return {{from[0], from[2 * spacing], from[4 * spacing], from[6 * spacing]}, {T(0), T(0)}};
  }
  // Points beside values that are not bounded may be coded as rare points.
  FZ_DEV bool bounded(const Values& v) const { return x.coder.of.is_bounded(v.other[0]) & x.coder.of.is_bounded(v.other[1]); }

  // Codes four points of row `i` of the pass over y.
  template <int STENCIL, bool PLAIN> FZ_DEV bool code_y(WideCounts& own, uint16_t* to, const Values& v, T (&restored)[WIDE], uint32_t i, uint32_t column) const {
    constexpr int TAPS = STENCIL < 4 ? 4 : STENCIL, FIRST = (8 - TAPS) / 2;
    Four<T> taps[TAPS];
#pragma unroll
    for (int k = 0; k < TAPS; k++) taps[k] = load_shared(room.even + ((i + FIRST + k - 3) * WIDTH % PAIR_POINTS + column));
    auto tap = [&](int k, uint32_t j) -> T { return k >= FIRST && k < FIRST + TAPS ? taps[k < FIRST ? 0 : k - FIRST < TAPS ? k - FIRST : 0].at[j] : T(0); };
    const uint32_t points = y.s.known;
    return y.template code<STENCIL, PLAIN>(own, bounded(v), true, to, v.at, restored, i + 1, points - i - 1, 0, tap, [&](Guess<T>(&g)[WIDE]) {
      if (i < 3 || i + 5 > points) y.template line_ends<STENCIL>(g, tap, i, points);
    });
  }
  // Codes four points of part `NUMBER` of a row of the pass over x. `below`: the place of the known points of the row below, or null.
  template <int STENCIL, bool PLAIN, uint32_t NUMBER> FZ_DEV bool code_x(WideCounts& own, uint16_t* to, const Values& v, const T* row, T* below) const {
    constexpr bool FIRST = NUMBER == 0, LAST = NUMBER + 1 == PARTS;
    const uint32_t lane = threadIdx.x & 31, column = PART * NUMBER + lane * WIDE;
    const Four<T> before = load_shared(row + column - WIDE), taps = load_shared(row + column), behind = load_shared(row + column + WIDE);
    auto tap = [&](int k, uint32_t j) -> T {
      const int i = k + (int)j - 3;
      return i < 0 ? before.at[i < 0 ? i + 4 : 0] : i < 4 ? taps.at[i < 0 || i > 3 ? 0 : i] : behind.at[i < 4 || i > 7 ? 0 : i - 4];
    };
    T restored[WIDE];
    const bool busy = x.template code<STENCIL, PLAIN>(own, bounded(v), true, to, v.at, restored, column + 1, WIDTH - column - 1, 1, tap, [&](Guess<T>(&g)[WIDE]) {
#pragma unroll
      for (uint32_t j = 0; j < WIDE; j++) {
        auto end = [&](uint32_t left, uint32_t right) { return near_end<STENCIL>(g[j], left, right, tap(1, j), tap(2, j), tap(3, j), tap(4, j), tap(5, j), tap(6, j), x.coder.of.step); };
        const Guess<T> left = FIRST ? end(j + 1, BATCH) : g[j], right = LAST ? end(BATCH, 3 - j) : g[j];
        const bool is_first = FIRST && lane == 0, is_last = LAST && lane == 31;
        g[j].p = is_first ? left.p : is_last ? right.p : g[j].p;
        g[j].v = is_first ? left.v : is_last ? right.v : g[j].v;
      }
    });
    if (below != nullptr) {
      store_four(below, taps.at[0], restored[0], taps.at[1], restored[1]);
      store_four(below + WIDE, taps.at[2], restored[2], taps.at[3], restored[3]);
    }
    return busy;
  }

  // Places of a lane in the rows of an iteration, of which few are pointers, because these require two registers.
  struct Places {
    // Values of the first part of the pass over x, and from there on those of the second part and those of the pass over y.
    const T* x;
    uint32_t second, y;
    // Codes in the sections.
    uint32_t y_code, x_code;
    // Known points of the row below, or null, and from there on those of the second part.
    T* below;
    uint32_t below_second;
  };
  FZ_DEV Places places(uint32_t plane, uint32_t i) const {
    const Shape& shape = x.shape;
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, part = warp % PARTS, along = y.s.along, spacing = 1u << (x.s.level - 1);
    const uint32_t line = spacing * shape.n[0], row = 2 * (i + warp / PARTS), own = PARTS == 2 ? row + part : row;
    const uint64_t whole = (uint64_t)(shape.has(2) ? spacing : 1) * shape.n[0] * shape.n[1];
    Places p;
    p.x = x.source + plane * whole + (uint64_t)own * line + 2 * spacing * lane * WIDE;
    p.second = PARTS == 2 ? 2 * spacing * PART : line;
    p.y = (row + 1 - own) * line + 2 * spacing * part * PART;
    p.y_code = (plane * along + i + warp / PARTS) * WIDTH + part * PART + lane * WIDE;
    p.x_code = (plane * along + i) * (2 * WIDTH) + warp * (2 * PART) + lane * WIDE;
    p.below = finer.at == nullptr ? nullptr : finer.at + ((uint64_t)plane * (shape.has(2) ? 2 : 1) * finer.rows + 2 * own) * finer.length + 2 * lane * WIDE;
    p.below_second = PARTS == 2 ? 2 * PART : 2 * finer.length;
    return p;
  }

  // A unit is a batch of all lines of a plane, so 8 pairs of rows. In an iteration a warp codes a part of a row of the pass over y, and two
  // parts of the pass over x, which are a batch.
  template <int STENCIL, bool PLAIN> FZ_DEV void encode(WideCounts& of_y, WideCounts& of_x) const {
    const uint32_t per_line = y.s.per_line, units = y.s.points[2] * per_line, end = (uint32_t)((uint64_t)units * (blockIdx.x + 1) / gridDim.x);
    uint32_t unit = (uint32_t)((uint64_t)units * blockIdx.x / gridDim.x);
    if (threadIdx.x < 2 * BATCH) (&room.masks[0][0])[threadIdx.x] = 0;
#pragma unroll 1
    while (unit < end) {
      const uint32_t plane = unit / per_line, first = unit - plane * per_line, stop = min(per_line, first + (end - unit));
      rows<STENCIL, PLAIN>(of_y, of_x, plane, first * BATCH, stop * BATCH);
      unit += stop - first;
    }
  }
  // Pairs `first` to `last` - 1 of a plane.
  template <int STENCIL, bool PLAIN> FZ_DEV void rows(WideCounts& of_y, WideCounts& of_x, uint32_t plane, uint32_t first, uint32_t last) const {
    constexpr uint32_t AHEAD = 2 * PAIRS + 4;
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, pair = warp / PARTS, part = warp % PARTS, column = part * PART + lane * WIDE;
    const uint32_t spacing = 1u << (x.s.level - 1), next = 2 * PAIRS * spacing * x.shape.n[0], next_below = 4 * PAIRS * finer.length;
    const T* even = x.known.at + (uint64_t)plane * (2 * y.s.along * WIDTH);
    __syncthreads();
#pragma unroll 1
    for (int r = (int)first - 4; r < (int)(first + AHEAD); r += PAIRS) stage(even, r);
    end_group();
    end_group();
    wait_for_group_before();
    Places at = places(plane, first);
    Values y_ahead = values<0>(at.x + at.y, spacing), x_ahead[2] = {values<1>(at.x, spacing), values<1>(at.x + at.second, spacing)};
    __syncthreads();
    uint32_t mask = 0;
#pragma unroll 1
    for (uint32_t i = first; i < last; i += PAIRS) {
      stage(even, (int)(i + AHEAD));
      end_group();
      const bool more = i + PAIRS < last, ends = i % BATCH == BATCH - PAIRS;
      const uint32_t batch = i / BATCH;
      T* odd = room.odd[i / PAIRS % 2] + pair * WIDTH;
      Values v = y_ahead;
      at.x += next;
      if (more) y_ahead = values<0>(at.x + at.y, spacing);
      T restored[WIDE];
      if (code_y<STENCIL, PLAIN>(of_y, y.keeper.kept + at.y_code, v, restored, i + pair, column)) mask |= 1u << (i + pair) % BATCH;
      *reinterpret_cast<Four<T>*>(odd + column) = {{restored[0], restored[1], restored[2], restored[3]}};
      at.y_code += PAIRS * WIDTH;
      if (ends) {
        if (lane % OCTET == 0) atomicOr(&room.masks[batch % 2][column / STEP], mask);
        mask = 0;
      }
      wait_for_group_before();
      __syncthreads();
      if (ends && threadIdx.x < STRIPS) {
        uint32_t& own = room.masks[batch % 2][threadIdx.x];
        y.masks[(plane * STRIPS + threadIdx.x) * y.s.per_line + batch] = (uint8_t)own;
        of_y.busy += __popc(own);
        own = 0;
      }
      const T* known = room.even + (i + pair) % RING * WIDTH;
      bool busy[2] = {false, false};
#pragma unroll
      for (uint32_t k = 0; k < 2; k++) {
        v = x_ahead[k];
        if (more) x_ahead[k] = values<1>(at.x + (k ? at.second : 0), spacing);
        const T* row = (PARTS == 2 ? part : k) ? odd : known;
        uint16_t* to = x.keeper.kept + at.x_code + k * PART;
        T* below = at.below == nullptr || k == 0 ? at.below : at.below + at.below_second;
        if (PARTS == 2 && k == 1) busy[k] = code_x<STENCIL, PLAIN, PARTS - 1>(of_x, to, v, row, below);
        else busy[k] = code_x<STENCIL, PLAIN, 0>(of_x, to, v, row, below);
      }
      if (at.below != nullptr) at.below += next_below;
      // The first lane of each octet has the bit of its step.
      const uint32_t of_batch = ((__ballot_sync(ALL, busy[0]) & 0x01010101) * 0x01020408 >> 24 & 15) | ((__ballot_sync(ALL, busy[1]) & 0x01010101) * 0x01020408 >> 20 & 240);
      if (lane == 0) {
        x.masks[at.x_code / (BATCH * STEP)] = (uint8_t)of_batch;
        of_x.busy += __popc(of_batch);
      }
      at.x_code += 2 * PAIRS * WIDTH;
    }
  }
};
}  // namespace multilevel
}  // namespace fz
