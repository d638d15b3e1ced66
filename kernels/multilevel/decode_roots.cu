// Stage multilevel, decoder: roots that are a section. A warp restores a run, then quiet steps.
#include "multilevel/base_decode.cuh"
#include "multilevel/run_batches.cuh"

namespace fz {
namespace multilevel {
template <class T> FZ_DEV void decode_many_roots(const Args& a, RunRing* rings) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const DecoderMemory memory(a, p);
  if (!is_open(a, memory, p) || memory.plan->of[0].kind != ROOTS) return;
  const Plan& plan = *memory.plan;
  const Section& s = plan.of[0];
  const Coding& c = memory.state->of[0];
  const Predictor<T> of(p.threshold, metadata_of(a));
  const State& state = *memory.state;
  const DecoderSet& set = memory.set(0, 0);
  const BaseGrid grid(plan.shape, plan.base_ends);
  T* known = Buffers<T>(memory.values, p).level(plan.base_ends);
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = gridDim.x * (blockDim.x >> 5), first = warp * gridDim.x + blockIdx.x;
  bool good = true;
#pragma unroll 1
  for (uint32_t number = first; number < c.runs; number += warps) {
    RunDecoder run(run_words(a, memory, c, c.mask_runs + number), rings[warp]);
    RunBatches<false> walk(s, c, memory.masks, RunSteps(s, c, memory.starts + c.first_run, number));
    uint32_t batch, mask;
#pragma unroll 1
    while (walk.next(batch, mask))
#pragma unroll 1
      for (uint32_t j = 0; j < BATCH; j++) {
        if (!(mask >> j & 1)) continue;
        const uint32_t i = (batch * BATCH + j) * STEP + lane;
        uint32_t before = 0;
        const T value = decode_root(run, set, state, of, i < s.count, before);
        if (i < s.count) known[grid.known(grid.root(i))] = value;
      }
    good &= run.is_finished();
  }
  const T none = Num<T>::fma(T(0), of.step, of.center);
#pragma unroll 1
  for (uint32_t batch = first; c.has_masks && batch < s.batches; batch += warps) {
    const uint32_t quiet = s.all(batch) & ~memory.masks[batch];
    for (uint32_t j = 0; j < BATCH; j++) {
      const uint32_t i = (batch * BATCH + j) * STEP + lane;
      if (quiet >> j & 1 && i < s.count) known[grid.known(grid.root(i))] = none;
    }
  }
  if (!good && lane == 0) corrupt(a);
}
}  // namespace multilevel
}  // namespace fz

#define MULTILEVEL_DECODE_ROOTS(NAME, VALUE)                                                           \
  extern "C" __global__ void __launch_bounds__(256) multilevel_decode_roots_##NAME(FZ_ARGS) {          \
    __shared__ fz::multilevel::RunRing rings[8];                                                       \
    if (fz::multilevel::skips_of(a).skips() || fz::cancelled(a)) return;                               \
    fz::multilevel::decode_many_roots<VALUE>(a, rings);                                                \
  }
MULTILEVEL_DECODE_ROOTS(f32, float)
MULTILEVEL_DECODE_ROOTS(f64, double)
