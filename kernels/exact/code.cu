// Stage exact, encoder: the scales of sections, and the tokens of numbers, as src/stages/exact/encode.rs and batch.rs.
#include "common/scan.cuh"
#include "exact/pack.cuh"

namespace fz {
namespace exact {
constexpr uint32_t SAMPLED = 64;

static_assert(FILL_CHUNK == 256 * EACH, "a thread has consecutive elements of a chunk");
// For each chunk 1 more than its last element that is no hole, or 0.
template <class W> FZ_DEV void last_of_chunks(const Args& a, uint32_t* words) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0 || !memory.state->head.holes || !memory.state->head.order) return;
  const uint32_t n = (uint32_t)elements(p), chunks = (n + FILL_CHUNK - 1) / FILL_CHUNK;
  const Integers<W> o = source_of<W>(a, memory, p, OF_ARRAY);
  const W hole = (W)memory.state->head.hole;
#pragma unroll 1
  for (uint32_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    uint32_t last = 0;
    const uint32_t i = chunk * FILL_CHUNK + threadIdx.x * EACH;
    const Each<W> own = Each<W>::load(o.at, i, n);
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++)
      if (i + k < n && o.integer(own.of[k]) != hole) last = i + k + 1;
    last = block_scan_to<Most>(last, words);
    if (threadIdx.x == blockDim.x - 1) memory.fills[chunk] = last;
  }
}
// For each chunk that of all chunks before, by one block.
FZ_DEV void last_before(const Args& a, uint32_t* words) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0 || !memory.state->head.holes || !memory.state->head.order) return;
  const uint32_t chunks = ((uint32_t)elements(p) + FILL_CHUNK - 1) / FILL_CHUNK;
  __shared__ uint32_t upto[1024 + 1];
  uint32_t before = 0;
#pragma unroll 1
  for (uint32_t from = 0; from < chunks; from += EACH * blockDim.x) {
    const uint32_t chunk = from + EACH * threadIdx.x;
    Each<uint32_t> own = Each<uint32_t>::load(memory.fills, chunk, chunks);
    uint32_t last = 0;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
      const uint32_t upto_own = max(last, own.of[k]);
      own.of[k] = last;
      last = upto_own;
    }
    last = block_scan_to<Most>(last, words);
    upto[threadIdx.x + 1] = max(last, before);
    if (threadIdx.x == 0) upto[0] = before;
    __syncthreads();
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) own.of[k] = max(own.of[k], upto[threadIdx.x]);
    own.store(memory.fills, chunk, chunks);
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
  // Batches of a row, if rows consist of whole batches and have differences along y, or 0.
  const uint32_t columns;
  FZ_DEV PartNumbers(const Args& a, const EncoderMemory& memory, const ExactParams& p, uint32_t part)
      : of(differences_of<W>(a, memory, p, part)),
        form(memory.state->head.form<W>(part)),
        count(memory.state->of[part].s.count),
        holes(part == OF_ARRAY && memory.state->head.holes),
        hole((W)memory.state->head.hole),
        columns(!holes && of.y && of.row % POINTS == 0 ? of.row / POINTS : 0) {}
  FZ_DEV void load(Numbers<W>& to, uint32_t batch, W fill) const {
    Each<W> none;
    if (holes) to.load(of, form, count, batch, hole, fill);
    else to.template load<false>(of, form, count, batch, false, none);
  }
  // If there are columns. `upper` has differences of the row above, if the batch `follows` that.
  FZ_DEV void load_row(Numbers<W>& to, uint32_t batch, bool follows, Each<W>& upper) const { to.template load<true>(of, form, count, batch, follows, upper); }
};
// Batches of a warp that are one below the other.
constexpr uint32_t ROWS_OF_WARP = 4;

