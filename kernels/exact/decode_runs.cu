// Stage exact, decoder: classes of batches, the starts of runs, and codes. A warp decodes a run.
#include "exact/decoder.cuh"
#include "exact/starts.cuh"
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

// Decodes the tokens of a step.
template <class W> FZ_DEV void decode_step(RunDecoder& run, const multilevel::DecoderTable& table, bool live, uint16_t* code, W* value) {
  uint32_t count;
  run.more();
  const uint32_t t = run.token(table, live, count);
  uint32_t u = t;
  if (__any_sync(ALL, count > 0)) {
    if (__any_sync(ALL, count == multilevel::LONG)) {
      const uint64_t raw = run.raw(multilevel::raw_bits(t, BITS<W>));
      const bool is_long = t == multilevel::EXACT;
      run.bad |= t >= multilevel::PATTERN && !is_long;
      u = multilevel::code_of(min(t, multilevel::PATTERN - 1), (uint32_t)raw);
      if (live && (is_long || u >= LONG_CODE)) *value = is_long ? (W)raw : (W)u;
      u = is_long ? LONG_CODE : min(u, LONG_CODE);
    } else {
      // The greatest of these codes is that in place of long codes, so it is stored as one.
      const uint32_t raw = run.bits(count);
      u = count ? (t < 32 ? 4 + (t & 3) : 2 + (t & 1)) << count | raw : t;
      if (live && u == LONG_CODE) *value = (W)u;
    }
  }
  if (live) *code = (uint16_t)u;
}

template <class W> FZ_DEV void decode_codes(const Args& a, RunRing* rings) {
  const ExactParams& p = params<ExactParams>(a);
  const DecoderMemory memory(a, p);
  if (!is_open(a, memory, p)) return;
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = gridDim.x * (blockDim.x >> 5);
  bool good = true;
#pragma unroll 1
  for (uint32_t i = warp * gridDim.x + blockIdx.x;; i += warps) {
    const Numbered of = numbered(*memory.state, i, false);
    if (!of.there) break;
    const Part& part = memory.state->of[of.part];
    const multilevel::DecoderSet& set = memory.set(of.part, 0);
    const uint8_t* classes = memory.classes + part.s.first_batch;
    RunDecoder run(run_words(a, memory, part, part.c.mask_runs + of.number), rings[warp]);
    multilevel::RunBatches<false> walk(part.s, part.c, classes, multilevel::RunSteps(part.s, part.c, memory.starts + part.c.first_run, of.number));
    uint32_t batch, mask;
#pragma unroll 1
    while (walk.next(batch, mask)) {
      const multilevel::DecoderTable& table = set.table(classes[batch] & 15);
#pragma unroll 1
      for (uint32_t j = 0; j < BATCH; j++) {
        if (!(mask >> j & 1)) continue;
        const uint32_t k = batch * POINTS + j * STEP + lane;
        decode_step<W>(run, table, k < part.s.count, memory.codes[of.part] + k, memory.of<W>(of.part) + k);
      }
    }
    const bool bad = __any_sync(ALL, run.bad);
    good = run.is_finished() && !bad && good;
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
  if (fz::cancelled(a)) return;
  fz::exact::put_starts(a, words);
}
extern "C" __global__ void __launch_bounds__(256, 5) exact_decode_codes(FZ_ARGS) {
  __shared__ fz::multilevel::RunRing rings[8];
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::decode_codes<decltype(w)>(a, rings); });
}
