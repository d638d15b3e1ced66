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
constexpr uint64_t COUNTED = 1ull << 40, SUM = COUNTED - 1;
struct Board {
  uint64_t* sums[3];
  uint32_t *chunks, levels;
  FZ_DEV Board(const Args& a, const Params& p) : levels(p.chunks <= 4096 ? 1 : p.chunks <= 262144 ? 2 : 3) {
    sums[0] = reinterpret_cast<uint64_t*>(a.zeroed);
    sums[1] = sums[0] + (p.chunks + 63) / 64;
    sums[2] = sums[1] + (p.chunks + 4095) / 4096;
    chunks = reinterpret_cast<uint32_t*>(sums[2] + (p.chunks + 262143) / 262144);
  }
  FZ_DEV uint32_t state(uint32_t chunk) const { return reinterpret_cast<const volatile uint32_t*>(chunks)[chunk]; }
  // By one thread, when it is known how many words the chunk has. Nobody waits for what the sums come to, which would keep the place of
  // the block from the next one.
  FZ_DEV void count(uint32_t chunk, uint32_t state) const {
#pragma unroll
    for (uint32_t level = 0; level < 3; level++)
      if (level < levels) atomicAdd(reinterpret_cast<unsigned long long*>(sums[level]) + (chunk >> 6 * (level + 1)), (unsigned long long)(COUNTED | (state & WORDS)));
  }
  // By one thread, when they are there.
  FZ_DEV void say(uint32_t chunk, uint32_t state) const { release(chunks + chunk, READY | state); }
  // The same of a chunk that has left nothing behind.
  FZ_DEV void say_alone(uint32_t chunk, uint32_t state) const { reinterpret_cast<volatile uint32_t*>(chunks)[chunk] = READY | state; }
  // Whether a sum over 64^(1 + level) chunks is there.
  static FZ_DEV bool complete(uint64_t sum, int level) { return sum / COUNTED == 1ull << 6 * (level + 1); }
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
        const uint64_t y = b < tens ? peek(sums[0] + b) : 64 * COUNTED, z = c < hundreds ? peek(sums[1] + c) : 4096 * COUNTED;
        there = there && (x & READY) && complete(y, 0) && complete(z, 1);
        sum += (x & WORDS) + (y & SUM) + (z & SUM);
      }
#pragma unroll 1
      for (uint32_t i = lane; i < chunk >> 18; i += 32) {
        const uint64_t x = peek(sums[2] + i);
        there = there && complete(x, 2);
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
