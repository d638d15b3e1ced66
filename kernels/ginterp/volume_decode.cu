// Stage ginterp, strict volumes with the default flags: codes, anchors and exact values back to
// values.
#include "ginterp/volume_walk.cuh"

namespace fz {
namespace ginterp {
template <class T> FZ_DEV T canonical(T x) { return x == x ? x : Real<T>::not_a_number(); }

// Puts the points that the tile owns into the array. `vectors`: four at a time. `keeps`: some
// values of the array are not changed.
template <class T, class C> FZ_DEV void store_points(const Args& a, const VolumeShared<T>& s, const VolumeTile& tile, bool vectors, bool keeps) {
  typedef TileLayout<T> L;
  typedef typename Real<T>::Bits Bits;
  uint8_t* dst = address(output(a, 0));
  if (vectors) {
#pragma unroll 4
    for (int n = threadIdx.x; n < 1024; n += VOLUME_THREADS) {
      const int x = n & 3, y = n >> 2 & 15, z = n >> 6;
      const T* r = s.points + L::row(y, z) + 2 * x;
      const T v[4] = {r[0], r[L::ODD], r[1], r[L::ODD + 1]};
      store4(reinterpret_cast<T*>(dst) + tile.at(4 * x, y, z), v);
    }
    return;
  }
  const Grid g(params<GinterpParams>(a));
  const uint8_t* codes = address(input(a, 0));
  const uint64_t room = output(a, 0).max / sizeof(T);
#pragma unroll 1
  for (int n = threadIdx.x; n < (int)(BODY * BODY * BODY); n += VOLUME_THREADS) {
    const int x = n & 15, y = n >> 4 & 15, z = n >> 8;
    const uint32_t element = tile.at(x, y, z);
    if (!tile.has(x, y, z) || element >= room) continue;
    // The array already contains values without a code.
    if (keeps && fz::load<C>(codes + (uint64_t)g.place(element) * sizeof(C)) == 0) continue;
    uint8_t* to = dst + (uint64_t)element * sizeof(T);
    const uint8_t* anchor = address(input(a, 1)) + (uint64_t)blockIdx.x * sizeof(T);
    // An anchor that is not bounded keeps its bits, which the tile does not have.
    if (n == 0 && !s.numbers.is_bounded(fz::load<T>(anchor))) fz::store<Bits>(to, fz::load<Bits>(anchor));
    else fz::store<T>(to, canonical(s.points[L::at(x, y, z)]));
  }
}

// Puts the exact values of a tile, those of its far faces included, into their places in it.
template <class T, class C> FZ_DEV void load_exact(const Args& a, const Grid& g, VolumeShared<T>& s, const VolumeTile& tile) {
  const uint8_t* codes = address(input(a, 0));
#pragma unroll 1
  for (int n = threadIdx.x; n < EXTENT * EXTENT * EXTENT; n += VOLUME_THREADS) {
    const int row = n / EXTENT, x = n - row * EXTENT, z = row / EXTENT, y = row - z * EXTENT;
    if (!tile.has(x, y, z)) continue;
    const uint32_t element = tile.at(x, y, z), place = g.place(element);
    if (fz::load<C>(codes + (uint64_t)place * sizeof(C)) == 0)
      s.points[TileLayout<T>::at(x, y, z)] = exact_value<T>(a, g, place, element);
  }
}

template <class T, class C, bool FULL> FZ_DEV void decode_points(const Args& a, VolumeShared<T>& s, const VolumeTile& tile, bool listed, uint32_t radius) {
  const Walk<T, C, false, FULL> walk(a, s, tile, address(input(a, 0)), length(input(a, 0)) / sizeof(C), listed, radius);
  if (threadIdx.x == 0 && walk.code_at(FULL ? 0 : tile.first_code) != radius) fail(a, CORRUPT);
  walk.levels();
}

template <class T, class C> FZ_DEV void decode_volume(const Args& a, VolumeShared<T>& s) {
  typedef TileLayout<T> L;
  if (cancelled(a)) return;
  const GinterpParams& p = params<GinterpParams>(a);
  const GinterpMetadata& m = metadata_of(input(a, 4));
  const Grid g(p);
  if (blockIdx.x >= g.count() || !has_default_flags(m)) return;
  if (length(input(a, 0)) / sizeof(C) < g.elements() || length(input(a, 1)) / sizeof(T) < g.count()) {
    if (threadIdx.x == 0) fail(a, CORRUPT);
    return;
  }
  const VolumeTile tile(g, blockIdx.x);
  const uint8_t *codes = address(input(a, 0)), *dst = address(output(a, 0));
  // The array has the exact values, unless it ends before the tile does.
  const uint64_t room = output(a, 0).max / sizeof(T);
  const uint32_t last = tile.at(tile.extent[0] - 1, tile.extent[1] - 1, tile.extent[2] - 1);
  const bool listed = last >= room || !aligned(dst, sizeof(T));
  const bool full = tile.has_far_faces() && tile.has_whole_neighbors(g) && aligned(codes, 16) && !listed;
  if (threadIdx.x / 32 == 1) s.start(threadIdx.x % 32);
  if (threadIdx.x / 32 == 2) s.numbers.load(p, m, threadIdx.x % 32);
  if (!full) s.codes.load(g, tile);
  if (listed) load_exact<T, C>(a, g, s, tile);
  // The corners, by the first eight threads; they are loaded before the barrier.
  const uint32_t x = threadIdx.x & 1, y = threadIdx.x >> 1 & 1, z = threadIdx.x >> 2;
  T v = T(0);
  if (threadIdx.x < 8 && tile.has(BODY * x, BODY * y, BODY * z)) {
    const uint64_t at = blockIdx.x + x + ((uint64_t)z * g.tiles[1] + y) * g.tiles[0];
    v = fz::load<T>(address(input(a, 1)) + at * sizeof(T));
  }
  __syncthreads();
  if (threadIdx.x < 8) {
    if (!s.numbers.is_bounded(v)) {
      v = s.numbers.nearest_to_zero();
      if (threadIdx.x == 0) s.keeps = 1;
    }
    s.points[8 * (x + y * L::PITCH + z * L::PLANE)] = v;
    // Nothing else makes a NaN, which the ordinary way back does not look for.
    if (threadIdx.x < LEVELS && !Real<T>::is_finite(s.numbers.step(threadIdx.x))) s.keeps = 1;
  }
  __syncwarp();
  if (full) decode_points<T, C, true>(a, s, tile, false, m.radius);
  else decode_points<T, C, false>(a, s, tile, listed, m.radius);
  __syncthreads();
  const bool keeps = s.keeps != 0;
  const bool there = tile.owns_all() && tile.at(15, 15, 15) < room;
  const bool rows = aligned(dst, 16) && tile.dims[0] % (16 / sizeof(T)) == 0;
  store_points<T, C>(a, s, tile, there && rows && !keeps, keeps);
  if (threadIdx.x == 0) count_zeros(a, g, s.zeros);
}
}  // namespace ginterp
}  // namespace fz

// Blocks for which a multiprocessor has shared memory; fewer where registers would be spilled.
#define FZ_VOLUME_DECODE(T, VALUE, C, CODE, BLOCKS)                                                                  \
  extern "C" __global__ void __launch_bounds__(fz::ginterp::VOLUME_THREADS, BLOCKS) ginterp_decode_volume_##VALUE##_##CODE(FZ_ARGS) { \
    __shared__ fz::ginterp::VolumeShared<T> shared;                                                                  \
    fz::ginterp::decode_volume<T, C>(a, shared);                                                                     \
  }
FZ_VOLUME_DECODE(float, f32, uint8_t, u8, 8)
FZ_VOLUME_DECODE(float, f32, uint16_t, u16, 7)
FZ_VOLUME_DECODE(float, f32, uint32_t, u32, 6)
FZ_VOLUME_DECODE(double, f64, uint8_t, u8, 5)
FZ_VOLUME_DECODE(double, f64, uint16_t, u16, 5)
FZ_VOLUME_DECODE(double, f64, uint32_t, u32, 5)
