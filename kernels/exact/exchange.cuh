// Stage exact, encoder: a step of a bitonic sort in shared memory.
#pragma once
#include "common/launch.cuh"

namespace fz {
namespace exact {
// Compares pair `k` of the elements that are `apart` from each other, and orders it as a sort of parts of `size` elements demands.
template <class K> FZ_DEV void exchange(K* sorted, uint32_t k, uint32_t size, uint32_t apart) {
  const uint32_t i = 2 * k - k % apart, j = i + apart;
  const K x = sorted[i], y = sorted[j];
  if ((x > y) == ((i & size) == 0)) {
    sorted[i] = y;
    sorted[j] = x;
  }
}
}  // namespace exact
}  // namespace fz
