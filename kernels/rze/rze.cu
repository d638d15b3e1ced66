// Stages rze and rre: kernels that are not fused, and the index of streams for all decoders.
#include "rze/fused.cuh"
#include "rze/words.cuh"

using namespace fz;
using namespace fz::rze;

// Copies the bytes of the chunk from `at` on to shared memory, with zeros up to a multiple of 16.
FZ_DEV void stage_in(uint4* to, const Bytes& src, uint64_t at, uint32_t len, int tid) {
  for (uint32_t i = tid; i < (len + 15) / 16; i += THREADS) to[i] = piece_of(src, at + 16 * (uint64_t)i);
}

// Chunks of 16384 bytes and words of one byte.
extern "C" __global__ void __launch_bounds__(128, 8) rze_encode(FZ_ARGS) {
  __shared__ EncodeShared sm;
  fused_encode<false, 0>(a, sm);
}

// All other sizes of chunks and words.
extern "C" __global__ void __launch_bounds__(128) rze_encode_words(FZ_ARGS) {
  __shared__ WordsShared sm;
  const int tid = threadIdx.x;
  const uint32_t c = blockIdx.x;
  if (cancelled(a)) return;
  const RzeParams& p = params<RzeParams>(a);
  const Operand& in = input(a, 0);
  const uint64_t given = min(length(in), in.max), total = a.fused_count ? length(a.passed) : given;
  const StreamOut out = stream_out(a, output(a, 0), total, p.chunk);
  const uint64_t at = (uint64_t)c * p.chunk;
  if (at >= total) {
    if (c == 0 && tid == 0) publish(output(a, 0), 0);
    return;
  }
  const uint32_t len = (uint32_t)min((uint64_t)p.chunk, total - at);
  stage_in(sm.chunk, {address(in), min(given, total)}, at, p.chunk, tid);
  __syncthreads();
  const uint32_t entry = words_encode(sm, words_form(p, len), tid);
  if (tid == 0) publish_entry(out, c, entry);
  if (tid < 32) {
    const uint64_t before = publish_prefix(out, c, entry & ~RAW, tid);
    if (tid == 0) sm.before = before;
  }
  __syncthreads();
  const uint4* from = entry & RAW ? sm.chunk : sm.payload;
  place(out, c, sm.before, reinterpret_cast<const uint8_t*>(from), entry & ~RAW, tid);
}

