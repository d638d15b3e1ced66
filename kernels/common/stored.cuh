// Elements that a stream stores without coding: they are copied by all threads of a launch.
#pragma once
#include "common/coder.cuh"

namespace fz {
FZ_DEV void copy_stored(const Out& out, uint64_t to, const uint8_t* from, uint64_t bytes) {
  const uint64_t step = 16ull * gridDim.x * blockDim.x;
  for (uint64_t i = 16 * ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x); i < bytes; i += step)
    if (i + 16 <= bytes) out.put16(to + i, load16(from + i));
    else
      for (uint64_t k = i; k < bytes; k++) out.put<uint8_t>(to + k, from[k]);
}

// Writes zeros after the first `bytes` bytes of an output.
FZ_DEV void put_zeros_after(const Out& out, uint64_t bytes) {
  const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = bytes + (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < out.max; i += step) out.at[i] = 0;
}
}  // namespace fz
