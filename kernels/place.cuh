// Where the payload of a chunk goes: behind all before it. The stream is u32 O, u32 n, a table of n u32, payloads back
// to back, zeros up to a multiple of four.
//
// Each block says how long its payload is as soon as it knows, then one warp looks back over the words of the blocks
// before until it meets one that knows where it stands (decoupled look-back). This relies on blocks being started in
// the order of their index, as all devices so far do: then whoever is waited for is running or done. A ticket would not
// rely on it and costs 4 %. A block always answers: nothing that a payload or the destination is like makes it leave
// before it has published. Sums do not depend on who arrives when, so neither do the bytes.
#pragma once
#include "tile.cuh"

namespace fz {
constexpr uint32_t RAW = 1u << 31, STREAM_HEAD = 8;
// Of a word of the look-back: nothing yet (0), the length of one payload, or the length of all up to this one.
constexpr uint64_t OWN = 1ull << 62, UPTO = 2ull << 62, LENGTH = OWN - 1;

struct StreamOut {
  uint8_t* at;
  uint64_t max;    // bytes that may be written
  uint64_t total;  // O
  uint32_t n;
  uint64_t length;  // address of the word for what is written, or 0
  uint64_t* words;  // one per chunk, zero at first

  FZ_DEV void put(uint64_t i, uint32_t w) const {
    if (i + 4 <= max) store<uint32_t>(at + i, w);
  }
};

FZ_DEV StreamOut stream_out(const Args& a, const Operand& o, uint64_t total, uint32_t chunk) {
  return {address(o), o.max, total, (uint32_t)((total + chunk - 1) / chunk), o.bytes, reinterpret_cast<uint64_t*>(a.zeroed)};
}

// One thread: the entry of chunk c.
FZ_DEV void announce(const StreamOut& s, uint32_t c, uint32_t entry) {
  poke(s.words + c, OWN | (entry & ~RAW));
  s.put(STREAM_HEAD + 4 * (uint64_t)c, entry);
}

// One warp: the bytes of all payloads before chunk c.
FZ_DEV uint64_t look_back(const uint64_t* words, uint32_t c, int lane) {
  uint64_t sum = 0;
  for (int64_t i = (int64_t)c - 1 - lane;;) {
    const uint64_t v = i >= 0 ? peek(words + i) : UPTO;
    const uint32_t known = __ballot_sync(ALL, v >> 62 == 2), silent = __ballot_sync(ALL, v >> 62 == 0);
    const uint32_t need = known ? (known & (0u - known)) - 1 : ALL;  // lanes nearer than the first that knows
    if (silent & need) continue;
    sum += __reduce_add_sync(ALL, need >> lane & 1 ? (uint32_t)v : 0);
    if (known) return sum + (__shfl_sync(ALL, v, __ffs(known) - 1) & LENGTH);
    i -= 32;
  }
}
// The same where all blocks run at once and end at nearly the same time: nobody waits for sums of others, and all words are asked for at
// once. Few payloads of tiles are less than 2^32 bytes.
FZ_DEV uint64_t look_at_all(const uint64_t* words, uint32_t c, int lane) {
  constexpr uint32_t EACH = 8;
  uint32_t sum = 0;
  for (uint32_t from = 0; from < c;) {
    uint32_t some = 0;
    bool said = true;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
      const uint32_t i = from + 32 * k + lane;
      const uint64_t v = i < c ? peek(words + i) : OWN;
      said = said && v != 0;
      some += (uint32_t)v;
    }
    if (!__all_sync(ALL, said)) continue;
    sum += some;
    from += 32 * EACH;
  }
  return __reduce_add_sync(ALL, sum);
}
// One warp, after announce: where the payload goes, for all lanes.
FZ_DEV uint64_t find_place(const StreamOut& s, uint32_t c, uint32_t size, int lane) {
  const uint64_t before = look_back(s.words, c, lane);
  if (lane == 0) poke(s.words + c, UPTO | (before + size));
  return before;
}

// The block copies `size` bytes of shared memory to any address.
FZ_DEV void copy_out(uint8_t* to, const uint8_t* from, uint32_t size, int tid) {
  const uint32_t head = min((uint32_t)(-(intptr_t)to) & 15, size);
  if (tid < (int)head) to[tid] = from[tid];
  const uint32_t pieces = (size - head) >> 4, shift = (head & 3) * 8, done = head + pieces * 16;
  const uint32_t* w = reinterpret_cast<const uint32_t*>(from) + (head >> 2);
  uint4* to16 = reinterpret_cast<uint4*>(to + head);
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

// The block: the payload, of which only what fits is written, and what stands around the payloads.
FZ_DEV void place(const StreamOut& s, uint32_t c, uint64_t before, const uint8_t* payload, uint32_t size, int tid) {
  const uint64_t from = STREAM_HEAD + 4 * (uint64_t)s.n + before;
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
}  // namespace fz
