// Stage multilevel, encoder: writes the stream from its parts, or the values if these are shorter. A warp copies a run.
#include "common/stored.cuh"
#include "multilevel/encode_run.cuh"
#include "multilevel/put_section.cuh"

namespace fz {
namespace multilevel {
constexpr uint32_t HEAD_BYTES = 4;
// The warps that write the words of a section before its runs. There are many words if a section has thousands of runs.
constexpr uint32_t HEAD_PARTS = 16;

// The places of the sections in the stream. Every block computes them.
struct StreamPlan {
  uint64_t at[MOST_SECTIONS], words;
  uint32_t head, patterns;
  bool stored;
  FZ_DEV void find(const EncoderMemory& memory, const MultilevelParams& p, const MultilevelMetadata& m) {
    const uint32_t lane = threadIdx.x & 31;
    if (threadIdx.x < 32) {
      const uint32_t sections = memory.plan->sections;
      uint64_t before = 0;
      for (uint32_t from = 0; from < sections; from += 32) {
        const uint64_t own = from + lane < sections ? memory.state->of[from + lane].words : 0, upto = warp_sum_to(own);
        if (from + lane < sections) at[from + lane] = before + upto - own;
        before += __shfl_sync(ALL, upto, 31);
      }
      if (lane == 0) {
        words = before;
        patterns = m.patterns;
        head = HEAD_BYTES + 4 * sections + patterns * p.value;
        stored = head + 2 * before >= HEAD_BYTES + elements(p) * p.value;
      }
    }
    __syncthreads();
  }
};

FZ_DEV void put_head(const Out& out, const StreamPlan& stream, const EncoderMemory& memory, const MultilevelParams& p, const MultilevelMetadata& m) {
  const uint32_t lane = threadIdx.x & 31, sections = memory.plan->sections;
  if (lane == 0) out.put<uint32_t>(0, sections | stream.patterns << 24);
  for (uint32_t i = lane; i < sections; i += 32) out.put<uint32_t>(HEAD_BYTES + 4 * i, (uint32_t)memory.state->of[i].words);
  for (uint32_t i = lane; i < stream.patterns; i += 32) {
    const uint64_t at = HEAD_BYTES + 4 * sections + i * p.value;
    if (p.value == 4) out.put<uint32_t>(at, (uint32_t)m.pattern[i]);
    else out.put<uint64_t>(at, m.pattern[i]);
  }
}

// Stores the values in place of sections.
FZ_DEV void store_values(const Args& a, const Out& out, uint64_t bytes) {
  if (blockIdx.x == 0 && threadIdx.x == 0) out.put<uint32_t>(0, 0);
  copy_stored(out, HEAD_BYTES, address(input(a, 0)), bytes);
}

FZ_DEV void gather(const Args& a, StreamPlan& stream) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const EncoderMemory memory(a, p);
  const bool first = blockIdx.x == 0 && threadIdx.x == 0;
  if (elements(p) == 0) {
    if (first) publish(output(a, 1), 0);
    return;
  }
  const MultilevelMetadata& m = *reinterpret_cast<const MultilevelMetadata*>(address(input(a, 1)));
  stream.find(memory, p, m);
  const Out out(output(a, 1));
  State& state = *memory.state;
  const uint64_t bytes = elements(p) * p.value;
  if (first) {
    publish(output(a, 1), stream.stored ? HEAD_BYTES + bytes : stream.head + 2 * stream.words);
    state.stored = stream.stored;
    state.head = stream.head;
  }
  if (blockIdx.x == 0)
    for (uint32_t k = threadIdx.x; k < memory.plan->sections; k += blockDim.x) {
      state.of[k].at = stream.at[k];
      state.of[k].list += stream.at[k];
    }
  if (stream.stored) {
    store_values(a, out, bytes);
    return;
  }
  const uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = gridDim.x * (blockDim.x >> 5), runs = state.mask_runs + state.runs;
  if (warp == 0) put_head(out, stream, memory, p, m);
  const uint32_t heads = HEAD_PARTS * memory.plan->sections;
#pragma unroll 1
  for (uint32_t number = warp; number < runs + heads; number += warps) {
    if (number < heads) {
      const uint32_t section = number / HEAD_PARTS;
      const Coding& c = state.of[section];
      put_section_head(out, stream.head + 2 * stream.at[section], c, memory.sizes + c.first_mask_run, memory.set(section, c.has_masks), memory.set(section, 2), number % HEAD_PARTS, HEAD_PARTS);
      continue;
    }
    const uint32_t run = number - heads, words = memory.sizes[run];
    const RunPlace place(*memory.plan, state, run);
    uint32_t room;
    const uint8_t* end = slot_end(memory, place, room);
    if (words > room) continue;
    copy_run(out, stream.head + 2 * (stream.at[place.section] + memory.places[run]), reinterpret_cast<const uint16_t*>(end) - words, words);
  }
}
}  // namespace multilevel
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256) multilevel_gather(FZ_ARGS) {
  __shared__ fz::multilevel::StreamPlan stream;
  if (fz::cancelled(a)) return;
  fz::multilevel::gather(a, stream);
}
