// Stage multilevel, encoder: passes whose rows are whole strips. A lane codes four consecutive points, so that its loads and stores
// are wide. Eight lanes, an octet, have a step, and a warp has four steps: of four lines of a pass over z or y, or consecutive ones.
#pragma once
#include "multilevel/keep.cuh"
#include "multilevel/staged.cuh"
#include "multilevel/source.cuh"

namespace fz {
namespace multilevel {
constexpr uint32_t WIDE = 4, OCTET = STEP / WIDE;

// Four consecutive values of a lane.
template <class T> struct Four {
  T at[WIDE];
};
#ifdef FZ_EMULATED
FZ_DEV Four<float> load_four(const float* p) { return *reinterpret_cast<const Four<float>*>(p); }
FZ_DEV void store_four(float* p, float a, float b, float c, float d) { *reinterpret_cast<Four<float>*>(p) = {{a, b, c, d}}; }
FZ_DEV void store_two(uint16_t* p, uint32_t a, uint32_t b) { *reinterpret_cast<uint2*>(p) = make_uint2(a, b); }
// Begins to load 32 bytes into the cache that all multiprocessors share.
FZ_DEV void load_ahead(const void*) {}
// Adds to the counter that is `words` behind another one in shared memory.
FZ_DEV void count(const Shared<uint32_t>& from, uint32_t words, uint32_t n) { atomicAdd(&*from + words, n); }
#else
// The compiler would split these accesses.
FZ_DEV Four<float> load_four(const float* p) {
  Four<float> v;
  asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.at[0]), "=f"(v.at[1]), "=f"(v.at[2]), "=f"(v.at[3]) : "l"(__cvta_generic_to_global(p)) : "memory");
  return v;
}
FZ_DEV void store_four(float* p, float a, float b, float c, float d) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(p)), "f"(a), "f"(b), "f"(c), "f"(d) : "memory");
}
FZ_DEV void store_two(uint16_t* p, uint32_t a, uint32_t b) {
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(p)), "r"(a), "r"(b) : "memory");
}
FZ_DEV void load_ahead(const void* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(p))); }
FZ_DEV void count(const Shared<uint32_t>& from, uint32_t words, uint32_t n) {
  asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(from.at + 4 * words), "r"(n) : "memory");
}
#endif

// Counters of a block in shared memory, for usual contexts and tokens below 16, and for token 0 of quiet steps. There are several columns,
// so that fewer lanes add to the same counter.
constexpr uint32_t SHORT_TOKENS = 16, COLUMN_TOKENS = SHORT_TOKENS + 1, COLUMN_CONTEXTS = FILL1, COLUMNS = 8;
template <class T> struct __align__(16) Columns {
  uint32_t of[COLUMN_CONTEXTS * COLUMN_TOKENS * COLUMNS];
};
template <> struct Columns<double> {};
struct WideCounts {
  typedef Columns<float> Of;
  BlockCounts& block;
  const Shared<uint32_t> column;
  const Of& columns;
  // The lanes of the octet, and sums of this lane.
  uint32_t octet, busy, raw;
  FZ_DEV WideCounts(BlockCounts& counts, Of& of) : block(counts), column(of.of[threadIdx.x % COLUMNS]), columns(of), octet(kept(0xffu << (threadIdx.x & 24))), busy(0), raw(0) {
    for (uint32_t i = threadIdx.x; i < sizeof of / 16; i += blockDim.x) reinterpret_cast<uint4*>(of.of)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();
  }
  // Counts four short tokens of a lane.
  FZ_DEV void add(const uint32_t (&token)[WIDE], const uint32_t (&context)[WIDE], bool is_busy, bool live) const {
    const Shared<uint32_t> of(is_busy ? (&*column)[0] : (&*column)[COLUMNS * SHORT_TOKENS]);
#pragma unroll
    for (uint32_t j = 0; j < WIDE; j++) count(of, COLUMNS * (context[j] * COLUMN_TOKENS + token[j]), live ? 1 : 0);
  }
  // The same for any tokens, which are in the low bits of `own`.
  FZ_DEV void add_any(const uint32_t (&own)[WIDE], const uint32_t (&context)[WIDE], bool is_busy, bool live) const {
#pragma unroll
    for (uint32_t j = 0; j < WIDE; j++) {
      const uint32_t token = own[j] & (SYMBOLS - 1);
      const bool is_usual = token < SHORT_TOKENS && context[j] < COLUMN_CONTEXTS;
      uint32_t* usual = &*column + COLUMNS * (context[j] * COLUMN_TOKENS + (is_busy ? token : SHORT_TOKENS));
      count(Shared<uint32_t>(is_usual ? *usual : is_busy ? block.of[context[j] * SYMBOLS + token] : block.quiet[context[j]]), 0, live ? 1 : 0);
    }
  }
  // All threads of the block must call the function.
  FZ_DEV void finish() {
    block.add_raw(raw);
    const uint32_t sum = __reduce_add_sync(ALL, busy);
    if (sum && (threadIdx.x & 31) == 0) atomicAdd(&block.busy, sum);
    __syncthreads();
    for (uint32_t row = threadIdx.x; row < COLUMN_CONTEXTS * COLUMN_TOKENS; row += blockDim.x) {
      uint32_t n = 0;
#pragma unroll
      for (uint32_t k = 0; k < COLUMNS; k++) n += columns.of[COLUMNS * row + k];
      const uint32_t context = row / COLUMN_TOKENS, token = row % COLUMN_TOKENS;
      if (token < SHORT_TOKENS) block.of[context * SYMBOLS + token] += n;
      else block.quiet[context] += n;
    }
  }
};

