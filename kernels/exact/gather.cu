// Stage exact, encoder: writes the stream from its parts, or the elements if these are shorter.
#include "common/scan.cuh"
#include "common/shared_memory.cuh"
#include "common/stored.cuh"
#include "exact/encode_run.cuh"
#include "multilevel/put_section.cuh"

namespace fz {
namespace exact {
// The warps that write the words of a section before its runs. There are many words if a section has thousands of runs.
constexpr uint32_t SCALE_WORDS = 9, HEAD_PARTS = 16;
// A warp copies the low bits of a batch, while this number of batches is on its way to the second cache.
constexpr uint32_t AHEAD = 4;

// The words of a number of an element.
FZ_DEV uint32_t number_words(const ExactParams& p) { return (8 * p.width + 15) / 16; }
FZ_DEV uint32_t head_words(const Head& h, const ExactParams& p) {
  return 1 + (h.table ? 2 : 0) + ((h.gap != 0) + (h.factor != 1) + h.holes + (h.center != 0)) * number_words(p);
}
// One block of as many threads as there are blocks at most finds the places of the parts in the stream.
FZ_DEV void find_stream(const Args& a, uint64_t* words) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  const bool first = threadIdx.x == 0;
  if (elements(p) == 0) {
    if (first) publish(output(a, 0), 0);
    return;
  }
  State& state = *memory.state;
  uint64_t at = head_words(state.head, p);
  for (uint32_t number = 0; number < PARTS; number++) {
    uint64_t low = 0;
    for (uint32_t k = threadIdx.x; k < BLOCKS && k < a.tag; k += blockDim.x) low += memory.totals[number][k];
    low = block_sum_to(low, words);
    __shared__ uint64_t all;
    if (threadIdx.x == blockDim.x - 1) all = low;
    __syncthreads();
    Part& part = state.of[number];
    if (part.s.count) {
      const uint64_t codes = part.c.words;
      if (first) {
        part.codes = 2 * (at + SCALE_WORDS);
        part.code_words = codes;
        part.low = part.codes + 2 * codes;
        part.low_words = all;
      }
      at += SCALE_WORDS + codes + all;
    }
    __syncthreads();
  }
  if (!first) return;
  const uint64_t bytes = elements(p) * p.width;
  memory.all.stored = 2 * at >= HEAD_BYTES + bytes;
  publish(output(a, 0), memory.all.stored ? HEAD_BYTES + bytes : 2 * at);
}

struct WordWriter {
  const Out& out;
  uint64_t at;
  FZ_DEV void number(uint64_t value, uint32_t words) {
    for (uint32_t k = 0; k < words; k++, at += 2) out.put<uint16_t>(at, (uint16_t)(value >> 16 * k));
  }
};
// One thread writes the words before the sections.
FZ_DEV void put_head(const Out& out, const State& state, const ExactParams& p) {
  const Head& h = state.head;
  const uint32_t words = number_words(p);
  const bool gap = h.gap != 0, factor = h.factor != 1, center = h.center != 0;
  WordWriter to = {out, 0};
  to.number(1u << 15 | h.order | h.y << 2 | h.z << 3 | h.holes << 4 | (h.table ? 1u << 5 : 0) | gap << 6 | center << 7 | h.plain << 8 | factor << 9 | h.ordered << 10, 1);
  if (h.table) to.number(h.table, 2);
  if (gap) to.number(h.gap, words);
  if (factor) to.number(h.factor, words);
  if (h.holes) to.number(h.hole, words);
  if (center) to.number(h.center, words);
  for (uint32_t k = 0; k < PARTS; k++) {
    const Part& part = state.of[k];
    if (part.s.count == 0) continue;
    to.at = part.codes - 2 * SCALE_WORDS;
    to.number(part.scale.least | part.scale.step << 8, 1);
    to.number(part.code_words, 4);
    to.number(part.low_words, 4);
  }
}

FZ_DEV void gather(const Args& a) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0) return;
  const Out out(output(a, 0));
  const State& state = *memory.state;
  const uint64_t bytes = elements(p) * p.width, me = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (memory.all.stored) {
    if (me == 0) out.put<uint16_t>(0, 0);
    copy_stored(out, HEAD_BYTES, address(input(a, 0)), bytes);
    return;
  }
  if (me == 0) put_head(out, state, p);
  const uint32_t runs = all_runs(state), warps = gridDim.x * (blockDim.x >> 5);
#pragma unroll 1
  for (uint32_t number = (uint32_t)me >> 5; number < runs + HEAD_PARTS * PARTS; number += warps) {
    if (number < HEAD_PARTS * PARTS) {
      const uint32_t section = number % PARTS;
      const Part& part = state.of[section];
      if (part.s.count) multilevel::put_section_head(out, part.codes, part.c, memory.sizes + part.c.first_mask_run, memory.set(section, 1), memory.set(section, 2), number / PARTS, HEAD_PARTS);
      continue;
    }
    const uint32_t run = number - HEAD_PARTS * PARTS, words = memory.sizes[run];
    const RunPlace place(state, run);
    uint32_t room;
    const uint8_t* end = slot_end(memory, place, room);
    if (words > room) continue;
    multilevel::copy_run(out, state.of[place.part].codes + 2 * memory.places[run], reinterpret_cast<const uint16_t*>(end) - words, words);
  }
}

