// Stage multilevel, decoder: functions of all launches, and one step of a run.
#pragma once
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
FZ_DEV const MultilevelMetadata& metadata_of(const Args& a) { return *reinterpret_cast<const MultilevelMetadata*>(address(input(a, 1))); }
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
// The value of a point that is predicted. `fill` is true if its context is FILL2, and quotients[u] is the quotient of a code below 16.
template <class T> FZ_DEV T decode_value(RunDecoder& run, const DecoderTable& table, const State& state, const T* quotients, T step, T p, bool fill, T b, bool live) {
  uint32_t count;
  run.more();
  uint32_t u = run.live_token(table, live, count);
  if (__any_sync(ALL, count > 0 || fill)) {
    Decoded d = {u, false, 0};
    if (__any_sync(ALL, count == LONG)) d = decode_long(run, state, live ? u : 0, Num<T>::BITS);
    else d.u = decode_short(run, u, count);
    if (d.exact) return Num<T>::value(d.bits);
    if (fill && d.u == 0) return b;
    return Num<T>::fma(Num<T>::small_integer(unzigzag(d.u - fill)), step, p);
  }
  return Num<T>::fma(quotients[u], step, p);
}
// The quotients of codes without raw bits. The threads of a block must call the function.
template <class T> FZ_DEV void fill_quotients(T* quotients) {
  if (threadIdx.x < SYMBOLS) quotients[threadIdx.x] = Num<T>::integer(unzigzag(threadIdx.x));
}
}  // namespace multilevel
}  // namespace fz
