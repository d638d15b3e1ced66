// Stage ginterp: the array as tiles, and the order of the codes of a tile, as
// src/stages/ginterp/grid.rs.
//
// Points are grouped in classes by the parity of x + 2 y + 4 z. In a tile come the points whose
// coordinates are multiples of 4, then classes 1 to 7 of spacing 2, then those of spacing 1; x is
// fastest in each. Class 0 of a spacing is the points of the next one, so each class starts where
// as many points end as all classes before it have.
#pragma once
#include "common/launch.cuh"
#include "ginterp/params.h"

namespace fz {
namespace ginterp {
// Points of spacing 1 or 2, of which there are `all`, and how many of them are even and odd.
struct Classes {
  uint32_t all[3], even[3];
  FZ_DEV Classes(const uint32_t (&owned)[3], uint32_t level) {
#pragma unroll
    for (int d = 0; d < 3; d++) {
      all[d] = (owned[d] + level) >> level;
      even[d] = (all[d] + 1) / 2;
    }
  }
  FZ_DEV uint32_t count(uint32_t c, int d) const { return c >> d & 1 ? all[d] - even[d] : even[d]; }
  // Codes before those of a class.
  FZ_DEV uint32_t start(uint32_t c) const {
    return (c & 4 ? all[0] * all[1] * even[2] : 0) + (c & 2 ? all[0] * even[1] * count(c, 2) : 0) +
           (c & 1 ? even[0] * count(c, 1) * count(c, 2) : 0);
  }
  // The place of point i, j, k of a class.
  FZ_DEV uint32_t place(uint32_t c, uint32_t i, uint32_t j, uint32_t k) const {
    return start(c) + (k * count(c, 1) + j) * count(c, 0) + i;
  }
};

// Where the codes of a row of points start, and the distance between two of them.
struct CodeRow {
  uint32_t first, step;
};

// The order of the codes of a tile that owns this number of elements in each dimension.
struct TileOrder {
  uint32_t owned[3];
  FZ_DEV uint32_t codes() const { return owned[0] * owned[1] * owned[2]; }
  // Of points whose coordinates are multiples of 4: the place of the first in a row.
  FZ_DEV uint32_t coarse(uint32_t y, uint32_t z) const {
    return ((z / 4) * ((owned[1] + 3) / 4) + y / 4) * ((owned[0] + 3) / 4);
  }
  // Points of a row have spacing 2^(level + 1) along x, from 0 or, in odd classes, from 2^level on.
  FZ_DEV CodeRow row(uint32_t level, uint32_t odd, uint32_t y, uint32_t z) const {
    if (level >= 2) {
      const uint32_t step = 1u << (level - 1);
      return {coarse(y, z) + (odd ? step / 2 : 0), step};
    }
    const uint32_t c = odd + 2 * (y >> level & 1) + 4 * (z >> level & 1);
    return {Classes(owned, level).place(c, 0, y >> (level + 1), z >> (level + 1)), 1};
  }
  FZ_DEV uint32_t place(uint32_t x, uint32_t y, uint32_t z) const {
    const uint32_t any = x | y | z;
    if ((any & 3) == 0) return coarse(y, z) + x / 4;
    const uint32_t level = any & 1 ? 0 : 1;
    return row(level, x >> level & 1, y, z).first + (x >> (level + 1));
  }
  // The point at a place, the inverse of `place`.
  FZ_DEV void point(uint32_t place, uint32_t (&at)[3]) const {
    uint32_t level = 0, c = 0;
    Classes classes(owned, 0);
    if (place < classes.even[0] * classes.even[1] * classes.even[2]) {
      level = 1;
      classes = Classes(owned, 1);
    }
    for (uint32_t i = 1; i < 8; i++)
      if (place >= classes.start(i) && classes.count(i, 0) * classes.count(i, 1) * classes.count(i, 2) > 0) c = i;
    const uint32_t i = place - classes.start(c), nx = classes.count(c, 0), ny = classes.count(c, 1);
    at[0] = (2 * (i % nx) + (c & 1)) << level;
    at[1] = (2 * (i / nx % ny) + (c >> 1 & 1)) << level;
    at[2] = (2 * (i / nx / ny) + (c >> 2)) << level;
  }
};

// Tiles of an array of up to 2^32 - 1 elements. No number of a tile or an element takes more than 32
// bits; bytes do.
struct Grid {
  uint32_t dims[3];   // elements
  uint32_t body[3];   // edges of a tile; 1 in dimensions that the grid does not have
  uint32_t tiles[3];  // tiles
  uint32_t levels;
  FZ_DEV explicit Grid(const GinterpParams& p) {
    const bool flat = p.dims[2] == 1, wide = flat && (p.switches & STRICT);
    levels = wide ? WIDE_LEVELS : LEVELS;
#pragma unroll
    for (int d = 0; d < 3; d++) {
      dims[d] = p.dims[d];
      body[d] = d == 2 && flat ? 1 : wide ? WIDE : BODY;
      tiles[d] = dims[d] / body[d] + (dims[d] % body[d] != 0);
    }
  }
  FZ_DEV uint32_t elements() const { return dims[0] * dims[1] * dims[2]; }
  // Tiles, each of which has an anchor.
  FZ_DEV uint32_t count() const { return tiles[0] * tiles[1] * tiles[2]; }
  FZ_DEV uint32_t number(const uint32_t (&tile)[3]) const { return (tile[2] * tiles[1] + tile[1]) * tiles[0] + tile[0]; }
  FZ_DEV void tile_of(uint32_t number, uint32_t (&tile)[3]) const {
    const uint32_t row = number / tiles[0];
    tile[0] = number - row * tiles[0];
    tile[2] = row / tiles[1];
    tile[1] = row - tile[2] * tiles[1];
  }
  // The extents of a tile.
  FZ_DEV TileOrder order(const uint32_t (&tile)[3]) const {
    TileOrder order;
#pragma unroll
    for (int d = 0; d < 3; d++) order.owned[d] = min(body[d], dims[d] - tile[d] * body[d]);
    return order;
  }
  // Codes before those of a tile: of the layers, rows, and tiles before it.
  FZ_DEV uint32_t first_code(const uint32_t (&tile)[3]) const {
    const uint32_t my = min(body[1], dims[1] - tile[1] * body[1]), mz = min(body[2], dims[2] - tile[2] * body[2]);
    return tile[2] * body[2] * dims[0] * dims[1] + tile[1] * body[1] * dims[0] * mz + tile[0] * body[0] * my * mz;
  }
  FZ_DEV uint32_t element(uint32_t x, uint32_t y, uint32_t z) const { return (z * dims[1] + y) * dims[0] + x; }
  // The place among all codes of an element of the array.
  FZ_DEV uint32_t place(uint32_t element) const {
    const uint32_t row = element / dims[0], at[3] = {element % dims[0], row % dims[1], row / dims[1]};
    uint32_t tile[3], local[3];
#pragma unroll
    for (int d = 0; d < 3; d++) {
      tile[d] = at[d] / body[d];
      local[d] = at[d] % body[d];
    }
    return first_code(tile) + order(tile).place(local[0], local[1], local[2]);
  }
  // The element whose code has this place in a tile.
  FZ_DEV uint32_t element(const uint32_t (&tile)[3], uint32_t place) const {
    uint32_t at[3];
    order(tile).point(place, at);
    return element(tile[0] * body[0] + at[0], tile[1] * body[1] + at[1], tile[2] * body[2] + at[2]);
  }
};
}  // namespace ginterp
}  // namespace fz
