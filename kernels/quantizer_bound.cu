// From the bound that the user asks for to the bound that the codes are made with, as src/stages/quantizer/{bound,step}.rs.
#include "quantizer.cuh"

namespace fz {
namespace quantizer {
constexpr int CANDIDATES = 8;
constexpr uint32_t GROUP = 32, SAMPLE = 1 << 16, SPARSE = 128;

// Memory that is zero when the call starts.
struct Counts {
  uint32_t done[2];  // blocks that have ended, of either function
  unsigned long long misses[1 + CANDIDATES];
};
// Memory with anything in it: what blocks found, as bits of f64, which holds every f32. As many as blocks of the first function.
struct Scratch {
  uint32_t candidates;
  float bounds[CANDIDATES];
  uint32_t pad;
  uint64_t ranges[1];
};

// True in all threads of the block that ends last, and it sees what the others have written. `flag`: a shared word.
FZ_DEV bool ends_last(uint32_t* done, uint32_t* flag) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) *flag = atomicAdd(done, 1u) == gridDim.x - 1;
  __syncthreads();
  __threadfence();
  return *flag != 0;
}

// Smallest and largest carried value; low > high when there is none. Which zero of two is taken never shows.
struct Range {
  double low, high;
  FZ_DEV void add(double l, double h) {
    if (l < low) low = l;
    if (h > high) high = h;
  }
};
FZ_DEV Range no_range() { return {Real<double>::infinity(), -Real<double>::infinity()}; }

// Of a block, in thread 0.
FZ_DEV Range join(Range r, Range* warps) {
#pragma unroll
  for (int d = 16; d; d >>= 1) {
    const double low = __shfl_xor_sync(ALL, r.low, d), high = __shfl_xor_sync(ALL, r.high, d);
    r.add(low, high);
  }
  __syncthreads();
  if ((threadIdx.x & 31) == 0) warps[threadIdx.x >> 5] = r;
  __syncthreads();
  if (threadIdx.x == 0)
    for (uint32_t i = 1; i < blockDim.x / 32; i++) r.add(warps[i].low, warps[i].high);
  return r;
}

// Strict: finite values below the threshold. Otherwise everything but NaN, with which no comparison holds.
template <class T> FZ_DEV Range measure(const Args& a, const Params& p) {
  constexpr int N = 16 / sizeof(T);
  typedef Real<T> R;
  const bool strict = p.switches & STRICT;
  const T limit = R::from(p.threshold), inf = R::infinity();
  const uint8_t* src = address(input(a, 0));
  const uint64_t n = length(input(a, 0)) / sizeof(T) * sizeof(T);
  T low = inf, high = -inf;
  for (uint64_t at = (uint64_t)blockIdx.x * TILE; at < n; at += (uint64_t)gridDim.x * TILE) {
    uint4 u[UNITS];
    load_tile(u, src + at, n - at);
#pragma unroll
    for (int i = 0; i < UNITS; i++) {
      T x[N];
      memcpy(x, &u[i], 16);
#pragma unroll
      for (int k = 0; k < N; k++) {
        const bool carried = at + unit_at(i) + k * sizeof(T) < n && (!strict || R::abs(x[k]) < limit);
        if (carried && x[k] < low) low = x[k];
        if (carried && x[k] > high) high = x[k];
      }
    }
  }
  return {(double)low, (double)high};
}

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
// The one product that is meant to be fused: it gives what the rounding of `a * b` dropped.
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

// What the bound of mode prel is a fraction of.
FZ_DEV double peak(Range r) {
  const double low = fabs(r.low), high = fabs(r.high);
  return low > high ? low : high;
}

