// Stage multilevel, encoder: the runs of a section. A warp codes a run.
#pragma once
#include "multilevel/element.cuh"
#include "multilevel/keep.cuh"
#include "multilevel/run_batches.cuh"
#include "multilevel/run_encoder.cuh"
#include "multilevel/source.cuh"

namespace fz {
namespace multilevel {
// Shared memory of a warp.
struct RunRoom {
  uint32_t pairs[HEAD_PAIRS + 1];
};

// A run or mask run of a section.
struct RunPlace {
  uint32_t section, run;
  bool is_mask;
  // Among all runs; past the last one `section` is that of none.
  FZ_DEV RunPlace(const Plan& plan, const State& state, uint32_t number) {
    section = 0;
    while (section + 1 < plan.sections && state.of[section + 1].first_mask_run <= number) section++;
    const Coding& c = state.of[section];
    run = number - c.first_mask_run;
    is_mask = run < c.mask_runs;
    if (!is_mask) run -= c.mask_runs;
  }
};

// The code of a step of the base section.
struct BaseCodes {
  uint32_t first;
  FZ_DEV uint32_t at(uint32_t) const { return first; }
};

template <class T, bool ANYWHERE> struct TokenEncoder {
  const Plan& plan;
  const Section& s;
  const Keeper keeper;
  const Source<T> source;
  const uint2* entries;
  RunEncoder<ANYWHERE>& run;

  // Encodes step j of such codes: `kept` is the token and the context of the lane, 0 if it has no point.
  template <class Codes> FZ_DEV void step(uint32_t kept, const Codes& codes, uint32_t j, bool live) const {
    if (__any_sync(ALL, (kept & 63) >= 16)) raw(kept, codes.at(j), live);
    // Unused entries do not matter.
    run.symbol(entries[kept % 1024], live);
  }
  FZ_DEV void raw(uint32_t kept, uint32_t at, bool live) const {
    const uint32_t t = kept & 63, count = live ? raw_bits(t, Num<T>::BITS) : 0;
    uint64_t value = kept >> 10;
    if (count > KEPT_BITS && t != EXACT) value |= (uint64_t)keeper.more[at] << KEPT_BITS;
    if (count && t == EXACT) value = Num<T>::bits(source[element_of(plan, s, at)]);
#pragma unroll 1
    for (uint32_t group = Num<T>::BITS / 16; group-- > 0;) {
      const uint32_t n = count > 16 * group ? min(count - 16 * group, 16u) : 0;
      if (__any_sync(ALL, n > 0)) run.bits(n, (uint32_t)(value >> 16 * group) & 0xffff);
    }
  }
  // The parts of the base section, the last one first.
  FZ_DEV void base() const {
    const Shape& shape = plan.shape;
    uint32_t end = s.count;
    for (uint32_t level = plan.base_ends + 1; level <= plan.levels; level++)
      for (int axis = 0; axis < 3; axis++)
        if (shape.has_pass(level, axis)) end = part(end, shape.points(level, axis, 0) * shape.points(level, axis, 1) * shape.points(level, axis, 2));
    part(end, shape.roots());
  }
  FZ_DEV uint32_t part(uint32_t end, uint32_t count) const {
    const uint32_t lane = threadIdx.x & 31, first = end - count;
#pragma unroll 1
    for (uint32_t k = (count + STEP - 1) / STEP; k-- > 0;) {
      const uint32_t at = first + k * STEP + lane;
      const bool live = at < end;
      step(live ? keeper.kept[at] : 0, BaseCodes{at}, 0, live);
    }
    return first;
  }
  // Batches backward; the codes of the next one are on their way.
  FZ_DEV void batches(const Coding& c, const uint8_t* masks, const RunSteps& steps) const {
    RunBatches<true> walk(s, c, masks, steps);
    uint32_t batch = 0, mask = 0, live_ahead = 0;
    bool more = walk.next(batch, mask);
    BatchCodes ahead;
    uint32_t kept_ahead[BATCH];
    if (more) live_ahead = load(batch, mask, ahead, kept_ahead);
#pragma unroll 1
    while (more) {
      const BatchCodes codes = ahead;
      const uint32_t now = mask, live = live_ahead;
      uint32_t kept[BATCH];
#pragma unroll
      for (uint32_t j = 0; j < BATCH; j++) kept[j] = kept_ahead[j];
      more = walk.next(batch, mask);
      if (more) live_ahead = load(batch, mask, ahead, kept_ahead);
#pragma unroll
      for (int j = BATCH - 1; j >= 0; j--)
        if (now >> j & 1) step(kept[j], codes, j, live >> j & 1);
    }
  }
  // Returns the steps in which the lane has a point.
  FZ_DEV uint32_t load(uint32_t batch, uint32_t mask, BatchCodes& codes, uint32_t (&kept)[BATCH]) const {
    codes = BatchCodes(s, batch);
    uint32_t live = codes.live ? mask : 0;
    if (codes.whole) {
      const uint16_t* from = keeper.kept + codes.first;
#pragma unroll
      for (uint32_t j = 0; j < BATCH; j++) kept[j] = live >> j & 1 ? from[j * codes.next] : 0;
      return live;
    }
    BatchCodes own = codes;
#pragma unroll
    for (uint32_t j = 0; j < BATCH; j++) {
      if (own.x >= own.width) live &= ~(1u << j);
      kept[j] = live >> j & 1 ? keeper.kept[own.first] : 0;
      own.advance();
    }
    return live;
  }
};

// The masks of a run, the last ones first.
template <bool ANYWHERE> FZ_DEV void encode_masks(RunEncoder<ANYWHERE>& run, const Section& s, const uint8_t* masks, const uint2* entries, uint32_t number) {
  const MaskLayout layout(s);
  const uint32_t lane = threadIdx.x & 31;
#pragma unroll 1
  for (uint32_t row = layout.rows(); row-- > 0;) {
    const uint32_t batch = layout.batch(number, row, lane);
    const bool live = batch < s.batches;
    uint32_t symbol = 0, before = 0;
    if (live) {
      symbol = masks[batch] >> layout.shift(row) & 15;
      if (row > 0) before = masks[layout.batch(number, row - 1, lane)] >> layout.shift(row - 1) & 15;
    }
    run.symbol(entries[layout.context(before) * SYMBOLS + symbol], live);
  }
}

// Codes a run or mask run; returns its words.
template <class T, bool ANYWHERE> FZ_DEV uint32_t encode_run(const Args& a, const EncoderMemory& memory, const RunPlace& place, uint8_t* end, uint32_t room, RunRoom& own) {
  const Section& s = memory.plan->of[place.section];
  const Coding& c = memory.state->of[place.section];
  const uint8_t* masks = memory.masks + s.first_batch;
  const uint2* entries = kept(&memory.set(place.section, place.is_mask ? 2 : c.has_masks).entries[0][0]);
  RunEncoder<ANYWHERE> run(end, room);
  if (place.is_mask) {
    encode_masks(run, s, masks, entries, place.run);
  } else {
    const TokenEncoder<T, ANYWHERE> tokens = {*memory.plan, s, Keeper(memory, s.first_point), Source<T>(address(input(a, 0))), entries, run};
    if (s.kind == BASE) tokens.base();
    else tokens.batches(c, masks, RunSteps(s, c, memory.starts + c.first_run, place.run));
  }
  return run.finish(own.pairs);
}

// The end of the slot of a run, and its room in words.
FZ_DEV uint8_t* slot_end(const EncoderMemory& memory, const RunPlace& place, uint32_t& room) {
  const Coding& c = memory.state->of[place.section];
  room = place.is_mask ? c.mask_room : c.room;
  const uint64_t before = place.is_mask ? 0 : (uint64_t)c.mask_room * c.mask_runs;
  return memory.pool + 2 * (c.slots + before + (uint64_t)room * (place.run + 1));
}
}  // namespace multilevel
}  // namespace fz