// First kernel of every decoder: checks the stream around the payloads and computes the start of
// each chunk. Each block adds up the entries before its own 1024, the last block also the entries
// behind the last chunk of the array.
extern "C" __global__ void __launch_bounds__(1024) rze_decode_starts(FZ_ARGS) {
  __shared__ uint64_t w[32];
  __shared__ uint64_t first;
  wait_prerequisites();
  // Lengths and status first, then entries and the sums before them: no load waits for another one
  // without need.
  const RzeParams& p = params<RzeParams>(a);
  const StreamIn in = stream_in(a, output(a, 0), p.chunk);
  const uint32_t tid = threadIdx.x;
  // The index has an entry for each thread of the grid, and all entries are written.
  const uint64_t i = (uint64_t)blockIdx.x * 1024 + tid, from = i - tid;
  const uint64_t wanted = min((in.room + p.chunk - 1) / p.chunk, (uint64_t)gridDim.x * 1024);
  uint64_t* index = reinterpret_cast<uint64_t*>(a.scratch) + 1;
  if (i == 0) index[-1] = LAYOUT_2026_08;
  const bool off = cancelled(a), empty = in.total == 0;
  // Without room for the table there is no chunk.
  const bool room = in.payloads <= in.bytes.have;
  if (!off && !(empty && in.bytes.have == 0)) {
    const bool sound = !empty && room && load<uint32_t>(in.bytes.at) == in.total && load<uint32_t>(in.bytes.at + 4) == in.n;
    if (!sound && blockIdx.x == 0 && tid == 0) fail(a, CORRUPT);
  }
  if (off || empty || (from > 0 && from >= wanted)) {
    index[i] = RzeIndex::NONE;
    return;
  }
  const uint64_t entries = room ? in.n : 0;
  const uint8_t* table = in.bytes.at + STREAM_HEADER_BYTES;
  const uint32_t entry = i < entries ? load<uint32_t>(table + 4 * i) : 0;
  uint64_t sum = 0;
#pragma unroll 8
  for (uint64_t k = tid; k < min(from, entries); k += 1024) sum += load<uint32_t>(table + 4 * k) & ~RAW;
  if (from > 0) sum = block_sum_to(sum, w);
  if (tid == 1023) first = sum;
  __syncthreads();
  const uint64_t upto = first + block_sum_to((uint64_t)(entry & ~RAW), w);
  index[i] = i < wanted && i < entries ? rze_chunk(in.payloads + upto - (entry & ~RAW), entry, in.bytes.have) : RzeIndex::NONE;
  if (!room || from + 1024 < wanted) return;
  uint64_t rest = 0;
  for (uint64_t k = i + 1024; k < in.n; k += 1024) rest += load<uint32_t>(table + 4 * k) & ~RAW;
  if (from + 1024 < in.n) rest = block_sum_to(rest, w);
  if (tid != 1023) return;
  const uint64_t end = in.payloads + upto + rest, last = (end + 3) & ~3ull;
  // Header and table are whole words, so the padding depends on the payloads alone.
  uint32_t padding = last != in.bytes.have;
  if (!padding)
    for (uint64_t k = 0; k < 3; k++) padding |= end + k < last ? in.bytes.at[end + k] : 0;
  if (padding) fail(a, CORRUPT);
}

// Chunks of 16384 bytes and words of one byte, and all of layout 2026-05.
extern "C" __global__ void __launch_bounds__(128, 9) rze_decode(FZ_ARGS) {
  __shared__ DecodeShared<> sm;
  fused_decode<>(a, sm);
}

// All other sizes of chunks and words.
extern "C" __global__ void __launch_bounds__(128) rze_decode_words(FZ_ARGS) {
  __shared__ WordsShared sm;
  const int tid = threadIdx.x;
  const uint32_t c = blockIdx.x;
  if (cancelled(a)) return;
  const RzeParams& p = params<RzeParams>(a);
  const StreamIn in = stream_in(a, output(a, 0), p.chunk);
  const uint64_t at = (uint64_t)c * p.chunk;
  const RzeIndex index = {reinterpret_cast<const uint64_t*>(a.scratch)};
  if (at >= in.room || index.layout(a) == LAYOUT_2026_05 || (p.chunk == TILE && p.word == 1 && !p.repeats)) return;
  const RzeChunk here = {index.words[1 + c]};
  const uint32_t len = (uint32_t)min((uint64_t)p.chunk, in.total - at), size = here.size();
  bool good = here.raw() ? size == len : size < len;
  const uint4* result = sm.chunk;
  if (good) {
    stage_in(sm.payload, {in.bytes.at, here.start() + size}, here.start(), size, tid);
    __syncthreads();
    if (here.raw()) result = sm.payload;
    else good = words_decode(sm, words_form(p, len), size, tid);
  }
  if (!good) {
    if (tid == 0) fail(a, CORRUPT);
    return;
  }
  __syncthreads();
  uint8_t* dst = address(output(a, 0));
  const uint64_t room = min(in.room, at + len);
  for (uint64_t o = at + 16 * (uint64_t)tid; o < room; o += 16 * THREADS)
    put_bytes(dst + o, result[(o - at) / 16], (uint32_t)min((uint64_t)16, room - o));
}

