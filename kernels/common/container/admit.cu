// The first function of a compression if an array of a batch is coded by functions for one array: the
// status block tells them whether the array has memory.
#include "common/batch.cuh"

extern "C" __global__ void __launch_bounds__(fz::CONTAINER_BLOCK) fz_admit_batch(FZ_BATCH_ARGS) {
  FZ_BATCH_BEGIN;
  fz::wait_prerequisites();
  if (threadIdx.x == 0) *fz::status_of(a) = {0, 0, 0, 0};  // seed: batch-admit
}
