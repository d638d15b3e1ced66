// Stage Fast: what the blocks of an encoder tell each other, in memory that is zero when the call starts.
#pragma once
#include "fast.cuh"

namespace fz {
namespace fast {
// Slots; chunks between the making of one and its copying; up to so many chunks the groups are small; up to so many there are
// neither groups nor slots. As in src/stages/fast/device.rs.
constexpr uint32_t RING = 2048, LAG = 768, SMALL_GROUPS = 2048, FEW = 256;

// Of each chunk a word; and sums over 64, 64^2 and 64^3 chunks, each with the number of what it sums up.
enum : uint32_t { READY = 1u << 31, COPIED = 1u << 30, IS_RAW = 1u << 29, IS_CONSTANT = 1u << 28, ANCHORED = 1u << 27, WORDS = 0x7fff };
constexpr uint64_t COUNTED = 1ull << 56, SUM = COUNTED - 1;
struct Board {
  uint64_t* sums[3];
  uint32_t *chunks, *far;
  FZ_DEV Board(const Args& a, const Params& p) {
    sums[0] = reinterpret_cast<uint64_t*>(a.zeroed);
    sums[1] = sums[0] + (p.chunks + 63) / 64;
    sums[2] = sums[1] + (p.chunks + 4095) / 4096;
    chunks = reinterpret_cast<uint32_t*>(sums[2] + (p.chunks + 262143) / 262144);
    far = chunks + p.chunks;
  }
  // Chunks that took a register for each code. Where they are many, nobody tries anything else first: what is lost by a try is about a
  // quarter of the time that a chunk takes.
  FZ_DEV void count_far() const { atomicAdd(far, 1u); }
  FZ_DEV bool mostly_near(uint32_t chunk) const { return *reinterpret_cast<const volatile uint32_t*>(far) <= 32 + chunk / 8; }
  FZ_DEV uint32_t state(uint32_t chunk) const { return reinterpret_cast<const volatile uint32_t*>(chunks)[chunk]; }
  // By one thread, when the words of the chunk are there.
  FZ_DEV void say(uint32_t chunk, uint32_t state) const {
    reinterpret_cast<volatile uint32_t*>(chunks)[chunk] = READY | state;
    unsigned long long add = COUNTED | (state & WORDS);
    for (int level = 0, shift = 6; level < 3; level++, shift += 6) {
      const unsigned long long now = atomicAdd(reinterpret_cast<unsigned long long*>(sums[level]) + (chunk >> shift), add) + add;
      if (now >> 56 != 64) return;
      add = COUNTED | (now & SUM);
    }
  }
  // Words before a chunk, by a warp. All that is needed is asked for at once, and again where it is not there yet.
  FZ_DEV uint64_t before(uint32_t chunk) const {
    const uint32_t lane = threadIdx.x & 31, tens = chunk >> 6, hundreds = chunk >> 12;
    uint64_t sum;
    bool there;
    do {
      sum = 0;
      there = true;
#pragma unroll
      for (uint32_t i = 0; i < 64; i += 32) {
        const uint32_t a = (chunk & ~63u) + lane + i, b = (tens & ~63u) + lane + i, c = (hundreds & ~63u) + lane + i;
        const uint32_t x = a < chunk ? state(a) : (uint32_t)READY;
        const uint64_t y = b < tens ? peek(sums[0] + b) : 64 * COUNTED, z = c < hundreds ? peek(sums[1] + c) : 64 * COUNTED;
        there = there && (x & READY) && y >> 56 == 64 && z >> 56 == 64;
        sum += (x & WORDS) + (y & SUM) + (z & SUM);
      }
#pragma unroll 1
      for (uint32_t i = lane; i < chunk >> 18; i += 32) {
        const uint64_t x = peek(sums[2] + i);
        there = there && x >> 56 == 64;
        sum += x & SUM;
      }
    } while (!__all_sync(ALL, there));
    sum = warp_sum_to(sum);
    return __shfl_sync(ALL, sum, 31);
  }
};

// Where there are few chunks, their words are all there is.
struct ShortBoard {
  volatile uint32_t* chunks;
  FZ_DEV explicit ShortBoard(const Args& a) : chunks(reinterpret_cast<volatile uint32_t*>(a.zeroed)) {}
  // By one thread, when it is known how many words the chunk has: nothing else goes by way of other blocks.
  FZ_DEV void say(uint32_t chunk, uint32_t words) const { chunks[chunk] = READY | words; }
  // Words before a chunk, by a warp: of all chunks at once, and of those again that have not said anything.
  FZ_DEV uint32_t before(uint32_t chunk) const {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t x[FEW / 32], ready, sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < FEW / 32; i++) x[i] = lane + 32 * i < chunk ? 0 : (uint32_t)READY;
    do {
      ready = READY;
#pragma unroll
      for (uint32_t i = 0; i < FEW / 32; i++) if (!x[i]) x[i] = chunks[lane + 32 * i];
#pragma unroll
      for (uint32_t i = 0; i < FEW / 32; i++) ready &= x[i];
    } while (!__all_sync(ALL, ready));
#pragma unroll
    for (uint32_t i = 0; i < FEW / 32; i++) sum += x[i] & WORDS;
    return __reduce_add_sync(ALL, sum);
  }
};
}  // namespace fast
}  // namespace fz
