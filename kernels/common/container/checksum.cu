// Ends a compression with checksums.
#include "common/container/checksum.cuh"

namespace fz {
FZ_DEV void sum_container(const Args& a) {
  const Frame f(a);
  const bool failed = cancelled(a);
  if (!failed) checksums(f, false);
  if (!last_block(&f.call()->sum_ticket, true)) return;
  if (threadIdx.x == 0) report(a, f.call()->total, failed);
  __syncthreads();
  Frame::clear(f.control, params<ContainerArgs>(a).words_end, threadIdx.x, blockDim.x);  // seed: sum-words
}
}  // namespace fz

FZ_BOTH(fz_sum, fz::sum_container, 256, 4, 4)
