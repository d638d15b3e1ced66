// Stage multilevel, decoder: the runs and the quiet steps of a pass.
#pragma once
#include "multilevel/decoder.cuh"
#include "multilevel/run_batches.cuh"
#include "multilevel/slide.cuh"
#include "multilevel/staged.cuh"

namespace fz {
namespace multilevel {
// Where the points of a level go: to the known points of the level below, or to the array.
template <class T> struct RowTarget {
  T* at;
  RowMap rows;
  // An array that is not aligned, or too short.
  const Target<T>* array;
  bool pairs;
  FZ_DEV RowTarget(const Shape& shape, const Known<T>* finer, const Target<T>& target) : array(nullptr) {
    const uint32_t length = finer ? finer->length : shape.n[0], count = finer ? finer->rows : shape.n[1];
    at = finer ? finer->at : target.at;
    rows.per_y = (finer && shape.has(1) ? 2 : 1) * length;
    rows.per_z = (finer && shape.has(2) ? 2 : 1) * length * count;
    if (!finer && !target.whole) array = &target;
    pairs = length % 2 == 0 && aligned(at, 2 * sizeof(T));
  }
  // Points of a step: a known one and the one behind it for each lane, and the known point behind the last one of the pass.
  FZ_DEV void put_step(const Section& s, const Known<T>& known, const RowStep<T>& step, T even, T odd) const {
    const uint32_t row = rows.at(step), i = step.i(), width = s.points[0];
    const bool last = i + 1 == width && s.known > width;
    if (array) {
      if (i < width) array->put(row + 2 * i, even);
      if (i < width) array->put(row + 2 * i + 1, odd);
      if (last) array->put(row + 2 * width, known.at[(uint64_t)step.number * known.length + width]);
      return;
    }
    if (i < width) put_pair(at + row + 2 * i, pairs, even, odd);
    if (last) at[row + 2 * width] = known.at[(uint64_t)step.number * known.length + width];
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
  const Known<T> known;
  const Predictor<T> of;
  const Patterns patterns;
  FZ_DEV PassDecoder(const Args& args, const MultilevelParams& p, const DecoderMemory& of_call, uint32_t number, const DecoderSet& tables)
      : a(args), memory(of_call), shape(of_call.plan->shape), s(of_call.plan->of[number]), c(of_call.state->of[number]), masks(of_call.masks + of_call.plan->of[number].first_batch), set(tables),
        known(Buffers<T>(of_call.values, p), of_call.plan->shape, of_call.plan->of[number].level), of(p.threshold, metadata_of(args)), patterns(*of_call.state) {}

  FZ_DEV uint32_t warp() const { return uniform(threadIdx.x >> 5); }
  // Warps by numbers, so that neighbors are in different blocks.
  FZ_DEV uint32_t spread() const { return warp() * gridDim.x + blockIdx.x; }
  FZ_DEV uint32_t warps() const { return gridDim.x * (blockDim.x >> 5); }

  // Returns whether all runs were sound.
  template <int STENCIL, bool LINES> FZ_DEV bool runs(const RowTarget<T>* target, RunRing& ring, StagedTaps<T>* room) const {
    bool good = true;
#pragma unroll 1
    for (uint32_t number = spread(), count = uniform(c.runs); number < count; number += warps()) {
      RunDecoder run(run_words(a, memory, c, c.mask_runs + number), ring);
      RunBatches<false> walk(s, c, masks, RunSteps(s, c, memory.starts + c.first_run, number));
      if constexpr (LINES) decode_lines<STENCIL>(run, walk, room);
      else decode_rows<STENCIL>(run, walk, *target, room);
      const bool bad = __any_sync(ALL, run.bad);
      good = run.is_finished() && !bad && good;
    }
    return good;
  }
  // The taps of the next batch are on their way while one is decoded.
  template <int STENCIL> FZ_DEV void decode_lines(RunDecoder& run, RunBatches<false>& walk, StagedTaps<T>* room) const {
    uint32_t batch, mask, number = ~0u, i_ahead = 0;
    Line<T> ahead;
    auto stage = [&](StagedTaps<T>& to) {
      const uint32_t own = batch / s.per_line;
      if (own != number) ahead = Line<T>(shape, s, known, own);
      number = own;
      i_ahead = (batch - own * s.per_line) * BATCH;
      stage_line<STENCIL>(to, ahead, i_ahead, mask, s.known);
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
        const uint32_t j = __ffs((int)left) - 1;
        const T* own = taps + j * STEP;
        const Predicted<T> p = predict_staged<STENCIL, STEP>(of, own, i + j, s.known);
        const T value = decode_value(run, set.table(p.context), patterns, of, p, own[3 * STEP], line.live);
        if (line.live) line.odd[(uint64_t)(i + j) * line.apart] = value;
      }
      __syncwarp();
    }
  }
  template <int STENCIL> FZ_DEV void decode_rows(RunDecoder& run, RunBatches<false>& walk, const RowTarget<T>& target, StagedTaps<T>* room) const {
    uint32_t batch, mask;
    bool more = walk.next(batch, mask);
    RowStep<T> ahead(s, more ? batch * BATCH : 0);
    if (more) stage_rows(room[0], s, known, ahead, mask);
    end_group();
#pragma unroll 1
    for (uint32_t which = 0; more; which ^= 1) {
      RowStep<T> at = ahead;
      const uint32_t steps = mask;
      more = walk.next(batch, mask);
      if (more) {
        ahead = RowStep<T>(s, batch * BATCH);
        stage_rows(room[which ^ 1], s, known, ahead, mask);
      }
      end_group();
      wait_for_group_before();
      __syncwarp();
      const T* taps = &room[which].at[threadIdx.x & 31];
#pragma unroll 1
      for (uint32_t j = 0; j < BATCH; j++) {
        if (steps >> j & 1) {
          const T* own = taps + j * ROW_TAPS;
          const Predicted<T> p = predict_staged<STENCIL, 1>(of, own, at.i(), s.known);
          target.put_step(s, known, at, own[3], decode_value(run, set.table(p.context), patterns, of, p, own[3], at.i() < s.points[0]));
        }
        at.next(s);
      }
      __syncwarp();
    }
  }

  // Steps that are in no run: all of their tokens are 0.
  template <int STENCIL> FZ_DEV void quiet_lines() const {
    const uint32_t count = s.batches / s.per_line, wanted = (warps() + count - 1) / count;
    const uint32_t each = max(1u, s.per_line / wanted), segments = (s.per_line + each - 1) / each;
#pragma unroll 1
    for (uint32_t task = spread(); task < count * segments; task += warps()) {
      const uint32_t number = task / segments, first = task % segments * each, end = min(first + each, s.per_line);
      const Line<T> line(shape, s, known, number);
      SlidingWindow<T> window;
      uint32_t due = ~0u;
#pragma unroll 1
      for (uint32_t k = first; k < end; k++) {
        const uint32_t batch = number * s.per_line + k, i = k * BATCH, quiet = s.all(batch) & ~masks[batch];
        if (quiet == 0) continue;
        if (k != due) window.load(line, i, s.known);
        due = k + 1;
#pragma unroll 1
        for (uint32_t j = 0; j < BATCH; j++) {
          if (quiet >> j & 1 && line.live) line.odd[(uint64_t)(i + j) * line.apart] = of.restore(0, window.template predict<STENCIL>(of, i + j, s.known), window.w[3]);
          window.next(line, i + j, s.known);
        }
      }
    }
  }
  template <int STENCIL> FZ_DEV void quiet_rows(const RowTarget<T>& target) const {
#pragma unroll 1
    for (uint32_t batch = spread(); batch < s.batches; batch += warps()) {
      const uint32_t quiet = s.all(batch) & ~masks[batch];
      if (quiet == 0) continue;
      RowQueue<T> queue(s, known, batch);
#pragma unroll 1
      for (uint32_t j = 0; j < BATCH; j++) {
        if (quiet >> j & 1) {
          const Predicted<T> p = queue.first.template predict<STENCIL>(of, queue.at.i(), s.known);
          target.put_step(s, known, queue.at, queue.first.own, of.restore(0, p, queue.first.own));
        }
        queue.next(s, known);
      }
    }
  }
  template <int STENCIL, bool LINES> FZ_DEV bool all(const RowTarget<T>* target, RunRing& ring, StagedTaps<T>* room) const {
    const bool good = runs<STENCIL, LINES>(target, ring, room);
    if (!c.has_masks) return good;
    if constexpr (LINES) quiet_lines<STENCIL>();
    else quiet_rows<STENCIL>(*target);
    return good;
  }
};
}  // namespace multilevel
}  // namespace fz
