// Stage ginterp: tuning from errors in a sample, as src/stages/ginterp/tune.rs. Errors are summed as
// integers, so the order of blocks does not matter.
#pragma once
#include "ginterp/bound.cuh"
#include "ginterp/lists.cuh"
#include "ginterp/window.cuh"

namespace fz {
namespace ginterp {
// The sums, in memory that is zero when the call starts: errors of the candidates of each
// level (modes 3 and 4), or of axes and splines (1 and 2); and the codes other than that of a hit for
// each pair of alpha and beta.
struct Tally {
  unsigned long long sums[SUMS], counts[PAIRS];
};
static_assert(sizeof(Tally) == TUNE_BYTES, "as in Rust");
FZ_DEV Tally& tally_of(const Args& a) { return *reinterpret_cast<Tally*>(a.zeroed); }

// The mode, 0 if the reference does not tune.
FZ_DEV uint32_t mode_of(const GinterpParams& p) {
  const bool untuned = (p.value == 8 && p.tuning < 5) || (p.dims[2] == 1 && p.tuning == 1);
  return !(p.switches & STRICT) && untuned ? 0 : p.tuning;
}

// Alpha of a pair of mode 4, and its beta.
FZ_DEV double alpha_of(uint32_t pair) { return pair < 2 ? 1.0 + 0.25 * pair : pair < 5 ? 1.5 : pair < 8 ? 1.75 : 2.0; }
FZ_DEV double beta_of(uint32_t pair) { return pair < 2 ? 2.0 : 2.0 + (pair - 2) % 3; }

// The candidate of this number.
FZ_DEV LevelFlags candidate(uint32_t i) { return LevelFlags(i % 3 == 2, i >= 3, i % 3 == 1); }

// The number of the smallest of `n` sums, the first of several.
FZ_DEV uint32_t least_of(const unsigned long long* sums, uint32_t n) {
  uint32_t best = 0;
  for (uint32_t i = 1; i < n; i++)
    if (sums[i] < sums[best]) best = i;
  return best;
}

// The best candidate of a level.
FZ_DEV LevelFlags best_of(const Tally& tally, uint32_t level, uint32_t levels, bool strict, bool flat) {
  // No point of the two coarsest levels has a cubic. In planes the reference looks at one spline on
  // level 1.
  const bool both = level + 3 <= levels && !(flat && !strict && level == 1);
  LevelFlags f = candidate(least_of(tally.sums + level * CANDIDATES, both ? CANDIDATES : 3));
  // In planes the reference takes the other spline than it has found.
  if (flat && !strict && level < 3) f.natural = !f.natural;
  return f;
}

// Errors as integers, where those of the size of the bound have some twenty bits.
struct Scale {
  double factor;
  FZ_DEV explicit Scale(double bound) {
    const int64_t exponent = (int64_t)(Real<double>::bits(bound) >> 52) - 1023, power = (int64_t)FRACTION - exponent;
    factor = Real<double>::value((uint64_t)((power < -1022 ? -1022 : power > 1023 ? 1023 : power) + 1023) << 52);
  }
  // NaN counts nothing.
  FZ_DEV uint64_t of(double error) const {
    constexpr uint64_t MOST = 1ull << SATURATION;
    const double scaled = error * factor;
    return scaled < (double)MOST ? (uint64_t)scaled : scaled == scaled ? MOST : 0;
  }
};

// Sample tiles at constant distances through the middle of the array.
struct SampleWindows {
  uint32_t first[3], count[3], stride;
  FZ_DEV explicit SampleWindows(const Grid& g) : stride(g.body[2] > 1 ? SAMPLE_STRIDE : SAMPLE_STRIDE_2D) {
#pragma unroll
    for (int d = 0; d < 3; d++) {
      first[d] = 0;
      count[d] = 1;
      if (g.body[d] == 1) continue;
      const uint32_t middle = g.dims[d] / 2, half = g.body[d] / 2, rest = g.dims[d] - middle;
      const uint32_t before = (middle > half ? middle - half : 0) / stride, behind = (rest > half + 1 ? rest - half - 1 : 0) / stride;
      first[d] = middle - before * stride;
      count[d] = before + behind + 1;
    }
  }
  FZ_DEV uint32_t all() const { return count[0] * count[1] * count[2]; }
  FZ_DEV Window window(const Grid& g, uint32_t i) const {
    const uint32_t row = i / count[0];
    const uint32_t at[3] = {first[0] + i % count[0] * stride, first[1] + row % count[1] * stride, first[2] + row / count[1] * stride};
    return Window(g, at);
  }
};

// The array that is tuned for.
template <class C> struct Sample {
  typedef typename C::Value T;
  const uint8_t* src;
  const Grid& g;
  const C& coding;
  Scale scale;
  FZ_DEV Sample(const Args& a, const Grid& g, const C& coding, double bound) : src(address(input(a, 0))), g(g), coding(coding), scale(bound) {}
  FZ_DEV T value(uint32_t element) const { return load<T>(src + (uint64_t)element * sizeof(T)); }
  FZ_DEV T value(const uint32_t (&at)[3]) const { return value(g.element(at[0], at[1], at[2])); }
  FZ_DEV T beside(const uint32_t (&at)[3], int d, int by) const {
    return value(g.element(at[0] + (d == 0 ? by : 0), at[1] + (d == 1 ? by : 0), at[2] + (d == 2 ? by : 0)));
  }
  FZ_DEV uint64_t error(T x, T p) const { return coding.is_kept(x) ? 0 : scale.of((double)Real<T>::abs(x - p)); }
};

// Adds the sum of `n` over a block to a word. `words`: 32 of shared memory.
FZ_DEV void add_sum(unsigned long long* to, uint64_t n, uint64_t* words) {
  if (!__syncthreads_or(n != 0)) return;
  const uint64_t sum = block_sum_to(n, words);
  if (threadIdx.x == blockDim.x - 1) atomicAdd(to, (unsigned long long)sum);
}

// One of 4 places in each dimension that there is.
FZ_DEV bool place_of(const Grid& g, uint32_t i, uint32_t (&place)[3]) {
  for (int d = 0; d < 3; d++) {
    const uint32_t n = g.dims[d] > 1 ? 4 : 1;
    place[d] = i % n;
    i /= n;
  }
  return i == 0;
}

// Mode 1: errors of linear predictions along the slowest axis, and along x, of two points in each
// of 4 x 4 x 4 places.
template <class C> FZ_DEV void sum_lines(Tally& tally, const Sample<C>& s) {
  const uint32_t* dims = s.g.dims;
  const int slow = dims[2] > 1 ? 2 : 1;
  for (uint32_t i = threadIdx.x; i < 128; i += blockDim.x) {
    uint32_t place[3], at[3];
    if (!place_of(s.g, i / 2, place)) continue;
    bool inside = true;
    for (int d = 0; d < 3; d++) {
      at[d] = place[d] * (dims[d] / 4) + (dims[d] > 1 ? 1 + i % 2 : 0);
      inside &= at[d] + (dims[d] > 1 ? 1 : 0) < dims[d];
    }
    if (!inside) continue;
    const auto x = s.value(at);
    // There may be one element alone along one of them.
    uint32_t sum = 0;
    for (int d = slow; d >= 0; d -= slow)
      if (dims[d] > 1) atomicAdd(&tally.sums[sum++], (unsigned long long)s.error(x, both_sides(s.beside(at, d, -1), s.beside(at, d, 1))));
  }
}

// Mode 2: errors of both splines along each axis at 4 x 4 x 4 points.
template <class C> FZ_DEV void sum_splines(Tally& tally, const Sample<C>& s) {
  const uint32_t* dims = s.g.dims;
  for (uint32_t i = threadIdx.x; i < 64; i += blockDim.x) {
    uint32_t place[3], at[3];
    if (!place_of(s.g, i, place)) continue;
    bool inside = true;
    for (int d = 0; d < 3; d++) {
      at[d] = place[d] * (dims[d] / 4) + dims[d] / 8;
      if (dims[d] > 1) inside &= at[d] >= 3 && at[d] + 3 < dims[d];
    }
    if (!inside) continue;
    const auto x = s.value(at);
    for (int d = 0; d < 3; d++) {
      if (dims[d] == 1) continue;
      for (uint32_t natural = 0; natural < 2; natural++) {
        const Place where = {true, false, natural != 0};
        const auto p = C::Arithmetic::cubic(s.beside(at, d, -3), s.beside(at, d, -1), s.beside(at, d, 1), s.beside(at, d, 3), where);
        atomicAdd(&tally.sums[2 * (2 - d) + natural], (unsigned long long)s.error(x, p));
      }
    }
  }
}
}  // namespace ginterp
}  // namespace fz
