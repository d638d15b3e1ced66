// Stage multilevel, decoder: a block finds the starts of the runs of a section.
#include "multilevel/decoder.cuh"
#include "multilevel/starts.cuh"

extern "C" __global__ void __launch_bounds__(1024) multilevel_decode_starts(FZ_ARGS) {
  using namespace fz::multilevel;
  __shared__ uint32_t words[32];
  if (fz::cancelled(a)) return;
  const MultilevelParams& p = fz::params<MultilevelParams>(a);
  const DecoderMemory memory(a, p);
  if (!is_open(a, memory, p) || blockIdx.x >= memory.plan->sections) return;
  const Coding& c = memory.state->of[blockIdx.x];
  if (!c.has_masks) return;
  const Section& s = memory.plan->of[blockIdx.x];
  bool bad = false;
  const uint32_t steps = find_starts(s, c, memory.masks + s.first_batch, memory.starts + c.first_run, c.runs, words, bad);
  if (__syncthreads_or(bad || steps != c.steps) && threadIdx.x == 0) corrupt(a);
}
