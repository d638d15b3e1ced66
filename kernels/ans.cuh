// ANS: the stream. 32 states take turns with the bytes of a block; one warp has a block, one lane a state.
#pragma once
#include "coder.cuh"

namespace fz {
constexpr uint32_t ANS_BLOCK = 4096, ANS_BITS = 10, ANS_ONE = 1u << ANS_BITS, ANS_START = 1u << 15, ANS_MAGIC = 0xd00d0001u;
// Most words of a block, and where those of the next one may start.
constexpr uint32_t ANS_WORDS = 2560, ANS_UNIT = 8;
constexpr uint32_t ANS_HEAD = 32, ANS_STATES = 544;

struct AnsForm {
  uint64_t bytes, sizes_at, words_at;
  uint32_t blocks;
  FZ_DEV AnsForm(uint64_t n) : bytes(n), blocks((uint32_t)((n + ANS_BLOCK - 1) / ANS_BLOCK)) {
    sizes_at = ANS_STATES + 128ull * blocks;
    words_at = sizes_at + 8ull * (blocks + (blocks & 1));
  }
  FZ_DEV uint32_t size(uint32_t block) const { return (uint32_t)least(bytes - (uint64_t)block * ANS_BLOCK, ANS_BLOCK); }
};
FZ_DEV uint32_t ans_room(uint32_t words) { return (words + ANS_UNIT - 1) / ANS_UNIT * ANS_UNIT; }
}  // namespace fz
