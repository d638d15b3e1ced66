// Stage multilevel, encoder: the runs of a section. A warp codes a run.
#pragma once
#include "multilevel/element.cuh"
#include "multilevel/keep.cuh"
#include "multilevel/run_batches.cuh"
#include "multilevel/run_encoder.cuh"
#include "multilevel/run_entries.cuh"
#include "multilevel/source.cuh"

namespace fz {
namespace multilevel {
// Shared memory of a warp.
struct RunRoom {
  uint32_t pairs[HEAD_PAIRS + 1];
};
// Shared memory of a block, with the entries of a set of tables.
struct RunsRoom {
  uint2 entries[CONTEXTS * SYMBOLS];
  RunRoom warps[RUN_WARPS];
  FZ_DEV void load(const EncoderSet& set) {
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < CONTEXTS * SYMBOLS; i += blockDim.x) entries[i] = (&set.entries[0][0])[i];
    __syncthreads();
  }
};

// A run or mask run of a section.
struct RunPlace {
  uint32_t section, run;
  bool is_mask;
  FZ_DEV RunPlace() {}
  // Among all runs. A warp must call the function.
  FZ_DEV RunPlace(const Plan& plan, const State& state, uint32_t number) {
    section = ~0u;
    for (uint32_t from = 0; from < plan.sections; from += 32) {
      const uint32_t own = from + (threadIdx.x & 31);
      section += __popc(__ballot_sync(ALL, own < plan.sections && state.of[own].first_mask_run <= number));
    }
    const Coding& c = state.of[section];
    run = number - c.first_mask_run;
    is_mask = run < c.mask_runs;
    if (!is_mask) run -= c.mask_runs;
  }
};

// Runs of one kind of a section, which have a set of tables in common. The warps of a block have one run each.
struct RunGroup {
  uint32_t section, first;
  bool is_mask;
  FZ_DEV static uint32_t groups(uint32_t runs) { return (runs + RUN_WARPS - 1) / RUN_WARPS; }
  // The group with this number from the last section on, which has the longest runs; false if there are fewer.
  FZ_DEV bool find(const Plan& plan, const State& state, uint32_t number) {
    const uint32_t lane = threadIdx.x & 31;
    for (uint32_t before = 0; before < plan.sections; before += 32) {
      const uint32_t own = before + lane;
      uint32_t masks = 0, all = 0;
      if (own < plan.sections) {
        const Coding& c = state.of[plan.sections - 1 - own];
        masks = groups(c.mask_runs);
        all = masks + groups(c.runs);
      }
      const uint32_t upto = warp_sum_to(all), who = __ballot_sync(ALL, number < upto);
      if (who) {
        const int k = __ffs((int)who) - 1;
        section = plan.sections - 1 - (before + k);
        first = __shfl_sync(ALL, number + all - upto, k);
        masks = __shfl_sync(ALL, masks, k);
        is_mask = first < masks;
        first = RUN_WARPS * (is_mask ? first : first - masks);
        return true;
      }
      number -= __shfl_sync(ALL, upto, 31);
    }
    return false;
  }
  // The run of this warp; false if there is none, in all lanes of the warp. `number` is its number among all runs.
  FZ_DEV bool own(const State& state, RunPlace& place, uint32_t& number) const {
    const Coding& c = state.of[section];
    place.section = uniform(section);
    place.is_mask = is_mask;
    place.run = uniform(first + (threadIdx.x >> 5));
    number = c.first_mask_run + place.run + (is_mask ? 0 : c.mask_runs);
    return place.run < uniform(is_mask ? c.mask_runs : c.runs);
  }
};

// The code of a step of the base section.
struct BaseCodes {
  uint32_t first;
  FZ_DEV uint32_t at(uint32_t) const { return first; }
};

// The places of the codes of a batch, which few steps require.
struct LaterCodes {
  const Section& s;
  uint32_t batch;
  FZ_DEV uint32_t at(uint32_t j) const { return BatchCodes(s, batch).at(j); }
};

// The places of the codes of batches that are visited backward. Most batches follow the last one in its line, or rows end with steps.
struct CodesAhead {
  BatchCodes codes;
  uint32_t batch, in_line;
  bool in_lines, whole;
  FZ_DEV explicit CodesAhead(const Section& s) : batch(0), in_line(0), in_lines(s.in_lines()), whole(s.points[0] % STEP == 0) {}
  FZ_DEV void go_to(const Section& s, uint32_t to) {
    if (in_line > 0 && to + 1 == batch) {
      codes.first -= BATCH * codes.next;
      in_line--;
    } else if (in_lines || !whole) {
      codes = BatchCodes(s, to);
      in_line = in_lines ? to % s.per_line : 0;
    } else {
      codes.first = to * BATCH * STEP + (threadIdx.x & 31);
      codes.next = STEP;
      codes.x = 0;
      codes.width = STEP;
      codes.live = codes.whole = true;
    }
    batch = to;
  }
};

// Encodes the raw bits of a step of which some point has more bits than are kept with tokens.
template <class T, bool ANYWHERE, class Codes>
FZ_APART RunEncoder<ANYWHERE> long_raw(RunEncoder<ANYWHERE> run, const Plan& plan, const Section& s, const uint16_t* more, Source<T> source, uint32_t kept, Codes codes, uint32_t j) {
  const uint32_t t = kept & 63, count = raw_bits(t, Num<T>::BITS);
  uint64_t value = kept >> 10;
  if (count > KEPT_BITS) {
    const uint32_t at = codes.at(j);
    if (t == EXACT) value = Num<T>::bits(source[element_of(plan, s, at)]);
    else value |= (uint64_t)more[at] << KEPT_BITS;
  }
#pragma unroll 1
  for (uint32_t group = Num<T>::BITS / 16; group-- > 0;) {
    const uint32_t n = count > 16 * group ? min(count - 16 * group, 16u) : 0;
    if (__any_sync(ALL, n > 0)) run.bits(n, (uint32_t)(value >> 16 * group) & 0xffff);
  }
  return run;
}

// In place of the token of a lane that has no point in a step: token 63, which does not occur, so that its entry is 0.
constexpr uint32_t NO_POINT = 1023;

template <class T, bool ANYWHERE> struct TokenEncoder {
  const Plan& plan;
  const Section& s;
  const Keeper keeper;
  const Source<T> source;
  const RunEntries& entries;
  RunEncoder<ANYWHERE>& run;

  // Encodes raw bits of step j of such codes. Tokens from 16 to 30 have 2 to 5 bits; 1 is added so that token 63 is not a longer one.
  template <class Codes> FZ_DEV void raw(uint32_t kept, const Codes& codes, uint32_t j) const {
    if (__any_sync(ALL, (kept + 1) & 32)) run = long_raw(run, plan, s, keeper.more, source, kept, codes, j);
    else run.bits((kept & 48) == 16 ? (kept >> 2 & 3) + 2 : 0, kept >> 10);
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
    const uint32_t first = end - count;
    uint32_t at = first + (count - 1) / STEP * STEP + (threadIdx.x & 31);
    uint32_t ahead = at < end ? keeper.kept[at] : NO_POINT;
#pragma unroll 1
    for (uint32_t k = (count + STEP - 1) / STEP; k > 0; k--) {
      const uint32_t kept = ahead;
      if (k > 1) ahead = keeper.kept[at - STEP];
      step(kept, BaseCodes{at}, 0);
      at -= STEP;
    }
    return first;
  }
  // Encodes a step. The comparison is true for tokens with raw bits and for token 15, but not for token 63.
  template <class Codes> FZ_DEV void step(uint32_t kept, const Codes& codes, uint32_t j) const {
    const uint2 entry = entries.at(kept % 1024);
    if (__any_sync(ALL, (kept + 1) & 48)) raw(kept, codes, j);
    run.symbol(entry);
  }
  // Batches backward; the codes of the next one are on their way.
  FZ_DEV void batches(const Coding& c, const uint8_t* masks, const RunSteps& steps) const {
    RunBatches<true> walk(s, c, masks, steps);
    uint32_t batch = 0, mask = 0;
    bool more = walk.next(batch, mask);
    CodesAhead ahead(s);
    uint32_t kept_ahead[BATCH];
    if (more) load(batch, mask, ahead, kept_ahead);
#pragma unroll 1
    while (more) {
      const LaterCodes codes = {s, batch};
      const uint32_t now = mask;
      uint32_t kept[BATCH];
#pragma unroll
      for (uint32_t j = 0; j < BATCH; j++) kept[j] = kept_ahead[j];
      more = walk.next(batch, mask);
      if (more) load(batch, mask, ahead, kept_ahead);
      if (now == (1u << BATCH) - 1) {
#pragma unroll
        for (int j = BATCH - 1; j >= 0; j--) step(kept[j], codes, j);
      } else {
#pragma unroll
        for (int j = BATCH - 1; j >= 0; j--)
          if (now >> j & 1) step(kept[j], codes, j);
      }
    }
  }
  // Loads the tokens of the steps in `mask`.
  FZ_DEV void load(uint32_t batch, uint32_t mask, CodesAhead& ahead, uint32_t (&kept)[BATCH]) const {
    ahead.go_to(s, batch);
    const BatchCodes& codes = ahead.codes;
    const uint32_t live = codes.live ? mask : 0;
    if (codes.whole) {
      const uint8_t* from = reinterpret_cast<const uint8_t*>(keeper.kept + codes.first);
      const uint32_t apart = 2 * codes.next;
      if (mask == (1u << BATCH) - 1) {
        if (!codes.live) from = reinterpret_cast<const uint8_t*>(keeper.kept);
#pragma unroll
        for (uint32_t j = 0; j < BATCH; j++, from += apart) kept[j] = *reinterpret_cast<const uint16_t*>(from);
        if (codes.live) return;
#pragma unroll
        for (uint32_t j = 0; j < BATCH; j++) kept[j] = NO_POINT;
        return;
      }
#pragma unroll
      for (uint32_t j = 0; j < BATCH; j++) kept[j] = live >> j & 1 ? *reinterpret_cast<const uint16_t*>(from + (uint64_t)apart * j) : NO_POINT;
      return;
    }
    BatchCodes own = codes;
#pragma unroll 1
    for (uint32_t j = 0; j < BATCH; j++) {
      const uint32_t k = (live >> j & 1) && own.x < own.width ? keeper.kept[own.first] : NO_POINT;
#pragma unroll
      for (uint32_t i = 0; i < BATCH; i++) kept[i] = i == j ? k : kept[i];
      own.advance();
    }
  }
};

// The masks of a run, the last ones first.
template <bool ANYWHERE> FZ_DEV void encode_masks(RunEncoder<ANYWHERE>& run, const Section& s, const uint8_t* masks, const RunEntries& entries, uint32_t number) {
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
    run.symbol(entries.at(layout.context(before) * SYMBOLS + symbol), live);
  }
}

// Codes a run or mask run with the entries of its set of tables; returns its words.
template <class T, bool ANYWHERE> FZ_DEV uint32_t encode_run(const Args& a, const EncoderMemory& memory, const RunPlace& place, const RunEntries& entries, uint8_t* end, uint32_t room, RunRoom& own) {
  const Section& s = memory.plan->of[place.section];
  const Coding& c = memory.state->of[place.section];
  const uint8_t* masks = memory.masks + s.first_batch;
  RunEncoder<ANYWHERE> run(end, room);
  if (uniform(place.is_mask)) {
    encode_masks(run, s, masks, entries, place.run);
  } else {
    const TokenEncoder<T, ANYWHERE> tokens = {*memory.plan, s, Keeper(memory, s.first_point), Source<T>(address(input(a, 0))), entries, run};
    if (uniform(s.kind) == BASE) tokens.base();
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
