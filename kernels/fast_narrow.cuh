// Stage Fast, the codes of a unit of f32, two to a register: of chunks whose codes are near each other, which take half of the operations
// so, and half of the shared memory, and come to the same words.
//
// Codes count from the first one of the chunk, and differ from it by 511 at most. Then differences inside of a unit are below 2048 in
// magnitude, up to which halves are exact, and those against the unit before below 4096: of these a half has the width, and codes of
// that width are made again as floats.
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
// Lines pass through shared memory as neighbours in pairs: groups of four in the order of memory, of which lanes take 32 values in a row;
// they stay out of each other's banks.
FZ_DEV void put_group(uint4* unit, uint32_t group, uint32_t first, uint32_t second) {
  const uint32_t piece = group >> 1;
  reinterpret_cast<uint2*>(unit + (piece ^ (piece >> 3 & 3)))[group & 1] = make_uint2(first, second);
}
FZ_DEV void get_line(const uint4* unit, uint32_t (&p)[16]) {
  const uint32_t lane = threadIdx.x & 31;
  uint32_t n[16];
#pragma unroll
  for (int j = 0; j < 4; j++) {
    const uint4 t = unit[lane * 4 + (j ^ (lane >> 1 & 3))];
    n[4 * j] = t.x; n[4 * j + 1] = t.y; n[4 * j + 2] = t.z; n[4 * j + 3] = t.w;
  }
#pragma unroll
  for (int i = 0; i < 16; i++) p[i] = __byte_perm(n[i / 2], n[8 + i / 2], i % 2 ? 0x7632 : 0x5410);
}

