// Stage multilevel, encoder: the number and the length of runs, as src/stages/multilevel/stream.rs.
#pragma once
#include "multilevel/log2.cuh"

namespace fz {
namespace multilevel {
FZ_DEV uint64_t bytes_of(uint64_t cost) { return (cost + 8 * BIT - 1) / (8 * BIT); }
FZ_DEV uint64_t root_of(uint64_t n) {
  uint64_t r = (uint64_t)sqrt((double)n);
  while (r * r > n) r--;
  while ((r + 1) * (r + 1) <= n) r++;
  return r;
}
// The number of runs of all sections.
FZ_DEV uint64_t runs_of(uint64_t bytes, uint64_t values) {
  const uint64_t v = values / bytes;
  const uint64_t share = v <= 50 ? 20 : v <= 200 ? 20 + (v - 50) / 5 : v <= 2000 ? 50 + (v - 200) / 12 : 200;
  return bytes * share / (1000 * RUN_BYTES);
}
// The least number of steps of the form (8 + m) 2^e that is not below `steps`, as 8e + m.
FZ_DEV uint32_t code_of_steps(uint32_t steps) {
  uint32_t e = 0;
  while (15u << e < steps) e++;
  uint32_t m = 0;
  while ((8 + m) << e < steps) m++;
  return 8 * e + m;
}
}  // namespace multilevel
}  // namespace fz
