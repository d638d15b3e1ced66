// Stage multilevel, decoder: reads sets of tables, by the rules of src/stages/multilevel/tables.rs.
#pragma once
#include "multilevel/quantize.cuh"
#include "multilevel/stream.cuh"
#include "multilevel/table.cuh"

namespace fz {
namespace multilevel {
// The frequencies of a set, before the tables by slots are filled.
struct ReadSet {
  uint16_t of[TABLES][SYMBOLS];
  uint32_t begins, tables;
  // One thread must call the function, which returns false if the bits are no set.
  FZ_DEV bool read(BitReader& bits) {
    begins = bits.take(CONTEXTS - 1);
    tables = __popc(begins) + 1;
    if (tables > TABLES) return false;
    for (uint32_t k = 0; k < tables; k++)
      if (!read_table(bits, of[k])) return false;
    return !bits.bad;
  }
  FZ_DEV static bool read_table(BitReader& bits, uint16_t (&f)[SYMBOLS]) {
    const uint32_t entries = bits.take(6) + 1, rest = bits.take(6);
    if (rest >= entries) return false;
    uint32_t sum = 0, expected[2] = {FIRST_NUMBER, FIRST_NUMBER};
    for (uint32_t i = 0; i < SYMBOLS; i++) {
      f[i] = 0;
      if (i >= entries || i == rest) continue;
      const uint32_t v = bits.number();
      if (bits.bad) return false;
      if (v == 0) continue;
      const uint32_t z = v - 1, k = expected[i % 2] + (uint32_t)((int32_t)(z >> 1) ^ -(int32_t)(z & 1));
      if (k == 0 || k >= NUMBERS) return false;
      expected[i % 2] = k;
      if (i == 0) expected[1] = k;
      f[i] = (uint16_t)frequency_of(k);
      sum += f[i];
    }
    if (sum >= ONE) return false;
    f[rest] = (uint16_t)(ONE - sum);
    return true;
  }
  // All threads of a block must call the function.
  FZ_DEV void fill(DecoderSet& set) const {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (threadIdx.x < CONTEXTS) set.place[threadIdx.x] = (uint16_t)(sizeof(DecoderTable) * __popc(begins & ((1u << threadIdx.x) - 1)));
    if (threadIdx.x == 0) set.tables = tables;
    for (uint32_t k = warp; k < tables; k += blockDim.x >> 5) {
      const Entries e = with_sums(of[k][lane], of[k][32 + lane]);
      for (uint32_t half = 0; half < 2; half++) {
        const uint32_t f = e.f[half], before = e.before[half], s = 32 * half + lane;
        set.of[k].entries[s] = decoder_entry(f, before, s < PATTERN ? raw_bits(s, 0) : LONG);
        // The units of 16 slots whose first slot is one of this symbol.
        if (f)
          for (uint32_t unit = (before + 15) / 16; unit * 16 < before + f; unit++) set.of[k].first[unit] = (uint8_t)s;
      }
    }
  }
};
}  // namespace multilevel
}  // namespace fz
