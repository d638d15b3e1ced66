// Stage multilevel, decoder: decodes the runs of differences, sums the differences along the axes, and restores the values.
#include "common/scan.cuh"
#include "multilevel/decoder.cuh"
#include "multilevel/differences.cuh"
#include "multilevel/run_batches.cuh"

namespace fz {
namespace multilevel {
// The carry of a chunk: the sum since the last start of a row. `starts` is 1 if a row starts in the chunk.
struct Carry {
  uint32_t sum, starts;
};
struct DifferenceMemory : DecoderMemory {
  uint32_t* sums;
  Carry* carries;
  bool coded;
  FZ_DEV DifferenceMemory(const Args& a, const MultilevelParams& p) : DecoderMemory(a, p) {
    sums = reinterpret_cast<uint32_t*>(values);
    carries = reinterpret_cast<Carry*>(values + up(4 * elements(p)));
    coded = is_open(a, *this, p) && metadata_of(a).differences > 0;
  }
};

FZ_DEV void decode_runs(const Args& a, RunRing* rings) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const DifferenceMemory memory(a, p);
  if (!memory.coded) return;
  const Section& s = memory.plan->of[0];
  const Coding& c = memory.state->of[0];
  const DecoderSet& set = memory.set(0, 0);
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = gridDim.x * (blockDim.x >> 5), first = warp * gridDim.x + blockIdx.x;
  bool good = true;
#pragma unroll 1
  for (uint32_t number = first; number < c.runs; number += warps) {
    RunDecoder run(run_words(a, memory, c, c.mask_runs + number), rings[warp]);
    RunBatches<false> walk(s, c, memory.masks, RunSteps(s, c, memory.starts + c.first_run, number));
    uint32_t batch, mask;
#pragma unroll 1
    while (walk.next(batch, mask)) {
      const uint32_t own = memory.masks[batch] & 15;
#pragma unroll 1
      for (uint32_t j = 0; j < BATCH; j++) {
        if (!(mask >> j & 1)) continue;
        const uint32_t i = (batch * BATCH + j) * STEP + lane;
        const bool live = i < s.count;
        const uint32_t t = run.symbol(set.table(own), live);
        run.bad |= t >= PATTERN;
        uint32_t u = t;
        if (__any_sync(ALL, t >= 16)) u = code_of(min(t, PATTERN - 1), (uint32_t)run.raw(raw_bits(min(t, PATTERN - 1), 0)));
        if (live) memory.sums[i] = (uint32_t)unzigzag(u);
      }
    }
    good &= run.is_finished();
  }
  // All differences of batches of class 0 are 0.
#pragma unroll 1
  for (uint32_t batch = first; batch < s.batches; batch += warps) {
    if (memory.masks[batch]) continue;
    for (uint32_t i = batch * BATCH * STEP + lane; i < min(s.count, (batch + 1) * BATCH * STEP); i += 32) memory.sums[i] = 0;
  }
  if (!good && lane == 0) corrupt(a);
}

// The operation of the scans: it joins a carry with the carry before it. A carry with a start of a row discards the one before.
struct Follow {
  FZ_DEV uint64_t operator()(uint64_t next, uint64_t before) const {
    return next >> 32 ? next : (before & 0xffffffff00000000ull) | (uint32_t)((uint32_t)before + (uint32_t)next);
  }
};
FZ_DEV uint64_t element_carry(const DifferenceMemory& memory, uint32_t i, uint32_t n, uint32_t width) {
  return i < n ? (uint64_t)(i % width == 0) << 32 | memory.sums[i] : 0;
}

// Sums along x: the first launch computes the carries of chunks, the second one the sums.
FZ_DEV void sum_rows(const Args& a, uint64_t* words) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const DifferenceMemory memory(a, p);
  if (!memory.coded) return;
  const uint32_t n = (uint32_t)elements(p), width = (uint32_t)p.dims[0];
  const bool sums = a.tag & 255;
  const Chunks chunks(n);
  __shared__ uint64_t total;
  uint64_t before = 0;
  if (sums) {
    uint64_t own = 0;
    const uint32_t each = (chunks.first + blockDim.x - 1) / blockDim.x;
    for (uint32_t k = threadIdx.x * each; k < min(chunks.first, (threadIdx.x + 1) * each); k++)
      own = Follow()((uint64_t)memory.carries[k].starts << 32 | memory.carries[k].sum, own);
    own = block_scan_to<Follow>(own, words);
    if (threadIdx.x == blockDim.x - 1) total = own;
    __syncthreads();
    before = total;
    __syncthreads();
  }
#pragma unroll 1
  for (uint32_t chunk = chunks.first; chunk < chunks.end; chunk++) {
    if (!sums) before = 0;
    for (uint32_t k = 0; k < CHUNK; k += blockDim.x) {
      const uint32_t i = chunk * CHUNK + k + threadIdx.x;
      const uint64_t upto = Follow()(block_scan_to<Follow>(element_carry(memory, i, n, width), words), before);
      if (sums && i < n) memory.sums[i] = (uint32_t)upto;
      if (threadIdx.x == blockDim.x - 1) total = upto;
      __syncthreads();
      before = total;
      __syncthreads();
    }
    if (!sums && threadIdx.x == 0) memory.carries[chunk] = {(uint32_t)before, (uint32_t)(before >> 32)};
  }
}

