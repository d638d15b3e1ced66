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

// Reads consecutive bits.
struct BitReader {
  const Words& words;
  // The number of bits that were read, the next bits and their number, and the index of the word after them.
  uint64_t at, buffer, next;
  uint32_t buffered;
  bool bad;
  FZ_DEV explicit BitReader(const Words& of) : words(of), at(0), buffer(0), next(0), buffered(0), bad(false) {}
  // After the call at least 32 bits are buffered.
  FZ_DEV void fill() {
    if (buffered >= 32) return;
    buffer |= (uint64_t)words.two(next) << buffered;
    next += 2;
    buffered += 32;
  }
  // Reads `n` bits, at most 32.
  FZ_DEV uint32_t take(uint32_t n) {
    fill();
    const uint32_t value = (uint32_t)(buffer & ((1ull << n) - 1));
    buffer >>= n;
    buffered -= n;
    at += n;
    bad |= at > 16 * words.count;
    return value;
  }
  // Reads n bits of 1, a bit of 0, and two bits v, and returns 4 n + v. n is at most 28.
  FZ_DEV uint32_t number() {
    fill();
    const uint32_t n = __ffs((int)~(uint32_t)buffer) - 1;
    bad |= n > 28;
    return 4 * n + (take(min(n, 28u) + 3) >> (min(n, 28u) + 1));
  }
};
}  // namespace multilevel
}  // namespace fz
