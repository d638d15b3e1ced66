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
// Adds 1 to a counter, or `other` to another one.
FZ_DEV void count(uint32_t* a, bool first, uint32_t* b, uint32_t other) {
  if (first) atomicAdd(a, 1u);
  else atomicAdd(b, other);
}
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
// Adds 1 to a counter in shared memory, or `other` to another one, without branches.
FZ_DEV void count(uint32_t* a, bool first, uint32_t* b, uint32_t other) {
  const uint32_t of_a = (uint32_t)__cvta_generic_to_shared(a), of_b = (uint32_t)__cvta_generic_to_shared(b);
  asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(first ? of_a : of_b), "r"(first ? 1u : other) : "memory");
}
#endif

// Counters of token 0 in shared memory: those of quiet steps in the high half. Each lane has its own, because most points have
// token 0.
struct WideZeros {
  uint32_t of[CONTEXTS * 32];
};
struct WideCounts {
  BlockCounts& block;
  const Shared<uint32_t> zeros;
  // The lanes of the octet; sums of this lane, and the additions to its counters.
  uint32_t octet, busy, raw, added;
  FZ_DEV WideCounts(BlockCounts& of, WideZeros& own) : block(of), zeros(own.of[threadIdx.x & 31]), octet(kept(0xffu << (threadIdx.x & 24))), busy(0), raw(0), added(0) {
#pragma unroll 1
    for (uint32_t c = 0; c < CONTEXTS; c++) of_lane(c) = 0;
  }
  FZ_DEV uint32_t& of_lane(uint32_t context) const { return (&*zeros)[32 * context]; }
  // Counts the tokens of four points; `some` are the lanes that have another token than 0. Returns whether the step has one.
  FZ_DEV bool add(const uint32_t (&token)[WIDE], const uint32_t (&context)[WIDE], uint32_t some, bool live) {
    const bool is_busy = (some & octet) != 0;
    if (live) {
#pragma unroll
      for (uint32_t j = 0; j < WIDE; j++) count(&block.of[context[j] * SYMBOLS + token[j]], token[j] != 0, &of_lane(context[j]), is_busy ? 1u : 1u << 16);
    }
    return is_busy;
  }
  FZ_DEV void empty() {
#pragma unroll 1
    for (uint32_t c = 0; c < CONTEXTS; c++) {
      const uint32_t n = of_lane(c), some = __reduce_add_sync(ALL, n & 0xffff), quiet = __reduce_add_sync(ALL, n >> 16);
      of_lane(c) = 0;
      if ((threadIdx.x & 31) != 0) continue;
      if (some) atomicAdd(&block.of[c * SYMBOLS], some);
      if (quiet) atomicAdd(&block.quiet[c], quiet);
    }
    added = 0;
  }
  // Behind a batch of each octet.
  FZ_DEV void note() {
    added += WIDE * BATCH;
    if (added > 0xffff - WIDE * BATCH) empty();
  }
  FZ_DEV void finish() {
    empty();
    block.add_raw(raw);
    const uint32_t sum = __reduce_add_sync(ALL, busy);
    if (sum && (threadIdx.x & 31) == 0) atomicAdd(&block.busy, sum);
  }
};

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

  // Codes four points of each lane. `tap(k, j)` is tap k of point j, from -7s to 7s, and `ends(g)` changes the predictions of points
  // that lack taps. The first point has `left` and `right` points on its sides; those of the next points differ by `along`. `at` is the
  // place of the first code. Returns whether the step has a token other than 0.
  template <int STENCIL, class Tap, class Ends>
  FZ_DEV bool code(WideCounts& own, bool live, uint32_t at, const T (&x)[WIDE], T (&restored)[WIDE], uint32_t left, uint32_t right, uint32_t along, Tap tap, Ends ends) const {
    const Predictor<T>& of = coder.of;
    T p[WIDE];
    uint32_t u[WIDE], context[WIDE];
    bool usual = true;
    Guess<T> guesses[WIDE];
#pragma unroll
    for (uint32_t j = 0; j < WIDE; j++) guesses[j] = inside<STENCIL>(tap(0, j), tap(1, j), tap(2, j), tap(3, j), tap(4, j), tap(5, j), tap(6, j), tap(7, j));
    ends(guesses);
#pragma unroll
    for (uint32_t j = 0; j < WIDE; j++) {
      usual &= of.is_usual(guesses[j].p);
      p[j] = guesses[j].p;
      context[j] = bucket(guesses[j].v * of.rate);
    }
    if (of.lattice) {
#pragma unroll
      for (uint32_t j = 0; j < WIDE; j++) p[j] = of.on_lattice(p[j]);
    }
#pragma unroll
    for (uint32_t j = 0; j < WIDE; j++) {
      p[j] = N::smaller(N::larger(p[j], of.low), of.high);
      const T sum = (x[j] - p[j]) * of.rate + N::MAGIC, q = sum - N::MAGIC;
      restored[j] = N::fma(q, of.step, p[j]);
      u[j] = zigzag(magic_integer(sum));
      // Without branches.
      usual &= (N::abs(x[j] - restored[j]) < coder.bound) & of.is_bounded(x[j]) & (N::abs(q) < T(MOST_QUOTIENT));
    }
    uint32_t token[WIDE], raw[WIDE];
#pragma unroll
    for (uint32_t j = 0; j < WIDE; j++) raw[j] = 0;
    if (__any_sync(ALL, !usual || (u[0] | u[1] | u[2] | u[3]) >= 16)) {
      if (!usual) {
#pragma unroll
        for (uint32_t j = 0; j < WIDE; j++) {
          const Point<T> r = point_apart(&coder, STENCIL, left + j * along, right - j * along, x[j], tap(0, j), tap(1, j), tap(2, j), tap(3, j), tap(4, j), tap(5, j), tap(6, j), tap(7, j));
          u[j] = r.u;
          restored[j] = r.restored;
          context[j] = r.context;
        }
      }
#pragma unroll
      for (uint32_t j = 0; j < WIDE; j++) {
        const Token t = token_of(u[j]);
        raw[j] = t.bits ? u[j] & ((1u << t.bits) - 1) : 0;
        if (live && t.bits > KEPT_BITS) keeper.more[at + j] = (uint16_t)(raw[j] >> KEPT_BITS);
        if (live) own.raw += t.token == EXACT ? N::BITS : t.bits;
        token[j] = t.token;
        raw[j] = (raw[j] & ((1u << KEPT_BITS) - 1)) << 10;
      }
    } else {
#pragma unroll
      for (uint32_t j = 0; j < WIDE; j++) token[j] = u[j];
    }
    if (live) {
      uint32_t kept[WIDE];
#pragma unroll
      for (uint32_t j = 0; j < WIDE; j++) kept[j] = token[j] + (context[j] << 6) + raw[j];
      store_two(keeper.kept + at, kept[0] + (kept[1] << 16), kept[2] + (kept[3] << 16));
    }
    const bool some = live && (token[0] | token[1] | token[2] | token[3]) != 0;
    return own.add(token, context, __ballot_sync(ALL, some), live);
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

  // A pass over z or y. A unit is a batch of four lines; a warp codes consecutive units.
  template <int STENCIL> FZ_DEV void lines(WideCounts& own) const {
    constexpr int BEFORE = STENCIL < 4 ? 1 : STENCIL / 2 - 1, TAPS = STENCIL < 4 ? 4 : STENCIL;
    const uint32_t lane = threadIdx.x & 31, count = s.batches / s.per_line, points = s.known, along = s.along, spacing = 2u << (s.level - 1);
    const uint32_t units = (count + WIDE - 1) / WIDE * s.per_line, begin = (uint32_t)((uint64_t)units * warp() / warps()), end = (uint32_t)((uint64_t)units * (warp() + 1) / warps());
    uint32_t unit = begin;
#pragma unroll 1
    while (unit < end) {
      const uint32_t group = unit / s.per_line, first = unit - group * s.per_line, stop = min(s.per_line, first + (end - unit)), number = WIDE * group + lane / OCTET;
      const bool live = number < count;
      const Line<T> line(shape, s, known, min(number, count - 1), lane % OCTET * WIDE);
      // The window: taps before and after the next point.
      T window[TAPS][WIDE];
      const uint32_t from = first * BATCH;
#pragma unroll
      for (int k = 0; k < TAPS; k++) {
        const Four<T> v = load_four(line.even + (uint64_t)(uint32_t)max(0, min((int)from + k - BEFORE, (int)points - 1)) * line.apart);
#pragma unroll
        for (uint32_t j = 0; j < WIDE; j++) window[k][j] = v.at[j];
      }
      // Places of the next values, of the next tap, and of the point. Their distances have fewer than 2^32 bytes, because there are 8 taps
      // or more along the axis.
      const uint8_t* values_at = reinterpret_cast<const uint8_t*>(source + line.element + from * line.next_element);
      const uint8_t* tap_at = reinterpret_cast<const uint8_t*>(line.even + (uint64_t)min(from + TAPS - BEFORE, points - 1) * line.apart);
      uint8_t* odd_at = reinterpret_cast<uint8_t*>(line.odd + (uint64_t)from * line.apart);
      const uint32_t next_values = line.next_element * (uint32_t)sizeof(T), apart = line.apart * (uint32_t)sizeof(T);
      uint32_t code_at = line.code + from * line.next_code;
      Four<T> ahead = values(reinterpret_cast<const T*>(values_at), spacing, 0);
#pragma unroll 1
      for (uint32_t batch = first; batch < stop; batch++) {
        uint32_t mask = 0;
        const uint32_t i0 = batch * BATCH, steps = min(BATCH, along - i0);
#pragma unroll 1
        for (uint32_t step = 0; step < steps; step++) {
          const uint32_t i = i0 + step;
          const Four<T> x = ahead, tap_ahead = load_four(reinterpret_cast<const T*>(tap_at));
          if (i + 1 < along) values_at += next_values;
          if (i + TAPS - BEFORE + 1 < points) tap_at += apart;
          ahead = values(reinterpret_cast<const T*>(values_at), spacing, 0);
          T restored[WIDE];
          auto tap = [&](int k, uint32_t j) -> T {
            const int w = k - 3 + BEFORE;
            return w >= 0 && w < TAPS ? window[w < 0 ? 0 : w >= TAPS ? TAPS - 1 : w][j] : T(0);
          };
          const bool busy = code<STENCIL>(own, live, code_at, x.at, restored, i + 1, points - i - 1, 0, tap, [&](Guess<T>(&g)[WIDE]) {
            if (i >= 3 && i + 5 <= points) return;
#pragma unroll
            for (uint32_t j = 0; j < WIDE; j++) g[j] = near_end<STENCIL>(g[j], i + 1, points - i - 1, tap(1, j), tap(2, j), tap(3, j), tap(4, j), tap(5, j), tap(6, j), coder.of.step);
          });
          if (busy) mask |= 1u << step;
          if (live) store_four(reinterpret_cast<T*>(odd_at), restored[0], restored[1], restored[2], restored[3]);
          odd_at += apart;
          code_at += line.next_code;
#pragma unroll
          for (int k = 0; k + 1 < TAPS; k++)
#pragma unroll
            for (uint32_t j = 0; j < WIDE; j++) window[k][j] = window[k + 1][j];
#pragma unroll
          for (uint32_t j = 0; j < WIDE; j++) window[TAPS - 1][j] = tap_ahead.at[j];
        }
        if (live && lane % OCTET == 0) {
          masks[number * s.per_line + batch] = (uint8_t)mask;
          own.busy += __popc(mask);
        }
        own.note();
      }
      unit += stop - first;
    }
  }

  // A pass over x. A warp codes consecutive batches of two groups of four steps. `finer`: the known points of the level below, or null.
  template <int STENCIL> FZ_DEV void rows(WideCounts& own, const Known<T>& finer) const {
    const uint32_t lane = threadIdx.x & 31, width = s.points[0], spacing = 1u << (s.level - 1);
    const uint32_t begin = (uint32_t)((uint64_t)s.batches * warp() / warps()), end = (uint32_t)((uint64_t)s.batches * (warp() + 1) / warps());
    if (begin >= end) return;
    const uint32_t per_y = (shape.has(1) ? spacing : 1) * shape.n[0], per_z = (shape.has(2) ? spacing : 1) * shape.n[0] * shape.n[1];
    const uint32_t to_y = (shape.has(1) ? 2 : 1) * finer.length, to_z = (shape.has(2) ? 2 : 1) * finer.length * finer.rows, last = s.count - WIDE;
    // The place of the group that is loaded next, and its row.
    uint32_t at = begin * BATCH * STEP + lane * WIDE, y = at / width, x0 = at - y * width, z = y / s.points[1];
    y -= z * s.points[1];
    Four<T> taps_ahead[3], ahead;
    auto load = [&]() {
      const T* from = known.at + min(at, last);
      taps_ahead[0] = load_four(at < WIDE ? from : from - WIDE);
      taps_ahead[1] = load_four(from);
      taps_ahead[2] = load_four(at >= last ? from : from + WIDE);
      ahead = values(source + (at <= last ? z * per_z + y * per_y + 2 * x0 * spacing : 0), 2 * spacing, spacing);
    };
    auto advance = [&]() {
      at += WIDE * STEP;
      x0 += WIDE * STEP;
      while (x0 >= width) {
        x0 -= width;
        if (++y == s.points[1]) {
          y = 0;
          z++;
        }
      }
    };
    load();
#pragma unroll 1
    for (uint32_t batch = begin; batch < end; batch++) {
      uint32_t mask = 0;
#pragma unroll 1
      for (uint32_t half = 0; half < BATCH; half += WIDE) {
        const bool live = at <= last, is_first = x0 == 0, is_last = x0 + WIDE == width;
        const uint32_t now = at, column = x0, to = finer.at == nullptr ? 0 : z * to_z + y * to_y + 2 * x0;
        const Four<T> x = ahead, before = taps_ahead[0], own_taps = taps_ahead[1], behind = taps_ahead[2];
        advance();
        load();
        auto tap = [&](int k, uint32_t j) -> T {
          const int i = k + (int)j - 3;
          return i < 0 ? before.at[i < 0 ? i + 4 : 0] : i < 4 ? own_taps.at[i < 0 || i > 3 ? 0 : i] : behind.at[i < 4 || i > 7 ? 0 : i - 4];
        };
        T restored[WIDE];
        const bool busy = code<STENCIL>(own, live, now, x.at, restored, column + 1, width - column - 1, 1, tap, [&](Guess<T>(&g)[WIDE]) {
          if (!__any_sync(ALL, is_first || is_last)) return;
#pragma unroll
          for (uint32_t j = 0; j < WIDE; j++) {
            const Guess<T> left = near_end<STENCIL>(g[j], j + 1, BATCH, tap(1, j), tap(2, j), tap(3, j), tap(4, j), tap(5, j), tap(6, j), coder.of.step);
            const Guess<T> right = near_end<STENCIL>(g[j], BATCH, 3 - j, tap(1, j), tap(2, j), tap(3, j), tap(4, j), tap(5, j), tap(6, j), coder.of.step);
            g[j].p = is_first ? left.p : is_last ? right.p : g[j].p;
            g[j].v = is_first ? left.v : is_last ? right.v : g[j].v;
          }
        });
        const uint32_t all = __ballot_sync(ALL, busy);
#pragma unroll
        for (uint32_t k = 0; k < WIDE; k++) mask |= (all >> (k * OCTET) & 1) << (half + k);
        if (finer.at != nullptr && live) {
          store_four(finer.at + to, own_taps.at[0], restored[0], own_taps.at[1], restored[1]);
          store_four(finer.at + to + WIDE, own_taps.at[2], restored[2], own_taps.at[3], restored[3]);
        }
      }
      if (lane == 0) {
        masks[batch] = (uint8_t)mask;
        own.busy += __popc(mask);
      }
      own.note();
    }
  }
};
}  // namespace multilevel
}  // namespace fz