// A block finds the scale of a section from a sample of batches.
template <class W> FZ_DEV void find_scale(const Args& a, uint32_t* lengths, uint32_t* sorted) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0) return;
  Part& part = memory.state->of[blockIdx.x];
  if (part.s.count == 0) return;
  const PartNumbers<W> numbers(a, memory, p, blockIdx.x);
  const uint32_t stride = max(part.s.batches / SAMPLED, 1u) | 1, lane = threadIdx.x & 31;
#pragma unroll 1
  for (uint32_t k = threadIdx.x >> 5; k < SAMPLED; k += blockDim.x >> 5) {
    uint32_t halves = ~0u;
    if (k * stride < part.s.batches) {
      Numbers<W> own;
      numbers.load(own, k * stride, 0);
      if (!own.length(numbers.holes, own.fields(), halves)) halves = ~0u;
    }
    if (lane == 0) lengths[k] = halves;
  }
  __syncthreads();
  // Absent lengths are the last ones.
  const uint32_t me = threadIdx.x, own = me < SAMPLED ? lengths[me] : ~0u, count = __syncthreads_count(own != ~0u);
  uint32_t place = 0;
  if (me < SAMPLED) {
    for (uint32_t k = 0; k < SAMPLED; k++) place += lengths[k] < own || (lengths[k] == own && k < me);
    sorted[place] = own;
  }
  __syncthreads();
  if (me != 0) return;
  auto of = [&](uint32_t i) { return i < count ? sorted[i] : 0; };
  const uint32_t skipped = count / 16, low = of(skipped), high = of(count > skipped + 1 ? count - 1 - skipped : 0);
  uint32_t step = 0;
  while (step < MOST_STEP && high - low > (CLASSES - 3) << step) step++;
  part.scale = {low > 1u << step ? low - (1u << step) : 0, step};
}

// Counts of a block.
struct CodeCounts {
  uint32_t of[multilevel::CONTEXTS * multilevel::SYMBOLS], busy, raw;
};

// The token of a code below CODES, as `multilevel::token_of`.
FZ_DEV multilevel::Token short_token(uint32_t u) {
  const uint32_t e = 31 - __clz((int)(u | 16)), more = e < 8 ? 2 : 1, bits = e - more;
  return {u < 16 ? u : (u >> bits) + (e < 8 ? 4 * e - 4 : 2 * e + 14), u < 16 ? 0 : bits};
}

// The tokens of the numbers of a batch that is not quiet, by a warp. LONG: some codes may be long.
template <bool LONG, class W> FZ_DEV void put_tokens(const EncoderMemory& memory, const Numbers<W>& n, uint32_t first, uint32_t own, uint32_t shift, bool holes, CodeCounts& counts) {
  typedef typename Wide<W>::Word T;
  const uint32_t i = first + (threadIdx.x & 31) * EACH, filled = holes ? n.filled : 0;
  uint32_t* of = counts.of + own * multilevel::SYMBOLS;
  Each<uint32_t> kept;
#pragma unroll
  for (uint32_t k = 0; k < EACH; k++) {
    const T high = (T)n.u[k] >> shift;
    const bool is_long = LONG && high >= (T)(multilevel::CODES - (holes ? 1 : 0));
    const uint32_t code = is_long ? 0 : (uint32_t)high + (filled >> k & 1);
    const multilevel::Token t = short_token(code);
    kept.of[k] = is_long ? Kept::LONG : t.token | t.bits << Kept::BITS | (code & ~(~0u << t.bits)) << Kept::RAW;
    atomicAdd(&of[is_long ? multilevel::EXACT : t.token], 1u);
  }
  // Places without a number were counted as zeros.
  if (n.live != Neighbors::ALL_OF) atomicAdd(&of[0], (uint32_t)__popc(n.live) - EACH);
  *reinterpret_cast<Each<uint32_t>*>(memory.kept + i) = kept;
}

// Memory of a warp. With columns, differences of the row above follow, for `Numbers::load_row`.
template <bool ROWS, class W> struct CodeRoom : FieldRoom<W> {};
template <class W> struct CodeRoom<true, W> : FieldRoom<W> { Each<W> upper[32]; };

