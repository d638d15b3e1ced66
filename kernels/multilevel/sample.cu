// Stage multilevel: the numbers of a call, from the bound, the range, and a sample, by the rules of
// src/stages/multilevel/resolve.rs. The grid has one block.
#include "common/scan.cuh"
#include "multilevel/choice.cuh"
#include "multilevel/source.cuh"
#include "multilevel/stencil.cuh"
#include "quantizer/bins.cuh"

namespace fz {
namespace multilevel {
constexpr uint32_t SLOTS = 2 * SAMPLE, TWICE = 1u << 31;
template <class T> struct SampleMemory {
  // A hash table of values that are not bounded: the first element of the sample with the value, and `TWICE` if there is another one.
  uint32_t slots[SLOTS];
  uint32_t first_bounded, found, unbounded;
  int32_t least;
  unsigned long long most;
};

// The exponent of the lowest bit that is set in a number other than 0.
template <class T> FZ_DEV int32_t lowest_bit(T x) {
  constexpr int MANTISSA = Num<T>::MANTISSA;
  const uint64_t bits = Num<T>::bits(x);
  const int exponent = (int)(bits >> MANTISSA & (sizeof(T) == 4 ? 0xff : 0x7ff));
  const uint64_t low = bits & ((1ull << MANTISSA) - 1), mantissa = exponent ? low | 1ull << MANTISSA : low;
  return __ffsll((long long)mantissa) - 1 + (exponent ? exponent : 1) - Num<T>::BIAS - MANTISSA;
}

// The numbers that do not depend on the sample.
template <class T> FZ_DEV MultilevelMetadata from_bound(const Args& a, const MultilevelParams& p, bool& measured) {
  const quantizer::BoundMetadata bound = quantizer::load_aligned<quantizer::BoundMetadata>(input(a, 1), 0);
  const double* range = reinterpret_cast<const double*>(address(input(a, 1)) + sizeof bound);
  const double infinity = __longlong_as_double(0x7ff0000000000000ll);
  measured = p.measured != 0 && range[0] <= range[1];
  MultilevelMetadata m;
  memset(&m, 0, sizeof m);
  m.low = measured ? range[0] : -infinity;
  m.high = measured ? range[1] : infinity;
  const bool constant = p.relative != 0 && measured && m.low == m.high && m.high != 0.0;
  // A lower limit of zero is +0 and an upper one -0, so that minimum and maximum of zeros have one result.
  if (m.low == 0.0) m.low = 0.0;
  if (m.high == 0.0) m.high = -0.0;
  m.base = bound.base;
  if (!constant && bound.radius > 0) {
    m.bound = bound.promise;
    const double most = __longlong_as_double(sizeof(T) == 4 ? 0x47c0000000000000ll : 0x7fc0000000000000ll);
    m.step = 2.0 * (double)Num<T>::from(bound.promise < most ? bound.promise : most);
  }
  return m;
}

template <class T> FZ_DEV void sample(const Args& a, SampleMemory<T>& own) {
  typedef Num<T> N;
  const MultilevelParams& p = params<MultilevelParams>(a);
  const uint32_t n = (uint32_t)(p.dims[0] * p.dims[1] * p.dims[2]), stride = sample_stride(n, SAMPLE), tid = threadIdx.x;
  const Source<T> source(address(input(a, 0)));
  const T threshold = N::from(p.threshold);
  const uint32_t count = n ? min(SAMPLE, (n - 1) / stride + 1) : 0;
  auto value = [&](uint32_t i) { return source[(uint64_t)i * stride]; };
  if (tid == 0) {
    own.first_bounded = own.found = ~0u;
    own.unbounded = 0;
    own.least = 0x7fffffff;
    own.most = 0;
  }
  for (uint32_t i = tid; i < SLOTS; i += blockDim.x) own.slots[i] = 0;
  __syncthreads();
  for (uint32_t i = tid; i < count; i += blockDim.x) {
    const T x = value(i);
    if (N::abs(x) < threshold) {
      atomicMin(&own.first_bounded, i);
      if (x != T(0)) {
        atomicMin(&own.least, lowest_bit(x));
        atomicMax(&own.most, (unsigned long long)__double_as_longlong((double)N::abs(x)));
      }
      continue;
    }
    own.unbounded = 1;
    const uint64_t bits = N::bits(x);
    uint32_t slot = (uint32_t)(bits ^ bits >> 32) * 2654435761u >> 19;
    static_assert(SLOTS == 1 << 13, "bits of a hash");
    for (;;) {
      const uint32_t there = atomicCAS(&own.slots[slot], 0u, i + 1);
      if (there == 0) break;
      if (N::bits(value((there & ~TWICE) - 1)) == bits) {
        atomicOr(&own.slots[slot], TWICE);
        break;
      }
      slot = (slot + 1) % SLOTS;
    }
  }
  __syncthreads();
  bool measured;
  MultilevelMetadata m = from_bound<T>(a, p, measured);
  // The patterns are the values that occur twice, in the order of the sample.
  if (own.unbounded)
    for (uint32_t k = 0; k < PATTERNS; k++) {
      for (uint32_t i = tid; i < count; i += blockDim.x) {
        const T x = value(i);
        if (N::abs(x) < threshold) continue;
        const uint64_t bits = N::bits(x);
        bool known = false;
        for (uint32_t j = 0; j < k; j++) known |= m.pattern[j] == bits;
        if (known) continue;
        uint32_t slot = (uint32_t)(bits ^ bits >> 32) * 2654435761u >> 19;
        while (N::bits(value((own.slots[slot] & ~TWICE) - 1)) != bits) slot = (slot + 1) % SLOTS;
        if (own.slots[slot] & TWICE) atomicMin(&own.found, i);
      }
      __syncthreads();
      const uint32_t found = own.found;
      __syncthreads();
      if (found == ~0u) break;
      if (tid == 0) own.found = ~0u;
      m.pattern[k] = N::bits(value(found));
      m.patterns = (uint8_t)(k + 1);
      __syncthreads();
    }
  if (tid != 0) return;
  if (measured) m.center = (double)(N::from(m.low) * T(0.5) + N::from(m.high) * T(0.5));
  else m.center = own.first_bounded != ~0u ? (double)value(own.first_bounded) : 0.0;
  if (own.least >= -1000 && own.least < 1000 && m.step > 0.0) {
    const double power = __longlong_as_double((long long)(own.least + 1023) << 52);
    if (__longlong_as_double((long long)own.most) / power < (double)MOST_QUOTIENT && power >= m.step) {
      m.step = power;
      m.flags = LATTICE;
      m.center = (double)Predictor<T>(p.threshold, m).on_lattice(N::from(m.center));
    }
  }
  Choice& choice = *reinterpret_cast<Choice*>(a.scratch);
  choice.metadata = m;
  for (int k = 0; k < 3; k++) choice.differences[k] = 0;
  choice.unfit = 0;
}
}  // namespace multilevel
}  // namespace fz

#define MULTILEVEL_SAMPLE(NAME, VALUE)                                                            \
  extern "C" __global__ void __launch_bounds__(1024) multilevel_sample_##NAME(FZ_ARGS) {          \
    __shared__ fz::multilevel::SampleMemory<VALUE> own;                                           \
    if (fz::cancelled(a)) return;                                                                 \
    fz::multilevel::sample<VALUE>(a, own);                                                        \
  }
MULTILEVEL_SAMPLE(f32, float)
MULTILEVEL_SAMPLE(f64, double)
