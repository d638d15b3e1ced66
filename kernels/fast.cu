// Stage Fast: device functions by type of the values and number of dimensions.
#include "fast_copy.cuh"
#include "fast_decode.cuh"
#include "fast_decode_few.cuh"
#include "fast_encode_few.cuh"

#define FZ_FAST(NAME, T, DIM, BLOCKS)                                                            \
  extern "C" __global__ void __launch_bounds__(256, BLOCKS) fast_encode_##NAME(FZ_ARGS) {        \
    __shared__ fz::fast::Shared shared;                                                          \
    fz::fast::encode<T, DIM, fz::fast::ANY>(a, shared);                                          \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(256, 2) fast_encode_few_##NAME(FZ_ARGS) {         \
    __shared__ fz::fast::Shared shared;                                                          \
    fz::fast::encode_few<T, DIM>(a, shared);                                                     \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(64, 8) fast_decode_##NAME(FZ_ARGS) {              \
    __shared__ fz::fast::Room<DIM> rooms[2];                                                     \
    fz::fast::decode<T, DIM>(a, rooms);                                                          \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(256, 2) fast_decode_few_##NAME(FZ_ARGS) {         \
    __shared__ fz::fast::Shares shares;                                                          \
    fz::fast::decode_few<T, DIM>(a, shares);                                                     \
  }

FZ_FAST(f32_1d, float, 1, 4)
FZ_FAST(f32_2d, float, 2, 4)
FZ_FAST(f32_3d, float, 3, 4)
FZ_FAST(f64_1d, double, 1, 3)
FZ_FAST(f64_2d, double, 2, 3)
FZ_FAST(f64_3d, double, 3, 3)

// Codes that are near each other, of volumes of f32: lines and planes gain nothing by it. And fills, of planes and volumes of them.
#define FZ_FAST_F32(NAME, DIM, HOW)                                                              \
  extern "C" __global__ void __launch_bounds__(256, 4) fast_encode_##NAME(FZ_ARGS) {             \
    __shared__ fz::fast::Shared shared;                                                          \
    fz::fast::encode<float, DIM, fz::fast::HOW>(a, shared);                                      \
  }
FZ_FAST_F32(near_f32_3d, 3, NEAR_CODES)
FZ_FAST_F32(fills_f32_2d, 2, FILLS)
FZ_FAST_F32(fills_f32_3d, 3, FILLS)
