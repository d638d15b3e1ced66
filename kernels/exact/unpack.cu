// Stage exact, decoder: differences from codes and low bits. The first launch counts the words of the low bits of all batches, the
// second one reads them, and adds up the differences of each block. A warp has a batch, and a lane consecutive integers.
#include "common/shared_memory.cuh"
#include "exact/decoder.cuh"

namespace fz {
namespace exact {
// Batches from which on a batch is on its way to the second cache.
constexpr uint32_t WARPS = 8, AHEAD = 2;

// The codes of a lane, and the places where it has an integer and where that is no hole.
struct Codes {
  Each<uint16_t> of;
  uint32_t live, filled;
  FZ_DEV Codes(const Each<uint16_t>& codes, uint32_t count, uint32_t batch, bool holes) : of(codes) {
    const uint32_t i = batch * POINTS + (threadIdx.x & 31) * EACH, left = count > i ? count - i : 0;
    filled = live = left >= EACH ? (1u << EACH) - 1 : (1u << left) - 1;
    if (!holes) return;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) filled &= ~((uint32_t)(of.of[k] == 0) << k);
  }
  // Loads those of a batch of class `own`. There is room for whole batches.
  FZ_DEV static Each<uint16_t> load(const uint16_t* all, uint32_t batch, uint32_t own) {
    if (own) return *reinterpret_cast<const Each<uint16_t>*>(all + (uint64_t)batch * POINTS + (threadIdx.x & 31) * EACH);
    return Each<uint16_t>{};
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
    const uint8_t* classes = memory.classes + part.s.first_batch;
    uint16_t* to = memory.words + part.s.first_batch;
    const BatchShare share(part.s.batches);
    uint64_t sum = 0;
    if (number == OF_ARRAY && memory.state->head.holes) {
#pragma unroll 1
      for (uint32_t batch = share.first + warp; batch < share.end; batch += WARPS) {
        const uint32_t own = classes[batch] & 15;
        const Codes codes(Codes::load(memory.codes[number], batch, own), part.s.count, batch, true);
        const uint32_t count = words_of(__reduce_add_sync(ALL, (uint32_t)__popc(codes.filled)), part.scale.low_bits(own, BITS<W>));
        if (lane == 0) to[batch] = (uint16_t)count;
        if (lane == 0) sum += count;
      }
    } else {
      for (uint32_t batch = share.first + threadIdx.x; batch < share.end; batch += blockDim.x) {
        const uint32_t count = words_of(min(POINTS, part.s.count - batch * POINTS), part.scale.low_bits(classes[batch] & 15, BITS<W>));
        to[batch] = (uint16_t)count;
        sum += count;
      }
    }
    sum = block_sum_to(sum, words);
    if (threadIdx.x == blockDim.x - 1) memory.totals[number][blockIdx.x] = sum;
  }
}

// The low bits of a batch, in shared memory of a warp.
struct LowRoom {
  uint32_t words[(POINTS * 59 + 31) / 32 + 4];
  // Loads `count` words from an address on; returns the first bit.
  FZ_DEV uint32_t load(const uint8_t* from, uint32_t count) {
    constexpr uint32_t LOADS = 5;
    const uint32_t lane = threadIdx.x & 31, odd = aligned(from, 4) ? 0 : 1, all = (count + odd) / 2;
    __syncwarp();
    if (aligned(from, 2)) {
      // Pairs of words, which are aligned: there are words before those of a section.
      const uint32_t* pairs = reinterpret_cast<const uint32_t*>(from - 2 * odd);
#pragma unroll 1
      for (uint32_t k = lane; k < all; k += 32 * LOADS) {
        uint32_t own[LOADS];
#pragma unroll
        for (uint32_t j = 0; j < LOADS; j++) own[j] = k + 32 * j < all ? pairs[k + 32 * j] : 0;
#pragma unroll
        for (uint32_t j = 0; j < LOADS; j++)
          if (k + 32 * j < all) words[k + 32 * j] = own[j];
      }
      if ((count + odd) % 2 && lane == all % 32) words[all] = *reinterpret_cast<const uint16_t*>(pairs + all);
    } else {
      const Words own = {from, count};
      for (uint32_t k = lane; k < count / 2 + 1; k += 32) words[k] = own.two(2 * k);
    }
    __syncwarp();
    return aligned(from, 2) ? 16 * odd : 0;
  }
  // `bits` bits from bit `bit` on, at most 27 or 59.
  FZ_DEV uint32_t field(uint32_t bit, uint32_t bits, uint32_t) const {
    const uint32_t i = bit / 32;
    return __funnelshift_r(words[i], words[i + 1], bit % 32) & ((1u << bits) - 1);
  }
  FZ_DEV uint64_t field(uint32_t bit, uint32_t bits, uint64_t) const {
    const uint32_t i = bit / 32, shift = bit % 32;
    uint64_t all = (words[i] | (uint64_t)words[i + 1] << 32) >> shift;
    if (shift + bits > 64) all |= (uint64_t)words[i + 2] << (64 - shift);
    return all & ((1ull << bits) - 1);
  }
};

// Consecutive fields of a lane, of at most 27 bits each, from bit `bit` on.
struct Fields {
  const uint32_t* next;
  uint32_t low, high, bit;
  FZ_DEV Fields(const LowRoom& room, uint32_t first) : next(room.words + first / 32 + 2), low(next[-2]), high(next[-1]), bit(first % 32) {}
  FZ_DEV uint32_t take(uint32_t bits) {
    const uint32_t field = __funnelshift_r(low, high, bit) & ((1u << bits) - 1);
    bit += bits;
    if (bit >= 32) {
      bit -= 32;
      low = high;
      high = *next++;
    }
    return field;
  }
};

template <class W> struct Unpacker {
  typedef typename Wide<W>::Word T;
  const uint16_t* all;
  uint32_t count;
  bool holes;
  Form<W> form;
  W* o;
  // Where the sum of a batch is stored, or null.
  uint64_t* sums;
  // If differences are the integers of the array: `direct`, and the array in which their elements are stored.
  bool direct;
  Map<W> map;
  W hole;
  const multilevel::Target<W>& target;
  // A batch of class `own`, whose low bits are words from an address on. Returns the sum of the differences of a lane.
  FZ_DEV T unpack(LowRoom& room, uint32_t batch, uint32_t own, uint32_t shift, const uint8_t* from, uint32_t words) const {
    const bool full = batch * POINTS + POINTS <= count;
    if (sizeof(W) < 8 && !holes && full) return unpack_all(room, batch, own, shift, from, words);
    if (holes && own == 0 && full) return put_holes(batch);
    const uint32_t lane = threadIdx.x & 31, first = batch * POINTS + lane * EACH, less = holes ? 1 : 0;
    const Codes codes(Codes::load(all, batch, own), count, batch, holes);
    uint32_t bit = shift ? room.load(from, words) : 0, place = lane * EACH;
    if (holes) place = warp_sum_to(__popc(codes.filled)) - __popc(codes.filled);
    bit += place * shift;
    Each<W> d;
    T sum = 0;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
      const bool filled = codes.filled >> k & 1;
      T u = codes.of.of[k];
      if (filled && u == LONG_CODE) u = o[first + k];
      u = (T)(W)(u - less);
      if (shift && filled) {
        u = u << shift | room.field(bit, shift, T());
        bit += shift;
      }
      d.of[k] = filled ? form.difference((W)u) : (W)0;
      sum += d.of[k];
      if (direct && holes && !filled) d.of[k] = hole;
    }
    put(batch, d, sum);
    return sum;
  }
  // The same for a whole batch without holes, of integers of at most four bytes.
  FZ_DEV T unpack_all(LowRoom& room, uint32_t batch, uint32_t own, uint32_t shift, const uint8_t* from, uint32_t words) const {
    const uint32_t lane = threadIdx.x & 31, first = batch * POINTS + lane * EACH;
    const Each<uint16_t> codes = Codes::load(all, batch, own);
    Each<W> d;
    T sum = 0;
    auto join = [&](uint32_t k, T high, uint32_t field) {
      d.of[k] = form.difference((W)(high << shift | field));
      sum += d.of[k];
    };
    auto high = [&](uint32_t k) { return codes.of[k] == LONG_CODE ? (T)o[first + k] : (T)codes.of[k]; };
    if (shift) {
      Fields fields(room, room.load(from, words) + lane * EACH * shift);
#pragma unroll
      for (uint32_t k = 0; k < EACH; k++) join(k, high(k), fields.take(shift));
    } else {
#pragma unroll
      for (uint32_t k = 0; k < EACH; k++) join(k, high(k), 0);
    }
    put(batch, d, sum);
    return sum;
  }
  // A whole batch of holes.
  FZ_DEV T put_holes(uint32_t batch) const {
    Each<W> d;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) d.of[k] = direct ? hole : (W)0;
    put(batch, d, 0);
    return 0;
  }
  // Stores the differences of a lane, or the elements; `sum` is the sum of the differences.
  FZ_DEV void put(uint32_t batch, Each<W>& d, T sum) const {
    const uint32_t lane = threadIdx.x & 31, first = batch * POINTS + lane * EACH;
    if (direct) {
#pragma unroll
      for (uint32_t k = 0; k < EACH; k++) d.of[k] = map.element(d.of[k]);
      put_each(target, d, first, count);
      return;
    }
    d.store(o, first, count);
    if (!sums) return;
    const T all_of = total(sum);
    if (lane == 31) sums[batch] = all_of;
  }
  // The sum of all lanes, in the last one.
  FZ_DEV static uint32_t total(uint32_t own) { return __reduce_add_sync(ALL, own); }
  FZ_DEV static uint64_t total(uint64_t own) { return warp_sum_to(own); }
};

