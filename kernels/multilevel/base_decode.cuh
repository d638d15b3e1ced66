// Stage multilevel, decoder: the points of the base section. A block predicts the points of a pass, and its first warp decodes them.
#pragma once
#include "multilevel/base.cuh"
#include "multilevel/decoder.cuh"

namespace fz {
namespace multilevel {
template <class T, uint32_t WARPS> struct BaseRoom {
  // The rings of warps that do not decode are not used.
  union {
    DecoderSet set;
    RunRing idle[WARPS];
  };
  // Points of a pass contain their predictions until they are decoded.
  T grid[BASE_POINTS];
  Values<T> values;
  // For each point of a pass its place in the grid, and its context from bit 12 on.
  uint16_t points[BASE_POINTS / 2];
};
static_assert(BASE_POINTS <= 1 << 12 && CONTEXTS <= 1 << 4, "a point has 16 bits");

// Decodes a step of roots. `before` is the quotient of the root before, and becomes that of the last root.
template <class T> FZ_DEV T decode_root(RunDecoder& run, const DecoderSet& set, const State& state, const Predictor<T>& of, bool live, uint32_t& before) {
  const uint32_t lane = threadIdx.x & 31;
  const Decoded d = decode_token(run, set.table(0), state, live, Num<T>::BITS);
  // Quotients are sums of differences, which start from 0 at an exact value.
  const uint32_t own = live && !d.exact ? (uint32_t)unzigzag(d.u) : 0, upto = warp_sum_to(own);
  const uint32_t exact = __ballot_sync(ALL, live && d.exact) & (0xffffffffu >> (31 - lane));
  const uint32_t last = exact ? 31 - __clz((int)exact) : 0, start = __shfl_sync(ALL, upto, last);
  const uint32_t q = exact ? upto - start : before + upto;
  before = __shfl_sync(ALL, q, 31);
  return d.exact ? Num<T>::value(d.bits) : Num<T>::fma(Num<T>::integer((int32_t)q), of.step, of.center);
}

template <class T> FZ_DEV void decode_roots(RunDecoder& run, const DecoderSet& set, const State& state, const Predictor<T>& of, const BaseGrid& grid, T* values) {
  const uint32_t lane = threadIdx.x & 31, roots = grid.shape.roots();
  uint32_t carry = 0;
#pragma unroll 1
  for (uint32_t from = 0; from < roots; from += STEP) {
    const uint32_t i = from + lane;
    const bool live = i < roots;
    const T value = decode_root(run, set, state, of, live, carry);
    if (live) values[grid.root(i)] = value;
  }
  __syncwarp();
}

// `expect` for a point with `left` and `right` points of the level beside it.
template <int STENCIL, class T> FZ_DEV Predicted<T> expect_in_base(const Predictor<T>& of, uint32_t left, uint32_t right, const T (&t)[8]) {
  Guess<T> g = inside<STENCIL>(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7]);
  if (left < 4 || right < 4) g = near_end<STENCIL>(g, left, right, t[1], t[2], t[3], t[4], t[5], t[6], of.step);
  return expect(of, g, t[3], t[4], right > 0);
}

// All threads of a block must call the function. It returns false in the first warp if the run is corrupt.
template <class T, uint32_t WARPS> FZ_DEV bool decode_base(const Args& a, const DecoderMemory& memory, const MultilevelParams& p, BaseRoom<T, WARPS>& room, RunRing& ring) {
  const Plan& plan = *memory.plan;
  const Shape& shape = plan.shape;
  const MultilevelMetadata& m = metadata_of(a);
  const uint32_t lane = threadIdx.x & 31, ends = plan.base_ends;
  const bool decodes = threadIdx.x < 32;
  const Predictor<T> of(p.threshold, m);
  const State& state = *memory.state;
  const DecoderSet& set = room.set;
  const BaseGrid grid(shape, ends);
  T* coarse = ends > 0 ? Buffers<T>(memory.values, p).level(ends) : nullptr;
  RunDecoder run(run_words(a, memory, memory.state->of[0], 0), decodes ? ring : room.idle[threadIdx.x >> 5]);
  __syncthreads();
  copy_set(room.set, memory.set(0, 0));
  room.values.fill();
  __syncthreads();
  if (decodes) decode_roots(run, set, state, of, grid, room.grid);
  __syncthreads();
#pragma unroll 1
  for (uint32_t level = plan.levels; level > ends; level--) {
    const uint32_t stencil = stencil_at(m, level);
#pragma unroll 1
    for (int axis = 2; axis >= 0; axis--) {
      if (!shape.has_pass(level, axis)) continue;
      const BasePass pass(grid, level, axis, false);
      const uint32_t count = pass.count();
      for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
        uint32_t along;
        const uint32_t place = pass.place(grid, i, along);
        T t[8];
        pass.taps(room.grid, place, along, t);
        const uint32_t left = along + 1, right = pass.known - left;
        const Predicted<T> guess = stencil == 8 ? expect_in_base<8>(of, left, right, t) : stencil == 6 ? expect_in_base<6>(of, left, right, t)
                                   : stencil == 4 ? expect_in_base<4>(of, left, right, t) : expect_in_base<2>(of, left, right, t);
        room.grid[place] = guess.p;
        room.points[i] = (uint16_t)(place | guess.context << 12);
      }
      __syncthreads();
      // The point of the next step and its table are loaded before they are required. Lanes without a point have the first one.
      uint32_t point = room.points[lane < count ? lane : 0], table = set.place[point >> 12], unit = run.look(set.at(table));
#pragma unroll 1
      for (uint32_t from = 0; decodes && from < count; from += STEP) {
        const uint32_t place = point & (BASE_POINTS - 1), next = from + STEP + lane;
        const uint32_t ahead = room.points[next < count ? next : 0], table_ahead = set.place[ahead >> 12];
        const bool live = from + lane < count;
        // Another lane may write the place of a lane without a point.
        const T guess = live ? room.grid[place] : T(0);
        const bool fill = point >> 12 == FILL2;
        run.more();
        const T value = decode_value(run, unit, set.at(table), state, room.values, of, fill ? Taken::RAW : 0, Expected<T>{guess, fill ? FILL_CODE : 0, 0, live}, [&] { unit = run.look(set.at(table_ahead)); });
        if (live) room.grid[place] = value;
        point = ahead;
        table = table_ahead;
      }
      __syncthreads();
    }
  }
  const Target<T> target(output(a, 0), elements(p));
  for (uint32_t i = threadIdx.x; i < grid.count(); i += blockDim.x) {
    if (ends > 0) coarse[grid.known(i)] = room.grid[i];
    else target.put(i, room.grid[i]);
  }
  return run.is_finished() || !decodes;
}
}  // namespace multilevel
}  // namespace fz
