// Stage fast: look-back between the blocks of an encoder, in memory that is zero when the call
// starts.
#pragma once
#include "fast/blocks.cuh"

namespace fz {
namespace fast {
// The state of a chunk: flags and its number of words. Sums over 64, 64^2, and 64^3 chunks, each
// with the number of its terms.
enum : uint32_t { READY = 1u << 31, COPIED = 1u << 30, IS_RAW = 1u << 29, IS_CONSTANT = 1u << 28, IS_REFERENCED = 1u << 27, WORDS = 0x7fff };
constexpr uint64_t COUNTED = 1ull << 40, SUM = COUNTED - 1;
struct LookbackState {
  static_assert(sizeof(uint64_t) == SUM_BYTES && sizeof(uint32_t) == STATE_BYTES, "as in Rust");
  uint64_t* sums[3];
  uint32_t *chunks, levels;
  FZ_DEV LookbackState(const Args& a, const Params& p) : levels(p.chunks <= 4096 ? 1 : p.chunks <= 262144 ? 2 : 3) {
    sums[0] = reinterpret_cast<uint64_t*>(a.zeroed);
    sums[1] = sums[0] + (p.chunks + 63) / 64;
    sums[2] = sums[1] + (p.chunks + 4095) / 4096;
    chunks = reinterpret_cast<uint32_t*>(sums[2] + (p.chunks + 262143) / 262144);
  }
  FZ_DEV uint32_t state(uint32_t chunk) const { return reinterpret_cast<const volatile uint32_t*>(chunks)[chunk]; }
  // Adds the words of a chunk to the sums, by one thread. The atomics return nothing, so the block
  // does not wait for them.
  FZ_DEV void count(uint32_t chunk, uint32_t state) const {
#pragma unroll
    for (uint32_t level = 0; level < 3; level++)
      if (level < levels) atomicAdd(reinterpret_cast<unsigned long long*>(sums[level]) + (chunk >> 6 * (level + 1)), (unsigned long long)(COUNTED | (state & WORDS)));
  }
  // Publishes a chunk whose words are in its slot, by one thread.
  FZ_DEV void publish(uint32_t chunk, uint32_t state) const { release(chunks + chunk, READY | state); }
  // Publishes a chunk without words in a slot, which needs no release.
  FZ_DEV void publish_inline(uint32_t chunk, uint32_t state) const { reinterpret_cast<volatile uint32_t*>(chunks)[chunk] = READY | state; }
  // Whether a sum over 64^(1 + level) chunks has all of its terms.
  static FZ_DEV bool complete(uint64_t sum, int level) { return sum / COUNTED == 1ull << 6 * (level + 1); }
  // Words before a chunk, by a warp. All loads are issued at once, and repeated until all states
  // and sums are complete.
  FZ_DEV uint64_t exclusive_prefix(uint32_t chunk) const {
    const uint32_t lane = threadIdx.x & 31, of64 = chunk >> 6, of4096 = chunk >> 12;
    uint64_t sum;
    bool there;
    do {
      sum = 0;
      there = true;
#pragma unroll
      for (uint32_t i = 0; i < 64; i += 32) {
        const uint32_t a = (chunk & ~63u) + lane + i, b = (of64 & ~63u) + lane + i, c = (of4096 & ~63u) + lane + i;
        const uint32_t x = a < chunk ? state(a) : (uint32_t)READY;
        const uint64_t y = b < of64 ? peek(sums[0] + b) : 64 * COUNTED, z = c < of4096 ? peek(sums[1] + c) : 4096 * COUNTED;
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

// Look-back of up to SMALL_CHUNKS chunks: their states alone.
struct SmallLookbackState {
  volatile uint32_t* chunks;
  FZ_DEV explicit SmallLookbackState(const Args& a) : chunks(reinterpret_cast<volatile uint32_t*>(a.zeroed)) {}
  // Publishes the number of words of a chunk, by one thread.
  FZ_DEV void publish(uint32_t chunk, uint32_t words) const { chunks[chunk] = READY | words; }
  // Words before a chunk, by a warp: all states at once, and again those that are not published
  // yet.
  FZ_DEV uint32_t exclusive_prefix(uint32_t chunk) const {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t x[SMALL_CHUNKS / 32], ready, sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < SMALL_CHUNKS / 32; i++) x[i] = lane + 32 * i < chunk ? 0 : (uint32_t)READY;  // seed: fast-few-before
    do {
      ready = READY;
#pragma unroll
      for (uint32_t i = 0; i < SMALL_CHUNKS / 32; i++) if (!x[i]) x[i] = chunks[lane + 32 * i];
#pragma unroll
      for (uint32_t i = 0; i < SMALL_CHUNKS / 32; i++) ready &= x[i];
    } while (!__all_sync(ALL, ready));
#pragma unroll
    for (uint32_t i = 0; i < SMALL_CHUNKS / 32; i++) sum += x[i] & WORDS;
    return __reduce_add_sync(ALL, sum);
  }
};
}  // namespace fast
}  // namespace fz
