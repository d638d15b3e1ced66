// Units of 16 bytes, and tiles of them in registers, for word-wise stages.
#pragma once
#include "common/scan.cuh"
#include "common/words.cuh"

namespace fz {
// A tile in 256 threads: four units in each, in rows of 512 bytes that a warp reads and writes at
// once. So accesses are as wide as the machine has them, no word passes through shared memory, and
// four loads of a thread are under way.
constexpr int UNITS = 4;
static_assert(UNIT_THREADS * UNITS * 16 == TILE, "a block has one tile");

// Offset in the tile of unit `i` of this thread.
FZ_DEV uint32_t unit_at(int i) { return (threadIdx.x >> 5) * (UNITS * 512) + i * 512 + (threadIdx.x & 31) * 16; }

// The type that moves `BYTES` bytes at once.
template <int BYTES> struct Whole;
template <> struct Whole<4> { typedef uint32_t Word; };
template <> struct Whole<8> { typedef uint2 Word; };
template <> struct Whole<16> { typedef uint4 Word; };

FZ_DEV uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

// `BYTES` bytes at any address, as words of 32 bits.
template <int BYTES> FZ_DEV void load_words(uint32_t (&w)[BYTES / 4], const uint8_t* p) {
  if (BYTES == 16 && aligned(p, 16)) {
    const uint4 v = *reinterpret_cast<const uint4*>(p);
    w[0] = v.x; w[1] = v.y; w[BYTES / 4 - 2] = v.z; w[BYTES / 4 - 1] = v.w;
  } else if (BYTES == 8 && aligned(p, 8)) {
    const uint2 v = *reinterpret_cast<const uint2*>(p);
    w[0] = v.x; w[BYTES / 4 - 1] = v.y;
  } else {
#pragma unroll
    for (int i = 0; i < BYTES / 4; i++) w[i] = load<uint32_t>(p + 4 * i);
  }
}
template <int BYTES> FZ_DEV void store_words(uint8_t* p, const uint32_t (&w)[BYTES / 4]) {
  if (BYTES == 16 && aligned(p, 16)) {
    *reinterpret_cast<uint4*>(p) = make_uint4(w[0], w[1], w[BYTES / 4 - 2], w[BYTES / 4 - 1]);
  } else if (BYTES == 8 && aligned(p, 8)) {
    *reinterpret_cast<uint2*>(p) = make_uint2(w[0], w[BYTES / 4 - 1]);
  } else {
#pragma unroll
    for (int i = 0; i < BYTES / 4; i++) store<uint32_t>(p + 4 * i, w[i]);
  }
}

FZ_DEV uint4 load16(const uint8_t* p) {
  uint32_t w[4];
  load_words<16>(w, p);
  return make_uint4(w[0], w[1], w[2], w[3]);
}
FZ_DEV void store16(uint8_t* p, uint4 v) {
  const uint32_t w[4] = {v.x, v.y, v.z, v.w};
  store_words<16>(p, w);
}
// The first `n` < 16 bytes, and zeros behind them.
FZ_DEV uint4 load_part(const uint8_t* p, uint32_t n) {
  uint32_t w[4] = {0, 0, 0, 0};
#pragma unroll
  for (uint32_t i = 0; i < 16; i++)
    if (i < n) w[i / 4] |= (uint32_t)p[i] << 8 * (i % 4);
  return make_uint4(w[0], w[1], w[2], w[3]);
}
FZ_DEV void store_part(uint8_t* p, uint4 v, uint32_t n) {
  const uint32_t w[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (uint32_t i = 0; i < 16; i++)
    if (i < n) p[i] = (uint8_t)(w[i / 4] >> 8 * (i % 4));
}
// Bytes of a unit at `at` when there are `n`.
FZ_DEV uint32_t part(uint32_t n, uint32_t at) { return n > at ? n - at : 0; }

// The tile at `src`, of which `n` bytes exist; the rest is filled with zeros.
FZ_DEV void load_tile(uint4 (&u)[UNITS], const uint8_t* src, uint64_t n) {
  if (n >= TILE && aligned(src, 16)) {
#pragma unroll
    for (int i = 0; i < UNITS; i++) u[i] = *reinterpret_cast<const uint4*>(src + unit_at(i));
    return;
  }
  const uint32_t have = (uint32_t)least(n, TILE);
#pragma unroll
  for (int i = 0; i < UNITS; i++) {
    const uint32_t at = unit_at(i), left = part(have, at);
    u[i] = left >= 16 ? load16(src + at) : load_part(src + at, left);
  }
}
// The first `n` bytes of a tile.
FZ_DEV void store_tile(uint8_t* dst, const uint4 (&u)[UNITS], uint64_t n) {
  if (n >= TILE && aligned(dst, 16)) {
#pragma unroll
    for (int i = 0; i < UNITS; i++) *reinterpret_cast<uint4*>(dst + unit_at(i)) = u[i];
    return;
  }
  const uint32_t room = (uint32_t)least(n, TILE);
#pragma unroll
  for (int i = 0; i < UNITS; i++) {
    const uint32_t at = unit_at(i), left = part(room, at);
    if (left >= 16) store16(dst + at, u[i]);
    else store_part(dst + at, u[i], left);
  }
}

// `f` over the registers of a unit: packed words of `W` bytes.
template <int W, class F> FZ_DEV uint4 each(uint4 u, F f) {
  if constexpr (W < 8) {
    return make_uint4(f(u.x), f(u.y), f(u.z), f(u.w));
  } else {
    const uint64_t x = f((uint64_t)u.y << 32 | u.x), y = f((uint64_t)u.w << 32 | u.z);
    return make_uint4((uint32_t)x, (uint32_t)(x >> 32), (uint32_t)y, (uint32_t)(y >> 32));
  }
}

// A kernel that writes one word for every word of `W` bytes; bytes after the last whole word are
// copied. Calls `f(units, source, left, at)` for the tile at byte `at`: `left` is the number of
// whole words from its start on.
template <int W, class F> FZ_DEV void over_words(const Args& a, F f) {
  const Operand &in = input(a, 0), &out = output(a, 0);
  const uint64_t n = least(length(in), out.max), whole = n - n % W;
  if (blockIdx.x == 0 && threadIdx.x == 0) publish(out, length(in));
  const uint8_t* src = address(in);
  uint8_t* dst = address(out);
  for (uint64_t at = (uint64_t)blockIdx.x * TILE; at < n; at += (uint64_t)gridDim.x * TILE) {
    uint4 u[UNITS];
    load_tile(u, src + at, whole - at);
    f(u, src + at, whole - at, at);
    store_tile(dst + at, u, whole - at);
    if (n - at <= TILE && threadIdx.x < n - whole) dst[whole + threadIdx.x] = src[whole + threadIdx.x];
  }
}

// The units of a tile, packed words of `W` bytes each for itself.
template <int W, class Code> FZ_DEV void encode_units(uint4 (&u)[UNITS]) {
#pragma unroll
  for (int i = 0; i < UNITS; i++) u[i] = each<W>(u[i], [](Pack<W> x) { return Code::template of<W>(x); });
}
template <int W, class Code> FZ_DEV void decode_units(uint4 (&u)[UNITS]) {
#pragma unroll
  for (int i = 0; i < UNITS; i++) u[i] = each<W>(u[i], [](Pack<W> x) { return Code::template back<W>(x); });
}

// Kernels that are a code and nothing else.
template <class Code> FZ_DEV void encode_words(const Args& a, uint64_t width) {
  by_width(width, [&](auto w) {
    typedef decltype(w) Width;
    over_words<Width::BYTES>(a, [](uint4 (&u)[UNITS], const uint8_t*, uint64_t, uint64_t) { encode_units<Width::BYTES, Code>(u); });
  });
}
template <class Code> FZ_DEV void decode_words(const Args& a, uint64_t width) {
  by_width(width, [&](auto w) {
    typedef decltype(w) Width;
    over_words<Width::BYTES>(a, [](uint4 (&u)[UNITS], const uint8_t*, uint64_t, uint64_t) { decode_units<Width::BYTES, Code>(u); });
  });
}
}  // namespace fz
