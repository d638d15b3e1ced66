// The inverse of rze.cuh, for payloads from any source: for any bytes, all reads stay in the
// buffer, and a tile that does not use up its payload to the last byte is detected.
#pragma once
#include "rze/tile_encode.cuh"

namespace fz {
namespace rze {
struct RzeDecoder {
  uint2 rank[512];  // a word of level 0, and the kept bytes before it within its 8 rows
  uint32_t sums[4];
  uint64_t m1[32];
  uint32_t before1[32];
  uint32_t r0_at, kept;
  uint32_t repeat_of[16], kept_of[16];  // byte permutations by nibble of marks
};
// Bytes in front of the payload, so that a cursor less one is an address, and behind it, for whole
// words.
constexpr int RZE_FRONT = 16, RZE_BUFFER = RZE_FRONT + 16384 + 16 + 32;

FZ_DEV void rze_tables(RzeDecoder& s, int tid) {
  if (tid >= 16) return;
  uint32_t r = 0, k = 0;
#pragma unroll
  for (int j = 0; j < 4; j++) {
    r |= (uint32_t)__popc(tid & ((2 << j) - 1)) << 4 * j;
    k |= (tid >> j & 1 ? (uint32_t)__popc(tid & ((1 << j) - 1)) : 4u) << 4 * j;
  }
  s.repeat_of[tid] = r;
  s.kept_of[tid] = k;
}

// Bytes from `at` on that the stream has, where it does not have all 16.
__device__ __attribute__((noinline)) inline void rze_fetch_edge(uint8_t* to, const Bytes stream, int64_t at) {
  for (int j = 0; j < 16; j++)
    if (at + j >= 0 && (uint64_t)(at + j) < stream.have) to[j] = stream.at[at + j];
}
// Brings bytes from..from+size of the stream to the buffer, at the same offset to borders of 16 as
// in memory; returns where. They are there after fz_copies_done().
FZ_DEV uint32_t rze_fetch_payload(uint4* buf, const Bytes& stream, uint64_t from, uint32_t size, int tid) {
  const uint8_t* p = stream.at + from;
  const uint32_t phase = (uint32_t)(reinterpret_cast<uintptr_t>(p) & 15);
  const uint32_t pieces = (phase + size + 15) >> 4;
  for (uint32_t i = tid; i < pieces; i += THREADS) {
    const int64_t at = (int64_t)from - phase + 16 * (int64_t)i;
    uint8_t* to = reinterpret_cast<uint8_t*>(buf + RZE_FRONT / 16 + i);
    if (at >= 0 && (uint64_t)at + 16 <= stream.have) fz_copy16(to, stream.at + at);
    else rze_fetch_edge(to, stream, at);
  }
  return RZE_FRONT + phase;
}

FZ_DEV uint32_t four_at(const uint32_t* b, uint32_t at) { return __funnelshift_r(b[at >> 2], b[(at >> 2) + 1], (at & 3) * 8); }
// Four bytes of a level: entries of the list at q, of which r are used up; a mark advances to the
// next one. Byte j is entry r - 1 + (marks up to j): five candidates, permuted by table.
FZ_DEV uint32_t rze_repeat4(const RzeDecoder& s, const uint32_t* b, uint32_t q, uint32_t r, uint32_t marks) {
  const uint32_t at = q + r - 1, k = at >> 2, shift = (at & 3) * 8;
  const uint32_t w0 = b[k], w1 = b[k + 1], w2 = b[k + 2];
  uint32_t x = __funnelshift_r(w0, w1, shift);
  const uint32_t y = __funnelshift_r(w1, w2, shift);
  if (r == 0) x &= ~0xffu;
  return __byte_perm(x, y, s.repeat_of[marks]);
}
// The cursor `n` bytes further to the front; at the front the payload is used up.
FZ_DEV uint32_t rze_back(uint32_t cursor, uint32_t n, bool& ok) {
  ok = ok && n <= cursor;
  return n <= cursor ? cursor - n : 0;
}

// Levels 3 to 1, by one warp. The payload without its tag ends at P + end.
FZ_DEV bool rze_read_upper(RzeDecoder& s, const uint32_t* b, uint32_t P, uint32_t end, const RzeForm& f, int lane) {
  bool ok = true;
  const bool shrunk = f.shrunk();
  const uint32_t m3 = four_at(b, P + end - 4);
  if (shrunk && rze_below(m3, 0, f.b3) != m3) ok = false;
  const uint32_t q2 = rze_back(end - 4, __popc(m3), ok);
  const uint32_t rank = __popc(m3 & (ALL >> (31 - lane)));
  uint32_t m2 = rank ? reinterpret_cast<const uint8_t*>(b)[P + q2 + rank - 1] : 0;
  if (shrunk) {
    if (lane >= (int)f.b3) m2 = 0;
    ok = ok && rze_below(m2, 8 * lane, f.b2) == m2;
  }
  uint32_t c = __popc(m2), upto = warp_sum_to(c);
  const uint32_t used = upto - c, q1 = rze_back(q2, __shfl_sync(ALL, upto, 31), ok);
  uint32_t lo = rze_repeat4(s, b, P + q1, used, m2 & 15);
  uint32_t hi = rze_repeat4(s, b, P + q1, used + __popc(m2 & 15), m2 >> 4);
  if (shrunk) {
    lo = low_bytes(lo, (int)f.b2 - 8 * lane);
    hi = low_bytes(hi, (int)f.b2 - 8 * lane - 4);
    ok = ok && rze_below(lo, 64 * lane, f.b1) == lo && rze_below(hi, 64 * lane + 32, f.b1) == hi;
  }
  c = __popc(lo) + __popc(hi);
  upto = warp_sum_to(c);
  s.m1[lane] = (uint64_t)hi << 32 | lo;
  s.before1[lane] = upto - c;
  const uint32_t q0 = rze_back(q1, __shfl_sync(ALL, upto, 31), ok);
  if (lane == 31) { s.r0_at = P + q0; s.kept = q0; }
  return ok;
}

// Level 0 and its ranks; each thread makes 16 bytes.
FZ_DEV bool rze_read_bitmap(RzeDecoder& s, const uint32_t* b, const RzeForm& f, int tid) {
  bool ok = true;
  const int lane = tid & 31, shift = 16 * (tid & 3);
  const uint64_t m1 = s.m1[tid >> 2];
  const uint32_t marks = (uint32_t)(m1 >> shift) & 0xffff, q0 = s.r0_at;
  uint32_t r = s.before1[tid >> 2] + __popcll(m1 & ((1ull << shift) - 1));
  uint32_t m[4];
  if (__any_sync(ALL, marks)) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const uint32_t nibble = marks >> 4 * i & 15;
      m[i] = rze_repeat4(s, b, q0, r, nibble);
      r += __popc(nibble);
    }
  } else {
    const uint32_t byte = r ? reinterpret_cast<const uint8_t*>(b)[q0 + r - 1] : 0;
    m[0] = m[1] = m[2] = m[3] = byte * 0x01010101u;
  }
  if (!f.whole) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      if (f.old) m[i] = low_bytes(m[i], (int)f.b1 - 16 * tid - 4 * i);
      ok = ok && rze_below(m[i], 128 * tid + 32 * i, f.len) == m[i];
    }
  }
  const uint32_t c0 = __popc(m[0]), c1 = c0 + __popc(m[1]), c2 = c1 + __popc(m[2]), c3 = c2 + __popc(m[3]);
  const uint32_t upto = warp_sum_to(c3), d = upto - c3;
  if (lane == 31) s.sums[tid >> 5] = upto;
  uint4 x, y;
  x.x = m[0]; x.y = d; x.z = m[1]; x.w = d + c0;
  y.x = m[2]; y.y = d + c1; y.z = m[3]; y.w = d + c2;
  *reinterpret_cast<uint4*>(&s.rank[4 * tid]) = x;
  *reinterpret_cast<uint4*>(&s.rank[4 * tid + 2]) = y;
  return ok;
}

