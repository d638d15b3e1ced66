// Stage ginterp: the lists of what has no code, in the order of codes, behind the launch that encodes.
#include "ginterp/code.cuh"
#include "ginterp/lists.cuh"

namespace fz {
namespace ginterp {
// Tiles of a block, and its threads. The warps share the tiles that have entries.
constexpr uint32_t LISTED_TILES = 32, LIST_THREADS = 512;
// Places whose bits a lane finds at once, and rounds of a warp whose loads are under way together.
constexpr uint32_t PLACES = 8, ROUNDS = 8;
static_assert(PLACES * ROUNDS == 64, "bits of a word");

// Which of eight codes are 0.
FZ_DEV uint32_t zeros_of(const uint4& codes) {
  const uint32_t w[4] = {codes.x, codes.y, codes.z, codes.w};
  uint32_t zeros = 0;
#pragma unroll
  for (int i = 0; i < 4; i++) zeros |= ((w[i] & 0xffff) == 0 ? 1u << 2 * i : 0) | (w[i] >> 16 == 0 ? 2u << 2 * i : 0);
  return zeros;
}

// Lists the entries of a tile, with `before` entries in front of them, by a warp. `entries(place)`:
// which of the places from this one on in the tile have entries, as bits. `value(place, element)`.
template <class T, class Entries, class Value>
FZ_DEV void list_tile(const Args& a, const Grid& g, const uint32_t (&tile)[3], uint64_t before, Entries entries, Value value) {
  const uint32_t lane = threadIdx.x & 31, codes = g.order(tile).codes();
  const uint64_t room = room_in_lists(a, sizeof(T));
  uint8_t *values = address(output(a, 3)), *indices = address(output(a, 4));
#pragma unroll 1
  for (uint32_t from = 0; from < codes; from += ROUNDS * 32 * PLACES) {
    // Eight bits of each round.
    uint64_t found = 0;
#pragma unroll
    for (uint32_t r = 0; r < ROUNDS; r++) {
      const uint32_t place = from + (r * 32 + lane) * PLACES;
      found |= (uint64_t)(place < codes ? entries(place) : 0) << r * PLACES;
    }
    if (!__any_sync(ALL, found != 0)) continue;
#pragma unroll 1
    for (uint32_t r = 0; r < ROUNDS; r++, found >>= PLACES) {
      uint32_t left = (uint32_t)found & ((1u << PLACES) - 1);
      if (!__any_sync(ALL, left != 0)) continue;
      const uint32_t own = __popc(left), to = warp_sum_to(own);
      uint64_t j = before + to - own;
      before += __shfl_sync(ALL, to, 31);
#pragma unroll 1
      for (; left > 0 && j < room; left &= left - 1, j++) {
        const uint32_t place = from + (r * 32 + lane) * PLACES + __ffs(left) - 1, element = g.element(tile, place);
        store<T>(values + j * sizeof(T), value(place, element));
        store<uint32_t>(indices + j * 4, element);
      }
    }
  }
}

// Lists the entries of the tiles of a block; the last block ends the step.
template <class C> FZ_DEV void list_tiles(const Args& a) {
  typedef typename C::Value T;
  typedef typename BitsOf<sizeof(T)>::Type Bits;
  const GinterpParams& p = params<GinterpParams>(a);
  const Grid g(p);
  const uint8_t *codes = address(output(a, 0)), *src = address(input(a, 0));
  // Without tiles, or without values for them, nothing was counted.
  if (g.count() == 0 || length(input(a, 0)) / sizeof(T) < g.elements()) {
    if (blockIdx.x == 0 && threadIdx.x == 0) end_lists(a, p, 0);
    return;
  }
  const BlockSums sums(a.zeroed, g.count());
  const uint32_t first = blockIdx.x * LISTED_TILES, end = min(g.count(), first + LISTED_TILES);
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const uint32_t own = first + lane < end ? sums.counted(first + lane) : 0;
  const bool ends = first < end && end == g.count();
  uint32_t left = __ballot_sync(ALL, own > 0);
  if (left == 0 && !ends) return;
  const uint64_t start = sums.counted_before(first);
  const uint32_t to = warp_sum_to(own);
  if (ends && warp == 0 && lane == 31) end_lists(a, p, start + to);
  for (uint32_t n = 0; left > 0; left &= left - 1, n++) {
    if (n % (LIST_THREADS / 32) != warp) continue;
    const uint32_t i = __ffs(left) - 1;
    const uint64_t before = start + __shfl_sync(ALL, to - own, i);
    uint32_t tile[3];
    g.tile_of(first + i, tile);
    const uint64_t place = g.first_code(tile);
    if constexpr (C::STRICT_LAYOUT) {
      // The values whose code is 0, as they are.
      const uint32_t fits = fitting(output(a, 0), p.code, place, g.order(tile).codes());
      const bool vectors = p.code == 2 && aligned(codes + 2 * place, 16);
      const auto entries = [&](uint32_t i) {
        if (vectors && i + PLACES <= fits) return zeros_of(*reinterpret_cast<const uint4*>(codes + 2 * (place + i)));
        uint32_t zeros = 0;
#pragma unroll 1
        for (uint32_t k = 0; k < PLACES; k++) zeros |= i + k < fits && load_code(codes, place + i + k, p.code) == 0 ? 1u << k : 0;
        return zeros;
      };
      list_tile<Bits>(a, g, tile, before, entries, [&](uint32_t, uint32_t element) { return load<Bits>(src + (uint64_t)element * sizeof(T)); });
    } else {
      const C coding(p, metadata_of(input(a, 1)));
      const T* numbers = reinterpret_cast<const T*>(a.scratch) + place;
      const uint32_t count = g.order(tile).codes();
      // Place 0 is that of the anchor, which has no number.
      const auto entries = [&](uint32_t i) {
        uint32_t outside = 0;
#pragma unroll 1
        for (uint32_t k = 0; k < PLACES; k++) outside |= i + k > 0 && i + k < count && !coding.is_inline(numbers[i + k]) ? 1u << k : 0;
        return outside;
      };
      list_tile<T>(a, g, tile, before, entries, [&](uint32_t i, uint32_t) { return numbers[i]; });
    }
  }
}
}  // namespace ginterp
}  // namespace fz

#define GINTERP_LIST(NAME, CODING)                                                                              \
  extern "C" __global__ void __launch_bounds__(fz::ginterp::LIST_THREADS, 2) ginterp_list_##NAME(FZ_ARGS) {        \
    if (fz::cancelled(a)) return;                                                                               \
    fz::ginterp::list_tiles<fz::ginterp::CODING>(a);                                                            \
  }

GINTERP_LIST(f32, Bounded<float>)
GINTERP_LIST(f64, Bounded<double>)
GINTERP_LIST(literal_f32, Literal<float>)
GINTERP_LIST(literal_f64, Literal<double>)
