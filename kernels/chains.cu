// The chains that exist; src/chains.rs says when which of them is taken.
#include "chain.cuh"

using namespace fz;

// Eight blocks of 64 registers encode on a multiprocessor at a time, nine of 56 decode.
#define FZ_CHAIN(NAME, ...)                                                              \
  extern "C" __global__ void __launch_bounds__(128, 8) chain_##NAME##_encode(FZ_ARGS) { \
    __shared__ EncodeShared sm;                                                          \
    chain_encode<__VA_ARGS__>(a, sm);                                                    \
  }                                                                                      \
  extern "C" __global__ void __launch_bounds__(128, 9) chain_##NAME##_decode(FZ_ARGS) { \
    __shared__ DecodeShared<__VA_ARGS__> sm;                                             \
    chain_decode<__VA_ARGS__>(a, sm);                                                    \
  }

FZ_CHAIN(pfpl_f32, QuantizeStage<4>, DifferenceStage<4>, BitshuffleStage<4>)
FZ_CHAIN(bits_u32, DifferenceStage<4>, BitshuffleStage<4>)
FZ_CHAIN(planes_u32, BitshuffleStage<4>)
