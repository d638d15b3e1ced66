// Strided arrays of the caller: packed before a compression, distributed after a decompression.
#include "common/memory.cuh"
#include "common/view.h"

namespace fz {
// Copies all units of a strided array to its packed form, or back. `a.lanes` neighboring threads copy
// a piece of a row, so that they access neighboring units.
template <bool PACK, class T> FZ_DEV void copy_units(const ViewArgs& a) {
  // Loads of a thread in flight.
  constexpr int AHEAD = 4;
  uint8_t* const origin = reinterpret_cast<uint8_t*>(a.origin);
  uint8_t* const packed = reinterpret_cast<uint8_t*>(a.packed);
  const uint32_t lane = threadIdx.x % a.lanes, groups = blockDim.x / a.lanes;
  const uint64_t items = a.rows * a.pieces;
  for (uint64_t item = (uint64_t)blockIdx.x * groups + threadIdx.x / a.lanes; item < items; item += (uint64_t)gridDim.x * groups) {
    uint64_t row = item, first = 0;
    if (a.pieces > 1) {
      row = item / a.pieces;
      first = (item - row * a.pieces) * a.piece_units;
    }
    const uint64_t left = a.counts[0] - first;
    const uint32_t n = left < a.piece_units ? (uint32_t)left : a.piece_units;
    int64_t at = (int64_t)first * a.strides[0];
    uint64_t to = first * sizeof(T);
    for (uint32_t d = 1; d < a.ndim; d++) {
      uint64_t i = row;
      if (d + 1 < a.ndim) {
        row = i / a.counts[d];
        i -= row * a.counts[d];
      }
      at += (int64_t)i * a.strides[d];
      to += i * a.packed_strides[d];
    }
    for (uint32_t i = lane; i < n; i += AHEAD * a.lanes) {
      T v[AHEAD];
#pragma unroll
      for (int k = 0; k < AHEAD; k++) {
        const uint32_t u = i + k * a.lanes;
        if (u >= n) continue;
        const uint8_t* from = PACK ? origin + at + (int64_t)u * a.strides[0] : packed + to + (uint64_t)u * sizeof(T);
        v[k] = *reinterpret_cast<const T*>(from);
      }
#pragma unroll
      for (int k = 0; k < AHEAD; k++) {
        const uint32_t u = i + k * a.lanes;
        if (u >= n) continue;
        uint8_t* into = PACK ? packed + to + (uint64_t)u * sizeof(T) : origin + at + (int64_t)u * a.strides[0];
        *reinterpret_cast<T*>(into) = v[k];
      }
    }
  }
}

// The same in tiles of dimensions 0 and 1. Neighbors of dimension 0 are close in the packed array, and
// neighbors of dimension 1 in the strided one. `shared` has room for a tile.
template <bool PACK, class T> FZ_DEV void copy_tiles(const ViewArgs& a, uint4* shared) {
  constexpr uint32_t STEP = VIEW_BLOCK / VIEW_TILE, EACH = VIEW_TILE / STEP;
  // A row of a tile has one more unit, so that a column lies in different banks.
  T(*tile)[VIEW_TILE + 1] = reinterpret_cast<T(*)[VIEW_TILE + 1]>(shared);
  uint8_t* const origin = reinterpret_cast<uint8_t*>(a.origin);
  uint8_t* const packed = reinterpret_cast<uint8_t*>(a.packed);
  const uint32_t lane = threadIdx.x % VIEW_TILE, group = threadIdx.x / VIEW_TILE;
  const uint64_t across = (a.counts[0] + VIEW_TILE - 1) / VIEW_TILE, down = (a.counts[1] + VIEW_TILE - 1) / VIEW_TILE;
  const uint64_t tiles = across * down * (a.rows / a.counts[1]);
  for (uint64_t item = blockIdx.x; item < tiles; item += gridDim.x) {
    const uint64_t column = item / down, plane = column / across;
    const uint64_t x = (column - plane * across) * VIEW_TILE, y = (item - column * down) * VIEW_TILE;
    int64_t at = (int64_t)x * a.strides[0] + (int64_t)y * a.strides[1];
    uint64_t to = x * sizeof(T) + y * a.packed_strides[1], rest = plane;
    for (uint32_t d = 2; d < a.ndim; d++) {
      const uint64_t i = rest % a.counts[d];
      rest /= a.counts[d];
      at += (int64_t)i * a.strides[d];
      to += i * a.packed_strides[d];
    }
    const uint32_t width = a.counts[0] - x < VIEW_TILE ? (uint32_t)(a.counts[0] - x) : VIEW_TILE;
    const uint32_t height = a.counts[1] - y < VIEW_TILE ? (uint32_t)(a.counts[1] - y) : VIEW_TILE;
    // Lanes are rows of the tile on the strided side, and columns on the packed side.
    const uint32_t from_lanes = PACK ? height : width, from_groups = PACK ? width : height;
    T v[EACH];
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
      const uint32_t g = group + k * STEP;
      if (lane >= from_lanes || g >= from_groups) continue;
      const uint8_t* from = PACK ? origin + at + (int64_t)g * a.strides[0] + (int64_t)lane * a.strides[1] : packed + to + g * a.packed_strides[1] + lane * sizeof(T);
      v[k] = *reinterpret_cast<const T*>(from);
    }
    // The tile before has been read.
    __syncthreads();  // seed: view-tiles-turn
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
      const uint32_t g = group + k * STEP;
      if (lane < from_lanes && g < from_groups) tile[g][lane] = v[k];
    }
    __syncthreads();
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
      const uint32_t g = group + k * STEP;
      if (lane >= from_groups || g >= from_lanes) continue;
      uint8_t* into = PACK ? packed + to + g * a.packed_strides[1] + lane * sizeof(T) : origin + at + (int64_t)g * a.strides[0] + (int64_t)lane * a.strides[1];
      *reinterpret_cast<T*>(into) = tile[lane][g];
    }
  }
}

