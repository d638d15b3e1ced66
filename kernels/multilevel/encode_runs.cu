// Stage multilevel, encoder: all runs, each into its slot. The first launch codes all; the second one, behind `multilevel_place`,
// those that did not fit, to where they belong in the stream.
#include "multilevel/encode_run.cuh"

namespace fz {
namespace multilevel {
template <class T> FZ_DEV void encode_runs(const Args& a, RunRoom* rooms) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0) return;
  const uint32_t all = memory.state->mask_runs + memory.state->runs, warps = gridDim.x * (blockDim.x >> 5);
#pragma unroll 1
  for (uint32_t number = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; number < all; number += warps) {
    const RunPlace place(*memory.plan, *memory.state, number);
    uint32_t room;
    uint8_t* end = slot_end(memory, place, room);
    const uint32_t words = encode_run<T, false>(a, memory, place, end, room, rooms[threadIdx.x >> 5]);
    if ((threadIdx.x & 31) == 0) memory.sizes[number] = words;
  }
}

template <class T> FZ_DEV void encode_again(const Args& a, RunRoom* rooms) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0) return;
  const State& state = *memory.state;
  if (state.stored || !state.overflows) return;
  const Out out(output(a, 1));
  const uint32_t all = state.mask_runs + state.runs, warps = gridDim.x * (blockDim.x >> 5);
#pragma unroll 1
  for (uint32_t number = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; number < all; number += warps) {
    const RunPlace place(*memory.plan, state, number);
    uint32_t room;
    slot_end(memory, place, room);
    const uint32_t words = memory.sizes[number];
    const uint64_t end = state.head + 2 * (state.of[place.section].at + memory.places[number] + words);
    if (words <= room || end > out.max) continue;
    encode_run<T, true>(a, memory, place, out.at + end, words, rooms[threadIdx.x >> 5]);
  }
}
}  // namespace multilevel
}  // namespace fz

#define MULTILEVEL_ENCODE_RUNS(NAME, VALUE)                                                           \
  extern "C" __global__ void __launch_bounds__(256) multilevel_encode_runs_##NAME(FZ_ARGS) {          \
    __shared__ fz::multilevel::RunRoom rooms[8];                                                      \
    if (fz::cancelled(a)) return;                                                                     \
    fz::multilevel::encode_runs<VALUE>(a, rooms);                                                     \
  }                                                                                                   \
  extern "C" __global__ void __launch_bounds__(256) multilevel_encode_again_##NAME(FZ_ARGS) {         \
    __shared__ fz::multilevel::RunRoom rooms[8];                                                      \
    if (fz::cancelled(a)) return;                                                                     \
    fz::multilevel::encode_again<VALUE>(a, rooms);                                                    \
  }
MULTILEVEL_ENCODE_RUNS(f32, float)
MULTILEVEL_ENCODE_RUNS(f64, double)
