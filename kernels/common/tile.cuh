// Register tiles: one block of 128 threads holds one tile of 16384 bytes, 32 words of four bytes in
// each thread.
//
// A tile has one of three layouts:
//     E (elements)  v[i] = word 32 t + i      a thread owns 128 bytes in a row
//     H (halves)    v[16 h + i] = word 2048 h + 16 t + i    64 bytes in a row of each half of the tile
//     P (planes)    v[p] = word 128 p + t     row p of 512 bytes, a word in every thread
// One thread owns the 32 elements of four bytes that form one word of every bit plane, so
// bitshuffle turns E into P without exchanging bytes between threads; for elements of two bytes
// layout H has this property. Coders read and write P, which is also the result of loading word by
// word.
#pragma once
#include "common/scan.cuh"
#include "common/shared_memory.cuh"

#ifdef FZ_EMULATED
struct fz_cursor {
  uint8_t* at;
  FZ_DEV explicit fz_cursor(uint8_t* shared) { at = shared; }
  FZ_DEV void put(uint32_t wanted, uint32_t byte) {
    if (wanted) *at++ = uint8_t(byte);
  }
};
#else
// Consecutive bytes in shared memory, those that are wanted. Written in C each needs one more
// instruction.
struct fz_cursor {
  uint32_t at;
  FZ_DEV explicit fz_cursor(uint8_t* shared) { at = (uint32_t)__cvta_generic_to_shared(shared); }
  FZ_DEV void put(uint32_t wanted, uint32_t byte) {
    asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; @p st.shared.u8 [%0], %2; @p add.u32 %0, %0, 1;}" : "+r"(at) : "r"(wanted), "r"(byte) : "memory");
  }
};
#endif

namespace fz {
constexpr int THREADS = TILE_THREADS;

// Bytes in memory of which `have` may be touched.
struct Bytes {
  const uint8_t* at;
  uint64_t have;
};

// Bit 7 of every byte of the result: that byte of w is not zero.
FZ_DEV uint32_t nonzero80(uint32_t w) { return (((w & 0x7f7f7f7fu) + 0x7f7f7f7fu) | w) & 0x80808080u; }
FZ_DEV uint32_t choose(uint32_t a, uint32_t b, uint32_t m) { return (a & m) | (b & ~m); }
// The low `n` bytes of w, all of them for n >= 4, none for n <= 0.
FZ_DEV uint32_t low_bytes(uint32_t w, int n) { return n >= 4 ? w : n <= 0 ? 0 : w & ((1u << 8 * n) - 1); }

// ---- words and pieces of 16 bytes at any address; zeros beyond the end, of which nothing is
// touched
FZ_DEV uint32_t word_of(const Bytes& b, uint64_t at) {
  if (at + 4 <= b.have) return load<uint32_t>(b.at + at);
  uint32_t w = 0;
  for (int i = 0; i < 4; i++)
    if (at + i < b.have) w |= (uint32_t)b.at[at + i] << 8 * i;
  return w;
}
FZ_DEV uint4 piece_of(const Bytes& b, uint64_t at) {
  uint4 q;
  const uint8_t* p = b.at + at;
  const uint32_t off = (uint32_t)(reinterpret_cast<uintptr_t>(p) & 3);
  if (off != 0 && at >= 4 && at + 20 <= b.have) {
    // Whole words around it, all of which are inside.
    const uint32_t* w = reinterpret_cast<const uint32_t*>(p - off);
    const uint32_t w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], s = 8 * off;
    q.x = __funnelshift_r(w0, w1, s); q.y = __funnelshift_r(w1, w2, s);
    q.z = __funnelshift_r(w2, w3, s); q.w = __funnelshift_r(w3, w4, s);
    return q;
  }
  q.x = word_of(b, at); q.y = word_of(b, at + 4); q.z = word_of(b, at + 8); q.w = word_of(b, at + 12);
  return q;
}
__device__ __attribute__((noinline)) inline uint4 piece_apart(const Bytes b, uint64_t at) { return piece_of(b, at); }
// The first `n` bytes of q.
FZ_DEV void put_bytes(uint8_t* to, const uint4& q, uint32_t n) {
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const uint32_t w = i == 0 ? q.x : i == 1 ? q.y : i == 2 ? q.z : q.w;
    if (4 * i + 4 <= (int)n) store<uint32_t>(to + 4 * i, w);
    else
      for (int j = 0; j < 4; j++)
        if (4 * i + j < (int)n) to[4 * i + j] = uint8_t(w >> 8 * j);
  }
}

