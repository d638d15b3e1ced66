// Stage multilevel: logarithms of counts as integers, and the costs of codes, by the rules of
// src/stages/multilevel/log2.rs.
#pragma once
#include "common/scan.cuh"
#include "multilevel/params.h"

namespace fz {
namespace multilevel {
// The cost of one bit: costs are in units of 2^-16 bits.
constexpr uint32_t BIT = 1u << 16;

struct Log2 {
  uint32_t fractions[257];
  // All threads of a block of at least 257 must call the function, which ends with a barrier.
  FZ_DEV void fill() {
    const uint32_t i = threadIdx.x;
    if (i <= 256) {
      uint64_t x = (uint64_t)(256 + i) << 54;
      uint32_t bits = 0;
      for (int k = 0; k < 16; k++) {
        x = __umul64hi(x, x) << 2 | (x * x) >> 62;
        bits <<= 1;
        if (x >> 63) {
          bits |= 1;
          x >>= 1;
        }
      }
      fractions[i] = i < 256 ? bits : BIT;
    }
    __syncthreads();
  }
  // The logarithm of a number above 0.
  FZ_DEV uint64_t of(uint64_t n) const {
    const uint32_t e = 63 - __clzll((long long)n);
    const uint32_t m = (uint32_t)(e > 31 ? n >> (e - 31) : n << (31 - e));
    const uint32_t i = m >> 23 & 255, j = m >> 7 & 0xffff, low = fractions[i];
    return ((uint64_t)e << 16) + low + (((uint64_t)(fractions[i + 1] - low) * j) >> 16);
  }
};

// The sum of all lanes, of numbers below 2^60: of parts of few bits, for which a warp has an instruction.
FZ_DEV uint64_t warp_total(uint64_t v) {
  constexpr uint32_t BITS = 20, MASK = (1u << BITS) - 1;
  const uint64_t low = __reduce_add_sync(ALL, (uint32_t)v & MASK), middle = __reduce_add_sync(ALL, (uint32_t)(v >> BITS) & MASK);
  const uint64_t high = __reduce_add_sync(ALL, (uint32_t)(v >> 2 * BITS));
  return low + (middle << BITS) + (high << 2 * BITS);
}

// The cost of 64 symbols with these counts, including their table. A warp must call the function; each
// lane has the counts of symbols `lane` and 32 + `lane`.
FZ_DEV uint64_t cost_of_counts(const Log2& log, uint64_t a, uint64_t b) {
  const uint64_t n = warp_total(a + b);
  if (n == 0) return 0;
  const uint64_t whole = log.of(n), most = (uint64_t)FREQUENCY_BITS * BIT;
  auto one = [&](uint64_t c) -> uint64_t {
    if (c == 0) return 0;
    const uint64_t bits = whole - log.of(c);
    return c * (bits < most ? bits : most);
  };
  const uint64_t sum = warp_total(one(a) + one(b));
  const uint32_t high = __ballot_sync(ALL, b > 0), low = __ballot_sync(ALL, a > 0);
  const uint32_t entries = high ? 64 - __clz((int)high) : 32 - __clz((int)low);
  return sum + (uint64_t)BIT * (12 + 4 * entries);
}
}  // namespace multilevel
}  // namespace fz
