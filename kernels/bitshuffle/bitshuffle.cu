// Bitshuffle: blocks of elements as planes of bits.
//
// Each thread owns 128 bytes in a row, which are the bits of 32 words of planes for any width: a
// square of 32 x 32 bits that is transposed in registers. Only for elements of 8 bytes two
// neighbors first trade halves. Words go to their planes one by one, neighbors beside each other,
// so that one function serves blocks of all sizes.
#include "bitshuffle/params.h"
#include "bitshuffle/transpose.cuh"
#include "common/units.cuh"

namespace fz {
namespace bitshuffle {
// Four words as the columns of bytes of four others.
FZ_DEV void turn_bytes(uint32_t& a, uint32_t& b, uint32_t& c, uint32_t& d) {
  const uint32_t ab = __byte_perm(a, b, 0x5140), AB = __byte_perm(a, b, 0x7362);
  const uint32_t cd = __byte_perm(c, d, 0x5140), CD = __byte_perm(c, d, 0x7362);
  a = __byte_perm(ab, cd, 0x5410);
  b = __byte_perm(ab, cd, 0x7632);
  c = __byte_perm(AB, CD, 0x5410);
  d = __byte_perm(AB, CD, 0x7632);
}

// The 128 bytes of a thread to the rows of its square, and back. Row 0 gives the highest bit of a
// plane's word.
template <int W> struct Rows;
template <> struct Rows<4> {
  static FZ_DEV void make(const uint32_t (&v)[32], uint32_t (&a)[32]) { memcpy(a, v, 128); }
  static FZ_DEV void undo(const uint32_t (&a)[32], uint32_t (&v)[32]) { memcpy(v, a, 128); }
};
// 64 elements: the first 32 in the high halves, element 0 at the lowest bit and so in the last row.
template <> struct Rows<2> {
  static FZ_DEV void make(const uint32_t (&v)[32], uint32_t (&a)[32]) {
#pragma unroll
    for (int j = 0; j < 16; j++) {
      a[31 - 2 * j] = __byte_perm(v[16 + j], v[j], 0x5410);
      a[30 - 2 * j] = __byte_perm(v[16 + j], v[j], 0x7632);
    }
  }
  static FZ_DEV void undo(const uint32_t (&a)[32], uint32_t (&v)[32]) {
#pragma unroll
    for (int j = 0; j < 16; j++) {
      v[16 + j] = __byte_perm(a[31 - 2 * j], a[30 - 2 * j], 0x5410);
      v[j] = __byte_perm(a[31 - 2 * j], a[30 - 2 * j], 0x7632);
    }
  }
};
// 128 elements: 32 in each byte of the rows, the first in the highest, element 0 at the lowest bit.
template <> struct Rows<1> {
  static FZ_DEV void make(const uint32_t (&v)[32], uint32_t (&a)[32]) {
#pragma unroll
    for (int m = 0; m < 8; m++) {
      uint32_t r0 = v[24 + m], r1 = v[16 + m], r2 = v[8 + m], r3 = v[m];
      turn_bytes(r0, r1, r2, r3);
      a[31 - 4 * m] = r0; a[30 - 4 * m] = r1; a[29 - 4 * m] = r2; a[28 - 4 * m] = r3;
    }
  }
  static FZ_DEV void undo(const uint32_t (&a)[32], uint32_t (&v)[32]) {
#pragma unroll
    for (int m = 0; m < 8; m++) {
      uint32_t r0 = a[31 - 4 * m], r1 = a[30 - 4 * m], r2 = a[29 - 4 * m], r3 = a[28 - 4 * m];
      turn_bytes(r0, r1, r2, r3);
      v[24 + m] = r0; v[16 + m] = r1; v[8 + m] = r2; v[m] = r3;
    }
  }
};
// 16 elements a thread: of the 32 of two neighbors the even one takes the high halves, the odd one
// the low ones.
template <> struct Rows<8> {
  static FZ_DEV void make(const uint32_t (&v)[32], uint32_t (&a)[32]) {
    const bool odd = threadIdx.x & 1;
#pragma unroll
    for (int j = 0; j < 16; j++) {
      const uint32_t low = v[2 * j], high = v[2 * j + 1];
      const uint32_t got = __shfl_xor_sync(ALL, odd ? high : low, 1);
      a[j] = odd ? got : high;
      a[16 + j] = odd ? low : got;
    }
  }
  static FZ_DEV void undo(const uint32_t (&a)[32], uint32_t (&v)[32]) {
    const bool odd = threadIdx.x & 1;
#pragma unroll
    for (int j = 0; j < 16; j++) {
      const uint32_t got = __shfl_xor_sync(ALL, odd ? a[j] : a[16 + j], 1);
      v[2 * j] = odd ? a[16 + j] : got;
      v[2 * j + 1] = odd ? got : a[j];
    }
  }
};

// The places of the words of a thread: the first of them, and the distance from plane to plane. A
// place in a plane has the words of all planes-worth of registers that a thread has of it: 4 / W of
// them, side by side.
template <int W> struct Place {
  uint64_t start, plane;
  // `at`: the thread's bytes in the array, `in_block` in their block.
  FZ_DEV Place(uint64_t at, uint64_t in_block, uint64_t block) : plane(block / (8 * W)) {
    const uint64_t unit = in_block / 128;
    start = at - in_block;
    if constexpr (W == 8) start += (unit & 1) * 32 * plane + unit / 4 * 8 + (unit & 2 ? 0 : 4);
    else start += unit * (16 / W);
  }
};

// Planes are multiples of 128 bytes, so all words of a thread are aligned or none is. `FITS`: they
// are.
template <int BYTES, bool FITS> FZ_DEV void put_words(uint8_t* p, const uint32_t (&w)[BYTES / 4]) {
  if constexpr (!FITS) store_words<BYTES>(p, w);
  else if constexpr (BYTES == 16) *reinterpret_cast<uint4*>(p) = make_uint4(w[0], w[1], w[2], w[3]);
  else if constexpr (BYTES == 8) *reinterpret_cast<uint2*>(p) = make_uint2(w[0], w[1]);
  else *reinterpret_cast<uint32_t*>(p) = w[0];
}
template <int BYTES, bool FITS> FZ_DEV void get_words(uint32_t (&w)[BYTES / 4], const uint8_t* p) {
  if constexpr (!FITS) {
    load_words<BYTES>(w, p);
  } else if constexpr (BYTES == 16) {
    const uint4 v = *reinterpret_cast<const uint4*>(p);
    w[0] = v.x; w[1] = v.y; w[2] = v.z; w[3] = v.w;
  } else if constexpr (BYTES == 8) {
    const uint2 v = *reinterpret_cast<const uint2*>(p);
    w[0] = v.x; w[1] = v.y;
  } else {
    w[0] = *reinterpret_cast<const uint32_t*>(p);
  }
}
template <int W, bool FITS> FZ_DEV void put(uint8_t* p, uint64_t plane, const uint32_t (&a)[32]) {
  constexpr int N = W < 4 ? 4 / W : 1;
#pragma unroll
  for (int i = 0; i < 32 / N; i++) {
    uint32_t w[N];
#pragma unroll
    for (int k = 0; k < N; k++) w[k] = a[i + k * (32 / N)];
    put_words<4 * N, FITS>(p + i * plane, w);
  }
}
template <int W, bool FITS> FZ_DEV void get(const uint8_t* p, uint64_t plane, uint32_t (&a)[32]) {
  constexpr int N = W < 4 ? 4 / W : 1;
#pragma unroll
  for (int i = 0; i < 32 / N; i++) {
    uint32_t w[N];
    get_words<4 * N, FITS>(w, p + i * plane);
#pragma unroll
    for (int k = 0; k < N; k++) a[i + k * (32 / N)] = w[k];
  }
}

// Between the 4 KiB of a warp, of which there are `n` bytes, and its threads: rows of 512 bytes in
// memory, 128 bytes in a thread. The place of a unit in shared memory is turned by its thread's
// number, so that no two lanes meet in a bank.
template <bool FITS> FZ_DEV void bring(const uint8_t* src, uint32_t n, uint4* shared, uint32_t (&v)[32]) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const int unit = i * 32 + lane, row = unit / 8;
    if ((uint32_t)unit * 16 < n) {
      const uint8_t* p = src + unit * 16;
      shared[row * 8 + ((unit ^ row) & 7)] = FITS ? *reinterpret_cast<const uint4*>(p) : load16(p);
    }
  }
  __syncwarp();
#pragma unroll
  for (int j = 0; j < 8; j++) {
    const uint4 q = shared[lane * 8 + ((j ^ lane) & 7)];
    v[4 * j] = q.x; v[4 * j + 1] = q.y; v[4 * j + 2] = q.z; v[4 * j + 3] = q.w;
  }
  __syncwarp();
}
template <bool FITS> FZ_DEV void take(uint8_t* dst, uint32_t n, uint4* shared, const uint32_t (&v)[32]) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int j = 0; j < 8; j++)
    shared[lane * 8 + ((j ^ lane) & 7)] = make_uint4(v[4 * j], v[4 * j + 1], v[4 * j + 2], v[4 * j + 3]);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const int unit = i * 32 + lane, row = unit / 8;
    if ((uint32_t)unit * 16 < n) {
      const uint4 q = shared[row * 8 + ((unit ^ row) & 7)];
      if (FITS) *reinterpret_cast<uint4*>(dst + unit * 16) = q;
      else store16(dst + unit * 16, q);
    }
  }
  __syncwarp();
}

