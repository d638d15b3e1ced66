// Runs the blocks of a launch, one after another in the order of their index: a block that waits for an earlier one
// (look-back) finds its answer there.
#pragma once
#include "cuda_emu.h"
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim

namespace fzemu {
// `follows`: on a device it may start before what is ahead of it has ended, so all threads have to wait for that.
void run_grid(const Entry& kernel, dim3 grid, dim3 block, size_t shared_bytes, const void* argument, bool follows);
}