// The bound as promised: no operation rounds it up.
template <class T> FZ_DEV Facts strict_facts(const Params& p, bool measured, Range r) {
  constexpr bool SINGLE = sizeof(T) == 4;
  double wanted = p.error_bound, base = 0.0;
  if (!measured) {
    if (p.mode != ABS) { wanted = mul_toward_zero(p.error_bound, p.value_base); base = p.value_base; }
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
  Facts f;
  f.bound = usable ? bound : 0.0;
  f.bound_f32 = usable ? bound_f32 : 0.0f;
  f.base = floor_f32(base);
  f.radius = usable ? p.radius : 0;
  f.outliers = 0;
  f.promise = SINGLE ? (double)floor_f32(wanted) : wanted;
  return f;
}

// The reference's arithmetic, with what it loses.
template <class T> FZ_DEV Facts literal_facts(const Params& p, bool measured, Range r) {
  const T user = Real<T>::from((double)(float)p.error_bound);
  float base = measured ? (p.mode == PREL ? (r.low > r.high ? 0.0f : (float)peak(r)) : (float)((T)r.high - (T)r.low)) : p.mode == ABS ? 0.0f : (float)p.value_base;
  if (!(base > 0.0f)) base = 0.0f;
  const T bound = base > 0.0f ? user * (T)base : user;
  const bool number = bound == bound;
  Facts f;
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

// The largest bound whose step has exact products, or products whose rounding cannot matter, for values of up to 2^bits
// bins. Where the CPU divides by a power of two, its inverse, which is exact, multiplies here.
FZ_DEV float aligned_bound(double promise, int bits) {
  const double twice = 2.0 * promise;
  const int exponent = (int)(Real<double>::bits(twice) >> 52) - 1023;
  double step = 0.0, widest = twice;
  for (int below = 0; below < 24; below++) {
    const int e = exponent + bits - 23 - below;
    const double u = power_of_two(e), v = power_of_two(-e);
    const double s = floor(widest * v) * u, reach = floor(promise * v);
    if (s > step) step = s;
    if (reach >= 1.0) {
      const double w = (2.0 * reach + 1.0) * u;
      if (w < widest) widest = w;
    }
    if (e <= exponent - 23) break;
  }
  return (float)(step / 2.0);
}

// In descending order, without repetitions.
FZ_DEV void keep_candidates(Scratch* s, const float* all, float whole) {
  uint32_t n = 0;
  for (int i = 0; i < CANDIDATES; i++) {
    const float b = all[i];
    if (!(b >= smallest_normal() && b < whole)) continue;
    uint32_t at = 0;
    while (at < n && s->bounds[at] > b) at++;
    if (at < n && s->bounds[at] == b) continue;
    for (uint32_t j = n; j > at; j--) s->bounds[j] = s->bounds[j - 1];
    s->bounds[at] = b;
    n++;
  }
  s->candidates = n;
}

struct Sample {
  uint64_t stride, groups;
  FZ_DEV explicit Sample(uint64_t bytes) {
    const uint64_t all = bytes / (GROUP * 4);
    stride = bytes / 4 / SAMPLE;
    stride = stride < 1 ? 1 : stride > SPARSE ? SPARSE : stride;
    groups = (all + stride - 1) / stride;
  }
};

// The facts with the step that promises the shortest result: the CPU's loop, with counts that are there already.
FZ_DEV Facts choose(const Params& p, const Facts& facts, const Scratch* s, const unsigned long long* misses, const Sample& sample) {
  const double exact = p.exact_bits, SHRINK_BITS = 1.44;
  auto count = [&](uint32_t i) { return (double)peek(reinterpret_cast<const uint64_t*>(misses + i)); };
  Facts best = facts;
  double least_cost = count(0) * exact;
  for (uint32_t i = 0; i < s->candidates; i++) {
    const float bound = s->bounds[i];
    const double shrink = (1.0 - (double)bound / facts.bound) * SHRINK_BITS * (double)(sample.groups * GROUP);
    if (shrink >= least_cost) break;
    const double cost = count(1 + i) * exact + shrink;
    if (cost < least_cost) {
      least_cost = cost;
      best.bound = bound;
      best.bound_f32 = bound;
    }
  }
  return best;
}
}  // namespace quantizer
}  // namespace fz

