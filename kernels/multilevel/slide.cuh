// Stage multilevel: taps in registers, which move from step to step and are loaded in advance. Loops over steps are not unrolled,
// because their code would not fit into the instruction cache.
#pragma once
#include "multilevel/walk.cuh"

namespace fz {
namespace multilevel {
// Steps of a line that are loaded in advance.
constexpr int AHEAD = 4;

// The taps of a step of a line, and the taps after them.
template <class T> struct SlidingWindow {
  T w[8], ahead[AHEAD];
  FZ_DEV void load(const Line<T>& line, uint32_t i, uint32_t known) {
#pragma unroll
    for (int j = 0; j < 8; j++) w[j] = line.tap((int)i - 3 + j, known);
#pragma unroll
    for (int j = 0; j < AHEAD; j++) ahead[j] = line.tap((int)i + 5 + j, known);
  }
  // Moves from step i to the next one.
  FZ_DEV void next(const Line<T>& line, uint32_t i, uint32_t known) {
#pragma unroll
    for (int j = 0; j < 7; j++) w[j] = w[j + 1];
    w[7] = ahead[0];
#pragma unroll
    for (int j = 0; j + 1 < AHEAD; j++) ahead[j] = ahead[j + 1];
    ahead[AHEAD - 1] = line.tap((int)i + 5 + AHEAD, known);
  }
  template <int STENCIL> FZ_DEV Predicted<T> predict(const Predictor<T>& of, uint32_t i, uint32_t known) const {
    if (i >= 3 && i + 5 <= known) return of.template predict<STENCIL>(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]);
    const uint32_t left = i + 1, right = known > left ? known - left : 0;
    return of.resolve(anywhere(STENCIL, left, right, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], of.step), w[3], w[4], right > 0);
  }
};

// The taps of a step of a pass over x, and of the next two steps.
template <class T> struct RowQueue {
  RowTaps<T> first, second, third;
  RowStep<T> at, loaded;
  FZ_DEV RowQueue(const Section& s, const Known<T>& known, uint32_t batch) : at(s, batch * BATCH), loaded(at) {
    load(s, known, first);
    load(s, known, second);
    load(s, known, third);
  }
  // Rows beyond the last one are not loaded.
  FZ_DEV void load(const Section& s, const Known<T>& known, RowTaps<T>& taps) {
    if (loaded.z < s.points[2]) taps.load(known.at + (uint64_t)loaded.number * known.length, loaded.i(), s.known);
    else taps = RowTaps<T>{T(0), T(0)};
    loaded.next(s);
  }
  FZ_DEV void next(const Section& s, const Known<T>& known) {
    first = second;
    second = third;
    load(s, known, third);
    at.next(s);
  }
};
}  // namespace multilevel
}  // namespace fz
