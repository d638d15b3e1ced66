// Stages rze and rre, encoders: the stream around the chunks. It is u32 O, u32 n, a table of n u32,
// the payloads without gaps, and zeros up to a multiple of four. Blocks find the positions of their
// payloads by look-back (common/lookback.cuh).
#pragma once
#include "common/lookback.cuh"
#include "common/tile.cuh"
#include "rze/params.h"

namespace fz {
namespace rze {
struct StreamOut {
  uint8_t* at;
  uint64_t max;    // bytes that may be written
  uint64_t total;  // O
  uint32_t n;
  uint64_t length;  // address of the word with the length of the stream, or 0
  uint64_t* words;  // look-back states, one per chunk

  FZ_DEV void put(uint64_t i, uint32_t w) const {
    if (i + 4 <= max) store<uint32_t>(at + i, w);
  }
};

FZ_DEV StreamOut stream_out(const Args& a, const Operand& o, uint64_t total, uint32_t chunk) {
  return {address(o), o.max, total, (uint32_t)((total + chunk - 1) / chunk), o.bytes, reinterpret_cast<uint64_t*>(a.zeroed)};
}

// Writes the entry of chunk `c` and publishes its length, by one thread.
FZ_DEV void publish_entry(const StreamOut& s, uint32_t c, uint32_t entry) {
  poke(s.words + c, OWN | (entry & ~RAW));
  s.put(STREAM_HEADER_BYTES + 4 * (uint64_t)c, entry);
}

// After publish_entry, by one warp: returns the bytes of all payloads before chunk `c`, and
// publishes its prefix.
FZ_DEV uint64_t publish_prefix(const StreamOut& s, uint32_t c, uint32_t size, int lane) {
  const uint64_t before = exclusive_prefix(s.words, c, lane);
  if (lane == 0) poke(s.words + c, UPTO | (before + size));
  return before;
}

// Copies `size` bytes of shared memory to any address, by the block.
FZ_DEV void copy_out(uint8_t* to, const uint8_t* from, uint32_t size, int tid) {
  const uint32_t lead = min((uint32_t)(-(intptr_t)to) & 15, size);
  if (tid < (int)lead) to[tid] = from[tid];
  const uint32_t pieces = (size - lead) >> 4, shift = (lead & 3) * 8, done = lead + pieces * 16;
  const uint32_t* w = reinterpret_cast<const uint32_t*>(from) + (lead >> 2);
  uint4* to16 = reinterpret_cast<uint4*>(to + lead);
#pragma unroll 1
  for (uint32_t i = tid; i < pieces; i += THREADS) {
    const uint32_t* p = w + 4 * i;
    const uint32_t w0 = p[0], w1 = p[1], w2 = p[2], w3 = p[3], w4 = p[4];
    uint4 q;
    q.x = __funnelshift_r(w0, w1, shift); q.y = __funnelshift_r(w1, w2, shift);
    q.z = __funnelshift_r(w2, w3, shift); q.w = __funnelshift_r(w3, w4, shift);
    to16[i] = q;
  }
  if (tid < (int)(size - done)) to[done + tid] = from[done + tid];
}

// Writes the payload of chunk `c` as far as it fits, and the ends of the stream, by the block.
FZ_DEV void place(const StreamOut& s, uint32_t c, uint64_t before, const uint8_t* payload, uint32_t size, int tid) {
  const uint64_t from = STREAM_HEADER_BYTES + 4 * (uint64_t)s.n + before;
  const uint64_t room = s.max > from ? s.max - from : 0;
  copy_out(s.at + from, payload, (uint32_t)min((uint64_t)size, room), tid);
  if (tid != 0) return;
  if (c == 0) { s.put(0, (uint32_t)s.total); s.put(4, s.n); }
  if (c == s.n - 1) {
    uint64_t end = from + size;
    for (; end & 3; end++)
      if (end < s.max) s.at[end] = 0;
    if (s.length) *reinterpret_cast<uint64_t*>(s.length) = end;
  }
}
}  // namespace rze
}  // namespace fz