// ROWS: with columns.
template <bool ROWS, class W> FZ_DEV void code_part(const EncoderMemory& memory, const ExactParams& p, const PartNumbers<W>& numbers, uint32_t number, CodeCounts& counts, CodeRoom<ROWS, W>& room) {
  const Part& part = memory.state->of[number];
  const Scale scale = part.scale;
  const uint32_t batches = part.s.batches;
  uint8_t* classes = memory.classes + part.s.first_batch;
  uint16_t* all_fields = memory.fields + part.s.first_batch;
  const uint32_t lane = threadIdx.x & 31, warps = gridDim.x * (blockDim.x >> 5), first_code = memory.first_code(number, p);
  for (uint32_t i = threadIdx.x; i < multilevel::CONTEXTS * multilevel::SYMBOLS; i += blockDim.x) counts.of[i] = 0;
  if (threadIdx.x == 0) counts.busy = 0;
  if (threadIdx.x == 0) counts.raw = 0;
  __syncthreads();
  const uint32_t columns = ROWS ? numbers.columns : 1, rows = ROWS ? ROWS_OF_WARP : 1, units = (batches + rows * columns - 1) / (rows * columns) * columns;
  uint32_t unit = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, row = 0;
#pragma unroll 1
  for (; unit < units; row = row + 1 == rows ? 0 : row + 1, unit += row ? 0 : warps) {
    const uint32_t batch = ROWS ? (unit / columns * rows + row) * columns + unit % columns : unit;
    if (batch >= batches) continue;
    Numbers<W> own;
    if constexpr (ROWS) numbers.load_row(own, batch, row > 0, room.upper[lane]);
    else numbers.load(own, batch, numbers.holes && numbers.of.x ? fill_before(memory, numbers.of.o, numbers.hole, batch) : (W)0);
    uint32_t halves = 0;
    // Most numbers of 64 bits are short, and shorter words take fewer instructions.
    const bool is_short = BITS<W> == 64 && own.is_short();
    const uint32_t fields = own.fields();
    const bool busy = is_short ? own.shortened().length(numbers.holes, fields, halves) : own.length(numbers.holes, fields, halves);
    const uint32_t class_of = busy ? scale.class_of(halves) : 0;
    if (class_of) {
      const uint32_t shift = scale.low_bits(class_of, BITS<W>), first = first_code + batch * POINTS;
      const bool has_long = BITS<W> > 16 && __any_sync(ALL, own.may_be_long(shift));
      if (is_short && !has_long && shift < 32) put_tokens<false>(memory, own.shortened(), first, class_of, shift, numbers.holes, counts);
      else if (BITS<W> > 16 && has_long) put_tokens<(BITS<W> > 16)>(memory, own, first, class_of, shift, numbers.holes, counts);
      else put_tokens<false>(memory, own, first, class_of, shift, numbers.holes, counts);
      put_numbers(room, own, memory.numbers(number, batch, sizeof(W)), shift, fields, has_long);
    }
    if (lane != 0) continue;
    classes[batch] = (uint8_t)class_of;
    all_fields[batch] = (uint16_t)fields;
    if (class_of) atomicAdd(&counts.busy, (uint32_t)__popc(part.s.all(batch)));
  }
  __syncthreads();
  // The raw bits of the tokens; those of a block are below 2^32.
  uint32_t raw = 0;
  for (uint32_t i = threadIdx.x; i < multilevel::CONTEXTS * multilevel::SYMBOLS; i += blockDim.x) raw += counts.of[i] * multilevel::raw_bits(i % multilevel::SYMBOLS, BITS<W>);
  raw = __reduce_add_sync(ALL, raw);
  if (raw && lane == 0) atomicAdd(&counts.raw, raw);
  __syncthreads();
  multilevel::Counts& all = memory.zeroed.counts[number];
  for (uint32_t i = threadIdx.x; i < multilevel::CONTEXTS * multilevel::SYMBOLS; i += blockDim.x)
    if (counts.of[i]) atomicAdd(&all.of[0][0] + i, counts.of[i]);
  if (threadIdx.x == 0 && counts.busy) atomicAdd(&all.busy, counts.busy);
  if (threadIdx.x == 0 && counts.raw) atomicAdd(&all.raw, (unsigned long long)counts.raw);
  __syncthreads();
}
// The parts with columns, or those without.
template <bool ROWS, class W> FZ_DEV void code_all(const Args& a, CodeCounts& counts, CodeRoom<ROWS, W>& room) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0) return;
#pragma unroll 1
  for (uint32_t number = 0; number < PARTS; number++)
    if (memory.state->of[number].s.count) {
      const PartNumbers<W> numbers(a, memory, p, number);
      if ((numbers.columns > 0) == ROWS) code_part<ROWS>(memory, p, numbers, number, counts, room);
    }
}

