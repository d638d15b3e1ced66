// Stage multilevel, encoder: differences of rounded values, by the rules of src/stages/multilevel/differences.rs.
#include "common/scan.cuh"
#include "multilevel/differences.cuh"
#include "multilevel/keep.cuh"
#include "multilevel/source.cuh"
#include "multilevel/stencil.cuh"

namespace fz {
namespace multilevel {
FZ_DEV const MultilevelMetadata& resolved(const Args& a) { return *reinterpret_cast<const MultilevelMetadata*>(address(input(a, 1))); }

// Writes the quotients. An exact value has the quotient of the element before it in its step.
template <class T> FZ_DEV void find_quotients(const Args& a) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const EncoderMemory memory(a, p);
  const MultilevelMetadata& m = resolved(a);
  const uint32_t n = (uint32_t)elements(p), lane = threadIdx.x & 31;
  if (n == 0 || m.differences == 0) return;
  const Coder<T> coder(p.threshold, m);
  const Source<T> source(address(input(a, 0)));
  int32_t* quotients = reinterpret_cast<int32_t*>(memory.pool);
  const Chunks chunks(n);
  __shared__ uint32_t exact;
#pragma unroll 1
  for (uint32_t chunk = chunks.first; chunk < chunks.end; chunk++) {
    if (threadIdx.x == 0) exact = 0;
    __syncthreads();
    for (uint32_t k = 0; k < CHUNK; k += blockDim.x) {
      const uint32_t i = chunk * CHUNK + k + threadIdx.x;
      Quotient<T> r = {0, T(0), true};
      if (i < n) r = coder.quotient(source[i], coder.of.center, T(MOST_DIFFERENCE));
      const uint32_t coded = __ballot_sync(ALL, r.coded), before = coded & (0xffffffffu >> (31 - lane));
      const int32_t last = __shfl_sync(ALL, r.q, before ? 31 - __clz((int)before) : 0);
      if (i < n) quotients[i] = before ? last : 0;
      if (lane == 0 && coded != ALL) atomicAdd(&exact, 32 - __popc(coded));
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      memory.exact[chunk] = exact;
      if (exact) atomicAdd(&memory.counts[0].exact, exact);
    }
  }
}

// The difference at element `i` along the first `axes` axes.
FZ_DEV int32_t difference_at(const int32_t* q, const Shape& shape, uint32_t axes, uint32_t i) {
  const uint32_t x = i % shape.n[0], row = i / shape.n[0], plane = shape.n[0] * shape.n[1];
  const bool has_x = x > 0, has_y = axes > 1 && row % shape.n[1] > 0, has_z = axes > 2 && row >= shape.n[1];
  auto line = [&](uint32_t at) { return q[at] - (has_x ? q[at - 1] : 0); };
  int32_t d = line(i);
  if (has_y) d -= line(i - shape.n[0]);
  if (has_z) d -= line(i - plane);
  if (has_y && has_z) d += line(i - plane - shape.n[0]);
  return d;
}

FZ_DEV uint32_t class_of(uint32_t sum) {
  if (sum == 0) return 0;
  return (uint32_t)max(1, min(15, 28 - __clz((int)sum)));
}

// A warp codes a batch.
FZ_DEV void code_differences(const Args& a, BlockCounts& counts) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const EncoderMemory memory(a, p);
  const MultilevelMetadata& m = resolved(a);
  if (elements(p) == 0 || m.differences == 0) return;
  counts.clear();
  const Plan& plan = *memory.plan;
  const Section& s = plan.of[0];
  const Keeper keeper(memory, 0);
  const int32_t* quotients = reinterpret_cast<const int32_t*>(memory.pool);
  const uint32_t lane = threadIdx.x & 31, warps = gridDim.x * (blockDim.x >> 5);
  uint32_t raw = 0;
#pragma unroll 1
  for (uint32_t batch = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; batch < s.batches; batch += warps) {
    int32_t d[BATCH];
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t j = 0; j < BATCH; j++) {
      const uint32_t i = (batch * BATCH + j) * STEP + lane;
      d[j] = i < s.count ? difference_at(quotients, plan.shape, m.differences, i) : 0;
      sum += (uint32_t)(d[j] < 0 ? -d[j] : d[j]);
    }
    const uint32_t own = class_of(__reduce_add_sync(ALL, sum));
#pragma unroll
    for (uint32_t j = 0; j < BATCH; j++) {
      const uint32_t i = (batch * BATCH + j) * STEP + lane;
      const bool live = i < s.count;
      Token t = {0, 0};
      if (live) t = keeper.put(i, own, zigzag(d[j]));
      if (own == 0) continue;
      // Most tokens are 0, so one lane adds their number.
      const uint32_t zeros = __ballot_sync(ALL, live && t.token == 0);
      if (live && t.token > 0) raw += counts.add(own, t, 0);
      if (zeros && lane == 0) atomicAdd(&counts.of[own * SYMBOLS], (uint32_t)__popc(zeros));
    }
    if (lane != 0) continue;
    memory.masks[batch] = (uint8_t)own;
    if (own == 0) atomicAdd(&counts.quiet[0], min(BATCH * STEP, s.count - batch * BATCH * STEP));
    else atomicAdd(&counts.busy, (uint32_t)__popc(s.all(batch)));
  }
  counts.add_raw(raw);
  counts.flush(memory.counts[0]);
}

