// Stage ginterp: the lists of values without a code, in the order of codes, after the launch that
// encodes.
#include "ginterp/code.cuh"
#include "ginterp/lists.cuh"

namespace fz {
namespace ginterp {
// A block has up to 32 tiles, whose entries its warps share.
constexpr uint32_t LIST_THREADS = 128;
// Places whose bits a lane finds at once, and rounds of a warp whose loads are under way together.
constexpr uint32_t PLACES = 8, ROUNDS = 8, BATCH = 32 * ROUNDS * PLACES;
static_assert(PLACES * ROUNDS == 64 && BATCH <= 65536, "bits of a word, and words of 16 bits");

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
// `places`: memory of the warp.
template <class T, class Entries, class Value>
FZ_DEV void list_tile(const Args& a, const Grid& g, const uint32_t (&tile)[3], uint64_t before, uint16_t* places, Entries entries, Value value) {
  const uint32_t lane = threadIdx.x & 31, codes = g.order(tile).codes();
  const uint64_t room = room_in_lists(a, sizeof(T));
  uint8_t *values = address(output(a, 3)), *indices = address(output(a, 4));
#pragma unroll 1
  for (uint32_t from = 0; from < codes; from += BATCH) {
    // Eight bits of each round.
    uint64_t found = 0;
#pragma unroll
    for (uint32_t r = 0; r < ROUNDS; r++) {
      const uint32_t place = from + (r * 32 + lane) * PLACES;
      found |= (uint64_t)(place < codes ? entries(place) : 0) << r * PLACES;
    }
    if (!__any_sync(ALL, found != 0)) continue;
    // First the places, in order, then their entries, for which lanes need not be next to each other.
    uint32_t count = 0;
#pragma unroll 1
    for (uint32_t r = 0; r < ROUNDS; r++, found >>= PLACES) {
      uint32_t left = (uint32_t)found & ((1u << PLACES) - 1);
      if (!__any_sync(ALL, left != 0)) continue;
      const uint32_t own = __popc(left), to = warp_sum_to(own);
      for (uint32_t j = count + to - own; left > 0; left &= left - 1) places[j++] = (uint16_t)((r * 32 + lane) * PLACES + __ffs(left) - 1);
      count += __shfl_sync(ALL, to, 31);
    }
    __syncwarp();
#pragma unroll 1
    for (uint32_t i = lane; i < count && before + i < room; i += 32) {
      const uint32_t place = from + places[i], element = g.element(tile, place);
      store<T>(values + (before + i) * sizeof(T), value(place, element));
      store<uint32_t>(indices + (before + i) * 4, element);
    }
    __syncwarp();
    before += count;
  }
}

// Lists the entries of the tiles of a block. The block of the last tile ends the step.
template <class C> FZ_DEV void list_tiles(const Args& a, uint16_t (&places)[LIST_THREADS / 32][BATCH]) {
  typedef typename C::Value T;
  typedef typename BitsOf<sizeof(T)>::Type Bits;
  const GinterpParams& p = params<GinterpParams>(a);
  const Grid g(p);
  const uint8_t *codes = address(output(a, 0)), *src = address(input(a, 0));
  // Without tiles, or without values for them, nothing was counted.
  if (g.count() == 0 || length(input(a, 0)) / sizeof(T) < g.elements()) {
    if (blockIdx.x == 0 && threadIdx.x < 32) end_lists(a, p, 0);
    return;
  }
  const BlockSums sums(a.zeroed, g.count());
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  // Tiles with many entries are close to each other, so a block has tiles that are not: one of each
  // 32nd part of the array.
  const uint32_t listed = lane * gridDim.x + (blockIdx.x + 37 * lane) % gridDim.x;
  const uint32_t own = listed < g.count() ? sums.counted(listed) : 0;
  const uint32_t last = __ballot_sync(ALL, listed == g.count() - 1);
  if (last != 0 && warp == 0) {
    const uint64_t before = sums.counted_before(g.count() - 1);
    end_lists(a, p, before + __shfl_sync(ALL, own, __ffs(last) - 1));
  }
  uint32_t left = __ballot_sync(ALL, own > 0);
  for (uint32_t n = 0; left > 0; left &= left - 1, n++) {
    if (n % (LIST_THREADS / 32) != warp) continue;
    const uint32_t number = __shfl_sync(ALL, listed, __ffs(left) - 1);
    const uint64_t before = sums.counted_before(number);
    uint32_t tile[3];
    g.tile_of(number, tile);
    const uint64_t place = g.first_code(tile);
    if constexpr (C::STRICT_LAYOUT) {
      // The unchanged values whose code is 0.
      const uint32_t fits = fitting(output(a, 0), p.code, place, g.order(tile).codes());
      const bool vectors = p.code == 2 && aligned(codes + 2 * place, 16);
      const auto entries = [&](uint32_t i) {
        if (vectors && i + PLACES <= fits) return zeros_of(*reinterpret_cast<const uint4*>(codes + 2 * (place + i)));
        uint32_t zeros = 0;
#pragma unroll 1
        for (uint32_t k = 0; k < PLACES; k++) zeros |= i + k < fits && load_code(codes, place + i + k, p.code) == 0 ? 1u << k : 0;
        return zeros;
      };
      list_tile<Bits>(a, g, tile, before, places[warp], entries, [&](uint32_t, uint32_t element) { return load<Bits>(src + (uint64_t)element * sizeof(T)); });
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
      list_tile<T>(a, g, tile, before, places[warp], entries, [&](uint32_t i, uint32_t) { return numbers[i]; });
    }
  }
}
}  // namespace ginterp
}  // namespace fz

#define GINTERP_LIST(NAME, CODING)                                                                              \
  extern "C" __global__ void __launch_bounds__(fz::ginterp::LIST_THREADS) ginterp_list_##NAME(FZ_ARGS) {        \
    if (fz::cancelled(a)) return;                                                                               \
    __shared__ uint16_t places[fz::ginterp::LIST_THREADS / 32][fz::ginterp::BATCH];                             \
    fz::ginterp::list_tiles<fz::ginterp::CODING>(a, places);                                                    \
  }

GINTERP_LIST(f32, Bounded<float>)
GINTERP_LIST(f64, Bounded<double>)
GINTERP_LIST(literal_f32, Literal<float>)
GINTERP_LIST(literal_f64, Literal<double>)
