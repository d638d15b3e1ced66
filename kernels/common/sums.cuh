// Look-back over sums of sums, in memory that is zero when the call starts: a state for each block,
// and the sums over 64, 64^2, and 64^3 blocks, each with the number of its terms. A block adds its
// count without waiting; only blocks that need the sum before them look back. The result does not
// depend on the order in which blocks arrive.
//
// Blocks must start in the order of their number, and every block must count and publish.
#pragma once
#include "common/memory.cuh"
#include "common/scan.cuh"

namespace fz {
struct BlockSums {
  // Bits of a state: it is published; the count of the block. Other bits are free.
  static constexpr uint32_t READY = 1u << 31, COUNT = 0x7fff;
  static constexpr uint64_t COUNTED = 1ull << 40, SUM = COUNTED - 1;
  uint64_t* sums[3];
  uint32_t *states, levels;
  FZ_DEV BlockSums(uint64_t memory, uint32_t blocks) : levels(blocks <= 4096 ? 1 : blocks <= 262144 ? 2 : 3) {
    sums[0] = reinterpret_cast<uint64_t*>(memory);
    sums[1] = sums[0] + (blocks + 63) / 64;
    sums[2] = sums[1] + (blocks + 4095) / 4096;
    states = reinterpret_cast<uint32_t*>(sums[2] + (blocks + 262143) / 262144);
  }
  FZ_DEV uint32_t state(uint32_t block) const { return reinterpret_cast<const volatile uint32_t*>(states)[block]; }
  // Adds the count of a block to the sums, by one thread. The atomics return nothing, so the block
  // does not wait for them.
  FZ_DEV void count(uint32_t block, uint32_t state) const {
#pragma unroll
    for (uint32_t level = 0; level < 3; level++)
      if (level < levels) atomicAdd(reinterpret_cast<unsigned long long*>(sums[level]) + (block >> 6 * (level + 1)), (unsigned long long)(COUNTED | (state & COUNT)));
  }
  // Publishes a block and its previous writes, by one thread.
  FZ_DEV void publish(uint32_t block, uint32_t state) const { release(states + block, READY | state); }
  // Publishes a block of which others read nothing else, which needs no release.
  FZ_DEV void publish_inline(uint32_t block, uint32_t state) const { reinterpret_cast<volatile uint32_t*>(states)[block] = READY | state; }
  // True if a sum over 64^(1 + level) blocks has all of its terms.
  static FZ_DEV bool complete(uint64_t sum, int level) { return sum / COUNTED == 1ull << 6 * (level + 1); }
  // The count of a block of an earlier launch.
  FZ_DEV uint32_t counted(uint32_t block) const { return state(block) & COUNT; }
  // The sum of the counts before a block, by a warp, of blocks of an earlier launch.
  FZ_DEV uint64_t counted_before(uint32_t block) const {
    bool there;
    return sum_before(block, there);
  }
  // The same, of this launch: repeated until all states and sums are complete.
  FZ_DEV uint64_t exclusive_prefix(uint32_t block) const {
    uint64_t sum;
    bool there;
    do sum = sum_before(block, there);
    while (!__all_sync(ALL, there));
    return sum;
  }

private:
  // The sum before a block as far as it has been published, in all lanes of a warp. All loads are
  // issued at once.
  FZ_DEV uint64_t sum_before(uint32_t block, bool& there) const {
    const uint32_t lane = threadIdx.x & 31, of64 = block >> 6, of4096 = block >> 12;
    uint64_t sum = 0;
    there = true;
#pragma unroll
    for (uint32_t i = 0; i < 64; i += 32) {
      const uint32_t a = (block & ~63u) + lane + i, b = (of64 & ~63u) + lane + i, c = (of4096 & ~63u) + lane + i;
      const uint32_t x = a < block ? state(a) : READY;
      const uint64_t y = b < of64 ? peek(sums[0] + b) : 64 * COUNTED, z = c < of4096 ? peek(sums[1] + c) : 4096 * COUNTED;
      there = there && (x & READY) && complete(y, 0) && complete(z, 1);
      sum += (x & COUNT) + (y & SUM) + (z & SUM);
    }
#pragma unroll 1
    for (uint32_t i = lane; i < block >> 18; i += 32) {
      const uint64_t x = peek(sums[2] + i);
      there = there && complete(x, 2);
      sum += x & SUM;
    }
    sum = warp_sum_to(sum);
    return __shfl_sync(ALL, sum, 31);
  }
};
}  // namespace fz
