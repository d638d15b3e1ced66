// LorenzoQuant: restores values from codes, outliers, and exact pairs.
//
// Sums are computed in the order of the format, which matters where they round. If there are
// outliers, differences are stored in the array before they become values: entries may come in any
// order, and several may have one index. Of large volumes of f32 only those of outliers are stored (marks.cuh).
#include "lorenzo_quant/decode_bricks.cuh"
#include "lorenzo_quant/decode_columns.cuh"

namespace fz {
namespace lorenzo_quant {
// One dimension: a tile of 1024 in 256 threads, sums in groups of four, of the 32 groups of a part,
// of the eight parts.
template <class T, class C> FZ_DEV void decode_1d(const Flow<T, C>& f, T* parts) {
  const uint32_t warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  for (uint64_t first = (uint64_t)blockIdx.x * 1024; first < f.n; first += (uint64_t)gridDim.x * 1024) {
    const uint64_t i = first + threadIdx.x * 4;
    T v[4];
#pragma unroll
    for (int k = 0; k < 4; k++) v[k] = f.difference(i + k);
#pragma unroll
    for (int k = 1; k < 4; k++) v[k] = v[k - 1] + v[k];
    const T before = __shfl_up_sync(ALL, sum_along<32>(v[3]), 1);
#pragma unroll
    for (int k = 0; k < 4; k++)
      if (lane > 0) v[k] = v[k] + before;
    if (lane == 31) parts[warp] = v[3];
    __syncthreads();
    if (warp == 0) {
      const T all = sum_along<8>(parts[lane & 7]);
      __syncwarp();
      if (lane < 8) parts[lane] = all;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 4; k++) {
      if (warp > 0) v[k] = v[k] + parts[warp - 1];
      f.put(i + k, v[k]);
    }
    __syncthreads();
  }
}

// Two dimensions: a tile of 32 times 32 in a warp. Sums along y in pieces of eight rows, and those
// above added; along x.
template <class T, class C> FZ_DEV void decode_2d(const Flow<T, C>& f, uint32_t nx, uint32_t ny) {
  const uint64_t across = ((uint64_t)nx + 31) / 32, tiles = across * (((uint64_t)ny + 31) / 32), warps = (uint64_t)gridDim.x * 8;
  for (uint64_t tile = (uint64_t)blockIdx.x * 8 + (threadIdx.x >> 5); tile < tiles; tile += warps) {
    const uint64_t x = tile % across * 32 + (threadIdx.x & 31), y = tile / across * 32;
    const uint32_t rows = (uint32_t)least(ny - y, 32);
    T carry = T(0);
#pragma unroll 1
    for (uint32_t piece = 0; piece < rows; piece += 8) {
      T v[8], sum = T(0);
#pragma unroll
      for (uint32_t r = 0; r < 8; r++) v[r] = x < nx && piece + r < rows ? f.difference((y + piece + r) * nx + x) : T(0);
#pragma unroll
      for (uint32_t r = 0; r < 8; r++) {
        sum = r == 0 ? v[r] : sum + v[r];
        v[r] = piece == 0 ? sum : sum + carry;
      }
      carry = v[7];
#pragma unroll
      for (uint32_t r = 0; r < 8; r++) {
        const T all = sum_along<32>(v[r]);
        if (x < nx && piece + r < rows) f.put((y + piece + r) * nx + x, all);
      }
    }
  }
}

// Three dimensions: four tiles of 8 times 8 times 8 beside each other in 256 threads, of which each
// has a line along z. Sums along y, whose rows are those of the warps before; along x; along z.
template <class T, class C> FZ_DEV void decode_3d(const Flow<T, C>& f, const uint32_t (&dims)[3], T (&rows)[8][8][32]) {
  const uint32_t lane = threadIdx.x & 31, row = threadIdx.x >> 5;
  const uint64_t nx = dims[0], ny = dims[1], nz = dims[2], across = (nx + 31) / 32, down = (ny + 7) / 8;
  for (uint64_t task = blockIdx.x; task < across * down * ((nz + 7) / 8); task += gridDim.x) {
    const uint64_t x = task % across * 32 + lane, y = task / across % down * 8 + row, z = task / across / down * 8;
    const bool inside = x < nx && y < ny;
    const uint64_t i = (z * ny + y) * nx + x;
    T v[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
      v[k] = inside && z + k < nz ? f.difference(i + k * nx * ny) : T(0);
      rows[k][row][lane] = v[k];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; k++) {
      T sum = rows[k][0][lane];
      for (uint32_t r = 1; r <= row; r++) sum = sum + rows[k][r][lane];
      v[k] = sum_along<8>(sum);
    }
    __syncthreads();
#pragma unroll
    for (int d = 1; d < 8; d <<= 1)
#pragma unroll
      for (int k = 7; k >= d; k--) v[k] = v[k] + v[k - d];
#pragma unroll
    for (int k = 0; k < 8; k++)
      if (inside && z + k < nz) f.put(i + k * nx * ny, v[k]);
  }
}

// Zeros after the predicted elements.
FZ_DEV void clear_behind(const Args& a, const LorenzoQuantParams& p) {
  uint8_t* dst = address(output(a, 0));
  const uint64_t step = (uint64_t)gridDim.x * blockDim.x, me = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  for (uint64_t i = (uint64_t)p.count * p.value + me; i < output(a, 0).max; i += step) dst[i] = 0;
}

// `shared`: as many elements as a block has to pass on.
template <int DIMS, class T, class C> FZ_DEV void decode(const Args& a, const LorenzoQuantParams& p, double* shared) {
  const Flow<T, C> f(a, p);
  // A chain has made the values where no differences are listed.
  if (a.fused_count && !f.listed) return;
  if constexpr (DIMS == 1) decode_1d(f, reinterpret_cast<T*>(shared));
  else if constexpr (DIMS == 2) decode_2d(f, p.dims[0], p.dims[1]);
  // Sums of codes alone do not round.
  else if (!f.listed && sizeof(C) < sizeof(T)) decode_bricks<T, C>(f.codes, f.dst, f.n, f.step, f.zigzag, p, reinterpret_cast<uint2*>(shared));
  else {
    if constexpr (sizeof(T) == 4) {
      // A chain has stored the differences. Otherwise `lorenzo_quant_decode_marked` makes the values.
      if (f.listed) return a.fused_count ? decode_stored(f, p) : void();
    }
    // The sums of columns of f64 do not fit into registers.
    decode_3d(f, p.dims, *reinterpret_cast<T(*)[8][8][32]>(shared));
  }
}
// Of arrays of 4 or 8 bytes a value, or of both (0).
template <int DIMS, int VALUE> FZ_DEV void decode_as(const Args& a, double* shared) {
  const LorenzoQuantParams& p = own_params(a);
  by_types(p, [&](auto value, auto code) {
    if constexpr (VALUE == 0 || sizeof(value) == VALUE) decode<DIMS, decltype(value), decltype(code)>(a, p, shared);
  });
  clear_behind(a, p);
}
}  // namespace lorenzo_quant
}  // namespace fz

