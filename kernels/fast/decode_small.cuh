// Stage fast, decoder of small arrays, which do not fill the device, so that the latency of a chunk
// counts. A block restores a chunk, a warp a unit. To find its unit, each warp walks over the
// headers of the units before it. Units of mode INTER are added up through shared memory.
#pragma once
#include "fast/decode_unit.cuh"

namespace fz {
namespace fast {
// Shared memory of a block: first the words of the chunk, across all shares; then a unit in each
// share. If the chunk is longer, each warp copies the words it needs to its share.
template <uint32_t PIECES> struct SharesOf {
  // Padding behind the words for the header of a unit, as in Room.
  static constexpr uint32_t ALL_WORDS = 4 * CHUNK_UNITS * PIECES - 64, OWN_WORDS = 4 * PIECES - 64;
  uint4 of[CHUNK_UNITS][PIECES];
};
typedef SharesOf<376> Shares;

// The first word behind the unit at word `at`. Errors in the unit are left to its own warp.
template <class T, uint32_t ROOM> FZ_DEV uint32_t behind_unit(Words& in, uint32_t d, uint32_t at) {
  constexpr uint32_t EACH = sizeof(T) / 4;
  const uint32_t lane = threadIdx.x & 31, least = d >> 2 & 63, planes = d >> 8 & 7, kind = d >> KIND_AT & 3, joint = d >> 13 & 1;
  const uint32_t first = (d & 3) != INTER, n = joint ? planes : 2 * planes;
  const uint32_t* w = in.template need<ROOM>(at, 64) + first;
  // Adds up the planes of the widths, each with its weight.
  const uint32_t above = lane < n ? __popc(w[lane]) << (joint ? lane + 1 : lane / 2) : 0;  // seed: fast-few-joint
  at += first + n;
  if (kind == ALL_ONE) at += EACH;
  else if (kind != NONE) {
    const uint32_t masks = __popc(w[n]);
    at += 1 + masks;
    at += kind == ONE_VALUE ? EACH : EACH * __reduce_add_sync(ALL, lane < masks ? __popc(w[n + 1 + lane]) : 0);
  }
  return at + (64 * least + __reduce_add_sync(ALL, above) + 1) / 2;
}

FZ_DEV void add_codes(const uint4* from, uint32_t (&q)[32]) {
#pragma unroll
  for (int j = 0; j < 8; j++) {
    const uint4 t = from[j * 32 + (threadIdx.x & 31)];
    q[4 * j] += t.x; q[4 * j + 1] += t.y; q[4 * j + 2] += t.z; q[4 * j + 3] += t.w;
  }
}

// Stores the values of a chunk from its units, each of which is absolute or relative to the unit
// before. A thread has four neighboring values of every unit.
template <class T, class S> FZ_DEV void put_columns(const Params& p, const Box& box, T* to, const S& s, uint32_t descriptors, const Back<T>& back) {
  const uint32_t lane = threadIdx.x & 31, i = 4 * (lane & 7), j = 8 * (lane >> 3) + warp_of();
  const bool whole = box.values == CHUNK, inside = i < box.x && j < box.y;
  uint4 q = make_uint4(0, 0, 0, 0);
  to += (uint64_t)j * p.x() + i;
#pragma unroll
  for (uint32_t k = 0; k < CHUNK_UNITS; k++) {
    if (k >= box.units) break;
    const uint4 own = s.of[k][threadIdx.x];
    const uint32_t keep = (descriptor_of(descriptors, k) & 3) == INTER ? ALL : 0;
    q = make_uint4((q.x & keep) + own.x, (q.y & keep) + own.y, (q.z & keep) + own.z, (q.w & keep) + own.w);  // seed: fast-few-column
    const T x[4] = {back.value(q.x), back.value(q.y), back.value(q.z), back.value(q.w)};
    if (whole) store_row(to, x);
    else if (inside) store_quad(to, x);
    to += (uint64_t)p.x() * p.y();
  }
}

// Copies all words of a chunk to the shares; false if they do not fit.
template <class S> FZ_DEV bool fetch_all(Words& in, S& s) {
  // The chunk may start within a piece of 16 bytes.
  if (in.size + 3 > S::ALL_WORDS) return false;
  in.shared = reinterpret_cast<uint32_t*>(s.of[0]);
  in.template fetch<S::ALL_WORDS>(0, threadIdx.x, blockDim.x);
  return true;
}

// Restores a unit of chunk `number`, or helps with it; false if no encoder writes such a chunk.
// `ahead`: the words of the chunk, if they have been copied; otherwise its `end` is 0.
template <class T, int DIM, class S> FZ_DEV bool decode_part(const Args& a, const Params& p, const uint8_t* stream, uint64_t bytes, uint32_t number, uint64_t entry, const Words& ahead, S& s, T step) {
  constexpr uint32_t ROOM = S::OWN_WORDS, EACH = sizeof(T) / 4;
  const uint32_t lane = threadIdx.x & 31, k = warp_of();
  const Chunk chunk = chunk_at<DIM>(p, number);
  const Box box = box_of<DIM>(p, chunk);
  T* dst = reinterpret_cast<T*>(address(output(a, 0)));
  const bool pieces = in_pieces<T, DIM>(p, dst), mine = k < box.units;
  if (entry & CONSTANT) {
    if (entry & RAW) return false;
    if (mine) put_constant<T, DIM>(p, chunk, k, dst, pieces, constant_of(entry, step));
    return true;
  }
  Words in;
  if (!find(stream, bytes, p.chunks, entry, 2 * CHUNK * EACH, in)) return false;
  if (entry & RAW) {
    if (in.size != box.values * EACH || (entry & HAS_REFERENCE)) return false;
    put_raw<T, DIM>(p, chunk, box, dst, in.from, k, CHUNK_UNITS);
    return true;
  }
  const uint32_t reference_words = entry & HAS_REFERENCE ? 2 : 0, header = reference_words + (box.units + 1) / 2;
  if ((reference_words && EACH == 1) || header > in.size) return false;
  if (ahead.end) in = ahead;
  if (ahead.end || fetch_all(in, s)) __syncthreads();
  else in.shared = reinterpret_cast<uint32_t*>(s.of[k]);  // seed: fast-few-parts
  const uint32_t* front = in.need<ROOM>(0, header);
  const Back<T> back(step, reference_words ? (int64_t)((uint64_t)front[1] << 32 | front[0]) : 0);
  const uint32_t descriptors = lane < header - reference_words ? front[reference_words + lane] : 0;
  uint32_t at = header, d = descriptor_of(descriptors, 0), q[32] = {};
  for (uint32_t i = 0; mine && i < k && at <= in.size; i++) {
    const uint32_t next = descriptor_of(descriptors, i + 1);
    at = behind_unit<T, ROOM>(in, d, at);
    d = next;
  }
  UnitHeader<T> f = {};
  const bool good = !mine || (at <= in.size && read_header<T, DIM, ROOM>(in, d, k, at, f) && (k + 1 < box.units || at == in.size));  // seed: fast-few-end
  const bool live = mine && good;
  if (live) add_unit<T, DIM>(f, q);
  // From here on the shares hold units instead of words.
  if (DIM == 1) __syncthreads();
  if (DIM == 3 && __any_sync(ALL, (descriptors & 3) == INTER || (descriptors >> 16 & 3) == INTER)) {
    __syncthreads();
    if (live) put(s.of[k], reinterpret_cast<const int32_t(&)[32]>(q));
    __syncthreads();
    // A unit with equal exact values is stored by its own warp.
    if ((box.values == CHUNK ? pieces : in_quads<T>(p, dst)) && !__any_sync(ALL, descriptors & (ONE_VALUE << KIND_AT | ONE_VALUE << (16 + KIND_AT)))) {
      put_columns<T>(p, box, dst + Unit<DIM>(p, chunk, 0).first, s, descriptors, back);
      if (!__any_sync(ALL, descriptors & (VALUES << KIND_AT | VALUES << (16 + KIND_AT)))) return good;
      __syncthreads();
      if (live && f.kind == VALUES) put_exact<T, DIM>(p, Unit<DIM>(p, chunk, k), dst, f.mask, in.from + 4ull * f.exact);
      return good;
    }
    if (live) for (uint32_t i = k; i > 0 && (descriptor_of(descriptors, i) & 3) == INTER; i--) add_codes(s.of[i - 1], q);
  }
  if (live) {
    const Unit<DIM> u(p, chunk, k);
    put_values<T, DIM>(p, dst, dst + u.first, number, k, u.whole && pieces, q, back, s.of[k], f, in.from);
  }
  return good;
}

// The chunk of a block as found before the header of the container has been checked
// (`speculative_payload`).
struct Ahead {
  const uint8_t* stream;  // null: not read
  uint64_t entry;
  Words words;
};
template <class T> FZ_DEV Ahead look_ahead(const Args& a, const Params& p, Shares& s) {
  Ahead ahead = {reinterpret_cast<const uint8_t*>(a.speculative_payload), 0, {}};
  if (blockIdx.x >= p.chunks || !ahead.stream || a.speculative_bytes < 8ull * p.chunks) return {nullptr, 0, {}};
  ahead.entry = __shfl_sync(ALL, load<uint64_t>(ahead.stream + 8ull * blockIdx.x), 0);
  if (!(ahead.entry & (CONSTANT | RAW)) && find(ahead.stream, a.speculative_bytes, p.chunks, ahead.entry, 2 * CHUNK * (sizeof(T) / 4), ahead.words)) fetch_all(ahead.words, s);
  return ahead;
}

// Restores the chunk of a block; false if no encoder writes such a stream.
template <class T, int DIM> FZ_DEV bool restore(const Args& a, const Params& p, const uint8_t* stream, uint64_t bytes, const Operand& metadata, Ahead& ahead, Shares& s) {
  const uint64_t all = length(output(a, 0)), values = p.dims[0] * p.dims[1] * p.dims[2] * sizeof(T);
  clear_behind(output(a, 0), values, all);
  if (blockIdx.x >= p.chunks) return true;
  if (bytes < 8ull * p.chunks || bytes % 4 != 0 || values > all) return false;
  const quantizer::BoundMetadata f = quantizer::load_metadata(metadata);
  if (stream != ahead.stream) {
    __syncthreads();
    ahead.words.end = 0;
    ahead.entry = __shfl_sync(ALL, load<uint64_t>(stream + 8ull * blockIdx.x), 0);
  }
  return decode_part<T, DIM>(a, p, stream, bytes, blockIdx.x, ahead.entry, ahead.words, s, step_back<T>(f));
}

// A block of eight warps for each chunk. Loads that depend on the plan alone are issued first, and
// those of the payload even before the header of the container has been checked.
template <class T, int DIM> FZ_DEV void decode_small(const Args& a, Shares& s) {
  const Params& p = params<Params>(a);
  Ahead ahead = look_ahead<T>(a, p, s);
  const unsigned long long failed = failure(a);
  const Operand& in = input(a, 0);
  const uint64_t bytes = length(in);
  const uint8_t* stream = address(in);
  if (__any_sync(ALL, cancelled(a, failed))) return;
  if (!restore<T, DIM>(a, p, stream, bytes, input(a, 1), ahead, s) && (threadIdx.x & 31) == 0) fail(a, CORRUPT);
}
}  // namespace fast
}  // namespace fz
