// Stage exact, encoder: the runs of a section. A warp codes a run.
#pragma once
#include "exact/encoder.cuh"
#include "multilevel/quantize.cuh"
#include "multilevel/run_batches.cuh"
#include "multilevel/run_encoder.cuh"
#include "multilevel/run_entries.cuh"

namespace fz {
namespace exact {
using multilevel::RUN_WARPS;
using multilevel::RunEncoder;
using multilevel::RunEntries;

// Shared memory of a block: the entries of a set of tables, and words of each warp.
struct RunsRoom {
  uint2 entries[multilevel::CONTEXTS * multilevel::SYMBOLS];
  uint32_t pairs[RUN_WARPS][multilevel::HEAD_PAIRS + 1];
  FZ_DEV void load(const multilevel::EncoderSet& set) {
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < multilevel::CONTEXTS * multilevel::SYMBOLS; i += blockDim.x) entries[i] = (&set.entries[0][0])[i];
    __syncthreads();
  }
};

// A run or mask run of a part.
struct RunPlace {
  uint32_t part, run;
  bool is_mask;
  FZ_DEV RunPlace() {}
  // Among all runs.
  FZ_DEV RunPlace(const State& state, uint32_t number) {
    part = number < state.of[OF_ARRAY].c.first_mask_run ? OF_TABLE : OF_ARRAY;
    const Coding& c = state.of[part].c;
    run = number - c.first_mask_run;
    is_mask = run < c.mask_runs;
    if (!is_mask) run -= c.mask_runs;
  }
};
// Runs of one kind of a part, which have a set of tables in common. The warps of a block have one run each.
struct RunGroup {
  uint32_t part, first;
  bool is_mask;
  // The group with this number, runs of the array first; false if there are fewer.
  FZ_DEV bool find(const State& state, uint32_t number) {
    for (uint32_t kind = 0; kind < 2 * PARTS; kind++) {
      part = kind % 2 ? OF_TABLE : OF_ARRAY;
      is_mask = kind >= PARTS;
      const Coding& c = state.of[part].c;
      const uint32_t groups = ((is_mask ? c.mask_runs : c.runs) + RUN_WARPS - 1) / RUN_WARPS;
      first = RUN_WARPS * number;
      if (number < groups) return true;
      number -= groups;
    }
    return false;
  }
  // The run of this warp; false if there is none. `number` is its number among all runs.
  FZ_DEV bool own(const State& state, RunPlace& place, uint32_t& number) const {
    const Coding& c = state.of[part].c;
    place.part = part;
    place.is_mask = is_mask;
    place.run = multilevel::uniform(first + (threadIdx.x >> 5));
    number = c.first_mask_run + place.run + (is_mask ? 0 : c.mask_runs);
    return place.run < (is_mask ? c.mask_runs : c.runs);
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
template <bool ANYWHERE> FZ_DEV void encode_classes(RunEncoder<ANYWHERE>& run, const Section& s, const uint8_t* classes, const RunEntries& entries, uint32_t number) {
  const multilevel::MaskLayout layout(s);
  const uint32_t lane = threadIdx.x & 31;
#pragma unroll 1
  for (uint32_t row = layout.rows(); row-- > 0;) {
    const uint32_t batch = layout.batch(number, row, lane);
    const bool live = batch < s.batches;
    const uint32_t symbol = live ? classes[batch] : 0, before = live && row > 0 ? classes[batch - 1] : 0;
    run.symbol(entries.at(before * multilevel::SYMBOLS + symbol), live);
  }
}

// The integers of a section: their tokens, and their numbers, of which long codes store the bits above those of their batch.
struct Tokens {
  const uint32_t* kept;
  const uint8_t *numbers, *classes;
  uint32_t width, count;
  // 1 if codes have one more for holes.
  uint32_t hole;
  Scale scale;
  // The bits of the number of integer i above those of its batch.
  FZ_DEV uint64_t long_code(uint32_t i) const {
    const uint32_t batch = i / POINTS, shift = scale.low_bits(classes[batch], 8 * width), bits = 8 * width - shift;
    const uint32_t* from = reinterpret_cast<const uint32_t*>(numbers + (uint64_t)batch * POINTS * width) + POINTS / 32 * shift;
    uint64_t value = 0;
    for (uint32_t have = 0, at = i % POINTS * bits; have < bits;) {
      const uint32_t n = min(32 - at % 32, bits - have);
      value |= (uint64_t)(from[at / 32] >> at % 32 & (uint32_t)((1ull << n) - 1)) << have;
      have += n;
      at += n;
    }
    value += hole;
    return width == 4 ? (uint32_t)value : value;
  }
};

// Encodes the raw bits of a step of which some integer has more than 16, or a long code.
template <bool ANYWHERE> FZ_APART RunEncoder<ANYWHERE> long_raw(RunEncoder<ANYWHERE> run, const Tokens& of, uint32_t kept, uint32_t i) {
  const bool is_long = kept == Kept::LONG;
  const uint32_t count = is_long ? 8 * of.width : (kept & Kept::ALL_BITS) >> Kept::BITS;
  const uint64_t value = is_long ? of.long_code(i) : kept >> Kept::RAW;
#pragma unroll 1
  for (uint32_t group = 4; group-- > 0;) {
    const uint32_t n = count > 16 * group ? min(count - 16 * group, 16u) : 0;
    if (__any_sync(ALL, n > 0)) run.bits(n, (uint32_t)(value >> 16 * group) & 0xffff);
  }
  return run;
}

template <bool ANYWHERE> struct TokenEncoder {
  const Tokens& of;
  const RunEntries& entries;
  RunEncoder<ANYWHERE>& run;

  // The tokens of the steps of a batch; `Kept::NONE` where a step has no integer, or is not in `mask`.
  FZ_DEV void load(uint32_t (&kept)[BATCH], uint32_t batch, uint32_t mask) const {
    const uint32_t first = batch * POINTS + (threadIdx.x & 31);
    const uint32_t* from = of.kept + first;
    if (mask == (1u << BATCH) - 1 && batch * POINTS + POINTS <= of.count) {
#pragma unroll
      for (uint32_t j = 0; j < BATCH; j++) kept[j] = from[j * STEP];
      return;
    }
#pragma unroll
    for (uint32_t j = 0; j < BATCH; j++) kept[j] = (mask >> j & 1) && first + j * STEP < of.count ? from[j * STEP] : Kept::NONE;
  }
  // Encodes step j of a batch, whose entries are those from number `first` on.
  FZ_DEV void step(uint32_t kept, uint32_t first, uint32_t batch, uint32_t j) const {
    const uint2 entry = entries.at(first + kept % multilevel::SYMBOLS);
    const uint32_t bits = kept & Kept::ALL_BITS;
    if (__any_sync(ALL, bits)) {
      if (__any_sync(ALL, bits > 16 << Kept::BITS)) run = long_raw(run, of, kept, batch * POINTS + j * STEP + (threadIdx.x & 31));
      else run.bits(bits >> Kept::BITS, kept >> Kept::RAW);
    }
    run.symbol(entry);
  }
  // Batches backward; the tokens of the next one are on their way.
  FZ_DEV void batches(const Section& s, const Coding& c, const multilevel::RunSteps& steps) const {
    multilevel::RunBatches<true> walk(s, c, of.classes, steps);
    uint32_t batch = 0, mask = 0, class_of = 0, ahead[BATCH];
    bool more = walk.next(batch, mask);
    if (more) load(ahead, batch, mask);
    if (more) class_of = of.classes[batch];
#pragma unroll 1
    while (more) {
      const uint32_t at = batch, now = mask, first = class_of * multilevel::SYMBOLS;
      uint32_t kept[BATCH];
#pragma unroll
      for (uint32_t j = 0; j < BATCH; j++) kept[j] = ahead[j];
      more = walk.next(batch, mask);
      if (more) load(ahead, batch, mask);
      if (more) class_of = of.classes[batch];
      if (now == (1u << BATCH) - 1) {
#pragma unroll
        for (int j = BATCH - 1; j >= 0; j--) step(kept[j], first, at, j);
      } else {
#pragma unroll
        for (int j = BATCH - 1; j >= 0; j--)
          if (now >> j & 1) step(kept[j], first, at, j);
      }
    }
  }
};

// Codes a run or mask run with the entries of its set of tables; returns its words.
template <bool ANYWHERE> FZ_DEV uint32_t encode_run(const EncoderMemory& memory, const ExactParams& p, const RunPlace& place, const RunEntries& entries, uint8_t* end, uint32_t room, uint32_t* pairs) {
  const Part& part = memory.state->of[place.part];
  const Section& s = part.s;
  const uint8_t* classes = memory.classes + s.first_batch;
  RunEncoder<ANYWHERE> run(end, room);
  if (place.is_mask) {
    encode_classes(run, s, classes, entries, place.run);
  } else {
    const uint32_t first = memory.first_code(place.part, p), hole = place.part == OF_ARRAY && memory.state->head.holes;
    const Tokens tokens = {memory.kept + first, memory.numbers(place.part, 0, p.width), classes, p.width, s.count, hole, part.scale};
    const TokenEncoder<ANYWHERE> encoder = {tokens, entries, run};
    encoder.batches(s, part.c, multilevel::RunSteps(s, part.c, memory.starts + part.c.first_run, place.run));
  }
  return run.finish(pairs);
}

// Encodes all runs for which `slot` is true; `slot` finds the end of the room of a run, and its words. `done` receives the words of a run.
template <bool ANYWHERE, class Slot, class Done> FZ_DEV void encode_groups(const EncoderMemory& memory, const ExactParams& p, RunsRoom& own, Slot slot, Done done) {
  const State& state = *memory.state;
  const RunEntries entries = {multilevel::Shared<uint2>(own.entries[0])};
  RunGroup group;
#pragma unroll 1
  for (uint32_t k = blockIdx.x; group.find(state, k); k += gridDim.x) {
    own.load(memory.set(group.part, group.is_mask ? 2 : 1));
    RunPlace place;
    uint32_t number, room;
    uint8_t* end;
    if (!group.own(state, place, number) || !slot(place, number, end, room)) continue;
    done(number, encode_run<ANYWHERE>(memory, p, place, entries, end, room, own.pairs[threadIdx.x >> 5]));
  }
}
}  // namespace exact
}  // namespace fz
