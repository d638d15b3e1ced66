// Stage fast, encoder of patches. Codes are f16, two to a register, as in encode_half2.cuh. An array
// that this encoder does not encode is left to the general one: it has codes out of reach, exact
// values, a chunk that is raw, or a unit in mode OFFSETS with planes.
#pragma once
#include "fast/encode_half2.cuh"
#include "fast/patch.cuh"

namespace fz {
namespace fast {
struct PatchWork {
  // Words of units with 16 parts of 13 bits, and of two chunks.
  static constexpr uint32_t MOST_WORDS = 16 * (1 + 8 + 16 * 13 / 2) + 8;
  uint4 differences[2][256];
  uint32_t words[16], descriptors[16];  // of each unit
  uint32_t out[(MOST_WORDS + 3) / 4 * 4];
};
static_assert(sizeof(PatchWork) <= sizeof(Shared::codes), "in place of the codes");

// Pair i holds value i of the part in the lower and value 8 + i in the upper half: rows 0 and 1, and
// rows 2 and 3.
FZ_DEV void put_pairs(uint4 (&to)[2][256], uint32_t at, const uint32_t (&p)[8]) {
  to[0][at] = make_uint4(p[0], p[1], p[2], p[3]);
  to[1][at] = make_uint4(p[4], p[5], p[6], p[7]);
}
FZ_DEV void get_pairs(const uint4 (&from)[2][256], uint32_t at, uint32_t (&p)[8]) {
  const uint4 x = from[0][at], y = from[1][at];
  p[0] = x.x; p[1] = x.y; p[2] = x.z; p[3] = x.w;
  p[4] = y.x; p[5] = y.y; p[6] = y.z; p[7] = y.w;
}
FZ_DEV void difference(const Part& t, uint32_t (&p)[8]) {
#pragma unroll
  for (int j = 0; j < 2; j++) {
    uint32_t left = __shfl_up_sync(ALL, p[4 * j + 3], 1);
    if (t.c == 0) left = 0;
#pragma unroll
    for (int c = 3; c > 0; c--) p[4 * j + c] = fz_halves_sub(p[4 * j + c], p[4 * j + c - 1]);
    p[4 * j] = fz_halves_sub(p[4 * j], left);
  }
#pragma unroll
  for (int c = 0; c < 4; c++) {
    uint32_t above = __shfl_sync(ALL, p[4 + c], t.above());
    if (t.top()) above = 0;
    above = before_parts(above, p[4 + c]);
    p[4 + c] = fz_halves_sub(p[4 + c], p[c]);
    p[c] = fz_halves_sub(p[c], above);
  }
}
// The width of a part, with `first` instead of the first pair.
FZ_DEV uint32_t part_width(const uint32_t (&p)[8], uint32_t first) {
  uint32_t least = first, largest = first;
#pragma unroll
  for (int i = 1; i < 8; i++) { least = fz_halves_min(least, p[i]); largest = fz_halves_max(largest, p[i]); }
  const uint32_t size = fz_halves_max(largest, least ^ 0x80008000u) & 0x7fff7fffu;
  return width_of(fmaxf(fz_low_half(size), fz_high_half(size)), 1);
}
FZ_DEV uint32_t unit_sum(uint32_t x) {
#pragma unroll
  for (int d = 1; d < 16; d <<= 1) x += __shfl_xor_sync(ALL, x, d);
  return x;
}
// As `cost`, of one of three modes, whose sums have ten bits each: of all widths, and twice of the
// larger width of each lane.
FZ_DEV uint32_t cost_of(uint32_t sums, uint32_t wide, uint32_t mode) { return min(wide >> 10 * mode & 1023, (sums >> 10 * mode & 1023) + 8); }

// A unit that is coded.
struct PatchUnit {
  uint32_t q[8];     // the differences
  uint32_t bits[4];  // planes of the widths
  uint32_t w, mode, planes, parts, words;
  bool joint, exists;
  float start, first, bottom;
  uint32_t plain, beside, under;  // widths in mode OFFSETS: of the part, and of parts beyond the edge

