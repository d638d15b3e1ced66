// Stage multilevel: definitions for encoder and decoder of differences.
#pragma once
#include "multilevel/memory.cuh"

namespace fz {
namespace multilevel {
// Elements of a chunk: exact values are counted, and differences are summed, chunk by chunk.
constexpr uint32_t CHUNK = 2048;

// The number of words of the list of exact values: their number, indices, and values.
FZ_DEV uint64_t list_words(uint64_t count, const MultilevelParams& p) { return 2 + count * (2 + p.value / 2); }

// The consecutive chunks of a block.
struct Chunks {
  uint32_t first, end;
  FZ_DEV explicit Chunks(uint32_t n) {
    const uint32_t all = (n + CHUNK - 1) / CHUNK, each = (all + gridDim.x - 1) / gridDim.x;
    first = min(all, blockIdx.x * each);
    end = min(all, first + each);
  }
};
}  // namespace multilevel
}  // namespace fz
