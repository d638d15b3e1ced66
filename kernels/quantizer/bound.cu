// The computation of the bound of the codes from the bound of the user, by many blocks.
#include "quantizer/bound.cuh"
#include "quantizer/kept.cuh"
#include "common/batch.cuh"

namespace fz {
namespace quantizer {
// Memory that is zero when the call starts: blocks of the scan that have ended, and the words of
// the sample.
struct Counts {
  unsigned long long done, missed[1 + CANDIDATES];
};
static_assert(sizeof(Counts) == BOUND_COUNTS_BYTES, "as in Rust");
constexpr unsigned long long COUNTED = 1ull << 40;  // a block, in a word of the sample

// True in all threads of the block that ends last, which then sees the writes of the others.
// `flag`: a shared word.
FZ_DEV bool ends_last(unsigned long long* done, uint32_t* flag) {
  __syncthreads();
  if (threadIdx.x == 0) {
    // For the whole block: its writes precede the barrier, and its reads follow the next one.
    __threadfence();
    *flag = atomicAdd(done, 1ull) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  return *flag != 0;
}

// The range of a block, in thread 0.
FZ_DEV Range join(Range r, Range* warps) {
#pragma unroll
  for (int d = 16; d; d >>= 1) {
    const double low = __shfl_xor_sync(ALL, r.low, d), high = __shfl_xor_sync(ALL, r.high, d);
    r.add(low, high);
  }
  __syncthreads();
  if ((threadIdx.x & 31) == 0) warps[threadIdx.x >> 5] = r;
  __syncthreads();
  if (threadIdx.x == 0)
    for (uint32_t i = 1; i < blockDim.x / 32; i++) r.add(warps[i].low, warps[i].high);
  return r;
}

// Calls `f` with each value of a tile that this thread has, and its offset from the start of the
// tile.
template <class T, class F> FZ_DEV void each_value(const uint4 (&u)[UNITS], F f) {
  constexpr int N = 16 / sizeof(T);
#pragma unroll
  for (int i = 0; i < UNITS; i++) {
    T x[N];
    memcpy(x, &u[i], 16);
#pragma unroll
    for (int k = 0; k < N; k++) f(x[k], unit_at(i) + k * (uint32_t)sizeof(T));
  }
}

// Strict: finite values below the threshold. Otherwise everything but NaN, with which no comparison
// holds.
template <class T> FZ_DEV Range measure(const Args& a, const QuantizerParams& p) {
  typedef Real<T> R;
  const bool strict = p.switches & STRICT;
  const T limit = R::from(p.threshold), inf = R::infinity();
  const uint8_t* src = address(input(a, 0));
  const uint64_t n = length(input(a, 0)) / sizeof(T) * sizeof(T);
  T low = inf, high = -inf;
  // From the end to the beginning, which then is still in the cache when the codes are made.
  for (uint64_t left = (n + TILE - 1) / TILE, step = gridDim.x, i = blockIdx.x; i < left; i += step) {
    const uint64_t at = (left - 1 - i) * TILE;
    uint4 u[UNITS];
    load_tile(u, src + at, n - at);
    // Where the extremes are bounded, all between them are: two operations a value in place of
    // seven.
    T least = inf, most = -inf;
    each_value<T>(u, [&](T x, uint32_t) {
      least = lower(x, least);
      most = upper(x, most);
    });
    if (n - at >= TILE && (!strict || (least > -limit && most < limit))) {
      low = lower(least, low);
      high = upper(most, high);
      continue;
    }
    each_value<T>(u, [&](T x, uint32_t behind) {
      const bool bounded = at + behind < n && (!strict || R::abs(x) < limit);
      if (bounded && x < low) low = x;
      if (bounded && x > high) high = x;
    });
  }
  return {(double)low, (double)high};
}

// A warp reads up to this number of groups of the sample at a time.
constexpr int BATCH = 4;
// From a group on, every `apart`th; zeros, which no bound misses, if there is none.
FZ_DEV void fetch(const Sample& sample, float (&x)[BATCH], uint64_t from, uint64_t apart) {
  const bool whole = aligned(sample.src, 4);
#pragma unroll
  for (int j = 0; j < BATCH; j++) {
    const uint64_t group = from + j * apart;
    x[j] = 0.0f;
    if (group >= sample.groups) continue;
    const uint8_t* at = sample.group(group) + 4 * (threadIdx.x & 31);
    x[j] = whole ? *reinterpret_cast<const float*>(at) : load<float>(at);
  }
}

// Bins with the bound of another lane.
FZ_DEV Bins<float> bins_of(const Bins<float>& mine, uint32_t lane) {
  Bins<float> bins = mine;
  bins.inverse = __shfl_sync(ALL, mine.inverse, (int)lane);
  bins.step = __shfl_sync(ALL, mine.step, (int)lane);
  return bins;
}
// The number of misses of the bound of each lane among the first `N` values of each lane. `mine`:
// with the bound of this lane.
template <int N> FZ_DEV uint32_t missed_of(const float (&x)[BATCH], const Bins<float>& mine, uint32_t bounds) {
  const uint32_t lane = threadIdx.x & 31;
  // Nearly all values are hit, which costs a few operations; the counts of lanes after the last
  // bound are not used.
  uint32_t some = 0;
#pragma unroll
  for (uint32_t i = 0; i < 1 + CANDIDATES; i++) {
    const Bins<float> bins = bins_of(mine, i);
    bool hit = true;
#pragma unroll
    for (int j = 0; j < N; j++) hit &= bins.hits(x[j]);  // seed: sample-hits
    some |= hit ? 0 : 1u << i;
  }
  some = __reduce_or_sync(ALL, some) & ((1u << bounds) - 1);
  uint32_t missed = 0;
  for (; some; some &= some - 1) {
    const uint32_t i = __ffs(some) - 1;
    const Bins<float> bins = bins_of(mine, i);
    uint32_t count = 0;
#pragma unroll
    for (int j = 0; j < N; j++) count += bins.misses(x[j]);
    count = __reduce_add_sync(ALL, count);
    if (lane == i) missed = count;
  }
  return missed;
}

// The number that the bound is a fraction of; 0 if the array has none.
FZ_DEV double base_of(const QuantizerParams& p, Range r) {
  if (r.low > r.high) return 0.0;
  return p.mode == PREL ? peak(r) : sub_toward_zero(r.high, r.low);
}

// The range that the first try has measured.
FZ_DEV Range measured_range(const QuantizerParams& p, const Kept& kept) {
  if (kept.low == 0) return no_range();
  if (p.value == 4) return {-(double)Key<float>::value((uint32_t)kept.low), (double)Key<float>::value((uint32_t)kept.high)};
  return {-Key<double>::value(kept.low), Key<double>::value(kept.high)};
}

// The start of the second try, by all blocks: true if the array has to be coded again, with `range`.
FZ_DEV bool begin_second(const Args& a, const QuantizerParams& p, Range& range) {
  Kept* kept = kept_of(a);
  range = measured_range(p, *kept);
  const double base = base_of(p, range);
  const bool again = kept->base > 0.0 && !suits(kept->base, base);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    kept->next = SHARE_KEPT * base;
    kept->again = again;
  }
  return again;
}

// The start of the first try, by all blocks: the kept base, or 0. Its memory is made ready for a
// measurement.
FZ_DEV double begin_first(const Args& a) {
  Kept* kept = kept_of(a);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    kept->low = kept->high = 0;
    kept->again = 0;
  }
  return kept->base;
}

template <class T> FZ_DEV void store_strict(const Args& a, const QuantizerParams& p, bool measured, Range r, double given) {
  store_all<T>(a, p, strict_metadata<T>(p, measured, r, given));
}
// The metadata of a given base, or of a measured range, by one thread.
FZ_DEV void store_strict(const Args& a, const QuantizerParams& p, bool measured, Range r, double given) {
  if (p.value == 4) store_strict<float>(a, p, measured, r, given);
  else store_strict<double>(a, p, measured, r, given);
}

// The range, where it has to be measured, and the metadata.
FZ_DEV void find_bound(const Args& a) {
  if (fz::cancelled(a)) return;
  __shared__ Range warps[32];
  __shared__ uint32_t last;
  const QuantizerParams& p = fz::params<QuantizerParams>(a);
  Counts* counts = reinterpret_cast<Counts*>(a.zeroed);
  uint64_t* ranges = reinterpret_cast<uint64_t*>(a.scratch);  // of each block, as bits of f64, which holds every f32
  const bool measured = p.mode != ABS && p.value_base == 0.0, stored = (p.switches & RANGE) != 0, previous = (p.switches & PREVIOUS) != 0;
  Range range = no_range();
  if (previous && a.tag == SECOND_TRY) {
    if (begin_second(a, p, range) && threadIdx.x == 0) store_strict(a, p, true, range, 0.0);
    return;
  }
  if (previous && a.tag == FIRST_TRY) {
    const double base = begin_first(a);
    if (base > 0.0) {
      if (blockIdx.x == 0 && threadIdx.x == 0) store_strict(a, p, false, range, base);
      return;
    }
  }
  if (measured || stored) {
    range = join(p.value == 4 ? measure<float>(a, p) : measure<double>(a, p), warps);
    if (threadIdx.x == 0) {
      fz::poke(ranges + 2 * blockIdx.x, Real<double>::bits(range.low));
      fz::poke(ranges + 2 * blockIdx.x + 1, Real<double>::bits(range.high));
    }
    if (!ends_last(&counts->done, &last)) return;
    range = no_range();
    for (uint32_t i = threadIdx.x; i < gridDim.x; i += blockDim.x)
      range.add(Real<double>::value(fz::peek(ranges + 2 * i)), Real<double>::value(fz::peek(ranges + 2 * i + 1)));
    range = join(range, warps);
    if (p.switches & PADDED) range.add(0.0, 0.0);
  } else if (blockIdx.x > 0) {
    return;
  }
  if (threadIdx.x != 0) return;
  if (previous && a.tag == 0) {
    // The range is measured before the array is coded: one try suffices.
    Kept* kept = kept_of(a);
    const double base = base_of(p, range), given = kept->base;
    kept->base = SHARE_KEPT * base;
    store_strict(a, p, !suits(given, base), range, given);
  } else if (p.switches & STRICT) store_strict(a, p, measured, range, p.value_base);
  else if (p.value == 4) store_all<float>(a, p, literal_metadata<float>(p, measured, range));
  else store_all<double>(a, p, literal_metadata<double>(p, measured, range));
  if (stored) *reinterpret_cast<Range*>(fz::address(fz::output(a, 0)) + sizeof(BoundMetadata)) = range;
}

// Strict, f32: the misses of every candidate in a sample, all at once, and then the choice. If no
// range is measured it runs alone: each block computes the metadata itself, which costs nothing
// while the sample is being loaded.
FZ_DEV void find_step(const Args& a) {
  constexpr uint32_t WARPS = 8;
  static_assert(WARPS == CANDIDATES, "a warp for each candidate");
  __shared__ Steps steps;
  __shared__ uint32_t counted[WARPS][32];
  if (!a.fresh && fz::cancelled(a)) return;
  const QuantizerParams& p = fz::params<QuantizerParams>(a);
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const uint64_t warps = (uint64_t)gridDim.x * WARPS, first = (uint64_t)blockIdx.x * WARPS + warp;
  const Sample sample(fz::address(fz::input(a, 0)), fz::length(fz::input(a, 0)));
  float x[BATCH];
  fetch(sample, x, first, warps);
  // True if an earlier launch has stored the metadata.
  bool measured = p.mode != ABS && p.value_base == 0.0;
  // Requested now, and read later: computing the steps takes time too.
  const unsigned long long failed = fz::failure(a);
  if (measured && fz::cancelled(a, failed)) return;
  Range range = no_range();
  double given = p.value_base;
  const bool second = a.tag == SECOND_TRY;
  if (a.tag == FIRST_TRY) {
    given = kept_of(a)->base;
    measured = !(given > 0.0);
  } else if (second) {
    if (!begin_second(a, p, range)) return;
    measured = false;
  }
  BoundMetadata metadata = measured ? load_metadata(fz::output(a, 0)) : strict_metadata<float>(p, second, range, given);
  const bool lossy = metadata.radius > 0;
  if (lossy) find_steps(steps, metadata);
  if (fz::cancelled(a, failed)) return;
  // Everything is exact, or there is nothing to choose from.
  if (!lossy || steps.bounds == 1) {
    if (!measured && blockIdx.x == 0 && threadIdx.x == 0) store_all<float>(a, p, metadata);
    return;
  }
  // Lane i has the numbers of bound i.
  const uint32_t bounds = steps.bounds;
  const float bound = lane < bounds ? steps.bound[lane] : metadata.bound_f32;
  BoundMetadata own = metadata;
  own.bound = own.bound_f32 = bound;
  const Bins<float> mine(p, own);
  const double shrink = sample.shrink(bound, metadata.bound);
  uint32_t missed = 0;
  if (sample.groups <= 2 * warps) missed = missed_of<2>(x, mine, bounds);
  else
    for (uint64_t from = first; from < sample.groups; from += BATCH * warps) {
      if (from > first) fetch(sample, x, from, warps);
      missed += missed_of<BATCH>(x, mine, bounds);
    }
  // A word for each bound has the counts of all blocks, and above them the number of blocks that
  // have counted: one addition, so that no order is needed. The block that arrives last at the
  // first word reads the others until all blocks have counted.
  counted[warp][lane] = missed;
  __syncthreads();
  if (warp != 0) return;
  unsigned long long* words = reinterpret_cast<Counts*>(a.zeroed)->missed;
  uint64_t known = 0;
  if (lane < bounds) {
    uint32_t sum = 0;
    for (uint32_t w = 0; w < WARPS; w++) sum += counted[w][lane];
    known = atomicAdd(words + lane, COUNTED | sum) + (COUNTED | sum);
  }
  if (__shfl_sync(fz::ALL, known, 0) / COUNTED != gridDim.x) return;
  while (lane < bounds && known / COUNTED != gridDim.x) known = fz::peek(reinterpret_cast<uint64_t*>(words + lane));
  const uint64_t count = known % COUNTED;
  // The cost of a bound. The CPU stops when shrinking alone costs more, which only grows: it
  // selects the first of the cheapest too.
  double cost = lane < bounds ? (double)count * (double)p.exact_bits + shrink : Real<double>::infinity();
  uint32_t best = lane;
#pragma unroll
  for (int d = 16; d; d >>= 1) {
    const double other = __shfl_xor_sync(fz::ALL, cost, d);
    const uint32_t who = __shfl_xor_sync(fz::ALL, best, d);
    if (other < cost || (other == cost && who < best)) { cost = other; best = who; }
  }
  if (lane == best) store_all<float>(a, p, own);
}
}  // namespace quantizer
}  // namespace fz

FZ_BOTH(quantizer_bound, fz::quantizer::find_bound, 256, 4, 4)
FZ_BOTH(quantizer_bound_step, fz::quantizer::find_step, 256, 4, 4)