  FZ_DEV uint32_t base_words() const { return mode != INTER; }
  FZ_DEV uint32_t header_words() const { return base_words() + (joint ? planes : 2 * planes); }

  // Codes and differences; false if the general encoder is required for some reason.
  FZ_DEV bool code(const Part& t, PatchWork& s, const Params& p, const Grid<float>& grid, const float (&v)[16], float some) {
    start = grid.code(some);
    bool good = fabsf(start) <= Grid<float>::MOST - REACH;  // seed: patch-edge
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const float low = grid.code(v[i]), high = grid.code(v[8 + i]);
      good &= grid.close(v[i], low);
      good &= grid.close(v[8 + i], high);
      q[i] = fz_halves(low - start, high - start);
    }
    const bool right = t.c == 3, low = t.r & t.h;
    uint32_t least = q[0], largest = q[0];
#pragma unroll
    for (int i = 1; i < 8; i++) { least = fz_halves_min(least, q[i]); largest = fz_halves_max(largest, q[i]); }
    const float most = fmaxf(fz_low_half(largest), fz_high_half(largest)), small = fminf(fz_low_half(least), fz_high_half(least));
    good &= most <= REACH && small >= -REACH;
    uint32_t lowest = fz_halves(small, small);
#pragma unroll
    for (int d = 1; d < 16; d <<= 1) lowest = fz_halves_min(lowest, __shfl_xor_sync(ALL, lowest, d));
    bottom = fz_low_half(lowest);
    first = fz_low_half(q[0]);
    // Widths in mode OFFSETS: also of the parts beyond the edge, which repeat the last column, the last
    // row, and the last value.
    const uint32_t column = fz_halves_max(q[3], q[7]), row = fz_halves_max(fz_halves_max(q[4], q[5]), fz_halves_max(q[6], q[7]));
    plain = width_of(most - bottom, 0);
    beside = right ? width_of(fmaxf(fz_low_half(column), fz_high_half(column)) - bottom, 0) : 0;
    under = (low ? 4 * width_of(fz_high_half(row) - bottom, 0) : 0) + (low & right ? 16 * width_of(fz_high_half(q[7]) - bottom, 0) : 0);
    difference(t, q);
    put_pairs(s.differences, threadIdx.x, q);
    exists = t.unit < p.z();
    return good | !exists;
  }
  // Chooses a mode, behind a barrier; false if the general encoder is required.
  FZ_DEV bool settle(const Part& t, const PatchWork& s) {
    const bool follows = t.unit & 7;
    uint32_t f[8] = {};
    if (follows) get_pairs(s.differences, threadIdx.x - 16, f);
#pragma unroll
    for (int i = 0; i < 8; i++) f[i] = fz_halves_sub(q[i], f[i]);
    // The header has the first value.
    const uint32_t intra = part_width(q, t.m ? q[0] : q[0] & 0xffff0000u), inter = part_width(f, f[0]);  // seed: patch-first
    const uint32_t own = plain | intra << 4 | inter << 8 | beside << 12, other = __shfl_xor_sync(ALL, own, 8);
    const auto larger = [&](uint32_t at) { return max(own >> at & 15, other >> at & 15); };
    const uint32_t wide_plain = larger(0), wide_intra = larger(4), wide_inter = larger(8);
    const uint32_t sums = unit_sum((plain + 4 * beside + under) | intra << 10 | inter << 20);
    const uint32_t wide = unit_sum((wide_plain + 4 * larger(12) + under) | wide_intra << 10 | wide_inter << 20);
    uint32_t best = cost_of(sums, wide, 0) + 2, which = 0;
    if (follows && cost_of(sums, wide, 2) <= best) { best = cost_of(sums, wide, 2); which = 2; }
    if (cost_of(sums, wide, 1) + 2 < best) which = 1;
    mode = which == 0 ? OFFSETS : which == 1 ? INTRA : INTER;
    w = which == 0 ? plain : which == 1 ? intra : inter;
    if (!exists) w = 0;
    planes = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      bits[i] = t.of_unit(__ballot_sync(ALL, w >> i & 1));
      if (bits[i]) planes = i + 1;
    }
    const uint32_t each = sums >> 10 * which & 1023, both = wide >> 10 * which & 1023;
    // Parts beyond the edge have a width of 0, so the least width is 0.
    joint = both <= each + 2 * planes;  // seed: patch-joint
    parts = exists ? joint ? both : each : 0;
    if (joint) {
      w = which == 0 ? wide_plain : which == 1 ? wide_intra : wide_inter;
      if (!exists) w = 0;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) bits[i] = t.of_unit(__ballot_sync(ALL, w >> i & 1));
    words = exists ? header_words() + (parts + 1) / 2 : 0;
    return !exists || which != 0 || each == 0;
  }

