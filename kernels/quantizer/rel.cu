// Stage quantizer, mode rel: uniform bins of log2, as src/stages/quantizer/rel.rs.
#include "quantizer/power.cuh"
#include "quantizer/lists.cuh"

namespace fz {
namespace quantizer {
struct RelParams : QuantizerRelParams {
  FZ_DEV bool strict() const { return switches & STRICT; }
};

// 2^(bin L): the product in f32, the power in f64 and rounded once.
FZ_DEV float restored(float bin, float step) { return __double2float_rn(power::exp2(__fmul_rn(bin, step))); }

// The arithmetic of one call. A comparison with NaN never holds, and zeros, subnormal numbers and
// infinities are not normal. Bins are rounded products of f32, so those that have codes are as
// exact in 32 bits as in the f64 of the CPU.
template <class T, class C, bool IS_STRICT> struct Logs {
  const RelParams& p;
  double threshold;

  FZ_DEV explicit Logs(const RelParams& p) : p(p), threshold(IS_STRICT ? (double)Real<T>::from(p.threshold) : (double)(float)p.threshold) {}

  static FZ_DEV bool normal(float x) { return __uint_as_float(0x00800000u) <= x && x <= __uint_as_float(0x7f7fffffu); }

  // True if some bin may represent `x`.
  FZ_DEV bool bounded(double x) const {
    const float narrow = (float)fabs(x);
    return normal(narrow) & ((IS_STRICT ? fabs(x) : (double)narrow) < threshold);
  }
  // No radius is above the number for bins of 2^31 and more and for no bin. Only a bound that is
  // not strict has those.
  FZ_DEV int32_t bin(double x) const {
    const float q = __fmul_rn(__double2float_rn(power::log2((float)fabs(x))), p.inverse);
    return fabsf(q) < 2147483648.0f ? __float2int_rn(q) : INT32_MIN;
  }

  // The code of `x` in this bin, 0 if the bin may not represent it. `back`: the value that the
  // decoder restores, without the sign.
  FZ_DEV C code(double x, int32_t bin, float& back) const {
    const double magnitude = fabs(x);
    const float narrow = (float)magnitude;
    back = restored(__int2float_rn(bin), p.step);
    bool within_bound;
    if (IS_STRICT) within_bound = normal(back) & (fabs(__dsub_rn(magnitude, (double)back)) <= __dmul_rn(p.promise, magnitude));
    else within_bound = (__fmul_rn(p.low, narrow) <= back) & (back <= __fmul_rn(p.high, narrow));
    const uint32_t size = bin < 0 ? 0u - (uint32_t)bin : (uint32_t)bin;
    const uint64_t code = ((uint64_t)size << 2 | (uint64_t)(bin < 0) << 1 | Real<double>::bits(x) >> 63) + 1;
    const bool held = (size < p.radius) & (code <= (uint64_t)(C)~C(0));
    return bounded(x) & within_bound & held ? (C)code : C(0);
  }
};

// The value that code 0 restores under strict, without an entry in the lists.
template <class T> FZ_DEV bool plus_zero(T x) { return Real<T>::bits(x) == 0; }

// One unit of a tile at a time: hundreds of operations for each value hide the loads, and four
// times the code would not stay in the cache of instructions.
template <class T, class C, bool IS_STRICT> FZ_DEV void encode(const Args& a, const RelParams& p, uint32_t* sums) {
  constexpr int N = 16 / sizeof(T);
  const Arrays<T, C> at(a);
  const Logs<T, C, IS_STRICT> logs(p);
  // A radius of 0 leaves no bin at all.
  const bool retry = IS_STRICT && p.radius > 0;
  // Zeros of the padding are codes under strict, and values like any other for the reference.
  const uint64_t counted = IS_STRICT ? at.values : p.elements, all = at.all > counted ? at.all : counted;
  if (blockIdx.x == 0 && threadIdx.x == 0) publish(output(a, 0), output(a, 0).max);
  for (uint64_t tile = blockIdx.x; first_of<T>(tile) < all; tile += gridDim.x) {
    const uint64_t first = first_of<T>(tile);
    const uint32_t have = rest(at.values, first), room = rest(at.room, first), listed = rest(counted, first);
    uint32_t out = 0;
#pragma unroll 1
    for (int i = 0; i < UNITS; i++) {
      const uint32_t e = unit_at(i) / sizeof(T), n = part(listed, e);
      Row<T, N> x;
      x.load(at.src + (first + e) * sizeof(T), part(have, e));
      Row<C, N> codes;
      int32_t bins[N];
      float back[N];
      uint32_t again = 0;
#pragma unroll
      for (int k = 0; k < N; k++) {
        bins[k] = logs.bin((double)x.e[k]);
        codes.e[k] = logs.code((double)x.e[k], bins[k], back[k]);
        if (retry && codes.e[k] == 0 && logs.bounded((double)x.e[k])) again |= 1u << k;
      }
      // The bin on the other side of a value, where the nearest one does not keep the bound. No bin
      // is near 2^31 under strict.
      if (retry && again) {
#pragma unroll
        for (int k = 0; k < N; k++)
          if (again >> k & 1) codes.e[k] = logs.code((double)x.e[k], bins[k] + ((double)back[k] < fabs((double)x.e[k]) ? 1 : -1), back[k]);
      }
#pragma unroll
      for (int k = 0; k < N; k++) out += k < (int)n && codes.e[k] == 0 && !(IS_STRICT && plus_zero(x.e[k]));
      codes.store(at.codes + (first + e) * sizeof(C), part(room, e));
    }
    count_tile(a, tile, out, sums);
  }
}

// Outliers are the values with code 0, so nothing is computed again. If there is no room for a
// code, the call fails, and the contents of its lists do not matter.
template <class T, class C> FZ_DEV void list_uncoded(const Args& a, const RelParams& p, uint32_t* sums) {
  constexpr int N = 16 / sizeof(T);
  const Arrays<T, C> at(a);
  const bool strict = p.strict();
  list<T>(a, least(at.room, strict ? at.values : p.elements), sums, [&](uint64_t e, uint32_t n, const T (&x)[N]) {
    Row<C, N> codes;
    codes.load(at.codes + e * sizeof(C), n);
    uint32_t flags = 0;
#pragma unroll
    for (int k = 0; k < N; k++)
      if (k < (int)n && codes.e[k] == 0 && !(strict && plus_zero(x[k]))) flags |= 1u << k;
    return flags;
  });
}

// The magnitude of a bin. Bins of 64 bits at large magnitudes restore to 0 or infinity for any
// step.
template <class C> FZ_DEV float magnitude_of(C bin) {
  if constexpr (sizeof(C) == 8) return __ll2float_rn((long long)least(bin, 1ull << 51));
  else return __int2float_rn((int)bin);
}

template <class T, class C> FZ_DEV T value_of_code(C code, float step) {
  const C bin = (C)(code - 1);
  const uint32_t m = __float_as_uint(magnitude_of<C>((C)(bin >> 2))) ^ (uint32_t)(bin >> 1 & 1) << 31;
  const uint32_t back = __float_as_uint(restored(__uint_as_float(m), step)) | (uint32_t)(bin & 1) << 31;
  return code == 0 ? T(0) : (T)__uint_as_float(back);
}

template <class T, class C> FZ_DEV void decode(const Args& a, float step) {
  constexpr int N = 16 / sizeof(T);
  const uint8_t* codes = address(input(a, 0));
  uint8_t* dst = address(output(a, 0));
  const uint64_t n = least(length(input(a, 0)) / sizeof(C), output(a, 0).max / sizeof(T));
  if (blockIdx.x == 0 && threadIdx.x == 0) publish(output(a, 0), output(a, 0).max);
  for (uint64_t tile = blockIdx.x; first_of<T>(tile) < n; tile += gridDim.x) {
    const uint64_t first = first_of<T>(tile);
    const uint32_t have = rest(n, first);
#pragma unroll 1
    for (int i = 0; i < UNITS; i++) {
      const uint32_t e = unit_at(i) / sizeof(T), part_of_it = part(have, e);
      Row<C, N> c;
      c.load(codes + (first + e) * sizeof(C), part_of_it);
      Row<T, N> x;
#pragma unroll
      for (int k = 0; k < N; k++) x.e[k] = value_of_code<T, C>(c.e[k], step);
      x.store(dst + (first + e) * sizeof(T), part_of_it);
    }
  }
}

// Calls `f(T(), C())`.
template <class F> FZ_DEV void by_types(const RelParams& p, F f) {
  const uint32_t types = p.value << 4 | p.code;
  if (types == 0x42) f(float(), uint16_t());
  else if (types == 0x44) f(float(), uint32_t());
  else if (types == 0x82) f(double(), uint16_t());
  else if (types == 0x84) f(double(), uint32_t());
  else if (types == 0x88) f(double(), uint64_t());
}
}  // namespace quantizer
}  // namespace fz

