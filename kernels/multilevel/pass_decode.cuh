// Stage multilevel, decoder: the runs and the quiet steps of a pass.
#pragma once
#include "multilevel/decoder.cuh"
#include "multilevel/run_batches.cuh"
#include "multilevel/walk.cuh"

namespace fz {
namespace multilevel {
// Where the points of a level go: to the known points of the level below, or to the array.
template <class T> struct RowTarget {
  T* at;
  uint32_t rows, length;
  const Target<T>* array;
  bool pairs;
  FZ_DEV RowTarget(const Shape& shape, const Known<T>* finer, const Target<T>& target) : array(nullptr) {
    at = finer ? finer->at : target.at;
    rows = finer ? finer->rows : shape.n[1];
    length = finer ? finer->length : shape.n[0];
    if (!finer && !target.whole) array = &target;
    pairs = !array && length % 2 == 0 && aligned(at, 2 * sizeof(T));
  }
  FZ_DEV void put(uint64_t i, T x) const {
    if (array) array->put(i, x);
    else at[i] = x;
  }
  // A known point and the one behind it.
  FZ_DEV void put_step(const Shape& shape, const Section& s, const RowStep<T>& step, T even, T odd) const {
    typedef typename Num<T>::Pair Pair;
    const bool level_one = s.level == 1;
    const uint32_t y = shape.has(1) && !level_one ? 2 * step.y : step.y, z = shape.has(2) && !level_one ? 2 * step.z : step.z;
    const uint64_t row = ((uint64_t)z * rows + y) * length;
    if (step.live) {
      if (pairs) {
        Pair pair;
        pair.x = even;
        pair.y = odd;
        *reinterpret_cast<Pair*>(at + row + 2 * step.i) = pair;
      } else {
        put(row + 2 * step.i, even);
        put(row + 2 * step.i + 1, odd);
      }
    }
    // The known point behind the last one of the pass, by the lane that has that one.
    if (step.i + 1 == s.points[0] && s.known > s.points[0]) put(row + 2 * step.i + 2, step.row[step.i + 1]);
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

  FZ_DEV uint32_t warp() const { return threadIdx.x >> 5; }
  // Warps by numbers, so that neighbors are in different blocks.
  FZ_DEV uint32_t spread() const { return warp() * gridDim.x + blockIdx.x; }
  FZ_DEV uint32_t warps() const { return gridDim.x * (blockDim.x >> 5); }

  // Returns whether all runs were sound.
  template <int STENCIL, bool LINES> FZ_DEV bool runs(const RowTarget<T>* target, RunRing& ring) const {
    bool good = true;
#pragma unroll 1
    for (uint32_t number = spread(); number < c.runs; number += warps()) {
      RunDecoder run(run_words(a, memory, c, c.mask_runs + number), ring);
      RunBatches<false> walk(s, c, masks, RunSteps(s, c, memory.starts + c.first_run, number));
      uint32_t batch, mask;
#pragma unroll 1
      while (walk.next(batch, mask)) {
        if constexpr (LINES) {
          const Line<T> line(shape, s, known, batch / s.per_line);
          decode_line<STENCIL>(run, line, batch % s.per_line * BATCH, mask);
        } else {
          decode_rows<STENCIL>(run, *target, batch, mask);
        }
      }
      const bool bad = __any_sync(ALL, run.bad);
      good = run.is_finished() && !bad && good;
    }
    return good;
  }
  template <int STENCIL> FZ_DEV void decode_line(RunDecoder& run, const Line<T>& line, uint32_t i, uint32_t mask) const {
    Window<T> window;
    window.load(line, i, s.known);
    Predicted<T> p[BATCH];
    window.template predict<STENCIL>(of, i, s.known, p);
#pragma unroll
    for (uint32_t j = 0; j < BATCH; j++) {
      if (!(mask >> j & 1)) continue;
      const T value = decode_value(run, set, patterns, of, p[j], window.w[j + 3], line.live);
      if (line.live) line.odd[(uint64_t)(i + j) * line.apart] = value;
    }
  }
  template <int STENCIL> FZ_DEV void decode_rows(RunDecoder& run, const RowTarget<T>& target, uint32_t batch, uint32_t mask) const {
    RowTaps<T> taps[BATCH];
#pragma unroll
    for (uint32_t j = 0; j < BATCH; j++) taps[j].load(RowStep<T>(s, known, min(batch * BATCH + j, s.steps - 1)), s.known);
#pragma unroll
    for (uint32_t j = 0; j < BATCH; j++) {
      if (!(mask >> j & 1)) continue;
      const RowStep<T> at(s, known, batch * BATCH + j);
      const Predicted<T> p = taps[j].template predict<STENCIL>(of, at.i, s.known);
      target.put_step(shape, s, at, taps[j].own, decode_value(run, set, patterns, of, p, taps[j].own, at.live));
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
#pragma unroll 1
      for (uint32_t k = first; k < end; k++) {
        const uint32_t batch = number * s.per_line + k, i = k * BATCH, quiet = s.all(batch) & ~masks[batch];
        if (quiet == 0) continue;
        Window<T> window;
        window.load(line, i, s.known);
        Predicted<T> p[BATCH];
        window.template predict<STENCIL>(of, i, s.known, p);
#pragma unroll
        for (uint32_t j = 0; j < BATCH; j++)
          if (quiet >> j & 1 && line.live) line.odd[(uint64_t)(i + j) * line.apart] = of.restore(0, p[j], window.w[j + 3]);
      }
    }
  }
  template <int STENCIL> FZ_DEV void quiet_rows(const RowTarget<T>& target) const {
#pragma unroll 1
    for (uint32_t batch = spread(); batch < s.batches; batch += warps()) {
      const uint32_t quiet = s.all(batch) & ~masks[batch];
      if (quiet == 0) continue;
      RowTaps<T> taps[BATCH];
#pragma unroll
      for (uint32_t j = 0; j < BATCH; j++) taps[j].load(RowStep<T>(s, known, min(batch * BATCH + j, s.steps - 1)), s.known);
#pragma unroll
      for (uint32_t j = 0; j < BATCH; j++) {
        if (!(quiet >> j & 1)) continue;
        const RowStep<T> at(s, known, batch * BATCH + j);
        const Predicted<T> p = taps[j].template predict<STENCIL>(of, at.i, s.known);
        target.put_step(shape, s, at, taps[j].own, of.restore(0, p, taps[j].own));
      }
    }
  }
  template <int STENCIL, bool LINES> FZ_DEV bool all(const RowTarget<T>* target, RunRing& ring) const {
    const bool good = runs<STENCIL, LINES>(target, ring);
    if (!c.has_masks) return good;
    if constexpr (LINES) quiet_lines<STENCIL>();
    else quiet_rows<STENCIL>(*target);
    return good;
  }
};
}  // namespace multilevel
}  // namespace fz
