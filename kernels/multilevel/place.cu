// Stage multilevel, encoder: a block computes the places of the runs of a section.
#include "common/scan.cuh"
#include "multilevel/differences.cuh"
#include "multilevel/encode_run.cuh"

namespace fz {
namespace multilevel {
struct PlaceMemory {
  uint64_t sums[32];
  uint32_t most[32], width;
  uint64_t before;
};

FZ_DEV void place_runs(const EncoderMemory& memory, const MultilevelParams& p, uint32_t section, PlaceMemory& own) {
  Coding& c = memory.state->of[section];
  const uint32_t count = c.mask_runs + c.runs;
  const uint32_t* sizes = memory.sizes + c.first_mask_run;
  uint32_t most = 0, overflows = 0;
  for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
    most = max(most, sizes[i]);
    overflows += sizes[i] > (i < c.mask_runs ? c.mask_room : c.room);
  }
  most = block_scan_to<Most>(most, own.most);
  if (threadIdx.x == blockDim.x - 1) own.width = 32 - __clz((int)most);
  if (overflows) atomicAdd(&memory.state->overflows, overflows);
  __syncthreads();
  const uint32_t head = 2 + (c.has_masks ? 2 : 0) + (uint32_t)(((uint64_t)count * own.width + 15) / 16) + c.table_words;
  uint64_t before = head;
#pragma unroll 1
  for (uint32_t from = 0; from < count; from += blockDim.x) {
    const uint32_t i = from + threadIdx.x;
    const uint64_t words = i < count ? sizes[i] : 0, upto = block_sum_to(words, own.sums);
    if (i < count) memory.places[c.first_mask_run + i] = before + upto - words;
    if (threadIdx.x == blockDim.x - 1) own.before = before + upto;
    __syncthreads();
    before = own.before;
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  c.width = own.width;
  c.head = head;
  c.list = before;
  c.words = before;
  if (memory.plan->of[section].kind == DIFFERENCES) c.words += list_words(memory.counts[section].exact, p);
}
}  // namespace multilevel
}  // namespace fz

extern "C" __global__ void __launch_bounds__(1024) multilevel_place(FZ_ARGS) {
  using namespace fz::multilevel;
  __shared__ PlaceMemory own;
  if (fz::cancelled(a)) return;
  const MultilevelParams& p = fz::params<MultilevelParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0 || blockIdx.x >= memory.plan->sections) return;
  place_runs(memory, p, blockIdx.x, own);
}
