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
  return memory.pool + 2 * (c.slots + before + (uint64_t)room * (place.run + 1));
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
  const uint8_t* numbers;
  const uint2* entries;
  uint32_t width;
  RunEncoder<ANYWHERE>& run;

  // `shift` are the low bits of the batch, and `hole` is 1 if codes have one more for holes.
  FZ_DEV void step(uint32_t own, uint32_t i, bool live, uint32_t shift, uint32_t hole) const {
    if (__any_sync(ALL, (own & 63) >= 16)) raw(own, i, live, shift, hole);
    run.symbol(entries[own % 1024], live);
  }
  FZ_DEV void raw(uint32_t own, uint32_t i, bool live, uint32_t shift, uint32_t hole) const {
    const uint32_t t = own & 63, bits = live ? multilevel::raw_bits(t, 8 * width) : 0;
    uint64_t value = own >> 10;
    if (bits > multilevel::KEPT_BITS && t != multilevel::EXACT) value |= (uint64_t)more[i] << multilevel::KEPT_BITS;
    if (bits && t == multilevel::EXACT) {
      const uint64_t u = width == 8 ? reinterpret_cast<const uint64_t*>(numbers)[i] : reinterpret_cast<const uint32_t*>(numbers)[i];
      value = (u >> shift) + hole;
      if (width == 4) value = (uint32_t)value;
    }
#pragma unroll 1
    for (uint32_t group = 4; group-- > 0;) {
      const uint32_t n = bits > 16 * group ? min(bits - 16 * group, 16u) : 0;
      if (__any_sync(ALL, n > 0)) run.bits(n, (uint32_t)(value >> 16 * group) & 0xffff);
    }
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
  const uint32_t first = memory.first_code(place.part, p), lane = threadIdx.x & 31, hole = place.part == OF_ARRAY && memory.state->head.holes;
  const TokenEncoder<ANYWHERE> tokens = {memory.kept + first, memory.more + first, reinterpret_cast<const uint8_t*>(memory.numbers<uint8_t>(place.part)), entries, p.width, run};
  multilevel::RunBatches<true> walk(s, part.c, classes, multilevel::RunSteps(s, part.c, memory.starts + part.c.first_run, place.run));
  uint32_t batch, mask;
#pragma unroll 1
  while (walk.next(batch, mask)) {
    const uint32_t shift = part.scale.low_bits(classes[batch], 8 * p.width);
    uint32_t of[BATCH];
#pragma unroll
    for (uint32_t j = 0; j < BATCH; j++) {
      const uint32_t i = batch * POINTS + j * STEP + lane;
      of[j] = (mask >> j & 1) && i < s.count ? tokens.kept[i] : 0;
    }
#pragma unroll
    for (int j = BATCH - 1; j >= 0; j--) {
      const uint32_t i = batch * POINTS + j * STEP + lane;
      if (mask >> j & 1) tokens.step(of[j], i, i < s.count, shift, hole);
    }
  }
  return run.finish(own.pairs);
}
}  // namespace exact
}  // namespace fz
