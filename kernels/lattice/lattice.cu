// Lattice: from values to levels and rests, and back, each element for itself. No operation is contracted: the host rounds each one too.
#include "common/units.cuh"
#include "lattice/params.h"

namespace fz {
namespace lattice {
constexpr double MAGIC = 6755399441055744.0;
FZ_DEV double nearest_integer(double x) { return __dadd_rn(__dadd_rn(x, MAGIC), -MAGIC); }

template <int W> struct LatticeValue;
template <> struct LatticeValue<4> {
  typedef uint32_t Bits;
  FZ_DEV static Bits zigzag(Bits d) { return d << 1 ^ (Bits)((int32_t)d >> 31); }
  FZ_DEV static double wide(Bits b) { return (double)__uint_as_float(b); }
  FZ_DEV static Bits of(double x) { return __float_as_uint(__double2float_rn(x)); }
};
template <> struct LatticeValue<8> {
  typedef uint64_t Bits;
  FZ_DEV static Bits zigzag(Bits d) { return d << 1 ^ (Bits)((int64_t)d >> 63); }
  FZ_DEV static double wide(Bits b) { return __longlong_as_double((long long)b); }
  FZ_DEV static Bits of(double x) { return (Bits)__double_as_longlong(x); }
};

// The bits of the value of a level.
template <int W> FZ_DEV typename LatticeValue<W>::Bits value_at(const LatticeParams& p, double level) {
  double x;
  if (p.formula == FORMULA_F32)
    x = (double)__fadd_rn(__fmul_rn(__double2float_rn(level), __double2float_rn(p.scale)), __double2float_rn(p.offset));
  else if (p.formula == FORMULA_DIVIDE)
    x = __dadd_rn(__ddiv_rn(level, p.scale), p.offset);
  else
    x = __dadd_rn(__dmul_rn(level, p.scale), p.offset);
  return LatticeValue<W>::of(x);
}

template <int W> FZ_DEV void split(const LatticeParams& p, typename LatticeValue<W>::Bits x, typename LatticeValue<W>::Bits& level, typename LatticeValue<W>::Bits& rest) {
  const double wide = LatticeValue<W>::wide(x);
  const double t = __dmul_rn(__dsub_rn(wide, p.offset), p.rate);
  double n = 0.0;
  if (fabs(t) < p.limit - 1.0) {
    n = nearest_integer(t);
  } else if (!(fabs(wide) < p.limit)) {
    // Too far away for a level, NaN and infinity among them.
    level = x;
    rest = 0;
    return;
  }
  level = LatticeValue<W>::of(n);
  rest = LatticeValue<W>::zigzag(x - value_at<W>(p, n));
}
template <int W> FZ_DEV typename LatticeValue<W>::Bits join(const LatticeParams& p, typename LatticeValue<W>::Bits level, typename LatticeValue<W>::Bits rest) {
  const double wide = LatticeValue<W>::wide(level);
  const typename LatticeValue<W>::Bits difference = rest >> 1 ^ (0 - (rest & 1));
  return (fabs(wide) < p.limit ? value_at<W>(p, nearest_integer(wide)) : level) + difference;
}

// A unit of 16 bytes of words.
template <int W> FZ_DEV void split(const LatticeParams& p, uint4 x, uint4& level, uint4& rest) {
  if constexpr (W == 4) {
    split<4>(p, x.x, level.x, rest.x); split<4>(p, x.y, level.y, rest.y);
    split<4>(p, x.z, level.z, rest.z); split<4>(p, x.w, level.w, rest.w);
  } else {
    uint64_t l, r;
    split<8>(p, (uint64_t)x.y << 32 | x.x, l, r);
    level.x = (uint32_t)l; level.y = (uint32_t)(l >> 32); rest.x = (uint32_t)r; rest.y = (uint32_t)(r >> 32);
    split<8>(p, (uint64_t)x.w << 32 | x.z, l, r);
    level.z = (uint32_t)l; level.w = (uint32_t)(l >> 32); rest.z = (uint32_t)r; rest.w = (uint32_t)(r >> 32);
  }
}
template <int W> FZ_DEV uint4 join(const LatticeParams& p, uint4 level, uint4 rest) {
  if constexpr (W == 4) {
    return make_uint4(join<4>(p, level.x, rest.x), join<4>(p, level.y, rest.y), join<4>(p, level.z, rest.z), join<4>(p, level.w, rest.w));
  } else {
    const uint64_t a = join<8>(p, (uint64_t)level.y << 32 | level.x, (uint64_t)rest.y << 32 | rest.x);
    const uint64_t b = join<8>(p, (uint64_t)level.w << 32 | level.z, (uint64_t)rest.w << 32 | rest.z);
    return make_uint4((uint32_t)a, (uint32_t)(a >> 32), (uint32_t)b, (uint32_t)(b >> 32));
  }
}

template <int W> FZ_DEV void encode_lattice(const Args& a, const LatticeParams& p) {
  const uint64_t n = least(output(a, 0).max, output(a, 1).max), have = length(input(a, 0));
  const uint8_t* src = address(input(a, 0));
  uint8_t *levels = address(output(a, 0)), *rest = address(output(a, 1));
  for (uint64_t at = (uint64_t)blockIdx.x * TILE; at < n; at += (uint64_t)gridDim.x * TILE) {
    uint4 x[UNITS], l[UNITS], r[UNITS];
    // Zeros behind an array that is shorter than its padded length.
    load_tile(x, src + at, have > at ? have - at : 0);
#pragma unroll
    for (int i = 0; i < UNITS; i++) split<W>(p, x[i], l[i], r[i]);
    store_tile(levels + at, l, n - at);
    store_tile(rest + at, r, n - at);
  }
}
template <int W> FZ_DEV void decode_lattice(const Args& a, const LatticeParams& p) {
  const uint64_t n = output(a, 0).max;
  const uint8_t *levels = address(input(a, 0)), *rest = address(input(a, 1));
  uint8_t* dst = address(output(a, 0));
  for (uint64_t at = (uint64_t)blockIdx.x * TILE; at < n; at += (uint64_t)gridDim.x * TILE) {
    uint4 x[UNITS], l[UNITS], r[UNITS];
    load_tile(l, levels + at, n - at);
    load_tile(r, rest + at, n - at);
#pragma unroll
    for (int i = 0; i < UNITS; i++) x[i] = join<W>(p, l[i], r[i]);
    store_tile(dst + at, x, n - at);
  }
}
}  // namespace lattice
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256, 4) lattice_encode(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  const fz::lattice::LatticeParams& p = fz::params<fz::lattice::LatticeParams>(a);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    fz::publish(fz::output(a, 0), fz::output(a, 0).max);
    fz::publish(fz::output(a, 1), fz::output(a, 1).max);
  }
  if (p.value == 4) fz::lattice::encode_lattice<4>(a, p);
  else fz::lattice::encode_lattice<8>(a, p);
}

extern "C" __global__ void __launch_bounds__(256, 4) lattice_decode(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  const fz::lattice::LatticeParams& p = fz::params<fz::lattice::LatticeParams>(a);
  const uint64_t n = fz::output(a, 0).max;
  // The array may be shorter than its padded length.
  if (fz::length(fz::input(a, 0)) < n || fz::length(fz::input(a, 1)) < n) {
    if (threadIdx.x == 0) fz::fail(a, fz::CORRUPT);
    return;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) fz::publish(fz::output(a, 0), n);
  if (p.value == 4) fz::lattice::decode_lattice<4>(a, p);
  else fz::lattice::decode_lattice<8>(a, p);
}
