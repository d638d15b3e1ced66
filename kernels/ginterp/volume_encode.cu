// Stage ginterp, strict volumes with the default flags: values to codes, anchors and lists.
#include "ginterp/volume_walk.cuh"

namespace fz {
namespace ginterp {
// Puts the points of a tile into shared memory. Values that are not bounded become NaN, so that the
// threshold is of no concern later. Blocks of 4 values of each row are loaded at once where rows are
// aligned, several planes of them under way.
template <class T> FZ_DEV void load_points(VolumeShared<T>& s, const VolumeTile& tile, const uint8_t* src, T threshold, bool vectors) {
  typedef TileLayout<T> L;
  constexpr int CHUNKS = 5, EDGE = EXTENT, BATCH = sizeof(T) == 4 ? 6 : 4;
  static_assert(CHUNKS * EDGE <= VOLUME_THREADS && BATCH % 2 == 0, "a thread has a chunk of each plane");
  const T none = Real<T>::not_a_number();
  if (!vectors) {
#pragma unroll 1
    for (int n = threadIdx.x; n < EDGE * EDGE * EDGE; n += VOLUME_THREADS) {
      const int row = n / EDGE, x = n - row * EDGE, z = row / EDGE, y = row - z * EDGE;
      const T v = tile.has(x, y, z) ? fz::load<T>(src + (uint64_t)tile.at(x, y, z) * sizeof(T)) : T(0);
      s.points[L::at(x, y, z)] = fabs(v) < threshold ? v : none;
    }
    return;
  }
  const int chunk = threadIdx.x % CHUNKS, y = threadIdx.x / CHUNKS;
  if (y >= EDGE) return;
  const T* from = reinterpret_cast<const T*>(src) + tile.at(4 * chunk, y, 0);
  const uint64_t plane = (uint64_t)tile.dims[0] * tile.dims[1];
  T* to = s.points + L::row(y, 0) + 2 * chunk;
#pragma unroll 1
  for (int first = 0; first < EDGE; first += BATCH) {
    T v[BATCH][4];
    bool bounded = true;
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
      // The last batch is short: the last plane stands for the rest of it.
      const T* p = from + min(first + i, EDGE - 1) * plane;
      if (chunk < CHUNKS - 1) load4(v[i], p);
      else v[i][0] = v[i][1] = v[i][2] = v[i][3] = *p;
    }
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
#pragma unroll
      for (int k = 0; k < 4; k++) bounded &= fabs(v[i][k]) < threshold;
    }
    if (!bounded) {
#pragma unroll
      for (int i = 0; i < BATCH; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) v[i][k] = fabs(v[i][k]) < threshold ? v[i][k] : none;
      }
    }
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
      if (first + i >= EDGE) continue;
      T* r = to + first / 2 * L::PLANE + L::row(0, i);
      if (chunk == CHUNKS - 1) {
        r[0] = v[i][0];
      } else {
        store2(r, v[i][0], v[i][2]);
        store2(r + L::ODD, v[i][1], v[i][3]);
      }
    }
  }
}

template <class T, class C, bool FULL> FZ_DEV void encode_points(const Args& a, VolumeShared<T>& s, const VolumeTile& tile) {
  const Walk<T, C, true, FULL> walk(a, s, tile, address(output(a, 0)), output(a, 0).max / sizeof(C), false, 0);
  if (threadIdx.x == 0) walk.put_code(FULL ? 0 : tile.first_code, s.numbers.radius);
  walk.levels();
}

template <class T, class C> FZ_DEV void encode_volume(const Args& a, VolumeShared<T>& s) {
  typedef TileLayout<T> L;
  typedef typename Real<T>::Bits Bits;
  if (cancelled(a)) return;
  const GinterpParams& p = params<GinterpParams>(a);
  const Grid g(p);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    publish(output(a, 0), (uint64_t)g.elements() * sizeof(C));
    publish(output(a, 2), (uint64_t)g.count() * sizeof(T));
    if (g.count() == 0) end_lists(a, p, 0);
  }
  const uint8_t* src = address(input(a, 0));
  if (blockIdx.x >= g.count() || length(input(a, 0)) / sizeof(T) < g.elements()) return;
  const VolumeTile tile(g, blockIdx.x);
  const bool full = tile.has_far_faces();
  s.start();
  s.numbers.load(p, metadata_of(input(a, 1)));
  s.codes.load(g, tile);
  const bool rows = aligned(src, 16) && tile.dims[0] % (16 / sizeof(T)) == 0;
  load_points(s, tile, src, Real<T>::from(p.threshold_or_base), full && rows);
  __syncthreads();
  if (threadIdx.x < 8) {
    const int x = threadIdx.x & 1, y = threadIdx.x >> 1 & 1, z = threadIdx.x >> 2;
    T* v = s.points + 8 * (x + y * L::PITCH + z * L::PLANE);
    if (!(*v == *v)) *v = Real<T>::clamp(T(0), s.numbers.low, s.numbers.high);
    if (threadIdx.x == 0 && blockIdx.x < output(a, 2).max / sizeof(T))
      fz::store<Bits>(address(output(a, 2)) + (uint64_t)blockIdx.x * sizeof(T), fz::load<Bits>(src + (uint64_t)tile.element * sizeof(T)));
  }
  __syncwarp();
  const uint8_t* codes = address(output(a, 0));
  const bool whole = aligned(codes, 16) && output(a, 0).max / sizeof(C) >= (uint64_t)tile.first_code + BODY * BODY * BODY;
  if (full && whole) encode_points<T, C, true>(a, s, tile);
  else encode_points<T, C, false>(a, s, tile);
  __syncthreads();
  const uint32_t zeros = s.zeros;
  list_tile<T>(a, p, g, blockIdx.x, tile.tile, zeros, s.words);
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
FZ_VOLUME_ENCODE(float, f32, uint16_t, u16, 8)
FZ_VOLUME_ENCODE(float, f32, uint32_t, u32, 8)
FZ_VOLUME_ENCODE(double, f64, uint8_t, u8, 5)
FZ_VOLUME_ENCODE(double, f64, uint16_t, u16, 5)
FZ_VOLUME_ENCODE(double, f64, uint32_t, u32, 5)
