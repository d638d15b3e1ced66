// Stage exact, encoder: the gap and the factor of elements, by the rules of src/stages/exact/choose.rs, whether values repeat, and integers
// in place of elements.
#include "common/scan.cuh"
#include "exact/search.cuh"
#include "exact/sort_sample.cuh"

namespace fz {
namespace exact {
FZ_DEV uint64_t divisor(uint64_t a, uint64_t b) {
  while (b) {
    if (a == 1) return 1;
    const uint64_t rest = (a | b) >> 32 ? a % b : (uint32_t)a % (uint32_t)b;
    a = b;
    b = rest;
  }
  return a;
}
// The divisor of those of all lanes.
FZ_DEV uint64_t warp_divisor(uint64_t own) {
  for (uint32_t d = 16; d > 0; d /= 2) own = divisor(own, __shfl_xor_sync(ALL, own, d));
  return own;
}
// The divisor of those of all threads, to the first warp.
FZ_DEV uint64_t block_divisor(uint64_t own, SampleRoom& room) {
  own = warp_divisor(own);
  if (threadIdx.x % 32 == 0) room.words[threadIdx.x / 32] = own;
  __syncthreads();
  return threadIdx.x < 32 ? warp_divisor(room.words[threadIdx.x]) : 0;
}

// A block finds the gap and the factor of the sample.
template <class W> FZ_DEV void find_map(const Args& a, const EncoderMemory& memory, const ExactParams& p, SampleRoom& room) {
  const multilevel::Source<W> source(address(input(a, 0)));
  const Sample sample((uint32_t)elements(p));
  uint64_t least = NEVER, places[OWN];
#pragma unroll
  for (uint32_t k = 0; k < OWN; k++) {
    const uint32_t i = threadIdx.x + k * THREADS;
    places[k] = i < sample.count ? Map<W>::place(p.kind, source[(uint64_t)i * sample.stride]) : NEVER;
  }
#pragma unroll
  for (uint32_t k = 0; k < OWN; k++) least = places[k] < least ? places[k] : least;
  least = ~largest(~least, room);
  // First the divisor of one distance of each warp: most distances are multiples of that divisor, so that they take one division.
  uint64_t some = 0;
#pragma unroll
  for (uint32_t k = 0; k < OWN; k++) {
    places[k] = threadIdx.x + k * THREADS < sample.count ? places[k] - least : 0;
    some = places[k] ? places[k] : some;
  }
  const uint32_t who = __ballot_sync(ALL, some != 0);
  some = __shfl_sync(ALL, some, who ? __ffs((int)who) - 1 : 0);
  if (threadIdx.x % 32 == 0) room.words[threadIdx.x / 32] = some;
  __syncthreads();
  if (threadIdx.x < 32) {
    some = warp_divisor(room.words[threadIdx.x]);
    if (threadIdx.x == 0) room.result = some;
  }
  __syncthreads();
  some = room.result;
  uint64_t factor = some;
#pragma unroll 1
  for (uint32_t k = 0; k < OWN; k++) factor = divisor(places[k], factor);
  if (__syncthreads_or(factor != some)) factor = block_divisor(factor, room);
  if (threadIdx.x != 0) return;
  memory.all.least = least;
  memory.all.factor = factor;
  memory.all.overflows = 0;
}
// A block finds whether values of the sample repeat, also without the most frequent one.
template <class W> FZ_DEV void find_repeats(const Args& a, const EncoderMemory& memory, const ExactParams& p, SampleRoom& room) {
  typedef typename Wide<W>::Word Key;
  const multilevel::Source<W> source(address(input(a, 0)));
  const Sample sample((uint32_t)elements(p));
  Key* sorted = room.sorted<Key>();
  for (uint32_t k = threadIdx.x; k < SAMPLE; k += THREADS) sorted[k] = k < sample.count ? (Key)source[(uint64_t)k * sample.stride] : (Key)NEVER;
  sort_sample(sorted);
  const MostFrequent<Key> most(sorted, sample.count, room);
  if (threadIdx.x == 0) memory.all.repeats = 64 * most.repeated >= sample.count && 256 * (most.repeated + 1 - most.count) >= sample.count - most.count;
}
template <class W> FZ_DEV void look(const Args& a, SampleRoom& room) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0) return;
  if (blockIdx.x == 0) find_map<W>(a, memory, p, room);
  else find_repeats<W>(a, memory, p, room);
}

