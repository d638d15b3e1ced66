// The computation of the bound of the codes from the bound of the user, by one block for all of a
// small array. No block waits for another one, and candidates for the step are tested one after the
// other, as on the CPU: most arrays need one test.
#include "quantizer/bound.cuh"
#include "common/batch.cuh"

namespace fz {
namespace quantizer {
constexpr uint32_t MOST_WARPS = 16;
// Loads of a thread that are under way at a time.
constexpr int MANY = 4;

struct WholeShared {
  BoundMetadata metadata;
  Steps steps;
  double low[MOST_WARPS], high[MOST_WARPS];
  uint32_t missed[MOST_WARPS];
};

// Calls `f(pieces)` for all pieces of 16 bytes that `at` gives the offsets of, several at a time.
// Behind the last piece, the first one is repeated if `REPEATED`; otherwise there are zeros.
template <bool ALIGNED, bool REPEATED, class At, class F> FZ_DEV void over_pieces(const uint8_t* src, uint32_t pieces, At at, F f) {
  for (uint32_t from = threadIdx.x; from < pieces; from += MANY * blockDim.x) {
    uint4 u[MANY];
#pragma unroll
    for (int i = 0; i < MANY; i++) {
      const uint32_t piece = from + i * blockDim.x;
      const bool there = piece < pieces;
      if (!there && !REPEATED) { u[i] = make_uint4(0, 0, 0, 0); continue; }
      const uint8_t* p = src + at(there ? piece : 0);
      u[i] = ALIGNED ? *reinterpret_cast<const uint4*>(p) : load16(p);
    }
    f(u);
  }
}

// Bounded values are finite ones below the threshold if strict, and otherwise all but NaN, with
// which no comparison holds.
template <class T> struct Extremes {
  typedef Real<T> R;
  T low, high, limit;
  bool strict;
  FZ_DEV explicit Extremes(const QuantizerParams& p) : low(R::infinity()), high(-R::infinity()), limit(R::from(p.threshold)), strict(p.switches & STRICT) {}
  FZ_DEV void add(T x) {
    const bool bounded = !strict || R::abs(x) < limit;
    if (bounded && x < low) low = x;
    if (bounded && x > high) high = x;
  }
  FZ_DEV void add(const uint4 (&u)[MANY]) {
    constexpr int N = 16 / sizeof(T);
    T x[MANY * N], least = R::infinity(), most = -R::infinity();
    memcpy(x, u, sizeof x);
    // Where the extremes are bounded, all between them are.
#pragma unroll
    for (int i = 0; i < MANY * N; i++) { least = lower(x[i], least); most = upper(x[i], most); }
    if (!strict || (least > -limit && most < limit)) {
      low = lower(least, low);
      high = upper(most, high);
    } else {
#pragma unroll
      for (int i = 0; i < MANY * N; i++) add(x[i]);
    }
  }
  FZ_DEV void join() {
#pragma unroll
    for (int d = 16; d; d >>= 1) {
      low = lower(__shfl_xor_sync(ALL, low, d), low);
      high = upper(__shfl_xor_sync(ALL, high, d), high);
    }
  }
};

// The range of the array, in the first warp.
template <class T> FZ_DEV Range measure(const QuantizerParams& p, const uint8_t* src, uint64_t bytes, WholeShared& s) {
  const uint32_t pieces = (uint32_t)(bytes / 16), lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  Extremes<T> r(p);
  const auto at = [](uint32_t piece) { return 16 * piece; };
  const auto add = [&](const uint4 (&u)[MANY]) { r.add(u); };
  if (aligned(src, 16)) over_pieces<true, true>(src, pieces, at, add);
  else over_pieces<false, true>(src, pieces, at, add);
  const uint64_t rest = bytes / sizeof(T) - pieces * (16 / sizeof(T));
  if (threadIdx.x < rest) r.add(load<T>(src + 16ull * pieces + sizeof(T) * threadIdx.x));
  r.join();
  if (lane == 0) { s.low[warp] = (double)r.low; s.high[warp] = (double)r.high; }
  __syncthreads();
  Range range = no_range();
  if (warp != 0) return range;
  if (lane < blockDim.x / 32) range = {s.low[lane], s.high[lane]};
#pragma unroll
  for (int d = MOST_WARPS / 2; d; d >>= 1) {
    const double low = __shfl_xor_sync(ALL, range.low, d), high = __shfl_xor_sync(ALL, range.high, d);
    range.add(low, high);
  }
  if (p.switches & PADDED) range.add(0.0, 0.0);
  return range;
}

// The number of misses of a bound in the sample, in all threads.
FZ_DEV uint32_t misses_of(const Sample& sample, const Bins<float>& bins, WholeShared& s) {
  constexpr uint32_t PIECES = SAMPLE_GROUP / 4;  // of a group
  const uint32_t pieces = (uint32_t)sample.groups * PIECES, apart = sample.stride * SAMPLE_GROUP * 4;
  uint32_t missed = 0;
  const auto at = [&](uint32_t piece) { return piece / PIECES * apart + piece % PIECES * 16; };
  const auto count = [&](const uint4 (&u)[MANY]) {
    float x[4 * MANY];
    memcpy(x, u, sizeof x);
    bool hit = true;
#pragma unroll
    for (int i = 0; i < 4 * MANY; i++) hit &= bins.hits(x[i]);
    if (hit) return;
#pragma unroll
    for (int i = 0; i < 4 * MANY; i++) missed += bins.misses(x[i]);  // seed: whole-misses
  };
  if (aligned(sample.src, 16)) over_pieces<true, false>(sample.src, pieces, at, count);
  else over_pieces<false, false>(sample.src, pieces, at, count);
  if (!__syncthreads_or(missed != 0)) return 0;
  const uint32_t own = __reduce_add_sync(ALL, missed);
  if ((threadIdx.x & 31) == 0) s.missed[threadIdx.x >> 5] = own;
  __syncthreads();
  uint32_t sum = 0;
  for (uint32_t i = 0; i < blockDim.x / 32; i++) sum += s.missed[i];
  return sum;
}

// The bound with the least cost: the whole one, or the first of the cheapest candidates.
FZ_DEV float cheapest(const QuantizerParams& p, const BoundMetadata& metadata, const Sample& sample, WholeShared& s) {
  const auto misses = [&](float bound) {
    BoundMetadata own = metadata;
    own.bound = own.bound_f32 = bound;
    return (double)misses_of(sample, Bins<float>(p, own), s) * (double)p.exact_bits;
  };
  float best = metadata.bound_f32;
  double cost = misses(best);
  if (cost == 0.0) return best;
  find_steps(s.steps, metadata);
  for (uint32_t i = 1; i < s.steps.bounds; i++) {
    const float bound = s.steps.bound[i];
    // Later candidates only cost more.
    const double shrink = sample.shrink(bound, metadata.bound);
    if (shrink >= cost) break;
    const double other = misses(bound) + shrink;
    if (other < cost) { cost = other; best = bound; }
  }
  return best;
}

template <class T> FZ_DEV void find(const Args& a, const QuantizerParams& p, WholeShared& s) {
  const uint8_t* src = address(input(a, 0));
  const uint64_t bytes = length(input(a, 0)), whole = bytes / sizeof(T) * sizeof(T);
  const bool strict = p.switches & STRICT, measured = p.mode != ABS && p.value_base == 0.0;
  const Range range = measured ? measure<T>(p, src, whole, s) : no_range();
  if (threadIdx.x == 0) s.metadata = strict ? strict_metadata<T>(p, measured, range) : literal_metadata<T>(p, measured, range);
  __syncthreads();
  BoundMetadata metadata = s.metadata;
  // Where exact values cost nothing, the step is the whole bound.
  if constexpr (sizeof(T) == 4) {
    if (strict && p.exact_bits != 0 && metadata.radius > 0) {
      const float bound = cheapest(p, metadata, Sample(src, bytes), s);
      if (bound != metadata.bound_f32) metadata.bound = metadata.bound_f32 = bound;
    }
  }
  if (threadIdx.x == 0) store_all<T>(a, p, metadata);
}

FZ_DEV void find_whole(const Args& a) {
  __shared__ WholeShared s;
  if (cancelled(a)) return;
  const QuantizerParams& p = params<QuantizerParams>(a);
  if (p.value == 4) find<float>(a, p, s);
  else find<double>(a, p, s);
}
}  // namespace quantizer
}  // namespace fz

FZ_BOTH(quantizer_bound_whole, fz::quantizer::find_whole, 512, 2, 2)
