// Stage multilevel, encoder: predictions of any point with a stencil that is known when the kernel runs, without calls. Taps `t` that do
// not exist have any value.
#pragma once
#include "multilevel/quantize.cuh"

namespace fz {
namespace multilevel {
template <int STENCIL, class T> FZ_DEV Guess<T> guess_with(uint32_t left, uint32_t right, const T (&t)[8], T step) {
  const Guess<T> g = inside<STENCIL>(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7]);
  return left < 4 || right < 4 ? near_end<STENCIL>(g, left, right, t[1], t[2], t[3], t[4], t[5], t[6], step) : g;
}
template <class T> FZ_DEV Predicted<T> predict_with(const Predictor<T>& of, uint32_t stencil, uint32_t left, uint32_t right, const T (&t)[8]) {
  const Guess<T> g = stencil == 8   ? guess_with<8>(left, right, t, of.step)
                     : stencil == 6 ? guess_with<6>(left, right, t, of.step)
                     : stencil == 4 ? guess_with<4>(left, right, t, of.step)
                                    : guess_with<2>(left, right, t, of.step);
  return of.resolve(g, t[3], t[4], right > 0);
}
// Adds the costs of value `x` with each stencil.
template <class T> FZ_DEV void add_costs(uint32_t (&sums)[4], const Predictor<T>& of, T x, uint32_t left, uint32_t right, const T (&t)[8]) {
  const Guess<T> g[4] = {guess_with<2>(left, right, t, of.step), guess_with<4>(left, right, t, of.step), guess_with<6>(left, right, t, of.step), guess_with<8>(left, right, t, of.step)};
#pragma unroll
  for (uint32_t k = 0; k < 4; k++) sums[k] += cost_of(x - of.resolve(g[k], t[3], t[4], right > 0).p, of.rate);
}
}  // namespace multilevel
}  // namespace fz