// True if nothing limits values and predictions. Those that are not finite have no code then, because comparisons with them are false.
template <class T> FZ_DEV bool is_plain(const Predictor<T>& of) {
  return of.low < -Num<T>::most() && of.high > Num<T>::most() && of.threshold > Num<T>::most() && !of.lattice;
}

// A point that lacks taps, is beside a value that is not bounded, or is exact. There are few such points.
template <class T> struct Point {
  uint32_t u, context;
  T restored;
};
template <class T> FZ_APART Point<T> point_apart(const Coder<T>* coder, uint32_t stencil, uint32_t left, uint32_t right, T x, T t0, T t1, T t2, T t3, T t4, T t5, T t6, T t7) {
  const T t[8] = {t0, t1, t2, t3, t4, t5, t6, t7};
  const Predicted<T> p = coder->of.predict_any(stencil, left, right, t);
  Point<T> r;
  r.u = coder->code(x, p, t3, r.restored);
  r.context = p.context;
  return r;
}

// A place of a pass over x: in a row, and the row.
struct RowPlace {
  uint32_t x, y, z;
  FZ_DEV RowPlace(const Section& s, uint32_t step) {
    const uint32_t row = step / s.strips;
    x = (step - row * s.strips) * STEP;
    z = row / s.points[1];
    y = row - z * s.points[1];
  }
  FZ_DEV void add(const RowPlace& more, uint32_t width, uint32_t rows) {
    x += more.x;
    y += more.y;
    z += more.z;
    if (x >= width) {
      x -= width;
      y++;
    }
    if (y >= rows) {
      y -= rows;
      z++;
    }
  }
};

