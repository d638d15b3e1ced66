// Stage fast, decoder of patches. An array that this decoder does not restore is left to the general
// one: it has exact values, a chunk that is raw or long, a unit in mode OFFSETS with planes, or units
// that no encoder writes.
#pragma once
#include "fast/decode_small.cuh"
#include "fast/patch.cuh"

namespace fz {
namespace fast {
typedef SharesOf<280> PatchShares;
struct PatchRoom {
  // Words of a chunk that is restored here, and padding for headers behind its end.
  static constexpr uint32_t ROOM = 1024, PADDING = 64;
  uint4 codes[16][64];
  uint32_t words[2][ROOM + PADDING];
};
static_assert(sizeof(PatchRoom) <= sizeof(PatchShares), "in place of the shares");

// Four codes of a row. Rows are exchanged so that neither threads with parts nor threads with columns
// access a bank twice.
FZ_DEV uint32_t quad_at(uint32_t row, uint32_t column) { return (4 * row + column) ^ (row >> 1 & 4); }

// A chunk on its way.
struct PatchChunk {
  Words in;
  uint64_t entry;
  uint32_t units;

  // Finds the chunk, and copies its words if they are few. All threads of the chunk.
  FZ_DEV void fetch(const Part& t, const Params& p, const uint8_t* stream, uint64_t bytes, PatchRoom& s) {
    in.end = 0;
    in.shared = s.words[t.chunk];
    entry = __shfl_sync(ALL, load<uint64_t>(stream + 8ull * t.chunk), 0);
    if (!(entry & (CONSTANT | RAW | HAS_REFERENCE)) && find(stream, bytes, p.chunks, entry, 2 * CHUNK, in) && in.size + 3 <= PatchRoom::ROOM)
      in.fetch<PatchRoom::ROOM>(0, threadIdx.x & 127, 128);
  }
  FZ_DEV bool constant() const { return (entry & (CONSTANT | RAW)) == CONSTANT; }
  FZ_DEV const uint32_t* at(uint32_t word) const { return in.shared + (int32_t)word + in.shift; }
  FZ_DEV uint32_t descriptor(uint32_t k) const { return *at(k / 2) >> 16 * (k & 1) & 0xffff; }
};

// A unit, and where its planes are.
struct PatchCodes {
  uint32_t base, w;
  bool sums;  // there are planes, of differences
  const uint16_t* planes;