// The kept bytes between zeros; sets `live` to the groups of 8 rows that have any.
FZ_DEV bool rze_spread(RzeDecoder& s, const uint32_t* b, uint32_t P, uint32_t (&w)[32], uint32_t& live, int tid) {
  const uint4 sums = *reinterpret_cast<const uint4*>(s.sums);
  live = (sums.x != 0) | (sums.y != 0) << 1 | (sums.z != 0) << 2 | (sums.w != 0) << 3;
  const uint32_t shift = 4 * (tid & 7), below = (1u << shift) - 1;
  uint32_t base = P;
#pragma unroll
  for (int g = 0; g < 4; g++) {
#pragma unroll
    for (int k = 0; k < 8; k++) w[8 * g + k] = 0;
    if (live >> g & 1) {
#pragma unroll
      for (int k = 0; k < 8; k++) {
        const uint2 e = s.rank[(8 * g + k) * 16 + (tid >> 3)];
        w[8 * g + k] = __byte_perm(four_at(b, base + e.y + __popc(e.x & below)), 0, s.kept_of[e.x >> shift & 15]);
      }
    }
    base += g == 0 ? sums.x : g == 1 ? sums.y : sums.z;
  }
  return sums.x + sums.y + sums.z + sums.w == s.kept;
}

// The chunk whose payload is at P of the buffer, after a barrier. False in some thread: it is
// corrupt, and w is anything.
FZ_DEV bool rze_decode_tile(uint32_t (&w)[32], uint32_t& live, const RzeForm& f, RzeDecoder& s, const uint4* buf, uint32_t P, uint32_t size, bool raw, int tid) {
  const uint32_t* b = reinterpret_cast<const uint32_t*>(buf);
  if (raw) {
    const uint32_t shift = (P & 3) * 8;
    const uint32_t* from = b + (P >> 2) + tid;
#pragma unroll
    for (int p = 0; p < 32; p++) {
      w[p] = __funnelshift_r(from[p * 128], from[p * 128 + 1], shift);
      if (!f.whole) w[p] = low_bytes(w[p], (int)f.len - 4 * (p * 128 + tid));
    }
    live = 15;
    return true;
  }
  const uint8_t* tag = reinterpret_cast<const uint8_t*>(b) + P + size - 2;
  bool ok = (tag[0] | (uint32_t)tag[1] << 8) == (f.len & 0xffff);
  if (size == 2) {
#pragma unroll
    for (int p = 0; p < 32; p++) w[p] = 0;
    live = 0;
    return ok;
  }
  if (tid < 32) ok = rze_read_upper(s, b, P, size - 2, f, tid) && ok;
  __syncthreads();
  ok = rze_read_bitmap(s, b, f, tid) && ok;
  __syncthreads();
  return rze_spread(s, b, P, w, live, tid) && ok;
}

// True if a chunk of this length may have such an entry; afterwards `size` is at most that of a
// tile.
FZ_DEV bool rze_plausible(uint32_t len, bool old, uint64_t size, bool raw) {
  if (raw) return size == len;
  return size <= TILE && (old || size < len) && (size == 2 || size >= 6);
}
}  // namespace rze
}  // namespace fz
