// Stage fast, encoder: values to codes.
#pragma once
#include "fast/codes.cuh"
#include "quantizer/kept.cuh"

namespace fz {
namespace fast {
using quantizer::BoundMetadata;
using quantizer::Real;

// The quantizer of a chunk.
template <class T> struct Grid;
template <> struct Grid<float> {
  typedef float Code;
  float inverse, step, promise, threshold;
  // Largest code. The threshold may be checked or not for values beyond it.
  static constexpr float MOST = 2097151.0f;
  bool limited;
  FZ_DEV Grid(const Args& a, const Params&, const float*) {
    const quantizer::TileMetadata f = quantizer::load_tile_facts_whole(input(a, 1));
    inverse = f.inverse; step = f.step; promise = f.promise; threshold = f.threshold;
    limited = !(threshold > step * 2097153.0f + promise);
  }
  // Never true. Testing it together with other loads makes the warp wait for all of them at once.
  FZ_DEV bool impossible() const { return (promise < 0) | (threshold < 0); }
  FZ_DEV float code(float x) const { return __fadd_rn(__fmaf_rn(x, inverse, Real<float>::MAGIC), -Real<float>::MAGIC); }  // seed: fast-fused
  FZ_DEV bool close(float x, float q) const { return fabsf(__fadd_rn(x, -__fmul_rn(q, step))) <= promise; }
  FZ_DEV bool coded(float x, float& q) const {
    q = code(x);
    return close(x, q) & (fabsf(q) <= MOST) & (fabsf(x) < threshold);
  }
  FZ_DEV uint64_t reference() const { return 0; }
};
template <> struct Grid<double> {
  typedef int32_t Code;
  double inverse, step, promise, threshold;
  int64_t least, from;  // codes are relative to `from`
  uint64_t span;
  static constexpr int64_t MOST = (1ll << 51) - 1, FAR = 1ll << 27, REACH = (1ll << 28) - 1;
  static constexpr bool limited = false;
  FZ_DEV int64_t bin(double x, bool& within_bound) const {
    const double y = __fma_rn(x, inverse, Real<double>::MAGIC), q = __dadd_rn(y, -Real<double>::MAGIC);
    within_bound = (fabs(__dadd_rn(x, -__dmul_rn(q, step))) <= promise) & (fabs(x) < threshold);
    return (int64_t)(Real<double>::bits(y) - Real<double>::bits(Real<double>::MAGIC));
  }
  // `first`: the first value of the chunk.
  FZ_DEV Grid(const Args& a, const Params& p, const double* first) {
    const BoundMetadata f = quantizer::load_metadata(input(a, 1));
    step = quantizer::step_of<double>(f);
    inverse = 1.0 / step;
    promise = f.promise;
    threshold = p.threshold;
    bool within_bound;
    const int64_t b = bin(load<double>(first), within_bound), size = b < 0 ? -b : b;
    from = within_bound && size <= MOST && size >= FAR ? b : 0;
    least = max(from - REACH, -MOST);
    span = (uint64_t)(min(from + REACH, MOST) - least);
  }
  FZ_DEV bool coded(double x, int32_t& q) const {
    bool within_bound;
    const int64_t b = bin(x, within_bound);
    q = (int32_t)(uint32_t)(b - from);
    return within_bound & ((uint64_t)(b - least) <= span);
  }
  FZ_DEV bool impossible() const { return promise < 0; }
  FZ_DEV uint64_t reference() const { return (uint64_t)from; }
};

// Loads four values of a row.
template <class T> FZ_DEV void load_row(T (&x)[4], const T* at) {
  if constexpr (sizeof(T) == 4) {
    const float4 t = __ldcs(reinterpret_cast<const float4*>(at));
    x[0] = t.x; x[1] = t.y; x[2] = t.z; x[3] = t.w;
  } else {
    const double2 t = __ldcs(reinterpret_cast<const double2*>(at)), u = __ldcs(reinterpret_cast<const double2*>(at) + 1);
    x[0] = t.x; x[1] = t.y; x[2] = u.x; x[3] = u.y;
  }
}
}  // namespace fast
}  // namespace fz