  // Writes the words of the unit.
  FZ_DEV void put(const Part& t, const PatchWork& s, uint32_t* o) {
    const uint32_t most = __reduce_max_sync(ALL, w);
    if (exists) {
      if (t.m == 0 && mode != INTER) o[0] = (uint32_t)(whole(mode == OFFSETS ? bottom : first) + whole(start));
      if (t.m < header_words() - base_words()) {
        const uint32_t i = joint ? t.m : t.m / 2, b = i < 2 ? (i ? bits[1] : bits[0]) : (i == 2 ? bits[2] : bits[3]);
        o[base_words() + t.m] = spread((joint || !(t.m & 1) ? b : b >> 8) & 0xff);
      }
    }
    if (!most) return;
    uint32_t former[8] = {};
    if (mode == INTER) get_pairs(s.differences, threadIdx.x - 16, former);
    else if (t.m == 0) q[0] &= 0xffff0000u;
    // As in encode_half2.cuh.
    if (most <= 8) {
#pragma unroll
      for (int i = 0; i < 8; i++) q[i] = fz_halves_add(fz_halves_sub(q[i], former[i]), 0x66006600u);
    } else {
#pragma unroll
      for (int i = 0; i < 8; i++) {
        const float low = fz_low_half(q[i]) - fz_low_half(former[i]), high = fz_high_half(q[i]) - fz_high_half(former[i]);
        q[i] = __byte_perm(__float_as_uint(low + Real<float>::MAGIC), __float_as_uint(high + Real<float>::MAGIC), 0x5410);
      }
    }
    // Planes 0 to 7 in the lower halves, 8 to 15 in the upper halves.
#pragma unroll
    for (int i = 0; i < 8; i++) q[i] = __byte_perm(q[i], 0, 0x3120);
    transpose8(q);
    uint16_t* to = reinterpret_cast<uint16_t*>(o + header_words());
    const auto put_plane = [&](uint32_t plane, uint32_t x) {
      const uint32_t there = t.of_unit(__ballot_sync(ALL, w > plane));
      if (w > plane) to[t.before(there)] = (uint16_t)x;
      to += __popc(there);
    };
#pragma unroll
    for (uint32_t i = 0; i < 8; i++) {
      if (i >= most) break;
      put_plane(i, q[i]);
    }
#pragma unroll
    for (uint32_t i = 0; i < 5; i++) {
      if (8 + i >= most) break;
      put_plane(8 + i, q[i] >> 16);
    }
    // The unused half of the last word.
    if (t.m == 0 && parts & 1) *to = 0;
  }
};

// Two chunks whose words are counted.
struct PatchTotal {
  uint32_t size[2], words[2];  // `size`: the words of a chunk, also of one that is constant
  uint32_t start;              // the first word of the unit in its chunk
  bool raw;

  FZ_DEV PatchTotal(const Part& t, const Params& p, const PatchWork& s) : raw(false) {
    const uint32_t own = s.words[t.m];
    uint32_t upto = own;
#pragma unroll
    for (uint32_t d = 1; d < 8; d <<= 1) {
      const uint32_t x = __shfl_up_sync(ALL, upto, d);
      if ((t.lane & 7) >= d) upto += x;
    }
#pragma unroll
    for (uint32_t i = 0; i < 2; i++) {
      const uint32_t sum = __shfl_sync(ALL, upto, 8 * i + 7), units = units_of(p, i);
      size[i] = units ? (units + 1) / 2 + sum : 0;
      // A constant chunk has the base of its first unit.
      words[i] = sum > 1 ? size[i] : 0;  // seed: patch-constant
      raw |= words[i] > p.x() * p.y() * units;
    }
    start = (units_of(p, t.chunk) + 1) / 2 + __shfl_sync(ALL, upto - own, t.unit);
  }
  static FZ_DEV uint32_t units_of(const Params& p, uint32_t chunk) { return min(p.z() > 8 * chunk ? p.z() - 8 * chunk : 0, CHUNK_UNITS); }
};

