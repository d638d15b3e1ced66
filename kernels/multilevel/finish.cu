// Stage multilevel, decoder: copies stored values, and writes zeros after the shape.
#include "common/stored.cuh"
#include "multilevel/decoder.cuh"

namespace fz {
namespace multilevel {
FZ_DEV void finish(const Args& a) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const DecoderMemory memory(a, p);
  const Out out(output(a, 0));
  const uint64_t bytes = elements(p) * p.value;
  put_zeros_after(out, bytes);
  if (bytes == 0 || *reinterpret_cast<const volatile uint32_t*>(a.zeroed) || !memory.state->stored) return;
  copy_stored(out, 0, address(input(a, 0)) + 4, bytes);
}
}  // namespace multilevel
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256) multilevel_finish(FZ_ARGS) {
  // There may be no pass that has waited.
  if (fz::multilevel::skips_of(a).base) fz::multilevel::ended_of(a).wait();
  if (fz::cancelled(a)) return;
  fz::multilevel::finish(a);
}
