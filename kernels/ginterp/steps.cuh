// Stage ginterp: the quantization step of each level, as src/stages/ginterp/steps.rs.
#pragma once
#include "ginterp/params.h"
#include "quantizer/bins.cuh"

namespace fz {
namespace ginterp {
// Half of a step, and its inverse.
template <class T> struct HalfStep {
  T half, inverse;
  FZ_DEV static HalfStep of(T half) { return {half, T(1) / half}; }
  // No step: a value has a code if its prediction is the value.
  FZ_DEV static HalfStep none() { return {T(0), T(0)}; }
};

// Sets the steps of all levels and their inverses. The step of the finest level is divided by alpha
// for each level, at most by beta. One thread calls it.
template <class T> FZ_DEV void set_steps(GinterpMetadata& m, HalfStep<T> finest, double alpha, double beta, uint32_t levels) {
  const T base = T(2) * finest.half, inverse = finest.inverse;
  T step = base, rcp = inverse;
  for (uint32_t level = 0; level < levels; level++) {
    if (level > 0) {
      rcp = (T)((double)rcp * alpha);
      step = (T)((double)step / alpha);
    }
    const double least = (double)base / beta;
    const bool below = (double)step < least;
    m.step[level] = below ? (double)(T)least : (double)step;
    m.rcp[level] = below ? (double)(T)((double)inverse * beta) : (double)rcp;
  }
}
}  // namespace ginterp
}  // namespace fz