// What stands before the first value of each part: the last one of the part before, of which `other` has that of another lane.
FZ_DEV uint32_t before_parts(uint32_t other, uint32_t own) { return __byte_perm(other, own, 0x5432); }
// As `difference` of single codes.
template <int DIM> FZ_DEV void difference(uint32_t (&p)[16]) {
  const uint32_t lane = threadIdx.x & 31;
  if constexpr (DIM == 1) {
    uint32_t left = __shfl_up_sync(ALL, p[15], 1);
    if (lane == 0) left = 0;
    left = before_parts(left, p[15]);
#pragma unroll
    for (int i = 15; i > 0; i--) p[i] = fz_halves_sub(p[i], p[i - 1]);
    p[0] = fz_halves_sub(p[0], left);
  } else {
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

template <int DIM, bool IS_FEW> struct Narrow : Coded {
  static constexpr bool WIDE = false;
  static constexpr uint32_t PLAIN = DIM == 1 ? 0 : 128;  // where codes are kept; in front of them are differences
  uint32_t p[16], base;
  bool near;

  FZ_DEV void get_plain(const Shared& s) { if (DIM == 1) get_line(s.codes[k], p); else get_pairs(s.codes[k] + PLAIN, p); }

  // As in `Wide`. `early` also says whether it is worth a try.
  template <class Early> FZ_DEV Found count(const Args& a, uint32_t number, Shared& s, const Early& early) {
    const Params& params_ = params<Params>(a);
    const uint32_t lane = threadIdx.x & 31;
    k = warp_of();
    kind = NONE;
    anchor = 0;
    const Source<float, DIM> from(a, params_, number, k);
    float t[32], first = 0.0f;
    if (!a.fresh) await_former();
    if (from.rows) {
#pragma unroll
      for (int j = 0; j < 8; j++) load_row(*reinterpret_cast<float(*)[4]>(&t[4 * j]), from.at + j * from.row);
      first = *from.first(params_);
    } else if (from.u.exists) first = load<float>(from.first(params_));
    if (warp_dead(a)) return DEAD;
    const bool tried = early();
    const Grid<float> grid(a, params_, from.src);
    float start = grid.code(first);
    if (!(fabsf(start) <= Grid<float>::MOST)) start = 0.0f;
    bool good = from.rows, single = true;
    near = true;
    Widths above = {0, 0, 0}, inside = {0, 0, 0};
    if (from.rows) {
      if (grid.limited) {
#pragma unroll
        for (int e = 0; e < 32; e++) good &= fabsf(t[e]) < grid.threshold;
      }
      // Two that become a pair.
      const auto pair = [&](int x, int y) {
        const float low = grid.code(t[x]), high = grid.code(t[y]);
        good &= grid.close(t[x], low);
        good &= grid.close(t[y], high);
        return fz_halves(low - start, high - start);
      };
      if (DIM == 1) {
#pragma unroll
        for (int j = 0; j < 8; j++) {
          const uint32_t one = pair(4 * j, 4 * j + 1), two = pair(4 * j + 2, 4 * j + 3);
          put_group(s.codes[k], j * 32 + lane, one, two);
        }
        __syncwarp();
        get_line(s.codes[k], p);
      } else {
#pragma unroll
        for (int i = 0; i < 16; i++) p[i] = pair(i, 16 + i);
      }
    }
    if (from.u.exists) {
      if (!__all_sync(ALL, good)) {
        float q[32];
        kind = code_with_exceptions<float, DIM, IS_FEW>(a, number, k, s, grid, from, t, q);
#pragma unroll
        for (int i = 0; i < 16; i++) p[i] = fz_halves(q[i] - start, q[16 + i] - start);
        if (DIM == 1) {
          __syncwarp();
#pragma unroll
          for (int j = 0; j < 8; j++) put_group(s.codes[k], 8 * lane + j, fz_halves(q[4 * j] - start, q[4 * j + 1] - start), fz_halves(q[4 * j + 2] - start, q[4 * j + 3] - start));
        }
        __syncwarp();
      }
      uint32_t least = p[0], largest = p[0];
#pragma unroll
      for (int i = 1; i < 16; i++) { least = fz_halves_min(least, p[i]); largest = fz_halves_max(largest, p[i]); }
      const float low = fz_low_half(largest), high = fz_high_half(largest), small = fminf(fz_low_half(least), fz_high_half(least));
      near = __all_sync(ALL, fmaxf(low, high) <= NEAR && small >= -NEAR && tried);
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
          if (DIM != 1) put_pairs(s.codes[k] + PLAIN, p);
          difference<DIM>(p);
          if (DIM == 3) put_pairs(s.codes[k], p);
          // The first value stands in front of the unit.
          inside = pair_widths(p, lane ? p[0] : p[0] & 0xffff0000u);
        } else if (DIM == 3) {
#pragma unroll
          for (int i = 0; i < 16; i++) p[i] = lane == 0 && i == 0 ? p[0] & 0xffffu : 0;
          put_pairs(s.codes[k], p);
        }
      }
    }
    if (DIM == 3) {
      if (!__syncthreads_and(near)) return FAR_APART;
    } else __syncwarp();
    settle<DIM>(s, *this, from.u.exists && near, single, above, inside, [&] {
      uint32_t former[16];
      get_pairs(s.codes[k - 1], former);
#pragma unroll
      for (int i = 0; i < 16; i++) p[i] = fz_halves_sub(p[i], former[i]);
      return pair_widths(p, p[0]);
    });
    return COUNTED_WORDS;
  }

  FZ_DEV bool meet() const {
    if (DIM != 3) return __syncthreads_and(near);
    __syncthreads();
    return true;
  }

  // The two lower bytes of the codes as bit planes.
  FZ_DEV void planes(const Shared& s, Planes& b) {
    const uint32_t mode = descriptor & 3;
    if (!most) return;
    if (mode == ABOVE) {
      get_plain(s);
#pragma unroll
      for (int i = 0; i < 16; i++) p[i] = fz_halves_sub(p[i], base);
    } else if (mode == INSIDE) {
      if (DIM == 3 && k) get_pairs(s.codes[k], p);
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
  // Pairs of integers.
  FZ_DEV void to_integers(const Shared& s, bool against) {
    uint32_t former[16];
    if (against) {
      get_pairs(s.codes[k], p);
      get_pairs(s.codes[k - 1], former);
    }
#pragma unroll
    for (int i = 0; i < 16; i++) {
      float low = fz_low_half(p[i]), high = fz_high_half(p[i]);
      if (against) { low -= fz_low_half(former[i]); high -= fz_high_half(former[i]); }
      p[i] = __byte_perm(__float_as_uint(low + Real<float>::MAGIC), __float_as_uint(high + Real<float>::MAGIC), 0x5410);
    }
  }
};
}  // namespace fast
}  // namespace fz