  // The words of a unit with this descriptor at `w`.
  static FZ_DEV uint32_t words_of(uint32_t d, const uint32_t* w) {
    const uint32_t lane = threadIdx.x & 31, first = (d & 3) != INTER, joint = d >> 13 & 1, n = (d >> 8 & 7) * (joint ? 1 : 2);
    const uint32_t sum = __reduce_add_sync(ALL, lane < n ? __popc(w[first + lane]) << (joint ? lane + 1 : lane / 2) : 0);
    return first + n + (sum + 1) / 2;
  }
  // Finds the unit of this thread, and reads its header; false: the general decoder is required.
  FZ_DEV bool read(const Part& t, const PatchChunk& c) {
    const uint32_t k = t.unit & 7, before = (threadIdx.x >> 5 & 3) * 2, header = (c.units + 1) / 2;
    uint32_t at = header, start = 0, end = 0;
    for (uint32_t i = 0; i < min(before + 2, c.units) && at <= c.in.size; i++) {
      if (i == k) start = at;
      at += words_of(c.descriptor(i), c.at(at));
      if (i == k) end = at;
    }
    w = base = 0;
    sums = false;
    if (k >= c.units) return true;
    const uint32_t d = c.descriptor(k), mode = d & 3, least = d >> 2 & 63, nb = d >> 8 & 7, kind = d >> KIND_AT & 3, joint = d >> 13 & 1, n = nb * (joint ? 1 : 2);
    const bool good = end && end <= c.in.size && (k + 1 < c.units || end == c.in.size) && d >> 14 == 0 && mode != 1 && (mode != INTER || k) && least == 0 && kind == NONE && nb <= 4 &&  // seed: patch-end
                      (mode != OFFSETS || nb == 0);
    if (!good) return false;
    const uint32_t* h = c.at(start);
    if (mode != INTER) base = *h++;
    const uint32_t place = t.c + 8 * t.r;
    for (uint32_t i = 0; i < nb; i++) w |= (h[joint ? i : 2 * i + t.h] >> place & 1) << i;
    sums = nb != 0;
    planes = reinterpret_cast<const uint16_t*>(h + n);
    return t.m >= n || (h[t.m] & ~SPREAD) == 0;  // seed: patch-outside
  }
  // The codes of the part without the base.
  FZ_DEV void restore(const Part& t, uint32_t (&q)[16]) const {
    const uint32_t most = __reduce_max_sync(ALL, w);
    uint32_t b[8], x = 0;
    const uint16_t* from = planes;
    // The last plane of a part is its sign.
    const auto get = [&](uint32_t plane) {
      const uint32_t there = t.of_unit(__ballot_sync(ALL, w > plane));
      if (w > plane) x = from[t.before(there)];
      from += __popc(there);
      return x;
    };
#pragma unroll
    for (uint32_t i = 0; i < 8; i++) b[i] = i < most ? get(i) : x;
    if (most <= 8) {
      transpose8(b);
#pragma unroll
      for (int i = 0; i < 8; i++) { q[i] = fz_permute(b[i], 0x8880); q[8 + i] = fz_permute(b[i], 0x9991); }
    } else {
#pragma unroll
      for (uint32_t i = 0; i < 8; i++) b[i] |= (8 + i < most ? get(8 + i) : x) << 16;
      transpose8(b);
#pragma unroll
      for (int i = 0; i < 8; i++) { q[i] = fz_permute(b[i], 0xaa20); q[8 + i] = fz_permute(b[i], 0xbb31); }
    }
    add_up(t, q);
  }
  // Sums of differences, as `add_sums`.
  static FZ_DEV void add_up(const Part& t, uint32_t (&q)[16]) {
#pragma unroll
    for (int j = 0; j < 4; j++) {
#pragma unroll
      for (int c = 1; c < 4; c++) q[4 * j + c] += q[4 * j + c - 1];
    }
#pragma unroll
    for (int e = 4; e < 16; e++) q[e] += q[e - 4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const uint32_t own = q[4 * j + 3];
      uint32_t sum = own;
#pragma unroll
      for (uint32_t i = 1; i < 4; i <<= 1) {
        const uint32_t x = __shfl_up_sync(ALL, sum, i);
        if (t.c >= i) sum += x;
      }
#pragma unroll
      for (int c = 0; c < 4; c++) q[4 * j + c] += sum - own;
    }
#pragma unroll
    for (int c = 0; c < 4; c++) {
      const uint32_t own = q[12 + c];
      uint32_t sum = own;
      uint32_t x = __shfl_sync(ALL, sum, t.above());
      if (!t.top()) sum += x;
      x = __shfl_sync(ALL, sum, t.lane - 4 & 31);
      if (t.r) sum += x;
#pragma unroll
      for (int j = 0; j < 4; j++) q[4 * j + c] += sum - own;
    }
  }
};

// Stores the values of a chunk from its codes. A thread has two neighboring values of each unit.
FZ_DEV void put_patch(const Part& t, const Params& p, const PatchChunk& c, const PatchRoom& s, float* dst, float step) {
  const uint32_t i = threadIdx.x & 127, row = i >> 3, column = 2 * (i & 7);
  if (row >= p.y() || column >= p.x()) return;
  float* to = dst + ((uint64_t)8 * t.chunk * p.y() + row) * p.x() + column;
  const uint32_t next = p.x() * p.y(), at = 2 * quad_at(row, column / 4) + (column >> 1 & 1);
  const Back<float> back(step, 0);
  const float all = constant_of(c.entry, step);
  uint2 q = make_uint2(0, 0);
#pragma unroll
  for (uint32_t k = 0; k < CHUNK_UNITS; k++) {
    if (k >= c.units) break;
    float2 x = make_float2(all, all);
    if (!c.constant()) {
      const uint2 own = reinterpret_cast<const uint2*>(s.codes[8 * t.chunk + k])[at];
      const bool adds = (c.descriptor(k) & 3) == INTER;
      q.x = adds ? q.x + own.x : own.x;
      q.y = adds ? q.y + own.y : own.y;
      x = make_float2(back.value(q.x), back.value(q.y));
    }
    __stcs(reinterpret_cast<float2*>(to), x);
    to += next;
  }
}

// Restores an array whose chunks all have few words; false, before anything is stored: the general
// decoder is required.
FZ_DEV bool decode_patch_as(const Part& t, const Params& p, const PatchChunk& c, PatchRoom& s, float* dst, float step) {
  const bool coded = c.units && !c.constant();
  PatchCodes u = {0, 0, false, nullptr};
  const bool good = !c.units || c.constant() || (c.in.end && c.in.size >= (c.units + 1) / 2 && u.read(t, c));
  if (!__syncthreads_and(good & in_quads<float>(p, dst))) return false;
  if (coded) {
    uint32_t q[16] = {};
    if (__any_sync(ALL, u.sums)) u.restore(t, q);
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) s.codes[t.unit][quad_at(t.row() + j, t.c)] = make_uint4(q[4 * j] + u.base, q[4 * j + 1] + u.base, q[4 * j + 2] + u.base, q[4 * j + 3] + u.base);
  }
  __syncthreads();
  if (c.units) put_patch(t, p, c, s, dst, step);
  return true;
}

// Restores the chunks one after the other.
FZ_RARE bool decode_chunks(const Args& a, const uint8_t* stream, uint64_t bytes, PatchShares& s, float step) {
  const Params& p = params<Params>(a);
  bool good = true;
  for (uint32_t number = 0; number < p.chunks; number++) {
    Words none = {};
    const uint64_t entry = __shfl_sync(ALL, load<uint64_t>(stream + 8ull * number), 0);
    __syncthreads();
    good &= decode_part<float, 3>(a, p, stream, bytes, number, entry, none, s, step);
  }
  return good;
}

// As `decode_small`, by one block.
FZ_DEV void decode_patch(const Args& a, PatchShares& shares) {
  PatchRoom& s = reinterpret_cast<PatchRoom&>(shares);
  const Params& p = params<Params>(a);
  const Part t;
  const uint8_t* speculative = reinterpret_cast<const uint8_t*>(a.speculative_payload);
  if (a.speculative_bytes < 8ull * p.chunks) speculative = nullptr;
  PatchChunk c = {{}, 0, min(p.z() > 8 * t.chunk ? p.z() - 8 * t.chunk : 0, CHUNK_UNITS)};
  if (c.units && speculative) c.fetch(t, p, speculative, a.speculative_bytes, s);
  const unsigned long long failed = failure(a);
  const Operand& in = input(a, 0);
  const uint64_t bytes = length(in), all = length(output(a, 0)), values = p.dims[0] * p.dims[1] * p.dims[2] * sizeof(float);
  const uint8_t* stream = address(in);
  float* dst = reinterpret_cast<float*>(address(output(a, 0)));
  if (__any_sync(ALL, cancelled(a, failed))) return;
  clear_behind(output(a, 0), values, all);
  bool good = bytes >= 8ull * p.chunks && bytes % 4 == 0 && values <= all;
  if (good) {
    const float step = step_back<float>(quantizer::load_metadata(input(a, 1)));
    if (stream != speculative) {
      __syncthreads();
      if (c.units) c.fetch(t, p, stream, bytes, s);
    }
    __syncthreads();
    good = decode_patch_as(t, p, c, s, dst, step) || decode_chunks(a, stream, bytes, shares, step);
  }
  if (!good && (threadIdx.x & 31) == 0) fail(a, CORRUPT);
}
}  // namespace fast
}  // namespace fz
