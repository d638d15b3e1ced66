// Stage ginterp: from the bound and the range to the numbers that tuning starts with, as
// src/stages/ginterp/resolve.rs. All launches of the kernel compute them for themselves.
#pragma once
#include "ginterp/code.cuh"
#include "ginterp/steps.cuh"

namespace fz {
namespace ginterp {
// Alpha and beta without tuning.
constexpr double ALPHA = 1.75, BETA = 4.0;

// The range of the array, if it was measured and has values.
struct MeasuredRange {
  double low, high;
  bool known;
  FZ_DEV MeasuredRange(const Args& a, const GinterpParams& p) : low(0.0), high(0.0), known(false) {
    if (!(p.switches & MEASURED)) return;
    const double* at = reinterpret_cast<const double*>(address(input(a, 1)) + sizeof(quantizer::BoundMetadata));
    low = at[0];
    high = at[1];
    known = low <= high;
  }
  // Its width, rounded to the type of the values.
  template <class T> FZ_DEV T width() const { return Real<T>::from(high) - Real<T>::from(low); }
};

// The bound of a call, in the type of the values: errors are compared with `bound`.
template <class T> struct Resolved {
  T bound;
  HalfStep<T> finest;
  double base, low, high;
  bool coded;
};

// The bound that was asked for, as the reference holds it.
FZ_DEV double user_bound(const GinterpParams& p) { return !(p.switches & STRICT) && p.value == 4 ? (double)(float)p.error_bound : p.error_bound; }

template <class T> FZ_DEV Resolved<T> bounded(const Args& a, const GinterpParams& p, const MeasuredRange& range) {
  const quantizer::BoundMetadata of = quantizer::load_metadata(input(a, 1));
  const double infinity = Real<double>::infinity();
  Resolved<T> r;
  // Of two zeros the smaller one is +0 as a lower limit and -0 as an upper one: minimum and maximum
  // then have one result.
  r.low = !range.known ? -infinity : range.low == 0.0 ? 0.0 : range.low;
  r.high = !range.known ? infinity : range.high == 0.0 ? -0.0 : range.high;
  // The range of a constant allows no error. Predictions hit it, since they are within the range.
  const bool constant = !(p.switches & (ABSOLUTE | OF_MAGNITUDE)) && range.known && range.low == range.high && range.high != 0.0;
  const double half = of.promise < of.bound ? of.promise : of.bound;
  r.bound = constant ? T(0) : Real<T>::from(of.promise);
  r.finest = constant ? HalfStep<T>::none() : HalfStep<T>::of(Real<T>::from(half));
  r.base = (double)of.base;
  r.coded = constant || of.radius > 0;
  return r;
}

template <class T> FZ_DEV Resolved<T> literal(const GinterpParams& p, const MeasuredRange& range) {
  const T user = Real<T>::from(user_bound(p));
  T base = T(0);
  if (!(p.switches & ABSOLUTE)) {
    if (p.threshold_or_base > 0.0) {
      base = Real<T>::from(p.threshold_or_base);
    } else if (range.known && (p.switches & OF_MAGNITUDE)) {
      const double low = fabs(range.low), high = fabs(range.high);
      base = Real<T>::from(low > high ? low : high);
    } else if (range.known) {
      base = range.width<T>();
    }
    // Neither a negative zero nor NaN, of which there are several.
    if (!(base > T(0))) base = T(0);
  }
  const T bound = base > T(0) ? user * base : user;
  Resolved<T> r;
  // 0 times infinity; no reader accepts a NaN.
  r.bound = bound == bound ? bound : T(0);
  r.finest = HalfStep<T>::of(r.bound);
  r.base = (double)base;
  r.low = -Real<double>::infinity();
  r.high = Real<double>::infinity();
  r.coded = true;
  return r;
}

// The largest radius that the run chooses, and that for residuals within `range`.
FZ_DEV uint32_t most_radius(uint32_t code) { return code == 1 ? 127 : 32767; }
FZ_DEV uint32_t radius_of(double range, double step, uint32_t code) {
  const double needed = ceil(range / (step / 4.0)), most = (double)most_radius(code);
  if (!(range > 0.0 && needed > 32.0)) return 32;
  return (uint32_t)(needed < most ? needed : most);
}

// All numbers but flags, alpha, and beta, with which tuning starts.
template <class C> FZ_DEV Resolved<typename C::Value> resolve_bound(const Args& a, const GinterpParams& p, const MeasuredRange& range, uint32_t levels, GinterpMetadata& made) {
  typedef typename C::Value T;
  Resolved<T> of;
  if constexpr (C::STRICT_LAYOUT) of = bounded<T>(a, p, range);
  else of = literal<T>(p, range);
  memset(&made, 0, sizeof made);
  made.low = of.low;
  made.high = of.high;
  // Conversions of NaN have other bits on a device.
  const bool number = of.bound == of.bound;
  made.bound = number ? (double)of.bound : Real<double>::nan();
  made.bound_f32 = number ? (float)of.bound : Real<float>::nan();
  made.base = (float)of.base;
  made.alpha = ALPHA;
  made.beta = BETA;
  set_steps(made, of.finest, ALPHA, BETA, levels);
  made.radius = p.radius;
  if (p.radius == 0) {
    const bool absolute = (p.switches & ABSOLUTE) != 0;
    const double width = absolute ? (double)range.width<T>() : p.switches & OF_MAGNITUDE ? 2.0 * of.base : of.base;
    made.radius = absolute && !range.known ? most_radius(p.code) : radius_of(width, made.step[0], p.code);
  }
  made.limit = of.coded ? made.radius : 0;
  return of;
}
}  // namespace ginterp
}  // namespace fz
