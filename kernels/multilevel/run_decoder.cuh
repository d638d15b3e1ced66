// Stage multilevel: a run, decoded from its start on, as src/stages/multilevel/rans.rs. A warp has 32
// states.
#pragma once
#include "multilevel/quantize.cuh"
#include "multilevel/run_encoder.cuh"
#include "multilevel/stream.cuh"
#include "multilevel/table.cuh"

namespace fz {
namespace multilevel {
// Words that are on their way to a warp.
constexpr uint32_t RING = 128;
struct RunRing {
  uint16_t words[RING];
};

struct RunDecoder {
  uint32_t x;
  // Words that this lane will read.
  uint32_t left;
  Shared<RunRing> ring;
  // The lanes before this one.
  uint32_t lanes;
  // Words read, and words that have been in the ring; the two words of this lane behind them, and where the next two are.
  uint32_t at, filled, ahead;
  const uint8_t* from;
  // Words from `from` to the end of the run, if positive.
  int32_t rest;
  bool bad;

  FZ_DEV RunDecoder(const Words& run, RunRing& of_ring) : x(0), left(0), ring(of_ring), lanes(kept((1u << (threadIdx.x & 31)) - 1)), at(0), filled(0), bad(false) {
    const uint32_t lane = threadIdx.x & 31, head = run[0], width = head & 31;
    uint32_t least = head >> 5, first = 16;
    if (least == ESCAPE) {
      least = run.two(1);
      first = 48;
    }
    const uint64_t length = (uint64_t)least + run.bits(first + (uint64_t)lane * width, width);
    left = length > 32 ? (uint32_t)((length - 32 + 15) / 16) : 0;
    const uint32_t bits = (uint32_t)(length - 16ull * left), mine = bits > 0 ? bits - 1 : 0;
    const uint32_t upto = warp_sum_to(mine), all = __shfl_sync(ALL, upto, 31);
    if (bits) x = 1u << mine | run.bits(first + 32ull * width + upto - mine, mine);
    const uint64_t before = (first + 32ull * width + all + 15) / 16;
    const uint64_t sum = __shfl_sync(ALL, warp_sum_to((uint64_t)left), 31);
    bad = length > 0xffffffffu || before > run.count || run.count - before != sum;
    bad = __any_sync(ALL, bad);
    if (bad) x = left = 0;
    // Pairs of words are aligned, so the first pair may begin with the word before the codes.
    from = run.at + 2 * before;
    at = uniform((uint32_t)(reinterpret_cast<uint64_t>(from) >> 1 & 1));
    from += 4 * (int)lane - 2 * (int)at;
    rest = bad ? 0 : (int32_t)sum + (int32_t)at - 2 * (int32_t)lane;
    ahead = next();
    fill();
    fill();
  }
  // Two words for each lane.
  FZ_DEV uint32_t next() {
    uint32_t two = 0;
    if (rest > 1 && aligned(from, 4)) {
      two = *reinterpret_cast<const uint32_t*>(from);
    } else if (rest > 0) {
      two = load<uint16_t>(from);
      if (rest > 1) two |= (uint32_t)load<uint16_t>(from + 2) << 16;
    }
    from += 128;
    rest -= 64;
    return two;
  }
  // Keeps 64 words ahead, which are enough for two refills.
  FZ_DEV void more() {
    if (__builtin_expect(filled - at <= RING - 64, 0)) fill();
  }
  FZ_DEV void fill() {
    __syncwarp();
    reinterpret_cast<uint32_t*>((*ring).words)[filled % RING / 2 + (threadIdx.x & 31)] = ahead;
    filled += 64;
    ahead = next();
    __syncwarp();
  }
  FZ_DEV void refill(bool active) {
    const bool need = active & (x < 1u << 16) & (left > 0);
    // All lanes read a word: a branch takes longer.
    const uint32_t who = __ballot_sync(ALL, need), word = kept((uint32_t)(*ring).words[(at + __popc(who & lanes)) % RING]);
    if (need) {
      x = x << 16 | word;
      left--;
    }
    at += __popc(who);
  }
  // The symbol of this lane by its table, and how many raw bits follow: LONG for many, or if the token is no code.
  FZ_DEV uint32_t token(const DecoderTable& table, bool live, uint32_t& raw) {
    const uint32_t s = live_token(table, live, raw);
    return live ? s : 0;
  }
  // The same, but the symbol is undefined if the lane is not live.
  FZ_DEV uint32_t live_token(const DecoderTable& table, bool live, uint32_t& raw) {
    const uint32_t high = x >> FREQUENCY_BITS, slot = x % ONE_SLOT;
    uint32_t s = table.first[slot >> 4], e = table.entries[s];
    while (true) {
      const bool behind = slot - (e >> (FREQUENCY_BITS + 4)) > (e >> 4) % ONE_SLOT;
      if (!__any_sync(ALL, behind)) break;
      if (behind) e = table.entries[++s];
    }
    const uint32_t next = (e >> 4) % ONE_SLOT * high + (high + slot - (e >> (FREQUENCY_BITS + 4)));
    x = live ? next : x;
    refill(live);
    raw = live ? e & 15 : 0;
    return s;
  }
  FZ_DEV uint32_t symbol(const DecoderTable& table, bool live) {
    uint32_t raw;
    more();
    return token(table, live, raw);
  }
  FZ_DEV uint32_t bits(uint32_t count) {
    const uint32_t value = x & ((1u << count) - 1);
    x >>= count;
    refill(count > 0);
    return value;
  }
  // The raw bits of tokens, as many as there may be. All lanes call it.
  FZ_DEV uint64_t raw(uint32_t count) {
    uint64_t value = 0;
#pragma unroll 1
    for (uint32_t group = 0; group < 4; group++) {
      const uint32_t n = count > 16 * group ? min(count - 16 * group, 16u) : 0;
      if (!__any_sync(ALL, n > 0)) break;
      if (group > 0) more();
      value |= (uint64_t)bits(n) << 16 * group;
    }
    return value;
  }
  // Returns true if no lane is bad, all words were read, and all states are 0. All lanes call it, also those that are bad.
  FZ_DEV bool is_finished() const { return __all_sync(ALL, !bad & (x == 0) & (left == 0)); }
};
}  // namespace multilevel
}  // namespace fz
