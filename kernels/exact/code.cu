// Stage exact, encoder: the scales of sections, and the tokens of numbers, as src/stages/exact/encode.rs and batch.rs.
#include "common/scan.cuh"
#include "exact/encoder.cuh"
#include "multilevel/quantize.cuh"

namespace fz {
namespace exact {
constexpr uint32_t SAMPLED = 64;

// For each chunk 1 more than its last element that is no hole, or 0.
template <class W> FZ_DEV void last_of_chunks(const Args& a, uint32_t* words) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0 || !memory.state->head.holes) return;
  const uint32_t n = (uint32_t)elements(p), chunks = (n + FILL_CHUNK - 1) / FILL_CHUNK;
  const W* o = memory.source<W>(OF_ARRAY);
  const W hole = (W)memory.state->head.hole;
#pragma unroll 1
  for (uint32_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    uint32_t last = 0;
    for (uint32_t i = chunk * FILL_CHUNK + threadIdx.x; i < min(n, (chunk + 1) * FILL_CHUNK); i += blockDim.x)
      if (o[i] != hole) last = i + 1;
    last = block_scan_to<Most>(last, words);
    if (threadIdx.x == blockDim.x - 1) memory.fills[chunk] = last;
  }
}
// For each chunk that of all chunks before, by one block.
FZ_DEV void last_before(const Args& a, uint32_t* words) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0 || !memory.state->head.holes) return;
  const uint32_t chunks = ((uint32_t)elements(p) + FILL_CHUNK - 1) / FILL_CHUNK;
  __shared__ uint32_t upto[1024 + 1];
  uint32_t before = 0;
#pragma unroll 1
  for (uint32_t from = 0; from < chunks; from += blockDim.x) {
    const uint32_t chunk = from + threadIdx.x;
    const uint32_t last = block_scan_to<Most>(chunk < chunks ? memory.fills[chunk] : 0, words);
    upto[threadIdx.x + 1] = max(last, before);
    if (threadIdx.x == 0) upto[0] = before;
    __syncthreads();
    if (chunk < chunks) memory.fills[chunk] = upto[threadIdx.x];
    before = upto[blockDim.x];
    __syncthreads();
  }
}

// The numbers of a batch of a part.
template <class W> struct PartNumbers {
  const Differences<W> of;
  const Form<W> form;
  const uint32_t count;
  const bool holes;
  const W hole;
  FZ_DEV PartNumbers(const EncoderMemory& memory, const ExactParams& p, uint32_t part)
      : of(differences_of<W>(memory, p, part)),
        form(memory.state->head.form<W>(part)),
        count(memory.state->of[part].s.count),
        holes(part == OF_ARRAY && memory.state->head.holes),
        hole((W)memory.state->head.hole) {}
  FZ_DEV void load(Numbers<W>& to, uint32_t batch, W fill) const {
    if (holes) to.load(of, form, count, batch, hole, fill);
    else to.load(of, form, count, batch);
  }
};

// A block finds the scale of a section from a sample of batches.
template <class W> FZ_DEV void find_scale(const Args& a, uint32_t* lengths) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0) return;
  Part& part = memory.state->of[blockIdx.x];
  if (part.s.count == 0) return;
  const PartNumbers<W> numbers(memory, p, blockIdx.x);
  const uint32_t stride = max(part.s.batches / SAMPLED, 1u) | 1, lane = threadIdx.x & 31;
#pragma unroll 1
  for (uint32_t k = threadIdx.x >> 5; k < SAMPLED; k += blockDim.x >> 5) {
    uint32_t halves = ~0u;
    if (k * stride < part.s.batches) {
      Numbers<W> own;
      numbers.load(own, k * stride, 0);
      if (!own.length(numbers.holes, halves)) halves = ~0u;
    }
    if (lane == 0) lengths[k] = halves;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  uint32_t count = 0;
  for (uint32_t k = 0; k < SAMPLED; k++) {
    const uint32_t own = lengths[k];
    if (own == ~0u) continue;
    uint32_t at = count++;
    for (; at > 0 && lengths[at - 1] > own; at--) lengths[at] = lengths[at - 1];
    lengths[at] = own;
  }
  auto of = [&](uint32_t i) { return i < count ? lengths[i] : 0; };
  const uint32_t skipped = count / 16, low = of(skipped), high = of(count > skipped + 1 ? count - 1 - skipped : 0);
  uint32_t step = 0;
  while (step < MOST_STEP && high - low > (CLASSES - 3) << step) step++;
  part.scale = {low > 1u << step ? low - (1u << step) : 0, step};
}

// Counts of a block.
struct CodeCounts {
  uint32_t of[multilevel::CONTEXTS * multilevel::SYMBOLS], busy;
  unsigned long long raw;
};

// The tokens of the numbers of a batch, by a warp; returns the raw bits of a lane.
template <class W> FZ_DEV uint32_t put_tokens(const EncoderMemory& memory, const Numbers<W>& n, uint32_t first, uint32_t own, uint32_t shift, bool holes, CodeCounts& counts) {
  const uint32_t lane = threadIdx.x & 31;
  uint32_t raw_bits = 0;
#pragma unroll
  for (uint32_t j = 0; j < BATCH; j++) {
    const bool live = n.live >> j & 1;
    multilevel::Token t = {0, 0};
    if (live) {
      const uint64_t high = (uint64_t)n.u[j] >> shift, most = multilevel::CODES - (holes ? 1 : 0);
      uint32_t code = high < most ? (uint32_t)high + (holes ? 1 : 0) : multilevel::CODES + multilevel::PATTERNS;
      if (!(n.filled >> j & 1)) code = 0;
      t = multilevel::token_of(code);
      const uint32_t raw = t.bits ? code & ((1u << t.bits) - 1) : 0, i = first + j * STEP + lane;
      memory.kept[i] = (uint16_t)(t.token | own << 6 | (raw & ((1u << multilevel::KEPT_BITS) - 1)) << 10);
      if (t.bits > multilevel::KEPT_BITS) memory.more[i] = (uint16_t)(raw >> multilevel::KEPT_BITS);
    }
    if (own == 0) continue;
    const uint32_t zeros = __ballot_sync(ALL, live && t.token == 0);
    if (live && t.token > 0) {
      atomicAdd(&counts.of[own * multilevel::SYMBOLS + t.token], 1u);
      raw_bits += t.token == multilevel::EXACT ? BITS<W> : t.bits;
    }
    if (zeros && lane == 0) atomicAdd(&counts.of[own * multilevel::SYMBOLS], (uint32_t)__popc(zeros));
  }
  return raw_bits;
}

