// Stage multilevel, encoder: all runs, each into its slot. The first launch codes all; the second one, behind `multilevel_place`,
// those that did not fit, to where they belong in the stream.
#include "multilevel/encode_run.cuh"

namespace fz {
namespace multilevel {
template <class T> FZ_DEV void encode_runs(const Args& a, RunsRoom& own) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0) return;
  const State& state = *memory.state;
  const RunEntries entries = {Shared<uint2>(own.entries[0])};
  RunGroup group;
#pragma unroll 1
  for (uint32_t k = blockIdx.x; group.find(*memory.plan, state, k); k += gridDim.x) {
    own.load(memory.set(group.section, group.is_mask ? 2 : state.of[group.section].has_masks));
    RunPlace place;
    uint32_t number, room;
    if (!group.own(state, place, number)) continue;
    uint8_t* end = slot_end(memory, place, room);
    const uint32_t words = encode_run<T, false>(a, memory, place, entries, end, room, own.warps[threadIdx.x >> 5]);
    if ((threadIdx.x & 31) == 0) memory.sizes[number] = words;
  }
}

template <class T> FZ_DEV void encode_again(const Args& a, RunsRoom& own) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0) return;
  const State& state = *memory.state;
  if (state.stored || !state.overflows) return;
  const Out out(output(a, 1));
  const RunEntries entries = {Shared<uint2>(own.entries[0])};
  RunGroup group;
#pragma unroll 1
  for (uint32_t k = blockIdx.x; group.find(*memory.plan, state, k); k += gridDim.x) {
    own.load(memory.set(group.section, group.is_mask ? 2 : state.of[group.section].has_masks));
    RunPlace place;
    uint32_t number, room;
    if (!group.own(state, place, number)) continue;
    slot_end(memory, place, room);
    const uint32_t words = memory.sizes[number];
    const uint64_t end = state.head + 2 * (state.of[place.section].at + memory.places[number] + words);
    if (words <= room || end > out.max) continue;
    encode_run<T, true>(a, memory, place, entries, out.at + end, words, own.warps[threadIdx.x >> 5]);
  }
}
}  // namespace multilevel
}  // namespace fz

// More blocks on a multiprocessor would leave too few registers.
#define MULTILEVEL_ENCODE_RUNS(NAME, VALUE)                                                                                   \
  extern "C" __global__ void __launch_bounds__(32 * fz::multilevel::RUN_WARPS, 7) multilevel_encode_runs_##NAME(FZ_ARGS) {    \
    __shared__ fz::multilevel::RunsRoom own;                                                                                  \
    if (fz::cancelled(a)) return;                                                                                             \
    fz::multilevel::encode_runs<VALUE>(a, own);                                                                               \
  }                                                                                                                           \
  extern "C" __global__ void __launch_bounds__(32 * fz::multilevel::RUN_WARPS, 7) multilevel_encode_again_##NAME(FZ_ARGS) {   \
    __shared__ fz::multilevel::RunsRoom own;                                                                                  \
    if (fz::cancelled(a)) return;                                                                                             \
    fz::multilevel::encode_again<VALUE>(a, own);                                                                              \
  }
MULTILEVEL_ENCODE_RUNS(f32, float)
MULTILEVEL_ENCODE_RUNS(f64, double)
