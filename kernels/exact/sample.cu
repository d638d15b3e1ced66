// Stage exact, encoder: the gap and the factor of elements, by the rules of src/stages/exact/choose.rs, and integers in place of elements.
#include "common/scan.cuh"
#include "exact/encoder.cuh"

namespace fz {
namespace exact {
constexpr uint32_t SAMPLE_THREADS = 1024;

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

template <class W> FZ_DEV void look(const Args& a, uint64_t* words) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  const uint32_t n = (uint32_t)elements(p);
  if (n == 0) return;
  const multilevel::Source<W> source(address(input(a, 0)));
  const Sample sample(n);
  constexpr uint32_t OWN = SAMPLE / SAMPLE_THREADS;
  uint64_t least = NEVER, factor = 0, places[OWN];
  __shared__ uint64_t all;
#pragma unroll
  for (uint32_t k = 0; k < OWN; k++) {
    const uint32_t i = threadIdx.x + k * SAMPLE_THREADS;
    places[k] = i < sample.count ? Map<W>::place(p.kind, source[(uint64_t)i * sample.stride]) : NEVER;
  }
#pragma unroll
  for (uint32_t k = 0; k < OWN; k++) least = places[k] < least ? places[k] : least;
  // The scan takes the largest one.
  least = ~block_scan_to<Most>(~least, words);
  if (threadIdx.x == blockDim.x - 1) all = least;
  __syncthreads();
  least = all;
#pragma unroll
  for (uint32_t k = 0; k < OWN; k++)
    if (threadIdx.x + k * SAMPLE_THREADS < sample.count) factor = divisor(factor, places[k] - least);
  factor = warp_divisor(factor);
  __syncthreads();
  if (threadIdx.x % 32 == 0) words[threadIdx.x / 32] = factor;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  factor = warp_divisor(words[threadIdx.x]);
  if (threadIdx.x != 0) return;
  memory.all.least = least;
  memory.all.factor = factor;
  memory.all.overflows = 0;
}

// Elements of a thread.
template <class W> FZ_DEV Each<W> each_of(const multilevel::Source<W>& source, uint64_t i, uint64_t n) {
  if (aligned(source.at, 16) && i + EACH <= n) return *reinterpret_cast<const Each<W>*>(source.at + i);
  Each<W> own;
#pragma unroll
  for (uint32_t k = 0; k < EACH; k++) own.of[k] = i + k < n ? source[i + k] : (W)0;
  return own;
}

// The least place of all elements, and those that the factor does not divide.
template <class W> FZ_DEV void find_places(const Args& a, uint64_t* words) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  const uint64_t n = elements(p), factor = memory.all.factor, from = memory.all.least;
  if (n == 0 || factor < 2) return;
  const multilevel::Source<W> source(address(input(a, 0)));
  uint64_t least = NEVER;
  bool odd = false;
  const bool by_bits = is_power(factor);
#pragma unroll 1
  for (uint64_t i = (uint64_t)EACH * (blockIdx.x * blockDim.x + threadIdx.x); i < n; i += (uint64_t)EACH * gridDim.x * blockDim.x) {
    const Each<W> own = each_of(source, i, n);
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
      if (i + k >= n) continue;
      const uint64_t place = Map<W>::place(p.kind, own.of[k]), apart = place > from ? place - from : from - place;
      if (by_bits) odd |= (apart & (factor - 1)) != 0;
      else odd |= BITS<W> < 64 ? (uint32_t)apart % (uint32_t)factor != 0 : apart % factor != 0;
      least = place < least ? place : least;
    }
  }
  const uint64_t most = block_scan_to<Most>(~least, words);
  if (threadIdx.x == blockDim.x - 1) atomicMax(&memory.zeroed.least, (unsigned long long)most);
  if (__syncthreads_or(odd) && threadIdx.x == 0) atomicAdd(&memory.zeroed.odd, 1u);
}

template <class W> FZ_DEV void to_integers(const Args& a) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  const uint64_t n = elements(p);
  if (n == 0) return;
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

extern "C" __global__ void __launch_bounds__(fz::exact::SAMPLE_THREADS) exact_sample(FZ_ARGS) {
  __shared__ uint64_t words[32];
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::look<decltype(w)>(a, words); });
}
extern "C" __global__ void __launch_bounds__(256) exact_places(FZ_ARGS) {
  __shared__ uint64_t words[32];
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::find_places<decltype(w)>(a, words); });
}
extern "C" __global__ void __launch_bounds__(256) exact_integers(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::to_integers<decltype(w)>(a); });
}
