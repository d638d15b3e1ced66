// Stage fast: chunks, units, and table entries, for both directions. src/stages/fast/spec.md
// specifies the stream.
//
// A warp owns a unit of 1024 values, 32 in each lane: a patch of 4 x 8 in two and three dimensions,
// 32 consecutive values in one. So differences take a few shuffles between registers, and a bit
// plane of a lane is one word.
#pragma once
#include "fast/params.h"
#include "quantizer/bins.cuh"
#include "common/tile.cuh"

// A rarely called function that takes no registers from its callers.
#ifdef FZ_EMULATED
#define FZ_RARE static
#else
#define FZ_RARE __device__ __noinline__
#endif

namespace fz {
namespace fast {
// The parameter block, with the lengths by name. In two and three dimensions they have 32 bits.
struct Params : FastParams {
  FZ_DEV uint64_t count() const { return dims[0]; }
  FZ_DEV uint32_t x() const { return (uint32_t)dims[0]; }
  FZ_DEV uint32_t y() const { return (uint32_t)dims[1]; }
  FZ_DEV uint32_t z() const { return (uint32_t)dims[2]; }
};

// Values of a lane.
constexpr uint32_t LANE = 32;
// Entries of the table.
constexpr uint64_t CONSTANT = 1ull << 63, RAW = 1ull << 62, ZERO = 1ull << 61, HAS_REFERENCE = 1ull << 60, FIRST = (1ull << 44) - 1;
constexpr uint32_t SIZE_AT = 44, SIZE = 0xffff;
// Kinds of the exact values of a unit.
enum : uint32_t { NONE = 0, ONE_VALUE = 1, VALUES = 2, ALL_ONE = 3 };
constexpr uint32_t KIND_AT = 11;
FZ_DEV uint32_t descriptor(uint32_t mode, uint32_t least, uint32_t planes, uint32_t exceptions, bool joint) {
  return mode | least << 2 | planes << 8 | exceptions << KIND_AT | (joint ? 1u << 13 : 0);
}

// n / d, exact for n below 2^27: `Divisor` in src/stages/fast/mod.rs.
FZ_DEV uint32_t divide(uint32_t n, uint32_t inverse, uint32_t shift) { return __umulhi(2 * n, inverse) >> shift; }  // seed: fast-divisor

// The position of a chunk, in chunks.
struct Chunk { uint32_t number, x, y, z; };
template <int DIM> FZ_DEV Chunk chunk_at(const Params& p, uint32_t number) {
  Chunk c = {number, 0, 0, 0};
  if (DIM == 1) return c;
  const uint32_t row = divide(number, p.inverse_x, p.shift_x);
  c.x = number - row * p.chunks_x;
  if (DIM == 2) { c.y = row; return c; }
  c.z = divide(row, p.inverse_y, p.shift_y);
  c.y = row - c.z * p.chunks_y;
  return c;
}

// A unit: its first value, and whether all of it is inside the array.
template <int DIM> struct Unit {
  uint64_t first;
  uint32_t x, y, z;
  bool exists, whole;
  FZ_DEV Unit(const Params& p, const Chunk& c, uint32_t k) {
    if (DIM == 1) {
      first = (uint64_t)c.number * CHUNK + k * UNIT;
      x = y = z = 0;
      exists = first < p.count();
      whole = first + UNIT <= p.count();
      return;
    }
    x = c.x * 32;
    y = DIM == 2 ? c.y * 256 + k * 32 : c.y * 32;
    z = DIM == 2 ? 0 : c.z * 8 + k;
    // Bitwise, since && would branch.
    exists = (y < p.y()) & (z < p.z());
    whole = exists & (x + 32 <= p.x()) & (y + 32 <= p.y());
    first = ((uint64_t)z * p.y() + y) * p.x() + x;
  }
  // Index of value `e` of this lane, or of the value that replaces it beyond the edge; `inside`:
  // the value exists.
  FZ_DEV uint64_t at(const Params& p, uint32_t e, bool* inside) const {
    const uint32_t lane = threadIdx.x & 31;
    if (DIM == 1) {
      const uint64_t i = first + lane * LANE + e;
      *inside = i < p.count();
      return *inside ? i : p.count() - 1;
    }
    const uint32_t i = x + 4 * (lane & 7) + (e & 3), j = y + 8 * (lane >> 3) + (e >> 2);
    *inside = i < p.x() && j < p.y();
    return ((uint64_t)z * p.y() + min(j, p.y() - 1)) * p.x() + min(i, p.x() - 1);
  }
  // In a whole unit values 4j to 4j + 3 of the lane start at `lane_first + row * j`.
  FZ_DEV uint64_t lane_first(const Params& p) const {
    const uint32_t lane = threadIdx.x & 31;
    return DIM == 1 ? first + lane * LANE : first + (uint64_t)(8 * (lane >> 3)) * p.x() + 4 * (lane & 7);
  }
  static FZ_DEV uint64_t row(const Params& p) { return DIM == 1 ? 4 : p.x(); }
};

// The part of a chunk inside the array.
struct Box { uint32_t x, y, z, units, values; };
template <int DIM> FZ_DEV Box box_of(const Params& p, const Chunk& c) {
  if (DIM == 1) {
    const uint64_t left = p.count() - (uint64_t)c.number * CHUNK;
    const uint32_t n = left < CHUNK ? (uint32_t)left : CHUNK;
    return {n, 1, 1, (n + UNIT - 1) / UNIT, n};
  }
  Box b;
  b.x = min(p.x() - c.x * 32, 32u);
  b.y = DIM == 2 ? min(p.y() - c.y * 256, 256u) : min(p.y() - c.y * 32, 32u);
  b.z = DIM == 2 ? 1 : min(p.z() - c.z * 8, 8u);
  b.units = DIM == 2 ? (b.y + 31) / 32 : b.z;
  b.values = b.x * b.y * b.z;
  return b;
}
// Index of the first value of row `r` of the chunk.
template <int DIM> FZ_DEV uint64_t box_row(const Params& p, const Chunk& c, const Box& b, uint32_t r) {
  if (DIM == 1) return (uint64_t)c.number * CHUNK;
  if (DIM == 2) return ((uint64_t)c.y * 256 + r) * p.x() + c.x * 32;
  return (((uint64_t)c.z * 8 + r / b.y) * p.y() + c.y * 32 + r % b.y) * p.x() + c.x * 32;
}

// True if rows of whole units can be accessed in pieces of 16 bytes.
template <class T, int DIM> FZ_DEV bool in_pieces(const Params& p, const void* array) {
  return aligned(array, 16) & (DIM == 1 || p.x() * (uint32_t)sizeof(T) % 16 == 0);
}

// True if the array consists of groups of four values, each in pieces of 16 bytes.
template <class T> FZ_DEV bool in_quads(const Params& p, const void* array) { return aligned(array, 16) & (p.x() % 4 == 0); }

// Transposes the 8 x 8 bits in each of the four columns of bytes: bit j of byte c of w[i] and bit i
// of byte c of w[j] swap.
FZ_DEV void transpose8(uint32_t (&w)[8]) {
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const uint32_t a = w[i], b = w[i + 4];
    w[i] = (a & 0x0f0f0f0fu) | (b << 4 & 0xf0f0f0f0u);
    w[i + 4] = (a >> 4 & 0x0f0f0f0fu) | (b & 0xf0f0f0f0u);
  }
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const int i = (k & 1) | (k & 2) << 1;
    const uint32_t a = w[i], b = w[i + 2];
    w[i] = (a & 0x33333333u) | (b << 2 & 0xccccccccu);
    w[i + 2] = (a >> 2 & 0x33333333u) | (b & 0xccccccccu);
  }
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    const uint32_t a = w[i], b = w[i + 1];
    w[i] = (a & 0x55555555u) | (b << 1 & 0xaaaaaaaau);
    w[i + 1] = (a >> 1 & 0x55555555u) | (b & 0xaaaaaaaau);
  }
}

// Values that are equal in all lanes, in a form that the compiler recognizes as uniform: otherwise
// it guards every shuffle against missing lanes.
FZ_DEV uint32_t warp_of() { return __shfl_sync(ALL, threadIdx.x >> 5, 0); }
FZ_DEV bool warp_cancelled(const Args& a) { return __any_sync(ALL, cancelled(a)); }

FZ_DEV uint32_t below() { return (1u << (threadIdx.x & 31)) - 1; }
}  // namespace fast
}  // namespace fz
