// Fused stages of elements of one, two, and eight bytes: they need more registers, since planes
// pass through shared memory.
#include "rze/fused.cuh"

using namespace fz;
using namespace fz::rze;

FZ_FUSED(pfpl_f64, 6, 7, QuantizeStage<8>, DifferenceStage<8>, BitshuffleStage<8>)
FZ_FUSED_MEASURING(pfpl_f64, 6, 8, QuantizeStage<8>, DifferenceStage<8>, BitshuffleStage<8>)
FZ_FUSED(bits_u64, 6, 7, DifferenceStage<8>, BitshuffleStage<8>)
FZ_FUSED(bits_u16, 6, 7, DifferenceStage<2>, BitshuffleStage<2>)
FZ_FUSED(bits_u8, 6, 7, DifferenceStage<1>, BitshuffleStage<1>)
