// Stage multilevel, decoder: the points of the base section, by one warp.
#pragma once
#include "multilevel/base.cuh"
#include "multilevel/decoder.cuh"

namespace fz {
namespace multilevel {
template <class T> struct BaseRoom {
  T grid[BASE_POINTS];
};

// A step of roots behind one of quotient `before`, which becomes that of the last one.
template <class T> FZ_DEV T decode_root(RunDecoder& run, const DecoderSet& set, const Patterns& patterns, const Predictor<T>& of, bool live, uint32_t& before) {
  const uint32_t lane = threadIdx.x & 31;
  const Decoded d = decode_token(run, set, patterns, 0, live, Num<T>::BITS);
  // Sums of differences; an exact value starts from 0.
  const uint32_t own = live && !d.exact ? (uint32_t)unzigzag(d.u) : 0, upto = warp_sum_to(own);
  const uint32_t exact = __ballot_sync(ALL, live && d.exact) & (0xffffffffu >> (31 - lane));
  const uint32_t last = exact ? 31 - __clz((int)exact) : 0, start = __shfl_sync(ALL, upto, last);
  const uint32_t q = exact ? upto - start : before + upto;
  before = __shfl_sync(ALL, q, 31);
  return d.exact ? Num<T>::value(d.bits) : Num<T>::fma(Num<T>::integer((int32_t)q), of.step, of.center);
}

template <class T> FZ_DEV void decode_roots(RunDecoder& run, const DecoderSet& set, const Patterns& patterns, const Predictor<T>& of, const BaseGrid& grid, T* values) {
  const uint32_t lane = threadIdx.x & 31, roots = grid.shape.roots();
  uint32_t carry = 0;
#pragma unroll 1
  for (uint32_t from = 0; from < roots; from += STEP) {
    const uint32_t i = from + lane;
    const bool live = i < roots;
    const T value = decode_root(run, set, patterns, of, live, carry);
    if (live) values[grid.root(i)] = value;
  }
  __syncwarp();
}

template <class T> FZ_DEV bool decode_base(const Args& a, const DecoderMemory& memory, const MultilevelParams& p, BaseRoom<T>& room, RunRing& ring) {
  const Plan& plan = *memory.plan;
  const Shape& shape = plan.shape;
  const MultilevelMetadata& m = metadata_of(a);
  const uint32_t lane = threadIdx.x & 31, ends = plan.base_ends;
  const Predictor<T> of(p.threshold, m);
  const Patterns patterns(*memory.state);
  const DecoderSet& set = memory.set(0, 0);
  const BaseGrid grid(shape, ends);
  T* coarse = ends > 0 ? Buffers<T>(memory.values, p).level(ends) : nullptr;
  RunDecoder run(run_words(a, memory, memory.state->of[0], 0), ring);
  decode_roots(run, set, patterns, of, grid, room.grid);
#pragma unroll 1
    for (uint32_t level = plan.levels; level > ends; level--) {
      const uint32_t stencil = stencil_at(m, level);
#pragma unroll 1
      for (int axis = 2; axis >= 0; axis--) {
        if (!shape.has_pass(level, axis)) continue;
        const BasePass pass(grid, level, axis, false);
        const uint32_t count = pass.count();
#pragma unroll 1
        for (uint32_t from = 0; from < count; from += STEP) {
          const bool live = from + lane < count;
          uint32_t along;
          const uint32_t place = pass.place(grid, live ? from + lane : 0, along);
          T t[8];
          pass.taps(room.grid, place, along, t);
          const Predicted<T> guess = of.predict_any(stencil, along + 1, pass.known - along - 1, t);
          const T value = decode_value(run, set, patterns, of, guess, t[3], live);
          if (live) room.grid[place] = value;
        }
        __syncwarp();
      }
    }
    const Target<T> target(output(a, 0), elements(p));
    for (uint32_t i = lane; i < grid.count(); i += 32) {
      if (ends > 0) coarse[grid.known(i)] = room.grid[i];
      else target.put(i, room.grid[i]);
    }
  const bool bad = __any_sync(ALL, run.bad);
  return run.is_finished() && !bad;
}
}  // namespace multilevel
}  // namespace fz
