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
struct __align__(2 * RING) RunRing {
  uint16_t words[RING];
};
// A symbol that a lane took from its state.
struct Taken {
  static constexpr uint32_t RAW = LONG << FREQUENCY_BITS;
  // The symbol, and its entry, of which the raw bits are 0 if the lane is not live.
  uint32_t symbol, entry;
  // The state before, and whether the symbol is a later one.
  uint32_t x;
  bool behind;
  // How many raw bits follow: LONG for many, or if the token is no code.
  FZ_DEV uint32_t raw() const { return entry >> FREQUENCY_BITS & LONG; }
};

struct RunDecoder {
  uint32_t x;
  // Words that this lane will read.
  uint32_t left;
  Shared<RunRing> ring;
  // The lanes before this one.
  uint32_t lanes;
  // The bytes of words read, and of words that have been in the ring; the two words of this lane behind them, and where the next two are.
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
    at = uniform((uint32_t)reinterpret_cast<uint64_t>(from) & 2);
    from += 4 * (int)lane - (int)at;
    rest = bad ? 0 : (int32_t)sum + (int32_t)at / 2 - 2 * (int32_t)lane;
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
    if (__builtin_expect(filled - at <= 2 * (RING - 64), 0)) fill();
  }
  FZ_DEV void fill() {
    __syncwarp();
    reinterpret_cast<uint32_t*>((*ring).words)[filled % (2 * RING) / 4 + (threadIdx.x & 31)] = ahead;
    filled += 128;
    ahead = next();
    __syncwarp();
  }
  FZ_DEV void refill(bool active) {
    const bool need = active & (x < 1u << 16) & (left > 0);
    // All lanes read a word: a branch takes longer.
    const uint32_t who = __ballot_sync(ALL, need), word = kept(word_at(at + 2 * __popc(who & lanes)));
    x = need ? x << 16 | word : x;
    count_word(need);
    at += 2 * __popc(who);
  }
  FZ_DEV void count_word(bool read) {
#ifdef FZ_EMULATED
    left -= read;
#else
    asm("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\t@p add.u32 %0, %0, -1;\n\t}" : "+r"(left) : "r"((uint32_t)read));
#endif
  }
  FZ_DEV uint32_t word_at(uint32_t byte) const {
#ifdef FZ_EMULATED
    return (*ring).words[byte / 2 % RING];
#else
    // Rings are aligned to their size.
    return *reinterpret_cast<const uint16_t*>(__cvta_shared_to_generic(ring.at | (byte & (2 * RING - 1))));
#endif
  }
  // The unit of a table that contains the slot of this lane. Callers load it before other work, and then call `take`.
  FZ_DEV uint32_t look(const DecoderTable& table) const { return kept((uint32_t)table.units[x % ONE_SLOT / 32]); }
  // Takes a symbol by its table. If a lane is behind, `search` must follow, then a refill.
  FZ_DEV Taken take(const DecoderTable& table, uint32_t unit, bool live) {
    const uint32_t high = x >> FREQUENCY_BITS, slot = x % ONE_SLOT, before = x;
    uint32_t s = unit & 63;
    if (unit < ((slot % 32 + 1) << 11)) s += unit >> 6 & 31;
    const uint32_t e = table.entries[s], last = e % ONE_SLOT, place = slot - (e >> (FREQUENCY_BITS + 4));
    x = live ? last * high + (high + place) : x;
    return {s, live ? e : 0, before, live && place > last};
  }
  // Takes the later symbols of lanes that are behind. Few units have more than two symbols.
  FZ_DEV void search(const DecoderTable& table, Taken& t) {
    const uint32_t high = t.x >> FREQUENCY_BITS, slot = t.x % ONE_SLOT;
    const bool was_behind = t.behind;
    uint32_t e = 0;
    while (__any_sync(ALL, t.behind)) {
      if (t.behind) e = table.entries[++t.symbol];
      t.behind = t.behind && slot - (e >> (FREQUENCY_BITS + 4)) > e % ONE_SLOT;
    }
    if (was_behind) {
      x = e % ONE_SLOT * high + (high + slot - (e >> (FREQUENCY_BITS + 4)));
      t.entry = e;
    }
  }
  // Refills all lanes. Lanes that took no symbol have a state of at least 2^16, or no words left.
  FZ_DEV void refill() { refill(true); }
  // Refills, then takes `count` bits and refills again. Whether a lane requires a second word does not depend on the first one.
  FZ_DEV uint32_t refill_and_bits(uint32_t count) {
    const bool need = x < (left > 0 ? 1u << 16 : 0u), again = (need ? x : x >> 16) >> count == 0 && left > need;
    const uint32_t who = __ballot_sync(ALL, need), then = __ballot_sync(ALL, again), middle = at + 2 * __popc(who);
    const uint32_t word = word_at(at + 2 * __popc(who & lanes)), next = word_at(middle + 2 * __popc(then & lanes));
    x = need ? x << 16 | word : x;
    const uint32_t value = x & ((1u << count) - 1);
    x >>= count;
    x = again ? x << 16 | next : x;
    count_word(need);
    count_word(again);
    at = middle + 2 * __popc(then);
    return value;
  }
  // The symbol of this lane by its table, 0 if the lane is not live, and how many raw bits follow.
  FZ_DEV uint32_t token(const DecoderTable& table, bool live, uint32_t& raw) {
    Taken t = take(table, look(table), live);
    if (__any_sync(ALL, t.behind)) search(table, t);
    refill();
    raw = t.raw();
    return live ? t.symbol : 0;
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
