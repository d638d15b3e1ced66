// LorenzoQuant: values to codes, outliers and exact pairs.
#include "lorenzo_quant/differences.cuh"
#include "lorenzo_quant/encode_bricks.cuh"

namespace fz {
namespace lorenzo_quant {
// One and two dimensions. Entries of the tiles: outliers of all, then exact values of all.
FZ_DEV uint64_t tiles_of(const Args& a, const LorenzoQuantParams& p) {
  const uint64_t per = TILE / p.value, room = output(a, 0).max / p.code, all = room > p.count ? room : p.count;
  return (all + per - 1) / per;
}
FZ_DEV TileCount* found_of(const Args& a) { return reinterpret_cast<TileCount*>(a.zeroed + sizeof(Totals)); }

template <class T, class C, int DIMS> FZ_DEV void encode(const Args& a, const LorenzoQuantParams& p, uint32_t* sums, Last<T>& last) {
  constexpr int N = 16 / sizeof(T);
  const Multiples<T> m(p, quantizer::load_metadata(input(a, 1)));
  const Field<T, DIMS> f(a, p, m);
  const T radius = Real<T>::from((double)p.radius);
  const bool zigzag = (p.switches & ZIGZAG) != 0;
  uint8_t* codes = address(output(a, 0));
  const uint64_t room = output(a, 0).max / sizeof(C), tiles = tiles_of(a, p);
  if (blockIdx.x == 0 && threadIdx.x == 0) publish(output(a, 0), output(a, 0).max);
  for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const uint64_t first = first_of<T>(tile);
    const uint32_t fits = rest(room, first), have = rest(p.count, first);
    uint32_t outliers = 0, exact = 0;
    over_tile(f, first, radius, last, [&](int i, const Differences<T>& u) {
      const uint32_t e = unit_at(i) / sizeof(T);
      Row<C, N> row;
#pragma unroll
      for (int k = 0; k < N; k++) {
        const bool coded = k < (int)part(have, e) && !(u.outliers >> k & 1);
        row.e[k] = coded ? code_of<C>(u.d[k], zigzag) : C(0);
      }
      row.store(codes + (first + e) * sizeof(C), part(fits, e));
      outliers += __popc(u.outliers);
      exact += __popc(u.exact);
    });
    note(found_of(a)[tile], a.zeroed + offsetof(Totals, outliers), outliers, sums);
    note(found_of(a)[tiles + tile], a.zeroed + offsetof(Totals, exact), exact, sums);
  }
}

// The entries, tile by tile: most tiles have none, and are not looked at again.
template <class T, int DIMS> FZ_DEV void list(const Args& a, const LorenzoQuantParams& p, uint32_t* sums, Last<T>& last) {
  constexpr int N = 16 / sizeof(T);
  typedef typename Real<T>::Bits Bits;
  const Totals all = totals(a);
  const Multiples<T> m(p, quantizer::load_metadata(input(a, 1)));
  const Field<T, DIMS> f(a, p, m);
  const T radius = Real<T>::from((double)p.radius);
  uint8_t *errors = address(output(a, 2)), *indices = address(output(a, 3));
  const uint64_t tiles = tiles_of(a, p);
  for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const TileCount outliers = found_of(a)[tile], exact = found_of(a)[tiles + tile];
    if (outliers.here + exact.here == 0) continue;
    const uint64_t first = first_of<T>(tile);
    uint32_t out[UNITS], kept[UNITS], before_out[UNITS], before_kept[UNITS];
    Differences<T> found[UNITS];
    over_tile(f, first, radius, last, [&](int i, const Differences<T>& u) {
      found[i] = u;
      out[i] = u.outliers;
      kept[i] = u.exact;
    });
    count_before(out, before_out, sums);
    count_before(kept, before_kept, sums);
#pragma unroll 1
    for (int i = 0; i < UNITS; i++) {
      const Differences<T>& u = found[i];
      const uint64_t index = first + unit_at(i) / sizeof(T);
      uint64_t j = (uint64_t)outliers.before + before_out[i], e = all.outliers + exact.before + before_kept[i];
#pragma unroll
      for (int k = 0; k < N; k++) {
        if (u.outliers >> k & 1) {
          store<Bits>(errors + j * sizeof(T), Real<T>::bits(canonical(u.d[k])));
          store<uint32_t>(indices + j * 4, (uint32_t)(index + k));
          j++;
        }
        if (u.exact >> k & 1) {
          store<Bits>(errors + e * sizeof(T), index + k < f.values ? load<Bits>(f.src + (index + k) * sizeof(T)) : Bits(0));
          store<uint32_t>(indices + e * 4, (uint32_t)(index + k));
          e++;
        }
      }
    }
  }
}

