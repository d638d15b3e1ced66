// Stage exact, encoder: the scales of sections, and the tokens of numbers, as src/stages/exact/encode.rs and batch.rs.
#include "common/scan.cuh"
#include "exact/encoder.cuh"
#include "multilevel/quantize.cuh"

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
  FZ_DEV PartNumbers(const Args& a, const EncoderMemory& memory, const ExactParams& p, uint32_t part)
      : of(differences_of<W>(a, memory, p, part)),
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

// Consecutive fields of a batch, in shared memory of a warp.
template <class W> struct __align__(16) FieldRoom {
  typedef typename Wide<W>::Word T;
  T of[POINTS];
  // Writes `count` fields of `bits` bits each without gaps.
  FZ_DEV void pack(uint32_t* to, uint32_t count, uint32_t bits) const {
    // The quotients of all numbers of bits of a batch are exact.
    const uint32_t factor = (1u << 20) / bits + 1, words = (count * bits + 31) / 32;
    __syncwarp();
    for (uint32_t k = threadIdx.x & 31; k < words; k += 32) {
      uint32_t f = 32 * k * factor >> 20, have = f * bits + bits - 32 * k, word = (uint32_t)(of[f] >> (bits - have));
      while (have < 32 && ++f < count) {
        word |= (uint32_t)(of[f] << have);
        have += bits;
      }
      to[k] = word;
    }
    __syncwarp();
  }
};
// The low bits of the numbers of a whole batch, at least four of each: a lane has consecutive fields, which begin in the last word of the
// lane before.
template <class W> FZ_DEV void pack_all(uint32_t* room, const Numbers<W>& n, uint32_t shift) {
  const uint32_t bytes = (threadIdx.x & 31) * shift, mask = (1u << shift) - 1;
  uint32_t *at = room + bytes / 4, have = bytes % 4 * 8, word = 0;
#pragma unroll
  for (uint32_t k = 0; k < EACH; k++) {
    const uint32_t field = (uint32_t)n.u[k] & mask;
    word |= field << have;
    const uint32_t rest = __funnelshift_l(field, 0, have);
    have += shift;
    if (have < 32) continue;
    *at++ = word;
    word = rest;
    have -= 32;
  }
  __syncwarp();
  if (have) *at |= word;
  __syncwarp();
}
// The same for any number of fields and bits.
template <class W> FZ_DEV void pack_some(uint32_t* room, const Numbers<W>& n, uint32_t shift, uint32_t fields) {
  const uint32_t lane = threadIdx.x & 31, words = (fields * shift + 31) / 32, mask = (1u << shift) - 1;
  uint32_t place = lane * EACH;
  if (fields != POINTS) place = warp_sum_to(__popc(n.filled)) - __popc(n.filled);
  for (uint32_t k = lane; k < words; k += 32) room[k] = 0;
  __syncwarp();
  uint32_t *at = room + place * shift / 32, have = place * shift % 32;
  uint64_t bits = 0;
#pragma unroll
  for (uint32_t k = 0; k < EACH; k++) {
    bits |= (uint64_t)((uint32_t)n.u[k] & mask) << have;
    have += n.filled >> k & 1 ? shift : 0;
    if (have >= 32) {
      atomicOr(at++, (uint32_t)bits);
      bits >>= 32;
      have -= 32;
    }
  }
  if ((uint32_t)bits) atomicOr(at, (uint32_t)bits);
  __syncwarp();
}
// Writes the low bits of the numbers of a batch, at most 31 of each.
template <class W> FZ_DEV void put_low_bits(uint32_t* room, const Numbers<W>& n, uint32_t* to, uint32_t shift, uint32_t fields) {
  if (fields == POINTS && shift >= 4) pack_all(room, n, shift);
  else pack_some(room, n, shift, fields);
  // There is room for 16 bytes more.
  for (uint32_t k = threadIdx.x & 31; 128 * k < fields * shift; k += 32) reinterpret_cast<uint4*>(to)[k] = reinterpret_cast<const uint4*>(room)[k];
  __syncwarp();
}
// The low bits of the numbers of a batch, and the bits above them if some code is long.
template <class W> FZ_DEV void put_numbers(FieldRoom<W>& room, const Numbers<W>& n, uint8_t* at, uint32_t shift, uint32_t fields, bool has_long) {
  typedef typename Wide<W>::Word T;
  const uint32_t lane = threadIdx.x & 31;
  uint32_t* to = reinterpret_cast<uint32_t*>(at);
  if (sizeof(W) < 8 || shift < 32) {
    if (shift) put_low_bits(reinterpret_cast<uint32_t*>(room.of), n, to, shift, fields);
  } else {
    uint32_t place = warp_sum_to(__popc(n.filled)) - __popc(n.filled);
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++)
      if (n.filled >> k & 1) room.of[place++] = n.u[k] & (((T)1 << shift) - 1);
    room.pack(to, fields, shift);
  }
  if (!has_long) return;
