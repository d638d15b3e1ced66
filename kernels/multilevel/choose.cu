// Stage multilevel: the choice of axes of the interpolation, or of differences, from samples. The rules are those of
// src/stages/multilevel/choose.rs. A block has an axis and a level, or a part of the sample for differences.
#include "common/scan.cuh"
#include "multilevel/choice.cuh"
#include "multilevel/quantize.cuh"
#include "multilevel/source.cuh"
#include "multilevel/stencil.cuh"

namespace fz {
namespace multilevel {
template <class T> FZ_DEV void sum_line(const Shape& all, const Predictor<T>& of, const Source<T>& source, uint32_t axis, uint32_t level, Choice& choice, uint64_t* words) {
  const uint32_t s = 1u << (level - 1);
  if (all.n[axis] <= s) {
    if (threadIdx.x == 0) choice.lines[axis][level] = 0;
    return;
  }
  uint32_t points[3];
  for (int d = 0; d < 3; d++) points[d] = halved(all.n[d], level - 1);
  points[axis] = halved(all.n[axis] - s, level);
  const uint32_t count = points[0] * points[1] * points[2], stride = sample_stride(count, AXIS_SAMPLE), known = halved(all.n[axis], level);
  const uint32_t looked = (count - 1) / stride + 1, strides[3] = {1, all.n[0], all.n[0] * all.n[1]};
  uint32_t sums[2] = {0, 0};
  for (uint32_t k = threadIdx.x; k < looked; k += blockDim.x) {
    const uint32_t i = k * stride, at[3] = {i % points[0], i / points[0] % points[1], i / points[0] / points[1]}, odd = at[axis];
    uint64_t place = 0;
    for (uint32_t d = 0; d < 3; d++) place += (uint64_t)(d == axis ? (2 * at[d] + 1) * s : at[d] * s) * strides[d];
    const T x = source[place];
    if (!of.is_bounded(x)) continue;
    T t[8];
    for (int j = 0; j < 8; j++) {
      const int tap = (int)odd + j - 3;
      t[j] = tap >= 0 && tap < (int)known ? source[(uint64_t)((int64_t)place + (int64_t)(2 * j - 7) * s * strides[axis])] : T(0);
    }
#pragma unroll
    for (uint32_t c = 0; c < 2; c++) sums[c] += cost_of(x - of.predict_any(2 * c + 2, odd + 1, known - odd - 1, t).p, of.rate);
  }
  const uint64_t two = block_sum_to((uint64_t)sums[0] << 32 | sums[1], words);
  if (threadIdx.x != blockDim.x - 1) return;
  const uint64_t a = two >> 32, b = two & 0xffffffff;
  choice.lines[axis][level] = 256 * (a < b ? a : b) / looked;
}

constexpr uint32_t CHOOSE_THREADS = 1024, DIFFERENCE_BLOCKS = SAMPLE / CHOOSE_THREADS;
FZ_DEV uint32_t sampled(uint32_t n) { return min(SAMPLE, (n - 1) / sample_stride(n, SAMPLE) + 1); }

// Sums the costs of the differences at a part of a sample of the elements. The upper halves of the sums count the differences other
// than 0.
template <class T> FZ_DEV void sum_differences(const Shape& all, const Predictor<T>& of, const Source<T>& source, Choice& choice, uint32_t part, uint64_t* words) {
  typedef Num<T> N;
  const uint32_t n = all.elements(), stride = sample_stride(n, SAMPLE), looked = sampled(n), k = part * CHOOSE_THREADS + threadIdx.x;
  const uint32_t strides[3] = {1, all.n[0], all.n[0] * all.n[1]};
  uint64_t sums[3] = {0, 0, 0};
  bool unfit = false;
  auto quotient = [&](T x, bool& few) -> int64_t {
    const T sum = (x - of.center) * of.rate + N::MAGIC, q = sum - N::MAGIC;
    few = N::abs(q) < T(MOST_DIFFERENCE) && of.is_bounded(x);
    return few ? magic_integer(sum) : 0;
  };
  if (k < looked) {
    const uint32_t i = k * stride;
    const bool has[3] = {i % all.n[0] > 0, i / all.n[0] % all.n[1] > 0, i / all.n[0] / all.n[1] > 0};
    T x[8];
    bool there[8];
#pragma unroll
    for (uint32_t corner = 0; corner < 8; corner++) {
      uint32_t back = 0;
      there[corner] = true;
#pragma unroll
      for (int d = 0; d < 3; d++)
        if (corner >> d & 1) {
          there[corner] = there[corner] && has[d];
          back += strides[d];
        }
      x[corner] = there[corner] ? source[i - back] : T(0);
    }
    int64_t q[8];
#pragma unroll
    for (uint32_t corner = 0; corner < 8; corner++) {
      bool few = true;
      q[corner] = there[corner] ? quotient(x[corner], few) : 0;
      if (corner == 0) unfit = !few;
    }
    const int64_t a = q[0] - q[1], b = a - (q[2] - q[3]), c = a - (q[2] - q[3]) - (q[4] - q[5]) + (q[6] - q[7]);
    auto bits = [](int64_t d) -> uint64_t { return d ? 1ull << 32 | (64 - __clzll(4 * (d < 0 ? -d : d))) : 0; };
    sums[0] = bits(a);
    sums[1] = bits(b);
    sums[2] = bits(c);
  }
  if (unfit) choice.unfit = 1;
#pragma unroll
  for (int j = 0; j < 3; j++) {
    const uint64_t sum = block_sum_to(sums[j], words);
    if (threadIdx.x == blockDim.x - 1 && sum) atomicAdd(&choice.differences[j], (unsigned long long)sum);
  }
}
// The cost of differences, from their sum.
FZ_DEV uint64_t cost_of_differences(uint64_t sum, uint32_t looked) {
  const uint32_t others = (uint32_t)(sum >> 32), rarity = others ? 31 - __clz((int)(looked / others)) : 0;
  return (uint32_t)sum + (uint64_t)others * (rarity > 1 ? rarity - 1 : 0);
}

FZ_DEV uint64_t saturated_sum(uint64_t a, uint64_t b) { return a + b < a ? ~0ull : a + b; }
FZ_DEV uint64_t saturated_product(uint64_t a, uint64_t b) { return __umul64hi(a, b) ? ~0ull : a * b; }

// A warp must call the function. A lane has a set of axes, and every eighth level of it.
FZ_DEV void decide(const Args& a, const MultilevelParams& p, unsigned long long (&lines)[3][MOST_LEVELS]) {
  const Choice& choice = *reinterpret_cast<const Choice*>(a.scratch);
  const uint32_t known = long_axes(p), lane = threadIdx.x;
#pragma unroll
  for (int axis = 0; axis < 3; axis++) lines[axis][lane] = choice.lines[axis][lane];
  __syncwarp();
  static_assert(SETS <= 4, "a lane has one of four sets");
  const uint32_t own_set = lane % 4, own_axes = own_set == 0 ? 7 : own_set == 1 ? 3 : own_set == 2 ? 5 : 1;
  uint64_t own = ~0ull;
  if (own_set < SETS && (own_axes & ~known) == 0) {
    const Shape set(p, own_axes);
    own = 0;
    for (uint32_t level = 1 + lane / 4; level <= set.levels(); level += 8)
      for (int axis = 2; axis >= 0; axis--) {
        if (!set.has_pass(level, axis)) continue;
        const uint64_t count = (uint64_t)set.points(level, axis, 0) * set.points(level, axis, 1) * set.points(level, axis, 2);
        own = saturated_sum(own, saturated_product(count, lines[axis][level]));
      }
  }
#pragma unroll
  for (int d = 4; d < 32; d <<= 1) own = saturated_sum(own, __shfl_xor_sync(ALL, own, d));
  uint64_t least = ~0ull;
  uint32_t axes = known;
  for (int i = 0; i < (int)SETS; i++) {
    const uint64_t sum = __shfl_sync(ALL, own, i);
    const uint32_t other = __shfl_sync(ALL, own_axes, i);
    if (sum < least) {
      least = sum;
      axes = other;
    }
  }
  if (lane > 0) return;
  MultilevelMetadata m = choice.metadata;
  m.axes = (uint8_t)axes;
  const uint64_t n = p.dims[0] * p.dims[1] * p.dims[2];
  if (n > 0 && !choice.unfit) {
    const uint32_t rank = 1 + (p.dims[1] > 1) + (p.dims[2] > 1), looked = sampled((uint32_t)n);
    uint32_t best = 0;
    uint64_t cost = 0;
    for (uint32_t k = 0; k < rank; k++) {
      const uint64_t of_axes = cost_of_differences(choice.differences[k], looked);
      if (k > 0 && of_axes >= cost) continue;
      best = k;
      cost = of_axes;
    }
    // The product fits into 64 bits: a point costs at most 40 bits.
    const uint64_t sum = cost * 256 * n / looked;
    if (sum + sum / 16 < least) {
      m.axes = 0;
      m.differences = (uint8_t)(best + 1);
    }
  }
  *reinterpret_cast<MultilevelMetadata*>(address(output(a, 0))) = m;
  publish(output(a, 0), sizeof m);
}

template <class T> FZ_DEV void choose(const Args& a, uint64_t* words) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const Shape all(p, long_axes(p));
  Choice& choice = *reinterpret_cast<Choice*>(a.scratch);
  if (all.elements() == 0) return;
  const Predictor<T> of(p.threshold, choice.metadata);
  const Source<T> source(address(input(a, 0)));
  const uint32_t levels = all.levels();
  if (blockIdx.x < 3 * levels) sum_line(all, of, source, blockIdx.x % 3, blockIdx.x / 3 + 1, choice, words);
  else if (blockIdx.x < 3 * levels + DIFFERENCE_BLOCKS) sum_differences(all, of, source, choice, blockIdx.x - 3 * levels, words);
}
}  // namespace multilevel
}  // namespace fz

#define MULTILEVEL_CHOOSE(NAME, VALUE)                                                           \
  extern "C" __global__ void __launch_bounds__(1024) multilevel_choose_##NAME(FZ_ARGS) {         \
    __shared__ uint64_t words[32];                                                               \
    if (fz::cancelled(a)) return;                                                                \
    fz::multilevel::choose<VALUE>(a, words);                                                     \
  }
MULTILEVEL_CHOOSE(f32, float)
MULTILEVEL_CHOOSE(f64, double)

extern "C" __global__ void __launch_bounds__(32) multilevel_decide(FZ_ARGS) {
  using namespace fz::multilevel;
  __shared__ unsigned long long lines[3][MOST_LEVELS];
  if (fz::cancelled(a)) return;
  decide(a, fz::params<MultilevelParams>(a), lines);
}
