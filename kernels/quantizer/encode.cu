// Quantizer: values to codes and outliers, and back.
#include "quantizer/lists.cuh"

namespace fz {
namespace quantizer {
template <class T, class C, bool LISTED, bool FAST>
FZ_DEV void encode(const Args& a, const Bins<T>& bins, bool zigzag, uint32_t* sums) {
  constexpr int N = 16 / sizeof(T);
  const Arrays<T, C> at(a);
  if (blockIdx.x == 0 && threadIdx.x == 0) publish(output(a, 0), output(a, 0).max);
  for (uint64_t tile = blockIdx.x; first_of<T>(tile) < at.all; tile += gridDim.x) {
    const uint64_t first = first_of<T>(tile);
    const uint32_t have = rest(at.values, first), room = rest(at.room, first);
    uint4 u[UNITS];
    load_tile(u, at.src + first * sizeof(T), (uint64_t)have * sizeof(T));
    uint32_t out = 0;
#pragma unroll
    for (int i = 0; i < UNITS; i++) {
      const uint32_t e = unit_at(i) / sizeof(T), n = part(have, e);
      T x[N];
      memcpy(x, &u[i], 16);
      Row<C, N> codes;
#pragma unroll
      for (int k = 0; k < N; k++) {
        typename Bins<T>::Bin bin;
        const bool ok = bins.template find<FAST>(x[k], bin);
        const C exact = LISTED ? C(0) : (C)Real<T>::bits(x[k]);
        codes.e[k] = k < (int)n ? (ok ? code_of<C>(bin, zigzag) : exact) : C(0);
        out += k < (int)n && !ok;
      }
      codes.store(at.codes + (first + e) * sizeof(C), part(room, e));
    }
    if constexpr (LISTED) count_tile(a, tile, out, sums);
  }
}

template <class T, bool FAST> FZ_DEV void list_unbinned(const Args& a, const Bins<T>& bins, uint32_t* sums) {
  constexpr int N = 16 / sizeof(T);
  list<T>(a, length(input(a, 0)) / sizeof(T), sums, [&](uint64_t, uint32_t n, const T (&x)[N]) {
    uint32_t flags = 0;
#pragma unroll
    for (int k = 0; k < N; k++) {
      typename Bins<T>::Bin bin;
      if (k < (int)n && !bins.template find<FAST>(x[k], bin)) flags |= 1u << k;
    }
    return flags;
  });
}

template <class T, class C, bool IN> FZ_DEV void decode(const Args& a, const BoundMetadata& f, bool zigzag) {
  constexpr int N = 16 / sizeof(T);
  const uint8_t* codes = address(input(a, 0));
  uint8_t* dst = address(output(a, 0));
  const uint64_t n = least(length(input(a, 0)) / sizeof(C), output(a, 0).max / sizeof(T));
  if (blockIdx.x == 0 && threadIdx.x == 0) publish(output(a, 0), output(a, 0).max);
  const T step = step_of<T>(f);
  for (uint64_t tile = blockIdx.x; first_of<T>(tile) < n; tile += gridDim.x) {
    const uint64_t first = first_of<T>(tile);
    const uint32_t have = rest(n, first);
    Row<C, N> c[UNITS];
#pragma unroll
    for (int i = 0; i < UNITS; i++) {
      const uint32_t e = unit_at(i) / sizeof(T);
      c[i].load(codes + (first + e) * sizeof(C), part(have, e));
    }
#pragma unroll
    for (int i = 0; i < UNITS; i++) {
      const uint32_t e = unit_at(i) / sizeof(T);
      Row<typename Real<T>::Bits, N> x;
#pragma unroll
      for (int k = 0; k < N; k++) {
        const C code = c[i].e[k];
        const bool raw = IN && (uint64_t)(code >> 1) >= f.radius;
        x.e[k] = raw ? (typename Real<T>::Bits)code : Real<T>::bits(value_of<T>(bin_of<C>(code, zigzag), step));
      }
      x.store(dst + (first + e) * sizeof(T), part(have, e));
    }
  }
}
}  // namespace quantizer
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256, 4) quantizer_encode(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  __shared__ uint32_t shared[32];
  using namespace fz::quantizer;
  const QuantizerParams& p = fz::params<QuantizerParams>(a);
  uint32_t* sums = shared;
  by_types(p, [&](auto value, auto code, auto in_place) {
    typedef decltype(value) T;
    typedef decltype(code) C;
    constexpr bool LISTED = decltype(in_place)::BYTES == 0;
    const Bins<T> bins(p, load_metadata(fz::input(a, 1)));
    const bool zigzag = !LISTED || (p.switches & ZIGZAG);
    if (bins.fast()) encode<T, C, LISTED, true>(a, bins, zigzag, sums);
    else encode<T, C, LISTED, false>(a, bins, zigzag, sums);
  });
}

extern "C" __global__ void __launch_bounds__(1024) quantizer_encode_places(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  __shared__ uint32_t sums[32];
  using namespace fz::quantizer;
  const QuantizerParams& p = fz::params<QuantizerParams>(a);
  find_places(a, fz::length(fz::input(a, 0)) / p.value, p.value, sums);
}

extern "C" __global__ void __launch_bounds__(256) quantizer_encode_lists(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  __shared__ uint32_t shared[32];
  using namespace fz::quantizer;
  const QuantizerParams& p = fz::params<QuantizerParams>(a);
  uint32_t* sums = shared;
  if (total(a) == 0 || total(a) > room_in_lists(a, p.value)) return;
  by_types(p, [&](auto value, auto, auto in_place) {
    typedef decltype(value) T;
    if constexpr (decltype(in_place)::BYTES == 0) {
      const Bins<T> bins(p, load_metadata(fz::input(a, 1)));
      if (bins.fast()) list_unbinned<T, true>(a, bins, sums);
      else list_unbinned<T, false>(a, bins, sums);
    }
  });
}

extern "C" __global__ void __launch_bounds__(256, 4) quantizer_decode(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  using namespace fz::quantizer;
  const QuantizerParams& p = fz::params<QuantizerParams>(a);
  const BoundMetadata f = load_metadata(fz::input(a, p.switches & IN_PLACE ? 1 : 3));
  by_types(p, [&](auto value, auto code, auto in_place) {
    constexpr bool IN = decltype(in_place)::BYTES == 1;
    decode<decltype(value), decltype(code), IN>(a, f, IN || (p.switches & ZIGZAG));
  });
  if (!(p.switches & IN_PLACE)) check_lists(a, Lists(a, p.value, p.code, f));
}

extern "C" __global__ void __launch_bounds__(256) quantizer_decode_lists(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  using namespace fz::quantizer;
  const QuantizerParams& p = fz::params<QuantizerParams>(a);
  const Lists lists(a, p.value, p.code, load_metadata(fz::input(a, 3)));
  if (p.value == 4) scatter<float>(a, lists);
  else scatter<double>(a, lists);
}
