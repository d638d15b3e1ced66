// Stage ginterp, not strict: codes, anchors, and outliers back to values, as the reference does.
#include "ginterp/decode.cuh"
#include "ginterp/steps.cuh"

namespace fz {
namespace ginterp {
// Scratch memory: the results of the run with the constants that decoders compute from them, and
// for each element the number of its last entry in the lists, counted from 1.
constexpr uint64_t ENTRIES_AT = 256;
static_assert(sizeof(GinterpMetadata) <= ENTRIES_AT, "they do not overlap");
FZ_DEV GinterpMetadata* completed(const Args& a) { return reinterpret_cast<GinterpMetadata*>(a.scratch); }
FZ_DEV uint32_t* entries_of(const Args& a) { return reinterpret_cast<uint32_t*>(a.scratch + ENTRIES_AT); }

// Entries of the lists. They may be longer than the header counts.
FZ_DEV uint64_t outliers_of(const Args& a, const GinterpParams& p) { return least(metadata_of(input(a, 4)).outliers, listed_entries(a, p.value)); }

// The bound as f64: for f64 data it has a separate field in files of this library. A field that the
// header does not have is all ones.
template <class T> FZ_DEV double bound_of(const GinterpMetadata& m) {
  if (sizeof(T) == 8 && m.bound > 0.0 && (float)m.bound == m.bound_f32) return m.bound;
  return (double)m.bound_f32;
}

// Steps and flags from the fields of the config, by one thread.
template <class T> FZ_DEV bool complete(const GinterpMetadata& m, uint32_t levels, GinterpMetadata& made) {
  set_steps(made, HalfStep<T>::of(Real<T>::from(bound_of<T>(m))), m.alpha, m.beta, levels);
  for (uint32_t level = 0; level < levels; level++) {
    uint32_t bits = 0;
    for (uint32_t kind = 0; kind < 3; kind++)
      if (m.reference_flags[6 * kind + level] != 0) bits |= 1u << kind;
    made.flags[level] = (uint8_t)bits;
  }
  made.radius = m.radius;
  made.limit = 0;
  made.bound = 0.0;
  return m.alpha > 0.0 && m.beta > 0.0 && m.radius >= 1 && m.radius <= 1u << 31;
}

template <class T, class R> FZ_DEV void decode_literal_tile(const Args& a, T* v) {
  const GinterpParams& p = params<GinterpParams>(a);
  const GinterpMetadata& m = *completed(a);
  const Grid g(p);
  if (!is_whole(a, p, g) || g.count() == 0) return;
  Literal<T> coding(p, m);
  const TileCodes codes(a, p, g, blockIdx.x);
  const Window w = Window::of(g, codes.tile);
  const bool flat = g.body[2] == 1, listed = outliers_of(a, p) > 0;
  const uint8_t* values = address(input(a, 2));
  const uint32_t* entries = entries_of(a);
  set_anchors<R>(a, g, codes, w, coding, v);
  __syncthreads();
  bool apart = false;
  auto start = [&](uint32_t level) {
    coding.n.set_level(m, level);
    const LevelFlags flags(m.flags[level]);
    apart = flat && !flags.md && level == 3;
    return flags;
  };
  each_level<Reference, R>(w, g.levels, v, start, [&](const Point& q, const Predicted<T>& predicted) {
    T kept = T(0);
    if (listed) {
      const uint32_t entry = entries[w.element(g, q.at[0], q.at[1], q.at[2])];
      if (entry > 0) kept = load<T>(values + (uint64_t)(entry - 1) * sizeof(T));
    }
    v[R::index(q.at[0], q.at[1], q.at[2])] = coding.decode(codes.code(codes.place(q)), kept, predicted.value, apart && predicted.both);
  });
  store_tile_values<R>(a, g, codes, w, v, [](uint32_t, uint32_t, uint32_t) { return false; });
}
}  // namespace ginterp
}  // namespace fz

// Checks lengths and indices, computes steps and flags, and clears the numbers of entries if there
// are any.
extern "C" __global__ void __launch_bounds__(256) ginterp_open_literal(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  using namespace fz::ginterp;
  const GinterpParams& p = fz::params<GinterpParams>(a);
  const GinterpMetadata& m = metadata_of(fz::input(a, 4));
  const Grid g(p);
  const uint64_t step = (uint64_t)gridDim.x * blockDim.x, me = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (me == 0) {
    fz::publish(fz::output(a, 0), fz::output(a, 0).max);
    GinterpMetadata& made = *completed(a);
    const bool possible = p.value == 4 ? complete<float>(m, g.levels, made) : complete<double>(m, g.levels, made);
    if (!possible || !is_whole(a, p, g)) fz::fail(a, fz::CORRUPT);
  }
  clear_behind(a, p, g);
  const uint64_t count = outliers_of(a, p);
  if (count == 0) return;
  const uint8_t* indices = fz::address(fz::input(a, 3));
  for (uint64_t j = me; j < count; j += step)
    if (fz::load<uint32_t>(indices + j * 4) >= g.elements()) fz::fail(a, fz::CORRUPT);
  for (uint64_t i = me; i < g.elements(); i += step) entries_of(a)[i] = 0;
}

// The number of the last entry of each element, as on the CPU.
extern "C" __global__ void __launch_bounds__(256) ginterp_place_outliers(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  using namespace fz::ginterp;
  const GinterpParams& p = fz::params<GinterpParams>(a);
  const Grid g(p);
  const uint8_t* indices = fz::address(fz::input(a, 3));
  const uint64_t count = outliers_of(a, p), step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t j = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; j < count; j += step) {
    const uint32_t i = fz::load<uint32_t>(indices + j * 4);
    if (i < g.elements()) atomicMax(entries_of(a) + i, (uint32_t)j + 1);
  }
}

#define GINTERP_DECODE_LITERAL(NAME, VALUE, FLAT)                                              \
  extern "C" __global__ void __launch_bounds__(256) ginterp_decode_literal_##NAME(FZ_ARGS) {   \
    if (fz::cancelled(a)) return;                                                              \
    using namespace fz::ginterp;                                                               \
    typedef Room<BODY, FLAT> Space;                                                            \
    __shared__ VALUE v[Space::VALUES];                                                         \
    decode_literal_tile<VALUE, Space>(a, v);                                                   \
  }

GINTERP_DECODE_LITERAL(f32_2d, float, true)
GINTERP_DECODE_LITERAL(f32_3d, float, false)
GINTERP_DECODE_LITERAL(f64_2d, double, true)
GINTERP_DECODE_LITERAL(f64_3d, double, false)
