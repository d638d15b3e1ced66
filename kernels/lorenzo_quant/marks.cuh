// LorenzoQuant, decoders of volumes of f32 that have outliers: the differences of outliers are stored in the array, in
// the places of their values, and marked. All other differences are those of the codes.
#pragma once
#include "lorenzo_quant/bricks.cuh"

namespace fz {
namespace lorenzo_quant {
// A byte for each column of eight rows of a plane, with a bit for each row; then a byte for each brick, which is not zero if
// sums of the brick may round. Memory of no contents until the first launch clears it.
struct Marks {
  static constexpr bool ANY = true;
  uint8_t *rows = nullptr, *bricks = nullptr;
  uint64_t bytes = 0;
  uint32_t nx = 0, ny = 0, across = 0, down = 0;

  Marks() = default;

  FZ_DEV Marks(const Args& a, const Brick<float>& b)
      : rows(reinterpret_cast<uint8_t*>(a.scratch)), nx(b.nx), ny(b.ny), across((uint32_t)b.across), down((uint32_t)b.down) {
    // Whole words, because bits are set by atomic operations on them.
    const uint64_t marks = (b.down * b.nz * b.nx + 3) / 4 * 4;
    bricks = rows + marks;
    bytes = marks + b.all;
  }
  // The byte of element 0 of row `y` of plane `z`.
  FZ_DEV uint64_t row(uint32_t y, uint32_t z) const { return ((uint64_t)z * down + y / SIDE) * nx; }
  // Marks an element; true if it is marked already.
  FZ_DEV bool set(uint32_t x, uint32_t y, uint32_t z) const {
    const uint64_t at = row(y, z) + x;
    const uint32_t bit = 1u << (at % 4 * 8 + y % SIDE);
    return atomicOr(reinterpret_cast<uint32_t*>(rows) + at / 4, bit) & bit;
  }
  // The brick of an element has a difference that no code of 16 bits has. A tile has 512 differences, so that sums of
  // integers of at most 2^15 do not exceed 2^24, and do not round in any order.
  FZ_DEV void rounds(uint32_t x, uint32_t y, uint32_t z) const { bricks[((uint64_t)(z / SIDE) * down + y / SIDE) * across + x / Brick<float>::WIDTH] = 1; }
  static FZ_DEV bool is_short(float d) { return Real<float>::abs(d) <= 32768.0f && round_away(d) == d; }
};
// Of arrays without outliers.
struct NoMarks {
  static constexpr bool ANY = false;
};
}  // namespace lorenzo_quant
}  // namespace fz
