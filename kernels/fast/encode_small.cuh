// Stage fast, encoder of small arrays: all blocks run at the same time, so the latency of a chunk
// counts. Each block publishes its number of words early, makes its planes while the others publish
// theirs, and writes its words to their place.
//
// A block waits for those before it, see common/lookback.cuh. Every block publishes its number of
// words, for any data and any destination.
#pragma once
#include "fast/encode_half2.cuh"
#include "fast/encode_unit.cuh"

namespace fz {
namespace fast {
// Encodes chunk `number`. U: a unit encoder. Returns OUT_OF_REACH, of that encoder, before anything is
// published.
template <class T, int DIM, class U> FZ_DEV Outcome encode_small_as(const Args& a, Shared& s, uint32_t number) {
  const Params& p = params<Params>(a);
  const Operand& out = output(a, 0);
  U c;
  Planes b;
  const Outcome outcome = c.count(a, number, s);
  if (outcome == CANCELLED || outcome == OUT_OF_REACH) return outcome;
  __syncthreads();
  const SmallLookbackState lookback(a);
  Total t = {IS_CONSTANT, 0, 0};
  if (outcome == COUNTED_WORDS) t = total<T, DIM>(p, number, s, c.k, c.reference);
  const uint32_t words = t.state & WORDS;
  if (threadIdx.x == 0) lookback.publish(number, words);
  if (outcome == COUNTED_WORDS) {
    make_header(s, c);
    c.planes(s, b);
  }
  if (c.k == 0) {
    const uint32_t before = lookback.exclusive_prefix(number);
    if (threadIdx.x == 0) s.before = before;
  }
  __syncthreads();
  const uint64_t first = s.before, table = 8ull * p.chunks;
  if (number == p.chunks - 1 && threadIdx.x == 0) publish(out, table + 4 * (first + words));
  if (t.state & IS_CONSTANT) {
    if (threadIdx.x == 0) put_constant(a, number, s, c.reference);
    return outcome;
  }
  if (table + 4 * (first + words) > out.max) return outcome;  // seed: fast-few-room
  uint8_t* stream = address(out);
  uint8_t* to = stream + table + 4 * first;
  if (threadIdx.x == 0) put_entry(stream, number, first, t.state);
  if (t.state & IS_RAW) put_values<T, DIM>(a, number, c.k, CHUNK_UNITS, to);
  else if (aligned(to, 4)) put_words<T, DIM, false>(a, number, s, c, b, t, to);
  else put_words<T, DIM, true>(a, number, s, c, b, t, to);
  return outcome;
}

// U: a unit encoder.
template <class T, int DIM, class U> FZ_DEV Outcome encode_small(const Args& a, Shared& s) {
  const Params& p = params<Params>(a);
  if (p.chunks == 0) {
    if (!cancelled(a) && threadIdx.x == 0) publish(output(a, 0), 0);
    return CANCELLED;
  }
  return encode_small_as<T, DIM, U>(a, s, blockIdx.x);
}
}  // namespace fast
}  // namespace fz
