// LorenzoQuant in three dimensions, brick by brick: a warp has 8 x 8 rows of 32 pieces of 16 bytes,
// and walks through them plane by plane. A thread keeps the multiples of the previous plane, or the
// sums up to it, so every value is fetched and quantized once; the left neighbor along x comes from
// the lane before.
#pragma once
#include "lorenzo_quant/multiples.cuh"

namespace fz {
namespace lorenzo_quant {
constexpr int SIDE = EDGE;

template <class T> struct Brick {
  static constexpr int N = 16 / sizeof(T), WIDTH = 32 * N, SHARED = SIDE / N;  // lanes that share tiles along x
  uint64_t across, down, all;
  uint32_t nx, ny, nz;
  uint32_t x, y, z, have;  // where this lane starts, and how many of its columns there are

  FZ_DEV explicit Brick(const LorenzoQuantParams& p)
      : nx(p.dims[0]), ny(p.dims[1]), nz(p.dims[2]) {
    across = (nx + (uint64_t)WIDTH - 1) / WIDTH;
    down = ((uint64_t)ny + SIDE - 1) / SIDE;
    all = across * down * (((uint64_t)nz + SIDE - 1) / SIDE);
  }
  FZ_DEV void take(uint64_t brick) {
    x = (uint32_t)(brick % across) * WIDTH + (threadIdx.x & 31) * N;
    y = (uint32_t)(brick / across % down) * SIDE;
    z = (uint32_t)(brick / across / down) * SIDE;
    have = x < nx ? min(nx - x, (uint32_t)N) : 0;
  }
  FZ_DEV uint32_t rows() const { return min(ny - y, (uint32_t)SIDE); }
  FZ_DEV uint32_t planes() const { return min(nz - z, (uint32_t)SIDE); }
  // Index of the first element of this lane in row `r` of plane `k`.
  FZ_DEV uint64_t at(uint32_t k, uint32_t r) const { return ((uint64_t)(z + k) * ny + y + r) * nx + x; }
  // First lane of a tile.
  FZ_DEV bool starts() const { return (threadIdx.x & (SHARED - 1)) == 0; }  // seed: brick-starts
};
}  // namespace lorenzo_quant
}  // namespace fz
