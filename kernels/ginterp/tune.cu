// Stage ginterp: the sums that tuning decides by.
#include "ginterp/tune.cuh"

namespace fz {
namespace ginterp {
// Shared memory of a block.
template <class T, class R> struct TuneMemory {
  T v[R::VALUES];
  uint64_t words[32];
  GinterpMetadata made;
};

// Modes 3 and 4: errors of all candidates of a level in a window, predicted from unquantized
// values.
template <class C, class R> FZ_DEV void sum_candidates(Tally& tally, const Sample<C>& s, const Window& w, uint32_t level, TuneMemory<typename C::Value, R>& memory) {
  typedef typename C::Value T;
  each_element(w.extent, [&](uint32_t x, uint32_t y, uint32_t z) { memory.v[R::index(x, y, z)] = s.coding.anchor(s.value(w.element(s.g, x, y, z))); });
  __syncthreads();
#pragma unroll 1
  for (uint32_t i = 0; i < CANDIDATES; i++) {
    const LevelFlags flags = candidate(i);
    uint64_t sum = 0;
#pragma unroll 1
    for (uint32_t pass = 0; pass < 3; pass++)
      each_point(w, true, level, pass, flags, [&](const Point& q) {
        const T p = predict<typename C::Arithmetic, R>(memory.v, w, q, flags).value;
        sum += s.error(s.value(w.element(s.g, q.at[0], q.at[1], q.at[2])), p);
      });
    add_sum(&tally.sums[level * CANDIDATES + i], sum, memory.words);
  }
}

template <class C, class R> FZ_DEV void tune(const Args& a, TuneMemory<typename C::Value, R>& memory) {
  const GinterpParams& p = params<GinterpParams>(a);
  const Grid g(p);
  if (g.count() == 0) return;
  if (threadIdx.x == 0) resolve_bound<C>(a, p, MeasuredRange(a, p), g.levels, memory.made);
  __syncthreads();
  const C coding(p, memory.made);
  const Sample<C> sample(a, g, coding, memory.made.bound);
  Tally& tally = tally_of(a);
  const uint32_t mode = mode_of(p);
  if (mode == 1 && blockIdx.x == 0) sum_lines(tally, sample);
  if (mode == 2 && blockIdx.x == 0) sum_splines(tally, sample);
  if (mode < 3) return;
  const SampleWindows windows(g);
  const uint64_t tasks = (uint64_t)windows.all() * g.levels;
#pragma unroll 1
  for (uint64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
    sum_candidates<C, R>(tally, sample, windows.window(g, (uint32_t)(task / g.levels)), (uint32_t)(task % g.levels), memory);
    __syncthreads();
  }
}

// Mode 4: the codes of a window other than that of a hit, under a pair of alpha and beta.
template <class C, class R> FZ_DEV uint64_t count_codes(const Args& a, const GinterpParams& p, const Grid& g, const Window& w, TuneMemory<typename C::Value, R>& memory) {
  typedef typename C::Value T;
  const GinterpMetadata& m = memory.made;
  C coding(p, m);
  const uint8_t* src = address(input(a, 0));
  each_element(w.extent, [&](uint32_t x, uint32_t y, uint32_t z) {
    const T value = load<T>(src + (uint64_t)w.element(g, x, y, z) * sizeof(T));
    memory.v[R::index(x, y, z)] = w.is_anchor(x, y, z) ? coding.anchor(value) : value;
  });
  __syncthreads();
  uint64_t count = 0;
  auto start = [&](uint32_t level) {
    coding.n.set_level(m, level);
    return LevelFlags(m.flags[level]);
  };
  each_level<typename C::Arithmetic, R>(w, g.levels, memory.v, start, [&](const Point& q, const Predicted<T>& predicted) {
    T& v = memory.v[R::index(q.at[0], q.at[1], q.at[2])];
    const T x = v;
    count += coding.encode(x, predicted.value, v) != m.radius;
  });
  return count;
}

template <class C, class R> FZ_DEV void tune_pairs(const Args& a, TuneMemory<typename C::Value, R>& memory) {
  const GinterpParams& p = params<GinterpParams>(a);
  const Grid g(p);
  if (g.count() == 0) return;
  Tally& tally = tally_of(a);
  const SampleWindows windows(g);
  const uint64_t tasks = (uint64_t)windows.all() * PAIRS;
#pragma unroll 1
  for (uint64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
    const uint32_t pair = (uint32_t)(task % PAIRS);
    if (threadIdx.x == 0) {
      const auto of = resolve_bound<C>(a, p, MeasuredRange(a, p), g.levels, memory.made);
      set_steps(memory.made, of.finest, alpha_of(pair), beta_of(pair), g.levels);
      const bool strict = C::STRICT_LAYOUT, flat = g.body[2] == 1;
      // The reference tries pairs with the flags of the finest level alone.
      for (uint32_t level = 0; level < g.levels; level++) memory.made.flags[level] = best_of(tally, strict ? level : 0, g.levels, strict, flat).bits();
    }
    __syncthreads();
    const uint64_t count = count_codes<C, R>(a, p, g, windows.window(g, (uint32_t)(task / PAIRS)), memory);
    add_sum(&tally.counts[pair], count, memory.words);
    __syncthreads();
  }
}
}  // namespace ginterp
}  // namespace fz

#define GINTERP_TUNE(NAME, CODING, EDGE, FLAT)                                                 \
  extern "C" __global__ void __launch_bounds__(256) ginterp_tune_##NAME(FZ_ARGS) {             \
    if (fz::cancelled(a)) return;                                                              \
    using namespace fz::ginterp;                                                               \
    typedef Room<EDGE, FLAT> Space;                                                            \
    __shared__ TuneMemory<CODING::Value, Space> memory;                                        \
    tune<CODING, Space>(a, memory);                                                            \
  }                                                                                            \
  extern "C" __global__ void __launch_bounds__(256) ginterp_tune_pairs_##NAME(FZ_ARGS) {       \
    if (fz::cancelled(a)) return;                                                              \
    using namespace fz::ginterp;                                                               \
    typedef Room<EDGE, FLAT> Space;                                                            \
    __shared__ TuneMemory<CODING::Value, Space> memory;                                        \
    tune_pairs<CODING, Space>(a, memory);                                                      \
  }

// The reference does not tune for f64.
GINTERP_TUNE(f32_2d, Bounded<float>, WIDE, true)
GINTERP_TUNE(f32_3d, Bounded<float>, BODY, false)
GINTERP_TUNE(f64_2d, Bounded<double>, WIDE, true)
GINTERP_TUNE(f64_3d, Bounded<double>, BODY, false)
GINTERP_TUNE(literal_f32_2d, Literal<float>, BODY, true)
GINTERP_TUNE(literal_f32_3d, Literal<float>, BODY, false)