// Sums along y or z. A thread has a line.
FZ_DEV void sum_lines(const Args& a) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const DifferenceMemory memory(a, p);
  const uint32_t axis = a.tag & 255;
  if (!memory.coded || metadata_of(a).differences <= axis) return;
  const uint32_t nx = (uint32_t)p.dims[0], ny = (uint32_t)p.dims[1], nz = (uint32_t)p.dims[2], plane = nx * ny;
  const uint32_t lines = axis == 1 ? nx * nz : plane, steps = axis == 1 ? ny : nz, apart = axis == 1 ? nx : plane;
#pragma unroll 1
  for (uint32_t line = blockIdx.x * blockDim.x + threadIdx.x; line < lines; line += gridDim.x * blockDim.x) {
    uint32_t* at = memory.sums + (axis == 1 ? line / nx * plane + line % nx : line);
    uint32_t sum = 0;
#pragma unroll 8
    for (uint32_t k = 0; k < steps; k++) {
      sum += at[(uint64_t)k * apart];
      at[(uint64_t)k * apart] = sum;
    }
  }
}

template <class T> FZ_DEV void restore(const Args& a) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const DifferenceMemory memory(a, p);
  if (!memory.coded) return;
  const MultilevelMetadata& m = metadata_of(a);
  const Target<T> target(output(a, 0), elements(p));
  const T step = Num<T>::from(m.step), center = Num<T>::from(m.center);
  const uint32_t n = (uint32_t)elements(p);
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (uint64_t)gridDim.x * blockDim.x)
    target.put(i, Num<T>::fma(Num<T>::integer((int32_t)memory.sums[i]), step, center));
}

template <class T> FZ_DEV void put_exact(const Args& a) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const DifferenceMemory memory(a, p);
  if (!memory.coded) return;
  const uint8_t* list = address(input(a, 0)) + memory.state->head + 2 * memory.state->of[0].list;
  const uint32_t n = (uint32_t)elements(p), count = load<uint32_t>(list);
  const uint8_t *places = list + 4, *values = places + 4ull * count;
  const Target<T> target(output(a, 0), n);
  bool good = true;
  for (uint32_t k = blockIdx.x * blockDim.x + threadIdx.x; k < count; k += gridDim.x * blockDim.x) {
    const uint32_t i = load<uint32_t>(places + 4ull * k);
    good &= i < n && (k == 0 || load<uint32_t>(places + 4ull * k - 4) < i);
    if (i < n) target.put(i, Num<T>::value(load<typename Num<T>::Bits>(values + (uint64_t)k * sizeof(T))));
  }
  if (!good) corrupt(a);
}
}  // namespace multilevel
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256) multilevel_decode_differences(FZ_ARGS) {
  __shared__ fz::multilevel::RunRing rings[8];
  if (fz::multilevel::skips_of(a).skips() || fz::cancelled(a)) return;
  fz::multilevel::decode_runs(a, rings);
}
extern "C" __global__ void __launch_bounds__(256) multilevel_sum_rows(FZ_ARGS) {
  __shared__ uint64_t words[32];
  if (fz::multilevel::skips_of(a).skips() || fz::cancelled(a)) return;
  fz::multilevel::sum_rows(a, words);
}
extern "C" __global__ void __launch_bounds__(256) multilevel_sum_lines(FZ_ARGS) {
  if (fz::multilevel::skips_of(a).skips() || fz::cancelled(a)) return;
  fz::multilevel::sum_lines(a);
}

// The grid behind `multilevel_put_exact` is that of a pass, which calls `cancelled_late` too.
#define MULTILEVEL_RESTORE(NAME, VALUE)                                                       \
  extern "C" __global__ void __launch_bounds__(256) multilevel_restore_##NAME(FZ_ARGS) {      \
    if (fz::multilevel::skips_of(a).skips() || fz::cancelled(a)) return;                      \
    fz::multilevel::restore<VALUE>(a);                                                        \
  }                                                                                           \
  extern "C" __global__ void __launch_bounds__(256) multilevel_put_exact_##NAME(FZ_ARGS) {    \
    if (fz::multilevel::skips_of(a).skips() || fz::multilevel::cancelled_late(a)) return;     \
    fz::multilevel::put_exact<VALUE>(a);                                                      \
  }
MULTILEVEL_RESTORE(f32, float)
MULTILEVEL_RESTORE(f64, double)