// ---- E and H layout through shared memory: each warp uses its own 4096 bytes, as rows of as many
// bytes as a thread has in a row, whose pieces of 16 are XORed with the number of the row. Accesses
// to memory are coalesced, those to shared memory free of conflicts, register indices constant, and
// no barrier of the block is needed.
enum : int { E = 0, H = 1 };
// A thread copies eight pieces, so far apart in memory and when staged.
constexpr int COPIES = 8;
template <int LAYOUT> FZ_DEV constexpr uint32_t apart(int i) { return LAYOUT == E ? i * 512 : (i >> 2) * 8192 + (i & 3) * 512; }
// The place of the first of them in memory; and in the staging area, the places of the even and the
// odd ones, minus `apart`.
template <int LAYOUT> FZ_DEV uint32_t first_copy(int tid) { return (tid >> 5) * (LAYOUT == E ? 4096 : 2048) + (tid & 31) * 16; }
template <int LAYOUT> FZ_DEV char* staged(uint4* s, int tid, int odd) {
  const int row = LAYOUT == E ? tid >> 3 & 3 : tid >> 2 & 7, piece = LAYOUT == E ? (tid & 7) ^ (odd * 4 + row) : (tid & 3) ^ (row >> 1);
  return reinterpret_cast<char*>(s) + (tid >> 5) * (LAYOUT == E ? 4096 : 2048) + row * (LAYOUT == E ? 128 : 64) + piece * 16;
}
// Byte offset of piece j of those that this thread owns.
template <int LAYOUT> FZ_DEV uint32_t owned(int tid, int j) {
  return LAYOUT == E ? (tid * 128 + (tid & 7) * 16) ^ 16 * j : ((tid * 64 + (tid >> 1 & 3) * 16) ^ 16 * (j & 3)) + (j >> 2) * 8192;  // seed: halves-swapped
}

// A whole, aligned tile is fetched behind the block's back.
FZ_DEV bool direct(const Bytes& b, uint64_t at) { return aligned(b.at + at, 16) && at + TILE <= b.have; }
template <int LAYOUT> __device__ __attribute__((noinline)) void fetch_any(const Bytes b, uint64_t at, uint4* s, int tid) {
#pragma unroll 1
  for (int i = 0; i < COPIES; i++)
    *reinterpret_cast<uint4*>(staged<LAYOUT>(s, tid, i & 1) + apart<LAYOUT>(i)) = piece_of(b, at + first_copy<LAYOUT>(tid) + apart<LAYOUT>(i));
}
template <int LAYOUT> FZ_DEV void fetch(const Bytes& b, uint64_t at, uint4* s, int tid) {
  if (!direct(b, at)) return fetch_any<LAYOUT>(b, at, s, tid);
  const uint8_t* from = b.at + at + first_copy<LAYOUT>(tid);
  char *even = staged<LAYOUT>(s, tid, 0), *odd = staged<LAYOUT>(s, tid, 1);
#pragma unroll
  for (int i = 0; i < COPIES; i++) fz_copy16((i & 1 ? odd : even) + apart<LAYOUT>(i), from + apart<LAYOUT>(i));
}
// One piece, the same way.
FZ_DEV void fetch_piece(const Bytes& b, uint64_t at, uint4* to) {
  if (aligned(b.at + at, 16) && at + 16 <= b.have) fz_copy16(to, b.at + at);
  else *to = piece_apart(b, at);
}
template <int LAYOUT> FZ_DEV void read(const uint4* s, uint32_t (&v)[32], int tid) {
#pragma unroll
  for (int j = 0; j < 8; j++) {
    const uint4 q = *reinterpret_cast<const uint4*>(reinterpret_cast<const char*>(s) + owned<LAYOUT>(tid, j));
    v[4 * j] = q.x; v[4 * j + 1] = q.y; v[4 * j + 2] = q.z; v[4 * j + 3] = q.w;
  }
}
// The part of the tile that is below `have`.
template <int LAYOUT> FZ_DEV void write(uint8_t* to, uint64_t at, uint64_t have, uint4* s, const uint32_t (&v)[32], int tid) {
#pragma unroll
  for (int j = 0; j < 8; j++)
    *reinterpret_cast<uint4*>(reinterpret_cast<char*>(s) + owned<LAYOUT>(tid, j)) = make_uint4(v[4 * j], v[4 * j + 1], v[4 * j + 2], v[4 * j + 3]);
  __syncwarp();
  const char *even = staged<LAYOUT>(s, tid, 0), *odd = staged<LAYOUT>(s, tid, 1);
  if (aligned(to + at, 16) && at + TILE <= have) {
    uint8_t* first = to + at + first_copy<LAYOUT>(tid);
#pragma unroll
    for (int i = 0; i < COPIES; i++)
      *reinterpret_cast<uint4*>(first + apart<LAYOUT>(i)) = *reinterpret_cast<const uint4*>((i & 1 ? odd : even) + apart<LAYOUT>(i));
    return;
  }
#pragma unroll 1
  for (int i = 0; i < COPIES; i++) {
    const uint64_t o = at + first_copy<LAYOUT>(tid) + apart<LAYOUT>(i);
    if (o < have) put_bytes(to + o, *reinterpret_cast<const uint4*>((i & 1 ? odd : even) + apart<LAYOUT>(i)), (uint32_t)min((uint64_t)16, have - o));
  }
}

