// Stage exact, encoder: the runs of a section. A warp codes a run.
#pragma once
#include "exact/encoder.cuh"
#include "multilevel/quantize.cuh"
#include "multilevel/run_batches.cuh"
#include "multilevel/run_encoder.cuh"

namespace fz {
namespace exact {
using multilevel::RunEncoder;

// Shared memory of a warp.
struct RunRoom {
  uint32_t pairs[multilevel::HEAD_PAIRS + 1];
};

// A run or mask run of a part.
struct RunPlace {
  uint32_t part, run;
  bool is_mask;
  FZ_DEV RunPlace(const State& state, uint32_t number) {
    part = number < state.of[OF_ARRAY].c.first_mask_run ? OF_TABLE : OF_ARRAY;
    const Coding& c = state.of[part].c;
    run = number - c.first_mask_run;
    is_mask = run < c.mask_runs;
    if (!is_mask) run -= c.mask_runs;
  }
};
// The number of all runs and mask runs.
FZ_DEV uint32_t all_runs(const State& state) { return state.of[OF_ARRAY].c.first_run + state.of[OF_ARRAY].c.runs; }
// The end of the slot of a run, and its room in words.
FZ_DEV uint8_t* slot_end(const EncoderMemory& memory, const RunPlace& place, uint32_t& room) {
  const Coding& c = memory.state->of[place.part].c;
  room = place.is_mask ? c.mask_room : c.room;
  const uint64_t before = place.is_mask ? 0 : (uint64_t)c.mask_room * c.mask_runs;
  return memory.pool() + 2 * (c.slots + before + (uint64_t)room * (place.run + 1));
}

// The classes of a run, the last ones first.
template <bool ANYWHERE> FZ_DEV void encode_classes(RunEncoder<ANYWHERE>& run, const Section& s, const uint8_t* classes, const uint2* entries, uint32_t number) {
  const multilevel::MaskLayout layout(s);
  const uint32_t lane = threadIdx.x & 31;
#pragma unroll 1
  for (uint32_t row = layout.rows(); row-- > 0;) {
    const uint32_t batch = layout.batch(number, row, lane);
    const bool live = batch < s.batches;
    const uint32_t symbol = live ? classes[batch] : 0, before = live && row > 0 ? classes[batch - 1] : 0;
    run.symbol(entries[before * multilevel::SYMBOLS + symbol], live);
  }
}

template <bool ANYWHERE> struct TokenEncoder {
  const uint16_t *kept, *more;
  // Numbers, of which long codes store the bits above those of their batch.
  const EncoderMemory& memory;
  uint32_t part;
  const uint2* entries;
  uint32_t width;
  RunEncoder<ANYWHERE>& run;

  // The tokens of the steps of a batch; 0 where a step has no integer, or is not in `mask`.
  FZ_DEV void load(uint32_t (&of)[BATCH], uint32_t batch, uint32_t mask, uint32_t count) const {
    const uint32_t first = batch * POINTS + (threadIdx.x & 31);
    const uint16_t* from = kept + first;
    if (mask == (1u << BATCH) - 1 && batch * POINTS + POINTS <= count) {
#pragma unroll
      for (uint32_t j = 0; j < BATCH; j++) of[j] = from[j * STEP];
      return;
    }
#pragma unroll
    for (uint32_t j = 0; j < BATCH; j++) of[j] = (mask >> j & 1) && first + j * STEP < count ? from[j * STEP] : 0;
  }
  // Encodes the steps of a batch, the last one first. `shift` are the low bits of the batch, and `hole` is 1 if codes have one more for
  // holes.
  FZ_DEV void put(const uint32_t (&of)[BATCH], uint32_t batch, uint32_t mask, uint32_t count, uint32_t shift, uint32_t hole) const {
    const uint32_t first = batch * POINTS + (threadIdx.x & 31);
    const bool whole = batch * POINTS + POINTS <= count;
#pragma unroll
    for (int half = BATCH - 4; half >= 0; half -= 4) {
      uint2 entry[4];
#pragma unroll
      for (int j = 0; j < 4; j++) entry[j] = entries[of[half + j] % 1024];
#pragma unroll
      for (int j = 3; j >= 0; j--) {
        if (!(mask >> (half + j) & 1)) continue;
        const uint32_t i = first + (half + j) * STEP;
        const bool live = whole || i < count;
        if (__any_sync(ALL, of[half + j] & 48)) raw(of[half + j], i, shift, hole);
        run.symbol(entry[j], live);
      }
    }
  }
  FZ_DEV void raw(uint32_t own, uint32_t i, uint32_t shift, uint32_t hole) const {
    const uint32_t t = own & 63, bits = multilevel::raw_bits(t, 8 * width);
    uint64_t value = own >> 10;
    if (__any_sync(ALL, bits > multilevel::KEPT_BITS)) {
      if (bits > multilevel::KEPT_BITS && t != multilevel::EXACT) value |= (uint64_t)more[i] << multilevel::KEPT_BITS;
      if (__any_sync(ALL, bits > 16)) return many(bits, t == multilevel::EXACT ? long_code(i, shift) + hole : value);
    }
    run.bits(bits, (uint32_t)value);
  }
  FZ_DEV void many(uint32_t bits, uint64_t value) const {
    if (width == 4) value = (uint32_t)value;
#pragma unroll 1
    for (uint32_t group = 4; group-- > 0;) {
      const uint32_t n = bits > 16 * group ? min(bits - 16 * group, 16u) : 0;
      if (__any_sync(ALL, n > 0)) run.bits(n, (uint32_t)(value >> 16 * group) & 0xffff);
    }
  }
  // The bits of a number above those of its batch.
  FZ_DEV uint64_t long_code(uint32_t i, uint32_t shift) const {
    const uint32_t bits = 8 * width - shift, *from = reinterpret_cast<const uint32_t*>(memory.numbers(part, i / POINTS, width)) + POINTS / 32 * shift;
    uint64_t value = 0;
    for (uint32_t have = 0, at = i % POINTS * bits; have < bits;) {
      const uint32_t n = min(32 - at % 32, bits - have);
      value |= (uint64_t)(from[at / 32] >> at % 32 & (uint32_t)((1ull << n) - 1)) << have;
      have += n;
      at += n;
    }
    return value;
  }
};

// Codes a run or mask run; returns its words.
template <bool ANYWHERE> FZ_DEV uint32_t encode_run(const EncoderMemory& memory, const ExactParams& p, const RunPlace& place, uint8_t* end, uint32_t room, RunRoom& own) {
  const Part& part = memory.state->of[place.part];
  const Section& s = part.s;
  const uint8_t* classes = memory.classes + s.first_batch;
  const uint2* entries = multilevel::kept(&memory.set(place.part, place.is_mask ? 2 : 1).entries[0][0]);
  RunEncoder<ANYWHERE> run(end, room);
  if (place.is_mask) {
    encode_classes(run, s, classes, entries, place.run);
    return run.finish(own.pairs);
  }
  const uint32_t first = memory.first_code(place.part, p), hole = place.part == OF_ARRAY && memory.state->head.holes;
  const TokenEncoder<ANYWHERE> tokens = {memory.kept + first, memory.more + first, memory, place.part, entries, p.width, run};
  multilevel::RunBatches<true> walk(s, part.c, classes, multilevel::RunSteps(s, part.c, memory.starts + part.c.first_run, place.run));
  const Scale scale = part.scale;
  const uint32_t count = s.count;
  // The tokens of the next batch are on their way.
  uint32_t batch = 0, mask = 0, ahead[BATCH];
  bool more = walk.next(batch, mask);
  if (more) tokens.load(ahead, batch, mask, count);
#pragma unroll 1
  while (more) {
    const uint32_t at = batch, now = mask;
    uint32_t of[BATCH];
#pragma unroll
    for (uint32_t j = 0; j < BATCH; j++) of[j] = ahead[j];
    more = walk.next(batch, mask);
    if (more) tokens.load(ahead, batch, mask, count);
    tokens.put(of, at, now, count, scale.low_bits(classes[at], 8 * p.width), hole);
  }
  return run.finish(own.pairs);
}
}  // namespace exact
}  // namespace fz