template <class W> FZ_DEV void unpack(const Args& a, LowRoom& room, uint64_t* words, uint64_t* sizes) {
  typedef typename Wide<W>::Word T;
  const ExactParams& p = params<ExactParams>(a);
  const DecoderMemory memory(a, p);
  if (!is_open(a, memory, p)) return;
  const uint32_t lane = threadIdx.x & 31;
#pragma unroll 1
  for (uint32_t number = 0; number < PARTS; number++) {
    const Part& part = memory.state->of[number];
    const Head& head = memory.state->head;
    const bool is_array = number == OF_ARRAY;
    const multilevel::Target<W> target(output(a, 0), elements(p));
    const Unpacker<W> unpacker = {memory.codes[number], part.s.count, is_array && head.holes, head.form<W>(number), memory.of<W>(number), is_array && axis_with_x(head, p) ? memory.sums_before : nullptr,
                                  is_array && writer(head) == BY_UNPACK, head.map<W>(p.kind), (W)head.hole, target};
    const uint8_t* classes = memory.classes + part.s.first_batch;
    const uint16_t* counts = memory.words + part.s.first_batch;
    const BatchShare share(part.s.batches);
    uint64_t at = 0, all = 0, own = 0;
    for (uint32_t k = threadIdx.x; k < gridDim.x; k += blockDim.x) {
      const uint64_t of_block = memory.totals[number][k];
      at += k < blockIdx.x ? of_block : 0;
      all += of_block;
    }
    all = block_sum_to(all, words);
    if (threadIdx.x == blockDim.x - 1 && blockIdx.x == 0 && all != part.low_words) corrupt(a);
    for (uint32_t batch = share.own_first + lane; batch < share.own_end; batch += 32) own += counts[batch];
    at = before_warp(at, own, words, sizes);
    const uint8_t* low = address(input(a, 0)) + part.low;
    const uint64_t low_words = part.low_words;
    const Scale scale = part.scale;
    T sum = 0;
#pragma unroll 1
    for (uint32_t from = share.own_first; from < share.own_end; from += 32) {
      const bool there = from + lane < share.own_end;
      const uint32_t class_of = there ? classes[from + lane] & 15 : 0;
      const BatchWords mine(there ? counts[from + lane] : 0);
      const uint32_t batches = min(32u, share.own_end - from);
#pragma unroll 1
      for (uint32_t k = 0; k < batches; k++) {
        const uint32_t of_class = __shfl_sync(ALL, class_of, k), far = min(k + AHEAD, batches - 1);
        uint32_t count = __shfl_sync(ALL, mine.own, k);
        const uint64_t first = at + __shfl_sync(ALL, mine.before, k), later = at + __shfl_sync(ALL, mine.before, far);
        const uint32_t later_count = __shfl_sync(ALL, mine.own, far), later_class = __shfl_sync(ALL, class_of, far);
        if (lane == 0 && k + AHEAD < batches && later + later_count <= low_words) {
          const uint8_t* words = reinterpret_cast<const uint8_t*>(reinterpret_cast<uintptr_t>(low + 2 * later) & ~(uintptr_t)15);
          if (later_class) fz_prefetch(unpacker.all + (uint64_t)(from + far) * POINTS, 2 * POINTS);
          if (later_count >= 8) fz_prefetch(words, later_count / 8 * 16);
        }
        // Of corrupt streams, words behind the section are not read.
        if (first + count > low_words) count = 0;
        sum += unpacker.unpack(room, from + k, of_class, scale.low_bits(of_class, BITS<W>), low + 2 * (count ? first : 0), count);
      }
      at += __shfl_sync(ALL, mine.before + mine.own, 31);
    }
    sum = block_sum_to(sum, reinterpret_cast<T*>(words));
    if (threadIdx.x == blockDim.x - 1) memory.sums[number][blockIdx.x] = sum;
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
extern "C" __global__ void __launch_bounds__(256, 4) exact_unpack(FZ_ARGS) {
  __shared__ fz::exact::LowRoom rooms[8];
  __shared__ uint64_t words[32], sizes[9];
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::unpack<decltype(w)>(a, rooms[threadIdx.x >> 5], words, sizes); });
}