// The range, where it has to be measured, and the facts.
extern "C" __global__ void __launch_bounds__(256, 4) quantizer_bound(FZ_ARGS) {
  if (fz::dead(a)) return;
  using namespace fz::quantizer;
  __shared__ Range warps[32];
  __shared__ float bounds[CANDIDATES];
  __shared__ Facts facts;
  __shared__ uint32_t last;
  const Params& p = fz::params<Params>(a);
  Counts* counts = reinterpret_cast<Counts*>(a.zeroed);
  Scratch* scratch = reinterpret_cast<Scratch*>(a.scratch);
  const bool measured = p.mode != ABS && p.value_base == 0.0;
  Range range = no_range();
  if (measured) {
    range = join(p.value == 4 ? measure<float>(a, p) : measure<double>(a, p), warps);
    if (threadIdx.x == 0) {
      fz::poke(scratch->ranges + 2 * blockIdx.x, Real<double>::bits(range.low));
      fz::poke(scratch->ranges + 2 * blockIdx.x + 1, Real<double>::bits(range.high));
    }
    if (!ends_last(&counts->done[0], &last)) return;
    range = no_range();
    for (uint32_t i = threadIdx.x; i < gridDim.x; i += blockDim.x)
      range.add(Real<double>::value(fz::peek(scratch->ranges + 2 * i)), Real<double>::value(fz::peek(scratch->ranges + 2 * i + 1)));
    range = join(range, warps);
    if (p.switches & PADDED) range.add(0.0, 0.0);
  } else if (blockIdx.x > 0) {
    return;
  }
  const bool strict = p.switches & STRICT;
  if (threadIdx.x == 0) {
    if (p.value == 4) facts = strict ? strict_facts<float>(p, measured, range) : literal_facts<float>(p, measured, range);
    else facts = strict ? strict_facts<double>(p, measured, range) : literal_facts<double>(p, measured, range);
    store_facts(a, facts);
  }
  __syncthreads();
  if (!strict || p.value != 4 || facts.radius == 0) return;
  if (threadIdx.x < CANDIDATES) bounds[threadIdx.x] = aligned_bound(facts.promise, 8 + 2 * threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) keep_candidates(scratch, bounds, facts.bound_f32);
}

// Strict, f32: what every candidate misses of a sample, all at once, and then the choice.
extern "C" __global__ void __launch_bounds__(256, 4) quantizer_bound_step(FZ_ARGS) {
  if (fz::dead(a)) return;
  using namespace fz::quantizer;
  __shared__ uint32_t counted[1 + CANDIDATES];
  __shared__ uint32_t last;
  const Params& p = fz::params<Params>(a);
  Counts* counts = reinterpret_cast<Counts*>(a.zeroed);
  const Scratch* scratch = reinterpret_cast<const Scratch*>(a.scratch);
  const Facts facts = load_facts(fz::output(a, 0));
  // Everything is exact, or there is nothing to choose from.
  if (facts.radius == 0 || scratch->candidates == 0) return;
  const uint32_t bounds = 1 + scratch->candidates;
  Bins<float> bins[1 + CANDIDATES];
#pragma unroll
  for (int c = 0; c <= CANDIDATES; c++) {
    Facts f = facts;
    if (c > 0 && c < (int)bounds) f.bound = scratch->bounds[c > 0 ? c - 1 : 0];
    bins[c] = Bins<float>(p, f);
  }
  if (threadIdx.x <= CANDIDATES) counted[threadIdx.x] = 0;
  __syncthreads();
  const uint8_t* src = fz::address(fz::input(a, 0));
  const Sample sample(fz::length(fz::input(a, 0)));
  uint32_t misses[1 + CANDIDATES] = {};
  const uint64_t warps = (uint64_t)gridDim.x * (blockDim.x / 32);
  for (uint64_t k = (uint64_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; k < sample.groups; k += warps) {
    const float x = fz::load<float>(src + (k * sample.stride * GROUP + (threadIdx.x & 31)) * 4);
#pragma unroll
    for (int c = 0; c <= CANDIDATES; c++)
      if (c < (int)bounds && bins[c].misses(x)) misses[c]++;
  }
#pragma unroll
  for (int c = 0; c <= CANDIDATES; c++)
    if (misses[c]) atomicAdd(&counted[c], misses[c]);
  __syncthreads();
  if (threadIdx.x <= CANDIDATES && counted[threadIdx.x]) atomicAdd(&counts->misses[threadIdx.x], (unsigned long long)counted[threadIdx.x]);
  if (ends_last(&counts->done[1], &last) && threadIdx.x == 0) store_facts(a, choose(p, facts, scratch, counts->misses, sample));
}