// ---- P layout: word by word. The known zeros of the rows of a tile. `live`, equal in the whole
// warp: the groups of 8 rows that may have nonzero bytes. Some stages provide more: bit 31 - p of
// octets[j] is set if byte j of this thread in row p may be nonzero.
struct Rows {
  uint32_t live, octets[4];
};
FZ_DEV void load_p(const Bytes& b, uint64_t at, uint32_t (&v)[32], int tid) {
  if (aligned(b.at + at, 4) && at + TILE <= b.have) {
    const uint32_t* w = reinterpret_cast<const uint32_t*>(b.at + at) + tid;
#pragma unroll
    for (int p = 0; p < 32; p++) v[p] = w[p * 128];
  } else {
#pragma unroll
    for (int p = 0; p < 32; p++) v[p] = word_of(b, at + 4 * (p * 128 + tid));
  }
}
FZ_DEV void store_p(uint8_t* to, uint64_t at, uint64_t have, const uint32_t (&v)[32], int tid) {
  if (aligned(to + at, 4) && at + TILE <= have) {
    uint32_t* w = reinterpret_cast<uint32_t*>(to + at) + tid;
#pragma unroll
    for (int p = 0; p < 32; p++) w[p * 128] = v[p];
    return;
  }
#pragma unroll
  for (int p = 0; p < 32; p++) {
    const uint64_t o = at + 4 * (p * 128 + tid);
    if (o + 4 <= have) store<uint32_t>(to + o, v[p]);
    else
      for (int j = 0; j < 4; j++)
        if (o + j < have) to[o + j] = uint8_t(v[p] >> 8 * j);
  }
}
FZ_DEV void put_p(uint4* s, const uint32_t (&v)[32], int tid) {
#pragma unroll
  for (int p = 0; p < 32; p++) reinterpret_cast<uint32_t*>(s)[p * 128 + tid] = v[p];
}

// The same bytes in the other layout. Starts and ends with a barrier; for tiles that nothing is
// transposed in.
FZ_DEV void e_to_p(uint4* s, uint32_t (&v)[32], int tid) {
  uint32_t* w = reinterpret_cast<uint32_t*>(s);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 32; i++) w[32 * tid + i] = v[i];
  __syncthreads();
#pragma unroll
  for (int p = 0; p < 32; p++) v[p] = w[128 * p + tid];
  __syncthreads();
}
FZ_DEV void p_to_e(uint4* s, uint32_t (&v)[32], int tid) {
  uint32_t* w = reinterpret_cast<uint32_t*>(s);
  __syncthreads();
  put_p(s, v, tid);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 32; i++) v[i] = w[32 * tid + i];
  __syncthreads();
}
}  // namespace fz