// Decides between the layouts of an ambiguous stream, by one block: byte 4 of the config is 4,
// which may be levels or a word size. The first chunk that is neither raw nor all zeros fits one of
// the layouts exactly. Without such a chunk both layouts give the same result.
extern "C" __global__ void __launch_bounds__(128) rze_decode_layout(FZ_ARGS) {
  struct Shared {
    uint4 buf[RZE_BUFFER / 16], st[(RZE_STAGE + 15) / 16];
    union { RzeDecoder d; RzeEncoder e; };
    uint64_t w[32], base, start;
    uint32_t found;
  };
  __shared__ Shared sm;
  const int tid = threadIdx.x;
  if (cancelled(a)) return;
  const RzeParams& p = params<RzeParams>(a);
  const StreamIn in = stream_in(a, output(a, 0), p.chunk);
  uint64_t* layout = reinterpret_cast<uint64_t*>(a.scratch);
  if (tid == 0) { *layout = LAYOUT_2026_08; sm.base = 0; sm.found = ALL; }
  if (in.payloads > in.bytes.have) return;
  const uint8_t* table = in.bytes.at + STREAM_HEADER_BYTES;
  const uint32_t EACH = 16;
  const uint32_t tail = (uint32_t)(in.total % p.chunk % p.word), n = (uint32_t)in.n;
  __syncthreads();
  for (uint64_t first = 0; first < n && sm.found == ALL; first += EACH * THREADS) {
    const uint64_t from = first + tid * EACH, to = min(from + EACH, (uint64_t)n);
    uint64_t own = 0, before = 0;
    uint32_t mine = ALL;
    for (uint64_t i = from; i < to; i++) {
      const uint32_t entry = load<uint32_t>(table + 4 * i);
      const bool trivial = entry >> 31 || (entry == 2 && (i + 1 < n || tail == 0));
      if (!trivial && mine == ALL) { mine = (uint32_t)i; before = own; }
      own += entry & ~RAW;
    }
    const uint64_t base = sm.base, upto = block_sum_to(own, sm.w);
    if (mine != ALL) atomicMin(&sm.found, mine);
    if (tid == THREADS - 1) sm.base = base + upto;
    __syncthreads();
    if (mine != ALL && mine == sm.found) sm.start = base + upto - own + before;
    __syncthreads();
  }
  const uint32_t i = sm.found;
  if (i == ALL) return;
  const uint32_t size = load<uint32_t>(table + 4 * (uint64_t)i);  // not raw
  const uint32_t len = (uint32_t)min((uint64_t)p.chunk, in.total - (uint64_t)i * p.chunk), rest = len % p.word;
  // Zeros: the bytes behind the last word count as words in one layout only.
  if (size == 2) {
    if (tid == 0) *layout = LAYOUT_2026_05;
    return;
  }
  const RzeForm form = rze_form<false>(len, true);
  const uint64_t start = in.payloads + sm.start;
  if (size == 2 + rest || p.chunk != TILE || start + size > in.bytes.have || !rze_plausible(len, true, size, false)) return;
  const uint32_t P = rze_fetch_payload(sm.buf, in.bytes, start, size, tid);
  rze_tables(sm.d, tid);
  fz_copies_done();
  __syncthreads();
  uint32_t v[32], live;
  const bool good = rze_decode_tile(v, live, form, sm.d, sm.buf, P, size, false, tid);
  if (__syncthreads_or(!good)) return;
  // A payload of the other layout may decode by accident, but hardly encodes to itself.
  uint8_t* st = reinterpret_cast<uint8_t*>(sm.st);
  rze_mark(v, 15, rze_m0(st), tid);
  rze_encode_tile<false>(v, 15, form, sm.e, st, tid, [](uint32_t) {});
  __syncthreads();
  bool same = sm.e.entry == size;
  const uint8_t* payload = reinterpret_cast<const uint8_t*>(sm.buf) + P;
  for (uint32_t k = tid; same && k < size; k += THREADS) same = st[k] == payload[k];
  if (!__syncthreads_or(!same) && tid == 0) *layout = LAYOUT_2026_05;
}
