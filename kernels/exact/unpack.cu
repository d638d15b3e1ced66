// Stage exact, decoder: differences from codes and low bits. The first launch counts the words of the low bits of the batches of each
// block, the second one reads them. A warp has a batch.
#include "common/scan.cuh"
#include "exact/decoder.cuh"

namespace fz {
namespace exact {
constexpr uint32_t WARPS = 8;

// The codes of a batch: those of a lane, and the steps in which the lane has an integer and in which that is no hole.
struct BatchOf {
  uint32_t code[BATCH], live, filled, fields, shift;
  FZ_DEV BatchOf() : live(0), filled(0), fields(0), shift(0) {}
  template <class W> FZ_DEV void load(const DecoderMemory& memory, const Part& part, uint32_t number, uint32_t batch, bool holes) {
    const uint32_t own = memory.classes[part.s.first_batch + batch] & 15, first = batch * POINTS + (threadIdx.x & 31);
    shift = part.scale.low_bits(own, BITS<W>);
#pragma unroll
    for (uint32_t j = 0; j < BATCH; j++) {
      const uint32_t i = first + j * STEP;
      const bool is_live = i < part.s.count;
      code[j] = is_live && own ? memory.codes[number][i] : 0;
      live |= (uint32_t)is_live << j;
      filled |= (uint32_t)(is_live && (!holes || code[j])) << j;
      fields += __popc(__ballot_sync(ALL, filled >> j & 1));
    }
  }
};

template <class W> FZ_DEV void count_low(const Args& a, uint64_t* words) {
  const ExactParams& p = params<ExactParams>(a);
  const DecoderMemory memory(a, p);
  if (!is_open(a, memory, p)) return;
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll 1
  for (uint32_t number = 0; number < PARTS; number++) {
    const Part& part = memory.state->of[number];
    const bool holes = number == OF_ARRAY && memory.state->head.holes;
    const Share share(part.s.batches);
    uint64_t sum = 0;
    if (holes) {
#pragma unroll 1
      for (uint32_t batch = share.first + warp; batch < share.end; batch += WARPS) {
        BatchOf of;
        of.load<W>(memory, part, number, batch, true);
        if (lane == 0) sum += words_of(of.fields, of.shift);
      }
    } else {
      for (uint32_t batch = share.first + threadIdx.x; batch < share.end; batch += blockDim.x)
        sum += words_of(min(POINTS, part.s.count - batch * POINTS), part.scale.low_bits(memory.classes[part.s.first_batch + batch] & 15, BITS<W>));
    }
    sum = block_sum_to(sum, words);
    if (threadIdx.x == blockDim.x - 1) memory.totals[number][blockIdx.x] = sum;
  }
}

// The low bits of a batch, in shared memory of a warp.
struct LowRoom {
  uint32_t words[(POINTS * 59 + 31) / 32 + 3];
  FZ_DEV void load(const Words& low, uint64_t at, uint32_t count) {
    __syncwarp();
    for (uint32_t k = threadIdx.x & 31; k < count / 2 + 3; k += 32) words[k] = 2 * k < count ? low.two(at + 2 * k) : 0;
    __syncwarp();
  }
  // `bits` bits from bit `bit` on, at most 59.
  FZ_DEV uint64_t field(uint32_t bit, uint32_t bits) const {
    const uint32_t i = bit / 32, shift = bit % 32;
    uint64_t all = (words[i] | (uint64_t)words[i + 1] << 32) >> shift;
    if (shift + bits > 64) all |= (uint64_t)words[i + 2] << (64 - shift);
    return all & ((1ull << bits) - 1);
  }
};

template <class W> FZ_DEV void unpack(const Args& a, LowRoom& room, uint64_t* words, uint64_t* sizes) {
  const ExactParams& p = params<ExactParams>(a);
  const DecoderMemory memory(a, p);
  if (!is_open(a, memory, p)) return;
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  __shared__ uint64_t total;
#pragma unroll 1
  for (uint32_t number = 0; number < PARTS; number++) {
    const Part& part = memory.state->of[number];
    const Head& head = memory.state->head;
    const bool holes = number == OF_ARRAY && head.holes;
    const Form<W> form = head.form<W>(number);
    const Share share(part.s.batches);
    uint64_t before = 0, all = 0;
    for (uint32_t k = threadIdx.x; k < gridDim.x; k += blockDim.x) {
      const uint64_t own = memory.totals[number][k];
      before += k < blockIdx.x ? own : 0;
      all += own;
    }
    before = block_sum_to(before, words);
    all = block_sum_to(all, words);
    if (threadIdx.x == blockDim.x - 1) total = before;
    if (threadIdx.x == blockDim.x - 1 && blockIdx.x == 0 && all != part.low_words) corrupt(a);
    __syncthreads();
    before = total;
    const Words low = {address(input(a, 0)) + part.low, part.low_words};
    W* o = memory.of<W>(number);
#pragma unroll 1
    for (uint32_t from = share.first; from < share.end; from += WARPS) {
      const uint32_t batch = from + warp;
      BatchOf of;
      if (batch < share.end) of.load<W>(memory, part, number, batch, holes);
      __syncthreads();
      if (lane == 0) sizes[warp] = words_of(of.fields, of.shift);
      __syncthreads();
      uint64_t at = before;
#pragma unroll
      for (uint32_t k = 0; k < WARPS; k++) {
        if (k < warp) at += sizes[k];
        before += sizes[k];
      }
      uint32_t fields = 0;
      if (of.shift) room.load(low, at, words_of(of.fields, of.shift));
#pragma unroll
      for (uint32_t j = 0; j < BATCH; j++) {
        const bool filled = of.live && of.filled >> j & 1;
        const uint32_t who = __ballot_sync(ALL, filled);
        const uint64_t i = (uint64_t)batch * POINTS + j * STEP + lane;
        if (of.live >> j & 1) {
          W d = 0;
          if (filled) {
            const W high = of.code[j] == LONG_CODE ? o[i] : (W)of.code[j];
            W u = (W)(high - (holes ? 1 : 0));
            if (of.shift) u = (W)((uint64_t)u << of.shift | room.field((fields + __popc(who & ((1u << lane) - 1))) * of.shift, of.shift));
            d = form.difference(u);
          }
          o[i] = d;
        }
        fields += __popc(who);
      }
    }
    __syncthreads();
  }
}
}  // namespace exact
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256) exact_count_low(FZ_ARGS) {
  __shared__ uint64_t words[32];
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::count_low<decltype(w)>(a, words); });
}
extern "C" __global__ void __launch_bounds__(256) exact_unpack(FZ_ARGS) {
  __shared__ fz::exact::LowRoom rooms[8];
  __shared__ uint64_t words[32], sizes[8];
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::unpack<decltype(w)>(a, rooms[threadIdx.x >> 5], words, sizes); });
}
