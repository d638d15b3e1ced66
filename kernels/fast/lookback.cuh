// Stage fast: look-back between the blocks of an encoder, in memory that is zero when the call
// starts.
#pragma once
#include "common/sums.cuh"
#include "fast/blocks.cuh"

namespace fz {
namespace fast {
// The state of a chunk: flags, and its number of words, which is summed.
enum : uint32_t { READY = 1u << 31, COPIED = 1u << 30, IS_RAW = 1u << 29, IS_CONSTANT = 1u << 28, IS_REFERENCED = 1u << 27, WORDS = 0x7fff };
static_assert(READY == BlockSums::READY && WORDS == BlockSums::COUNT, "as in sums.cuh");
struct LookbackState : BlockSums {
  static_assert(sizeof(uint64_t) == SUM_BYTES && sizeof(uint32_t) == STATE_BYTES, "as in Rust");
  FZ_DEV LookbackState(const Args& a, const Params& p) : BlockSums(a.zeroed, p.chunks) {}
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
