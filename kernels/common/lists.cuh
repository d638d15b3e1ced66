// Lists beside the codes, as in quantizer and lorenzo_quant: entries of a value and its index.
//
// Encoders read the array three times: to compute codes and count the entries of each tile; to
// place the entries of each tile; and to write the entries of the tiles that have any. Entries
// therefore ascend in any order of execution.
#pragma once
#include "common/units.cuh"

namespace fz {
// A tile is one of values: 4096 of f32, 2048 of f64. Its entries, and those of the tiles before it.
struct TileCount {
  uint32_t here, before;
};
static_assert(sizeof(TileCount) == TILE_COUNTS_BYTES, "as in Rust");

// The start of a tile, in elements, and the number of elements of `n` from there on.
template <class T> FZ_DEV uint64_t first_of(uint64_t tile) { return tile * (TILE / sizeof(T)); }
FZ_DEV uint32_t rest(uint64_t n, uint64_t first) { return n > first ? (uint32_t)least(n - first, TILE) : 0; }

// `N` elements as words, of which the first `have` exist.
template <class E, int N> struct Row {
  static_assert(N * sizeof(E) % 4 == 0, "whole words");
  E e[N];
  FZ_DEV void load(const uint8_t* p, uint32_t have) {
    uint32_t w[N * sizeof(E) / 4];
    if (have >= N) {
      load_words<sizeof w>(w, p);
      memcpy(e, w, sizeof e);
    } else {
#pragma unroll
      for (uint32_t k = 0; k < N; k++) e[k] = k < have ? fz::load<E>(p + k * sizeof(E)) : E(0);
    }
  }
  // All of it or zeros, at an address that is a multiple of its length.
  FZ_DEV void load_whole(const uint8_t* p, bool there) {
    typename Whole<N * sizeof(E)>::Word w = {};
    if (there) w = *reinterpret_cast<const typename Whole<N * sizeof(E)>::Word*>(p);
    memcpy(e, &w, sizeof e);
  }
  FZ_DEV void store_whole(uint8_t* p) const {
    typename Whole<N * sizeof(E)>::Word w;
    memcpy(&w, e, sizeof e);
    *reinterpret_cast<typename Whole<N * sizeof(E)>::Word*>(p) = w;
  }
  FZ_DEV void store(uint8_t* p, uint32_t room) const {
    uint32_t w[N * sizeof(E) / 4];
    if (room >= N) {
      memcpy(w, e, sizeof e);
      store_words<sizeof w>(p, w);
    } else {
#pragma unroll
      for (uint32_t k = 0; k < N; k++)
        if (k < room) fz::store<E>(p + k * sizeof(E), e[k]);
    }
  }
};

// Notes the entries of a tile, and adds them to those of the call. `count`: of this thread; all
// threads call it.
FZ_DEV void note(TileCount& found, uint64_t total, uint32_t count, uint32_t* sums) {
  uint32_t all = 0;
  if (__syncthreads_or(count != 0)) all = block_sum_to(count, sums);
  // The last thread has the sum.
  if (threadIdx.x == blockDim.x - 1) {
    found.here = all;
    if (all) atomicAdd(reinterpret_cast<unsigned long long*>(total), (unsigned long long)all);
  }
}

// One block: where the entries of each tile go. Every thread has a run of tiles.
FZ_DEV void place_tiles(TileCount* found, uint64_t tiles, uint32_t* sums) {
  const uint64_t run = (tiles + blockDim.x - 1) / blockDim.x;
  const uint64_t from = least(tiles, threadIdx.x * run), to = least(tiles, from + run);
  uint32_t sum = 0;
  for (uint64_t i = from; i < to; i++) sum += found[i].here;
  sum = block_sum_to(sum, sums) - sum;
  for (uint64_t i = from; i < to; i++) {
    found[i].before = sum;
    sum += found[i].here;
  }
}

// The number of flags of a tile before those of each unit of this thread. All threads call it.
FZ_DEV void count_before(const uint32_t (&flags)[UNITS], uint32_t (&before)[UNITS], uint32_t* sums) {
  const uint32_t warp = threadIdx.x >> 5;
  uint32_t in_warp = 0;
#pragma unroll
  for (int i = 0; i < UNITS; i++) {
    const uint32_t count = __popc(flags[i]), upto = warp_sum_to(count);
    before[i] = in_warp + upto - count;
    in_warp += __shfl_sync(ALL, upto, 31);
  }
  if ((threadIdx.x & 31) == 0) sums[warp] = in_warp;
  __syncthreads();
  uint32_t others = 0;
  for (uint32_t k = 0; k < warp; k++) others += sums[k];
#pragma unroll
  for (int i = 0; i < UNITS; i++) before[i] += others;
  __syncthreads();
}

// Entries of a decoder, of values of `width` bytes. `count` of them are meant; there are no more.
struct Lists {
  const uint8_t *values, *indices;
  uint64_t count, elements;
  FZ_DEV uint32_t index(uint64_t j) const { return load<uint32_t>(indices + j * 4); }
  // Those from entry `first` on.
  FZ_DEV Lists from(uint64_t first, uint64_t number, uint32_t width) const {
    return {values + first * width, indices + first * 4, number, elements};
  }
};

// How many entries both lists of a decoder have.
FZ_DEV uint64_t listed(const Args& a, uint32_t width) { return least(length(input(a, 1)) / width, length(input(a, 2)) / 4); }

// Encoders write ascending indices, and any order then has one result. True if others are among the entries that this
// thread checks, one in `stride`.
FZ_DEV bool mixed_among(const Args& a, const Lists& lists, uint64_t first, uint64_t stride) {
  bool mixed = false;
  for (uint64_t j = first; j < lists.count; j += stride) {
    const uint32_t i = lists.index(j);
    if (i >= lists.elements) fail(a, CORRUPT);
    mixed |= j > 0 && lists.index(j - 1) >= i;
  }
  return mixed;
}
// Notes in `mixed` whether a list is not in ascending order.
FZ_DEV void check_lists(const Args& a, const Lists& lists, uint32_t* mixed) {
  if (mixed_among(a, lists, (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, (uint64_t)gridDim.x * blockDim.x)) atomicOr(mixed, 1u);
}

// Calls `g(j, index, alike)` for the entries whose index is below `n` in turn, by one warp, 32 at a time; `alike` are the
// lanes that have this index, all of which call it. No array has an element 2^32 - 1.
template <class G> FZ_DEV void each_in_turn(const Lists& lists, uint64_t n, uint32_t lane, G g) {
  // Eight steps are fetched at once, because fetching dominates the time.
  constexpr int STEPS = 8;
  for (uint64_t from = 0; from < lists.count; from += 32 * STEPS) {
    uint32_t index[STEPS];
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
      const uint64_t j = from + 32 * s + lane;
      index[s] = j < lists.count ? lists.index(j) : ~0u;
    }
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
      const uint32_t alike = __match_any_sync(ALL, index[s]);
      if (index[s] < n) g(from + 32 * s + lane, index[s], alike);
      __syncwarp();
    }
  }
}

