// Stage ginterp: from the bound, the range, and the sums of tuning to the numbers of each level, as
// src/stages/ginterp/resolve.rs.
#include "ginterp/tune.cuh"

namespace fz {
namespace ginterp {
// Alpha of mode 5 and of the tuned modes, from the bound as a fraction of the value range: linear
// between powers of ten.
FZ_DEV double scheduled_alpha(double fraction) {
  constexpr double KNOTS[5] = {1e-1, 1e-2, 1e-3, 1e-4, 1e-5};
  if (fraction >= KNOTS[0]) return 2.0;
#pragma unroll
  for (int i = 1; i < 5; i++) {
    const double of_high = 2.0 - 0.25 * (i - 1), of_low = 2.0 - 0.25 * i;
    if (fraction >= KNOTS[i]) return of_low + (of_high - of_low) * (fraction - KNOTS[i]) / (KNOTS[i - 1] - KNOTS[i]);
  }
  return 1.0;
}

// The bound as a fraction of the range.
template <class T> FZ_DEV double fraction_of(const GinterpParams& p, const MeasuredRange& range) {
  const double user = user_bound(p);
  if (!(p.switches & ABSOLUTE)) return user;
  return range.known && range.high > range.low ? user / (double)range.width<T>() : 0.0;
}

// Mode 2: the flags of all levels.
FZ_DEV LevelFlags spline_of(const unsigned long long* sums, bool strict, bool flat) {
  if (flat && !strict) return LevelFlags(false, false, false);
  // The reference has overwritten its sums: those of y are in the place of z, those of x in both
  // others.
  const unsigned long long *z = sums + (strict ? 0 : 2), *y = sums + (strict ? 2 : 4), *x = sums + 4;
  const bool better = z[0] + y[0] + x[0] > z[1] + y[1] + x[1];
  const bool reverse = flat ? x[better] > 2 * y[better] : x[better] > 3 * z[better];
  // In passes along one axis the flag means the other spline, which the reference overlooks.
  return LevelFlags(false, strict ? !better : better, reverse);
}

FZ_DEV bool given(uint8_t mask, uint32_t level, bool found) { return mask == UNSET ? found : (mask >> level & 1) != 0; }

template <class C> FZ_DEV void resolve(const Args& a, const GinterpParams& p) {
  const Grid g(p);
  const MeasuredRange range(a, p);
  const bool strict = C::STRICT_LAYOUT, flat = g.body[2] == 1;
  const uint32_t mode = mode_of(p);
  const Tally& tally = tally_of(a);
  GinterpMetadata& made = *reinterpret_cast<GinterpMetadata*>(address(output(a, 0)));
  const auto of = resolve_bound<C>(a, p, range, g.levels, made);
  if (mode > 0) made.alpha = scheduled_alpha(fraction_of<typename C::Value>(p, range));
  if (mode == 5 && p.manual_alpha > 0.0) made.alpha = p.manual_alpha;
  if (mode == 5 && p.manual_beta > 0.0) made.beta = p.manual_beta;
  if (mode == 4) {
    const uint32_t pair = least_of(tally.counts, PAIRS);
    made.alpha = alpha_of(pair);
    made.beta = beta_of(pair);
  }
  set_steps(made, of.finest, made.alpha, made.beta, g.levels);
  for (uint32_t level = 0; level < g.levels; level++) {
    LevelFlags f(level < 2, false, false);
    if (mode == 1) f.reverse = tally.sums[1] > 3 * tally.sums[0];
    if (mode == 2) f = spline_of(tally.sums, strict, flat);
    if (mode == 3 || mode == 4) f = best_of(tally, level, g.levels, strict, flat);
    f = LevelFlags(given(p.md, level, f.md), given(p.natural, level, f.natural), given(p.reverse, level, f.reverse));
    made.flags[level] = f.bits();
    made.reference_flags[level] = f.md;
    made.reference_flags[6 + level] = f.natural;
    made.reference_flags[12 + level] = f.reverse;
  }
  publish(output(a, 0), sizeof made);
}
}  // namespace ginterp
}  // namespace fz

extern "C" __global__ void __launch_bounds__(32) ginterp_resolve(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  using namespace fz::ginterp;
  const GinterpParams& p = fz::params<GinterpParams>(a);
  if (threadIdx.x > 0) return;
  const bool strict = (p.switches & STRICT) != 0;
  if (p.value == 4 && strict) resolve<Bounded<float>>(a, p);
  else if (p.value == 4) resolve<Literal<float>>(a, p);
  else if (strict) resolve<Bounded<double>>(a, p);
  else resolve<Literal<double>>(a, p);
}
