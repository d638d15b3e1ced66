// Stage ginterp, strict volumes with the default flags: values to codes and anchors,
// and the number of those that have no code.
#include "ginterp/volume_walk.cuh"

namespace fz {
namespace ginterp {
// A value that is not bounded becomes NaN, so that the threshold does not matter later. Without a
// threshold values are unchanged: a value that is not finite has no code, and never becomes a
// neighbor.
template <class T> FZ_DEV T bounded_or_nan(T v, T threshold) { return fabs(v) < threshold ? v : Real<T>::not_a_number(); }

// Puts the points of a tile into shared memory, at any address, by all threads.
template <class T> FZ_DEV void load_points(VolumeShared<T>& s, const VolumeTile& tile, const uint8_t* src, T threshold) {
#pragma unroll 1
  for (int n = threadIdx.x; n < EXTENT * EXTENT * EXTENT; n += VOLUME_THREADS) {
    const int row = n / EXTENT, x = n - row * EXTENT, z = row / EXTENT, y = row - z * EXTENT;
    const T v = tile.has(x, y, z) ? fz::load<T>(src + (uint64_t)tile.at(x, y, z) * sizeof(T)) : T(0);
    s.points[TileLayout<T>::at(x, y, z)] = bounded_or_nan(v, threshold);
  }
}

// Whole tiles whose rows are aligned: the coarse warp loads the points of levels 4 to 2 and codes
// them, while the other warps load all other points.
constexpr int GRID_EDGE = 5;
template <class T> FZ_DEV void load_grid(VolumeShared<T>& s, const VolumeTile& tile, const T* src, T threshold, int lane) {
  constexpr int POINTS = GRID_EDGE * GRID_EDGE * GRID_EDGE, ROUNDS = (POINTS + 31) / 32;
  T v[ROUNDS];
#pragma unroll
  for (int r = 0; r < ROUNDS; r++) {
    const int n = min(lane + 32 * r, POINTS - 1), row = n / GRID_EDGE, z = row / GRID_EDGE;
    v[r] = src[tile.at(4 * (n - row * GRID_EDGE), 4 * (row - z * GRID_EDGE), 4 * z)];
  }
#pragma unroll
  for (int r = 0; r < ROUNDS; r++) {
    const int n = min(lane + 32 * r, POINTS - 1), row = n / GRID_EDGE, z = row / GRID_EDGE;
    s.points[TileLayout<T>::at(4 * (n - row * GRID_EDGE), 4 * (row - z * GRID_EDGE), 4 * z)] = bounded_or_nan(v[r], threshold);
  }
}
// A thread has four points of each plane. Rows have 17 points: the block behind the 17th is read with
// it, which has whole blocks in front of the end of the array, and goes nowhere.
template <class T, int PLANES> FZ_DEV void load_planes(const T*& from, uint32_t plane, T* to, bool grid_row, bool last, T threshold) {
  typedef TileLayout<T> L;
  T v[PLANES][4];
#pragma unroll
  for (int i = 0; i < PLANES; i++) {
    load4(v[i], from);
    from += plane;
  }
  if (threshold < Real<T>::infinity()) {
#pragma unroll
    for (int i = 0; i < PLANES; i++) {
#pragma unroll
      for (int k = 0; k < 4; k++) v[i][k] = bounded_or_nan(v[i][k], threshold);
    }
  }
#pragma unroll
  for (int i = 0; i < PLANES; i++) {
    T* r = to + L::row(0, i);
    // The first point of a block in every fourth row of every fourth plane is one of the coarse warp.
    if (i % 4 == 0 && grid_row) r[1] = v[i][2];
    else store2(r, v[i][0], v[i][2]);
    if (!last) store2(r + L::ODD, v[i][1], v[i][3]);
  }
}
template <class T> FZ_DEV void load_rows(VolumeShared<T>& s, const VolumeTile& tile, const T* src, T threshold) {
  typedef TileLayout<T> L;
  constexpr int CHUNKS = 5, PLANES = sizeof(T) == 4 ? 8 : 4;
  static_assert(CHUNKS * EXTENT <= 32 * COARSE_WARP && COARSE_WARP == VOLUME_THREADS / 32 - 1, "a thread has a block of each plane");
  const int chunk = threadIdx.x % CHUNKS, y = threadIdx.x / CHUNKS;
  if (y >= EXTENT) return;
  const T* from = src + tile.at(4 * chunk, y, 0);
  const uint32_t plane = tile.dims[0] * tile.dims[1];
  T* to = s.points + L::row(y, 0) + 2 * chunk;
  const bool grid_row = y % 4 == 0, last = chunk == CHUNKS - 1;
#pragma unroll 1
  for (int z = 0; z < EXTENT - 1; z += PLANES) load_planes<T, PLANES>(from, plane, to + z / 2 * L::PLANE, grid_row, last, threshold);
  load_planes<T, 1>(from, plane, to + (EXTENT - 1) / 2 * L::PLANE, grid_row, last, threshold);
}

// The corners of a tile, which have no codes, by lanes of a warp; the first one is the anchor.
template <class T> FZ_DEV void set_corners(const Args& a, VolumeShared<T>& s, const VolumeTile& tile, const uint8_t* src, int lane) {
  typedef TileLayout<T> L;
  typedef typename Real<T>::Bits Bits;
  if (lane >= 8) return;
  T* v = s.points + 8 * ((lane & 1) + (lane >> 1 & 1) * L::PITCH + (lane >> 2) * L::PLANE);
  if (!Real<T>::is_finite(*v)) *v = s.numbers.nearest_to_zero();
  if (lane == 0 && blockIdx.x < output(a, 2).max / sizeof(T))
    fz::store<Bits>(address(output(a, 2)) + (uint64_t)blockIdx.x * sizeof(T), fz::load<Bits>(src + (uint64_t)tile.element * sizeof(T)));
}

template <class T, class C, bool FULL> FZ_DEV void encode_points(const Args& a, const GinterpParams& p, const Grid& g, VolumeShared<T>& s, const VolumeTile& tile, const uint8_t* src) {
  const Walk<T, C, true, FULL> walk(a, s, tile, address(output(a, 0)), output(a, 0).max / sizeof(C), false, 0);
  const bool rows = FULL && aligned(src, 16) && tile.dims[0] % (16 / sizeof(T)) == 0, coarse = walk.warp == COARSE_WARP;
  const T threshold = Real<T>::from(p.threshold_or_base);
  if (coarse) {
    s.start(walk.lane);
    s.numbers.load(p, metadata_of(input(a, 1)), walk.lane);
  }
  if (!FULL) s.codes.load(g, tile);
  if (!rows) {
    load_points(s, tile, src, threshold);
    __syncthreads();
  } else if (!coarse) {
    load_rows(s, tile, reinterpret_cast<const T*>(src), threshold);
  }
  if (coarse) {
    if (rows) load_grid(s, tile, reinterpret_cast<const T*>(src), threshold, walk.lane);
    __syncwarp();
    set_corners(a, s, tile, src, walk.lane);
    if (walk.lane == 0) walk.put_code(FULL ? 0 : tile.first_code, s.numbers.radius);
    __syncwarp();
    walk.coarse();
  }
  __syncthreads();
  walk.levels();
}

template <class T, class C> FZ_DEV void encode_volume(const Args& a, VolumeShared<T>& s) {
  if (cancelled(a)) return;
  const GinterpParams& p = params<GinterpParams>(a);
  const Grid g(p);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    publish(output(a, 0), (uint64_t)g.elements() * sizeof(C));
    publish(output(a, 2), (uint64_t)g.count() * sizeof(T));
  }
  const uint8_t* src = address(input(a, 0));
  if (blockIdx.x >= g.count()) return;
  if (length(input(a, 0)) / sizeof(T) < g.elements()) {
    if (threadIdx.x == 0) fail(a, INVALID_ARGUMENT);
    return;
  }
  const VolumeTile tile(g, blockIdx.x);
  const bool whole = aligned(address(output(a, 0)), 16) && output(a, 0).max / sizeof(C) >= (uint64_t)tile.first_code + BODY * BODY * BODY;
  if (tile.has_far_faces() && whole) encode_points<T, C, true>(a, p, g, s, tile, src);
  else encode_points<T, C, false>(a, p, g, s, tile, src);
  __syncthreads();
  if (threadIdx.x == 0) count_entries(a, g, blockIdx.x, s.zeros);
}
}  // namespace ginterp
}  // namespace fz

// Blocks for which a multiprocessor has shared memory; fewer where registers would be spilled.
#define FZ_VOLUME_ENCODE(T, VALUE, C, CODE, BLOCKS)                                                                  \
  extern "C" __global__ void __launch_bounds__(fz::ginterp::VOLUME_THREADS, BLOCKS) ginterp_encode_volume_##VALUE##_##CODE(FZ_ARGS) { \
    __shared__ fz::ginterp::VolumeShared<T> shared;                                                                  \
    fz::ginterp::encode_volume<T, C>(a, shared);                                                                     \
  }
FZ_VOLUME_ENCODE(float, f32, uint8_t, u8, 8)
FZ_VOLUME_ENCODE(float, f32, uint16_t, u16, 7)
FZ_VOLUME_ENCODE(float, f32, uint32_t, u32, 8)
FZ_VOLUME_ENCODE(double, f64, uint8_t, u8, 5)
FZ_VOLUME_ENCODE(double, f64, uint16_t, u16, 5)
FZ_VOLUME_ENCODE(double, f64, uint32_t, u32, 5)
