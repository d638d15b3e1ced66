// Stage multilevel: encodes one run from its last step to its first, by the rules of src/stages/multilevel/rans.rs. A warp
// has the 32 states.
#pragma once
#include "common/coder.cuh"
#include "multilevel/num.cuh"

namespace fz {
namespace multilevel {
constexpr uint32_t ONE_SLOT = 1u << FREQUENCY_BITS;
// The length of the shortest lane is in the first word if it is below this number.
constexpr uint32_t ESCAPE = 2047;
// The largest number of words before the codes of a run, in pairs.
constexpr uint32_t HEAD_PAIRS = 65;

// Words are written downward from `end`. Words beyond the room are only counted.
template <bool ANYWHERE> struct RunEncoder {
  uint8_t* end;
  // The room in words, the number of words of all lanes and of this lane, and its state.
  uint32_t room, words, own, x;
  // A mask of the lanes before this one.
  uint32_t lanes;
  FZ_DEV RunEncoder(uint8_t* of_end, uint32_t of_room) : end(kept(of_end)), room(of_room), words(0), own(0), x(0), lanes(kept((1u << (threadIdx.x & 31)) - 1)) {}

  // Writes a word at a place that is `before` words before the end.
  FZ_DEV void put(uint32_t before, uint32_t word) const {
    uint8_t* to = end + (int64_t)(int32_t)before * -2;
    if (ANYWHERE) store<uint16_t>(to, (uint16_t)word);
    else *reinterpret_cast<uint16_t*>(to) = (uint16_t)word;
  }
  // Writes a word of the lanes whose `value` is at least `limit`.
  FZ_DEV void emit(uint32_t value, uint32_t limit) {
#ifndef FZ_EMULATED
    if constexpr (!ANYWHERE) {
      // The compiler would require half as many instructions more.
      asm volatile(
          "{\n"
          ".reg .pred need, fits;\n"
          ".reg .b32 who, mine;\n"
          ".reg .b64 to;\n"
          ".reg .b16 word;\n"
          "setp.ge.u32 need, %3, %4;\n"
          "vote.sync.ballot.b32 who, need, 0xffffffff;\n"
          "and.b32 mine, who, %6;\n"
          "popc.b32 who, who;\n"
          "add.u32 %0, %0, who;\n"
          "setp.le.and.u32 fits, %0, %5, need;\n"
          "popc.b32 mine, mine;\n"
          "sub.u32 mine, %0, mine;\n"
          "mad.wide.s32 to, mine, -2, %7;\n"
          "cvt.u16.u32 word, %1;\n"
          "@fits st.global.u16 [to], word;\n"
          "@need shr.u32 %1, %1, 16;\n"
          "@need add.u32 %2, %2, 1;\n"
          "}"
          : "+r"(words), "+r"(x), "+r"(own)
          : "r"(value), "r"(limit), "r"(room), "r"(lanes), "l"(__cvta_generic_to_global(end))
          : "memory");
      return;
    }
#endif
    const bool need = value >= limit;
    const uint32_t who = __ballot_sync(ALL, need);
    words += __popc(who);
    if (need && words <= room) put(words - __popc(who & lanes), x & 0xffff);
    x = need ? x >> 16 : x;
    own = need ? own + 1 : own;
  }
  // Encodes a symbol, by its entry in the table of an encoder. Nothing changes if the entry is 0.
  FZ_DEV void symbol(uint2 e) {
    const uint32_t rest = e.y & (ONE_SLOT - 1);
    emit((x >> (32 - FREQUENCY_BITS)) + rest, ONE_SLOT);
    const uint32_t q = __umulhi(x + (e.x >> 31), e.x | 1u << 31) >> (e.y >> 28);
    x += (e.y >> FREQUENCY_BITS & (ONE_SLOT - 1)) + q * rest;
  }
  FZ_DEV void symbol(uint2 e, bool live) { symbol(make_uint2(e.x, live ? e.y : 0)); }
  // Encodes `count` bits, at most 16.
  FZ_DEV void bits(uint32_t count, uint32_t value) {
    emit(count ? x >> (32 - count) : 0, 1);
    x = count ? x << count | value : x;
  }
  // Writes lengths and states before the words, through shared memory of the warp. Returns the number of words of the run.
  FZ_DEV uint32_t finish(uint32_t* pairs) {
    const uint32_t lane = threadIdx.x & 31, bits = 32 - __clz((int)x), length = 16 * own + bits, mine = bits > 0 ? bits - 1 : 0;
    const uint32_t least = __reduce_min_sync(ALL, length), most = __reduce_max_sync(ALL, length), width = 32 - __clz((int)(most - least));
    const uint32_t upto = warp_sum_to(mine), all = __shfl_sync(ALL, upto, 31);
    for (uint32_t i = lane; i < HEAD_PAIRS; i += 32) pairs[i] = 0;
    __syncwarp();
    auto join = [&](uint32_t at, uint32_t value) {
      const uint64_t v = (uint64_t)value << at % 32;
      if ((uint32_t)v) atomicOr(&pairs[at / 32], (uint32_t)v);
      if (v >> 32) atomicOr(&pairs[at / 32 + 1], (uint32_t)(v >> 32));
    };
    const uint32_t first = least < ESCAPE ? 16 : 48;
    if (lane == 0) join(0, width | min(least, ESCAPE) << 5);
    if (lane == 0 && least >= ESCAPE) join(16, least);
    join(first + lane * width, length - least);
    if (mine) join(first + 32 * width + upto - mine, x & ((1u << mine) - 1));
    __syncwarp();
    const uint32_t head = (first + 32 * width + all + 15) / 16;
    words += head;
    if (words <= room)
      for (uint32_t i = lane; i < head; i += 32) put(words - i, pairs[i / 2] >> 16 * (i % 2));
    __syncwarp();
    return words;
  }
};
}  // namespace multilevel
}  // namespace fz