// Writes the list of exact values after the runs.
template <class T> FZ_DEV void list_exact(const Args& a, uint32_t* words) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const EncoderMemory memory(a, p);
  const MultilevelMetadata& m = resolved(a);
  const uint32_t n = (uint32_t)elements(p);
  if (n == 0 || m.differences == 0 || memory.state->stored) return;
  const Coder<T> coder(p.threshold, m);
  const Source<T> source(address(input(a, 0)));
  const Out out(output(a, 1));
  const uint64_t list = memory.state->head + 2 * memory.state->of[0].list;
  const uint32_t all = memory.counts[0].exact;
  if (blockIdx.x == 0 && threadIdx.x == 0) out.put<uint32_t>(list, all);
  if (all == 0) return;
  const Chunks chunks(n);
  uint32_t before = 0;
  for (uint32_t k = threadIdx.x; k < chunks.first; k += blockDim.x) before += memory.exact[k];
  __shared__ uint32_t total;
  before = block_sum_to(before, words);
  if (threadIdx.x == blockDim.x - 1) total = before;
  __syncthreads();
  before = total;
  __syncthreads();
#pragma unroll 1
  for (uint32_t chunk = chunks.first; chunk < chunks.end; chunk++) {
    if (memory.exact[chunk] == 0) continue;
    for (uint32_t k = 0; k < CHUNK; k += blockDim.x) {
      const uint32_t i = chunk * CHUNK + k + threadIdx.x;
      const bool exact = i < n && !coder.quotient(source[i], coder.of.center, T(MOST_DIFFERENCE)).coded;
      const uint32_t upto = block_sum_to((uint32_t)exact, words), e = before + upto - exact;
      if (exact) {
        out.put<uint32_t>(list + 4 + 4ull * e, i);
        out.put<typename Num<T>::Bits>(list + 4 + 4ull * all + (uint64_t)e * sizeof(T), Num<T>::bits(source[i]));
      }
      if (threadIdx.x == blockDim.x - 1) total = upto;
      __syncthreads();
      before += total;
      __syncthreads();
    }
  }
}
}  // namespace multilevel
}  // namespace fz

#define MULTILEVEL_DIFFERENCES(NAME, VALUE)                                                       \
  extern "C" __global__ void __launch_bounds__(256) multilevel_quotients_##NAME(FZ_ARGS) {        \
    if (fz::multilevel::skips_of(a).skips() || fz::cancelled(a)) return;                          \
    fz::multilevel::find_quotients<VALUE>(a);                                                     \
  }                                                                                               \
  extern "C" __global__ void __launch_bounds__(256) multilevel_list_##NAME(FZ_ARGS) {             \
    __shared__ uint32_t words[32];                                                                \
    if (fz::cancelled(a)) return;                                                                 \
    fz::multilevel::list_exact<VALUE>(a, words);                                                  \
  }
MULTILEVEL_DIFFERENCES(f32, float)
MULTILEVEL_DIFFERENCES(f64, double)

extern "C" __global__ void __launch_bounds__(256) multilevel_differences(FZ_ARGS) {
  __shared__ fz::multilevel::BlockCounts counts;
  if (fz::multilevel::skips_of(a).skips() || fz::cancelled(a)) return;
  fz::multilevel::code_differences(a, counts);
}
