// Stage Fast, from values to words. A block makes a chunk, a warp of it a unit, and leaves its words in a slot of a ring. Some
// groups of chunks later another block, in which each warp copies some chunks, brings them to their place: by then the sizes of
// all chunks before are known, and the words are still in the cache.
#pragma once
#include "fast_board.cuh"
#include "fast_exact.cuh"

namespace fz {
namespace fast {
// A chunk by a block, a unit by a warp: its words go to a slot.
template <class T, int DIM> FZ_DEV void encode_chunk(const Args& a, uint32_t number, Shared& s) {
  typedef typename Grid<T>::Code C;
  const Params& p = params<Params>(a);
  const uint32_t lane = threadIdx.x & 31, k = warp_of();
  uint32_t former = COPIED;
  C q[32];
  bool single = true, good = true;
  uint32_t kind = NONE;
  uint4* const mine = s.codes[k];
  Widths w = {0, 0, 0}, inside = {0, 0, 0};
  bool exists;
  uint64_t anchor = 0;
  {
    const Chunk chunk = chunk_at<DIM>(p, number);
    const T* src = reinterpret_cast<const T*>(address(input(a, 0)));
    const Unit<DIM> u(p, chunk, k);
    exists = u.exists;
    const bool rows = u.whole && in_pieces<T, DIM>(p, src);
    const T* at = DIM == 1 ? src + u.first + 4 * lane : src + u.lane_first(p);
    const uint64_t row = DIM == 1 ? 128 : Unit<DIM>::row(p);
    T t[sizeof(T) == 4 ? 32 : 4];
    if (!a.fresh) await_former();
    if (sizeof(T) == 4 && rows) {
#pragma unroll
      for (int j = 0; j < 8; j++) load_row(*reinterpret_cast<T(*)[4]>(&t[sizeof(T) == 4 ? 4 * j : 0]), at + j * row);
    }
    if (warp_dead(a)) return;
    // The slot was another chunk's.
    if (threadIdx.x == 0 && number >= RING) former = Board(a, p).state(number - RING);
    const Grid<T> grid(a, p, sizeof(T) == 4 ? src : src + Unit<DIM>(p, chunk, 0).first);
    anchor = grid.anchor();
    if (exists && rows) {
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
          for (int c = 0; c < 4; c++) { const bool ok = grid.carried(t[c], q[4 * j + c]); good = good && ok; }
        }
      }
      if (DIM == 1) {
        put_groups(mine, q);
        __syncwarp();
        get_rows(mine, q);
      }
    }
    good = good && rows;
  }
  if (exists) {
    // Above the least code.
    C least = 0, low = 0, high = 0;
    if (__any_sync(ALL, good)) {
      range(q, least, low, high);
      if (sizeof(T) == 4) good = good && larger(low, high) <= C(Grid<T>::MOST) && least >= C(-Grid<T>::MOST);
    }
    if (!__all_sync(ALL, good)) {
      kind = note_exceptions<T, DIM>(a, number, k, s);
      if (DIM == 1) get_rows(mine, q); else get(mine, q);
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
  if (exists) {
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
    uint32_t heads = 0;
    if (mode != AGAINST) {
      // Lane 0 has the first value.
      if (lane == 0) s.heads[k][0] = mode == ABOVE ? s.least[k] : whole(as_code(mine[0].x, C()));
      heads = 1;
    }
    for (uint32_t i = 0; i < planes; i++) {
      const uint32_t x = __ballot_sync(ALL, (w.low - lean) >> i & 1), y = __ballot_sync(ALL, (w.high - lean) >> i & 1);
      if (lane == 0) s.heads[k][heads] = x;
      heads++;
      if (joint) continue;
      if (lane == 0) s.heads[k][heads] = y;
      heads++;
    }
    desc = descriptor(mode, lean, planes, kind, joint);
    words = heads + (parts + 1) / 2;
    if (kind != NONE) words += s.exact_words[k];
    if (most) {
      if (mode == ABOVE || (DIM == 3 && k && mode == INSIDE)) again<DIM>(s, k, mode, q);
      else if (mode == INSIDE && lane == 0) q[0] = 0;
      if constexpr (sizeof(T) == 4) {
        if (most <= 16) {
#pragma unroll
          for (int e = 0; e < 32; e++) q[e] = __fadd_rn(q[e], Real<float>::MAGIC);
        } else to_integers(q);
      }
    }
  }
  uint32_t b0[8], b1[8];
  if (most) {
    planes_of(q, 0, b0);
    if (most > 8) planes_of(q, 1, b1);
  }
  if (lane == 0) { s.words[k] = words; s.descriptors[k] = desc; s.single[k] = single && kind == NONE; }
  if (threadIdx.x == 0) {
    const Board board(a, p);
    while (!(former & COPIED)) former = board.state(number - RING);
  }
  __syncthreads();
  const Box box = box_of<DIM>(p, chunk_at<DIM>(p, number));
  const uint32_t of_unit = lane < 8 ? s.words[lane] : 0;
  const uint32_t start = __reduce_add_sync(ALL, lane < k ? of_unit : 0), sum = __reduce_add_sync(ALL, of_unit);
  const bool one = __all_sync(ALL, (lane & 7) >= box.units || (s.single[lane & 7] && s.least[lane & 7] == s.least[0]));
  const uint32_t anchored = anchor ? 2 : 0, fronts = anchored + (box.units + 1) / 2, size = fronts + sum;
  uint32_t state = size | (anchored ? (uint32_t)ANCHORED : 0);
  if (one) {
    state = IS_CONSTANT;
    const uint64_t code = (uint64_t)((int64_t)s.least[0] + (int64_t)anchor);
    if (threadIdx.x == 0) store<uint64_t>(address(output(a, 0)) + 8ull * number, CONSTANT | (code & (CONSTANT - 1) >> 1));
  } else if (size > box.values * (uint32_t)(sizeof(T) / 4)) {
    state = IS_RAW | box.values * (uint32_t)(sizeof(T) / 4);
  }
  // Nothing in the slot.
  if (state & (IS_CONSTANT | IS_RAW)) {
    if (threadIdx.x == 0) Board(a, p).say(number, state);
    return;
  }
  {
    uint32_t* o = reinterpret_cast<uint32_t*>(a.scratch) + (uint64_t)(number % RING) * (CHUNK * (sizeof(T) / 4));
    if (k == 0) {
      if (lane < anchored) o[lane] = (uint32_t)(anchor >> 32 * lane);
      const uint32_t d = s.descriptors[2 * lane & 7] | s.descriptors[(2 * lane + 1) & 7] << 16;
      if (lane < fronts - anchored) o[anchored + lane] = d;
    }
    o += fronts + start;
    const uint32_t mode = desc & 3, lean = desc >> 2 & 63, heads = (mode != AGAINST) + (desc >> 8 & 7) * (desc >> 13 & 1 ? 1 : 2);
    if (lane < heads) o[lane] = s.heads[k][lane];
    o += heads;
    if (kind != NONE) o += put_exceptions<T, DIM>(a, number, k, s, kind, o);
    if (most) {
      uint16_t* to = reinterpret_cast<uint16_t*>(o);
      put_planes(to, b0, 0, w.low, w.high, lean, most);
      if (most > 8) put_planes(to, b1, 8, w.low, w.high, lean, most);
      if (most > 16) {
        C r[32];
        again<DIM>(s, k, mode, r);
        to_integers(r);
#pragma unroll 1
        for (uint32_t byte = 2; byte < 4; byte++) {
          planes_of(r, byte, b0);
          put_planes(to, b0, 8 * byte, w.low, w.high, lean, most);
        }
      }
      // What is left of the last word.
      if (lane == 0 && (reinterpret_cast<uintptr_t>(to) & 2)) *to = 0;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    Board(a, p).say(number, state);
  }
}
}  // namespace fast
}  // namespace fz
