// LorenzoQuant in three dimensions: where entries go, and the lists.
#include "common/lookback.cuh"
#include "lorenzo_quant/list_bricks.cuh"

namespace fz {
namespace lorenzo_quant {
// Where the entries of each slot go: a block adds up those of its slots, and the blocks before.
template <class T> FZ_DEV void place_slots(const Args& a, const LorenzoQuantParams& p, uint64_t* sums, uint64_t* blocks) {
  constexpr uint32_t EACH = SLOTS_OF_BLOCK / BLOCK;
  const Slots slots(a, Brick<T>(p));
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const uint64_t first = (uint64_t)blockIdx.x * SLOTS_OF_BLOCK + threadIdx.x * EACH;
  // Outliers in the lower half, exact values in the upper one.
  uint64_t here[EACH], own = 0;
#pragma unroll
  for (uint32_t k = 0; k < EACH; k += SLOTS_EACH) {
    uint4 four = make_uint4(0, 0, 0, 0);
    if (first + k < slots.count) four = *reinterpret_cast<const uint4*>(slots.here + first + k);
    const uint32_t words[SLOTS_EACH] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (uint32_t i = 0; i < SLOTS_EACH; i++) own += here[k + i] = (uint64_t)(words[i] >> 16) << 32 | (words[i] & 0xffff);
  }
  const uint64_t upto = block_sum_to(own, sums);
  if (threadIdx.x == BLOCK - 1) blocks[0] = upto;
  __syncthreads();
  uint64_t before = blocks[0];
  __syncthreads();
  if (warp < 2) {
    const uint64_t found = warp ? before >> 32 : before & 0xffffffff;
    uint64_t* states = slots.states[warp];
    if (lane == 0) poke(states + blockIdx.x, (blockIdx.x ? OWN : UPTO) | found);
    const uint64_t sum = blockIdx.x ? exclusive_prefix(states, blockIdx.x, lane) : 0;
    if (lane == 0 && blockIdx.x) poke(states + blockIdx.x, UPTO | (sum + found));
    if (lane == 0) blocks[warp] = sum;
  }
  __syncthreads();
  before = (blocks[1] << 32 | blocks[0]) + upto - own;
#pragma unroll
  for (uint32_t k = 0; k < EACH; k += 2)
    if (first + k < slots.count) {
      const uint64_t next = before + here[k];
      *reinterpret_cast<uint4*>(slots.before + first + k) = make_uint4((uint32_t)before, (uint32_t)(before >> 32), (uint32_t)next, (uint32_t)(next >> 32));
      before = next + here[k + 1];
    }
}
}  // namespace lorenzo_quant
}  // namespace fz

// Where the entries of each slot go, the metadata, and the counts of codes.
extern "C" __global__ void __launch_bounds__(256) lorenzo_quant_places_3d(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  __shared__ uint64_t sums[32], blocks[2];
  using namespace fz::lorenzo_quant;
  const LorenzoQuantParams& p = fz::params<LorenzoQuantParams>(a);
  const uint64_t found = totals(a).all();
  if (blockIdx.x == 0 && threadIdx.x == 0) close_lists(a, p);
  if (a.fused_count) {
    const uint32_t* from = reinterpret_cast<const uint32_t*>(Slots(a, Brick<float>(p)).codes);
    uint32_t* to = reinterpret_cast<uint32_t*>(fz::address(fz::output(a, 4)));
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < fz::output(a, 4).max / 4; i += gridDim.x * blockDim.x) to[i] = from[i];
  }
  if (found == 0 || found > room_in_lists(a, p)) return;
  if (p.value == 4) place_slots<float>(a, p, sums, blocks);
  else place_slots<double>(a, p, sums, blocks);
}

#define LORENZO_LIST_BRICKS(VALUE, T)                                                              \
  extern "C" __global__ void __launch_bounds__(256, 2) lorenzo_quant_lists_3d_##VALUE(FZ_ARGS) {   \
    if (fz::cancelled(a)) return;                                                                  \
    __shared__ fz::lorenzo_quant::ListEnds<T>::Entries shared[8];                                  \
    const auto& p = fz::params<fz::lorenzo_quant::LorenzoQuantParams>(a);                          \
    if (fz::lorenzo_quant::opens_lists(a, p)) fz::lorenzo_quant::list_bricks<T>(a, p, shared);     \
  }
LORENZO_LIST_BRICKS(f32, float)
LORENZO_LIST_BRICKS(f64, double)
