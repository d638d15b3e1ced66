// Stage multilevel, encoder: what a warp does with a batch of a pass.
#pragma once
#include "multilevel/keep.cuh"
#include "multilevel/slide.cuh"
#include "multilevel/source.cuh"

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
    block.add_raw(raw);
    if (busy && (threadIdx.x & 31) == 0) atomicAdd(&block.busy, busy);
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
      const uint32_t number = task / segments, first = task % segments * each, end = min((first + each) * BATCH, s.along);
      const Line<T> line(shape, s, known, number);
      SlidingWindow<T> window;
      window.load(line, first * BATCH, s.known);
      auto value = [&](uint32_t i) { return source[line.element + min(i, s.along - 1) * line.next_element]; };
      T ahead[AHEAD];
#pragma unroll
      for (uint32_t k = 0; k < AHEAD; k++) ahead[k] = value(first * BATCH + k);
      uint32_t mask = 0;
#pragma unroll 1
      for (uint32_t i = first * BATCH; i < end; i++) {
        const T x = ahead[0];
#pragma unroll
        for (uint32_t k = 0; k + 1 < AHEAD; k++) ahead[k] = ahead[k + 1];
        ahead[AHEAD - 1] = value(i + AHEAD);
        T restored;
        const Predicted<T> p = window.template predict<STENCIL>(coder.of, i, s.known);
        const uint32_t u = coder.code(x, p, window.w[3], restored);
        Token t = {0, 0};
        if (line.live) {
          t = keeper.put(line.code + i * line.next_code, p.context, u);
          line.odd[(uint64_t)i * line.apart] = restored;
        }
        mask |= own.add(counts, p.context, t, line.live, Num<T>::BITS) ? 1u << i % BATCH : 0;
        if ((i + 1) % BATCH == 0 || i + 1 == end) end_batch(own, number * s.per_line + i / BATCH, mask);
        window.next(line, i, s.known);
      }
    }
  }
  FZ_DEV void end_batch(WarpCounts& own, uint32_t batch, uint32_t& mask) const {
    if ((threadIdx.x & 31) == 0) masks[batch] = (uint8_t)mask;
    own.note(counts, mask);
    mask = 0;
  }

  // A warp codes batches that follow each other. `finer`: the known points of the level below, or null.
  template <int STENCIL> FZ_DEV void rows(WarpCounts& own, const Known<T>& finer) const {
    const uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = gridDim.x * (blockDim.x >> 5);
    const uint32_t each = (s.batches + warps - 1) / warps * BATCH, begin = warp * each, end = min(begin + each, s.steps);
    if (begin >= end) return;
    const uint32_t spacing = 1u << (s.level - 1), width = s.points[0];
    const RowMap elements = {(shape.has(1) ? spacing : 1) * shape.n[0], (shape.has(2) ? spacing : 1) * shape.n[0] * shape.n[1]};
    const RowMap to = {(shape.has(1) ? 2 : 1) * finer.length, (shape.has(2) ? 2 : 1) * finer.length * finer.rows};
    const bool pairs = finer.length % 2 == 0;
    RowQueue<T> queue(s, known, begin / BATCH);
    RowStep<T> loaded = queue.at;
    T ahead[3];
    auto load = [&](T& x) {
      x = loaded.z < s.points[2] ? source[elements.at(loaded) + (2 * min(loaded.i(), width - 1) + 1) * spacing] : T(0);
      loaded.next(s);
    };
    for (T& x : ahead) load(x);
    uint32_t mask = 0;
#pragma unroll 1
    for (uint32_t step = begin; step < end; step++) {
      const RowStep<T>& at = queue.at;
      const T x = ahead[0], left = queue.first.own;
      ahead[0] = ahead[1];
      ahead[1] = ahead[2];
      load(ahead[2]);
      const uint32_t i = at.i();
      const bool live = i < width;
      const Predicted<T> p = queue.first.template predict<STENCIL>(coder.of, i, s.known);
      T restored;
      const uint32_t u = coder.code(x, p, left, restored);
      Token t = {0, 0};
      if (live) t = keeper.put(at.number * width + i, p.context, u);
      if (finer.at != nullptr) {
        T* row = finer.at + to.at(at);
        if (live) put_pair(row + 2 * i, pairs, left, restored);
        // The known point behind the last one of the pass, by the lane that has that one.
        if (i + 1 == width && s.known > width) row[2 * width] = known.at[(uint64_t)at.number * known.length + width];
      }
      mask |= own.add(counts, p.context, t, live, Num<T>::BITS) ? 1u << step % BATCH : 0;
      if ((step + 1) % BATCH == 0 || step + 1 == end) end_batch(own, step / BATCH, mask);
      queue.next(s, known);
    }
  }
};
}  // namespace multilevel
}  // namespace fz
