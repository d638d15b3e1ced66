// The bound of the codes from the bound of the user, as in src/stages/quantizer/{bound,step}.rs: the
// metadata of a range, and the candidates for the step.
#pragma once
#include "quantizer/bins.cuh"

namespace fz {
namespace quantizer {
// Smallest and largest bounded value; low > high when there is none. Which zero of two is taken
// never shows.
struct Range {
  double low, high;
  FZ_DEV void add(double l, double h) {
    if (l < low) low = l;
    if (h > high) high = h;
  }
};
FZ_DEV Range no_range() { return {Real<double>::infinity(), -Real<double>::infinity()}; }

// The smaller and the larger of two, of which a NaN is neither.
FZ_DEV float lower(float a, float b) { return fminf(a, b); }
FZ_DEV float upper(float a, float b) { return fmaxf(a, b); }
FZ_DEV double lower(double a, double b) { return a < b ? a : b; }
FZ_DEV double upper(double a, double b) { return a > b ? a : b; }

// ---- arithmetic that never rounds up
FZ_DEV double toward_zero(double x, double dropped) {
  const bool away = (dropped < 0.0 && x > 0.0) || (dropped > 0.0 && x < 0.0);
  return away ? Real<double>::value(Real<double>::bits(x) - 1) : x;
}
FZ_DEV bool infinite(double x) { return fabs(x) == Real<double>::infinity(); }
FZ_DEV double largest_like(double x) {
  const double most = Real<double>::value(0x7fefffffffffffffull);
  return x < 0.0 ? -most : most;
}
FZ_DEV double sub_toward_zero(double a, double b) {
  const double d = a - b;
  if (infinite(d)) return largest_like(d);
  const double bb = a - d;
  return toward_zero(d, (a - (d + bb)) + (bb - b));
}
// The one product that is fused on purpose: it results in the part that rounding `a * b` dropped.
FZ_DEV double mul_toward_zero(double a, double b) {
  const double p = a * b;
  if (infinite(p)) return largest_like(p);
  return toward_zero(p, __fma_rn(a, b, -p));
}
FZ_DEV float floor_f32(double x) {
  const float y = (float)x;
  return (double)y > x ? __uint_as_float(__float_as_uint(y) - 1) : y;
}
FZ_DEV float smallest_normal() { return __uint_as_float(0x00800000u); }
// The largest bound of f32 data: twice of it is finite, and so is one over twice of it.
FZ_DEV float most() { return __uint_as_float(0x7e000000u); }

// The number that the bound of mode prel is a fraction of.
FZ_DEV double peak(Range r) {
  const double low = fabs(r.low), high = fabs(r.high);
  return low > high ? low : high;
}

// The bound as promised: no operation rounds it up. `given`: the base, if it is not measured.
template <class T> FZ_DEV BoundMetadata strict_metadata(const QuantizerParams& p, bool measured, Range r, double given) {
  constexpr bool SINGLE = sizeof(T) == 4;
  double wanted = p.error_bound, base = 0.0;
  if (!measured) {
    if (p.mode != ABS) { wanted = mul_toward_zero(p.error_bound, given); base = given; }
  } else if (p.mode == PREL) {
    if (!(r.low > r.high) && peak(r) != 0.0) {
      base = peak(r);
      wanted = mul_toward_zero(p.error_bound, base);
    }
  } else if (r.low < r.high) {
    base = sub_toward_zero(r.high, r.low);
    wanted = mul_toward_zero(p.error_bound, base);
  } else if (!(r.low > r.high) && r.high != 0.0) {
    // A constant: bins of its own magnitude hit it exactly, where the header can hold half of it.
    const double half = fabs(r.high) / 2.0;
    wanted = (double)(float)half == half && (!SINGLE || half <= (double)most()) ? half : 0.0;
  }
  const float tiny = smallest_normal();
  const bool wide = !SINGLE && p.mode == ABS && wanted < (double)tiny;
  float bound_f32 = floor_f32(wanted);
  if (SINGLE && bound_f32 > most()) bound_f32 = most();
  const double bound = wide ? wanted : (double)bound_f32;
  const double least = SINGLE ? (double)tiny : Real<double>::value(0x0010000000000000ull);
  const bool usable = bound >= least && (wide || bound_f32 >= tiny);
  BoundMetadata f;
  f.bound = usable ? bound : 0.0;
  f.bound_f32 = usable ? bound_f32 : 0.0f;
  f.base = floor_f32(base);
  f.radius = usable ? p.radius : 0;
  f.outliers = 0;
  f.promise = SINGLE ? (double)floor_f32(wanted) : wanted;
  return f;
}

template <class T> FZ_DEV BoundMetadata strict_metadata(const QuantizerParams& p, bool measured, Range r) {
  return strict_metadata<T>(p, measured, r, p.value_base);
}

// The reference's arithmetic, with its losses.
template <class T> FZ_DEV BoundMetadata literal_metadata(const QuantizerParams& p, bool measured, Range r) {
  const T user = Real<T>::from((double)(float)p.error_bound);
  float base = measured ? (p.mode == PREL ? (r.low > r.high ? 0.0f : (float)peak(r)) : (float)((T)r.high - (T)r.low)) : p.mode == ABS ? 0.0f : (float)p.value_base;
  if (!(base > 0.0f)) base = 0.0f;
  const T bound = base > 0.0f ? user * (T)base : user;
  const bool number = bound == bound;
  BoundMetadata f;
  f.bound = number ? (double)bound : Real<double>::nan();
  f.bound_f32 = number ? (float)bound : Real<float>::nan();
  f.base = base;
  f.radius = p.radius;
  f.outliers = 0;
  f.promise = f.bound;
  return f;
}

// ---- the step of f32 data
// Exponents that no bound leaves normal do not occur.
FZ_DEV double power_of_two(int exponent) {
  const int e = exponent + 1023;
  return Real<double>::value((uint64_t)(e < 1 ? 1 : e > 2046 ? 2046 : e) << 52);
}

// The largest bound whose step has exact products, or products whose rounding cannot matter, for
// values of up to 2^bits bins. A warp does it, a lane for each spacing of floats that the CPU looks
// at in turn: only the smallest gap so far passes from one to the next. Where the CPU divides by a
// power of two, its inverse, which is exact, multiplies here.
FZ_DEV float aligned_bound(double promise, int bits) {
  const double twice = 2.0 * promise, infinity = Real<double>::infinity();
  const int below = threadIdx.x & 31, exponent = (int)(Real<double>::bits(twice) >> 52) - 1023, e = exponent + bits - 23 - below;
  const double u = power_of_two(e), v = power_of_two(-e), reach = floor(promise * v);
  double gap = below <= bits && reach >= 1.0 ? (2.0 * reach + 1.0) * u : infinity;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    const double before = __shfl_up_sync(ALL, gap, d);
    if (below >= d && before < gap) gap = before;
  }
  const double before = __shfl_up_sync(ALL, gap, 1), widest = below > 0 && before < twice ? before : twice;
  double step = below <= bits ? floor(widest * v) * u : 0.0;
#pragma unroll
  for (int d = 16; d; d >>= 1) {
    const double other = __shfl_xor_sync(ALL, step, d);
    if (other > step) step = other;
  }
  return (float)(step / 2.0);
}

struct Steps {
  float all[CANDIDATES];
  uint32_t bounds;
  float bound[1 + CANDIDATES];  // the whole one, then the candidates
};
// The candidates in descending order, without repetitions, by a block.
FZ_DEV void find_steps(Steps& s, const BoundMetadata& metadata) {
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (uint32_t i = warp; i < CANDIDATES; i += blockDim.x / 32) {  // seed: step-of-warps
    const float aligned = aligned_bound(metadata.promise, 8 + 2 * (int)i);
    if (lane == 0) s.all[i] = aligned;
  }
  __syncthreads();
  if (warp == 0) {
    const float mine = lane < CANDIDATES ? s.all[lane] : 0.0f;
    bool keep = mine >= smallest_normal() && mine < metadata.bound_f32;
    uint32_t larger = 0;
#pragma unroll
    for (uint32_t i = 0; i < CANDIDATES; i++) keep &= i >= lane || s.all[i] != mine;
    const uint32_t kept = __ballot_sync(ALL, keep);
#pragma unroll
    for (uint32_t i = 0; i < CANDIDATES; i++) larger += (kept >> i & 1) && s.all[i] > mine;
    if (keep) s.bound[1 + larger] = mine;
    if (lane == 0) { s.bound[0] = metadata.bound_f32; s.bounds = 1 + __popc(kept); }
  }
  __syncthreads();
}

// Groups of 32 neighbors, one of `stride` of them.
struct Sample {
  const uint8_t* src;
  uint32_t stride;
  uint64_t groups;
  FZ_DEV Sample(const uint8_t* at, uint64_t bytes) : src(at) {
    const uint64_t all = bytes / (SAMPLE_GROUP * 4), dense = bytes / 4 / SAMPLE_VALUES;
    stride = dense < 1 ? 1 : dense > SAMPLE_STRIDE ? SAMPLE_STRIDE : (uint32_t)dense;
    // A division of 64 bits takes a while.
    groups = all < ALL - SAMPLE_STRIDE ? ((uint32_t)all + stride - 1) / stride : (all + stride - 1) / stride;
  }
  FZ_DEV const uint8_t* group(uint64_t i) const { return src + i * stride * SAMPLE_GROUP * 4; }
  // The cost of a smaller bound besides that of its misses.
  FZ_DEV double shrink(float bound, double whole) const { return (1.0 - (double)bound / whole) * SHRINK_BITS * (double)(groups * SAMPLE_GROUP); }
};
}  // namespace quantizer
}  // namespace fz
