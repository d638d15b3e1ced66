// Stage ans: the stream. 32 interleaved states code the bytes of a block: a warp has a block, a
// lane a state.
#pragma once
#include "ans/params.h"
#include "common/coder.cuh"

namespace fz {
namespace ans {
// The sum of all weights.
constexpr uint32_t ONE = 1u << PROBABILITY_BITS;

struct AnsForm {
  uint64_t bytes, sizes_at, words_at;
  uint32_t blocks;
  FZ_DEV AnsForm(uint64_t n) : bytes(n), blocks((uint32_t)((n + BLOCK - 1) / BLOCK)) {
    sizes_at = STATES_AT + 128ull * blocks;
    words_at = sizes_at + 8ull * (blocks + (blocks & 1));
  }
  FZ_DEV uint32_t size(uint32_t block) const { return (uint32_t)least(bytes - (uint64_t)block * BLOCK, BLOCK); }
};
FZ_DEV uint32_t ans_room(uint32_t words) { return (words + WORD_UNIT - 1) / WORD_UNIT * WORD_UNIT; }
}  // namespace ans
}  // namespace fz
