// Stage Fast, the codes of a unit of f32, two to a register: of chunks whose codes are near each other, which take half of the operations
// so, and leave room in shared memory for codes and differences both. They come to the same words.
//
// Codes count from one of them, and differ from it by 511 at most. Then differences inside of a unit are below 2048 in magnitude, up to
// which halves are exact, and those against the unit before below 4096: of these a half has the width, and codes of that width are made
// again as floats.
#pragma once
#include "fast_encode.cuh"
#include "halves.cuh"

namespace fz {
namespace fast {
constexpr float NEAR = 511.0f;

// Pair i: value i below value 16 + i, the first values of the two parts of a lane.
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
// What stands before the first value of each part: the last one of the part before, of which `other` has that of another lane.
FZ_DEV uint32_t before_parts(uint32_t other, uint32_t own) { return __byte_perm(other, own, 0x5432); }
// As `difference` of single codes of volumes.
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
// Widths of the magnitudes of both parts, with `first` in place of the first pair.
FZ_DEV Widths pair_widths(const uint32_t (&p)[16], uint32_t first) {
  // Extremes of three at a time take one operation, magnitudes one each.
  uint32_t least = first, largest = first;
#pragma unroll
  for (int i = 1; i < 16; i++) { least = fz_halves_min(least, p[i]); largest = fz_halves_max(largest, p[i]); }
  // Without the sign that a zero may have.
  const uint32_t size = fz_halves_max(largest, least ^ 0x80008000u) & 0x7fff7fffu;
  return widths(fz_low_half(size), fz_high_half(size), 1);
}
// Byte `s` of pairs of integers as eight bit planes, see `planes_of`.
FZ_DEV void pair_planes_of(const uint32_t (&p)[16], uint32_t s, uint32_t (&b)[8]) {
#pragma unroll
  for (int j = 0; j < 8; j++) b[j] = __byte_perm(p[j], p[8 + j], s ? 0x7351 : 0x6240);
  transpose8(b);
}

struct Narrow : Coded {
  static constexpr int DIM = 3;
  static constexpr bool WIDE = false;
  static constexpr uint32_t PLAIN = 128;  // where codes are kept; in front of them are differences
  uint32_t p[16], base;

  // As in `Wide`.
  FZ_DEV Found count(const Args& a, uint32_t number, Shared& s) {
    const Params& shape = params<Params>(a);
    const uint32_t lane = threadIdx.x & 31;
    k = warp_of();
    kind = NONE;
    anchor = 0;
    const Source<float, DIM> from(a, shape, number, k);
    float t[32], some = 0.0f;
    if (!a.fresh) await_former();
    if (from.rows) {
#pragma unroll
      for (int j = 0; j < 8; j++) load_row(*reinterpret_cast<float(*)[4]>(&t[4 * j]), from.at + j * from.row);
      some = from.first(shape)[8 * (lane & 3) * (1 + from.row)];
    }
    // All that has to be fetched is on its way before the first of it is looked at.
    const unsigned long long failed = failure(a);
    const Grid<float> grid(a, shape, from.src);
    if (__any_sync(ALL, dead(a, failed) | grid.impossible())) return DEAD;
    const float start = start_of(grid, some, from.rows);
    bool good = from.rows, single = true, near = true;
    Widths above = {0, 0, 0}, inside = {0, 0, 0};
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
      near = __all_sync(ALL, fmaxf(low, high) <= NEAR && small >= -NEAR);
      if (near) {
        const int32_t lowest = __reduce_min_sync(ALL, whole(small));
        float bottom;
        from_whole(lowest, bottom);
        base = fz_halves(bottom, bottom);
        if (lane == 0) {
          s.least[k] = lowest + whole(start);
          s.firsts[k] = whole(fz_low_half(p[0])) + whole(start);
        }
        above = widths(low - bottom, high - bottom, 0);
        single = above.sums == 0;
        if (!single) {
          put_pairs(s.codes[k] + PLAIN, p);
          difference(p);
          put_pairs(s.codes[k], p);
          // The first value stands in front of the unit.
          inside = pair_widths(p, lane ? p[0] : p[0] & 0xffff0000u);
        } else {
#pragma unroll
          for (int i = 0; i < 16; i++) p[i] = lane == 0 && i == 0 ? p[0] & 0xffffu : 0;
          put_pairs(s.codes[k], p);
        }
      }
    }
    if (lane == 0) note_code(s, *this, from.u.exists, single);
    if (!__syncthreads_and(near)) return FAR_APART;
    if (constant(s)) return ONE_CODE;
    settle<DIM>(s, *this, from.u.exists, single, above, inside, [&] {
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
    if (mode == ABOVE) {
      get_pairs(s.codes[k] + PLAIN, p);
#pragma unroll
      for (int i = 0; i < 16; i++) p[i] = fz_halves_sub(p[i], base);
    } else if (mode == INSIDE) {
      if (k) get_pairs(s.codes[k], p);
      if ((threadIdx.x & 31) == 0) p[0] &= 0xffff0000u;
    }
    if (most <= 8) {
      // 1536 and a number below 512 in magnitude: the half has its lower bits as they are.
#pragma unroll
      for (int i = 0; i < 16; i++) p[i] = fz_halves_add(p[i], 0x66006600u);
    } else to_integers(s, mode == AGAINST);
    pair_planes_of(p, 0, b.low);
    if (most > 8) pair_planes_of(p, 1, b.high);
  }

 private:
  // What codes count from: the first of four values of the chunk that is carried, or 0. Codes that are near it have to be carried too.
  static FZ_DEV float start_of(const Grid<float>& grid, float some, bool rows) {
    float code;
    const bool carried = grid.carried(some, code) && fabsf(code) <= Grid<float>::MOST - NEAR;
    const uint32_t lanes = __ballot_sync(ALL, carried && rows);
    code = __shfl_sync(ALL, code, lanes ? __ffs(lanes) - 1 : 0);
    return lanes ? code : 0.0f;
  }
  // Pairs of integers.
  FZ_DEV void to_integers(const Shared& s, bool against) {
    const uint32_t lane = threadIdx.x & 31;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      uint4 own = make_uint4(p[4 * j], p[4 * j + 1], p[4 * j + 2], p[4 * j + 3]), former = make_uint4(0, 0, 0, 0);
      if (against) {
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
