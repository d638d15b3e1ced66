// Codes with outliers beside them, whatever the bins are: tiles of values, and the two lists.
#pragma once
#include "quantizer.cuh"

namespace fz {
namespace quantizer {
// A tile is one of values: 4096 of f32, 2048 of f64. Its outliers, and those of the tiles before it.
struct Found {
  uint32_t here, before;
};

// `N` elements as words, of which the first `have` are there.
template <class E, int N> struct Row {
  E e[N];
  FZ_DEV void load(const uint8_t* p, uint32_t have) {
    uint32_t w[N * sizeof(E) / 4];
    if (have >= N) {
      load_words<N * sizeof(E)>(w, p);
      memcpy(e, w, sizeof e);
    } else {
#pragma unroll
      for (uint32_t k = 0; k < N; k++) e[k] = k < have ? fz::load<E>(p + k * sizeof(E)) : E(0);
    }
  }
  FZ_DEV void store(uint8_t* p, uint32_t room) const {
    uint32_t w[N * sizeof(E) / 4];
    if (room >= N) {
      memcpy(w, e, sizeof e);
      store_words<N * sizeof(E)>(p, w);
    } else {
#pragma unroll
      for (uint32_t k = 0; k < N; k++)
        if (k < room) fz::store<E>(p + k * sizeof(E), e[k]);
    }
  }
};

// The operands of an encoder in elements. The array may be shorter than the codes; there may be room for fewer, where the
// caller's buffer is too small, and all outliers are counted nevertheless.
template <class T, class C> struct Arrays {
  const uint8_t* src;
  uint8_t* codes;
  uint64_t values, room, all;
  FZ_DEV explicit Arrays(const Args& a) : src(address(input(a, 0))), codes(address(output(a, 0))) {
    room = output(a, 0).max / sizeof(C);
    values = length(input(a, 0)) / sizeof(T);
    all = values > room ? values : room;
  }
};

// Where a tile starts, in elements, and what there is of `n` from there on.
template <class T> FZ_DEV uint64_t first_of(uint64_t tile) { return tile * (TILE / sizeof(T)); }
FZ_DEV uint32_t rest(uint64_t n, uint64_t first) { return n > first ? (uint32_t)least(n - first, TILE) : 0; }

// Outliers of the call, once all tiles are counted; and room in the lists.
FZ_DEV uint64_t total(const Args& a) { return *reinterpret_cast<const uint64_t*>(a.zeroed); }
FZ_DEV uint64_t room_in_lists(const Args& a, uint32_t value) { return least(output(a, 1).max / value, output(a, 2).max / 4); }

// The block, all threads: `out` outliers of each are those of a tile. `sums`: 32 shared words.
FZ_DEV void count_tile(const Args& a, uint64_t tile, uint32_t out, uint32_t* sums) {
  uint32_t count = 0;
  if (__syncthreads_or(out != 0)) count = block_sum_to(out, sums);
  // The last thread has the sum.
  if (threadIdx.x == blockDim.x - 1) {
    reinterpret_cast<Found*>(a.scratch)[tile].here = count;
    if (count) atomicAdd(reinterpret_cast<unsigned long long*>(a.zeroed), (unsigned long long)count);
  }
}

// One block: where the outliers of each tile go. Every thread has a run of the tiles of `n` values of `value` bytes.
FZ_DEV void find_places(const Args& a, uint64_t n, uint32_t value, uint32_t* sums) {
  const uint64_t count = total(a), room = room_in_lists(a, value), kept = least(count, room);
  if (threadIdx.x == 0) {
    publish(output(a, 1), kept * value);
    publish(output(a, 2), kept * 4);
    if (count > room) fail(a, OUTLIER_CAPACITY, count);
  }
  if (count == 0 || count > room) return;
  Found* found = reinterpret_cast<Found*>(a.scratch);
  const uint64_t per = TILE / value, tiles = (n + per - 1) / per, run = (tiles + blockDim.x - 1) / blockDim.x;
  const uint64_t from = least(tiles, threadIdx.x * run), to = least(tiles, from + run);
  uint32_t sum = 0;
  for (uint64_t i = from; i < to; i++) sum += found[i].here;
  sum = block_sum_to(sum, sums) - sum;
  for (uint64_t i = from; i < to; i++) {
    found[i].before = sum;
    sum += found[i].here;
  }
}

// The lists, tile by tile: most tiles have nothing for them, and are not looked at again. Of the `n` elements those behind
// the array are zeros. `find(e, n, x)`: which of the values `x` are outliers, as bits; of `n` from element `e` on.
template <class T, class F> FZ_DEV void list(const Args& a, uint64_t n, uint32_t* sums, F find) {
  constexpr int N = 16 / sizeof(T);
  typedef typename Real<T>::Bits Bits;
  const uint8_t* src = address(input(a, 0));
  const uint64_t in_array = length(input(a, 0)) / sizeof(T);
  const Found* found = reinterpret_cast<const Found*>(a.scratch);
  uint8_t *values = address(output(a, 1)), *indices = address(output(a, 2));
  const int warp = threadIdx.x >> 5;
  for (uint64_t tile = blockIdx.x; first_of<T>(tile) < n; tile += gridDim.x) {
    if (found[tile].here == 0) continue;
    const uint64_t first = first_of<T>(tile);
    const uint32_t have = rest(n, first);
    uint4 u[UNITS];
    load_tile(u, src + first * sizeof(T), (uint64_t)rest(in_array, first) * sizeof(T));
    uint32_t flags[UNITS], before[UNITS], in_warp = 0;
#pragma unroll
    for (int i = 0; i < UNITS; i++) {
      const uint32_t e = unit_at(i) / sizeof(T);
      T x[N];
      memcpy(x, &u[i], 16);
      flags[i] = find(first + e, part(have, e), x);
      const uint32_t count = __popc(flags[i]), upto = warp_sum_to(count);
      before[i] = in_warp + upto - count;
      in_warp += __shfl_sync(ALL, upto, 31);
    }
    if ((threadIdx.x & 31) == 0) sums[warp] = in_warp;
    __syncthreads();
    uint64_t place = found[tile].before;
    for (int k = 0; k < warp; k++) place += sums[k];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < UNITS; i++) {
      Bits x[N];
      memcpy(x, &u[i], 16);
      uint64_t j = place + before[i];
#pragma unroll
      for (int k = 0; k < N; k++)
        if (flags[i] >> k & 1) {
          store<Bits>(values + j * sizeof(T), x[k]);
          store<uint32_t>(indices + j * 4, (uint32_t)(first + unit_at(i) / sizeof(T) + k));
          j++;
        }
    }
  }
}

// The lists of a decoder. They may be longer than what the header counts.
struct Lists {
  const uint8_t *values, *indices;
  uint64_t count, elements;
  FZ_DEV Lists(const Args& a, uint32_t value, uint32_t code, const Facts& f) : values(address(input(a, 1))), indices(address(input(a, 2))) {
    count = least(f.outliers, least(length(input(a, 1)) / value, length(input(a, 2)) / 4));
    elements = length(input(a, 0)) / code;
  }
  FZ_DEV uint32_t index(uint64_t j) const { return load<uint32_t>(indices + j * 4); }
};

// Encoders write ascending indices, and any order then has one result. Of others it is noted here.
FZ_DEV void check_lists(const Args& a, const Lists& lists) {
  const uint64_t stride = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t j = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; j < lists.count; j += stride) {
    const uint32_t i = lists.index(j);
    if (i >= lists.elements) fail(a, CORRUPT);
    if (j > 0 && lists.index(j - 1) >= i) atomicOr(reinterpret_cast<uint32_t*>(a.zeroed), 1u);
  }
}