#pragma unroll
  for (uint32_t k = 0; k < EACH; k++) room.of[lane * EACH + k] = (T)n.u[k] >> shift;
  room.pack(to + POINTS / 32 * shift, POINTS, BITS<W> - shift);
}

template <class W> FZ_DEV void code_part(const Args& a, const EncoderMemory& memory, const ExactParams& p, uint32_t number, CodeCounts& counts, FieldRoom<W>& room) {
  const Part& part = memory.state->of[number];
  const PartNumbers<W> numbers(a, memory, p, number);
  const Scale scale = part.scale;
  const uint32_t batches = part.s.batches;
  uint8_t* classes = memory.classes + part.s.first_batch;
  uint16_t* all_fields = memory.fields + part.s.first_batch;
  const uint32_t lane = threadIdx.x & 31, warps = gridDim.x * (blockDim.x >> 5), first_code = memory.first_code(number, p);
  for (uint32_t i = threadIdx.x; i < multilevel::CONTEXTS * multilevel::SYMBOLS; i += blockDim.x) counts.of[i] = 0;
  if (threadIdx.x == 0) counts.busy = 0;
  if (threadIdx.x == 0) counts.raw = 0;
  __syncthreads();
#pragma unroll 1
  for (uint32_t batch = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; batch < batches; batch += warps) {
    Numbers<W> own;
    numbers.load(own, batch, numbers.holes && numbers.of.x ? fill_before(memory, numbers.of.o, numbers.hole, batch) : (W)0);
    uint32_t halves = 0;
    const uint32_t fields = own.fields(), class_of = own.length(numbers.holes, fields, halves) ? scale.class_of(halves) : 0;
    if (class_of) {
      const uint32_t shift = scale.low_bits(class_of, BITS<W>), first = first_code + batch * POINTS;
      const bool has_long = BITS<W> > 16 && __any_sync(ALL, own.may_be_long(shift));
      if (BITS<W> > 16 && has_long) put_tokens<(BITS<W> > 16)>(memory, own, first, class_of, shift, numbers.holes, counts);
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
template <class W> FZ_DEV void code_all(const Args& a, CodeCounts& counts, FieldRoom<W>& room) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0) return;
#pragma unroll 1
  for (uint32_t number = 0; number < PARTS; number++)
    if (memory.state->of[number].s.count) code_part<W>(a, memory, p, number, counts, room);
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
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (uint32_t b = share.first + threadIdx.x; b < share.end; b += blockDim.x) {
      const uint32_t before = b % layout.per_lane ? classes[b - 1] : 0, own = classes[b];
      atomicAdd(&counts[before * 16 + own], 1u);
      sum += words_of(fields[b], part.scale.low_bits(own, 8 * p.width));
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
    const uint16_t* fields = memory.fields + s.first_batch;
    const BatchShare share(s.batches);
    uint64_t sum = 0;
extern "C" __global__ void __launch_bounds__(1024) exact_fills_before(FZ_ARGS) {
  __shared__ uint32_t words[32];
  if (fz::cancelled(a)) return;
  fz::exact::last_before(a, words);
}
extern "C" __global__ void __launch_bounds__(1024) exact_scale(FZ_ARGS) {
    sum = block_sum_to(sum, words);
    if (threadIdx.x == blockDim.x - 1) memory.totals[number][blockIdx.x] = sum;
  __shared__ uint32_t lengths[fz::exact::SAMPLED], sorted[fz::exact::SAMPLED];
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::find_scale<decltype(w)>(a, lengths, sorted); });
}
// For words of at most 4 bytes. Words of 8 bytes require more registers.
extern "C" __global__ void __launch_bounds__(256, 5) exact_code(FZ_ARGS) {
  __shared__ fz::exact::CodeCounts counts;
  __shared__ fz::exact::FieldRoom<uint32_t> rooms[8];
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) {
    if constexpr (sizeof(w) <= 4) fz::exact::code_all<decltype(w)>(a, counts, reinterpret_cast<fz::exact::FieldRoom<decltype(w)>&>(rooms[threadIdx.x >> 5]));
  });
}
extern "C" __global__ void __launch_bounds__(256, 4) exact_code_wide(FZ_ARGS) {
  __shared__ fz::exact::CodeCounts counts;
  __shared__ fz::exact::FieldRoom<uint64_t> rooms[8];
  if (fz::cancelled(a)) return;
  fz::exact::code_all<uint64_t>(a, counts, rooms[threadIdx.x >> 5]);
}
extern "C" __global__ void __launch_bounds__(256) exact_count_classes(FZ_ARGS) {
  __shared__ uint32_t counts[256];
  if (fz::cancelled(a)) return;
  fz::exact::count_classes(a, counts, words);
}
  __shared__ uint64_t words[32];
