// Stage multilevel, encoder: writes parts of a section.
#pragma once
#include "multilevel/memory.cuh"

namespace fz {
namespace multilevel {
// Copies words to any place of the output, by consecutive lanes of a warp, at least 8.
template <uint32_t LANES = 32> FZ_DEV void copy_run(const Out& out, uint64_t at, const uint16_t* from, uint32_t words) {
  const uint32_t lane = threadIdx.x % LANES;
  uint8_t* to = out.at + at;
  if (at + 2ull * words > out.max || !aligned(to, 2)) {
    for (uint32_t i = lane; i < words; i += LANES) out.put<uint16_t>(at + 2ull * i, from[i]);
    return;
  }
  uint16_t* w = reinterpret_cast<uint16_t*>(to);
  // The words before the first 16 bytes that are aligned, these, and the other ones.
  const uint32_t first = min(words, (uint32_t)(-(intptr_t)to & 15) / 2), wide = (words - first) / 8, done = first + 8 * wide;
  if (lane < first) w[lane] = from[lane];
  if (lane < words - done) w[done + lane] = from[done + lane];
  const uint32_t odd = aligned(from + first, 4) ? 0 : 1;
  const uint32_t* pairs = reinterpret_cast<const uint32_t*>(from + first - odd);
#pragma unroll 2
  for (uint32_t i = lane; i < wide; i += LANES) {
    uint32_t own[5];
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) own[k] = pairs[4 * i + k];
    own[4] = odd ? from[first + 8 * i + 7] : 0;
    if (odd)
#pragma unroll
      for (uint32_t k = 0; k < 4; k++) own[k] = own[k] >> 16 | own[k + 1] << 16;
    *reinterpret_cast<uint4*>(w + first + 8 * i) = make_uint4(own[0], own[1], own[2], own[3]);
  }
}

// A warp writes a part of the words of a section before its runs. `sizes` are those of its mask runs and runs.
FZ_DEV void put_section_head(const Out& out, uint64_t at, const Coding& c, const uint32_t* sizes, const EncoderSet& tokens, const EncoderSet& masks, uint32_t part = 0, uint32_t parts = 1) {
  const uint32_t lane = 32 * part + (threadIdx.x & 31);
  auto put = [&](uint32_t i, uint32_t word) { out.put<uint16_t>(at + 2ull * i, (uint16_t)word); };
  uint32_t next = c.has_masks ? 4 : 2;
  if (lane == 0) {
    put(0, c.width | c.has_masks << 5 | c.code << 8);
    put(1, c.table_words);
    if (c.has_masks) {
      put(2, c.steps & 0xffff);
      put(3, c.steps >> 16);
    }
  }
  const uint32_t count = c.mask_runs + c.runs, words = (uint32_t)(((uint64_t)count * c.width + 15) / 16);
  for (uint32_t i = lane; i < words; i += 32 * parts) {
    // The sizes that have bits in this word.
    const uint64_t from = 16ull * i, end = from + 16;
    uint32_t word = 0;
    for (uint64_t k = from / c.width; k < count && k * c.width < end; k++) {
      const uint64_t bit = k * c.width;
      word |= bit >= from ? sizes[k] << (bit - from) : sizes[k] >> (from - bit);
    }
    put(next + i, word);
  }
  next += words;
  for (uint32_t i = lane; i < c.table_words; i += 32 * parts) {
    uint32_t word = 16 * i < tokens.bits ? tokens.words[i / 2] >> 16 * (i % 2) & 0xffff : 0;
    if (c.has_masks && 16 * i + 16 > tokens.bits) {
      // The bits of the second set from this word on, which follow those of the first set.
      const int64_t bit = (int64_t)16 * i - tokens.bits;
      const uint32_t first = bit > 0 ? (uint32_t)bit : 0, shift = bit > 0 ? 0 : (uint32_t)-bit;
      const uint64_t two = masks.words[first / 32] | (uint64_t)(first / 32 + 1 < SET_WORDS ? masks.words[first / 32 + 1] : 0) << 32;
      word |= (uint32_t)(two >> first % 32) << shift;
    }
    put(next + i, word);
  }
}
}  // namespace multilevel
}  // namespace fz
