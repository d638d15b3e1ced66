// Codes with outliers beside them, for any kind of bins.
#pragma once
#include "common/lists.cuh"
#include "quantizer/bins.cuh"

namespace fz {
namespace quantizer {
// The operands of an encoder in elements. The array may be shorter than the codes; there may be
// room for fewer, where the caller's buffer is too small, and all outliers are counted
// nevertheless.
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

// Outliers of the call, once all tiles are counted; and room in the lists.
FZ_DEV uint64_t total(const Args& a) { return *reinterpret_cast<const uint64_t*>(a.zeroed); }
FZ_DEV uint64_t room_in_lists(const Args& a, uint32_t value) { return least(output(a, 1).max / value, output(a, 2).max / 4); }

// The block, all threads: `out` outliers of each are those of a tile. `sums`: 32 shared words.
FZ_DEV void count_tile(const Args& a, uint64_t tile, uint32_t out, uint32_t* sums) {
  note(reinterpret_cast<TileCount*>(a.scratch)[tile], a.zeroed, out, sums);
}

// One block: where the outliers of each tile of `n` values of `value` bytes go.
FZ_DEV void find_places(const Args& a, uint64_t n, uint32_t value, uint32_t* sums) {
  const uint64_t count = total(a), room = room_in_lists(a, value), kept = least(count, room);
  if (threadIdx.x == 0) {
    publish(output(a, 1), kept * value);
    publish(output(a, 2), kept * 4);
    if (count > room) fail(a, OUTLIER_CAPACITY, count);
  }
  if (count == 0 || count > room) return;
  const uint64_t per = TILE / value;
  place_tiles(reinterpret_cast<TileCount*>(a.scratch), (n + per - 1) / per, sums);
}

// The lists, tile by tile: most tiles have no entries, and are not read again. Among the `n` elements
// those after the array are zeros. `find(e, n, x)`: the values of `x` that are outliers, as bits,
// among `n` from element `e` on.
template <class T, class F> FZ_DEV void list(const Args& a, uint64_t n, uint32_t* sums, F find) {
  constexpr int N = 16 / sizeof(T);
  typedef typename Real<T>::Bits Bits;
  const uint8_t* src = address(input(a, 0));
  const uint64_t in_array = length(input(a, 0)) / sizeof(T);
  const TileCount* found = reinterpret_cast<const TileCount*>(a.scratch);
  uint8_t *values = address(output(a, 1)), *indices = address(output(a, 2));
  for (uint64_t tile = blockIdx.x; first_of<T>(tile) < n; tile += gridDim.x) {
    if (found[tile].here == 0) continue;
    const uint64_t first = first_of<T>(tile);
    const uint32_t have = rest(n, first);
    uint4 u[UNITS];
    load_tile(u, src + first * sizeof(T), (uint64_t)rest(in_array, first) * sizeof(T));
    uint32_t flags[UNITS], before[UNITS];
#pragma unroll
    for (int i = 0; i < UNITS; i++) {
      const uint32_t e = unit_at(i) / sizeof(T);
      T x[N];
      memcpy(x, &u[i], 16);
      flags[i] = find(first + e, part(have, e), x);
    }
    count_before(flags, before, sums);
#pragma unroll
    for (int i = 0; i < UNITS; i++) {
      Bits x[N];
      memcpy(x, &u[i], 16);
      uint64_t j = (uint64_t)found[tile].before + before[i];
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

// The lists of a decoder. They may be longer than the count in the header.
struct Lists : fz::Lists {
  FZ_DEV Lists(const Args& a, uint32_t value, uint32_t code, const BoundMetadata& f)
      : fz::Lists{address(input(a, 1)), address(input(a, 2)), least(f.outliers, listed(a, value)), length(input(a, 0)) / code} {}
};

FZ_DEV uint32_t* mixed(const Args& a) { return reinterpret_cast<uint32_t*>(a.zeroed); }
FZ_DEV void check_lists(const Args& a, const Lists& lists) { fz::check_lists(a, lists, mixed(a)); }
template <class T> FZ_DEV void scatter(const Args& a, const Lists& lists) {
  put_entries<typename Real<T>::Bits>(a, lists, *mixed(a) != 0);
}
}  // namespace quantizer
}  // namespace fz