// Calls `f(j, index)` for every entry whose index is below `n`, or in turn `g(j, index, alike)`
// where they do not ascend, by the first warp.
template <class F, class G> FZ_DEV void each_entry(const Lists& lists, uint64_t n, bool mixed, F f, G g) {
  const uint64_t me = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (mixed) {
    if (me < 32) each_in_turn(lists, n, (uint32_t)me, g);
    return;
  }
  for (uint64_t j = me; j < lists.count; j += (uint64_t)gridDim.x * blockDim.x) {
    const uint32_t i = lists.index(j);
    if (i < n) f(j, i);
  }
}

// Values to their places; of several with one index the last one stays, as on the CPU.
template <class Bits> FZ_DEV void put_entries(const Args& a, const Lists& lists, bool mixed) {
  uint8_t* dst = address(output(a, 0));
  auto put = [&](uint64_t j, uint32_t i) { store<Bits>(dst + (uint64_t)i * sizeof(Bits), load<Bits>(lists.values + j * sizeof(Bits))); };
  // An index in the padding has no place in the caller's array.
  each_entry(lists, least(lists.elements, output(a, 0).max / sizeof(Bits)), mixed, put, [&](uint64_t j, uint32_t i, uint32_t alike) {
    if (alike >> (threadIdx.x & 31) == 1) put(j, i);
  });
}
}  // namespace fz
