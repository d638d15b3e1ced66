// Stage multilevel, encoder: what a warp does with a batch of a pass.
#pragma once
#include "multilevel/keep.cuh"
#include "multilevel/source.cuh"
#include "multilevel/walk.cuh"

namespace fz {
namespace multilevel {
// Bytes that count, one for each context.
struct ByteCounts {
  uint64_t low, high;
  FZ_DEV void add(uint32_t context, bool yes) {
    const uint64_t one = (uint64_t)yes << 8 * (context & 7);
    low += context < 8 ? one : 0;
    high += context < 8 ? 0 : one;
  }
  // The sum of all lanes, for a context.
  FZ_DEV uint32_t total(uint32_t context) const {
    return __reduce_add_sync(ALL, (uint32_t)((context < 8 ? low : high) >> 8 * (context & 7)) & 255);
  }
};

// The counters of a warp: token 0 in registers, since most points have it, others in shared memory.
struct WarpCounts {
  ByteCounts zero, quiet;
  // Steps since the bytes were emptied.
  uint32_t steps, busy, raw;
  FZ_DEV WarpCounts() : zero{0, 0}, quiet{0, 0}, steps(0), busy(0), raw(0) {}
  // Returns whether the step has a token other than 0.
  FZ_DEV bool add(BlockCounts& block, uint32_t context, Token t, bool live, uint32_t exact) {
    const bool some = live && t.token != 0, is_busy = __any_sync(ALL, some);
    if (is_busy) {
      zero.add(context, live && !some);
      if (some) atomicAdd(&block.of[context * SYMBOLS + t.token], 1u);
      if (some) raw += t.token == EXACT ? exact : t.bits;
    } else {
      quiet.add(context, live);
    }
    return is_busy;
  }
  FZ_DEV void empty(BlockCounts& block) {
#pragma unroll 1
    for (uint32_t c = 0; c < CONTEXTS; c++) {
      const uint32_t a = zero.total(c), b = quiet.total(c);
      if ((threadIdx.x & 31) == 0) {
        if (a) atomicAdd(&block.of[c * SYMBOLS], a);
        if (b) atomicAdd(&block.quiet[c], b);
      }
    }
    zero = quiet = ByteCounts{0, 0};
    steps = 0;
  }
  // Behind a batch.
  FZ_DEV void note(BlockCounts& block, uint32_t mask) {
    busy += __popc(mask);
    steps += BATCH;
    if (steps > 255 - BATCH) empty(block);
  }
  FZ_DEV void finish(BlockCounts& block) {
    empty(block);
    const uint32_t bits = __reduce_add_sync(ALL, raw);
    if ((threadIdx.x & 31) != 0) return;
    if (busy) atomicAdd(&block.busy, busy);
    if (bits) atomicAdd(&block.raw, (unsigned long long)bits);
  }
};

// The other inputs of a pass.
template <class T> struct PassEncoder {
  const Shape& shape;
  const Section& s;
  const Known<T> known;
  const Source<T> source;
  const Coder<T> coder;
  const Keeper keeper;
  uint8_t* masks;
  BlockCounts& counts;
  FZ_DEV PassEncoder(const Args& a, const MultilevelParams& p, const EncoderMemory& memory, const Section& section, const MultilevelMetadata& m, BlockCounts& block)
      : shape(memory.plan->shape), s(section), known(Buffers<T>(memory.pool, p), memory.plan->shape, section.level), source(address(input(a, 0))), coder(p.threshold, m),
        keeper(memory, section.first_point), masks(memory.masks + section.first_batch), counts(block) {}

  // Segments of lines, for warps to have enough of them.
  template <int STENCIL> FZ_DEV void lines(WarpCounts& own) const {
    const uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = gridDim.x * (blockDim.x >> 5);
    const uint32_t count = s.batches / s.per_line, wanted = (warps + count - 1) / count;
    const uint32_t each = max(1u, s.per_line / wanted), segments = (s.per_line + each - 1) / each;
#pragma unroll 1
    for (uint32_t task = warp; task < count * segments; task += warps) {
      const uint32_t number = task / segments, first = task % segments * each, end = min(first + each, s.per_line);
      const Line<T> line(shape, s, known, number);
      Window<T> window;
      window.load(line, first * BATCH, s.known);
#pragma unroll 1
      for (uint32_t batch = first; batch < end; batch++) {
        const uint32_t i = batch * BATCH;
        if (batch > first) window.move(line, i, s.known);
        T x[BATCH];
#pragma unroll
        for (uint32_t j = 0; j < BATCH; j++) x[j] = source[line.element + min(i + j, s.along - 1) * line.next_element];
        const bool whole = Window<T>::is_whole(i, s.known);
        uint32_t mask = 0;
        each_of<BATCH>([&](auto of_j) {
          constexpr uint32_t j = decltype(of_j)::value;
          if (i + j >= s.along) return;
          T restored;
          const Predicted<T> p = window.template predict<STENCIL>(coder.of, j, whole, i, s.known);
          const uint32_t u = coder.code(x[j], p, window.w[j + 3], restored);
          Token t = {0, 0};
          if (line.live) {
            t = keeper.put(line.code + (i + j) * line.next_code, p.context, u);
            line.odd[(uint64_t)(i + j) * line.apart] = restored;
          }
          mask |= own.add(counts, p.context, t, line.live, Num<T>::BITS) ? 1u << j : 0;
        });
        if ((threadIdx.x & 31) == 0) masks[number * s.per_line + batch] = (uint8_t)mask;
        own.note(counts, mask);
      }
    }
  }

  // `finer`: the known points of the level below, or null.
  template <int STENCIL> FZ_DEV void rows(WarpCounts& own, const Known<T>& finer) const {
    const uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = gridDim.x * (blockDim.x >> 5), lane = threadIdx.x & 31;
    const uint32_t spacing = 1u << (s.level - 1), width = s.points[0];
    const RowMap elements = {(shape.has(1) ? spacing : 1) * shape.n[0], (shape.has(2) ? spacing : 1) * shape.n[0] * shape.n[1]};
    const RowMap rows = {(shape.has(1) ? 2 : 1) * finer.length, (shape.has(2) ? 2 : 1) * finer.length * finer.rows};
    const bool pairs = finer.length % 2 == 0;
#pragma unroll 1
    for (uint32_t batch = warp; batch < s.batches; batch += warps) {
      RowTaps<T> taps[BATCH];
      T x[BATCH];
      const uint32_t steps = min(BATCH, s.steps - batch * BATCH);
      const RowStep<T> first(s, batch * BATCH);
      RowStep<T> at = first;
#pragma unroll
      for (uint32_t j = 0; j < BATCH; j++) {
        taps[j].load(known.at + (uint64_t)at.number * known.length, at.i(), s.known);
        x[j] = source[elements.at(at) + (2 * min(at.i(), width - 1) + 1) * spacing];
        if (j + 1 < steps) at.next(s);
      }
      uint32_t mask = 0;
      at = first;
      each_of<BATCH>([&](auto of_j) {
        constexpr uint32_t j = decltype(of_j)::value;
        if (j >= steps) return;
        const uint32_t i = at.i();
        const bool live = i < width;
        const Predicted<T> p = taps[j].template predict<STENCIL>(coder.of, i, s.known);
        T restored;
        const uint32_t u = coder.code(x[j], p, taps[j].own, restored);
        Token t = {0, 0};
        if (live) t = keeper.put(at.number * width + i, p.context, u);
        if (finer.at != nullptr) {
          T* row = finer.at + rows.at(at);
          if (live) put_pair(row + 2 * i, pairs, taps[j].own, restored);
          // The known point behind the last one of the pass, by the lane that has that one.
          if (i + 1 == width && s.known > width) row[2 * width] = known.at[(uint64_t)at.number * known.length + width];
        }
        mask |= own.add(counts, p.context, t, live, Num<T>::BITS) ? 1u << j : 0;
        at.next(s);
      });
      if (lane == 0) masks[batch] = (uint8_t)mask;
      own.note(counts, mask);
    }
  }
};
}  // namespace multilevel
}  // namespace fz