// Elements of a thread.
template <class W> FZ_DEV Each<W> each_of(const multilevel::Source<W>& source, uint64_t i, uint64_t n) {
  if (aligned(source.at, 16) && i + EACH <= n) return *reinterpret_cast<const Each<W>*>(source.at + i);
  Each<W> own;
#pragma unroll
  for (uint32_t k = 0; k < EACH; k++) own.of[k] = i + k < n ? source[i + k] : (W)0;
  return own;
}

// The results of a thread for its elements: the least place, and whether the factor does not divide some distance. POWER: the factor is
// a power of 2.
template <bool POWER, class W> struct Places {
  const uint32_t kind;
  const W from, factor;
  W least, rest;
  FZ_DEV Places(uint32_t kind, W from, W factor) : kind(kind), from(from), factor(factor), least((W)NEVER), rest(0) {}
  FZ_DEV void look(W element) {
    const W place = (W)Map<W>::place(kind, element);
    // The low bits of a distance and of its opposite are both 0, or neither are.
    rest |= POWER ? (W)(place - from) : (W)((place > from ? place - from : from - place) % factor);
    least = place < least ? place : least;
  }
  FZ_DEV bool is_odd() const { return (POWER ? rest & (W)(factor - 1) : rest) != 0; }
};
// The least place of all elements, and those that the factor does not divide.
template <bool POWER, class W> FZ_DEV void find_places(const Args& a, const EncoderMemory& memory, const ExactParams& p, uint64_t* words) {
  const uint64_t n = elements(p);
  const multilevel::Source<W> source(address(input(a, 0)));
  Places<POWER, W> places(p.kind, (W)memory.all.least, (W)memory.all.factor);
#pragma unroll 1
  for (uint64_t i = (uint64_t)EACH * (blockIdx.x * blockDim.x + threadIdx.x); i < n; i += (uint64_t)EACH * gridDim.x * blockDim.x) {
    const Each<W> own = each_of(source, i, n);
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++)
      if (i + k < n) places.look(own.of[k]);
  }
  const uint64_t most = block_scan_to<Most>(~(uint64_t)places.least, words);
  if (threadIdx.x == blockDim.x - 1) atomicMax(&memory.zeroed.least, (unsigned long long)most);
  if (__syncthreads_or(places.is_odd()) && threadIdx.x == 0) atomicAdd(&memory.zeroed.odd, 1u);
}
template <class W> FZ_DEV void find_all_places(const Args& a, uint64_t* words) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0 || memory.all.factor < 2) return;
  if (is_power(memory.all.factor)) find_places<true, W>(a, memory, p, words);
  else find_places<false, W>(a, memory, p, words);
}

// The slots of the search, if values are searched for.
FZ_DEV void clear_slots(const Args& a, const EncoderMemory& memory, const ExactParams& p) {
  if (!is_searched(a, p)) return;
  const uint32_t count = slots_of(p);
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i <= count; i += gridDim.x * blockDim.x) memory.slots[i] = EMPTY;
}
template <class W> FZ_DEV void to_integers(const Args& a) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  const uint64_t n = elements(p);
  if (n == 0) return;
  clear_slots(a, memory, p);
  const multilevel::Source<W> source(address(input(a, 0)));
  const Map<W> map = map_of<W>(memory, p);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    Head& head = memory.state->head;
    head = {};
    head.gap = map.gap;
    head.factor = map.factor;
  }
  if (is_direct(a, map)) return;
  W* o = reinterpret_cast<W*>(memory.integers);
#pragma unroll 1
  for (uint64_t i = (uint64_t)EACH * (blockIdx.x * blockDim.x + threadIdx.x); i < n; i += (uint64_t)EACH * gridDim.x * blockDim.x) {
    Each<W> own = each_of(source, i, n);
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) own.of[k] = map.integer(own.of[k]);
    own.store(o, (uint32_t)i, (uint32_t)n);
  }
}
}  // namespace exact
}  // namespace fz

extern "C" __global__ void __launch_bounds__(fz::exact::THREADS) exact_sample(FZ_ARGS) {
  __shared__ fz::exact::SampleRoom room;
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::look<decltype(w)>(a, room); });
}
extern "C" __global__ void __launch_bounds__(256) exact_places(FZ_ARGS) {
  __shared__ uint64_t words[32];
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::find_all_places<decltype(w)>(a, words); });
}
extern "C" __global__ void __launch_bounds__(256) exact_integers(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::to_integers<decltype(w)>(a); });
}