template <bool PACK> FZ_DEV void copy_view(const ViewArgs& a) {
  switch (a.unit) {
    case 1: return copy_units<PACK, uint8_t>(a);
    case 2: return copy_units<PACK, uint16_t>(a);
    case 4: return copy_units<PACK, uint32_t>(a);
    case 8: return copy_units<PACK, uint2>(a);
    default: return copy_units<PACK, uint4>(a);
  }
}

template <bool PACK> FZ_DEV void copy_view_tiles(const ViewArgs& a) {
  __shared__ uint4 shared[VIEW_TILE * (VIEW_TILE + 1)];
  switch (a.unit) {
    case 1: return copy_tiles<PACK, uint8_t>(a, shared);
    case 2: return copy_tiles<PACK, uint16_t>(a, shared);
    case 4: return copy_tiles<PACK, uint32_t>(a, shared);
    case 8: return copy_tiles<PACK, uint2>(a, shared);
    default: return copy_tiles<PACK, uint4>(a, shared);
  }
}

// True if the decompression before this launch has succeeded. `fz_close` leaves its status until the
// next call with the workspace.
FZ_DEV bool has_succeeded(const ViewArgs& a) {
  const unsigned long long failed = *reinterpret_cast<const volatile unsigned long long*>(&reinterpret_cast<const Status*>(a.status)->failed);
  return failed == 0 || (int32_t)(uint32_t)failed == STORED;  // seed: view-stored
}
}  // namespace fz

// It belongs to no call, so no failure cancels it.
extern "C" __global__ void __launch_bounds__(fz::VIEW_BLOCK) pack_view(const __grid_constant__ fz::ViewArgs a) {
  fz::wait_prerequisites();
  fz::copy_view<true>(a);
}

extern "C" __global__ void __launch_bounds__(fz::VIEW_BLOCK) unpack_view(const __grid_constant__ fz::ViewArgs a) {
  fz::wait_prerequisites();
  if (!fz::has_succeeded(a)) return;  // seed: view-status
  fz::copy_view<false>(a);
}

// The same for arrays whose rows are not rows in memory.
extern "C" __global__ void __launch_bounds__(fz::VIEW_BLOCK) pack_view_tiles(const __grid_constant__ fz::ViewArgs a) {
  fz::wait_prerequisites();
  fz::copy_view_tiles<true>(a);
}

extern "C" __global__ void __launch_bounds__(fz::VIEW_BLOCK) unpack_view_tiles(const __grid_constant__ fz::ViewArgs a) {
  fz::wait_prerequisites();
  if (!fz::has_succeeded(a)) return;  // seed: view-tiles-status
  fz::copy_view_tiles<false>(a);
}
