// Stage multilevel, decoder: opens the sections.
#include "multilevel/open.cuh"

extern "C" __global__ void __launch_bounds__(256) multilevel_open(FZ_ARGS) {
  using namespace fz::multilevel;
  __shared__ OpenMemory own;
  if (fz::cancelled(a)) return;
  Section section;
  Words words;
  open(a, own, section, words);
}
