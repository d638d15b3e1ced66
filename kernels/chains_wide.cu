// Chains of elements that are not four bytes wide: more registers, since planes pass through shared memory.
#include "chain.cuh"

using namespace fz;

#define FZ_WIDE_CHAIN(NAME, ...)                                                              \
  extern "C" __global__ void __launch_bounds__(128, 6) chain_##NAME##_encode(FZ_ARGS) { \
    __shared__ EncodeShared sm;                                                          \
    chain_encode<__VA_ARGS__>(a, sm);                                                    \
  }                                                                                      \
  extern "C" __global__ void __launch_bounds__(128, 7) chain_##NAME##_decode(FZ_ARGS) { \
    __shared__ DecodeShared<__VA_ARGS__> sm;                                             \
    chain_decode<__VA_ARGS__>(a, sm);                                                    \
  }

FZ_WIDE_CHAIN(pfpl_f64, QuantizeStage<8>, DifferenceStage<8>, BitshuffleStage<8>)
FZ_WIDE_CHAIN(bits_u64, DifferenceStage<8>, BitshuffleStage<8>)
FZ_WIDE_CHAIN(bits_u16, DifferenceStage<2>, BitshuffleStage<2>)
FZ_WIDE_CHAIN(bits_u8, DifferenceStage<1>, BitshuffleStage<1>)
