// Chains: one kernel runs several stages on a tile in registers, from the array to the stream of RZE and back. The stages are
// those of chain_stages.cuh; the chain owns what passes between them. RZE alone is the chain of no stages.
#pragma once
#include "chain_stages.cuh"
#include "place.cuh"
#include "rze_decode.cuh"

namespace fz {
// Stages from left to right, and back. Links of an encoder stand in this order, those of a decoder in the
// other; a link for the padding of the array may stand outside of them, which the ends of the chain do as they go.
template <class... S> struct Stages;
template <> struct Stages<> {
  static constexpr int COUNT = 0, EXTRA = 0;
  static constexpr bool SYNCS = false, HALVES = false, OCTETS = false, HALO = false;
  struct P {};
  struct Q {};
  union Shared { char none; };
  static FZ_DEV P read_forward(const Args&, int) { return {}; }
  static FZ_DEV Q read_backward(const Args&) { return {}; }
  template <class T> static FZ_DEV void forward(uint32_t (&)[32], uint32_t (&)[2], Rows&, const P&, const T&) {}
  template <class T> static FZ_DEV void backward(uint32_t (&)[32], uint32_t, const Q&, Shared&, const T&) {}
};
template <class A, class... R> struct Stages<A, R...> {
  typedef Stages<R...> Rest;
  static constexpr int COUNT = 1 + Rest::COUNT, EXTRA = A::EXTRA + Rest::EXTRA;
  static constexpr bool SYNCS = A::SYNCS || Rest::SYNCS, HALVES = A::HALVES,
                        OCTETS = sizeof...(R) ? Rest::OCTETS : A::OCTETS, HALO = A::HALO || Rest::HALO;
  struct P {
    typename A::P first;
    typename Rest::P rest;
  };
  struct Q {
    typename A::Q first;
    typename Rest::Q rest;
  };
  union Shared {
    typename A::Shared first;
    typename Rest::Shared rest;
  };
  // Further operands stand behind input 0, in the order of the links.
  static FZ_DEV P read_forward(const Args& a, int extra) {
    return {A::read(a, (int)a.chained - COUNT, extra), Rest::read_forward(a, extra + A::EXTRA)};
  }
  static FZ_DEV Q read_backward(const Args& a) { return {A::read_back(a, 1 + Rest::EXTRA), Rest::read_backward(a)}; }
  template <class T> static FZ_DEV void forward(uint32_t (&v)[32], uint32_t (&halo)[2], Rows& rows, const P& p, const T& t) {
    A::forward(v, halo, rows, p.first, t);
    Rest::forward(v, halo, rows, p.rest, t);
  }
  template <class T> static FZ_DEV void backward(uint32_t (&v)[32], uint32_t live, const Q& q, Shared& s, const T& t) {
    Rest::backward(v, live, q.rest, s.rest, t);
    A::backward(v, live, q.first, s.first, t);
  }
};

// How the elements of a chain lie; those of a short tile always in E.
template <bool WHOLE, class CHAIN> FZ_DEV constexpr int layout_of() { return WHOLE && CHAIN::HALVES ? H : E; }

struct EncodeShared {
  uint4 st[(RZE_STAGE + 15) / 16];
  uint4 before[4];  // ends with the words before the slice of each warp but the first
  RzeEncoder z;
};
template <class... S> struct DecodeShared {
  uint4 buf[RZE_BUFFER / 16];
  RzeDecoder z;
  typename Stages<S...>::Shared s;
};

// The tile that is staged, or of which the words are loaded here, to its place in the stream. FEW: of an array of which all blocks run
// at once.
template <bool FEW, bool WHOLE, class... S>
FZ_DEV void encode_tile(const Args& a, EncodeShared& sm, const Bytes& src, uint64_t total, const typename Stages<S...>::P& p, unsigned long long failed, int tid) {
  typedef Stages<S...> Chain;
  const uint32_t c = blockIdx.x;
  const uint64_t at = (uint64_t)c * TILE;
  const Tile<WHOLE> t = {sm.st, WHOLE ? TILE : (uint32_t)(total - at), tid};
  uint32_t v[32], halo[2] = {0, 0};
  Rows rows = {15, {}};
  if constexpr (Chain::COUNT > 0) {
    fz_copies_done();
    __syncwarp();
    if (dead(a, failed)) return;
    if (Chain::HALO && tid > 31) {
      halo[0] = sm.before[tid >> 5].z;
      halo[1] = sm.before[tid >> 5].w;
    }
    read<layout_of<WHOLE, Chain>()>(sm.st, v, tid);
    Chain::forward(v, halo, rows, p, t);
  } else load_p(src, at, v, tid);
  const RzeForm form = rze_form<WHOLE>(t.len, params<RzeParams>(a).layout == LAYOUT_2026_05);
  const StreamOut out = stream_out(a, a.operands[1 + Chain::EXTRA], total, TILE);
  uint8_t* st = reinterpret_cast<uint8_t*>(sm.st);
  if constexpr (WHOLE && Chain::OCTETS) rze_mark(rows, rze_m0(st), tid);
  else rze_mark(v, rows.live, rze_m0(st), tid);
  rze_encode_tile<FEW>(v, rows.live, form, sm.z, st, tid, [&](uint32_t entry) { announce(out, c, entry); });
  if (FEW) {
    // The first warp is the last one to have its part of the payload.
    if (tid >= THREADS - 32) {
      const uint64_t before = look_at_all(out.words, c, tid & 31);
      if (tid == THREADS - 1) sm.z.before = before;
    }
  } else if (tid < 32) {
    __syncwarp();
    const uint64_t before = find_place(out, c, sm.z.entry & ~RAW, tid);
    if (tid == 0) sm.z.before = before;
  }
  __syncthreads();
  const uint32_t entry = sm.z.entry;
  if (entry & RAW) {
    put_p(sm.st, v, tid);
    __syncthreads();
  }
  place(out, c, sm.z.before, st, entry & ~RAW, tid);
}
// The short last tile: a function of its own, so that its code does not stand between that of the others.
template <bool FEW, class... S>
__device__ __attribute__((noinline)) void encode_short_tile(const Args& a, EncodeShared& sm, const Bytes src, uint64_t total, const typename Stages<S...>::P p, unsigned long long failed) {
  encode_tile<FEW, false, S...>(a, sm, src, total, p, failed, threadIdx.x);
}
// The tile at `at`, and what stands before the slices of its warps, on their way to shared memory.
template <class... S> FZ_DEV void bring_tile(EncodeShared& sm, const Bytes& src, uint64_t at, uint64_t total, int tid) {
  typedef Stages<S...> Chain;
  if (at + TILE <= total) fetch<layout_of<true, Chain>()>(src, at, sm.st, tid);
  else fetch<E>(src, at, sm.st, tid);
  if (Chain::HALO && (tid & 31) == 0 && tid) fetch_piece(src, at + 128 * tid - 16, &sm.before[tid >> 5]);
}

// The array, or any bytes, to the stream. Block c makes chunk c.
template <bool FEW, class... S> FZ_DEV void chain_encode(const Args& a, EncodeShared& sm) {
  typedef Stages<S...> Chain;
  constexpr bool ELEMENTS = Chain::COUNT > 0;
  const int tid = threadIdx.x;
  // All that has to be fetched is on its way before the first of it is looked at, the caller's array even before earlier launches
  // have ended.
  const bool early = ELEMENTS && a.fresh;
  unsigned long long failed = early ? 0 : failure(a);
  const Operand& in = input(a, 0);
  const uint64_t given = min(length(in), in.max), total = ELEMENTS || a.chained ? length(a.passed) : given;
  const Bytes src = {reinterpret_cast<const uint8_t*>(in.base), min(given, total)};
  const uint64_t at = (uint64_t)blockIdx.x * TILE;
  const bool mine = at < total;
  if (early) {
    if (mine) bring_tile<S...>(sm, src, at, total, tid);
    // Some tiles ahead.
    constexpr uint64_t AHEAD = 256 * TILE;
    if (!FEW && tid == 0 && at + AHEAD + TILE <= src.have && aligned(src.at, 16)) fz_prefetch(src.at + at + AHEAD, TILE);
    failed = failure(a);
  }
  const typename Chain::P p = Chain::read_forward(a, 1);
  if (!mine || !early) {
    if (dead(a, failed)) return;
    if (!mine && blockIdx.x == 0 && tid == 0) publish(a.operands[1 + Chain::EXTRA], 0);
    if (!mine) return;
  }
  if (ELEMENTS && !early) bring_tile<S...>(sm, src, at, total, tid);
  if (at + TILE <= total) encode_tile<FEW, true, S...>(a, sm, src, total, p, failed, tid);
  else encode_short_tile<FEW, S...>(a, sm, src, total, p, failed);
}

// What the passes before leave: the layout that the stream turned out to have, then for each chunk that is wanted where it
// starts in the stream, how long it is and whether it is raw. A chunk that the stream does not have is longer than any.
struct RzeIndex {
  const uint64_t* words;
  static constexpr uint64_t STARTS = (1ull << 48) - 1, NONE = 0x7fffull << 48;
  FZ_DEV uint32_t layout(const Args& a) const {
    const uint32_t told = params<RzeParams>(a).layout;
    return told == LAYOUT_AMBIGUOUS ? (uint32_t)words[0] : told;
  }
};
struct RzeChunk {
  uint64_t word;
  FZ_DEV uint64_t start() const { return word & RzeIndex::STARTS; }
  FZ_DEV uint32_t size() const { return (uint32_t)(word >> 48) & 0x7fff; }
  FZ_DEV bool raw() const { return word >> 63; }
};
FZ_DEV uint64_t rze_chunk(uint64_t start, uint32_t entry, uint64_t have) {
  const uint32_t size = entry & ~RAW;
  const bool there = size <= TILE && start + size <= have;
  return there ? (uint64_t)(entry >> 31) << 63 | (uint64_t)size << 48 | (start & RzeIndex::STARTS) : RzeIndex::NONE;
}

// A stream as a decoder sees it: n chunks that make `total` bytes, of which `room` are wanted. The array may end before
// its padding does.
struct StreamIn {
  Bytes bytes;
  uint64_t total, room, n, payloads;
};
FZ_DEV StreamIn stream_in(const Args& a, const Operand& out, uint32_t chunk) {
  const Operand& in = input(a, 0);
  const uint64_t given = length(out), total = a.chained ? length(a.passed) : given;
  const uint64_t n = (total + chunk - 1) / chunk;
  return {{address(in), min(length(in), in.max)}, total, min(min(given, out.max), total), n, STREAM_HEAD + 4 * n};
}

// What one looks for in the table of few chunks, for which no launch before has made an index: every block looks at all of it, which takes
// less time than another launch.
struct RzeTable {
  const uint8_t* at;    // the stream; null: nowhere yet
  uint32_t total, n;    // as it says
  uint32_t entry;       // of the chunk
  uint64_t start, end;  // of its payload, and of all
};
// Of a stream with room for `payloads` bytes in front of its payloads, and so for the table. `w`: nine words of shared memory, which nobody
// needs any more when it returns.
__device__ __attribute__((noinline)) inline RzeTable rze_read_table(const uint8_t* at, uint64_t chunks, uint64_t payloads, uint32_t* w) {
  const uint32_t c = blockIdx.x;
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  const uint8_t* table = at + STREAM_HEAD;
  RzeTable t = {at, load<uint32_t>(at), load<uint32_t>(at + 4), 0, 0, 0};
  // Chunks that are too long are found out one by one, so that sums of few never run over.
  uint32_t before = 0, all = 0;
  for (uint64_t k = tid; k < chunks; k += THREADS) {
    const uint32_t entry = load<uint32_t>(table + 4 * k), size = min(entry & ~RAW, TILE + 1);
    if (k < c) before += size;
    if (k == c) w[8] = entry;
    all += size;
  }
  before = __reduce_add_sync(ALL, before);
  all = __reduce_add_sync(ALL, all);
  if (lane == 0) { w[warp] = before; w[4 + warp] = all; }
  __syncthreads();
  t.start = payloads + w[0] + w[1] + w[2] + w[3];
  t.end = payloads + w[4] + w[5] + w[6] + w[7];
  t.entry = c < chunks ? w[8] : 0;
  __syncthreads();
  return t;
}
// The chunk of this block, once it is known what the stream is. One block looks at what stands behind the payloads.
FZ_DEV uint64_t rze_find_chunk(const Args& a, const StreamIn& in, const RzeTable& t) {
  const uint32_t c = blockIdx.x;
  const uint64_t last = (t.end + 3) & ~3ull;
  const bool there = t.at && in.total > 0 && t.total == in.total && t.n == in.n;
  if (c == min(max(in.n, (uint64_t)1), (uint64_t)gridDim.x) - 1 && threadIdx.x == 0) {
    bool sound = there ? last == in.bytes.have : in.total == 0 && in.bytes.have == 0;
    for (uint64_t k = t.end; there && sound && k < last; k++) sound = in.bytes.at[k] == 0;
    if (!sound) fail(a, CORRUPT);
  }
  return there && c < in.n ? rze_chunk(t.start, t.entry, in.bytes.have) : RzeIndex::NONE;
}

// The payload at P of the buffer to the array. `q`: makes what the stages need.
template <bool WHOLE, class... S, class F>
FZ_DEV void decode_tile(const Args& a, DecodeShared<S...>& sm, uint64_t at, uint32_t len, bool old, uint32_t P, uint32_t size, bool raw, F q, int tid) {
  typedef Stages<S...> Chain;
  uint32_t v[32], live = 0;
  if (!rze_decode_tile(v, live, rze_form<WHOLE>(len, old), sm.z, sm.buf, P, size, raw, tid)) fail(a, CORRUPT);
  const Operand& o = a.operands[1 + Chain::EXTRA];
  const uint64_t room = min(min(length(o), o.max), at + len);
  if constexpr (Chain::COUNT > 0) {
    Chain::backward(v, live, q(), sm.s, Tile<WHOLE>{sm.buf, len, tid});
    if (!Chain::SYNCS) __syncthreads();  // nobody reads the payload any more
    write<layout_of<WHOLE, Chain>()>(address(o), at, room, sm.buf, v, tid);
  } else store_p(address(o), at, room, v, tid);
}

// The short last tile: a function of its own, so that what it needs takes no registers from the others.
template <class... S>
__device__ __attribute__((noinline)) void decode_short_tile(const Args& a, DecodeShared<S...>& sm, uint64_t at, uint32_t len, bool old, uint32_t P, uint32_t size, bool raw) {
  decode_tile<false, S...>(a, sm, at, len, old, P, size, raw, [&] { return Stages<S...>::read_backward(a); }, threadIdx.x);
}

// A chunk of few: table and payload may be looked up in the caller's container while its head is still being read.
template <class... S> FZ_DEV void chain_decode_few(const Args& a, DecodeShared<S...>& sm) {
  const int tid = threadIdx.x;
  const Operand& out = a.operands[1 + Stages<S...>::EXTRA];
  const bool old = params<RzeParams>(a).layout == LAYOUT_2026_05;
  const uint64_t at = (uint64_t)blockIdx.x * TILE;
  uint32_t* const w = reinterpret_cast<uint32_t*>(sm.buf);
  RzeTable table = {nullptr, 0, 0, 0, 0, 0};
  uint32_t P = 0;
  bool fetched = false;
  if (a.likely) {
    // Without words of earlier launches: lengths of operands are known.
    const uint64_t total = a.chained ? a.passed.max : out.max, n = (total + TILE - 1) / TILE, payloads = STREAM_HEAD + 4 * n;
    if (payloads <= a.likely_bytes) {
      table = rze_read_table(reinterpret_cast<const uint8_t*>(a.likely), n, payloads, w);
      const RzeChunk likely = {rze_chunk(table.start, table.entry, a.likely_bytes)};
      fetched = likely.size() <= TILE;
      if (fetched) P = rze_fetch_payload(sm.buf, {table.at, a.likely_bytes}, likely.start(), likely.size(), tid);
    }
  }
  rze_tables(sm.z, tid);
  const unsigned long long failed = failure(a);
  const StreamIn in = stream_in(a, out, TILE);
  if (fetched) fz_copies_done();
  if (dead(a, failed)) return;
  const typename Stages<S...>::Q q = Stages<S...>::read_backward(a);
  if (table.at != in.bytes.at) {
    __syncthreads();
    table.at = nullptr;
    fetched = false;
    if (in.total > 0 && in.payloads <= in.bytes.have) table = rze_read_table(in.bytes.at, in.n, in.payloads, w);
  }
  const RzeChunk here = {rze_find_chunk(a, in, table)};
  if (at >= in.room) return;
  const uint32_t len = (uint32_t)min((uint64_t)TILE, in.total - at), size = here.size();
  const bool raw = here.raw();
  if (!rze_plausible(len, old, size, raw)) {
    if (tid == 0) fail(a, CORRUPT);
    return;
  }
  if (!fetched) {
    P = rze_fetch_payload(sm.buf, in.bytes, here.start(), size, tid);
    fz_copies_done();
  }
  __syncthreads();
  if (len == TILE) decode_tile<true, S...>(a, sm, at, len, old, P, size, raw, [&] { return q; }, tid);
  else decode_short_tile<S...>(a, sm, at, len, old, P, size, raw);
}
// The stream to the array, or any bytes.
template <class... S> FZ_DEV void chain_decode(const Args& a, DecodeShared<S...>& sm) {
  constexpr bool ELEMENTS = sizeof...(S) > 0;
  const int tid = threadIdx.x;
  const uint32_t c = blockIdx.x, chunk = ELEMENTS ? TILE : params<RzeParams>(a).chunk;
  const RzeIndex index = {reinterpret_cast<const uint64_t*>(a.scratch)};
  // All that has to be fetched is on its way before the first of it is looked at.
  const unsigned long long failed = failure(a);
  const RzeChunk here = {index.words[1 + c]};
  const StreamIn in = stream_in(a, a.operands[1 + Stages<S...>::EXTRA], chunk);
  const uint32_t layout = index.layout(a);
  const uint64_t at = (uint64_t)c * chunk;
  if (dead(a, failed)) return;
  if (at >= in.room) return;
  // Words of other widths are the business of rze_decode_words.
  if (!ELEMENTS && layout != LAYOUT_2026_05 && (chunk != TILE || params<RzeParams>(a).word != 1)) return;
  const uint32_t len = (uint32_t)min((uint64_t)chunk, in.total - at), size = here.size();
  const bool old = layout == LAYOUT_2026_05, raw = here.raw();
  if (!rze_plausible(len, old, size, raw)) {
    if (tid == 0) fail(a, CORRUPT);
    return;
  }
  const uint32_t P = rze_fetch_payload(sm.buf, in.bytes, here.start(), size, tid);
  rze_tables(sm.z, tid);
  fz_copies_done();
  __syncthreads();
  if (len == TILE) decode_tile<true, S...>(a, sm, at, len, old, P, size, raw, [&] { return Stages<S...>::read_backward(a); }, tid);
  else decode_short_tile<S...>(a, sm, at, len, old, P, size, raw);
}
}  // namespace fz

