// Stage fast, batches of small arrays. They fill the device, unlike one of them, so that more blocks
// on a multiprocessor count, and so do units at the edge, of which patches have many.
#include "common/batch.cuh"
#include "fast/decode_small.cuh"
#include "fast/encode_small.cuh"

namespace fz {
namespace fast {
template <class T, int DIM> using BatchEncoder = UnitEncoder<T, DIM, false, false, true>;
// As `encode_again` in encode.cu.
FZ_RARE void encode_small_again(const Args& a, Shared& s) { encode_small_as<float, 3, BatchEncoder<float, 3>>(a, s, blockIdx.x); }
FZ_DEV void encode_small_half2(const Args& a, Shared& s) {
  if (encode_small<float, 3, Half2Encoder<true>>(a, s) == OUT_OF_REACH) encode_small_again(a, s);
}
}  // namespace fast
}  // namespace fz

// Blocks on a multiprocessor: ENCODERS, DECODERS.
#define FZ_FAST_BATCH(NAME, T, DIM, ENCODERS, DECODERS)                                                      \
  extern "C" __global__ void __launch_bounds__(256, ENCODERS) fast_encode_small_##NAME##_batch(FZ_BATCH_ARGS) { \
    __shared__ fz::fast::Shared shared;                                                          \
    FZ_BATCH_BEGIN;                                                                              \
    fz::fast::encode_small<T, DIM, fz::fast::BatchEncoder<T, DIM>>(a, shared);                   \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(256, DECODERS) fast_decode_small_##NAME##_batch(FZ_BATCH_ARGS) { \
    __shared__ fz::fast::Shares shares;                                                          \
    FZ_BATCH_BEGIN;                                                                              \
    fz::fast::decode_small<T, DIM>(a, shares);                                                   \
  }

FZ_FAST_BATCH(f32_1d, float, 1, 4, 3)
FZ_FAST_BATCH(f32_2d, float, 2, 4, 3)
FZ_FAST_BATCH(f32_3d, float, 3, 4, 3)
FZ_FAST_BATCH(f64_1d, double, 1, 3, 2)
FZ_FAST_BATCH(f64_2d, double, 2, 3, 2)
FZ_FAST_BATCH(f64_3d, double, 3, 3, 2)

extern "C" __global__ void __launch_bounds__(256, 4) fast_encode_small_half2_f32_3d_batch(FZ_BATCH_ARGS) {
  __shared__ fz::fast::Shared shared;
  FZ_BATCH_BEGIN;
  fz::fast::encode_small_half2(a, shared);
}
