// Stage fast, batches of patches: a block for each array (patch.cuh). Arrays that have to be coded in
// another way are coded chunk by chunk.
#include "common/batch.cuh"
#include "fast/decode_patch.cuh"
#include "fast/encode_patch.cuh"
#include "fast/encode_small.cuh"

namespace fz {
namespace fast {
FZ_RARE void encode_chunks(const Args& a, Shared& s) {
  for (uint32_t number = 0; number < params<Params>(a).chunks; number++) {
    __syncthreads();
    encode_small_as<float, 3, UnitEncoder<float, 3, false, false, true>>(a, s, number);
  }
}
}  // namespace fast
}  // namespace fz

#ifndef FZ_PATCH_ENCODERS
#define FZ_PATCH_ENCODERS 5
#define FZ_PATCH_DECODERS 5
#endif
extern "C" __global__ void __launch_bounds__(256, FZ_PATCH_ENCODERS) fast_encode_patch_f32_3d_batch(FZ_BATCH_ARGS) {
  __shared__ fz::fast::Shared shared;
  FZ_BATCH_BEGIN;
  if (!fz::fast::encode_patch(a, reinterpret_cast<fz::fast::PatchWork&>(shared.codes))) fz::fast::encode_chunks(a, shared);
}
extern "C" __global__ void __launch_bounds__(256, FZ_PATCH_DECODERS) fast_decode_patch_f32_3d_batch(FZ_BATCH_ARGS) {
  __shared__ fz::fast::PatchShares shares;
  FZ_BATCH_BEGIN;
  fz::fast::decode_patch(a, shares);
}