// The two device functions of a chain, of which so many blocks encode, and decode, on a multiprocessor at a time.
#define FZ_CHAIN(NAME, ENCODERS, DECODERS, ...)                                                 \
  extern "C" __global__ void __launch_bounds__(128, ENCODERS) chain_##NAME##_encode(FZ_ARGS) { \
    __shared__ fz::EncodeShared sm;                                                             \
    fz::chain_encode<false, __VA_ARGS__>(a, sm);                                                \
  }                                                                                             \
  extern "C" __global__ void __launch_bounds__(128, DECODERS) chain_##NAME##_decode(FZ_ARGS) { \
    __shared__ fz::DecodeShared<__VA_ARGS__> sm;                                                \
    fz::chain_decode<__VA_ARGS__>(a, sm);                                                       \
  }
// The same for arrays of few chunks: four blocks run on a multiprocessor at a time, and a block that decodes finds its own chunk.
#define FZ_CHAIN_OF_FEW(NAME, ...)                                                               \
  extern "C" __global__ void __launch_bounds__(128, 4) chain_##NAME##_encode_few(FZ_ARGS) {      \
    __shared__ fz::EncodeShared sm;                                                              \
    fz::chain_encode<true, __VA_ARGS__>(a, sm);                                                  \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(128, 4) chain_##NAME##_decode_few(FZ_ARGS) {      \
    __shared__ fz::DecodeShared<__VA_ARGS__> sm;                                                 \
    fz::chain_decode_few<__VA_ARGS__>(a, sm);                                                    \
  }
