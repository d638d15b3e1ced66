// Stage multilevel: one table of frequencies, by the rules of src/stages/multilevel/tables.rs.
#pragma once
#include "multilevel/log2.cuh"

namespace fz {
namespace multilevel {
constexpr uint32_t ONE = 1u << FREQUENCY_BITS;
// The number that the first entries of a table are relative to. All numbers are below NUMBERS.
constexpr uint32_t FIRST_NUMBER = 40, NUMBERS = 52;

// The number of the frequency nearest to `t` among those that have numbers, or of the largest one that is at most `t`.
FZ_DEV uint32_t number_of(uint32_t t, bool nearest) {
  if (t < 8) return t;
  const uint32_t e = 29 - __clz((int)t), half = nearest ? (1u << e) >> 1 : 0;
  return 4 * e + ((t + half) >> e);
}
FZ_DEV uint32_t frequency_of(uint32_t number) { return number < 8 ? number : (4 + number % 4) << (number / 4 - 1); }

// The part of a table that a lane has: symbols `lane` and 32 + `lane`.
struct Entries {
  uint32_t f[2], before[2];
};
FZ_DEV Entries with_sums(uint32_t f0, uint32_t f1) {
  const uint32_t lane = threadIdx.x & 31;
  Entries e = {{f0, f1}, {0, 0}};
  const uint32_t a = warp_sum_to(f0), b = warp_sum_to(f1), all = __shfl_sync(ALL, a, 31);
  e.before[0] = a - f0;
  e.before[1] = all + b - f1;
  (void)lane;
  return e;
}

// A table that a warp computes from counts.
struct MadeTable {
  Entries e;
  uint32_t number[2], entries, rest;
  FZ_DEV MadeTable(uint64_t a, uint64_t b) {
    const uint32_t lane = threadIdx.x & 31;
    const uint64_t n = warp_total(a + b);
    const uint32_t high = __ballot_sync(ALL, b > 0), low = __ballot_sync(ALL, a > 0);
    entries = high ? 64 - __clz((int)high) : low ? 32 - __clz((int)low) : 1;
    uint64_t most = a > b ? a : b;
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) {
      const uint64_t other = __shfl_xor_sync(ALL, most, d);
      most = most > other ? most : other;
    }
    const uint32_t in_low = __ballot_sync(ALL, a == most), in_high = __ballot_sync(ALL, b == most);
    rest = in_low ? __ffs((int)in_low) - 1 : 31 + __ffs((int)in_high);
    for (uint32_t nearest = 2; nearest-- > 0;) {
      auto number_for = [&](uint64_t c) -> uint32_t {
        if (c == 0) return 0;
        const uint32_t t = (uint32_t)(((c << FREQUENCY_BITS) + (nearest ? n / 2 : 0)) / n);
        return number_of(t > 0 ? t : 1, nearest);
      };
      number[0] = number_for(a);
      number[1] = number_for(b);
      e.f[0] = lane == rest ? 0 : frequency_of(number[0]);
      e.f[1] = 32 + lane == rest ? 0 : frequency_of(number[1]);
      const uint32_t sum = __reduce_add_sync(ALL, e.f[0] + e.f[1]);
      if (lane == rest) e.f[0] = ONE - sum;
      if (32 + lane == rest) e.f[1] = ONE - sum;
      if (sum < ONE) break;
    }
    e = with_sums(e.f[0], e.f[1]);
  }
  // Returns the bits of an entry of this lane: their number and their value. All lanes must call the function.
  FZ_DEV void code(int half, uint32_t& bits, uint64_t& value) const {
    const uint32_t lane = threadIdx.x & 31, i = 32 * half + lane;
    // The entries with a number above 0, as bits.
    const uint32_t low = __ballot_sync(ALL, number[0] > 0 && lane != rest), high = __ballot_sync(ALL, number[1] > 0 && 32 + lane != rest);
    const uint64_t some = (uint64_t)high << 32 | low, before = some & (i & 1 ? 0xaaaaaaaaaaaaaaaaull : 0x5555555555555555ull) & ((1ull << i) - 1);
    const bool known = before != 0 || (i > 0 && (some & 1));
    const uint32_t j = before ? 63 - __clzll((long long)before) : 0;
    const uint32_t a = __shfl_sync(ALL, number[0], j & 31), b = __shfl_sync(ALL, number[1], j & 31);
    const int d = (int)number[half] - (int)(known ? j < 32 ? a : b : FIRST_NUMBER);
    const uint32_t v = number[half] ? ((uint32_t)d << 1 ^ (uint32_t)(d >> 31)) + 1 : 0;
    bits = i < entries && i != rest ? v / 4 + 3 : 0;
    value = bits ? ((1ull << (v / 4)) - 1) | (uint64_t)(v % 4) << (v / 4 + 1) : 0;
  }
};

// The entry of a symbol for an encoder, whose states x are below 2^18 f. With 2^k < f <= 2^(k+1), or k = 0 if f = 1, the quotient x / f is
// (x + one) m / 2^(32+k). `one` is 0 if m is the next integer of 2^(32+k) / f, and 1 if m is the integer before. One of the two
// integers differs from it by at most 1/2, so the error of the quotient is below 1 / f. m is at least 2^31, so its highest bit contains
// `one` instead. The second word is 2^14 - f, and from bit 14 on the sum before, and from bit 28 on k. The entry of a symbol that does
// not occur is 0.
FZ_DEV uint2 encoder_entry(uint32_t f, uint32_t before) {
  if (f == 0) return make_uint2(0, 0);
  const uint32_t k = f > 1 ? 31 - __clz((int)(f - 1)) : 0;
  const uint64_t all = 1ull << (32 + k);
  uint64_t m = (all - 1) / f + 1;
  const uint64_t above = m * f - all, limit = (uint64_t)f << 18;
  const bool one = f == 1 || above * limit > all;
  if (one) m--;
  return make_uint2((uint32_t)m << 1 >> 1 | (one ? 1u << 31 : 0), (ONE - f) | before << 14 | k << 28);
}
// The entry of a symbol for a decoder: the frequency - 1, from bit 14 on the raw bits of the token, and from bit 18 on the sum before.
// A symbol that does not occur seems to end before every slot that a search looks for behind it.
constexpr uint32_t LONG = 15;
FZ_DEV uint32_t decoder_entry(uint32_t f, uint32_t before, uint32_t raw) {
  const uint32_t start = f ? before : before - 1;
  return (f ? f - 1 : 0) | min(raw, LONG) << FREQUENCY_BITS | start << (4 + FREQUENCY_BITS);
}
}  // namespace multilevel
}  // namespace fz
