// Stage multilevel, encoder: a block computes the places of the runs of a section.
#include "multilevel/differences.cuh"
#include "multilevel/find_places.cuh"

namespace fz {
namespace multilevel {
FZ_DEV void place_runs(const EncoderMemory& memory, const MultilevelParams& p, uint32_t section, PlaceMemory& own) {
  Coding& c = memory.state->of[section];
  const uint32_t overflows = find_places(c, memory.sizes + c.first_mask_run, memory.places + c.first_mask_run, own);
  if (overflows) atomicAdd(&memory.state->overflows, overflows);
  if (threadIdx.x == 0 && memory.plan->of[section].kind == DIFFERENCES) c.words += list_words(memory.counts[section].exact, p);
}
}  // namespace multilevel
}  // namespace fz

extern "C" __global__ void __launch_bounds__(1024) multilevel_place(FZ_ARGS) {
  using namespace fz::multilevel;
  __shared__ PlaceMemory own;
  if (fz::cancelled(a)) return;
  const MultilevelParams& p = fz::params<MultilevelParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0 || blockIdx.x >= memory.plan->sections) return;
  place_runs(memory, p, blockIdx.x, own);
}
