// Stage fast, batches of small arrays. They fill the device, unlike one of them, so that more blocks
// on a multiprocessor count: BLOCKS.
#include "common/batch.cuh"
#include "fast/decode_small.cuh"
#include "fast/encode_small.cuh"

#define FZ_FAST_BATCH(NAME, T, DIM, BLOCKS)                                                      \
  extern "C" __global__ void __launch_bounds__(256, BLOCKS) fast_encode_small_##NAME##_batch(FZ_BATCH_ARGS) { \
    __shared__ fz::fast::Shared shared;                                                          \
    FZ_BATCH_BEGIN;                                                                              \
    fz::fast::encode_small<T, DIM>(a, shared);                                                   \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(256, BLOCKS) fast_decode_small_##NAME##_batch(FZ_BATCH_ARGS) { \
    __shared__ fz::fast::Shares shares;                                                          \
    FZ_BATCH_BEGIN;                                                                              \
    fz::fast::decode_small<T, DIM>(a, shares);                                                   \
  }

FZ_FAST_BATCH(f32_1d, float, 1, 3)
FZ_FAST_BATCH(f32_2d, float, 2, 3)
FZ_FAST_BATCH(f32_3d, float, 3, 3)
FZ_FAST_BATCH(f64_1d, double, 1, 2)
FZ_FAST_BATCH(f64_2d, double, 2, 2)
FZ_FAST_BATCH(f64_3d, double, 3, 2)
