// Stage multilevel, decoder: a warp decodes a mask run, and the first block restores the points of the base section.
#include "multilevel/mask_decode.cuh"

namespace fz {
namespace multilevel {
template <class T> FZ_DEV void decode_masks(const Args& a, MaskRoom<T, 8>& room) {
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
      for (; number < before + own; number += warps) {
        const Section& s = plan.of[k];
        const Words words = run_words(a, memory, memory.state->of[k], number - before);
        good &= decode_mask_run(s, memory.set(k, 1), words, number - before, memory.masks + s.first_batch, room.rings[warp]);
      }
      before += own;
    }
  }
  if (!good && (threadIdx.x & 31) == 0) corrupt(a);
}
}  // namespace multilevel
}  // namespace fz

#define MULTILEVEL_DECODE_MASKS(NAME, VALUE)                                                           \
  extern "C" __global__ void __launch_bounds__(256) multilevel_decode_masks_##NAME(FZ_ARGS) {          \
    __shared__ fz::multilevel::MaskRoom<VALUE, 8> room;                                                   \
    if (fz::cancelled(a)) return;                                                                      \
    fz::multilevel::decode_masks<VALUE>(a, room);                                                      \
  }
MULTILEVEL_DECODE_MASKS(f32, float)
MULTILEVEL_DECODE_MASKS(f64, double)