template <class T> FZ_DEV void scatter(const Args& a, const Lists& lists) {
  typedef typename Real<T>::Bits Bits;
  uint8_t* dst = address(output(a, 0));
  // An index in the padding has no place in the caller's array.
  const uint64_t n = least(lists.elements, output(a, 0).max / sizeof(T));
  const uint64_t me = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (*reinterpret_cast<const uint32_t*>(a.zeroed) == 0) {
    for (uint64_t j = me; j < lists.count; j += (uint64_t)gridDim.x * blockDim.x) {
      const uint32_t i = lists.index(j);
      if (i < n) store<Bits>(dst + i * sizeof(T), load<Bits>(lists.values + j * sizeof(T)));
    }
    return;
  }
  // In any order, the last entry of an index wins, as on the CPU: one warp, 32 entries at a time, and of those the highest
  // lane. No array has an element 2^32 - 1. Eight steps are fetched at once, because fetching is what takes the time.
  constexpr int STEPS = 8;
  if (me >= 32) return;
  for (uint64_t from = 0; from < lists.count; from += 32 * STEPS) {
    uint32_t index[STEPS];
    Bits value[STEPS];
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
      const uint64_t j = from + 32 * s + me;
      index[s] = j < lists.count ? lists.index(j) : ~0u;
      value[s] = j < lists.count ? load<Bits>(lists.values + j * sizeof(T)) : Bits(0);
    }
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
      const uint32_t alike = __match_any_sync(ALL, index[s]);
      if (index[s] < n && alike >> me == 1) store<Bits>(dst + index[s] * sizeof(T), value[s]);
      __syncwarp();
    }
  }
}
}  // namespace quantizer
}  // namespace fz
