// Stage multilevel, encoder: the plan, and the points of the base section.
#include "multilevel/any_stencil.cuh"
#include "multilevel/base.cuh"
#include "multilevel/keep.cuh"
#include "multilevel/source.cuh"
#include "multilevel/stencil.cuh"

namespace fz {
namespace multilevel {
template <class T> struct BaseMemory {
  // Values of points before they are coded, and restored values.
  T grid[BASE_POINTS];
  BlockCounts counts;
  uint32_t sums[4], stencil;
};

template <class T> FZ_DEV void code_roots(const MultilevelParams& p, const MultilevelMetadata& m, const EncoderMemory& memory, const BaseGrid& grid, const Source<T>& source, BaseMemory<T>& own) {
  const Coder<T> coder(p.threshold, m);
  const Keeper keeper(memory, 0);
  const uint32_t roots = grid.shape.roots();
  const T most = T(MOST_ROOT);
  uint32_t raw = 0;
  // One block calls the function.
  for (uint32_t i = threadIdx.x; i < roots; i += blockDim.x) {
    const T x = source[grid.root_element(i)];
    const Quotient<T> r = coder.quotient(x, coder.of.center, most);
    uint32_t u;
    if (r.coded) {
      int32_t before = 0;
      if (i > 0) {
        const Quotient<T> b = coder.quotient(source[grid.root_element(i - 1)], coder.of.center, most);
        before = b.coded ? b.q : 0;
      }
      u = zigzag(r.q - before);
    } else {
      u = coder.exact(x);
    }
    raw += own.counts.add(0, keeper.put(i, 0, u), Num<T>::BITS);
    own.grid[grid.root(i)] = r.coded ? r.restored : x;
  }
  own.counts.add_raw(raw);
}

// Codes roots that are a section. The quotients of each step start from 0. A warp codes a batch.
template <class T> FZ_DEV void code_many_roots(const MultilevelParams& p, const MultilevelMetadata& m, const EncoderMemory& memory, const BaseGrid& grid, const Source<T>& source, T* coarse, BlockCounts& counts) {
  const Coder<T> coder(p.threshold, m);
  const Keeper keeper(memory, 0);
  const Section s = row_section(ROOTS, grid.shape.roots());
  const uint32_t lane = threadIdx.x & 31, warps = gridDim.x * (blockDim.x >> 5);
  uint32_t raw = 0, busy = 0;
#pragma unroll 1
  for (uint32_t batch = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; batch < s.batches; batch += warps) {
    uint32_t mask = 0;
#pragma unroll 1
    for (uint32_t j = 0; j < BATCH; j++) {
      const uint32_t i = (batch * BATCH + j) * STEP + lane;
      const bool live = i < s.count;
      const T x = live ? source[grid.root_element(i)] : T(0);
      const Quotient<T> r = coder.quotient(x, coder.of.center, T(MOST_ROOT));
      const int32_t q = r.coded ? r.q : 0, before = __shfl_up_sync(ALL, q, 1);
      const uint32_t u = r.coded ? zigzag(q - (lane > 0 ? before : 0)) : coder.exact(x);
      Token t = {0, 0};
      if (live) {
        t = keeper.put(i, 0, u);
        coarse[grid.known(grid.root(i))] = r.coded ? r.restored : x;
      }
      const bool is_busy = __any_sync(ALL, t.token != 0);
      mask |= is_busy ? 1u << j : 0;
      if (live && is_busy) raw += counts.add(0, t, Num<T>::BITS);
      if (live && !is_busy) atomicAdd(&counts.quiet[0], 1u);
    }
    if (lane == 0) memory.masks[batch] = (uint8_t)mask;
    busy += __popc(mask);
  }
  counts.add_raw(raw);
  if (busy && lane == 0) atomicAdd(&counts.busy, busy);
}

// Chooses the stencil of a level of the base section, by all points whose taps are in coarser levels. A group of threads has an axis.
template <class T> FZ_DEV void choose_stencil(const Predictor<T>& of, const BaseGrid& grid, uint32_t level, BaseMemory<T>& own) {
  if (threadIdx.x < 4) own.sums[threadIdx.x] = 0;
  __syncthreads();
  uint32_t axes = 0;
  for (int d = 0; d < 3; d++) axes += grid.shape.has_pass(level, d);
  const uint32_t threads = axes == 1 ? 1024 : axes == 2 ? 512 : 256, group = threadIdx.x / threads;
  int axis = 3;
  for (uint32_t d = 0, before = 0; d < 3; d++)
    if (grid.shape.has_pass(level, (int)d) && before++ == group) axis = (int)d;
  if (axis < 3) {
    const BasePass pass(grid, level, axis, true);
    uint32_t sums[4] = {0, 0, 0, 0};
    for (uint32_t i = threadIdx.x % threads; i < pass.count(); i += threads) {
      uint32_t along;
      const uint32_t place = pass.place(grid, i, along);
      const T x = own.grid[place];
      if (!of.is_bounded(x)) continue;
      T t[8];
      pass.taps(own.grid, place, along, t);
      add_costs(sums, of, x, along + 1, pass.known - along - 1, t);
    }
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
      const uint32_t sum = __reduce_add_sync(ALL, sums[k]);
      if ((threadIdx.x & 31) == 0 && sum) atomicAdd(&own.sums[k], sum);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t best = 0;
    for (uint32_t k = 1; k < 4; k++) best = own.sums[k] < own.sums[best] ? k : best;
    own.stencil = 2 * best + 2;
  }
  __syncthreads();
}

template <class T> FZ_DEV void code_base(const Args& a, BaseMemory<T>& own) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const EncoderMemory memory(a, p);
  const MultilevelMetadata& m = *reinterpret_cast<const MultilevelMetadata*>(address(input(a, 1)));
  const Source<T> source(address(input(a, 0)));
  if (elements(p) == 0) return;
  Plan& plan = *memory.plan;
  // The last block, which is not the first one, because the plan takes long.
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) make_plan(plan, p, m);
  own.counts.clear();
  if (m.differences > 0) return;
  const Shape shape(p, m.axes);
  const uint32_t ends = shape.base_ends(), levels = shape.levels(), roots = shape.roots();
  const BaseGrid grid(shape, ends);
  T* coarse = Buffers<T>(memory.pool, p).level(ends);
  if (roots > BASE_POINTS) {
    code_many_roots(p, m, memory, grid, source, coarse, own.counts);
  } else if (blockIdx.x == 0) {
    for (uint32_t i = threadIdx.x; i < grid.count(); i += blockDim.x) own.grid[i] = source[grid.element(i)];
    __syncthreads();
    code_roots(p, m, memory, grid, source, own);
    const Coder<T> coder(p.threshold, m);
    uint32_t first = roots, raw = 0;
    __syncthreads();
#pragma unroll 1
    for (uint32_t level = levels; level > ends; level--) {
      choose_stencil(coder.of, grid, level, own);
      const uint32_t stencil = own.stencil;
      if (threadIdx.x == 0) plan.stencil[level] = (uint8_t)stencil;
#pragma unroll 1
      for (int axis = 2; axis >= 0; axis--) {
        if (!shape.has_pass(level, axis)) continue;
        const BasePass pass(grid, level, axis, false);
        const Keeper keeper(memory, first);
        for (uint32_t i = threadIdx.x; i < pass.count(); i += blockDim.x) {
          uint32_t along;
          const uint32_t place = pass.place(grid, i, along);
          T t[8], restored;
          pass.taps(own.grid, place, along, t);
          const Predicted<T> guess = predict_with(coder.of, stencil, along + 1, pass.known - along - 1, t);
          const uint32_t u = coder.code(own.grid[place], guess, t[3], restored);
          raw += own.counts.add(guess.context, keeper.put(i, guess.context, u), Num<T>::BITS);
          own.grid[place] = restored;
        }
        first += pass.count();
        __syncthreads();
      }
    }
    own.counts.add_raw(raw);
    if (ends > 0)
      for (uint32_t i = threadIdx.x; i < grid.count(); i += blockDim.x) coarse[grid.known(i)] = own.grid[i];
  }
  own.counts.flush(memory.counts[0]);
}
}  // namespace multilevel
}  // namespace fz

#define MULTILEVEL_BASE_ENCODE(NAME, VALUE)                                                            \
  extern "C" __global__ void __launch_bounds__(1024) multilevel_base_encode_##NAME(FZ_ARGS) {           \
    __shared__ fz::multilevel::BaseMemory<VALUE> own;                                                  \
    if (!fz::multilevel::cancelled_late(a)) fz::multilevel::code_base<VALUE>(a, own);                  \
    const fz::multilevel::EncoderMemory memory(a, fz::params<fz::multilevel::MultilevelParams>(a));                    \
    fz::multilevel::ended_of(memory).add_block();                                                      \
  }
MULTILEVEL_BASE_ENCODE(f32, float)
MULTILEVEL_BASE_ENCODE(f64, double)
