// Stage multilevel: differences (not yet).
#include "multilevel/decoder.cuh"
#define STUB(NAME) extern "C" __global__ void __launch_bounds__(256) multilevel_##NAME(FZ_ARGS) { if (fz::cancelled(a)) return; }
STUB(quotients_f32)
STUB(quotients_f64)
STUB(differences_f32)
STUB(differences_f64)
STUB(list_f32)
STUB(list_f64)
STUB(decode_differences_f32)
STUB(decode_differences_f64)
STUB(sum_rows)
STUB(sum_lines)
STUB(restore_f32)
STUB(restore_f64)
