// Stage multilevel, encoder: passes of few batches. A block codes a batch, and its warps have steps of it, whose latencies overlap.
#pragma once
#include "multilevel/keep.cuh"
#include "multilevel/source.cuh"
#include "multilevel/walk.cuh"

namespace fz {
namespace multilevel {
// A point of a pass: its taps, its value, and the places of its code and of its restored value.
template <class T> struct SmallPoint {
  T t[8], x;
  // The number of known points on its sides.
  uint32_t left, right, code;
  T* to;
  bool live;
};

template <class T> struct SmallEncoder {
  const Shape& shape;
  const Section& s;
  const Known<T> known;
  const Source<T> source;
  const Coder<T>& coder;
  const Keeper keeper;
  BlockCounts& counts;

  FZ_DEV static bool fits(const Section& s) { return s.batches <= 2 * gridDim.x; }
  FZ_DEV static void load_taps(SmallPoint<T>& p, const T* row, uint32_t apart, uint32_t i, uint32_t points) {
#pragma unroll
    for (int k = 0; k < 8; k++) p.t[k] = row[(uint64_t)max(0, min((int)i + k - 3, (int)points - 1)) * apart];
    p.left = i + 1;
    p.right = points - i - 1;
  }
  // The point of this lane in step j of a batch; false if the step does not exist.
  FZ_DEV bool find_in_line(SmallPoint<T>& p, uint32_t batch, uint32_t j) const {
    const uint32_t number = batch / s.per_line, i = (batch - number * s.per_line) * BATCH + j;
    if (i >= s.along) return false;
    const Line<T> line(shape, s, known, number);
    load_taps(p, line.even, line.apart, i, s.known);
    p.x = source[line.element + i * line.next_element];
    p.code = line.code + i * line.next_code;
    p.to = line.odd + (uint64_t)i * line.apart;
    p.live = line.live;
    return true;
  }
  FZ_DEV bool find_in_row(SmallPoint<T>& p, uint32_t batch, uint32_t j, const Known<T>& finer) const {
    const uint32_t step = batch * BATCH + j, width = s.points[0], spacing = 1u << (s.level - 1);
    if (step >= s.steps) return false;
    const uint32_t row = step / s.strips, in_row = (step - row * s.strips) * STEP + (threadIdx.x & 31), i = min(in_row, width - 1);
    const uint32_t z = row / s.points[1], y = row - z * s.points[1];
    const T* taps = known.at + (uint64_t)row * known.length;
    load_taps(p, taps, 1, i, s.known);
    p.x = source[(z * (shape.has(2) ? spacing : 1) * shape.n[1] + y * (shape.has(1) ? spacing : 1)) * shape.n[0] + (2 * i + 1) * spacing];
    p.code = row * width + i;
    p.live = in_row < width;
    p.to = nullptr;
    if (finer.at == nullptr) return true;
    // The known points of the next level: the left neighbor of each point, the point, and at the end of a row there may be one more.
    p.to = finer.at + (z * (shape.has(2) ? 2 : 1) * finer.rows + y * (shape.has(1) ? 2 : 1)) * finer.length + 2 * i + 1;
    p.to[-1] = p.t[3];
    if (i + 1 == width && s.known > width) p.to[1] = taps[width];
    return true;
  }
  // Returns whether the step has a token other than 0.
  FZ_DEV bool code(const SmallPoint<T>& p, uint32_t stencil, uint32_t& raw) const {
    const Predicted<T> guess = coder.of.predict_any(stencil, p.left, p.right, p.t);
    T restored;
    const uint32_t u = coder.code(p.x, guess, p.t[3], restored);
    Token t = {0, 0};
    if (p.live) {
      t = keeper.put(p.code, guess.context, u);
      if (p.to != nullptr) *p.to = restored;
    }
    const bool is_busy = __any_sync(ALL, t.token != 0);
    if (p.live && is_busy) raw += counts.add(guess.context, t, Num<T>::BITS);
    if (p.live && !is_busy) atomicAdd(&counts.quiet[guess.context], 1u);
    return is_busy;
  }
  // Codes the batches of this block. `mask` is in shared memory and 0.
  template <bool LINES> FZ_DEV void batches(uint32_t stencil, const Known<T>& finer, uint8_t* masks, uint32_t& mask) const {
    uint32_t raw = 0, busy = 0;
#pragma unroll 1
    for (uint32_t batch = blockIdx.x; batch < s.batches; batch += gridDim.x) {
#pragma unroll 1
      for (uint32_t j = threadIdx.x >> 5; j < BATCH; j += blockDim.x >> 5) {
        SmallPoint<T> p;
        if (!(LINES ? find_in_line(p, batch, j) : find_in_row(p, batch, j, finer))) break;
        if (code(p, stencil, raw) && (threadIdx.x & 31) == 0) atomicOr(&mask, 1u << j);
      }
      __syncthreads();
      if (threadIdx.x == 0) {
        masks[batch] = (uint8_t)mask;
        busy += __popc(mask);
        mask = 0;
      }
      __syncthreads();
    }
    counts.add_raw(raw);
    if (threadIdx.x == 0) counts.busy = busy;
  }
};
}  // namespace multilevel
}  // namespace fz
