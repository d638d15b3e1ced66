// Stage ginterp: values to codes and anchors, and the number of those that have no code. A block
// encodes a tile.
#include "ginterp/code.cuh"
#include "ginterp/lists.cuh"
#include "ginterp/window.cuh"

namespace fz {
namespace ginterp {
// Shared memory of a block.
template <class T, class R> struct TileMemory {
  T v[R::VALUES];
  uint32_t words[40];
};

// The sum of `n` over the block, in all threads.
FZ_DEV uint32_t sum_of_block(uint32_t n, uint32_t* words) {
  if (!__syncthreads_or(n != 0)) return 0;
  const uint32_t sum = block_sum_to(n, words);
  if (threadIdx.x == blockDim.x - 1) words[33] = sum;
  __syncthreads();
  return words[33];
}

// Lengths that are equal in every call, and zeros after the codes: files of the reference have
// codes of the padding too. False if there is nothing to encode.
FZ_DEV bool begin(const Args& a, const GinterpParams& p, const Grid& g) {
  const Operand& codes = output(a, 0);
  const uint64_t me = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, threads = (uint64_t)gridDim.x * blockDim.x;
  const uint64_t from = g.count() ? (uint64_t)g.elements() * p.code : 0;
  uint8_t* to = address(codes);
  for (uint64_t i = from + me; i < codes.max; i += threads) to[i] = 0;
  const bool possible = length(input(a, 0)) / p.value >= (g.count() ? g.elements() : 0);
  if (me == 0) {
    publish(codes, codes.max);
    publish(output(a, 2), output(a, 2).max);
    if (!possible) fail(a, INVALID_ARGUMENT);
  }
  return possible && g.count() > 0;
}

template <class C, class R> FZ_DEV void encode_tile(const Args& a, TileMemory<typename C::Value, R>& memory) {
  typedef typename C::Value T;
  typedef typename BitsOf<sizeof(T)>::Type Bits;
  const GinterpParams& p = params<GinterpParams>(a);
  const GinterpMetadata& m = metadata_of(input(a, 1));
  const Grid g(p);
  if (!begin(a, p, g)) return;
  uint32_t tile[3];
  g.tile_of(blockIdx.x, tile);
  const Window w = Window::of(g, tile);
  const TileOrder order = g.order(tile);
  const uint64_t first = g.first_code(tile);
  const uint32_t fits = fitting(output(a, 0), p.code, first, order.codes());
  const uint8_t* src = address(input(a, 0));
  uint8_t* codes = address(output(a, 0));
  // Not strict: the number of each point, by places of codes.
  T* numbers = reinterpret_cast<T*>(a.scratch) + first;
  C coding(p, m);
  each_element(w.extent, [&](uint32_t x, uint32_t y, uint32_t z) {
    const T value = load<T>(src + (uint64_t)w.element(g, x, y, z) * sizeof(T));
    memory.v[R::index(x, y, z)] = w.is_anchor(x, y, z) ? coding.anchor(value) : value;
  });
  if (threadIdx.x == 0) {
    if (fits > 0) store_code(codes, first, p.code, m.radius);
    if (fitting(output(a, 2), sizeof(T), blockIdx.x, 1))
      store<Bits>(address(output(a, 2)) + (uint64_t)blockIdx.x * sizeof(T), load<Bits>(src + (uint64_t)w.element(g, 0, 0, 0) * sizeof(T)));
  }
  __syncthreads();
  uint32_t entries = 0;
  auto start = [&](uint32_t level) {
    coding.n.set_level(m, level);
    return LevelFlags(m.flags[level]);
  };
  each_level<typename C::Arithmetic, R>(w, g.levels, memory.v, start, [&](const Point& q, const Predicted<T>& predicted) {
    T& v = memory.v[R::index(q.at[0], q.at[1], q.at[2])];
    const T x = v;
    const bool own = q.at[0] < order.owned[0] && q.at[1] < order.owned[1] && q.at[2] < order.owned[2];
    uint32_t place = 0;
    if (own) {
      const CodeRow row = order.row(q.level, q.c & 1, q.at[1], q.at[2]);
      place = row.first + q.number[0] * row.step;
    }
    uint32_t code;
    if constexpr (C::STRICT_LAYOUT) {
      code = coding.encode(x, predicted.value, v);
      entries += own && code == 0;
    } else {
      const T number = coding.number(x, predicted.value, v);
      code = coding.code(number);
      if (own) numbers[place] = number;
      entries += own && !coding.is_inline(number);
    }
    if (own && place < fits) store_code(codes, first + place, p.code, code);
  });
  entries = sum_of_block(entries, memory.words);
  if (threadIdx.x == 0) count_entries(a, g, blockIdx.x, entries);
}
}  // namespace ginterp
}  // namespace fz

#define GINTERP_ENCODE(NAME, CODING, EDGE, FLAT)                                              \
  extern "C" __global__ void __launch_bounds__(256) ginterp_encode_##NAME(FZ_ARGS) {          \
    if (fz::cancelled(a)) return;                                                             \
    using namespace fz::ginterp;                                                              \
    typedef Room<EDGE, FLAT> Space;                                                           \
    __shared__ TileMemory<CODING::Value, Space> memory;                                       \
    encode_tile<CODING, Space>(a, memory);                                                    \
  }

GINTERP_ENCODE(f32_2d, Bounded<float>, WIDE, true)
GINTERP_ENCODE(f32_3d, Bounded<float>, BODY, false)
GINTERP_ENCODE(f64_2d, Bounded<double>, WIDE, true)
GINTERP_ENCODE(f64_3d, Bounded<double>, BODY, false)
GINTERP_ENCODE(literal_f32_2d, Literal<float>, BODY, true)
GINTERP_ENCODE(literal_f32_3d, Literal<float>, BODY, false)
GINTERP_ENCODE(literal_f64_2d, Literal<double>, BODY, true)
GINTERP_ENCODE(literal_f64_3d, Literal<double>, BODY, false)
