// RZE of one tile in P layout: words of one byte, chunks of 16384 bytes, both layouts, short last
// chunks too.
//
// A short chunk is a whole one with zeros behind it. In the layout of August 2026 only its tag and
// the rule for raw chunks differ; in that of May 2026 its bitmaps end early, so that marks behind
// their ends do not count.
#pragma once
#include "common/tile.cuh"
#include "rze/params.h"

namespace fz {
namespace rze {
// The ends of the bitmaps of a chunk of `len` bytes. WHOLE: it is a tile, a constant at compile
// time, so that the code for short chunks costs whole ones nothing.
struct RzeForm {
  uint32_t len, b1, b2, b3;
  bool old, whole;
  FZ_DEV bool shrunk() const { return old && !whole; }
};
template <bool WHOLE> FZ_DEV RzeForm rze_form(uint32_t len, bool old) {
  if (WHOLE || !old) return {WHOLE ? TILE : len, 2048, 256, 32, old, WHOLE};
  const uint32_t b1 = (len + 7) / 8, b2 = (b1 + 7) / 8;
  return {len, b1, b2, (b2 + 7) / 8, true, false};
}
// True if parts of these sizes are stored raw instead.
FZ_DEV bool rze_raw(const RzeForm& f, uint32_t kept, uint32_t r0, uint32_t r1, uint32_t r2) {
  const uint32_t s0 = kept + r0, s1 = s0 + r1, s2 = s1 + r2, A = TILE - 2;
  if (!f.old) return s2 + 4 >= A || s2 + 6 >= f.len;
  return kept >= A || kept > A - f.b1 || s0 >= A || s0 > A - f.b2 || s1 >= A - 4 || s1 > A - 4 - f.b3 || s2 >= A - 4;
}

// ---------------------------------------------------------------- encoder
struct RzeEncoder {
  uint2 rank[512];       // a word of level 0, and the kept bytes before it within its 8 rows
  uint32_t sums[4];      // per 8 rows: kept bytes | marks of level 1 << 16
  uint16_t m1[128];
  uint32_t entry;  // of the table
  uint64_t before;
};
// Level 0: the 16 words of row p from 20 p on, against bank conflicts. It is used up before the
// payload is written, so it follows the tile in the staging area.
constexpr int RZE_M0 = 32 * 20 * 4;
// A chunk that turns out to be raw may fill all levels first: 2048, 256, 32 bytes and the end of
// the payload.
constexpr int RZE_STAGE = 16384 + RZE_M0;
static_assert(RZE_M0 >= 2048 + 256 + 32 + 32, "room for all levels");
FZ_DEV uint32_t* rze_m0(uint8_t* st) { return reinterpret_cast<uint32_t*>(st + 16384); }

// Eight lanes exchange words, so that each has a nibble of all: the bits of a lane's number trade
// places with the bits of the number of a bit that are worth 16, 8, and 4.
struct RzeTrade {
  uint32_t select4, select2, shift, mask;
  FZ_DEV explicit RzeTrade(int lane)
      : select4((lane & 4) ? 0x3276u : 0x5410u), select2((lane & 2) ? 0x3715u : 0x6240u), shift((lane & 1) ? 28 : 4), mask((lane & 1) ? 0xf0f0f0f0u : 0x0f0f0f0fu) {}
  FZ_DEV uint32_t operator()(uint32_t n) const {
    n = __byte_perm(n, __shfl_xor_sync(ALL, n, 4), select4);
    n = __byte_perm(n, __shfl_xor_sync(ALL, n, 2), select2);
    const uint32_t q = __shfl_xor_sync(ALL, n, 1);
    return choose(n, __funnelshift_l(q, q, shift), mask);
  }
};
// The word of level 0 of a row for the eight lanes around this one.
FZ_DEV uint32_t* rze_mark_at(uint32_t* m0, int row, int tid) { return m0 + row * 20 + (tid >> 3); }

// The words of level 0 of 8 rows: each thread gathers 8 nibbles.
template <int G> FZ_DEV void rze_mark8(const uint32_t (&w)[32], bool live, const RzeTrade& trade, uint32_t* m0, int tid) {
  uint32_t n = 0;
  if (live) {
#pragma unroll
    for (int m = 0; m < 4; m++) {
      uint32_t b = __dp4a(nonzero80(w[8 * G + 2 * m]), 0x08040201u, 0u);
      b = __dp4a(nonzero80(w[8 * G + 2 * m + 1]), 0x80402010u, b);  // 128 times eight flags
      n = m == 0 ? b >> 7 : n + (b << (8 * m - 7));
    }
    n = trade(n);
  }
  *rze_mark_at(m0, 8 * G + (tid & 7), tid) = n;
}
FZ_DEV void rze_mark(const uint32_t (&w)[32], uint32_t live, uint32_t* m0, int tid) {
  const RzeTrade trade(tid & 31);
  rze_mark8<0>(w, live & 1, trade, m0, tid);
  rze_mark8<1>(w, live & 2, trade, m0, tid);
  rze_mark8<2>(w, live & 4, trade, m0, tid);
  rze_mark8<3>(w, live & 8, trade, m0, tid);
}

// The lowest bits of the numbers of two registers and of their bits, of which the 2^BIT are set in
// `m`, trade places.
template <int BIT> FZ_DEV void rze_swap(uint32_t& a, uint32_t& b, uint32_t m) {
  const uint32_t x = a, y = b;
  a = choose(y << BIT, x, m);
  b = choose(y, x >> BIT, m);
}
// The same, of flags. A bit of octets[j1 j0] is row 31 - (g1 g0 q2 q1 q0): first q0 trades with j0
// and q1 with j1, which makes registers (q1 q0) of bits (g1 g0 q2 j1 j0), of which each group of
// rows has a byte that is a nibble for q2 = 0 and one for 1; the bytes of a group then are words of
// bits (q1 q0 q2 j1 j0), and lanes (a2 a1 a0) trade in this order.
FZ_DEV void rze_mark(const Rows& rows, uint32_t* m0, int tid) {
  uint32_t a = rows.octets[0], b = rows.octets[1], c = rows.octets[2], d = rows.octets[3];
  rze_swap<1>(a, b, 0xaaaaaaaau);
  rze_swap<1>(c, d, 0xaaaaaaaau);
  rze_swap<2>(a, c, 0xccccccccu);
  rze_swap<2>(b, d, 0xccccccccu);
  const RzeTrade trade(tid & 31);
  const int row = 7 - ((tid & 1) << 2 | (tid & 7) >> 1);
#pragma unroll
  for (int g = 0; g < 4; g++) {
    uint32_t n = 0;
    if (rows.live >> g & 1) {
      const uint32_t pick = (3 - g) | (7 - g) << 4;
      n = trade(__byte_perm(__byte_perm(a, b, pick), __byte_perm(c, d, pick), 0x5410));
    }
    *rze_mark_at(m0, 8 * g + row, tid) = n;
  }
}
// Bit i: byte i of a, b differs from the one before it.
FZ_DEV uint32_t rze_changes(uint32_t before, uint32_t a, uint32_t b) {
  const uint32_t t = __dp4a(nonzero80(a ^ __funnelshift_l(before, a, 8)), 0x08040201u, 0u);
  return __dp4a(nonzero80(b ^ __funnelshift_l(a, b, 8)), 0x80402010u, t) >> 7;
}
// Of marks at first, first + 1, … those below n.
FZ_DEV uint32_t rze_below(uint32_t marks, uint32_t first, uint32_t n) {
  return first >= n ? 0 : n - first >= 32 ? marks : marks & ((1u << (n - first)) - 1);
}

// The data of a thread on its 16 bytes of level 0.
struct RzeOwn {
  uint32_t m[4], marks, rank;
};
FZ_DEV RzeOwn rze_count(RzeEncoder& s, const uint32_t* m0, const RzeForm& f, int tid) {
  RzeOwn o;
  const int lane = tid & 31;
  const uint4 q = *reinterpret_cast<const uint4*>(&m0[(tid >> 2) * 20 + (tid & 3) * 4]);
  o.m[0] = q.x; o.m[1] = q.y; o.m[2] = q.z; o.m[3] = q.w;
  uint32_t before = __shfl_up_sync(ALL, q.w, 1);
  if (lane == 0) before = tid ? m0[((tid - 1) >> 2) * 20 + 15] : 0;
  o.marks = rze_changes(before, q.x, q.y) | rze_changes(q.y, q.z, q.w) << 8;
  if (f.shrunk()) o.marks = rze_below(o.marks, 16 * tid, f.b1);
  const uint32_t c0 = __popc(q.x), c1 = c0 + __popc(q.y), c2 = c1 + __popc(q.z), c3 = c2 + __popc(q.w);
  const uint32_t own = c3 | (uint32_t)__popc(o.marks) << 16, upto = warp_sum_to(own);
  if (lane == 31) s.sums[tid >> 5] = upto;
  s.m1[tid] = (uint16_t)o.marks;
  const uint32_t d = (upto - own) & 0xffff;
  o.rank = (upto - own) >> 16;
  uint4 a, b;
  a.x = q.x; a.y = d; a.z = q.y; a.w = d + c0;
  b.x = q.z; b.y = d + c1; b.z = q.w; b.w = d + c2;
  *reinterpret_cast<uint4*>(&s.rank[4 * tid]) = a;
  *reinterpret_cast<uint4*>(&s.rank[4 * tid + 2]) = b;
  return o;
}

// The levels above by one warp, which therefore has the length first and publishes it; returns the
// entry of the table.
template <class F>
FZ_DEV void rze_upper(RzeEncoder& s, uint8_t* st, const RzeForm& f, uint32_t kept, uint32_t r0, int lane, F publish) {
  const uint2 q = *reinterpret_cast<const uint2*>(&s.m1[4 * lane]);
  uint32_t before = __shfl_up_sync(ALL, q.y, 1);
  if (lane == 0) before = 0;
  uint32_t m2 = rze_changes(before, q.x, q.y);
  if (f.shrunk()) m2 = rze_below(m2, 8 * lane, f.b2);
  const uint32_t c = __popc(m2), upto = warp_sum_to(c), r1 = __shfl_sync(ALL, upto, 31);
  uint32_t m2_before = __shfl_up_sync(ALL, m2, 1);
  if (lane == 0) m2_before = 0;
  const bool change = m2 != m2_before && lane < (int)f.b3;
  const uint32_t m3 = __ballot_sync(ALL, change), r2 = __popc(m3);
  if (lane == 0) {
    s.entry = rze_raw(f, kept, r0, r1, r2) ? f.len | 1u << 31 : kept + r0 + r1 + r2 + 6;
    publish(s.entry);
  }
  uint8_t* p = st + kept + r0;
  uint8_t* to = p + upto - c;
#pragma unroll
  for (int i = 0; i < 8; i++)
    if (m2 >> i & 1) *to++ = uint8_t((i < 4 ? q.x : q.y) >> 8 * (i & 3));
  p += r1;
  if (change) p[__popc(m3 & ((1u << lane) - 1))] = uint8_t(m2);
  p += r2;
  if (lane < 6) p[lane] = uint8_t(lane < 4 ? m3 >> 8 * lane : f.len >> 8 * (lane - 4));
}

// Puts the payload at `st` and calls `publish(entry)` as early as it is known, from one thread;
// s.entry is for all after the next barrier. A raw chunk leaves anything at `st`. Its rows have
// been marked. SOON: time counts and registers do not, so that of eight rows all places are looked
// up at once, and none is left out.
template <bool SOON, class F>
FZ_DEV void rze_encode_tile(const uint32_t (&w)[32], uint32_t live, const RzeForm& f, RzeEncoder& s, uint8_t* st, int tid, F publish) {
  __syncthreads();
  const RzeOwn o = rze_count(s, rze_m0(st), f, tid);
  __syncthreads();
  const uint4 sums = *reinterpret_cast<const uint4*>(s.sums);
  const uint32_t b1 = sums.x, b2 = b1 + sums.y, b3 = b2 + sums.z, all = b3 + sums.w;
  const uint32_t kept = all & 0xffff;
  if (kept == 0) {  // zeros: the tag alone
    if (tid == 0) {
      st[0] = uint8_t(f.len);
      st[1] = uint8_t(f.len >> 8);
      s.entry = !f.old && f.len <= 2 ? f.len | 1u << 31 : 2;
      publish(s.entry);
    }
    return;
  }
  const int warp = tid >> 5;
  if (warp == 0) rze_upper(s, st, f, kept, all >> 16, tid & 31, publish);
  if (__any_sync(ALL, o.marks)) {
    uint8_t* p = st + kept + ((warp == 0 ? 0 : warp == 1 ? b1 : warp == 2 ? b2 : b3) >> 16) + o.rank;
#pragma unroll
    for (int i = 0; i < 16; i++)
      if (o.marks >> i & 1) *p++ = uint8_t(o.m[i >> 2] >> 8 * (i & 3));
  }
  const uint32_t below = (1u << 4 * (tid & 7)) - 1;
#pragma unroll
  for (int g = 0; g < 4; g++)
    if (live >> g & 1) {
      uint8_t* d = st + ((g == 0 ? 0 : g == 1 ? b1 : g == 2 ? b2 : b3) & 0xffff);
      uint32_t at[8];
      auto find = [&](int k) {
        const uint2 e = s.rank[(8 * g + k) * 16 + (tid >> 3)];
        at[k] = e.y + __popc(e.x & below);
      };
      if (SOON) {
#pragma unroll
        for (int k = 0; k < 8; k++) find(k);
      }
#pragma unroll
      for (int k = 0; k < 8; k++) {
        const uint32_t x = w[8 * g + k];
        if (SOON || __any_sync(ALL, x)) {
          if (!SOON) find(k);
          fz_cursor to(d + at[k]);
          to.put(x & 0xffu, x);
          to.put(x & 0xff00u, x >> 8);
          to.put(x & 0xff0000u, x >> 16);
          to.put(x & 0xff000000u, x >> 24);
        }
      }
    }
}
}  // namespace rze
}  // namespace fz
