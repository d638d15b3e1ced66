// Stage fast, encoder of small arrays: all blocks run at the same time, so the latency of a chunk
// counts. Each block publishes its number of words early, makes its planes while the others publish
// theirs, and writes its words to their place.
//
// A block waits for those before it, see common/lookback.cuh. Every block publishes its number of
// words, for any data and any destination.
#pragma once
#include "fast/encode_unit.cuh"

namespace fz {
namespace fast {
template <class T, int DIM> FZ_DEV void encode_small(const Args& a, Shared& s) {
  const Params& p = params<Params>(a);
  const Operand& out = output(a, 0);
  const uint32_t number = blockIdx.x;
  if (p.chunks == 0) {
    if (!cancelled(a) && threadIdx.x == 0) publish(out, 0);
    return;
  }
  UnitEncoder<T, DIM, true, false, false> c;
  Planes b;
  if (c.count(a, number, s) != COUNTED_WORDS) return;
  __syncthreads();
  const SmallLookbackState lookback(a);
  const Total t = total<T, DIM>(p, number, s, c.k, c.reference);
  const uint32_t words = t.state & WORDS;
  if (threadIdx.x == 0) lookback.publish(number, words);
  make_header(s, c);
  c.planes(s, b);
  if (c.k == 0) {
    const uint32_t before = lookback.exclusive_prefix(number);
    if (threadIdx.x == 0) s.before = before;
  }
  __syncthreads();
  const uint64_t first = s.before, table = 8ull * p.chunks;
  if (number == p.chunks - 1 && threadIdx.x == 0) publish(out, table + 4 * (first + words));
  if (t.state & IS_CONSTANT) {
    if (threadIdx.x == 0) put_constant(a, number, s, c.reference);
    return;
  }
  if (table + 4 * (first + words) > out.max) return;  // seed: fast-few-room
  uint8_t* stream = address(out);
  uint8_t* to = stream + table + 4 * first;
  if (threadIdx.x == 0) put_entry(stream, number, first, t.state);
  if (t.state & IS_RAW) put_values<T, DIM>(a, number, c.k, CHUNK_UNITS, to);
  else if (aligned(to, 4)) put_words<T, DIM, false>(a, number, s, c, b, t, to);
  else put_words<T, DIM, true>(a, number, s, c, b, t, to);
}
}  // namespace fast
}  // namespace fz
