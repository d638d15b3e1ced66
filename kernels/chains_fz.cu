// Preset fz, decoder; its encoder is bricks of lorenzo_quant and chain planes_u16.
#include "chain_fz.cuh"

// A tile needs all registers of a quarter of a multiprocessor: 64 sums stand in them.
extern "C" __global__ void __launch_bounds__(128, 4) chain_fz_decode(FZ_ARGS) {
  __shared__ fz::FzShared sm;
  fz::chain_fz_decode(a, sm);
}
