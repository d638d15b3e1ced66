// Merge: streams behind each other, and apart again. Their lengths are those of the operands; the
// parameter is how many there are.
#include "common/copy.cuh"
#include "common/units.cuh"

namespace fz {
FZ_DEV uint64_t stream_bytes(const Operand& o) { return least(length(o), o.max); }
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256) merge_encode(FZ_ARGS) {
  using namespace fz;
  if (cancelled(a)) return;
  const Operand& out = output(a, 0);
  const uint64_t streams = params<uint64_t>(a);
  uint64_t end = 0;
  for (uint64_t i = 0; i < streams; i++) {
    const uint64_t start = end, bytes = stream_bytes(input(a, (int)i));
    end += bytes;
    if (start < out.max && bytes) copy(address(out) + start, address(input(a, (int)i)), least(bytes, out.max - start));
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) publish(out, end);
}

extern "C" __global__ void __launch_bounds__(256) merge_decode(FZ_ARGS) {
  using namespace fz;
  if (cancelled(a)) return;
  const uint64_t have = length(input(a, 0)), streams = params<uint64_t>(a);
  uint64_t total = 0;
  for (uint64_t i = 0; i < streams; i++) total += stream_bytes(output(a, (int)i));
  if (total != have) {  // seed: merge-total
    if (blockIdx.x == 0 && threadIdx.x == 0) fail(a, CORRUPT);
    return;
  }
  uint64_t start = 0;
  for (uint64_t i = 0; i < streams; i++) {
    const uint64_t bytes = stream_bytes(output(a, (int)i));
    if (bytes) copy(address(output(a, (int)i)), address(input(a, 0)) + start, bytes);
    start += bytes;  // seed: merge-next
  }
}