// Checks the lists. If there are outliers, computes the differences of the codes.
extern "C" __global__ void __launch_bounds__(256) lorenzo_quant_decode_open(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  using namespace fz::lorenzo_quant;
  const LorenzoQuantParams& p = own_params(a);
  const Entries e(a, p);
  open_entries(a, e);
  // A chain makes the differences itself.
  if (e.outliers.count == 0 || a.fused_count) return;
  by_types(p, [&](auto value, auto code) {
    typedef decltype(value) T;
    const Flow<T, decltype(code)> f(a, p);
    constexpr int N = 16 / sizeof(T);
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x * N;
#pragma unroll 4
    for (uint64_t i = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) * N; i < f.n; i += step) {
      const uint32_t have = (uint32_t)fz::least(f.n - i, N);
      fz::Row<decltype(code), N> codes;
      fz::Row<T, N> made;
      codes.load(f.codes + i * sizeof(code), have);
#pragma unroll
      for (int k = 0; k < N; k++) made.e[k] = difference_of<decltype(code), T>(codes.e[k], f.zigzag);
      made.store(f.dst + i * sizeof(T), have);
    }
  });
}

// Outliers are added to the differences in their places, those of one index one after the other.
extern "C" __global__ void __launch_bounds__(256) lorenzo_quant_decode_lists(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  using namespace fz::lorenzo_quant;
  const LorenzoQuantParams& p = own_params(a);
  const Entries e(a, p);
  uint8_t* dst = fz::address(fz::output(a, 0));
  const uint32_t lane = threadIdx.x & 31;
  auto add = [&](auto zero) {
    typedef decltype(zero) T;
    auto one = [&](uint64_t j, uint32_t i) {
      uint8_t* to = dst + (uint64_t)i * sizeof(T);
      fz::store<T>(to, fz::load<T>(e.outliers.values + j * sizeof(T)) + fz::load<T>(to));
    };
    fz::each_entry(e.outliers, wanted<T>(a, p), mixed(a)->outliers != 0, one, [&](uint64_t j, uint32_t i, uint32_t alike) {
      // The lowest of several lanes with equal data does the work for all of them.
      if (alike & ((1u << lane) - 1)) return;
      for (; alike; alike &= alike - 1) one(j - lane + (__ffs(alike) - 1), i);
    });
  };
  if (p.value == 4) add(float());
  else add(double());
}

// SHARED: elements of two words that blocks pass on. BLOCKS: the number of blocks that run on a
// multiprocessor at a time.
#define LORENZO_DECODE(NAME, DIMS, VALUE, SHARED, BLOCKS)                                  \
  extern "C" __global__ void __launch_bounds__(256, BLOCKS) lorenzo_quant_decode_##NAME(FZ_ARGS) { \
    if (fz::cancelled(a)) return;                                                                \
    __shared__ double shared[SHARED];                                                       \
    fz::lorenzo_quant::decode_as<DIMS, VALUE>(a, shared);                                         \
  }

LORENZO_DECODE(1d, 1, 0, 8, 4)
LORENZO_DECODE(2d, 2, 0, 1, 4)
// The sums of a brick are in registers.
LORENZO_DECODE(3d_f32, 3, 4, fz::lorenzo_quant::AHEAD_WORDS, 2)
LORENZO_DECODE(3d_f64, 3, 8, fz::lorenzo_quant::AHEAD_WORDS, 2)

// Exact values to their places.
extern "C" __global__ void __launch_bounds__(256) lorenzo_quant_decode_exact(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  using namespace fz::lorenzo_quant;
  const LorenzoQuantParams& p = own_params(a);
  const Entries e(a, p);
  if (p.value == 4) fz::put_entries<uint32_t>(a, e.exact, mixed(a)->exact != 0);
  else fz::put_entries<uint64_t>(a, e.exact, mixed(a)->exact != 0);
}
