// Stage Fast, from values to words. A block makes a chunk, a warp of it a unit, in three steps: how many words the unit takes,
// which lets its mode be chosen; its bit planes, in registers; and the words. Between them stands what differs between few
// chunks and many: how a block comes to know where its words go.
#pragma once
#include "fast_board.cuh"
#include "fast_exact.cuh"

namespace fz {
namespace fast {
// A unit whose words are counted, and what they are made from.
template <class C> struct Coded {
  C q[32];
  Widths w;
  uint64_t anchor;
  uint32_t k, kind, most, descriptor;
};

// Words in front of a unit.
FZ_DEV uint32_t heads_of(uint32_t desc) { return ((desc & 3) != AGAINST) + (desc >> 8 & 7) * (desc >> 13 & 1 ? 1 : 2); }

// Leaves words and descriptor of the unit in `s`, for all behind the next barrier. `early` is called when earlier launches have
// ended. False: one of them failed. Where chunks are few, a block has registers enough for f32 values to be still there when
// some turn out to be exceptions.
template <class T, int DIM, bool IS_FEW, class Early>
FZ_DEV bool count_words(const Args& a, uint32_t number, Shared& s, Coded<typename Grid<T>::Code>& c, const Early& early) {
  typedef typename Grid<T>::Code C;
  const Params& p = params<Params>(a);
  const uint32_t lane = threadIdx.x & 31, k = warp_of();
  C (&q)[32] = c.q;
  bool single = true, good = true;
  uint32_t kind = NONE;
  uint4* const mine = s.codes[k];
  Widths w = {0, 0, 0}, inside = {0, 0, 0};
  const Chunk chunk = chunk_at<DIM>(p, number);
  const T* src = reinterpret_cast<const T*>(address(input(a, 0)));
  const Unit<DIM> u(p, chunk, k);
  const bool rows = u.whole && in_pieces<T, DIM>(p, src);
  const T* at = DIM == 1 ? src + u.first + 4 * lane : src + u.lane_first(p);
  const uint64_t row = DIM == 1 ? 128 : Unit<DIM>::row(p);
  T t[sizeof(T) == 4 ? 32 : 4];
  if (!a.fresh) await_former();
  if (sizeof(T) == 4 && rows) {
#pragma unroll
    for (int j = 0; j < 8; j++) load_row(*reinterpret_cast<T(*)[4]>(&t[sizeof(T) == 4 ? 4 * j : 0]), at + j * row);
  }
  if (warp_dead(a)) return false;
  early();
  const Grid<T> grid(a, p, sizeof(T) == 4 ? src : src + Unit<DIM>(p, chunk, 0).first);
  if (u.exists && rows) {
    if constexpr (sizeof(T) == 4) {
      if (grid.limited) {
#pragma unroll
        for (int e = 0; e < 32; e++) good = good && fabsf(t[e]) < grid.threshold;
      }
#pragma unroll
      for (int e = 0; e < 32; e++) {
        q[e] = grid.code(t[e]);
        good = good && grid.close(t[e], q[e]);
      }
    } else {
#pragma unroll
      for (int j = 0; j < 8; j++) {
        load_row(t, at + j * row);
#pragma unroll
        for (int e = 0; e < 4; e++) { const bool ok = grid.carried(t[e], q[4 * j + e]); good = good && ok; }
      }
    }
    if (DIM == 1) {
      put_groups(mine, q);
      __syncwarp();
      get_rows(mine, q);
    }
  }
  good = good && rows;
  if (u.exists) {
    // Above the least code.
    C least = 0, low = 0, high = 0;
    if (__any_sync(ALL, good)) {
      range(q, least, low, high);
      if (sizeof(T) == 4) good = good && larger(low, high) <= C(Grid<T>::MOST) && least >= C(-Grid<T>::MOST);
    }
    if (!__all_sync(ALL, good)) {
      if constexpr (IS_FEW && sizeof(T) == 4) {
        if (DIM == 1 && rows) {
          __syncwarp();
          put_groups(mine, t);
          __syncwarp();
          get_rows(mine, t);
        }
        const auto values = [&](uint32_t from, T (&x)[16]) {
          if (rows) {
#pragma unroll
            for (int e = 0; e < 16; e++) x[e] = t[4 * from + e];
          } else load_rows<T, DIM>(x, p, u, src, from, rows);
        };
        kind = note_exceptions<T>(exceptions(grid, values, q), k, s);
        if (DIM == 1) put_rows(mine, q);
      } else {
        kind = note_exceptions<T>(exceptions_apart<T, DIM>(a, number, mine), k, s);
        if (DIM == 1) get_rows(mine, q); else get(mine, q);
      }
      range(q, least, low, high);
    }
    const int32_t base = __reduce_min_sync(ALL, whole(least));
    from_whole(base, least);
    if (lane == 0) s.least[k] = base;
    w = widths(low - least, high - least, 0);
    single = w.sums == 0;
    if (DIM == 2) put(mine, q);
    if (!single) {
      difference<DIM>(q);
      if (DIM == 3) put(mine, q);
      // The first value stands in front of the unit.
      C first = lane ? q[0] : C(0);
      extremes(q, first, low, high);
      inside = widths(low, high, 1);
    } else if (DIM == 3) {
#pragma unroll
      for (int e = 0; e < 32; e++) q[e] = lane == 0 && e == 0 ? q[0] : C(0);
      put(mine, q);
    }
  }
  if (DIM == 3) __syncthreads(); else __syncwarp();
  uint32_t most = 0, words = 0, desc = 0;
  if (u.exists) {
    uint32_t best = cost(w) + 2, mode = ABOVE;
    if (DIM == 3 && k) {
      take_away(s.codes[k - 1], q);
      C low, high;
      extremes(q, q[0], low, high);
      const Widths v = widths(low, high, 1);
      if (cost(v) <= best) { best = cost(v); w = v; mode = AGAINST; }
    }
    if (!single && cost(inside) + 2 < best) { w = inside; mode = INSIDE; }
    const uint32_t wide = max(w.low, w.high);
    most = __reduce_max_sync(ALL, wide);
    uint32_t lean = __reduce_min_sync(ALL, min(w.low, w.high)), planes = bit_length(most - lean), parts = w.sums & 0xffff;
    // Two halves of a lane with one width, where that costs less than saying two.
    const uint32_t lean_lanes = __reduce_min_sync(ALL, wide), planes_lanes = bit_length(most - lean_lanes), lanes_cost = 2 * (w.sums >> 16);
    const bool joint = lanes_cost + 2 * planes_lanes <= parts + 4 * planes;
    if (joint) { w.low = w.high = wide; lean = lean_lanes; planes = planes_lanes; parts = lanes_cost; }
    desc = descriptor(mode, lean, planes, kind, joint);
    words = heads_of(desc) + (parts + 1) / 2;
    if (kind != NONE) words += s.exact_words[k];
  }
  if (lane == 0) { s.words[k] = words; s.descriptors[k] = desc; s.single[k] = single && kind == NONE; }
  c.w = w;
  c.anchor = grid.anchor();
  c.k = k; c.kind = kind; c.most = most; c.descriptor = desc;
  return true;
}

// What stands in front of the unit, in `s` for its own warp.
template <class C> FZ_DEV void make_heads(Shared& s, const Coded<C>& c) {
  const uint32_t lane = threadIdx.x & 31, k = c.k, desc = c.descriptor, mode = desc & 3, lean = desc >> 2 & 63, planes = desc >> 8 & 7;
  uint32_t heads = 0;
  if (mode != AGAINST) {
    // Lane 0 has the first value.
    if (lane == 0) s.heads[k][0] = mode == ABOVE ? s.least[k] : whole(as_code(s.codes[k][0].x, C()));
    heads = 1;
  }
  for (uint32_t i = 0; i < planes; i++) {
    const uint32_t x = __ballot_sync(ALL, (c.w.low - lean) >> i & 1), y = __ballot_sync(ALL, (c.w.high - lean) >> i & 1);
    if (lane == 0) s.heads[k][heads] = x;
    heads++;
    if (desc >> 13 & 1) continue;
    if (lane == 0) s.heads[k][heads] = y;
    heads++;
  }
  __syncwarp();
}

// The two lower bytes of the codes of a unit as bit planes.
struct Planes { uint32_t low[8], high[8]; };
template <int DIM, class C> FZ_DEV void make_planes(const Shared& s, Coded<C>& c, Planes& b) {
  const uint32_t mode = c.descriptor & 3;
  if (!c.most) return;
  if (mode == ABOVE || (DIM == 3 && c.k && mode == INSIDE)) again<DIM>(s, c.k, mode, c.q);
  else if (mode == INSIDE && (threadIdx.x & 31) == 0) c.q[0] = 0;
  if (c.most <= 16) to_two_bytes(c.q); else to_integers(c.q);
  planes_of(c.q, 0, b.low);
  if (c.most > 8) planes_of(c.q, 1, b.high);
}

// A chunk, when the words of its units are known: its state, and where the words of this unit start in it.
struct Total { uint32_t state, fronts, start; };
template <class T, int DIM> FZ_DEV Total total(const Params& p, uint32_t number, const Shared& s, uint32_t k, uint64_t anchor) {
  const uint32_t lane = threadIdx.x & 31;
  const Box box = box_of<DIM>(p, chunk_at<DIM>(p, number));
  const uint32_t of_unit = lane < 8 ? s.words[lane] : 0, anchored = anchor ? 2 : 0;
  const uint32_t before = __reduce_add_sync(ALL, lane < k ? of_unit : 0), sum = __reduce_add_sync(ALL, of_unit);
  const bool one = __all_sync(ALL, (lane & 7) >= box.units || (s.single[lane & 7] && s.least[lane & 7] == s.least[0]));
  Total t;
  t.fronts = anchored + (box.units + 1) / 2;
  t.start = t.fronts + before;
  const uint32_t size = t.fronts + sum, raw = box.values * (uint32_t)(sizeof(T) / 4);
  t.state = one ? (uint32_t)IS_CONSTANT : size > raw ? IS_RAW | raw : size | (anchored ? (uint32_t)ANCHORED : 0);
  return t;
}

// By one thread: the entry of a chunk that has words, and that of a constant one.
FZ_DEV void put_entry(uint8_t* stream, uint32_t number, uint64_t first, uint32_t state) {
  const uint64_t entry = first | (uint64_t)(state & WORDS) << SIZE_AT;
  store<uint64_t>(stream + 8ull * number, entry | (state & IS_RAW ? RAW : state & ANCHORED ? ANCHOR : 0));
}
FZ_DEV void put_constant(const Args& a, uint32_t number, const Shared& s, uint64_t anchor) {
  const Operand& out = output(a, 0);
  const uint64_t code = (uint64_t)((int64_t)s.least[0] + (int64_t)anchor);
  if (8ull * number + 8 <= out.max) store<uint64_t>(address(out) + 8ull * number, CONSTANT | (code & (CONSTANT - 1) >> 1));
}

// Words of the unit, and of the first one what stands in front of all, to the chunk at `o`.
template <class T, int DIM, bool ANYWHERE>
FZ_DEV void put_words(const Args& a, uint32_t number, const Shared& s, const Coded<typename Grid<T>::Code>& c, Planes& b, const Total& t, uint8_t* o) {
  typedef typename Grid<T>::Code C;
  const uint32_t lane = threadIdx.x & 31, k = c.k, anchored = c.anchor ? 2 : 0;
  if (k == 0) {
    if (lane < anchored) put_at<ANYWHERE>(o + 4 * lane, (uint32_t)(c.anchor >> 32 * lane));
    const uint32_t d = s.descriptors[2 * lane & 7] | s.descriptors[(2 * lane + 1) & 7] << 16;
    if (lane < t.fronts - anchored) put_at<ANYWHERE>(o + 4 * (anchored + lane), d);
  }
  // A unit that does not exist has no base either.
  if (s.words[k] == 0) return;
  o += 4 * t.start;
  const uint32_t mode = c.descriptor & 3, lean = c.descriptor >> 2 & 63, heads = heads_of(c.descriptor);
  if (lane < heads) put_at<ANYWHERE>(o + 4 * lane, s.heads[k][lane]);
  o += 4 * heads;
  if (c.kind != NONE) o += 4 * put_exceptions<T, DIM, ANYWHERE>(a, number, k, s, c.kind, o);
  if (!c.most) return;
  uint8_t* to = o;
  put_planes<ANYWHERE>(to, b.low, 0, c.w, lean, c.most);
  if (c.most > 8) put_planes<ANYWHERE>(to, b.high, 8, c.w, lean, c.most);
  if (c.most > 16) {
    C r[32];
    again<DIM>(s, k, mode, r);
    to_integers(r);
#pragma unroll 1
    for (uint32_t byte = 2; byte < 4; byte++) {
      planes_of(r, byte, b.low);
      put_planes<ANYWHERE>(to, b.low, 8 * byte, c.w, lean, c.most);
    }
  }
  // What is left of the last word.
  if (lane == 0 && (to - o & 2)) put_at<ANYWHERE>(to, (uint16_t)0);
}

// Values of a raw chunk, by the `n` warps of which this one is number `k`. Rows of 32 values, or as wide as the chunk.
template <class T, int DIM> FZ_DEV void put_values(const Args& a, uint32_t number, uint32_t k, uint32_t n, uint8_t* to) {
  const Params& p = params<Params>(a);
  const Chunk chunk = chunk_at<DIM>(p, number);
  const Box b = box_of<DIM>(p, chunk);
  const T* src = reinterpret_cast<const T*>(address(input(a, 0)));
  const uint32_t lane = threadIdx.x & 31, width = DIM == 1 ? 32 : b.x, rows = DIM == 1 ? (b.x + 31) / 32 : b.y * b.z;
  constexpr uint32_t TOGETHER = 8;
  if (lane >= width) return;
  for (uint32_t first = k; first < rows; first += TOGETHER * n) {
    T x[TOGETHER];
#pragma unroll
    for (uint32_t i = 0; i < TOGETHER; i++) {
      const uint32_t r = first + i * n, at = r * width + lane;
      if (r < rows && at < b.values) x[i] = load<T>(src + box_row<DIM>(p, chunk, b, r) + (DIM == 1 ? at : lane));
    }
#pragma unroll
    for (uint32_t i = 0; i < TOGETHER; i++) {
      const uint32_t r = first + i * n, at = r * width + lane;
      if (r < rows && at < b.values) store<T>(to + sizeof(T) * at, x[i]);
    }
  }
}
}  // namespace fast
}  // namespace fz