// Bytes [from, to), which are no whole block.
FZ_DEV void copy(const uint8_t* src, uint8_t* dst, uint64_t from, uint64_t to) {
  for (uint64_t at = from + threadIdx.x * 16; at < to; at += THREADS * 16) {
    if (to - at >= 16) store16(dst + at, load16(src + at));
    else store_part(dst + at, load_part(src + at, (uint32_t)(to - at)), (uint32_t)(to - at));
  }
}

// The part of a block, or of some, that a warp has: `bytes` from `warp` on. `inside`: this thread's
// 128 are among them.
template <int W, bool FORWARD, bool FITS>
FZ_DEV void turn(const uint8_t* src, uint8_t* dst, uint64_t warp, uint32_t bytes, const Place<W>& at, bool inside, uint4* shared) {
  uint32_t v[32], rows[32] = {};
  if (FORWARD) {
    bring<FITS>(src + warp, bytes, shared, v);
    Rows<W>::make(v, rows);
    to_planes<4>(rows);
    if (inside) put<W, FITS>(dst + at.start, at.plane, rows);
  } else {
    if (inside) get<W, FITS>(src + at.start, at.plane, rows);
    to_planes<4>(rows);
    Rows<W>::undo(rows, v);
    take<FITS>(dst + warp, bytes, shared, v);
  }
}