template <class W> FZ_DEV void code_part(const EncoderMemory& memory, const ExactParams& p, uint32_t number, CodeCounts& counts) {
  const Part& part = memory.state->of[number];
  const PartNumbers<W> numbers(memory, p, number);
  const uint32_t lane = threadIdx.x & 31, warps = gridDim.x * (blockDim.x >> 5), first_code = memory.first_code(number, p);
  W* to = memory.numbers<W>(number);
  for (uint32_t i = threadIdx.x; i < multilevel::CONTEXTS * multilevel::SYMBOLS; i += blockDim.x) counts.of[i] = 0;
  if (threadIdx.x == 0) counts.busy = 0;
  if (threadIdx.x == 0) counts.raw = 0;
  __syncthreads();
  uint32_t raw = 0;
#pragma unroll 1
  for (uint32_t batch = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; batch < part.s.batches; batch += warps) {
    Numbers<W> own;
    numbers.load(own, batch, numbers.holes ? fill_before(memory, numbers.of.o, numbers.hole, batch) : (W)0);
    uint32_t halves = 0;
    const uint32_t class_of = own.length(numbers.holes, halves) ? part.scale.class_of(halves) : 0;
    raw += put_tokens(memory, own, first_code + batch * POINTS, class_of, part.scale.low_bits(class_of, BITS<W>), numbers.holes, counts);
#pragma unroll
    for (uint32_t j = 0; j < BATCH; j++)
      if (own.live >> j & 1) to[batch * POINTS + j * STEP + lane] = own.u[j];
    const uint32_t fields = __reduce_add_sync(ALL, (uint32_t)__popc(own.filled));
    if (lane != 0) continue;
    memory.classes[part.s.first_batch + batch] = (uint8_t)class_of;
    memory.fields[part.s.first_batch + batch] = (uint16_t)fields;
    if (class_of) atomicAdd(&counts.busy, (uint32_t)__popc(part.s.all(batch)));
  }
  raw = __reduce_add_sync(ALL, raw);
  if (raw && lane == 0) atomicAdd(&counts.raw, (unsigned long long)raw);
  __syncthreads();
  multilevel::Counts& all = memory.zeroed.counts[number];
  for (uint32_t i = threadIdx.x; i < multilevel::CONTEXTS * multilevel::SYMBOLS; i += blockDim.x)
    if (counts.of[i]) atomicAdd(&all.of[0][0] + i, counts.of[i]);
  if (threadIdx.x == 0 && counts.busy) atomicAdd(&all.busy, counts.busy);
  if (threadIdx.x == 0 && counts.raw) atomicAdd(&all.raw, counts.raw);
  __syncthreads();
}
template <class W> FZ_DEV void code_all(const Args& a, CodeCounts& counts) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0) return;
#pragma unroll 1
  for (uint32_t number = 0; number < PARTS; number++)
    if (memory.state->of[number].s.count) code_part<W>(memory, p, number, counts);
}

// Counts the symbols of classes.
FZ_DEV void count_classes(const Args& a, uint32_t* counts) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0) return;
#pragma unroll 1
  for (uint32_t number = 0; number < PARTS; number++) {
    const Section& s = memory.state->of[number].s;
    const multilevel::MaskLayout layout(s);
    const uint8_t* classes = memory.classes + s.first_batch;
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (uint32_t b = blockIdx.x * blockDim.x + threadIdx.x; b < s.batches; b += gridDim.x * blockDim.x) {
      const uint32_t before = b % layout.per_lane ? classes[b - 1] : 0;
      atomicAdd(&counts[before * 16 + classes[b]], 1u);
    }
    __syncthreads();
    if (counts[threadIdx.x]) atomicAdd(&memory.zeroed.counts[number].masks[0][0] + threadIdx.x, counts[threadIdx.x]);
    __syncthreads();
  }
}
}  // namespace exact
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256) exact_fills(FZ_ARGS) {
  __shared__ uint32_t words[32];
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::last_of_chunks<decltype(w)>(a, words); });
}
extern "C" __global__ void __launch_bounds__(1024) exact_fills_before(FZ_ARGS) {
  __shared__ uint32_t words[32];
  if (fz::cancelled(a)) return;
  fz::exact::last_before(a, words);
}
extern "C" __global__ void __launch_bounds__(1024) exact_scale(FZ_ARGS) {
  __shared__ uint32_t lengths[fz::exact::SAMPLED];
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::find_scale<decltype(w)>(a, lengths); });
}
extern "C" __global__ void __launch_bounds__(256) exact_code(FZ_ARGS) {
  __shared__ fz::exact::CodeCounts counts;
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::code_all<decltype(w)>(a, counts); });
}
extern "C" __global__ void __launch_bounds__(256) exact_count_classes(FZ_ARGS) {
  __shared__ uint32_t counts[256];
  if (fz::cancelled(a)) return;
  fz::exact::count_classes(a, counts);
}
