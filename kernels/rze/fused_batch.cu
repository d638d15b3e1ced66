// Fused stages of preset pfpl, batches of small arrays. They fill the device, unlike one of them, so
// that more blocks on a multiprocessor count.
#include "common/batch.cuh"
#include "rze/fused.cuh"

using namespace fz;
using namespace fz::rze;

extern "C" __global__ void __launch_bounds__(128, 8) fused_pfpl_f32_encode_small_batch(FZ_BATCH_ARGS) {
  __shared__ EncodeShared sm;
  FZ_BATCH_BEGIN;
  fused_encode<false, 0, QuantizeStage<4>, DifferenceStage<4>, BitshuffleStage<4>>(a, sm);
}
extern "C" __global__ void __launch_bounds__(128, 6) fused_pfpl_f32_decode_small_batch(FZ_BATCH_ARGS) {
  __shared__ DecodeShared<QuantizeStage<4>, DifferenceStage<4>, BitshuffleStage<4>> sm;
  FZ_BATCH_BEGIN;
  fused_decode_small<QuantizeStage<4>, DifferenceStage<4>, BitshuffleStage<4>>(a, sm);
}
