// Stage multilevel, decoder: a warp decodes a mask run, and the first block restores the points of the base section.
#include "multilevel/base_decode.cuh"

namespace fz {
namespace multilevel {
FZ_DEV bool decode_mask_run(const Args& a, const DecoderMemory& memory, uint32_t section, uint32_t number, RunRing& ring) {
  const Section& s = memory.plan->of[section];
  const Coding& c = memory.state->of[section];
  const MaskLayout layout(s);
  const DecoderSet& set = memory.set(section, 1);
  uint8_t* masks = memory.masks + s.first_batch;
  const uint32_t lane = threadIdx.x & 31;
  RunDecoder run(run_words(a, memory, c, number), ring);
  uint32_t context = 0, mask = 0;
#pragma unroll 1
  for (uint32_t row = 0; row < layout.rows(); row++) {
    const uint32_t batch = layout.batch(number, row, lane);
    const bool live = batch < s.batches;
    const uint32_t symbol = run.symbol(set.table(context), live);
    if (!live) continue;
    run.bad |= symbol > 15;
    context = layout.context(symbol & 15);
    mask = layout.classes || row % 2 == 0 ? symbol & 15 : mask | (symbol & 15) << 4;
    if (layout.classes || row % 2 == 1) masks[batch] = (uint8_t)mask;
  }
  return run.is_finished();
}

// The first block has a base section, and others have mask runs.
template <class T> union MaskRoom {
  struct {
    BaseRoom<T> base;
    RunRing ring;
  };
  RunRing rings[8];
};

template <class T> FZ_DEV void decode_masks(const Args& a, MaskRoom<T>& room) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const DecoderMemory memory(a, p);
  if (!is_open(a, memory, p)) return;
  const Plan& plan = *memory.plan;
  const uint32_t warp = threadIdx.x >> 5;
  bool good = true;
  if (blockIdx.x == 0) {
    if (plan.of[0].kind == BASE) good = decode_base<T>(a, memory, p, room.base, room.ring);
  } else {
    const uint32_t warps = (gridDim.x - 1) * (blockDim.x >> 5);
    uint32_t number = (blockIdx.x - 1) * (blockDim.x >> 5) + warp, before = 0;
#pragma unroll 1
    for (uint32_t k = 0; k < plan.sections; k++) {
      const uint32_t own = memory.state->of[k].mask_runs;
      for (; number < before + own; number += warps) good &= decode_mask_run(a, memory, k, number - before, room.rings[warp]);
      before += own;
    }
  }
  if (!good && (threadIdx.x & 31) == 0) corrupt(a);
}
}  // namespace multilevel
}  // namespace fz

#define MULTILEVEL_DECODE_MASKS(NAME, VALUE)                                                           \
  extern "C" __global__ void __launch_bounds__(256) multilevel_decode_masks_##NAME(FZ_ARGS) {          \
    __shared__ fz::multilevel::MaskRoom<VALUE> room;                                                   \
    if (fz::cancelled(a)) return;                                                                      \
    fz::multilevel::decode_masks<VALUE>(a, room);                                                      \
  }
MULTILEVEL_DECODE_MASKS(f32, float)
MULTILEVEL_DECODE_MASKS(f64, double)
