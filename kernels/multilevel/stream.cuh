// Stage multilevel, decoder: words of a stream at any address, and fields of bits in them.
#pragma once
#include "multilevel/memory.cuh"

namespace fz {
namespace multilevel {
// Words of 16 bits. Words after the last one are read as zeros.
struct Words {
  const uint8_t* at;
  uint64_t count;
  FZ_DEV uint32_t operator[](uint64_t i) const { return i < count ? load<uint16_t>(at + 2 * i) : 0; }
  FZ_DEV uint32_t two(uint64_t i) const { return (*this)[i] | (*this)[i + 1] << 16; }
  // Returns `n` bits, at most 32, from bit `bit` on.
  FZ_DEV uint32_t bits(uint64_t bit, uint32_t n) const {
    const uint64_t i = bit / 16, all = two(i) | (uint64_t)(*this)[i + 2] << 32;
    return (uint32_t)(all >> bit % 16 & ((1ull << n) - 1));
  }
  FZ_DEV Words from(uint64_t i, uint64_t n) const { return {at + 2 * i, n}; }
};

// Reads consecutive bits. pair(i) returns words 2 i and 2 i + 1, which are 0 behind the last word.
template <class Pairs> struct BitReader {
  const Pairs& pair;
  // The next bits and their number; the pair of words behind them, which is loaded ahead, and its index.
  uint64_t buffer, next;
  uint32_t buffered, ahead;
  bool bad;
  FZ_DEV explicit BitReader(const Pairs& of) : pair(of), buffer(0), next(0), buffered(0), ahead(of(0)), bad(false) {}
  // The number of bits that were read.
  FZ_DEV uint64_t at() const { return 32 * next - buffered; }
  // After the call at least 32 bits are buffered.
  FZ_DEV void fill() {
    if (buffered >= 32) return;
    buffer |= (uint64_t)ahead << buffered;
    ahead = pair(++next);
    buffered += 32;
  }
  // Reads `n` bits, at most 31.
  FZ_DEV uint32_t take(uint32_t n) {
    fill();
    const uint32_t value = (uint32_t)buffer & ((1u << n) - 1);
    buffer >>= n;
    buffered -= n;
    return value;
  }
  // Reads n bits of 1, a bit of 0, and two bits v, and returns 4 n + v. n is at most 28.
  FZ_DEV uint32_t number() {
    fill();
    const uint32_t ones = __ffs((int)~(uint32_t)buffer) - 1, n = min(ones, 28u);
    bad |= ones > 28;
    const uint32_t v = (uint32_t)(buffer >> (n + 1)) & 3;
    buffer >>= n + 3;
    buffered -= n + 3;
    return 4 * n + v;
  }
};
}  // namespace multilevel
}  // namespace fz