// For arrays of 4 or 8 bytes a value, or of both (0). The memory that warps exchange data in has
// room for either.
template <int DIMS, int VALUE> FZ_DEV void encode_as(const Args& a, uint32_t* sums, Last<double>* ends) {
  const LorenzoQuantParams& p = params<LorenzoQuantParams>(a);
  by_types(p, [&](auto value, auto code) {
    typedef decltype(value) T;
    if constexpr (DIMS < 3) encode<T, decltype(code), DIMS>(a, p, sums, *reinterpret_cast<Last<T>*>(ends));
    else if constexpr (sizeof(T) == VALUE) {
      if (blockIdx.x == 0 && threadIdx.x == 0) publish(output(a, 0), output(a, 0).max);
      encode_bricks<T, decltype(code)>(a, p, NoCounts());
      clear(address(output(a, 0)), p.count, output(a, 0).max / p.code, p.code);
    }
  });
}
// Zigzag codes of u16 from f32 in three dimensions: encoded, and counted for the coder that output
// 4 goes to. All of them are below twice the radius, for which there is room.
FZ_DEV void encode_and_count(const Args& a, uint32_t* shared) {
  const LorenzoQuantParams& p = params<LorenzoQuantParams>(a);
  const uint32_t symbols = (uint32_t)((output(a, 4).max - huffman::COUNTS_AT) / 4);
  if (blockIdx.x == 0 && threadIdx.x == 0) publish(output(a, 0), output(a, 0).max);
  for (uint32_t i = threadIdx.x; i < symbols; i += blockDim.x) shared[i] = 0;
  __syncthreads();
  encode_bricks<float, uint16_t>(a, p, CodeCounts{shared});
  clear(address(output(a, 0)), p.count, output(a, 0).max / p.code, p.code);
  add_counts(a, p, shared, symbols);
}
template <int DIMS> FZ_DEV void list_as(const Args& a, uint32_t* sums, Last<double>* ends) {
  const LorenzoQuantParams& p = params<LorenzoQuantParams>(a);
  if (!opens_lists(a, p)) return;
  if (p.value == 4) list<float, DIMS>(a, p, sums, *reinterpret_cast<Last<float>*>(ends));
  else list<double, DIMS>(a, p, sums, *ends);
}
}  // namespace lorenzo_quant
}  // namespace fz

#define LORENZO_ENCODE(NAME, DIMS, VALUE)                                                          \
  extern "C" __global__ void __launch_bounds__(256, 2) lorenzo_quant_encode_##NAME(FZ_ARGS) {      \
    if (fz::cancelled(a)) return;                                                                       \
    __shared__ uint32_t shared[32];                                                                \
    __shared__ fz::lorenzo_quant::Last<double> ends;                                                     \
    fz::lorenzo_quant::encode_as<DIMS, VALUE>(a, shared, &ends);                                         \
  }
#define LORENZO_LISTS(DIMS)                                                                        \
  extern "C" __global__ void __launch_bounds__(256) lorenzo_quant_lists_##DIMS##d(FZ_ARGS) {       \
    if (fz::cancelled(a)) return;                                                                       \
    __shared__ uint32_t shared[32];                                                                \
    __shared__ fz::lorenzo_quant::Last<double> ends;                                                     \
    fz::lorenzo_quant::list_as<DIMS>(a, shared, &ends);                                                  \
  }

LORENZO_ENCODE(1d, 1, 0)
LORENZO_ENCODE(2d, 2, 0)
LORENZO_ENCODE(3d_f32, 3, 4)
LORENZO_ENCODE(3d_f64, 3, 8)
extern "C" __global__ void __launch_bounds__(256, 2) lorenzo_quant_encode_3d_f32_counts(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  __shared__ uint32_t shared[fz::huffman::SHARED_SYMBOLS];
  fz::lorenzo_quant::encode_and_count(a, shared);
}
LORENZO_LISTS(1)
LORENZO_LISTS(2)

// One block, in one dimension and two: where the entries of each tile go, and the metadata.
extern "C" __global__ void __launch_bounds__(1024) lorenzo_quant_places(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  __shared__ uint32_t sums[32];
  using namespace fz::lorenzo_quant;
  const LorenzoQuantParams& p = fz::params<LorenzoQuantParams>(a);
  const uint64_t found = totals(a).all(), tiles = tiles_of(a, p);
  if (threadIdx.x == 0) close_lists(a, p);
  if (found == 0 || found > room_in_lists(a, p)) return;
  fz::place_tiles(found_of(a), tiles, sums);
  fz::place_tiles(found_of(a) + tiles, tiles, sums);
}
