// Stage multilevel, encoder: the sets of tables of all sections. A block computes one set.
#include "multilevel/set_maker.cuh"

extern "C" __global__ void __launch_bounds__(512) multilevel_tables(FZ_ARGS) {
  using namespace fz::multilevel;
  __shared__ SetMaker maker;
  if (fz::cancelled(a)) return;
  const MultilevelParams& p = fz::params<MultilevelParams>(a);
  const EncoderMemory memory(a, p);
  const uint32_t section = blockIdx.x / 3, kind = blockIdx.x % 3;
  if (section >= memory.plan->sections) return;
  const Section& s = memory.plan->of[section];
  if (s.kind == BASE && kind > 0) return;
  maker.make(memory.counts[section], kind, memory.set(section, kind));
}
