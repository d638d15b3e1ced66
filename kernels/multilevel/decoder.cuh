// Stage multilevel, decoder: functions of all launches, and one step of a run.
#pragma once
#include "multilevel/ended.cuh"
#include "multilevel/run_decoder.cuh"
#include "multilevel/source.cuh"

namespace fz {
namespace multilevel {
// Launches of a decoder are numbered in their tags: a failure cancels later ones.
FZ_DEV uint32_t order_of(const Args& a) { return a.tag >> 8; }
FZ_DEV void corrupt(const Args& a) {
  atomicCAS(reinterpret_cast<uint32_t*>(a.zeroed), 0u, order_of(a) + 1);
  fail(a, CORRUPT);
}
// Returns true if this launch has work; all threads agree.
FZ_DEV bool is_open(const Args& a, const DecoderMemory& memory, const MultilevelParams& p) {
  const uint32_t broken = *reinterpret_cast<const volatile uint32_t*>(a.zeroed);
  return elements(p) > 0 && (broken == 0 || broken > order_of(a)) && !memory.state->stored;
}
// Before a call of `cancelled_late`: whether an earlier grid failed. Failures of the grid before this one may be missing.
FZ_DEV bool cancelled_early(const Args& a) {
#ifdef FZ_EMULATED
  return cancelled(a);
#else
  return cancelled(a, *reinterpret_cast<volatile unsigned long long*>(&status_of(a)->failed));
#endif
}
FZ_DEV const MultilevelMetadata& metadata_of(const Args& a) { return *reinterpret_cast<const MultilevelMetadata*>(address(input(a, 1))); }
// The grid that opens the sections of an array with few batches, and restores its base section.
FZ_DEV Ended& ended_of(const Args& a) { return reinterpret_cast<Ended*>(a.zeroed)[1]; }
FZ_DEV Skips skips_of(const Args& a) { return Skips(params<MultilevelParams>(a), metadata_of(a)); }
FZ_DEV uint32_t stencil_at(const MultilevelMetadata& m, uint32_t level) {
  const uint32_t at = 2 * (level - 1);
  return 2 * (m.stencils[at / 8] >> at % 8 & 3) + 2;
}

// The words of a run or mask run of a section.
FZ_DEV Words run_words(const Args& a, const DecoderMemory& memory, const Coding& c, uint32_t number) {
  const uint8_t* at = address(input(a, 0)) + memory.state->head;
  return {at + 2 * (c.at + memory.places[c.first_mask_run + number]), memory.sizes[c.first_mask_run + number]};
}

// All threads of a block copy the tables that there are.
FZ_DEV void copy_set(DecoderSet& to, const DecoderSet& from) {
  const uint32_t words = (offsetof(DecoderSet, of) + from.tables * sizeof(DecoderTable)) / 16;
  for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) reinterpret_cast<uint4*>(&to)[i] = reinterpret_cast<const uint4*>(&from)[i];
}
// The result of a lane: a code, or the bits of an exact value.
struct Decoded {
  uint32_t u;
  bool exact;
  uint64_t bits;
};
// A token that some lane has with many raw bits, or that is no code.
FZ_DEV Decoded decode_long(RunDecoder& run, const State& state, uint32_t t, uint32_t exact) {
  const uint64_t raw = run.raw(raw_bits(t, exact));
  if (t < PATTERN) return {code_of(t, (uint32_t)raw), false, 0};
  if (t == EXACT) return {0, true, raw};
  const uint32_t i = t - PATTERN;
  run.bad |= i >= state.patterns;
  return {0, true, i < state.patterns ? state.pattern[i] : 0};
}
// The code of a token with few raw bits.
FZ_DEV uint32_t decode_short(RunDecoder& run, uint32_t t, uint32_t count) {
  const uint32_t raw = run.bits(count);
  return count ? (t < 32 ? 4 + (t & 3) : 2 + (t & 1)) << count | raw : t;
}
FZ_DEV Decoded decode_token(RunDecoder& run, const DecoderTable& table, const State& state, bool live, uint32_t exact) {
  uint32_t count;
  run.more();
  const uint32_t t = run.token(table, live, count);
  if (__any_sync(ALL, count == LONG)) return decode_long(run, state, t, exact);
  return {decode_short(run, t, count), false, 0};
}
// For all tokens the code whose raw bits are 0, and its quotient.
template <class T> struct Values {
  T quotients[SYMBOLS];
  uint32_t codes[SYMBOLS];
  // The threads of a block must call the function.
  FZ_DEV void fill() {
    const uint32_t t = threadIdx.x;
    if (t >= SYMBOLS) return;
    codes[t] = t < PATTERN ? code_of(t, 0) : 0;
    quotients[t] = Num<T>::integer(unzigzag(codes[t]));
  }
};
// The prediction of a point that has all taps or `near_end` of them, and its context. If the context is FILL2, the prediction is b.
template <class T> FZ_DEV Predicted<T> expect(const Predictor<T>& of, Guess<T> g, T b, T c, bool has_c) {
  Predicted<T> r = {of.finish(g.p), bucket(g.v * of.rate)};
  if (of.is_usual(g.p)) return r;
  r = careful(b, c, has_c, of.threshold, of.center, of.step, of.rate);
  r.p = r.context == FILL2 ? b : of.finish(r.p);
  return r;
}
// A point before it is decoded: its prediction, or the value of the left neighbor if its context is FILL2. Then bit 3 of `codes` from
// bit `shift` on is set.
constexpr uint32_t FILL_CODE = 8;
template <class T> struct Expected {
  T p;
  uint32_t codes, shift;
  bool live;
};
// The value of a point if some lane is behind, has many raw bits or a token that is no code, or has the context FILL2.
template <class T> FZ_DEV T decode_rare(RunDecoder& run, const DecoderTable& table, Taken& t, const State& state, const Predictor<T>& of, const Expected<T>& point) {
  if (__any_sync(ALL, t.behind)) run.search(table, t);
  run.refill();
  const bool fill = (point.codes >> point.shift & FILL_CODE) != 0;
  Decoded d = {t.symbol, false, 0};
  if (__any_sync(ALL, t.raw() == LONG)) d = decode_long(run, state, point.live ? t.symbol : 0, Num<T>::BITS);
  else d.u = decode_short(run, t.symbol, t.raw());
  if (d.exact) return Num<T>::value(d.bits);
  if (fill && d.u == 0) return point.p;
  return Num<T>::fma(Num<T>::small_integer(unzigzag(d.u - fill)), of.step, fill ? of.finish(of.center) : point.p);
}
// The value of a point. `unit` is its unit in its table, and `fills` is Taken::RAW if its context may be FILL2, else 0. `then` is called
// when the state is that of the next point.
template <class T, class Then>
FZ_DEV T decode_value(RunDecoder& run, uint32_t unit, const DecoderTable& table, const State& state, const Values<T>& values, const Predictor<T>& of, uint32_t fills, const Expected<T>& point, Then then) {
  Taken t = run.take(table, unit, point.live);
  const uint32_t raw_field = (t.entry & Taken::RAW) | fills;
  if (!__any_sync(ALL, raw_field != 0 || t.behind)) {
    run.refill();
    then();
    return Num<T>::fma(values.quotients[t.symbol], of.step, point.p);
  }
  T value;
  if (__any_sync(ALL, raw_field == Taken::RAW || t.behind)) {
    value = decode_rare(run, table, t, state, of, point);
    then();
  } else {
    const uint32_t raw = run.refill_and_bits(t.raw());
    then();
    value = Num<T>::fma(Num<T>::small_integer(unzigzag(values.codes[t.symbol] + raw)), of.step, point.p);
  }
  return value;
}
}  // namespace multilevel
}  // namespace fz
