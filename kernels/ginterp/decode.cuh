// Stage ginterp, decoders: the codes of a tile and of its far faces, and code that both decoders
// share.
#pragma once
#include "ginterp/code.cuh"
#include "ginterp/lists.cuh"
#include "ginterp/window.cuh"

namespace fz {
namespace ginterp {
// True if codes and anchors are complete; equal in all threads of the grid.
FZ_DEV bool is_whole(const Args& a, const GinterpParams& p, const Grid& g) {
  return length(input(a, 0)) / p.code >= g.elements() && length(input(a, 1)) == (uint64_t)g.count() * p.value;
}

// Zeros behind the elements, which padding has.
FZ_DEV void clear_behind(const Args& a, const GinterpParams& p, const Grid& g) {
  uint8_t* to = address(output(a, 0));
  const uint64_t step = (uint64_t)gridDim.x * blockDim.x, me = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  for (uint64_t i = (uint64_t)g.elements() * p.value + me; i < output(a, 0).max; i += step) to[i] = 0;
}

// The codes of a tile, and of the tiles behind it, which own its far faces.
struct TileCodes {
  Grid g;
  uint32_t number, tile[3], owned[3];
  const uint8_t* codes;
  uint32_t width;
  uint64_t first;

  FZ_DEV TileCodes(const Args& a, const GinterpParams& p, const Grid& g, uint32_t number) : g(g), number(number), codes(address(input(a, 0))), width(p.code) {
    g.tile_of(number, tile);
    const TileOrder order = g.order(tile);
#pragma unroll
    for (int d = 0; d < 3; d++) owned[d] = order.owned[d];
    first = g.first_code(tile);
  }
  FZ_DEV bool owns(const uint32_t (&at)[3]) const { return at[0] < owned[0] && at[1] < owned[1] && at[2] < owned[2]; }
  // The place of a point among all codes.
  FZ_DEV uint64_t place(const Point& q) const {
    if (owns(q.at)) {
      TileOrder order;
#pragma unroll
      for (int d = 0; d < 3; d++) order.owned[d] = owned[d];
      const CodeRow row = order.row(q.level, q.c & 1, q.at[1], q.at[2]);
      return first + row.first + q.number[0] * row.step;
    }
    return far_place(q.at);
  }
  FZ_DEV uint64_t far_place(const uint32_t (&at)[3]) const {
    uint32_t behind[3], local[3];
#pragma unroll
    for (int d = 0; d < 3; d++) {
      const bool far = at[d] == g.body[d];
      behind[d] = tile[d] + far;
      local[d] = far ? 0 : at[d];
    }
    return (uint64_t)g.first_code(behind) + g.order(behind).place(local[0], local[1], local[2]);
  }
  FZ_DEV uint32_t code(uint64_t place) const { return load_code(codes, place, width); }
  // The code of an element of this tile.
  FZ_DEV uint32_t code_at(uint32_t x, uint32_t y, uint32_t z) const {
    TileOrder order;
#pragma unroll
    for (int d = 0; d < 3; d++) order.owned[d] = owned[d];
    return code(first + order.place(x, y, z));
  }
};

// Sets the anchors of a tile and of the tiles behind it, as `coding` has them in tiles.
template <class R, class C, class T> FZ_DEV void set_anchors(const Args& a, const Grid& g, const TileCodes& codes, const Window& w, const C& coding, T* v) {
  if (threadIdx.x >= 8) return;
  uint32_t at[3], tile[3];
  bool inside = true;
#pragma unroll
  for (int d = 0; d < 3; d++) {
    const uint32_t far = threadIdx.x >> d & 1;
    at[d] = far * w.body[d];
    tile[d] = codes.tile[d] + far;
    inside &= at[d] < w.extent[d];
  }
  if (inside) v[R::index(at[0], at[1], at[2])] = coding.anchor(load<T>(address(input(a, 1)) + (uint64_t)g.number(tile) * sizeof(T)));
}

// Stores the values of a tile, and its anchor unchanged. `is_kept(x, y, z)`: the array already has
// the value.
template <class R, class T, class Kept> FZ_DEV void store_tile_values(const Args& a, const Grid& g, const TileCodes& codes, const Window& w, const T* v, Kept is_kept) {
  typedef typename BitsOf<sizeof(T)>::Type Bits;
  uint8_t* dst = address(output(a, 0));
  const uint64_t room = output(a, 0).max / sizeof(T);
  each_element(codes.owned, [&](uint32_t x, uint32_t y, uint32_t z) {
    const uint64_t element = w.element(g, x, y, z);
    if (element >= room) return;
    if ((x | y | z) == 0) store<Bits>(dst + element * sizeof(T), load<Bits>(address(input(a, 1)) + (uint64_t)codes.number * sizeof(T)));
    else if (!is_kept(x, y, z)) store<T>(dst + element * sizeof(T), canonical(v[R::index(x, y, z)]));
  });
}
}  // namespace ginterp
}  // namespace fz
