// Stage fast, batches of patches: a block for each array (patch.cuh). An array that has to be coded in
// another way is coded chunk by chunk, as in batch.cu.
#include "common/batch.cuh"
#include "fast/decode_patch.cuh"
#include "fast/encode_patch.cuh"
#include "fast/encode_small.cuh"

namespace fz {
namespace fast {
FZ_RARE void encode_chunk_again(const Args& a, Shared& s, uint32_t number) { encode_small_as<float, 3, UnitEncoder<float, 3, false, false, true>>(a, s, number); }
FZ_RARE void encode_chunks(const Args& a, Shared& s) {
  for (uint32_t number = 0; number < params<Params>(a).chunks; number++) {
    __syncthreads();
    if (encode_small_as<float, 3, Half2Encoder<true>>(a, s, number) == OUT_OF_REACH) encode_chunk_again(a, s, number);
  }
}
}  // namespace fast
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256, 5) fast_encode_patch_f32_3d_batch(FZ_BATCH_ARGS) {
  __shared__ fz::fast::Shared shared;
  FZ_BATCH_BEGIN;
  if (!fz::fast::encode_patch(a, reinterpret_cast<fz::fast::PatchWork&>(shared.codes))) fz::fast::encode_chunks(a, shared);
}
extern "C" __global__ void __launch_bounds__(256, 5) fast_decode_patch_f32_3d_batch(FZ_BATCH_ARGS) {
  __shared__ fz::fast::PatchShares shares;
  FZ_BATCH_BEGIN;
  fz::fast::decode_patch(a, shares);
}
