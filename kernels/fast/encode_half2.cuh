// Stage fast, encoder of units of f32 whose codes differ little: two codes to a register, as f16.
// That takes half of the operations, and leaves room in shared memory for codes and differences.
// The words are the same as those of UnitEncoder.
//
// Codes are relative to one of them and differ from it by at most REACH. So differences within a
// unit are below 2048 in magnitude, up to which f16 is exact. Differences to the unit before are
// below 4096: f16 gives their width, and they are recomputed as f32 where they need it.
#pragma once
#include "common/half2.cuh"
#include "fast/encode_chunk.cuh"

namespace fz {
namespace fast {
constexpr float REACH = HALF2_REACH;  // seed: near-far
static_assert(HALF2_REACH == 511.0f, "differences are exact in f16");

// Pair i holds value i in the lower and value 16 + i in the upper half: one of each part of the
// lane.
FZ_DEV void put_pairs(uint4* to, const uint32_t (&p)[16]) {
#pragma unroll
  for (int j = 0; j < 4; j++) to[j * 32 + (threadIdx.x & 31)] = make_uint4(p[4 * j], p[4 * j + 1], p[4 * j + 2], p[4 * j + 3]);
}
FZ_DEV void get_pairs(const uint4* from, uint32_t (&p)[16]) {
#pragma unroll
  for (int j = 0; j < 4; j++) {
    const uint4 t = from[j * 32 + (threadIdx.x & 31)];
    p[4 * j] = t.x; p[4 * j + 1] = t.y; p[4 * j + 2] = t.z; p[4 * j + 3] = t.w;
  }
}
// The values before the first ones of both parts: the last value of the part before, from another
// lane (`other`) or the own one.
FZ_DEV uint32_t before_parts(uint32_t other, uint32_t own) { return __byte_perm(other, own, 0x5432); }  // seed: near-parts
// As `difference` of single codes in three dimensions.
FZ_DEV void difference(uint32_t (&p)[16]) {
  const uint32_t lane = threadIdx.x & 31;
#pragma unroll
  for (int j = 0; j < 4; j++) {
    uint32_t left = __shfl_up_sync(ALL, p[4 * j + 3], 1);
    if ((lane & 7) == 0) left = 0;
#pragma unroll
    for (int c = 3; c > 0; c--) p[4 * j + c] = fz_halves_sub(p[4 * j + c], p[4 * j + c - 1]);
    p[4 * j] = fz_halves_sub(p[4 * j], left);
  }
  uint32_t above[4];
#pragma unroll
  for (int c = 0; c < 4; c++) {
    above[c] = __shfl_up_sync(ALL, p[12 + c], 8);
    if (lane < 8) above[c] = 0;
    above[c] = before_parts(above[c], p[12 + c]);
  }
#pragma unroll
  for (int i = 15; i > 3; i--) p[i] = fz_halves_sub(p[i], p[i - 4]);
#pragma unroll
  for (int c = 0; c < 4; c++) p[c] = fz_halves_sub(p[c], above[c]);
}
// The widths of both parts, with `first` instead of the first pair.
FZ_DEV Widths pair_widths(const uint32_t (&p)[16], uint32_t first) {
  // Minima and maxima take fewer operations than magnitudes.
  uint32_t least = first, largest = first;
#pragma unroll
  for (int i = 1; i < 16; i++) { least = fz_halves_min(least, p[i]); largest = fz_halves_max(largest, p[i]); }
  // Clears the sign that a zero may have.
  const uint32_t size = fz_halves_max(largest, least ^ 0x80008000u) & 0x7fff7fffu;
  return widths(fz_low_half(size), fz_high_half(size), 1);
}
// Byte `s` of pairs of integers as eight bit planes; see `planes_of`.
FZ_DEV void pair_planes_of(const uint32_t (&p)[16], uint32_t s, uint32_t (&b)[8]) {
#pragma unroll
  for (int j = 0; j < 8; j++) b[j] = __byte_perm(p[j], p[8 + j], s ? 0x7351 : 0x6240);  // seed: near-high
  transpose8(b);
}

template <bool EDGES, bool MEASURES = false> struct Half2Encoder : Coded {
  static constexpr int DIM = 3;
  static constexpr bool FULL_WIDTH = false;
  static constexpr uint32_t PLAIN = 128;  // offset of the codes, behind the differences
  uint32_t p[16], base;

  // As UnitEncoder::count.
  FZ_DEV Outcome count(const Args& a, uint32_t number, Shared& s) {
    const Params& shape = params<Params>(a);
    const uint32_t lane = threadIdx.x & 31;
    k = warp_of();
    kind = NONE;
    reference = 0;
    const Source<float, DIM, EDGES> from(a, shape, number, k);
    float t[32], some = 0.0f;
    if (!a.fresh && __any_sync(ALL, cancelled(a))) return CANCELLED;
    if (from.rows) {
#pragma unroll
      for (int j = 0; j < 8; j++) from.load(*reinterpret_cast<float(*)[4]>(&t[4 * j]), j);
      some = *from.some(shape, lane & 3);
    }
    // All loads are issued before the first result is used.
    const unsigned long long failed = failure(a);
    const Grid<float> grid(a, shape, from.src);
    if (__any_sync(ALL, cancelled(a, failed) | grid.impossible())) return CANCELLED;
    if constexpr (MEASURES) {
      if (from.rows) measure_rows(a, t, grid.threshold);
      else if (from.u.exists) measure_apart<float, DIM>(a, number, grid.threshold);
    }
    const float start = start_of(grid, some, from.rows);
    bool good = from.rows, single = true, reached = true;
    Widths offsets = {0, 0, 0}, intra = {0, 0, 0};
    if (from.rows) {
      if (grid.limited) {
#pragma unroll
        for (int e = 0; e < 32; e++) good &= fabsf(t[e]) < grid.threshold;
      }
#pragma unroll
      for (int i = 0; i < 16; i++) {
        const float low = grid.code(t[i]), high = grid.code(t[16 + i]);
        good &= grid.close(t[i], low);
        good &= grid.close(t[16 + i], high);
        p[i] = fz_halves(low - start, high - start);
      }
    }
    if (from.u.exists) {
      if (!__all_sync(ALL, good)) {
        float q[32];
        kind = code_with_exceptions<float, DIM, false>(a, number, k, s, grid, from, t, q);
#pragma unroll
        for (int i = 0; i < 16; i++) p[i] = fz_halves(q[i] - start, q[16 + i] - start);
        __syncwarp();
      }
      uint32_t least = p[0], largest = p[0];
#pragma unroll
      for (int i = 1; i < 16; i++) { least = fz_halves_min(least, p[i]); largest = fz_halves_max(largest, p[i]); }
      const float low = fz_low_half(largest), high = fz_high_half(largest), small = fminf(fz_low_half(least), fz_high_half(least));
      reached = __all_sync(ALL, fmaxf(low, high) <= REACH && small >= -REACH);
      if (reached) {
        const int32_t lowest = __reduce_min_sync(ALL, whole(small));
        float bottom;
        from_whole(lowest, bottom);
        base = fz_halves(bottom, bottom);
        if (lane == 0) {
          s.least[k] = lowest + whole(start);  // seed: near-start
          s.firsts[k] = whole(fz_low_half(p[0])) + whole(start);
        }
        offsets = widths(low - bottom, high - bottom, 0);
        single = offsets.sums == 0;
        if (!single) {
          put_pairs(s.codes[k] + PLAIN, p);
          difference(p);
          put_pairs(s.codes[k], p);
          // The header has the first value.
          intra = pair_widths(p, lane ? p[0] : p[0] & 0xffff0000u);  // seed: near-first
        } else {
#pragma unroll
          for (int i = 0; i < 16; i++) p[i] = lane == 0 && i == 0 ? p[0] & 0xffffu : 0;
          put_pairs(s.codes[k], p);
        }
      }
    }
    if (lane == 0) note_code(s, *this, from.u.exists, single);
    if (!__syncthreads_and(reached)) return OUT_OF_REACH;
    if (constant(s)) return ONE_CODE;
    settle<DIM>(s, *this, from.u.exists, single, offsets, intra, [&] {
      uint32_t former[16];
      get_pairs(s.codes[k - 1], former);
#pragma unroll
      for (int i = 0; i < 16; i++) p[i] = fz_halves_sub(p[i], former[i]);
      return pair_widths(p, p[0]);
    });
    return COUNTED_WORDS;
  }

  // The two lower bytes of the codes as bit planes.
  FZ_DEV void planes(const Shared& s, Planes& b) {
    const uint32_t mode = descriptor & 3;
    if (!most) return;
    if (mode == OFFSETS) {
      get_pairs(s.codes[k] + PLAIN, p);
#pragma unroll
      for (int i = 0; i < 16; i++) p[i] = fz_halves_sub(p[i], base);
    } else if (mode == INTRA) {
      if (k) get_pairs(s.codes[k], p);
      if ((threadIdx.x & 31) == 0) p[0] &= 0xffff0000u;
    }
    if (most <= 8) {
      // The lower bits of 1536 + x, |x| < 512, as f16 are those of the integer x.
#pragma unroll
      for (int i = 0; i < 16; i++) p[i] = fz_halves_add(p[i], 0x66006600u);  // seed: near-mark
    } else to_integers(s, mode == INTER);  // seed: near-integers
    pair_planes_of(p, 0, b.low);
    if (most > 8) pair_planes_of(p, 1, b.high);
  }

 private:
  // The reference of all codes: the code of the first of four values of the chunk that has one, or
  // 0. All codes within reach of it must exist too.
  static FZ_DEV float start_of(const Grid<float>& grid, float some, bool rows) {
    float code;
    const bool coded = grid.coded(some, code) && fabsf(code) <= Grid<float>::MOST - REACH;  // seed: near-edge
    const uint32_t lanes = __ballot_sync(ALL, coded && rows);
    code = __shfl_sync(ALL, code, lanes ? __ffs(lanes) - 1 : 0);
    return lanes ? code : 0.0f;
  }
  // Converts pairs to integers.
  FZ_DEV void to_integers(const Shared& s, bool inter) {
    const uint32_t lane = threadIdx.x & 31;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      uint4 own = make_uint4(p[4 * j], p[4 * j + 1], p[4 * j + 2], p[4 * j + 3]), former = make_uint4(0, 0, 0, 0);
      if (inter) {
        own = s.codes[k][j * 32 + lane];
        former = s.codes[k - 1][j * 32 + lane];
      }
      p[4 * j] = to_integers(own.x, former.x);
      p[4 * j + 1] = to_integers(own.y, former.y);
      p[4 * j + 2] = to_integers(own.z, former.z);
      p[4 * j + 3] = to_integers(own.w, former.w);
    }
  }
  static FZ_DEV uint32_t to_integers(uint32_t own, uint32_t former) {
    const float low = fz_low_half(own) - fz_low_half(former), high = fz_high_half(own) - fz_high_half(former);
    return __byte_perm(__float_as_uint(low + Real<float>::MAGIC), __float_as_uint(high + Real<float>::MAGIC), 0x5410);
  }
};
}  // namespace fast
}  // namespace fz
