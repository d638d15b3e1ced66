// Decoupled look-back: the sum of the lengths before a block. Each block publishes its length, and
// then one warp adds up the words of the blocks before, back to one that has published its
// inclusive prefix.
//
// Blocks must start in the order of their index, as they do on all devices so far: then every block
// that others wait for is running or has ended. A ticket per block would not rely on this, and
// costs 4 %. Every block must publish, for any data and any destination. Sums do not depend on the
// order in which blocks arrive, and neither do the bytes.
#pragma once
#include "common/memory.cuh"

namespace fz {
// Flags of a state: not published (0), own length, inclusive prefix; and the mask of the length.
constexpr uint64_t OWN = 1ull << 62, UPTO = 2ull << 62, LENGTH = OWN - 1;

// The sum of the lengths before block `c`, by one warp.
FZ_DEV uint64_t exclusive_prefix(const uint64_t* words, uint32_t c, int lane) {
  uint64_t sum = 0;
  for (int64_t i = (int64_t)c - 1 - lane;;) {
    const uint64_t v = i >= 0 ? peek(words + i) : UPTO;
    const uint32_t known = __ballot_sync(ALL, v >> 62 == 2), missing = __ballot_sync(ALL, v >> 62 == 0);
    const uint32_t need = known ? (known & (0u - known)) - 1 : ALL;  // lanes up to the nearest prefix
    if (missing & need) continue;
    sum += __reduce_add_sync(ALL, need >> lane & 1 ? (uint32_t)v : 0);
    if (known) return sum + (__shfl_sync(ALL, v, __ffs(known) - 1) & LENGTH);
    i -= 32;
  }
}
// As `exclusive_prefix`, if all blocks run at the same time and end almost together: it loads all
// states at once and does not wait for prefixes. The sum must be below 2^32.
FZ_DEV uint64_t exclusive_prefix_small(const uint64_t* words, uint32_t c, int lane) {
  constexpr uint32_t EACH = 8;
  uint32_t sum = 0;
  for (uint32_t from = 0; from < c;) {
    uint32_t some = 0;
    bool published = true;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
      const uint32_t i = from + 32 * k + lane;
      const uint64_t v = i < c ? peek(words + i) : OWN;  // seed: few-look
      published = published && v != 0;
      some += (uint32_t)v;
    }
    if (!__all_sync(ALL, published)) continue;
    sum += some;
    from += 32 * EACH;
  }
  return __reduce_add_sync(ALL, sum);
}
}  // namespace fz
