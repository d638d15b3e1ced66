// LorenzoQuant: restores a small volume in one launch. Each block restores a group of tiles, and looks up its entries
// of the lists, which encoders write in ascending order. The first blocks check that they are: others wait for
// them, which relies on the order of blocks as lookback.cuh does.
#include "common/memory.cuh"
#include "lorenzo_quant/decode_bricks.cuh"
#include "lorenzo_quant/entries.cuh"

namespace fz {
namespace lorenzo_quant {
// Four tiles of 8 times 8 times 8 beside each other, of a volume.
struct Group {
  uint32_t nx, ny, nz, x, y, z;
  FZ_DEV Group(const LorenzoQuantParams& p, uint32_t i) : nx(p.dims[0]), ny(p.dims[1]), nz(p.dims[2]) {
    const uint32_t across = nx / 32 + (nx % 32 != 0), down = ny / 8 + (ny % 8 != 0);
    x = i % across * 32;
    y = i / across % down * 8;
    z = i / across / down * 8;
  }
  // Of elements of the volume. A small volume has fewer than 2^32.
  FZ_DEV uint32_t index(uint32_t plane, uint32_t row) const { return ((z + plane) * ny + y + row) * nx + x; }
  FZ_DEV bool has(uint32_t plane, uint32_t row) const { return z + plane < nz && y + row < ny; }
};

// The word that the checks of the lists end in: the number of blocks that have checked, and of those that have found
// entries that do not ascend, by list.
constexpr uint32_t MIXED_OUTLIERS = 10, MIXED_EXACT = 20, CHECKED = (1 << MIXED_OUTLIERS) - 1;

// These and other functions for lists are rarely called, and so separate ones, which find their data again: no registers
// hold it meanwhile. `tag` is the number of blocks that check.
__device__ __attribute__((noinline)) void check_some(const Args& a) {
  const Entries e(a, own_params(a));
  const uint64_t first = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, stride = (uint64_t)a.tag * blockDim.x;
  const bool outliers = __syncthreads_or(mixed_among(a, e.outliers, first, stride)), exact = __syncthreads_or(mixed_among(a, e.exact, first, stride));
  if (threadIdx.x == 0) atomicAdd(reinterpret_cast<unsigned long long*>(a.zeroed), 1ull | (unsigned long long)outliers << MIXED_OUTLIERS | (unsigned long long)exact << MIXED_EXACT);
}
// By all threads, after all checks: the word.
__device__ __attribute__((noinline)) uint32_t checked(const Args& a, uint32_t& shared) {
  if (threadIdx.x == 0) {
    do shared = (uint32_t)peek(reinterpret_cast<const uint64_t*>(a.zeroed));
    while ((shared & CHECKED) < a.tag);
  }
  __syncthreads();
  return shared;
}

// The first entry whose index is not below `index`, of ascending ones.
FZ_DEV uint32_t first_from(const Lists& lists, uint64_t index) {
  uint32_t low = 0, high = (uint32_t)lists.count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (lists.index(middle) < index) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Calls `f(j, index, plane, row, column)` for the entries of a group whose index is below `n`. Where they ascend, a warp
// looks up those of a plane. Otherwise one warp reads all of the list in turn: of several entries with one index, `f` receives
// the last one, or all in turn.
template <bool LAST, class F> FZ_DEV void each_of_group(const Lists& lists, uint64_t n, bool mixed, const Group& g, F f) {
  const uint32_t lane = threadIdx.x & 31, plane = threadIdx.x >> 5;
  if (!mixed) {
    // Eight lanes look up the starts of the rows, and eight the ends.
    const uint32_t width = lane & 8 ? min(g.nx - g.x, 32u) : 0;
    const uint32_t bound = g.has(plane, lane & 7) ? first_from(lists, least(g.index(plane, lane & 7) + width, n)) : 0;
    for (uint32_t row = 0; row < 8; row++) {
      const uint32_t j = __shfl_sync(ALL, bound, row) + lane, to = __shfl_sync(ALL, bound, row + 8);
      if (j < to) f(j, lists.index(j), plane, row, lists.index(j) - g.index(plane, row));
    }
  } else if (plane == 0) {
    each_in_turn(lists, n, lane, [&](uint64_t j, uint32_t i, uint32_t alike) {
      const uint32_t x = i % g.nx - g.x, y = i / g.nx % g.ny - g.y, z = i / g.nx / g.ny - g.z;
      // One of several lanes with one index does the work for all of them.
      if (x >= 32 || y >= 8 || z >= 8 || (LAST ? alike >> lane != 1 : (alike & ((1u << lane) - 1)) != 0)) return;
      for (uint32_t own = LAST ? 1u << lane : alike; own; own &= own - 1) f(j - lane + (__ffs(own) - 1), i, z, y, x);
    });
  }
  __syncthreads();
}

template <class T> struct FewShared {
  T rows[8][8][32];
  uint32_t checks;
};

template <class T> __device__ __attribute__((noinline)) void add_outliers(const Args& a, bool mixed, uint32_t i, T (*rows)[8][32]) {
  const LorenzoQuantParams& p = own_params(a);
  const Lists lists = Entries(a, p).outliers;
  each_of_group<false>(lists, wanted<T>(a, p), mixed, Group(p, i), [&](uint64_t j, uint32_t, uint32_t plane, uint32_t row, uint32_t column) {
    T& to = rows[plane][row][column];
    to = load<T>(lists.values + j * sizeof(T)) + to;
  });
}
// Exact values of a group. The last block also has those behind the volume.
template <class Bits> __device__ __attribute__((noinline)) void put_exact(const Args& a, bool mixed, uint32_t i) {
  const LorenzoQuantParams& p = own_params(a);
  const Lists lists = Entries(a, p).exact;
  const uint64_t room = least(lists.elements, output(a, 0).max / sizeof(Bits));
  const auto put = [&](uint64_t j, uint32_t index) { store<Bits>(address(output(a, 0)) + (uint64_t)index * sizeof(Bits), load<Bits>(lists.values + j * sizeof(Bits))); };
  __syncthreads();
  each_of_group<true>(lists, room, mixed, Group(p, i), [&](uint64_t j, uint32_t index, uint32_t, uint32_t, uint32_t) { put(j, index); });
  if (blockIdx.x + 1 < gridDim.x || room <= p.count || threadIdx.x >= 32) return;
  each_in_turn(lists, room, threadIdx.x, [&](uint64_t j, uint32_t index, uint32_t alike) {
    if (index >= p.count && alike >> threadIdx.x == 1) put(j, index);
  });
}

// Sums along y in a thread, which has a column of a plane; along x; along z in a thread that has a line of a row. They are computed in
// the order of `decode_3d`.
template <class T, class C, class F> FZ_DEV void decode_group(const Args& a, const Group& g, uint64_t n, T step, bool zigzag, T (&rows)[8][8][32], F mend) {
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const uint8_t* codes = address(input(a, 0));
  uint8_t* dst = address(output(a, 0));
  const bool inside = lane < g.nx - g.x;
  T v[8];
#pragma unroll
  for (uint32_t r = 0; r < 8; r++) {
    const uint64_t i = (uint64_t)g.index(warp, r) + lane;
    v[r] = inside && g.has(warp, r) && i < n ? difference_of<C, T>(load<C>(codes + i * sizeof(C)), zigzag) : T(0);
  }
  mend(v);
#pragma unroll
  for (int r = 1; r < 8; r++) v[r] = v[r - 1] + v[r];
#pragma unroll
  for (int r = 0; r < 8; r++) rows[warp][r][lane] = sum_along<8>(v[r]);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 8; k++) v[k] = rows[k][warp][lane];
#pragma unroll
  for (int d = 1; d < 8; d <<= 1)
#pragma unroll
    for (int k = 7; k >= d; k--) v[k] = v[k] + v[k - d];
#pragma unroll
  for (uint32_t k = 0; k < 8; k++) {
    const uint64_t i = (uint64_t)g.index(k, warp) + lane;
    if (inside && g.has(k, warp) && i < n) store<T>(dst + i * sizeof(T), canonical(v[k] * step));
  }
}

template <class T> FZ_DEV void decode_few(const Args& a, FewShared<T>& s) {
  const LorenzoQuantParams& p = own_params(a);
  const uint32_t i = blockIdx.x - a.tag, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const Entries e(a, p);
  const bool outliers = e.outliers.count > 0, exact = e.exact.count > 0;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    publish(output(a, 0), output(a, 0).max);
    if (!e.possible) fail(a, CORRUPT);
  }
  if (!e.possible) return;
  if (blockIdx.x < a.tag) {
    if (outliers || exact) check_some(a);
    return;
  }
  const uint32_t checks = outliers || exact ? checked(a, s.checks) : 0;
  by_types(p, [&](auto value, auto code) {
    if constexpr (sizeof(value) == sizeof(T))
      decode_group<T, decltype(code)>(a, Group(p, i), wanted<T>(a, p), T(2) * Real<T>::from(e.bound), (p.switches & ZIGZAG) != 0, s.rows, [&](T (&v)[8]) {
        if (!outliers) return;
#pragma unroll
        for (int r = 0; r < 8; r++) s.rows[warp][r][lane] = v[r];
        __syncthreads();
        add_outliers<T>(a, checks >> MIXED_OUTLIERS & CHECKED, i, s.rows);
#pragma unroll
        for (int r = 0; r < 8; r++) v[r] = s.rows[warp][r][lane];
      });
  });
  if (blockIdx.x + 1 == gridDim.x)
    for (uint64_t k = (uint64_t)p.count * sizeof(T) + threadIdx.x; k < output(a, 0).max; k += blockDim.x) address(output(a, 0))[k] = 0;
  if (exact) put_exact<typename Real<T>::Bits>(a, checks >> MIXED_EXACT, i);
}
}  // namespace lorenzo_quant
}  // namespace fz

#define LORENZO_DECODE_FEW(NAME, T)                                                                  \
  extern "C" __global__ void __launch_bounds__(256, 4) lorenzo_quant_decode_3d_##NAME##_few(FZ_ARGS) { \
    if (fz::cancelled(a)) return;                                                                    \
    __shared__ fz::lorenzo_quant::FewShared<T> s;                                                    \
    fz::lorenzo_quant::decode_few<T>(a, s);                                                          \
  }

LORENZO_DECODE_FEW(f32, float)
LORENZO_DECODE_FEW(f64, double)