template <int W, bool FORWARD> FZ_DEV void run(const Args& a, uint64_t block, uint4* shared) {
  const Operand &in = input(a, 0), &out = output(a, 0);
  const uint64_t n = least(length(in), out.max);
  const bool binary = (block & (block - 1)) == 0;
  const uint64_t whole = binary ? n & ~(block - 1) : n - n % block;
  if (blockIdx.x == 0 && threadIdx.x == 0) publish(out, length(in));
  const uint8_t* src = address(in);
  uint8_t* dst = address(out);
  const bool fits = aligned(src, 16) && aligned(dst, 16);
  uint4* mine = shared + (threadIdx.x >> 5) * 256;
  for (uint64_t tile = (uint64_t)blockIdx.x * TILE; tile < n; tile += (uint64_t)gridDim.x * TILE) {
    const uint64_t warp = tile + (threadIdx.x >> 5) * 4096, at = tile + threadIdx.x * 128;
    const uint64_t in_block = binary ? at & (block - 1) : at % block;
    const Place<W> place(at, in_block, block);
    if (warp < whole) {
      const uint32_t bytes = (uint32_t)least(whole - warp, 4096);
      if (fits) turn<W, FORWARD, true>(src, dst, warp, bytes, place, at < whole, mine);
      else turn<W, FORWARD, false>(src, dst, warp, bytes, place, at < whole, mine);
    }
    if (tile + TILE > whole) copy(src, dst, tile > whole ? tile : whole, least(n, tile + TILE));
  }
}

template <bool FORWARD> FZ_DEV void by_params(const Args& a, uint4* shared) {
  const BitshuffleParams& p = params<BitshuffleParams>(a);
  by_width(p.width, [&](auto w) { run<decltype(w)::BYTES, FORWARD>(a, p.block, shared); });
}
}  // namespace bitshuffle
}  // namespace fz

extern "C" __global__ void __launch_bounds__(128, 6) bitshuffle_encode(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  __shared__ uint4 shared[fz::TILE / 16];
  fz::bitshuffle::by_params<true>(a, shared);
}

extern "C" __global__ void __launch_bounds__(128, 6) bitshuffle_decode(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  __shared__ uint4 shared[fz::TILE / 16];
  fz::bitshuffle::by_params<false>(a, shared);
}
