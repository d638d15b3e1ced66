// Stage Fast: values that no code stands for.
#pragma once
#include "fast_grid.cuh"
#include "fast_unit.cuh"

namespace fz {
namespace fast {
// The values of a unit that are not carried: those of this lane, the first of them, and whether they are all one.
struct Exceptions { uint32_t mask, low, high, same; };

// Row `j` of the lane's codes.
template <int DIM> FZ_DEV uint4* codes_of_row(uint4* unit, uint32_t j) {
  const uint32_t lane = threadIdx.x & 31;
  return unit + (DIM == 1 ? lane * 8 + (j ^ (lane & 7)) : j * 32 + lane);
}

// Values of four rows of the lane.
template <class T, int DIM> FZ_DEV void load_rows(T (&x)[16], const Params& p, const Unit<DIM>& u, const T* src, uint32_t from, bool rows) {
  if (rows) {
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) load_row(reinterpret_cast<T(&)[4]>(x[4 * j]), src + u.lane_first(p) + (from + j) * Unit<DIM>::row(p));
  } else {
#pragma unroll
    for (uint32_t e = 0; e < 16; e++) {
      bool inside;
      x[e] = load<T>(src + u.at(p, 4 * from + e, &inside));
    }
  }
}

// Leaves in `mine` the codes, and in place of those of exceptions what stands for them. For units of which rows cannot be read in
// pieces, or which have exceptions: it is short, and reads the values once more.
template <class T, int DIM> FZ_RARE Exceptions exceptions(const Args& a, uint32_t number, uint4* mine) {
  typedef typename Grid<T>::Code C;
  const Params& p = params<Params>(a);
  const T* src = reinterpret_cast<const T*>(address(input(a, 0)));
  const Chunk chunk = chunk_at<DIM>(p, number);
  const Unit<DIM> u(p, chunk, threadIdx.x >> 5);
  const Grid<T> grid(a, p, src + Unit<DIM>(p, chunk, 0).first);
  const bool rows = u.whole && in_pieces<T, DIM>(p, src);
  Exceptions r = {0, 0, 0, 1};
  C first = 0;
  __syncwarp();
#pragma unroll 1
  for (uint32_t from = 0; from < 8; from += 4) {
    T x[16];
    C q[16];
    load_rows<T, DIM>(x, p, u, src, from, rows);
#pragma unroll
    for (int e = 15; e >= 0; e--) {
      const bool carried = grid.carried(x[e], q[e]);
      if (carried) continue;
      r.mask |= 1u << (4 * from + e);
    }
#pragma unroll
    for (int e = 0; e < 16; e++) {
      if (!(r.mask >> (4 * from + e) & 1)) continue;
      const uint64_t b = Real<T>::bits(x[e]);
      if (!(r.mask & ((1u << (4 * from + e)) - 1))) { r.low = (uint32_t)b; r.high = (uint32_t)(b >> 32); }
      r.same &= (uint32_t)b == r.low && (uint32_t)(b >> 32) == r.high;
    }
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) *codes_of_row<DIM>(mine, from + j) = make_uint4(bits_of(q[4 * j]), bits_of(q[4 * j + 1]), bits_of(q[4 * j + 2]), bits_of(q[4 * j + 3]));
  }
  if (!__any_sync(ALL, r.mask != 0)) return r;
  // The code before, or the first one of the unit.
  const uint32_t at = __ffs(~r.mask) - 1;
  if (r.mask != ALL) first = as_code(reinterpret_cast<const uint32_t*>(codes_of_row<DIM>(mine, at >> 2))[at & 3], C());
  const uint32_t some = __ballot_sync(ALL, r.mask != ALL);
  C last = some ? __shfl_sync(ALL, first, __ffs(some) - 1) : C(0);
#pragma unroll 1
  for (uint32_t e = 0; e < 32; e++) {
    uint32_t* code = reinterpret_cast<uint32_t*>(codes_of_row<DIM>(mine, e >> 2)) + (e & 3);
    if (r.mask >> e & 1) *code = bits_of(last);
    else last = as_code(*code, C());
  }
  return r;
}

// Codes of a unit by way of shared memory, and what its exceptions come to.
template <class T, int DIM> FZ_DEV uint32_t note_exceptions(const Args& a, uint32_t number, uint32_t k, Shared& s) {
  constexpr uint32_t EACH = sizeof(T) / 4;
  const uint32_t lane = threadIdx.x & 31;
  const Exceptions r = exceptions<T, DIM>(a, number, s.codes[k]);
  const uint32_t lanes = __ballot_sync(ALL, r.mask != 0), from = __ffs(lanes) - 1;
  if (!lanes) return NONE;
  const uint32_t low = __shfl_sync(ALL, r.low, from), high = __shfl_sync(ALL, r.high, from);
  const bool one = __all_sync(ALL, r.mask == 0 || (r.same && r.low == low && r.high == high));
  const uint32_t n = __reduce_add_sync(ALL, __popc(r.mask)), kind = !one ? VALUES : n == UNIT ? ALL_ONE : ONE_VALUE;
  s.masks[k][lane] = r.mask;
  if (lane == 0) {
    s.values[k][0] = low;
    s.values[k][1] = high;
    s.exact_words[k] = kind == ALL_ONE ? EACH : 1 + __popc(lanes) + EACH * (one ? 1 : n);
  }
  __syncwarp();
  return kind;
}

// Writes them; returns how many words.
template <class T, int DIM> FZ_DEV uint32_t put_exceptions(const Args& a, uint32_t number, uint32_t k, const Shared& s, uint32_t kind, uint32_t* o) {
  constexpr uint32_t EACH = sizeof(T) / 4;
  const uint32_t lane = threadIdx.x & 31, mask = s.masks[k][lane], lanes = __ballot_sync(ALL, mask != 0);
  uint32_t at = 0;
  if (kind != ALL_ONE) {
    if (lane == 0) o[0] = lanes;
    if (mask) o[1 + __popc(lanes & below())] = mask;
    at = 1 + __popc(lanes);
  }
  if (kind != VALUES) {
    if (lane < EACH) o[at + lane] = s.values[k][lane];
  } else {
    const Params& p = params<Params>(a);
    const T* src = reinterpret_cast<const T*>(address(input(a, 0)));
    const Unit<DIM> u(p, chunk_at<DIM>(p, number), k);
    const uint32_t n = __popc(mask);
    at += EACH * (warp_sum_to(n) - n);
    for (uint32_t m = mask; m; m &= m - 1) {
      bool in;
      const uint64_t x = Real<T>::bits(load<T>(src + u.at(p, __ffs(m) - 1, &in)));
      o[at++] = (uint32_t)x;
      if (EACH == 2) o[at++] = (uint32_t)(x >> 32);
    }
  }
  return s.exact_words[k];
}
}  // namespace fast
}  // namespace fz
