// Stage multilevel, encoder: the sets of tables of all sections. A block computes one set.
#include "multilevel/count_masks.cuh"
#include "multilevel/set_maker.cuh"
#include "multilevel/stencil.cuh"

namespace fz {
namespace multilevel {
// If the array has few batches, the block of the masks of a section counts their symbols too.
template <bool FEW> FZ_DEV void make_tables(const Args& a, SetMaker& maker) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const EncoderMemory memory(a, p);
  const uint32_t section = blockIdx.x / 3, kind = blockIdx.x % 3;
  if (section >= memory.plan->sections) return;
  const Section& s = memory.plan->of[section];
  if (s.kind == BASE && kind > 0) return;
  if (FEW && kind == 2) {
    __shared__ uint32_t counts[CONTEXTS * 16];
    if (threadIdx.x < CONTEXTS * 16) counts[threadIdx.x] = 0;
    __syncthreads();
    add_masks(counts, s, memory.masks + s.first_batch, 0, s.batches);
    __syncthreads();
    if (threadIdx.x < CONTEXTS * 16) (&memory.counts[section].masks[0][0])[threadIdx.x] = counts[threadIdx.x];
    __syncthreads();
  }
  maker.make(memory.counts[section], kind, memory.set(section, kind));
}
}  // namespace multilevel
}  // namespace fz

#define MULTILEVEL_TABLES(NAME, FEW)                                                     \
  extern "C" __global__ void __launch_bounds__(512) multilevel_##NAME(FZ_ARGS) {         \
    __shared__ fz::multilevel::SetMaker maker;                                           \
    if (FEW) fz::multilevel::wait_for_base(a);                                           \
    if (fz::cancelled(a)) return;                                                        \
    fz::multilevel::make_tables<FEW>(a, maker);                                          \
  }
MULTILEVEL_TABLES(tables, false)
MULTILEVEL_TABLES(tables_few, true)
