// Chains of elements that are not four bytes wide: more registers, since planes pass through shared memory.
#include "chain.cuh"

using namespace fz;

FZ_CHAIN(pfpl_f64, 6, 7, QuantizeStage<8>, DifferenceStage<8>, BitshuffleStage<8>)
FZ_CHAIN(bits_u64, 6, 7, DifferenceStage<8>, BitshuffleStage<8>)
FZ_CHAIN(bits_u16, 6, 7, DifferenceStage<2>, BitshuffleStage<2>)
FZ_CHAIN(bits_u8, 6, 7, DifferenceStage<1>, BitshuffleStage<1>)
