// Copies between any two addresses, by all threads of the grid.
#pragma once
#include "common/launch.cuh"

namespace fz {
FZ_DEV void copy(uint8_t* dst, const uint8_t* src, uint64_t n) {
  const uint64_t first = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, threads = (uint64_t)gridDim.x * blockDim.x;
  if (((uintptr_t)dst & 15) == ((uintptr_t)src & 15)) {
    uint64_t lead = (16 - ((uintptr_t)dst & 15)) & 15;
    if (lead > n) lead = n;
    const uint64_t words = (n - lead) / 16, done = lead + words * 16;
    if (first < lead) dst[first] = src[first];
    for (uint64_t i = first; i < words; i += threads) reinterpret_cast<uint4*>(dst + lead)[i] = reinterpret_cast<const uint4*>(src + lead)[i];
    if (first < n - done) dst[done + first] = src[done + first];
    return;
  }
  // Four bytes of the destination at a time, out of aligned words of the source; its two ends byte
  // by byte.
  uint64_t lead = (4 - ((uintptr_t)dst & 3)) & 3;
  if (lead > n) lead = n;
  const uint64_t words = n - lead >= 8 ? (n - lead - 4) / 4 : 0, done = lead + words * 4;
  const uint32_t phase = ((uintptr_t)(src + lead) & 3) * 8;
  const uint32_t* from = reinterpret_cast<const uint32_t*>((uintptr_t)(src + lead) & ~(uintptr_t)3);
  if (first < lead) dst[first] = src[first];
  for (uint64_t i = first; i < words; i += threads) {
    // The first word may begin before the source: it is in the same aligned word, so it can be
    // read.
    const uint32_t x = phase ? __funnelshift_r(from[i], from[i + 1], phase) : from[i];
    reinterpret_cast<uint32_t*>(dst + lead)[i] = x;
  }
  for (uint64_t i = done + first; i < n; i += threads) dst[i] = src[i];
}
}  // namespace fz
