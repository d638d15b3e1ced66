// Fused decoder of preset fz, and stages of small arrays. Its encoder is not fused with lorenzo_quant: bricks read the array
// once, and fused_planes_u16 encodes the codes.
#include "rze/fused_fz.cuh"

// Small arrays: the codes pass through memory.
FZ_FUSED_SMALL(planes_u16, fz::rze::HalvesStage)
// A block takes a quarter of the registers of a multiprocessor: each thread holds 64 sums.
extern "C" __global__ void __launch_bounds__(128, 4) fused_fz_decode(FZ_ARGS) {
  __shared__ fz::rze::FzShared sm;
  fz::rze::fused_fz_decode(a, sm);
}
