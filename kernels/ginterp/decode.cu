// Stage ginterp, strict: codes, anchors, and exact values back to values.
#include "ginterp/decode.cuh"

namespace fz {
namespace ginterp {
// Limits of predictions: numbers in order, where a lower limit of zero is +0 and an upper one is -0.
FZ_DEV bool are_limits(double low, double high) {
  const double infinity = Real<double>::infinity();
  const bool zeros = Real<double>::bits(low) != 1ull << 63 && Real<double>::bits(high) != 0;
  return low <= high && zeros && low < infinity && high > -infinity;
}

// The checks of header fields that only the run determines.
FZ_DEV bool is_possible(const GinterpParams& p, const GinterpMetadata& m) {
  bool possible = m.flags[6] == 0 && m.flags[7] == 0;
  for (uint32_t level = 0; level < 6; level++) {
    possible &= (m.flags[level] & ~(MD | NATURAL | REVERSE)) == 0;
    possible &= m.step[level] >= 0.0 && is_finite(m.step[level]);
  }
  const uint32_t of_values = p.value == 4 ? 1u << 22 : 1u << 30, of_codes = 1u << (8 * p.code - 1);
  return possible && m.radius >= 1 && m.radius <= min(of_values, of_codes) && are_limits(m.low, m.high);
}

// Checks the lists: an entry for each code 0, in the order of the codes. Puts the exact values into
// the array.
template <class T> FZ_DEV void put_exact_values(const Args& a, const GinterpParams& p, const Grid& g) {
  typedef typename BitsOf<sizeof(T)>::Type Bits;
  const uint8_t *codes = address(input(a, 0)), *values = address(input(a, 2)), *indices = address(input(a, 3));
  uint8_t* dst = address(output(a, 0));
  const uint64_t count = listed_entries(a, sizeof(T)), room = output(a, 0).max / sizeof(T), step = (uint64_t)gridDim.x * blockDim.x;
  bool sound = true;
  for (uint64_t j = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; j < count; j += step) {
    const uint32_t i = load<uint32_t>(indices + j * 4), before = j > 0 ? load<uint32_t>(indices + (j - 1) * 4) : 0;
    const bool inside = i < g.elements() && before < g.elements();
    sound &= inside;
    if (!inside) continue;
    const uint32_t place = g.place(i);
    sound &= load_code(codes, place, p.code) == 0 && (j == 0 || g.place(before) < place);
    if (i < room) store<Bits>(dst + (uint64_t)i * sizeof(T), load<Bits>(values + j * sizeof(T)));
  }
  if (!sound) fail(a, CORRUPT);
}

FZ_DEV void open(const Args& a) {
  const GinterpParams& p = params<GinterpParams>(a);
  const GinterpMetadata& m = metadata_of(input(a, 4));
  const Grid g(p);
  const uint64_t values = length(input(a, 2)) / p.value, indices = length(input(a, 3)) / 4;
  const bool whole = is_whole(a, p, g);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    publish(output(a, 0), output(a, 0).max);
    if (!whole || !is_possible(p, m) || values != indices || values != m.exact) fail(a, CORRUPT);
  }
  clear_behind(a, p, g);
  if (!whole) return;
  if (p.value == 4) put_exact_values<float>(a, p, g);
  else put_exact_values<double>(a, p, g);
}

template <class T, class R> FZ_DEV void decode_tile(const Args& a, const GinterpParams& p, const GinterpMetadata& m, const Grid& g, uint32_t number, T* v) {
  Bounded<T> coding(p, m);
  const TileCodes codes(a, p, g, number);
  const Window w = Window::of(g, codes.tile);
  set_anchors<R>(a, g, codes, w, coding, v);
  uint32_t zeros = 0;
  if (threadIdx.x == 0) {
    const uint32_t code = codes.code(codes.first);
    zeros = code == 0;
    if (code != coding.n.radius) fail(a, CORRUPT);
  }
  __syncthreads();
  auto start = [&](uint32_t level) {
    coding.n.set_level(m, level);
    return LevelFlags(m.flags[level]);
  };
  each_level<Strict, R>(w, g.levels, v, start, [&](const Point& q, const Predicted<T>& predicted) {
    const uint64_t place = codes.place(q);
    const uint32_t code = codes.code(place);
    T value = coding.decode(code, predicted.value);
    if (code == 0) {
      const T exact = exact_value<T>(a, g, (uint32_t)place, w.element(g, q.at[0], q.at[1], q.at[2]));
      value = coding.limits.stand_in(exact, coding.limits.clamp(predicted.value));
      zeros += codes.owns(q.at);
    }
    v[R::index(q.at[0], q.at[1], q.at[2])] = value;
  });
  __shared__ uint32_t all;
  if (threadIdx.x == 0) all = 0;
  const bool some = __syncthreads_or(zeros != 0);
  if (some) {
    if (zeros) atomicAdd(&all, zeros);
    __syncthreads();
  }
  if (threadIdx.x == 0) count_zeros(a, g, some ? all : 0);
  store_tile_values<R>(a, g, codes, w, v, [&](uint32_t x, uint32_t y, uint32_t z) { return some && codes.code_at(x, y, z) == 0; });
}

// A block has several tiles, so that few blocks start in vain if there is nothing to do.
template <class T, class R> FZ_DEV void decode_tiles(const Args& a, T* v) {
  const GinterpParams& p = params<GinterpParams>(a);
  const GinterpMetadata& m = metadata_of(input(a, 4));
  // `ginterp_decode_volume` has restored volumes with default flags.
  if (R::PLANE > 0 && has_default_flags(m)) return;
  const Grid g(p);
  if (!is_whole(a, p, g)) return;
  for (uint32_t number = blockIdx.x; number < g.count(); number += gridDim.x) {
    decode_tile<T, R>(a, p, m, g, number, v);
    __syncthreads();
  }
}
}  // namespace ginterp
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256) ginterp_open(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  fz::ginterp::open(a);
}

#define GINTERP_DECODE(NAME, VALUE, EDGE, FLAT)                                        \
  extern "C" __global__ void __launch_bounds__(256) ginterp_decode_##NAME(FZ_ARGS) {   \
    if (fz::cancelled(a)) return;                                                      \
    using namespace fz::ginterp;                                                       \
    typedef Room<EDGE, FLAT> Space;                                                    \
    __shared__ VALUE v[Space::VALUES];                                                 \
    decode_tiles<VALUE, Space>(a, v);                                                   \
  }

GINTERP_DECODE(f32_2d, float, WIDE, true)
GINTERP_DECODE(f32_3d, float, BODY, false)
GINTERP_DECODE(f64_2d, double, WIDE, true)
GINTERP_DECODE(f64_3d, double, BODY, false)
