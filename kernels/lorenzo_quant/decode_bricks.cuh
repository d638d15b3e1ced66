// LorenzoQuant in three dimensions, brick by brick: the decoder.
#pragma once
#include "common/shared_memory.cuh"
#include "lorenzo_quant/marks.cuh"

namespace fz {
namespace lorenzo_quant {
// Planes whose codes a decoder has under way or in use, and the words of two that a block has for
// them.
constexpr uint32_t AHEAD = 2, AHEAD_WORDS = AHEAD * BLOCK * SIDE;

// Each value of a group of lanes is added to those at the distances 1, 2, 4, ... after it.
template <int WIDTH, class T> FZ_DEV T sum_along(T v) {
  const int lane = threadIdx.x & (WIDTH - 1);
#pragma unroll
  for (int d = 1; d < WIDTH; d <<= 1) {
    const T before = __shfl_up_sync(ALL, v, d, WIDTH);
    if (lane >= d) v = v + before;
  }
  return v;
}

// The marks of the columns of a lane in plane `z` of a brick, a byte for each column.
FZ_DEV uint32_t marks_of(const Marks& marks, const Brick<float>& b, uint32_t z) {
  return z < b.planes() && b.have ? *reinterpret_cast<const uint32_t*>(marks.rows + marks.row(b.y, b.z + z) + b.x) : 0;
}

// Codes back to values, where no sum of them rounds in any order: a tile has 512 of them, of up to
// 16 bits for f32 and up to 32 for f64. Marked differences are in the array, and with marks `PIECES` is true.
template <class T, class C, bool PIECES, bool ZIGZAGS, class M>
FZ_DEV void decode_brick(const Brick<T>& b, const uint8_t* codes, uint8_t* dst, uint64_t n, T step, uint2* ahead, const M& marks) {
  constexpr int N = 16 / sizeof(T);
  const uint32_t rows = b.rows(), planes = b.planes();
  const uint64_t plane = (uint64_t)b.nx * b.ny;
  uint64_t first = b.at(0, 0);
  const auto have_at = [&](int r, uint64_t i) { return r >= (int)rows ? 0 : PIECES ? b.have : (uint32_t)least(b.have, n > i ? n - i : 0); };
  T sums[SIDE][N];
#pragma unroll
  for (int r = 0; r < SIDE; r++)
#pragma unroll
    for (int k = 0; k < N; k++) sums[r][k] = T(0);
  typedef typename Whole<N * sizeof(C)>::Word Word;
  Word* const own = reinterpret_cast<Word*>(ahead + (threadIdx.x >> 5) * (AHEAD * SIDE * 32)) + (threadIdx.x & 31);
  // Every lane uses the values that it has fetched itself.
  const auto fetch = [&](uint32_t z) {
    if (z < planes && b.have)
#pragma unroll
      for (int r = 0; r < SIDE; r++)
        if (r < (int)rows) fz_copy<sizeof(Word)>(own + (z % AHEAD * SIDE + r) * 32, codes + b.at(z, r) * sizeof(C));
    fz_copies_close();
  };
  if (PIECES)
    for (uint32_t z = 0; z + 1 < AHEAD; z++) fetch(z);
  uint32_t marked = 0;
  if constexpr (M::ANY) marked = marks_of(marks, b, 0);
#pragma unroll 1
  for (uint32_t z = 0; z < planes; z++, first += plane) {
    Row<C, N> in[SIDE];
    if (PIECES) {
      fetch(z + AHEAD - 1);
      fz_copies_but<AHEAD - 1>();
    }
#pragma unroll
    for (int r = 0; r < SIDE; r++) {
      const uint64_t i = first + (uint64_t)r * b.nx;
      if (PIECES) memcpy(in[r].e, own + (z % AHEAD * SIDE + r) * 32, sizeof in[r].e);
      else in[r].load(codes + i * sizeof(C), have_at(r, i));
    }
    // With marks, the differences of the plane.
    T listed[M::ANY ? SIDE : 1][N], down[N];
    if constexpr (M::ANY) {
#pragma unroll
      for (int r = 0; r < SIDE; r++)
#pragma unroll
        for (int k = 0; k < N; k++) listed[r][k] = difference_of<C, T>(in[r].e[k], ZIGZAGS);
      if (__any_sync(ALL, marked != 0))
#pragma unroll
        for (int r = 0; r < SIDE; r++) {
          Row<T, N> stored;
          stored.load_whole(dst + (first + (uint64_t)r * b.nx) * sizeof(T), marked >> r & 0x01010101);
#pragma unroll
          for (int k = 0; k < N; k++)
            if (marked >> (8 * k + r) & 1) listed[r][k] = stored.e[k];
        }
      marked = marks_of(marks, b, z + 1);
    }
#pragma unroll
    for (int r = 0; r < SIDE; r++) {
      T along[N];
#pragma unroll
      for (int k = 0; k < N; k++) {
        const T d = M::ANY ? listed[M::ANY ? r : 0][k] : difference_of<C, T>(in[r].e[k], ZIGZAGS);
        down[k] = r ? down[k] + d : d;
        along[k] = k ? along[k ? k - 1 : 0] + down[k] : down[k];
      }
      // The last sums of the lanes before in the same tile.
      T before = T(0);
#pragma unroll
      for (int i = 1; i < Brick<T>::SHARED; i++) {
        const T left = __shfl_up_sync(ALL, along[N - 1], i);
        if ((int)(threadIdx.x & (Brick<T>::SHARED - 1)) >= i) before = before + left;
      }
      Row<T, N> made;
#pragma unroll
      for (int k = 0; k < N; k++) {
        sums[r][k] = sums[r][k] + (along[k] + before);
        made.e[k] = PIECES ? sums[r][k] * step : canonical(sums[r][k] * step);
      }
      const uint64_t i = first + (uint64_t)r * b.nx;
      const uint32_t have = have_at(r, i);
      if (PIECES) {
        if (have) made.store_whole(dst + i * sizeof(T));
      } else if (have) made.store(dst + i * sizeof(T), have);
    }
  }
}
// Calls `f` with the bricks of this warp, and their numbers.
template <class T, class F> FZ_DEV void over_bricks(Brick<T> b, F f) {
  for (uint64_t brick = (uint64_t)blockIdx.x * (BLOCK / 32) + threadIdx.x / 32; brick < b.all; brick += (uint64_t)gridDim.x * (BLOCK / 32)) {
    b.take(brick);
    f(b, brick);
  }
}
// True if every lane that has all of its columns can fetch and store them at once. An infinite step makes no number of 0,
// which takes a look at every value.
template <class T, class C> FZ_DEV bool in_pieces(const uint8_t* codes, const uint8_t* dst, uint64_t n, T step, const LorenzoQuantParams& p) {
  constexpr int N = 16 / sizeof(T);
  return aligned(codes, N * sizeof(C)) && aligned(dst, 16) && p.dims[0] % N == 0 && p.count <= n && Real<T>::abs(step) < Real<T>::infinity();
}
template <class T, class C> FZ_DEV void decode_bricks(const uint8_t* codes, uint8_t* dst, uint64_t n, T step, bool zigzag, const LorenzoQuantParams& p, uint2* ahead) {
  const bool pieces = in_pieces<T, C>(codes, dst, n, step, p);
  over_bricks(Brick<T>(p), [&](const Brick<T>& b, uint64_t) {
    if (pieces && zigzag) decode_brick<T, C, true, true>(b, codes, dst, n, step, ahead, NoMarks());
    else if (pieces) decode_brick<T, C, true, false>(b, codes, dst, n, step, ahead, NoMarks());
    else if (zigzag) decode_brick<T, C, false, true>(b, codes, dst, n, step, ahead, NoMarks());
    else decode_brick<T, C, false, false>(b, codes, dst, n, step, ahead, NoMarks());
  });
}
}  // namespace lorenzo_quant
}  // namespace fz
