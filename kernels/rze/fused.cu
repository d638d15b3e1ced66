// Fused stages of elements of four bytes, and bit planes of two. src/stages/rze/fused.rs selects
// them.
#include "rze/fused.cuh"

using namespace fz;
using namespace fz::rze;

// Eight encoder blocks of 64 registers run on a multiprocessor at a time, and nine decoder blocks
// of 56.
FZ_FUSED(pfpl_f32, 8, 9, QuantizeStage<4>, DifferenceStage<4>, BitshuffleStage<4>)
FZ_FUSED_MEASURING(pfpl_f32, 8, 4, QuantizeStage<4>, DifferenceStage<4>, BitshuffleStage<4>)
FZ_FUSED_SMALL(pfpl_f32, QuantizeStage<4>, DifferenceStage<4>, BitshuffleStage<4>)
FZ_FUSED(bits_u32, 8, 9, DifferenceStage<4>, BitshuffleStage<4>)
FZ_FUSED(planes_u32, 8, 9, BitshuffleStage<4>)
FZ_FUSED(planes_u16, 8, 9, HalvesStage)
