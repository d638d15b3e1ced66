// Stage multilevel, decoder: the runs and the quiet steps of a pass.
#pragma once
#include "multilevel/decoder.cuh"
#include "multilevel/group.cuh"
#include "multilevel/run_batches.cuh"

namespace fz {
namespace multilevel {
// Where the points of a level go: to the known points of the level below, or to the array.
template <class T> struct RowTarget {
  T* at;
  // From a row to the next one, and from a plane.
  uint32_t per_y, per_z;
  // An array that is not aligned, or too short.
  const Target<T>* array;
  bool pairs;
  FZ_DEV RowTarget(const Shape& shape, const Known<T>* finer, const Target<T>& target) : array(nullptr) {
    const uint32_t length = finer ? finer->length : shape.n[0], count = finer ? finer->rows : shape.n[1];
    at = finer ? finer->at : target.at;
    per_y = (finer && shape.has(1) ? 2 : 1) * length;
    per_z = (finer && shape.has(2) ? 2 : 1) * length * count;
    if (!finer && !target.whole) array = &target;
    pairs = length % 2 == 0 && aligned(at, 2 * sizeof(T));
  }
  // A known point and the one behind it, from `place` on.
  FZ_DEV void put(uint32_t place, T even, T odd) const {
    if (array) {
      array->put(place, even);
      array->put(place + 1, odd);
    } else {
      put_pair(at + place, pairs, even, odd);
    }
  }
  FZ_DEV void put_last(uint32_t place, T even) const {
    if (array) array->put(place, even);
    else at[place] = even;
  }
};

// Batches with steps that are in no run; warps take eight of them at a time.
struct QuietBatches {
  const Section& s;
  const uint8_t* masks;
  uint32_t base, apart, batches, own, pending;
  FZ_DEV QuietBatches(const Section& section, const uint8_t* of, uint32_t warp, uint32_t warps) : s(section), masks(of), base(BATCH * warp), apart(BATCH * warps), batches(uniform(section.batches)) { load(); }
  FZ_DEV void load() {
    const uint32_t lane = threadIdx.x & 31, batch = base + lane;
    own = lane < BATCH && batch < batches ? s.all(batch) & ~masks[batch] : 0;
    pending = __ballot_sync(ALL, own != 0);
  }
  // The next batch and its quiet steps; false: there is none.
  FZ_DEV bool next(uint32_t& batch, uint32_t& mask) {
    while (pending == 0) {
      base += apart;
      if (base >= batches) return false;
      load();
    }
    const int k = __ffs((int)pending) - 1;
    pending &= pending - 1;
    batch = base + k;
    mask = uniform_of(own, k);
    return true;
  }
};

// The pass that a warp works on.
template <class T> struct PassDecoder {
  const Args& a;
  const DecoderMemory& memory;
  const Shape& shape;
  const Section& s;
  const Coding& c;
  const uint8_t* masks;
  const DecoderSet& set;
  const T* quotients;
  const Known<T> known;
  const Predictor<T> of;
  FZ_DEV PassDecoder(const Args& args, const MultilevelParams& p, const DecoderMemory& of_call, uint32_t number, const DecoderSet& tables, const T* of_codes)
      : a(args), memory(of_call), shape(of_call.plan->shape), s(of_call.plan->of[number]), c(of_call.state->of[number]), masks(of_call.masks + of_call.plan->of[number].first_batch), set(tables), quotients(of_codes),
        known(Buffers<T>(of_call.values, p), of_call.plan->shape, of_call.plan->of[number].level), of(p.threshold, metadata_of(args)) {}

  FZ_DEV uint32_t warp() const { return uniform(threadIdx.x >> 5); }
  // Warps by numbers, so that neighbors are in different blocks. Blocks that are a quarter of the grid apart share a multiprocessor, and
  // warps with the same place in a block share a scheduler.
  FZ_DEV uint32_t spread() const {
    const uint32_t in_block = blockDim.x >> 5, quarter = 4 * blockIdx.x / gridDim.x;
    return (warp() + in_block - quarter % in_block) % in_block * gridDim.x + blockIdx.x;
  }
  FZ_DEV uint32_t warps() const { return gridDim.x * (blockDim.x >> 5); }

  // Returns whether all runs were sound.
  template <int STENCIL, bool LINES> FZ_DEV bool runs(const RowTarget<T>* target, RunRing& ring, StagedTaps<T>* room) const {
    bool good = true;
#pragma unroll 1
    for (uint32_t number = spread(), count = uniform(c.runs); number < count; number += warps()) {
      RunDecoder run(run_words(a, memory, c, c.mask_runs + number), ring);
      RunBatches<false> walk(s, c, masks, RunSteps(s, c, memory.starts + c.first_run, number));
      auto value = [&](Predicted<T> p, T left, bool live) { return decode_value(run, set.table(p.context), *memory.state, quotients, of.step, p.p, p.context == FILL2, left, live); };
      if constexpr (LINES) lines<STENCIL>(walk, room, value);
      else rows<STENCIL>(walk, *target, room, value);
      good &= run.is_finished();
    }
    return good;
  }
  // Restores the steps of batches by `value`; the taps of the next batch are on their way meanwhile.
  template <int STENCIL, class Batches, class Value> FZ_DEV void lines(Batches& walk, StagedTaps<T>* room, Value value) const {
    const uint32_t points = kept(s.known), per_line = kept(s.per_line);
    uint32_t batch, mask, number = ~0u, i_ahead = 0;
    Line<T> ahead;
    auto stage = [&](StagedTaps<T>& to) {
      const uint32_t own = batch / per_line;
      if (own != number) ahead = Line<T>(shape, s, known, own);
      number = own;
      i_ahead = (batch - own * per_line) * BATCH;
      stage_line<STENCIL>(to, ahead, i_ahead, mask, points);
    };
    bool more = walk.next(batch, mask);
    if (more) stage(room[0]);
    end_group();
#pragma unroll 1
    for (uint32_t which = 0; more; which ^= 1) {
      const Line<T> line = ahead;
      const uint32_t i = i_ahead, steps = mask;
      more = walk.next(batch, mask);
      if (more) stage(room[which ^ 1]);
      end_group();
      wait_for_group_before();
      __syncwarp();
      const T* taps = &room[which].at[threadIdx.x & 31];
#pragma unroll 1
      for (uint32_t left = steps; left; left &= left - 1) {
        const uint32_t j = __ffs((int)left) - 1, at = i + j;
        const T* own = taps + j * STEP;
        const Predicted<T> p = predict_staged<STENCIL, STEP>(of, own, at < 3 || at + 5 > points, at, points);
        const T restored = value(p, own[3 * STEP], line.live);
        if (line.live) line.odd[(uint64_t)at * line.apart] = restored;
      }
      __syncwarp();
    }
  }
  template <int STENCIL, class Batches, class Value> FZ_DEV void rows(Batches& walk, const RowTarget<T>& target, StagedTaps<T>* room, Value value) const {
    const uint32_t lane = kept(threadIdx.x & 31), points = kept(s.known), width = kept(s.points[0]);
    // All steps have 32 points, rows end with a point of the pass, and a store has two points.
    const bool full = uniform(width % STEP == 0 && points == width && !target.array && target.pairs);
    uint32_t batch, mask;
    RowPack ahead;
    auto stage = [&](StagedTaps<T>& to) {
      ahead = RowPack(s, known.length, batch);
      stage_pack(to, known.at, ahead, points, known.wide);
    };
    bool more = walk.next(batch, mask);
    if (more) stage(room[0]);
    end_group();
#pragma unroll 1
    for (uint32_t which = 0; more; which ^= 1) {
      // Lane k of each 8 has the first point of step k, whether points of it lack taps, and where it is in the target.
      const uint32_t first = ahead.x, ends = ahead.ends(points), to = ahead.in(s, target.per_y, target.per_z) + 2 * ahead.x, steps = mask;
      more = walk.next(batch, mask);
      if (more) stage(room[which ^ 1]);
      end_group();
      wait_for_group_before();
      __syncwarp();
      const T* taps = &room[which].at[lane + 1];
#pragma unroll 1
      for (uint32_t left = steps; left; left &= left - 1) {
        const uint32_t j = __ffs((int)left) - 1, i = __shfl_sync(ALL, first, j) + lane, place = __shfl_sync(ALL, to, j) + 2 * lane;
        const T* own = taps + j * ROW_TAPS;
        const bool live = full || i < width;
        const Predicted<T> p = predict_staged<STENCIL, 1>(of, own, ends >> j & 1, i, points);
        const T even = own[3], odd = value(p, even, live);
        if (full) {
          put_pair(target.at + place, true, even, odd);
          continue;
        }
        if (live) target.put(place, even, odd);
        // The known point behind the last one of the pass.
        if (i + 1 == width && points > width) target.put_last(place + 2, own[4]);
      }
      __syncwarp();
    }
  }

  template <int STENCIL, bool LINES> FZ_DEV bool all(const RowTarget<T>* target, RunRing& ring, StagedTaps<T>* room) const {
    const bool good = runs<STENCIL, LINES>(target, ring, room);
    if (!c.has_masks) return good;
    // Steps that are in no run: all of their tokens are 0. If most warps have no run, these warps restore them.
    const uint32_t all = warps(), own = spread(), busy = 2 * uniform(c.runs) < all ? uniform(c.runs) : 0;
    if (own < busy) return good;
    QuietBatches walk(s, masks, own - busy, all - busy);
    auto value = [&](Predicted<T> p, T left, bool) { return of.restore(0, p, left); };
    if constexpr (LINES) lines<STENCIL>(walk, room, value);
    else rows<STENCIL>(walk, *target, room, value);
    return good;
  }
};
}  // namespace multilevel
}  // namespace fz