// The metadata of the header, which do not depend on the values.
extern "C" __global__ void quantizer_rel_bound(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  using namespace fz::quantizer;
  const RelParams& p = fz::params<RelParams>(a);
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  BoundMetadata f;
  f.bound = (double)p.bound;
  f.bound_f32 = p.bound;
  f.base = 0.0f;
  f.radius = p.radius;
  f.outliers = 0;
  f.promise = p.promise;
  store_metadata(a, f);
}

extern "C" __global__ void __launch_bounds__(256, 2) quantizer_rel_encode(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  __shared__ uint32_t shared[32];
  using namespace fz::quantizer;
  const RelParams& p = fz::params<RelParams>(a);
  uint32_t* sums = shared;
  by_types(p, [&](auto value, auto code) {
    typedef decltype(value) T;
    typedef decltype(code) C;
    if (p.strict()) encode<T, C, true>(a, p, sums);
    else encode<T, C, false>(a, p, sums);
  });
}

extern "C" __global__ void __launch_bounds__(1024) quantizer_rel_encode_places(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  __shared__ uint32_t sums[32];
  using namespace fz::quantizer;
  const RelParams& p = fz::params<RelParams>(a);
  find_places(a, p.elements, p.value, sums);
}

extern "C" __global__ void __launch_bounds__(256) quantizer_rel_encode_lists(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  __shared__ uint32_t shared[32];
  using namespace fz::quantizer;
  const RelParams& p = fz::params<RelParams>(a);
  uint32_t* sums = shared;
  if (total(a) == 0 || total(a) > room_in_lists(a, p.value)) return;
  by_types(p, [&](auto value, auto code) { list_uncoded<decltype(value), decltype(code)>(a, p, sums); });
}

