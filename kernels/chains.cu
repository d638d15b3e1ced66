// The chains that exist; src/chains.rs says when which of them is taken.
#include "chain.cuh"

using namespace fz;

// Eight blocks of 64 registers encode on a multiprocessor at a time, nine of 56 decode.
FZ_CHAIN(pfpl_f32, 8, 9, QuantizeStage<4>, DifferenceStage<4>, BitshuffleStage<4>)
FZ_CHAIN_OF_FEW(pfpl_f32, QuantizeStage<4>, DifferenceStage<4>, BitshuffleStage<4>)
FZ_CHAIN(bits_u32, 8, 9, DifferenceStage<4>, BitshuffleStage<4>)
FZ_CHAIN(planes_u32, 8, 9, BitshuffleStage<4>)
FZ_CHAIN(planes_u16, 8, 9, HalvesStage)
