// Stage Fast on a GPU: what both directions share. src/stages/fast.md has the wire form.
//
// A warp owns a unit of 1024 values, 32 in each lane: of planes and volumes a patch of 4 x 8, of lines 32 in a row. So differences
// are made in registers with a handful of shuffles, and a bit plane of a lane is one word.
#pragma once
#include "quantizer.cuh"
#include "tile.cuh"

// A function that is rarely called, and takes no registers from those around it.
#ifdef FZ_EMULATED
#define FZ_RARE static
#else
#define FZ_RARE __device__ __noinline__
#endif

namespace fz {
namespace fast {
// As in src/stages/fast.rs. Of planes and volumes lengths have 32 bits.
struct Params {
  double threshold;
  uint64_t lengths[3];
  uint32_t ndim, value;
  uint32_t across, down;              // chunks along x and y
  uint32_t per_across, per_down;      // what stands for division by these, with the shifts behind it in two bytes of `shifts`
  uint32_t chunks, shifts;
  FZ_DEV uint64_t count() const { return lengths[0]; }
  FZ_DEV uint32_t x() const { return (uint32_t)lengths[0]; }
  FZ_DEV uint32_t y() const { return (uint32_t)lengths[1]; }
  FZ_DEV uint32_t z() const { return (uint32_t)lengths[2]; }
};

constexpr uint32_t UNIT = 1024, CHUNK_UNITS = 8, CHUNK = UNIT * CHUNK_UNITS, LANE = 32;
// Entries of the table.
constexpr uint64_t CONSTANT = 1ull << 63, RAW = 1ull << 62, ZERO = 1ull << 61, ANCHOR = 1ull << 60, FIRST = (1ull << 44) - 1;
constexpr uint32_t SIZE_AT = 44, SIZE = 0xffff;
// Modes of a unit: above its least code, differences inside of it, and those against the unit before.
enum : uint32_t { ABOVE = 0, INSIDE = 2, AGAINST = 3 };
enum : uint32_t { NONE = 0, ONE_VALUE = 1, VALUES = 2, ALL_ONE = 3 };
constexpr uint32_t KIND_AT = 11;
FZ_DEV uint32_t descriptor(uint32_t mode, uint32_t least, uint32_t planes, uint32_t exceptions, bool joint) {
  return mode | least << 2 | planes << 8 | exceptions << KIND_AT | (joint ? 1u << 13 : 0);
}

// Exact for n below 2^27: `Divisor` in src/stages/fast.rs.
FZ_DEV uint32_t divide(uint32_t n, uint32_t inverse, uint32_t shift) { return __umulhi(2 * n, inverse) >> shift; }

// Where a chunk lies, in chunks.
struct Chunk { uint32_t number, x, y, z; };
template <int DIM> FZ_DEV Chunk chunk_at(const Params& p, uint32_t number) {
  Chunk c = {number, 0, 0, 0};
  if (DIM == 1) return c;
  const uint32_t row = divide(number, p.per_across, p.shifts & 0xff);
  c.x = number - row * p.across;
  if (DIM == 2) { c.y = row; return c; }
  c.z = divide(row, p.per_down, p.shifts >> 8 & 0xff);
  c.y = row - c.z * p.down;
  return c;
}

// A unit: its first value, and whether all of it lies inside.
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
    // No short cuts, which would be branches in front of all that a block does.
    exists = (y < p.y()) & (z < p.z());
    whole = exists & (x + 32 <= p.x()) & (y + 32 <= p.y());
    first = ((uint64_t)z * p.y() + y) * p.x() + x;
  }
  // Index of value `e` of this lane, of what stands for it at the edge; `inside`: it is there.
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
  // The lane's values 4j .. 4j+3 in a whole unit start at value `row * j` from here.
  FZ_DEV uint64_t lane_first(const Params& p) const {
    const uint32_t lane = threadIdx.x & 31;
    return DIM == 1 ? first + lane * LANE : first + (uint64_t)(8 * (lane >> 3)) * p.x() + 4 * (lane & 7);
  }
  static FZ_DEV uint64_t row(const Params& p) { return DIM == 1 ? 4 : p.x(); }
};

// What of a chunk lies inside of the array.
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
// Index of the first value of row `r` of the box.
template <int DIM> FZ_DEV uint64_t box_row(const Params& p, const Chunk& c, const Box& b, uint32_t r) {
  if (DIM == 1) return (uint64_t)c.number * CHUNK;
  if (DIM == 2) return ((uint64_t)c.y * 256 + r) * p.x() + c.x * 32;
  return (((uint64_t)c.z * 8 + r / b.y) * p.y() + c.y * 32 + r % b.y) * p.x() + c.x * 32;
}

// Whether rows of whole units can be read and written in pieces of 16 bytes.
template <class T, int DIM> FZ_DEV bool in_pieces(const Params& p, const void* array) {
  return aligned(array, 16) & (DIM == 1 || p.x() * (uint32_t)sizeof(T) % 16 == 0);
}

// In each of the four columns of bytes the 8 x 8 bits are transposed: byte c, bit j of w[i] becomes what was byte c, bit i of w[j].
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

// What all lanes of a warp agree in, said so that the compiler knows it: else it guards every shuffle against the case that not
// all of them come.
FZ_DEV uint32_t warp_of() { return __shfl_sync(ALL, threadIdx.x >> 5, 0); }
FZ_DEV bool warp_dead(const Args& a) { return __any_sync(ALL, dead(a)); }

FZ_DEV uint32_t below() { return (1u << (threadIdx.x & 31)) - 1; }
}  // namespace fast
}  // namespace fz