// Runs that did not fit into their slots, to where they belong.
FZ_DEV void encode_again(const Args& a, RunsRoom& own) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0 || memory.all.stored || !memory.all.overflows) return;
  const Out out(output(a, 0));
  encode_groups<true>(
      memory, p, own,
      [&](const RunPlace& place, uint32_t number, uint8_t*& end, uint32_t& room) {
        slot_end(memory, place, room);
        const uint32_t words = memory.sizes[number];
        const uint64_t at = memory.state->of[place.part].codes + 2 * (memory.places[number] + words);
        if (words <= room || at > out.max) return false;
        end = out.at + at;
        room = words;
        return true;
      },
      [](uint32_t, uint32_t) {});
}

// Copies the words of a batch to any place of the output, by a warp, in pairs that are aligned in the output.
FZ_DEV void copy_batch(const Out& out, uint64_t at, const uint32_t* from, uint32_t words) {
  constexpr uint32_t LOADS = 4;
  const uint32_t lane = threadIdx.x & 31;
  uint8_t* to = out.at + at;
  if (at + 2ull * words > out.max || !aligned(to, 2)) {
    for (uint32_t k = lane; k < words; k += 32) out.put<uint16_t>(at + 2ull * k, (uint16_t)(from[k / 2] >> 16 * (k % 2)));
    return;
  }
  const uint32_t odd = aligned(to, 4) ? 0 : 1, pairs = (words - odd) / 2, done = odd + 2 * pairs;
  uint16_t* of = reinterpret_cast<uint16_t*>(to);
  uint32_t* all = reinterpret_cast<uint32_t*>(of + odd);
  if (odd && lane == 0) of[0] = (uint16_t)from[0];
  if (done < words && lane == 1) of[done] = (uint16_t)(from[done / 2] >> 16 * (done % 2));
#pragma unroll 1
  for (uint32_t first = lane; first < pairs; first += 32 * LOADS) {
    uint32_t own[LOADS], next[LOADS] = {};
#pragma unroll
    for (uint32_t j = 0; j < LOADS; j++) own[j] = first + 32 * j < pairs ? from[first + 32 * j] : 0;
    if (odd)
#pragma unroll
      for (uint32_t j = 0; j < LOADS; j++) next[j] = first + 32 * j < pairs ? from[first + 32 * j + 1] : 0;
#pragma unroll
    for (uint32_t j = 0; j < LOADS; j++)
      if (first + 32 * j < pairs) all[first + 32 * j] = __funnelshift_r(own[j], next[j], 16 * odd);
  }
}

// The low bits of all batches. A warp has consecutive batches.
FZ_DEV void put_low(const Args& a, uint64_t* words, uint64_t* sizes) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0 || memory.all.stored) return;
  const Out out(output(a, 0));
  const uint32_t lane = threadIdx.x & 31;
#pragma unroll 1
  for (uint32_t number = 0; number < PARTS; number++) {
    const Part& part = memory.state->of[number];
    if (part.s.count == 0) continue;
    const BatchShare share(part.s.batches);
    auto words_in = [&](uint32_t batch) {
      const uint32_t i = part.s.first_batch + batch;
      return batch < share.own_end ? words_of(memory.fields[i], part.scale.low_bits(memory.classes[i], 8 * p.width)) : 0;
    };
    uint64_t at = 0, own = 0;
    for (uint32_t k = threadIdx.x; k < blockIdx.x; k += blockDim.x) at += memory.totals[number][k];
    for (uint32_t batch = share.own_first + lane; batch < share.own_end; batch += 32) own += words_in(batch);
    at = before_warp(at, own, words, sizes);
    const uint8_t* numbers = memory.numbers(number, 0, p.width);
    const uint32_t slot = POINTS * p.width;
#pragma unroll 1
    for (uint32_t from = share.own_first; from < share.own_end; from += 32) {
      const BatchWords mine(words_in(from + lane));
      const uint8_t* own_numbers = numbers + (uint64_t)(from + lane) * slot;
      if (lane < AHEAD && mine.own >= 8) fz_prefetch(own_numbers, mine.own / 8 * 16);
#pragma unroll 1
      for (uint32_t k = 0; k < 32; k++) {
        if (lane == k + AHEAD && mine.own >= 8) fz_prefetch(own_numbers, mine.own / 8 * 16);
        const uint32_t count = __shfl_sync(ALL, mine.own, k), before = __shfl_sync(ALL, mine.before, k);
        // Batches behind the last one have no words.
        if (count) copy_batch(out, part.low + 2 * (at + before), reinterpret_cast<const uint32_t*>(numbers + (uint64_t)(from + k) * slot), count);
      }
      at += __shfl_sync(ALL, mine.before + mine.own, 31);
    }
  }
}
}  // namespace exact
}  // namespace fz

extern "C" __global__ void __launch_bounds__(1024) exact_stream(FZ_ARGS) {
  __shared__ uint64_t words[32];
  if (fz::cancelled(a)) return;
  fz::exact::find_stream(a, words);
}
extern "C" __global__ void __launch_bounds__(256) exact_gather(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  fz::exact::gather(a);
}
extern "C" __global__ void __launch_bounds__(32 * fz::exact::RUN_WARPS) exact_encode_again(FZ_ARGS) {
  __shared__ fz::exact::RunsRoom own;
  if (fz::cancelled(a)) return;
  fz::exact::encode_again(a, own);
}
extern "C" __global__ void __launch_bounds__(256, 8) exact_put_low(FZ_ARGS) {
  __shared__ uint64_t words[32], sizes[9];
  if (fz::cancelled(a)) return;
  fz::exact::put_low(a, words, sizes);
}
