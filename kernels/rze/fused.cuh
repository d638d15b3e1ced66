// Fused kernels: several stages on a tile in registers, from the array to the stream of rze and
// back. fused_stages.cuh has the stages. Stage rze alone is fused with no stage.
#pragma once
#include "rze/fused_stages.cuh"
#include "rze/stream.cuh"
#include "rze/tile_decode.cuh"

namespace fz {
namespace rze {
// The stages in the order of an encoder. Fused kernels of a decoder have the reverse order. One for the
// padding of the array may come before the first stage; loads and stores of the array do its work.
template <class... S> struct Stages;
template <> struct Stages<> {
  static constexpr int COUNT = 0, EXTRA = 0;
  static constexpr bool SYNCS = false, HALVES = false, OCTETS = false, HALO = false;
  struct P {};
  struct Q {};
  union Shared { char none; };
  static FZ_DEV P read_forward(const Args&, int) { return {}; }
  static FZ_DEV Q read_backward(const Operand*) { return {}; }
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
  // Further inputs follow input 0, in the order of the fused kernels.
  static FZ_DEV P read_forward(const Args& a, int extra) {
    return {A::read(a, (int)a.fused_count - COUNT, extra), Rest::read_forward(a, extra + A::EXTRA)};
  }
  // `inputs`: of the step, 1 + EXTRA.
  static FZ_DEV Q read_backward(const Operand* inputs) { return {A::read_back(inputs[EXTRA]), Rest::read_backward(inputs)}; }
  template <class T> static FZ_DEV void forward(uint32_t (&v)[32], uint32_t (&halo)[2], Rows& rows, const P& p, const T& t) {
    A::forward(v, halo, rows, p.first, t);
    Rest::forward(v, halo, rows, p.rest, t);
  }
  template <class T> static FZ_DEV void backward(uint32_t (&v)[32], uint32_t live, const Q& q, Shared& s, const T& t) {
    Rest::backward(v, live, q.rest, s.rest, t);
    A::backward(v, live, q.first, s.first, t);
  }
};

// The layout of the tile in registers. A short tile always has layout E.
template <bool WHOLE, class FUSED> FZ_DEV constexpr int layout_of() { return WHOLE && FUSED::HALVES ? H : E; }

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

// Encodes the tile in shared memory, or the one that is loaded here, and writes it to the stream.
// SMALL: all blocks of the grid run at the same time. MEASURED: the bytes of a value whose extremes
// are recorded, or 0.
template <bool SMALL, int MEASURED, bool WHOLE, class... S>
FZ_DEV void encode_tile(const Args& a, EncodeShared& sm, const Bytes& src, uint64_t total, const typename Stages<S...>::P& p, unsigned long long failed, int tid) {
  typedef Stages<S...> Fused;
  const uint32_t c = blockIdx.x;
  const uint64_t at = (uint64_t)c * TILE;
  const Tile<WHOLE> t = {sm.st, WHOLE ? TILE : (uint32_t)(total - at), tid};
  uint32_t v[32], halo[2] = {0, 0};
  Rows rows = {15, {}};
  if constexpr (Fused::COUNT > 0) {
    fz_copies_done();
    __syncwarp();
    if (cancelled(a, failed)) return;
    if (Fused::HALO && tid > 31) {
      halo[0] = sm.before[tid >> 5].z;
      halo[1] = sm.before[tid >> 5].w;
    }
    read<layout_of<WHOLE, Fused>()>(sm.st, v, tid);
    if constexpr (MEASURED > 0) {
      const uint64_t have = src.have > at ? src.have - at : 0;
      measure_tile<MEASURED>(a, fused_params<quantizer::QuantizerParams>(a, (int)a.fused_count - Fused::COUNT), v, (uint32_t)min(have, (uint64_t)TILE), tid);
    }
    Fused::forward(v, halo, rows, p, t);
  } else load_p(src, at, v, tid);
  const RzeForm form = rze_form<WHOLE>(t.len, params<RzeParams>(a).layout == LAYOUT_2026_05);
  const StreamOut out = stream_out(a, a.operands[1 + Fused::EXTRA], total, TILE);
  uint8_t* st = reinterpret_cast<uint8_t*>(sm.st);
  if constexpr (WHOLE && Fused::OCTETS) rze_mark(rows, rze_m0(st), tid);
  else rze_mark(v, rows.live, rze_m0(st), tid);
  rze_encode_tile<SMALL>(v, rows.live, form, sm.z, st, tid, [&](uint32_t entry) { publish_entry(out, c, entry); });
  if (SMALL) {
    // The first warp is the last one to finish its part of the payload, so another one looks back.
    if (tid >= THREADS - 32) {
      const uint64_t before = exclusive_prefix_small(out.words, c, tid & 31);
      if (tid == THREADS - 1) sm.z.before = before;
    }
  } else if (tid < 32) {
    __syncwarp();
    const uint64_t before = publish_prefix(out, c, sm.z.entry & ~RAW, tid);
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
// The last tile, if it is short. Not inlined, to keep its code apart from that of whole tiles.
template <bool SMALL, int MEASURED, class... S>
__device__ __attribute__((noinline)) void encode_short_tile(const Args& a, EncodeShared& sm, const Bytes src, uint64_t total, const typename Stages<S...>::P p, unsigned long long failed) {
  encode_tile<SMALL, MEASURED, false, S...>(a, sm, src, total, p, failed, threadIdx.x);
}
// Copies the tile at `at`, and the words before the slices of its warps, to shared memory.
template <class... S> FZ_DEV void bring_tile(EncodeShared& sm, const Bytes& src, uint64_t at, uint64_t total, int tid) {
  typedef Stages<S...> Fused;
  if (at + TILE <= total) fetch<layout_of<true, Fused>()>(src, at, sm.st, tid);
  else fetch<E>(src, at, sm.st, tid);
  if (Fused::HALO && (tid & 31) == 0 && tid) fetch_piece(src, at + 128 * tid - 16, &sm.before[tid >> 5]);
}

// Encodes the array, or any bytes. Block c makes chunk c. MEASURED: as of encode_tile, for two tries.
template <bool SMALL, int MEASURED, class... S> FZ_DEV void fused_encode(const Args& a, EncodeShared& sm) {
  if constexpr (MEASURED > 0) {
    if (!quantizer::begin_try(a)) return;
  }
  typedef Stages<S...> Fused;
  constexpr bool ELEMENTS = Fused::COUNT > 0;
  const int tid = threadIdx.x;
  // All loads are issued before the first result is used, those of the caller's array even before
  // earlier launches have ended.
  const bool early = ELEMENTS && a.fresh;
  unsigned long long failed = early ? 0 : failure(a);
  const Operand& in = input(a, 0);
  const uint64_t given = min(length(in), in.max), total = ELEMENTS || a.fused_count ? length(a.passed) : given;
  const Bytes src = {address(in), min(given, total)};
  const uint64_t at = (uint64_t)blockIdx.x * TILE;
  const bool mine = at < total;
  if (early) {
    if (mine) bring_tile<S...>(sm, src, at, total, tid);
    // Prefetches a later tile.
    constexpr uint64_t AHEAD = 256 * TILE;
    if (!SMALL && tid == 0 && at + AHEAD + TILE <= src.have && aligned(src.at, 16)) fz_prefetch(src.at + at + AHEAD, TILE);
    failed = failure(a);
  }
  const typename Fused::P p = Fused::read_forward(a, 1);
  if (!mine || !early) {
    if (cancelled(a, failed)) return;
    if (!mine && blockIdx.x == 0 && tid == 0) publish(a.operands[1 + Fused::EXTRA], 0);
    if (!mine) return;
  }
  if (ELEMENTS && !early) bring_tile<S...>(sm, src, at, total, tid);
  if (at + TILE <= total) encode_tile<SMALL, MEASURED, true, S...>(a, sm, src, total, p, failed, tid);
  else encode_short_tile<SMALL, MEASURED, S...>(a, sm, src, total, p, failed);
}

// The index that earlier kernels write: the layout of the stream, and for each chunk of the array
// its start, its length, and whether it is raw. A chunk that the stream does not contain has an
// impossible length.
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

// A stream for a decoder: n chunks of `total` bytes, of which the array needs `room`. The array may
// end before its padding.
struct StreamIn {
  Bytes bytes;
  uint64_t total, room, n, payloads;
};
FZ_DEV StreamIn stream_in(const Args& a, const Operand& out, uint32_t chunk, const Bytes& in) {
  const uint64_t given = length(out), total = a.fused_count ? length(a.passed) : given;
  const uint64_t n = (total + chunk - 1) / chunk;
  return {in, total, min(min(given, out.max), total), n, STREAM_HEADER_BYTES + 4 * n};
}
FZ_DEV StreamIn stream_in(const Args& a, const Operand& out, uint32_t chunk) {
  const Operand& in = input(a, 0);
  return stream_in(a, out, chunk, {address(in), min(length(in), in.max)});
}

// The entry of this block in the table of a small stream, which has no index: every block scans the
// table, which takes less time than another launch.
struct RzeTable {
  const uint8_t* at;    // the stream; null: not read yet
  uint32_t total, n;    // as in its header
  uint32_t entry;       // of the chunk
  uint64_t start, end;  // start of its payload, and end of all payloads
};
// Scans the table of a stream whose payloads start at `payloads`. `w`: nine words of shared memory,
// free again on return.
__device__ __attribute__((noinline)) inline RzeTable rze_read_table(const uint8_t* at, uint64_t chunks, uint64_t payloads, uint32_t* w) {
  const uint32_t c = blockIdx.x;
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  const uint8_t* table = at + STREAM_HEADER_BYTES;
  RzeTable t = {at, load<uint32_t>(at), load<uint32_t>(at + 4), 0, 0, 0};
  // Lengths are clamped, so that sums do not overflow; the block of an invalid chunk detects it.
  uint32_t before = 0, all = 0;
  for (uint64_t k = tid; k < chunks; k += THREADS) {
    const uint32_t entry = load<uint32_t>(table + 4 * k), size = min(entry & ~RAW, TILE + 1);
    if (k < c) before += size;  // seed: few-before
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
// The chunk of this block. One thread of one block checks the end of the stream, which is then `sound`.
FZ_DEV uint64_t rze_find_chunk(const StreamIn& in, const RzeTable& t, bool& sound) {
  const uint32_t c = blockIdx.x;
  const uint64_t last = (t.end + 3) & ~3ull;
  const bool there = t.at && in.total > 0 && t.total == in.total && t.n == in.n;
  if (c == min(max(in.n, (uint64_t)1), (uint64_t)gridDim.x) - 1 && threadIdx.x == 0) {
    sound = there ? last == in.bytes.have : in.total == 0 && in.bytes.have == 0;
    for (uint64_t k = t.end; there && sound && k < last; k++) sound = in.bytes.at[k] == 0;  // seed: few-tail
  }
  return there && c < in.n ? rze_chunk(t.start, t.entry, in.bytes.have) : RzeIndex::NONE;
}

// Decodes the payload at `P` of the buffer and stores its tile; false if no encoder writes it. `q`:
// makes the decoding parameters of the stages.
template <bool WHOLE, class... S, class F>
FZ_DEV bool decode_tile(const Args& a, DecodeShared<S...>& sm, uint64_t at, uint32_t len, bool old, uint32_t P, uint32_t size, bool raw, F q, int tid) {
  typedef Stages<S...> Fused;
  uint32_t v[32], live = 0;
  const bool good = rze_decode_tile(v, live, rze_form<WHOLE>(len, old), sm.z, sm.buf, P, size, raw, tid);
  const Operand& o = a.operands[1 + Fused::EXTRA];
  const uint64_t room = min(min(length(o), o.max), at + len);
  if constexpr (Fused::COUNT > 0) {
    Fused::backward(v, live, q(), sm.s, Tile<WHOLE>{sm.buf, len, tid});
    if (!Fused::SYNCS) __syncthreads();  // the payload has been read
    write<layout_of<WHOLE, Fused>()>(address(o), at, room, sm.buf, v, tid);
  } else store_p(address(o), at, room, v, tid);
  return good;
}

// The last tile, if it is short. Not inlined, so that it takes no registers from whole tiles.
template <class... S>
__device__ __attribute__((noinline)) bool decode_short_tile(const Args& a, const Operand* inputs, DecodeShared<S...>& sm, uint64_t at, uint32_t len, bool old, uint32_t P, uint32_t size, bool raw) {
  return decode_tile<false, S...>(a, sm, at, len, old, P, size, raw, [&] { return Stages<S...>::read_backward(inputs); }, threadIdx.x);
}

// The chunk of a block of a small stream, as read from the caller's container before its header has
// been checked (`speculative_payload`).
struct RzeAhead {
  RzeTable table;
  uint32_t P;
  bool fetched;  // the payload is on its way to `P` of the buffer
};
template <class... S> FZ_DEV RzeAhead look_ahead(const Args& a, DecodeShared<S...>& sm) {
  RzeAhead ahead = {{nullptr, 0, 0, 0, 0, 0}, 0, false};
  const Operand& out = a.operands[1 + Stages<S...>::EXTRA];
  // Only static lengths: the words of earlier launches are not available yet.
  const uint64_t total = a.fused_count ? a.passed.max : out.max, n = (total + TILE - 1) / TILE, payloads = STREAM_HEADER_BYTES + 4 * n;
  if (!a.speculative_payload || payloads > a.speculative_bytes) return ahead;
  ahead.table = rze_read_table(reinterpret_cast<const uint8_t*>(a.speculative_payload), n, payloads, reinterpret_cast<uint32_t*>(sm.buf));
  const RzeChunk likely = {rze_chunk(ahead.table.start, ahead.table.entry, a.speculative_bytes)};
  ahead.fetched = likely.size() <= TILE;
  if (ahead.fetched) ahead.P = rze_fetch_payload(sm.buf, {ahead.table.at, a.speculative_bytes}, likely.start(), likely.size(), threadIdx.x);
  return ahead;
}

// Decodes the chunk of a block of a small stream, whose payload has arrived if it was fetched; false in
// a thread that finds a defect. `inputs`: of the step.
template <class... S> FZ_DEV bool restore(const Args& a, const Operand* inputs, DecodeShared<S...>& sm, const StreamIn& in, RzeAhead& ahead) {
  const int tid = threadIdx.x;
  const bool old = params<RzeParams>(a).layout == LAYOUT_2026_05;
  const uint64_t at = (uint64_t)blockIdx.x * TILE;
  const typename Stages<S...>::Q q = Stages<S...>::read_backward(inputs);
  RzeTable& table = ahead.table;
  if (table.at != in.bytes.at) {  // seed: few-elsewhere
    __syncthreads();
    table.at = nullptr;
    ahead.fetched = false;
    if (in.total > 0 && in.payloads <= in.bytes.have) table = rze_read_table(in.bytes.at, in.n, in.payloads, reinterpret_cast<uint32_t*>(sm.buf));
  }
  bool sound = true;
  const RzeChunk here = {rze_find_chunk(in, table, sound)};
  if (at >= in.room) return sound;
  const uint32_t len = (uint32_t)min((uint64_t)TILE, in.total - at), size = here.size();
  const bool raw = here.raw();
  if (!rze_plausible(len, old, size, raw)) return sound && tid != 0;
  if (!ahead.fetched) {
    ahead.P = rze_fetch_payload(sm.buf, in.bytes, here.start(), size, tid);
    fz_copies_done();
  }
  __syncthreads();
  if (len == TILE) sound &= decode_tile<true, S...>(a, sm, at, len, old, ahead.P, size, raw, [&] { return q; }, tid);
  else sound &= decode_short_tile<S...>(a, inputs, sm, at, len, old, ahead.P, size, raw);
  return sound;
}

// Decodes a chunk of a small stream.
template <class... S> FZ_DEV void fused_decode_small(const Args& a, DecodeShared<S...>& sm) {
  RzeAhead ahead = look_ahead<S...>(a, sm);
  rze_tables(sm.z, threadIdx.x);
  const unsigned long long failed = failure(a);
  const StreamIn in = stream_in(a, a.operands[1 + Stages<S...>::EXTRA], TILE);
  if (ahead.fetched) fz_copies_done();
  if (cancelled(a, failed)) return;
  if (!restore<S...>(a, a.operands, sm, in, ahead)) fail(a, CORRUPT);
}
// Decodes the stream to the array, or to any bytes.
template <class... S> FZ_DEV void fused_decode(const Args& a, DecodeShared<S...>& sm) {
  constexpr bool ELEMENTS = sizeof...(S) > 0;
  const int tid = threadIdx.x;
  const uint32_t c = blockIdx.x, chunk = ELEMENTS ? TILE : params<RzeParams>(a).chunk;
  const RzeIndex index = {reinterpret_cast<const uint64_t*>(a.scratch)};
  // All loads are issued before the first result is used.
  const unsigned long long failed = failure(a);
  const RzeChunk here = {index.words[1 + c]};
  const StreamIn in = stream_in(a, a.operands[1 + Stages<S...>::EXTRA], chunk);
  const uint32_t layout = index.layout(a);
  const uint64_t at = (uint64_t)c * chunk;
  if (cancelled(a, failed)) return;
  if (at >= in.room) return;
  // rze_decode_words decodes words of other widths.
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
  const bool good = len == TILE ? decode_tile<true, S...>(a, sm, at, len, old, P, size, raw, [&] { return Stages<S...>::read_backward(a.operands); }, tid)
                                : decode_short_tile<S...>(a, a.operands, sm, at, len, old, P, size, raw);
  if (!good) fail(a, CORRUPT);
}
}  // namespace rze
}  // namespace fz

// The device functions of fused stages. ENCODERS and DECODERS: blocks on a multiprocessor at a
// time.
#define FZ_FUSED(NAME, ENCODERS, DECODERS, ...)                                                 \
  extern "C" __global__ void __launch_bounds__(128, ENCODERS) fused_##NAME##_encode(FZ_ARGS) { \
    __shared__ fz::rze::EncodeShared sm;                                                             \
    fz::rze::fused_encode<false, 0, __VA_ARGS__>(a, sm);                                                \
  }                                                                                             \
  extern "C" __global__ void __launch_bounds__(128, DECODERS) fused_##NAME##_decode(FZ_ARGS) { \
    __shared__ fz::rze::DecodeShared<__VA_ARGS__> sm;                                                \
    fz::rze::fused_decode<__VA_ARGS__>(a, sm);                                                       \
  }
// The device functions for small arrays: four blocks run on a multiprocessor at a time.
#define FZ_FUSED_SMALL(NAME, ...)                                                               \
  extern "C" __global__ void __launch_bounds__(128, 4) fused_##NAME##_encode_small(FZ_ARGS) {      \
    __shared__ fz::rze::EncodeShared sm;                                                              \
    fz::rze::fused_encode<true, 0, __VA_ARGS__>(a, sm);                                                  \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(128, 4) fused_##NAME##_decode_small(FZ_ARGS) {      \
    __shared__ fz::rze::DecodeShared<__VA_ARGS__> sm;                                                 \
    fz::rze::fused_decode_small<__VA_ARGS__>(a, sm);                                                    \
  }
// The encoder that measures values of W bytes while it codes them.
#define FZ_FUSED_MEASURING(NAME, ENCODERS, W, ...)                                               \
  extern "C" __global__ void __launch_bounds__(128, ENCODERS) fused_##NAME##_encode_measuring(FZ_ARGS) { \
    __shared__ fz::rze::EncodeShared sm;                                                         \
    fz::rze::fused_encode<false, W, __VA_ARGS__>(a, sm);                                         \
  }