// The step is that of the plan, which belongs to one bound: a container of another one is none of
// this plan's.
extern "C" __global__ void __launch_bounds__(256, 4) quantizer_rel_decode(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  using namespace fz::quantizer;
  const RelParams& p = fz::params<RelParams>(a);
  const BoundMetadata f = load_metadata(fz::input(a, 3));
  const uint32_t stored = __float_as_uint(f.bound_f32);
  if (stored != ~0u && stored != __float_as_uint(p.bound)) {
    const bool possible = f.bound_f32 > 0.0f && f.bound_f32 < Real<float>::infinity();
    if (blockIdx.x == 0 && threadIdx.x == 0) fz::fail(a, possible ? fz::PLAN_MISMATCH : fz::CORRUPT);
    return;
  }
  by_types(p, [&](auto value, auto code) { decode<decltype(value), decltype(code)>(a, p.step); });
  check_lists(a, Lists(a, p.value, p.code, f));
}

extern "C" __global__ void __launch_bounds__(256) quantizer_rel_decode_lists(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  using namespace fz::quantizer;
  const RelParams& p = fz::params<RelParams>(a);
  const Lists lists(a, p.value, p.code, load_metadata(fz::input(a, 3)));
  if (p.value == 4) scatter<float>(a, lists);
  else scatter<double>(a, lists);
}