// Counts the symbols of classes, and adds up the words of the low bits of the batches of each block.
FZ_DEV void count_classes(const Args& a, uint32_t* counts, uint64_t* words) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0) return;
#pragma unroll 1
  for (uint32_t number = 0; number < PARTS; number++) {
    const Part& part = memory.state->of[number];
    const Section& s = part.s;
    const multilevel::MaskLayout layout(s);
    const uint8_t* classes = memory.classes + s.first_batch;
    const uint16_t* fields = memory.fields + s.first_batch;
    const BatchShare share(s.batches);
    uint64_t sum = 0;
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (uint32_t b = share.first + threadIdx.x; b < share.end; b += blockDim.x) {
      const uint32_t before = b % layout.per_lane ? classes[b - 1] : 0, own = classes[b];
      atomicAdd(&counts[before * 16 + own], 1u);
      sum += words_of(fields[b], part.scale.low_bits(own, 8 * p.width));
    }
    sum = block_sum_to(sum, words);
    if (threadIdx.x == blockDim.x - 1) memory.totals[number][blockIdx.x] = sum;
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
  __shared__ uint32_t lengths[fz::exact::SAMPLED], sorted[fz::exact::SAMPLED];
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::find_scale<decltype(w)>(a, lengths, sorted); });
}
// For words of at most 4 bytes. Words of 8 bytes require more registers.
#define EXACT_CODE(NAME, ROWS)                                                                                                             \
  extern "C" __global__ void __launch_bounds__(256, 5) NAME(FZ_ARGS) {                                                                     \
    __shared__ fz::exact::CodeCounts counts;                                                                                               \
    __shared__ fz::exact::CodeRoom<ROWS, uint32_t> rooms[8];                                                                               \
    if (fz::cancelled(a)) return;                                                                                                          \
    fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) {                                                        \
      typedef fz::exact::CodeRoom<ROWS, decltype(w)> Room;                                                                                 \
      if constexpr (sizeof(w) <= 4) fz::exact::code_all<ROWS, decltype(w)>(a, counts, reinterpret_cast<Room&>(rooms[threadIdx.x >> 5])); \
    });                                                                                                                                    \
  }                                                                                                                                        \
  extern "C" __global__ void __launch_bounds__(256, 4) NAME##_wide(FZ_ARGS) {                                                              \
    __shared__ fz::exact::CodeCounts counts;                                                                                               \
    __shared__ fz::exact::CodeRoom<ROWS, uint64_t> rooms[8];                                                                               \
    if (fz::cancelled(a)) return;                                                                                                          \
    fz::exact::code_all<ROWS, uint64_t>(a, counts, rooms[threadIdx.x >> 5]);                                                               \
  }
EXACT_CODE(exact_code, false)
EXACT_CODE(exact_code_rows, true)
extern "C" __global__ void __launch_bounds__(256) exact_count_classes(FZ_ARGS) {
  __shared__ uint32_t counts[256];
  __shared__ uint64_t words[32];
  if (fz::cancelled(a)) return;
  fz::exact::count_classes(a, counts, words);
}