template <class T> struct WideEncoder {
  typedef Num<T> N;
  const Shape& shape;
  const Section& s;
  const Known<T> known;
  const T* source;
  const Coder<T>& coder;
  const Keeper keeper;
  uint8_t* masks;

  // True if the loads and stores of a pass are aligned.
  FZ_DEV static bool fits(const Shape& shape, const Section& s, const uint8_t* source) {
    return s.points[0] % STEP == 0 && halved(shape.n[0], s.level) == s.points[0] && shape.n[0] % 4 == 0 && s.first_point % 4 == 0 && s.known >= 8 && aligned(source, 16);
  }
  FZ_DEV static uint32_t warp() { return (blockIdx.x * blockDim.x + threadIdx.x) >> 5; }
  FZ_DEV static uint32_t warps() { return gridDim.x * (blockDim.x >> 5); }
  // The first of the units of a warp.
  FZ_DEV static uint32_t share(uint32_t units, uint32_t of) { return uniform((uint32_t)((uint64_t)units * of / warps())); }

  // Codes four points of each lane. `tap(k, j)` is tap k of point j, from -7s to 7s, and `ends(g)` changes the predictions of points
  // that lack taps. `PLAIN`: `is_plain` is true. `usual`: false if a lane has a point that may be rare. The first point has `left` and
  // `right` points on its sides; those of the next points differ by `along`. `to` is the place of the first code. Returns whether the
  // step has a token other than 0.
  template <int STENCIL, bool PLAIN = false, class Tap, class Ends>
  FZ_DEV bool code(WideCounts& own, bool usual, bool live, uint16_t* to, const T (&x)[WIDE], T (&restored)[WIDE], uint32_t left, uint32_t right, uint32_t along, Tap tap, Ends ends) const {
    const Predictor<T>& of = coder.of;
    T p[WIDE];
    uint32_t u[WIDE], context[WIDE];
    Guess<T> guesses[WIDE];
#pragma unroll
    for (uint32_t j = 0; j < WIDE; j++) guesses[j] = inside<STENCIL>(tap(0, j), tap(1, j), tap(2, j), tap(3, j), tap(4, j), tap(5, j), tap(6, j), tap(7, j));
    ends(guesses);
#pragma unroll
    for (uint32_t j = 0; j < WIDE; j++) {
      if (!PLAIN) usual &= of.is_usual(guesses[j].p);
      p[j] = guesses[j].p;
      context[j] = bucket(guesses[j].v * of.rate);
    }
    if (!PLAIN && of.lattice) {
#pragma unroll
      for (uint32_t j = 0; j < WIDE; j++) p[j] = of.on_lattice(p[j]);
    }
#pragma unroll
    for (uint32_t j = 0; j < WIDE; j++) {
      if (!PLAIN) p[j] = N::smaller(N::larger(p[j], of.low), of.high);
      const T sum = (x[j] - p[j]) * of.rate + N::MAGIC, q = sum - N::MAGIC;
      restored[j] = N::fma(q, of.step, p[j]);
      u[j] = zigzag(magic_integer(sum));
      // Without branches.
      usual &= N::abs(x[j] - restored[j]) < coder.bound;
      if (!PLAIN) usual &= of.is_bounded(x[j]);
    }
    // Lanes without points may have any codes.
    const bool any = __any_sync(ALL, !usual || (u[0] | u[1] | u[2] | u[3]) >= SHORT_TOKENS);
    if (any) {
      // Magnitudes of quotients from 2^20 on have codes from 2^21 - 1 on, also where the sum with the large number has lost bits.
      if (!usual || max(max(u[0], u[1]), max(u[2], u[3])) >= CODES - 1) {
#pragma unroll
        for (uint32_t j = 0; j < WIDE; j++) {
          const Point<T> r = point_apart(&coder, STENCIL, left + j * along, right - j * along, x[j], tap(0, j), tap(1, j), tap(2, j), tap(3, j), tap(4, j), tap(5, j), tap(6, j), tap(7, j));
          u[j] = r.u;
          restored[j] = r.restored;
          context[j] = r.context;
        }
      }
      own.raw += shorten(u, to, live);
    }
    if (live) store_two(to, u[0] + (context[0] << 6) + ((u[1] + (context[1] << 6)) << 16), u[2] + (context[2] << 6) + ((u[3] + (context[3] << 6)) << 16));
    const bool is_busy = (__ballot_sync(ALL, live && (u[0] | u[1] | u[2] | u[3]) != 0) & own.octet) != 0;
    if (any) own.add_any(u, context, is_busy, live);
    else own.add(u, context, is_busy, live);
    return is_busy;
  }
  // Replaces codes by tokens with those raw bits that are kept with them. Returns the number of raw bits.
  FZ_DEV uint32_t shorten(uint32_t (&u)[WIDE], const uint16_t* to, bool live) const {
    uint32_t all = 0;
#pragma unroll
    for (uint32_t j = 0; j < WIDE; j++) {
      if (!__any_sync(ALL, u[j] >= SHORT_TOKENS)) continue;
      const Token t = token_of(u[j]);
      const uint32_t raw = t.bits ? u[j] & ((1u << t.bits) - 1) : 0;
      if (live && t.bits > KEPT_BITS) keeper.more[to - keeper.kept + j] = (uint16_t)(raw >> KEPT_BITS);
      all += t.token == EXACT ? N::BITS : t.bits;
      u[j] = t.token | (raw & ((1u << KEPT_BITS) - 1)) << 10;
    }
    if (!live) all = 0;
    return all;
  }

  // Values at points that are `apart` elements apart.
  FZ_DEV static Four<T> values(const T* from, uint32_t apart, uint32_t first) {
    if (apart == 2) {
      const Four<T> a = load_four(from), b = load_four(from + WIDE);
      if (first) return {{a.at[1], a.at[3], b.at[1], b.at[3]}};
      return {{a.at[0], a.at[2], b.at[0], b.at[2]}};
    }
    from += first;
    return {{from[0], from[apart], from[2 * apart], from[3 * apart]}};
  }

  // The predictions of points that lack taps: of point i of each line, and of the first or the last four points of a row.
  template <int STENCIL, class Tap> FZ_DEV void line_ends(Guess<T> (&g)[WIDE], Tap tap, uint32_t i, uint32_t points) const {
#pragma unroll
    for (uint32_t j = 0; j < WIDE; j++) g[j] = near_end<STENCIL>(g[j], i + 1, points - i - 1, tap(1, j), tap(2, j), tap(3, j), tap(4, j), tap(5, j), tap(6, j), coder.of.step);
  }
  template <int STENCIL, class Tap> FZ_DEV void row_ends(Guess<T> (&g)[WIDE], Tap tap, bool is_first, bool is_last) const {
#pragma unroll
    for (uint32_t j = 0; j < WIDE; j++) {
      const Guess<T> left = near_end<STENCIL>(g[j], j + 1, BATCH, tap(1, j), tap(2, j), tap(3, j), tap(4, j), tap(5, j), tap(6, j), coder.of.step);
      const Guess<T> right = near_end<STENCIL>(g[j], BATCH, 3 - j, tap(1, j), tap(2, j), tap(3, j), tap(4, j), tap(5, j), tap(6, j), coder.of.step);
      g[j].p = is_first ? left.p : is_last ? right.p : g[j].p;
      g[j].v = is_first ? left.v : is_last ? right.v : g[j].v;
    }
  }

  // Loads the taps from `first` on. Taps that do not exist are replaced by others.
  template <int TAPS> FZ_DEV static void load_window(T (&window)[TAPS + 1][WIDE], const Line<T>& line, int first, uint32_t points) {
#pragma unroll
    for (int k = 0; k < TAPS; k++) {
      const Four<T> v = load_four(line.even + (uint64_t)(uint32_t)max(0, min(first + k, (int)points - 1)) * line.apart);
#pragma unroll
      for (uint32_t j = 0; j < WIDE; j++) window[k][j] = v.at[j];
    }
  }

  // A pass over z or y. A unit is a batch of four lines; a warp codes consecutive units.
  template <int STENCIL, bool PLAIN> FZ_DEV void lines(WideCounts& own) const {
    constexpr int BEFORE = STENCIL < 4 ? 1 : STENCIL / 2 - 1, TAPS = STENCIL < 4 ? 4 : STENCIL;
    const uint32_t lane = threadIdx.x & 31, count = s.batches / s.per_line, points = s.known, along = s.along, spacing = 2u << (s.level - 1);
    const uint32_t units = (count + WIDE - 1) / WIDE * s.per_line, begin = share(units, warp()), end = share(units, warp() + 1);
    uint32_t unit = begin;
#pragma unroll 1
    while (unit < end) {
      const uint32_t group = unit / s.per_line, first = unit - group * s.per_line, stop = min(s.per_line, first + (end - unit)), number = WIDE * group + lane / OCTET;
      const bool live = number < count;
      const Line<T> line(shape, s, known, min(number, count - 1), lane % OCTET * WIDE);
      // The window: taps before and after the next point, and one for the point after it.
      T window[TAPS + 1][WIDE];
      const uint32_t from = first * BATCH;
      load_window<TAPS>(window, line, (int)from - BEFORE, points);
      // Places of the next values, of the next tap, and of the point. Their distances have fewer than 2^32 bytes, because there are 8 taps
      // or more along the axis.
      const uint8_t* values_at = reinterpret_cast<const uint8_t*>(source + line.element + from * line.next_element);
      const uint8_t* tap_at = reinterpret_cast<const uint8_t*>(line.even + (uint64_t)min(from + TAPS - BEFORE, points - 1) * line.apart);
      uint8_t* odd_at = reinterpret_cast<uint8_t*>(line.odd + (uint64_t)from * line.apart);
      const uint32_t next_values = line.next_element * (uint32_t)sizeof(T), apart = line.apart * (uint32_t)sizeof(T);
      uint16_t* code_at = keeper.kept + line.code + from * line.next_code;
      Four<T> ahead = values(reinterpret_cast<const T*>(values_at), spacing, 0);
#pragma unroll 1
      for (uint32_t batch = first; batch < stop; batch++) {
        uint32_t mask = 0;
        const uint32_t i0 = batch * BATCH, steps = min(BATCH, along - i0);
        // Two steps at a time, so that the window moves half as often. `later` is the place of the step among the two.
        auto code_step = [&](uint32_t step, int later) {
          const uint32_t i = i0 + step;
          const Four<T> x = ahead, tap_ahead = load_four(reinterpret_cast<const T*>(tap_at));
          if (i + 1 < along) values_at += next_values;
          if (i + TAPS - BEFORE + 1 < points) tap_at += apart;
          ahead = values(reinterpret_cast<const T*>(values_at), spacing, 0);
          T restored[WIDE];
          auto tap = [&](int k, uint32_t j) -> T {
            const int w = k - 3 + BEFORE;
            return w >= 0 && w < TAPS ? window[later + (w < 0 ? 0 : w >= TAPS ? TAPS - 1 : w)][j] : T(0);
          };
          const bool busy = code<STENCIL, PLAIN>(own, true, live, code_at, x.at, restored, i + 1, points - i - 1, 0, tap, [&](Guess<T>(&g)[WIDE]) {
            if (i < 3 || i + 5 > points) line_ends<STENCIL>(g, tap, i, points);
          });
          if (busy) mask |= 1u << step;
          if (live) store_four(reinterpret_cast<T*>(odd_at), restored[0], restored[1], restored[2], restored[3]);
          odd_at += apart;
          code_at += line.next_code;
          return tap_ahead;
        };
#pragma unroll 1
        for (uint32_t step = 0; step < steps; step += 2) {
          const Four<T> behind = code_step(step, 0);
#pragma unroll
          for (uint32_t j = 0; j < WIDE; j++) window[TAPS][j] = behind.at[j];
          if (step + 1 == steps) break;
          const Four<T> last = code_step(step + 1, 1);
#pragma unroll
          for (int k = 0; k + 1 < TAPS; k++)
#pragma unroll
            for (uint32_t j = 0; j < WIDE; j++) window[k][j] = window[k + 2][j];
#pragma unroll
          for (uint32_t j = 0; j < WIDE; j++) window[TAPS - 1][j] = last.at[j];
        }
        if (live && lane % OCTET == 0) {
          masks[number * s.per_line + batch] = (uint8_t)mask;
          own.busy += __popc(mask);
        }
      }
      unit += stop - first;
    }
  }

  // A pass over x. Warps code batches of two groups of four steps in turn. `finer`: the known points of the level below, or null.
  template <int STENCIL, bool PLAIN> FZ_DEV void rows(WideCounts& own, const Known<T>& finer) const {
    const uint32_t lane = threadIdx.x & 31, width = s.points[0], rows = s.points[1], spacing = 1u << (s.level - 1), begin = uniform(warp()), apart = uniform(warps());
    const uint32_t per_y = (shape.has(1) ? spacing : 1) * shape.n[0], per_z = (shape.has(2) ? spacing : 1) * shape.n[0] * shape.n[1];
    const uint32_t to_y = (shape.has(1) ? 2 : 1) * finer.length, to_z = (shape.has(2) ? 2 : 1) * finer.length * finer.rows;
    // The place of the group that is loaded next, and the additions for the second group of a batch and for the next batch.
    RowPlace at(s, begin * BATCH + lane / OCTET);
    const RowPlace second(s, WIDE), next(s, apart * BATCH - WIDE);
    at.x += lane % OCTET * WIDE;
    const uint32_t first = begin * BATCH * STEP + lane * WIDE, far = apart * BATCH * STEP;
    // Loads of taps that do not exist are within the memory of the call.
    const T* taps_at = known.at + first;
    uint16_t* code_at = keeper.kept + first;
    int left = (int)(s.count - first);
    Four<T> taps_ahead[3], ahead;
    auto load = [&]() {
      taps_ahead[0] = load_four(taps_at - WIDE);
      taps_ahead[1] = load_four(taps_at);
      taps_ahead[2] = load_four(taps_at + WIDE);
      const T* from = source + (left > 0 ? at.z * per_z + at.y * per_y + 2 * at.x * spacing : 0);
      ahead = values(from, 2 * spacing, spacing);
      // The values of the whole array are in a row.
      if (spacing > 1 || left <= (int)far) return;
      load_ahead(taps_at + far);
      load_ahead(from + 2 * far);
    };
    if (begin < s.batches) load();
#pragma unroll 1
    for (uint32_t batch = begin; batch < s.batches; batch += apart) {
      uint32_t mask = 0;
#pragma unroll
      for (uint32_t half = 0; half < BATCH; half += WIDE) {
        const bool live = left > 0, is_first = at.x == 0, is_last = at.x + WIDE == width;
        const uint32_t column = at.x, points = half == 0 ? WIDE * STEP : far - WIDE * STEP;
        T* to = finer.at == nullptr ? nullptr : finer.at + at.z * to_z + at.y * to_y + 2 * at.x;
        const Four<T> x = ahead, before = taps_ahead[0], own_taps = taps_ahead[1], behind = taps_ahead[2];
        at.add(half == 0 ? second : next, width, rows);
        left -= (int)points;
        taps_at += points;
        if (half == 0 || batch + apart < s.batches) load();
        auto tap = [&](int k, uint32_t j) -> T {
          const int i = k + (int)j - 3;
          return i < 0 ? before.at[i < 0 ? i + 4 : 0] : i < 4 ? own_taps.at[i < 0 || i > 3 ? 0 : i] : behind.at[i < 4 || i > 7 ? 0 : i - 4];
        };
        T restored[WIDE];
        const bool busy = code<STENCIL, PLAIN>(own, true, live, code_at, x.at, restored, column + 1, width - column - 1, 1, tap, [&](Guess<T>(&g)[WIDE]) {
          if (__any_sync(ALL, is_first || is_last)) row_ends<STENCIL>(g, tap, is_first, is_last);
        });
        code_at += points;
        // The first lane of each octet has the bit of its step.
        mask |= ((__ballot_sync(ALL, busy) & 0x01010101) * 0x01020408 >> 24 & 15) << half;
        if (to != nullptr && live) {
          store_four(to, own_taps.at[0], restored[0], own_taps.at[1], restored[1]);
          store_four(to + WIDE, own_taps.at[2], restored[2], own_taps.at[3], restored[3]);
        }
      }
      if (lane == 0) {
        masks[batch] = (uint8_t)mask;
        own.busy += __popc(mask);
      }
    }
  }
};
}  // namespace multilevel
}  // namespace fz
