// Stage multilevel, decoder: copies stored values, and writes zeros after the shape.
#include "multilevel/decoder.cuh"

namespace fz {
namespace multilevel {
FZ_DEV void finish(const Args& a) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const DecoderMemory memory(a, p);
  const Out out(output(a, 0));
  const uint64_t bytes = elements(p) * p.value, me = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = bytes + me; i < out.max; i += step) out.at[i] = 0;
  if (bytes == 0 || *reinterpret_cast<const volatile uint32_t*>(a.zeroed) || !memory.state->stored) return;
  const uint8_t* from = address(input(a, 0)) + 4;
  for (uint64_t i = 16 * me; i < bytes; i += 16 * step) {
    if (i + 16 <= bytes) out.put16(i, load16(from + i));
    else
      for (uint64_t k = i; k < bytes; k++) out.put<uint8_t>(k, from[k]);
  }
}
}  // namespace multilevel
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256) multilevel_finish(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  fz::multilevel::finish(a);
}
