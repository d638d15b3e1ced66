// Stage exact, decoder: classes of batches, the starts of runs, and codes. A warp decodes a run.
#include "exact/decoder.cuh"
#include "exact/starts.cuh"
#include "multilevel/decoder.cuh"
#include "multilevel/run_batches.cuh"

namespace fz {
namespace exact {
using multilevel::RunDecoder;
using multilevel::RunRing;

FZ_DEV bool decode_mask_run(const Args& a, const DecoderMemory& memory, const Numbered& of, RunRing& ring) {
  const Part& part = memory.state->of[of.part];
  const multilevel::MaskLayout layout(part.s);
  const multilevel::DecoderSet& set = memory.set(of.part, 1);
  uint8_t* classes = memory.classes + part.s.first_batch;
  RunDecoder run(run_words(a, memory, part, of.number), ring);
  uint32_t before = 0;
#pragma unroll 1
  for (uint32_t row = 0; row < layout.rows(); row++) {
    const uint32_t batch = layout.batch(of.number, row, threadIdx.x & 31);
    const bool live = batch < part.s.batches;
    const uint32_t symbol = run.symbol(set.table(before), live);
    if (!live) continue;
    run.bad |= symbol > 15;
    before = symbol & 15;
    classes[batch] = (uint8_t)before;
  }
  const bool bad = __any_sync(ALL, run.bad);
  return run.is_finished() && !bad;
}

FZ_DEV void decode_classes(const Args& a, RunRing* rings) {
  const ExactParams& p = params<ExactParams>(a);
  const DecoderMemory memory(a, p);
  if (!is_open(a, memory, p)) return;
  const uint32_t warp = threadIdx.x >> 5, warps = gridDim.x * (blockDim.x >> 5);
  bool good = true;
#pragma unroll 1
  for (uint32_t i = blockIdx.x * (blockDim.x >> 5) + warp;; i += warps) {
    const Numbered of = numbered(*memory.state, i, true);
    if (!of.there) break;
    good = decode_mask_run(a, memory, of, rings[warp]) && good;
  }
  if (!good && (threadIdx.x & 31) == 0) corrupt(a);
}

FZ_DEV void put_starts(const Args& a, uint32_t* words) {
  const ExactParams& p = params<ExactParams>(a);
  const DecoderMemory memory(a, p);
  if (!is_open(a, memory, p)) return;
  const Part& part = memory.state->of[blockIdx.x % PARTS];
  if (part.s.count == 0) return;
  const uint32_t steps = find_starts(part, memory.classes + part.s.first_batch, memory.starts + part.c.first_run, words);
  if (steps != ~0u && steps != part.c.steps && threadIdx.x == 0) corrupt(a);
}

// Shared memory of a block that decodes runs of a part.
struct CodesRoom {
  multilevel::DecoderSet set;
  multilevel::RunRing rings[multilevel::RUN_WARPS];
  // The codes of tokens whose raw bits are 0.
  uint32_t codes[multilevel::SYMBOLS];
  FZ_DEV void load(const multilevel::DecoderSet& from) {
    __syncthreads();
    multilevel::copy_set(set, from);
    for (uint32_t t = threadIdx.x; t < multilevel::SYMBOLS; t += blockDim.x) codes[t] = t < multilevel::PATTERN ? multilevel::code_of(t, 0) : 0;
    __syncthreads();
  }
};

template <class W> struct CodeDecoder {
  RunDecoder& run;
  const CodesRoom& room;
  uint16_t* codes;
  W* values;

  // Decodes the code of a step for each live lane, which has integer `i`.
  FZ_DEV void step(const multilevel::DecoderTable& table, bool live, uint32_t i) const {
    run.more();
    multilevel::Taken t = run.take(table, run.look(table), live);
    if (!__any_sync(ALL, t.raw() != 0 || t.behind)) {
      run.refill();
      if (live) codes[i] = (uint16_t)t.symbol;
      return;
    }
    if (__any_sync(ALL, t.raw() == multilevel::LONG || t.behind)) {
      if (__any_sync(ALL, t.behind)) run.search(table, t);
      if (__any_sync(ALL, t.raw() == multilevel::LONG)) return long_step(t, live, i);
    }
    // The greatest of these codes is that in place of long codes, so it is stored as one.
    const uint32_t u = room.codes[t.symbol] + run.refill_and_bits(t.raw());
    if (live && u == LONG_CODE) values[i] = (W)u;
    if (live) codes[i] = (uint16_t)u;
  }
  // The same if some lane has many raw bits, or a token that is no code.
  FZ_DEV void long_step(const multilevel::Taken& t, bool live, uint32_t i) const {
    run.refill();
    const uint32_t token = live ? t.symbol : 0;
    const uint64_t raw = run.raw(multilevel::raw_bits(token, BITS<W>));
    const bool is_long = token == multilevel::EXACT;
    run.bad |= token >= multilevel::PATTERN && !is_long;
    const uint32_t u = is_long ? LONG_CODE : room.codes[token] + (uint32_t)raw;
    if (live && u >= LONG_CODE) values[i] = is_long ? (W)raw : (W)u;
    if (live) codes[i] = (uint16_t)min(u, LONG_CODE);
  }
  // The steps of a run; the class of the next batch is on its way.
  FZ_DEV void decode(const Part& part, const uint8_t* classes, const multilevel::RunSteps& steps) const {
    const uint32_t lane = threadIdx.x & 31, count = part.s.count;
    multilevel::RunBatches<false> walk(part.s, part.c, classes, steps);
    uint32_t batch = 0, mask = 0, own = 0;
    bool more = walk.next(batch, mask);
    if (more) own = classes[batch];
#pragma unroll 1
    while (more) {
      const multilevel::DecoderTable& table = room.set.table(own & 15);
      const uint32_t i = batch * POINTS + lane, now = mask;
      const bool whole = now == (1u << BATCH) - 1 && batch * POINTS + POINTS <= count;
      more = walk.next(batch, mask);
      if (more) own = classes[batch];
      if (whole) {
#pragma unroll 2
        for (uint32_t j = 0; j < BATCH; j++) step(table, true, i + j * STEP);
      } else {
#pragma unroll 1
        for (uint32_t j = 0; j < BATCH; j++)
          if (now >> j & 1) step(table, i + j * STEP < count, i + j * STEP);
      }
    }
  }
};

// A warp decodes a run.
template <class W> FZ_DEV void decode_codes(const Args& a, CodesRoom& room) {
  const ExactParams& p = params<ExactParams>(a);
  const DecoderMemory memory(a, p);
  if (!is_open(a, memory, p)) return;
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = gridDim.x * multilevel::RUN_WARPS;
  bool good = true;
#pragma unroll 1
  for (uint32_t number = 0; number < PARTS; number++) {
    const Part& part = memory.state->of[number];
    uint32_t k = blockIdx.x * multilevel::RUN_WARPS;
    if (k >= part.c.runs) continue;
    room.load(memory.set(number, 0));
    const uint8_t* classes = memory.classes + part.s.first_batch;
#pragma unroll 1
    for (k += warp; k < part.c.runs; k += warps) {
      RunDecoder run(run_words(a, memory, part, part.c.mask_runs + k), room.rings[warp]);
      const CodeDecoder<W> decoder = {run, room, memory.codes[number], memory.of<W>(number)};
      decoder.decode(part, classes, multilevel::RunSteps(part.s, part.c, memory.starts + part.c.first_run, k));
      const bool bad = __any_sync(ALL, run.bad);
      good = run.is_finished() && !bad && good;
    }
  }
  if (!good && lane == 0) corrupt(a);
}
}  // namespace exact
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256) exact_decode_classes(FZ_ARGS) {
  __shared__ fz::multilevel::RunRing rings[8];
  if (fz::cancelled(a)) return;
  fz::exact::decode_classes(a, rings);
}
extern "C" __global__ void __launch_bounds__(1024) exact_decode_starts(FZ_ARGS) {
  __shared__ uint32_t words[32];
  if (fz::exact::cancelled_alone(a)) return;
  fz::exact::put_starts(a, words);
}
extern "C" __global__ void __launch_bounds__(32 * fz::multilevel::RUN_WARPS, 8) exact_decode_codes(FZ_ARGS) {
  __shared__ fz::exact::CodesRoom room;
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::decode_codes<decltype(w)>(a, room); });
}