// Copies the words of the stream behind its table.
FZ_DEV void copy_words(uint8_t* to, const uint32_t* from, uint32_t n) {
  const uint32_t whole = aligned(to, 16) ? n / 4 : 0;
  for (uint32_t i = threadIdx.x; i < whole; i += blockDim.x) reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
  for (uint32_t i = 4 * whole + threadIdx.x; i < n; i += blockDim.x) store<uint32_t>(to + 4 * i, from[i]);
}

// Encodes an array. False, before anything is published: the general encoder is required.
FZ_DEV bool encode_patch(const Args& a, PatchWork& s) {
  const Params& p = params<Params>(a);
  const Part t;
  const float* src = reinterpret_cast<const float*>(address(input(a, 0)));
  if (!in_quads<float>(p, src)) return false;
  const uint32_t x = p.x(), y = p.y(), z = p.z();
  const bool beyond = 4 * t.c >= x;
  const float* at = src + min(t.unit, z - 1) * y * x + (beyond ? x - 4 : 4 * t.c);
  float v[16];
  if (!a.fresh) wait_prerequisites();
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) load_row(*reinterpret_cast<float(*)[4]>(&v[4 * j]), at + min(t.row() + j, y - 1) * x);
  const float some = src[(min(8 * t.chunk + 4, z - 1) * y + y / 2) * x + x / 2];
  // All loads are issued before the first result is used.
  const unsigned long long failed = failure(a);
  const Grid<float> grid(a, p, src);
  if (__any_sync(ALL, cancelled(a, failed) | grid.impossible())) return true;
  if (grid.limited) return false;
  if (beyond) {
#pragma unroll
    for (int j = 0; j < 4; j++) v[4 * j] = v[4 * j + 1] = v[4 * j + 2] = v[4 * j + 3];
  }
  PatchUnit u;
  if (!__syncthreads_and(u.code(t, s, p, grid, v, some))) return false;
  const bool settled = u.settle(t, s);
  const uint32_t d = u.exists ? descriptor(u.mode, 0, u.planes, NONE, u.joint) : 0;
  if (t.m == 0) { s.words[t.unit] = u.words; s.descriptors[t.unit] = d; }
  if (!__syncthreads_and(settled)) return false;
  const PatchTotal total(t, p, s);
  if (total.raw) return false;
  const Operand& out = output(a, 0);
  const uint64_t table = 8ull * p.chunks;
  const uint32_t words = total.words[0] + total.words[1], first = t.chunk ? total.words[0] : 0;
  if (threadIdx.x == 0) publish(out, table + 4 * words);
  if (table + 4 * words > out.max) return true;  // seed: patch-few-room
  uint8_t* stream = address(out);
  const uint32_t size = t.chunk ? total.size[1] : total.size[0];
  const bool constant = (t.chunk ? total.words[1] : total.words[0]) == 0;
  if (u.exists && t.m == 0 && (t.unit & 7) == 0) {
    const uint64_t code = (uint64_t)(int64_t)(whole(u.first) + whole(u.start));
    store<uint64_t>(stream + 8 * t.chunk, constant ? CONSTANT | (code & (CONSTANT - 1) >> 1) : first | (uint64_t)size << SIZE_AT);
  }
  if (!constant) {
    if (u.exists && t.m == 0 && (t.unit & 1) == 0) s.out[first + (t.unit & 7) / 2] = d | s.descriptors[t.unit + 1] << 16;
    u.put(t, s, s.out + first + total.start);
  }
  __syncthreads();
  copy_words(stream + table, s.out, words);
  return true;
}
}  // namespace fast
}  // namespace fz
