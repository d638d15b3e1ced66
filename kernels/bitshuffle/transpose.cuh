// A 32 x 32 bit matrix in the registers of one thread, transposed.
#pragma once
#include "common/tile.cuh"

namespace fz {
// Exchanges bits between registers J apart, from register FIRST on.
template <int J, int FIRST> FZ_DEV void exchange_bits(uint32_t (&a)[32], uint32_t m) {
#pragma unroll
  for (int k = FIRST; k < 32; k++)
    if (!(k & J)) {
      const uint32_t x = a[k], y = a[k + J];
      a[k] = choose(x, y >> J, m);
      a[k + J] = choose(x << J, y, m);
    }
}

// Bit 31-p of a[e] becomes bit 31-e of a[p], and back. Only the lowest 8 OCTETS planes may have
// ones: small codes have zero high planes, and then a quarter or half of the work is enough. Steps
// of 16 and 8 are permutations of bytes.
template <int OCTETS> FZ_DEV void to_planes(uint32_t (&a)[32]) {
  static_assert(OCTETS == 1 || OCTETS == 2 || OCTETS == 4, "8, 16 or 32 planes");
  constexpr int FIRST = 32 - 8 * OCTETS;
#pragma unroll
  for (int k = 0; k < 16; k++) {
    const uint32_t x = a[k], y = a[k + 16];
    a[k + 16] = __byte_perm(x, y, 0x1054);
    a[k] = OCTETS == 4 ? __byte_perm(x, y, 0x3276) : 0;
  }
#pragma unroll
  for (int h = OCTETS == 4 ? 0 : 16; h < 32; h += 16)
#pragma unroll
    for (int k = h; k < h + 8; k++) {
      const uint32_t x = a[k], y = a[k + 8];
      a[k + 8] = __byte_perm(x, y, 0x2604);
      a[k] = OCTETS >= 2 ? __byte_perm(x, y, 0x3715) : 0;
    }
  exchange_bits<4, FIRST>(a, 0xf0f0f0f0u);
  exchange_bits<2, FIRST>(a, 0xccccccccu);
  exchange_bits<1, FIRST>(a, 0xaaaaaaaau);
}
template <int OCTETS> FZ_DEV void from_planes(uint32_t (&a)[32]) {
  constexpr int FIRST = 32 - 8 * OCTETS;
  exchange_bits<4, FIRST>(a, 0xf0f0f0f0u);
  exchange_bits<2, FIRST>(a, 0xccccccccu);
  exchange_bits<1, FIRST>(a, 0xaaaaaaaau);
#pragma unroll
  for (int h = OCTETS == 4 ? 0 : 16; h < 32; h += 16)
#pragma unroll
    for (int k = h; k < h + 8; k++) {
      const uint32_t x = OCTETS >= 2 ? a[k] : 0, y = a[k + 8];
      a[k + 8] = __byte_perm(x, y, 0x2604);
      a[k] = __byte_perm(x, y, 0x3715);
    }
#pragma unroll
  for (int k = 0; k < 16; k++) {
    const uint32_t x = OCTETS == 4 ? a[k] : 0, y = a[k + 16];
    a[k + 16] = __byte_perm(x, y, 0x1054);
    a[k] = __byte_perm(x, y, 0x3276);
  }
}
}  // namespace fz
