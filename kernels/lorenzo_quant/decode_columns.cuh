// LorenzoQuant, decoders: differences from codes or from the array, and volumes of f32 whose sums are computed in the order
// of the format, column by column.
#pragma once
#include "lorenzo_quant/decode_bricks.cuh"
#include "lorenzo_quant/entries.cuh"
#include "lorenzo_quant/marks.cuh"

namespace fz {
namespace lorenzo_quant {
// The source of differences and the destination of values of a decoder for one type.
template <class T, class C> struct Flow {
  const uint8_t* codes;
  uint8_t* dst;
  uint64_t n;
  T step;
  bool zigzag, listed;

  FZ_DEV Flow(const Args& a, const LorenzoQuantParams& p)
      : codes(address(input(a, 0))), dst(address(output(a, 0))), n(wanted<T>(a, p)), zigzag((p.switches & ZIGZAG) != 0) {
    const Entries e(a, p);
    step = T(2) * Real<T>::from(e.bound);
    listed = e.outliers.count > 0;
  }
  FZ_DEV T coded(uint64_t i) const { return difference_of<C, T>(load<C>(codes + i * sizeof(C)), zigzag); }
  FZ_DEV T stored(uint64_t i) const { return load<T>(dst + i * sizeof(T)); }
  FZ_DEV T difference(uint64_t i) const {
    if (i >= n) return T(0);
    return listed ? stored(i) : coded(i);
  }
  FZ_DEV void put(uint64_t i, T sum) const {
    if (i < n) store<T>(dst + i * sizeof(T), canonical(sum * step));
  }
};

// Three dimensions, f32: a warp has four tiles beside each other from element `x`, `y`, `z` on, plane by plane, and a
// thread the rows of a column. It keeps the sums of earlier planes that the next ones add, so that warps exchange no data.
// The sums are those of `decode_3d`, in the same order. `marks_at(k)`: bits of the rows of plane `k` whose differences are
// in the array.
template <class C, class F> FZ_DEV void decode_columns(const Flow<float, C>& f, const LorenzoQuantParams& p, uint64_t x, uint32_t y, uint32_t z, F marks_at) {
  const uint64_t nx = p.dims[0], ny = p.dims[1], nz = p.dims[2], plane = nx * ny;
  const uint32_t rows = x < nx ? (uint32_t)least(ny - y, 8) : 0, planes = (uint32_t)least(nz - z, 8);
  const bool whole = f.n >= p.count;
  uint64_t at = (z * ny + y) * nx + x, ahead = at;
  float next[8];
  const auto fetch = [&](uint32_t k) {
    const bool there = k < planes && rows;
    const uint32_t marks = there ? marks_at(k) : 0;
    uint64_t i = ahead;
#pragma unroll
    for (uint32_t r = 0; r < 8; r++, i += nx) {
      next[r] = 0.0f;
      if (there && r < rows && (whole || i < f.n)) next[r] = marks >> r & 1 ? f.stored(i) : f.coded(i);
    }
    ahead += plane;
  };
  fetch(0);
  // For each row, the sum of the plane before, sums of two planes, and sums of four planes.
  float one[8], two[2][8], four[4][8];
#pragma unroll
  for (uint32_t k = 0; k < 8; k++, at += plane) {
    float v[8];
#pragma unroll
    for (int r = 0; r < 8; r++) v[r] = r ? v[r ? r - 1 : 0] + next[r] : next[r];
    // The next plane is on its way meanwhile.
    if (k < 7) fetch(k + 1);
    uint64_t i = at;
#pragma unroll
    for (uint32_t r = 0; r < 8; r++, i += nx) {
      const float all = sum_along<8>(v[r]), pair = k >= 1 ? all + one[r] : all, quad = k >= 2 ? pair + two[k % 2][r] : pair;
      const float sum = k >= 4 ? quad + four[k % 4][r] : quad;
      one[r] = all;
      two[k % 2][r] = pair;
      four[k % 4][r] = quad;
      if (r < rows && k < planes && (whole || i < f.n)) store<float>(f.dst + i * 4, canonical(sum * f.step));
    }
  }
}
// All tiles of an array that contains the differences.
template <class C> FZ_DEV void decode_stored(const Flow<float, C>& f, const LorenzoQuantParams& p) {
  const uint64_t across = ((uint64_t)p.dims[0] + 31) / 32, down = ((uint64_t)p.dims[1] + 7) / 8, tasks = across * down * (((uint64_t)p.dims[2] + 7) / 8);
  for (uint64_t i = (uint64_t)blockIdx.x * 8 + (threadIdx.x >> 5); i < tasks; i += (uint64_t)gridDim.x * 8)
    decode_columns(f, p, i % across * 32 + (threadIdx.x & 31), (uint32_t)(i / across % down) * 8, (uint32_t)(i / across / down) * 8, [](uint32_t) { return 0xffu; });
}
}  // namespace lorenzo_quant
}  // namespace fz
