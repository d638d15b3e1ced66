// Stage multilevel, encoder: counts the symbols of masks or of classes.
#include "multilevel/count_masks.cuh"

namespace fz {
namespace multilevel {
constexpr uint32_t UNIT_BATCHES = 256;

FZ_DEV void count_masks(const Args& a, uint32_t (&counts)[CONTEXTS * 16]) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0) return;
  const Plan& plan = *memory.plan;
  const uint32_t units = plan.batches / UNIT_BATCHES, each = (units + gridDim.x - 1) / gridDim.x;
  uint32_t unit = blockIdx.x * each;
  const uint32_t end = min(units, unit + each);
#pragma unroll 1
  while (unit < end) {
    const uint32_t number = section_of(plan, unit * UNIT_BATCHES);
    const Section& s = plan.of[number];
    const uint32_t next = min(end, number + 1 < plan.sections ? plan.of[number + 1].first_batch / UNIT_BATCHES : units);
    counts[threadIdx.x] = 0;
    __syncthreads();
    add_masks(counts, s, memory.masks + s.first_batch, unit * UNIT_BATCHES - s.first_batch, min(s.batches, next * UNIT_BATCHES - s.first_batch));
    __syncthreads();
    if (counts[threadIdx.x]) atomicAdd(&memory.counts[number].masks[0][0] + threadIdx.x, counts[threadIdx.x]);
    __syncthreads();
    unit = next;
  }
}
}  // namespace multilevel
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256) multilevel_count_masks(FZ_ARGS) {
  __shared__ uint32_t counts[256];
  if (fz::cancelled(a)) return;
  fz::multilevel::count_masks(a, counts);
}
