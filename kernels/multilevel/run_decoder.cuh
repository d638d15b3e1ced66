// Stage multilevel: a run, decoded from its start on, as src/stages/multilevel/rans.rs. A warp has 32
// states.
#pragma once
#include "multilevel/quantize.cuh"
#include "multilevel/run_encoder.cuh"
#include "multilevel/stream.cuh"

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
  Words words;
  Shared<RunRing> ring;
  // The lanes before this one.
  uint32_t lanes;
  // Words read, words in the ring; those behind them.
  uint32_t at, filled, ahead;
  bool bad;

  FZ_DEV RunDecoder(const Words& run, RunRing& of_ring) : x(0), left(0), words(run), ring(of_ring), lanes(kept((1u << (threadIdx.x & 31)) - 1)), at(0), filled(0), ahead(0), bad(false) {
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
    if (bad) {
      x = left = 0;
      words = run.from(0, 0);
    } else {
      words = run.from(before, sum);
    }
    ahead = next();
    more();
    more();
  }
  // Two words for each lane.
  FZ_DEV uint32_t next() const {
    const uint64_t i = filled + 2 * (threadIdx.x & 31);
    if (i + 1 < words.count && aligned(words.at, 4)) return *reinterpret_cast<const uint32_t*>(words.at + 2 * i);
    return words.two(i);
  }
  // Keeps 64 words ahead.
  FZ_DEV void more() {
    if (filled - at > RING - 64) return;
    __syncwarp();
    reinterpret_cast<uint32_t*>((*ring).words)[filled % RING / 2 + (threadIdx.x & 31)] = ahead;
    filled += 64;
    ahead = next();
    __syncwarp();
  }
  FZ_DEV void refill(bool active) {
    const bool need = active && x < 1u << 16 && left > 0;
    const uint32_t who = __ballot_sync(ALL, need);
    if (need) {
      x = x << 16 | (*ring).words[(at + __popc(who & lanes)) % RING];
      left--;
    }
    at += __popc(who);
    more();
  }
  // The symbol of this lane, by its table.
  FZ_DEV uint32_t symbol(const DecoderTable& table, bool live) {
    const uint32_t slot = x % ONE_SLOT;
    uint32_t s = table.first[slot / 16], e = table.entries[s], beyond = slot - e % ONE_SLOT;
    while (beyond >= e >> FREQUENCY_BITS) {
      e = table.entries[++s];
      beyond = slot - e % ONE_SLOT;
    }
    if (live) x = (e >> FREQUENCY_BITS) * (x >> FREQUENCY_BITS) + beyond;
    refill(live);
    return live ? s : 0;
  }
  FZ_DEV uint32_t bits(uint32_t count) {
    const uint32_t value = x & ((1u << count) - 1);
    x >>= count;
    refill(count > 0);
    return value;
  }
  // The raw bits of tokens. All lanes call it.
  FZ_DEV uint64_t raw(uint32_t count) {
    uint64_t value = 0;
#pragma unroll 1
    for (uint32_t group = 0; group < 4; group++) {
      const uint32_t n = count > 16 * group ? min(count - 16 * group, 16u) : 0;
      if (!__any_sync(ALL, n > 0)) break;
      value |= (uint64_t)bits(n) << 16 * group;
    }
    return value;
  }
  // Whether all has been read, and no more.
  FZ_DEV bool is_finished() const { return !bad && __all_sync(ALL, x == 0 && left == 0); }
};
}  // namespace multilevel
}  // namespace fz
