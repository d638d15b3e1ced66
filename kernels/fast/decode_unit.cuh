// Stage fast, decoder of a unit: the words of its chunk in shared memory, its codes, and its
// values.
#pragma once
#include "fast/codes.cuh"

namespace fz {
namespace fast {
using quantizer::Real;

// The words of a chunk, a part of which is in shared memory.
struct Words {
  uint32_t* shared;
  const uint8_t* from;       // the chunk
  uint32_t size, readable;   // its words, and words that may be read from its start on
  uint32_t end;              // of the words in shared memory
  int32_t shift;             // word i is shared[i + shift]

  // Copies words from `at` on to shared memory, by `threads` threads of which this one is `me`.
  // They are complete behind the next barrier.
  template <uint32_t ROOM> FZ_DEV void fetch(uint32_t at, uint32_t me, uint32_t threads) {
    const uint8_t* src = from + 4ull * at;
    const uint32_t phase = (uint32_t)(reinterpret_cast<uintptr_t>(src) & 15);
    if ((phase & 3) == 0) {
      const uint32_t lead = phase / 4, have = min(size - at, ROOM - lead), pieces = (have + lead + 3) / 4;
      src -= phase;
      // The last piece may reach beyond the readable words.
      const bool over = at + 4 * pieces - lead > readable;
      const uint32_t whole = over ? pieces - 1 : pieces;
      for (uint32_t i = me; i < whole; i += threads) fz_copy16(shared + 4 * i, src + 16 * i);
      if (over && me < have + lead - 4 * whole) shared[4 * whole + me] = reinterpret_cast<const uint32_t*>(src)[4 * whole + me];
      fz_copies_done();
      end = at + have;
      shift = (int32_t)lead - (int32_t)at;
    } else {
      end = at + min(size - at, ROOM);
      for (uint32_t i = at + me; i < end; i += threads) shared[i - at] = load<uint32_t>(from + 4ull * i);
      shift = -(int32_t)at;
    }
  }
  // Makes `n` words from `at` on available, as far as the chunk has them; returns their address.
  template <uint32_t ROOM> FZ_DEV const uint32_t* need(uint32_t at, uint32_t n) {
    if (at + n > end && end < size) {
      __syncwarp();
      fetch<ROOM>(at, threadIdx.x & 31, 32);
      __syncwarp();
    }
    return shared + (int32_t)at + shift;
  }
};

// Finds the words of the entry of a chunk; false if the stream does not contain them. At most
// `most` of the words from there on count as readable.
FZ_DEV bool find(const uint8_t* stream, uint64_t bytes, uint32_t chunks, uint64_t entry, uint32_t most, Words& in) {
  const uint64_t table = 8ull * chunks, words = (bytes - table) / 4, first = entry & FIRST, rest = words - first;
  const uint32_t size = (uint32_t)(entry >> SIZE_AT) & SIZE;
  if ((entry & ZERO) || first > words || size > rest) return false;
  in.from = stream + table + 4 * first;
  in.size = size;
  in.readable = rest < most ? (uint32_t)rest : most;
  in.end = 0;
  in.shift = 0;
  return true;
}

FZ_DEV void get_plane(const uint16_t*& from, uint32_t plane, uint32_t low, uint32_t high, uint32_t least, uint32_t& a, uint32_t& b) {
  const uint32_t lane = threadIdx.x & 31;
  if (plane < least) {
    a = from[lane];
    b = from[32 + lane];
    from += 64;
    return;
  }
  const uint32_t x = __ballot_sync(ALL, low > plane), y = __ballot_sync(ALL, high > plane), n = __popc(x);
  if (low > plane) a = from[__popc(x & below())];
  if (high > plane) b = from[n + __popc(y & below())];
  from += n + __popc(y);
}

// Eight planes as a byte of 32 words. Where a part has no plane, its last one is repeated, or zeros
// with `keep` = 0.
FZ_DEV void get_byte(const uint16_t*& from, uint32_t byte, uint32_t low, uint32_t high, uint32_t least, uint32_t most, uint32_t keep, uint32_t& a, uint32_t& b, uint32_t (&w)[8]) {
#pragma unroll
  for (uint32_t i = 0; i < 8; i++) {
    const uint32_t plane = 8 * byte + i;
    a &= keep;
    b &= keep;
    if (plane < most) get_plane(from, plane, low, high, least, a, b);
    w[i] = __byte_perm(a, b, 0x5410);
  }
  transpose8(w);
}

// Stores four values of a row, by all lanes of a warp; each odd lane continues the row of the even
// one before it. Each store fills whole sectors, since half sectors cost two accesses. Four f64
// fill a sector, so neighboring lanes exchange halves.
FZ_DEV void store_row(float* at, const float (&x)[4]) { __stcs(reinterpret_cast<float4*>(at), make_float4(x[0], x[1], x[2], x[3])); }
FZ_DEV void store_row(double* at, const double (&x)[4]) {
  const bool odd = threadIdx.x & 1;
  const double a = __shfl_xor_sync(ALL, odd ? x[0] : x[2], 1), b = __shfl_xor_sync(ALL, odd ? x[1] : x[3], 1);
  __stcs(reinterpret_cast<double2*>(odd ? at - 2 : at), odd ? make_double2(a, b) : make_double2(x[0], x[1]));
  __stcs(reinterpret_cast<double2*>(odd ? at + 2 : at + 4), odd ? make_double2(x[2], x[3]) : make_double2(a, b));
}
// The same by some of the lanes.
FZ_DEV void store_quad(float* at, const float (&x)[4]) { store_row(at, x); }
FZ_DEV void store_quad(double* at, const double (&x)[4]) {
  __stcs(reinterpret_cast<double2*>(at), make_double2(x[0], x[1]));
  __stcs(reinterpret_cast<double2*>(at + 2), make_double2(x[2], x[3]));
}
// Stores 16 bytes of equal values, consecutive over the lanes.
FZ_DEV void store_piece(float* at, float x) { __stcs(reinterpret_cast<float4*>(at), make_float4(x, x, x, x)); }
FZ_DEV void store_piece(double* at, double x) { __stcs(reinterpret_cast<double2*>(at), make_double2(x, x)); }

template <class T> struct Back;
template <> struct Back<float> {
  float step;
  FZ_DEV Back(float s, int64_t) : step(s) {}
  static FZ_DEV float bits(const uint32_t* w) { return __uint_as_float(w[0]); }
  FZ_DEV float value(uint32_t q) const { return __fmul_rn((float)(int32_t)q, step); }
};
template <> struct Back<double> {
  double step;
  int64_t reference;
  FZ_DEV Back(double s, int64_t a) : step(s), reference(a) {}
  static FZ_DEV double bits(const uint32_t* w) { return __longlong_as_double((long long)((uint64_t)w[1] << 32 | w[0])); }
  FZ_DEV double value(uint32_t q) const { return __dmul_rn((double)((int64_t)(int32_t)q + reference), step); }
};

// Stores the values of a unit; with MASKED those of `mask` are `fill`.
template <class T, int DIM, bool MASKED> FZ_DEV void put_unit(const Params& p, T* dst, T* at, uint32_t number, uint32_t k, bool rows, const uint32_t (&q)[32], const Back<T>& back, uint4* turn, uint32_t mask, T fill) {
  const uint32_t lane = threadIdx.x & 31;
  if (!rows) {
    // The number of existing values in rows of four.
    const Unit<DIM> u(p, chunk_at<DIM>(p, number), k);
    at = dst + u.lane_first(p);
    const int64_t wide = DIM == 1 ? (int64_t)(p.count() - u.first) - (int64_t)(lane * LANE) : (int64_t)p.x() - (u.x + 4 * (lane & 7));
    const int64_t high = DIM == 1 ? 8 : (int64_t)p.y() - (u.y + 8 * (lane >> 3));
    const bool quads = DIM > 1 && in_quads<T>(p, dst);
#pragma unroll
    for (int j = 0; j < 8; j++) {
      T x[4];
#pragma unroll
      for (int c = 0; c < 4; c++) x[c] = MASKED && (mask >> (4 * j + c) & 1) ? fill : back.value(q[4 * j + c]);
      if (quads) {
        if (j < high && wide > 0) store_quad(at, x);
      } else {
#pragma unroll
        for (int c = 0; c < 4; c++)
          if (j < high && (DIM == 1 ? 4 * j + c : c) < wide) store<T>(at + c, x[c]);  // seed: fast-edge
      }
      at += Unit<DIM>::row(p);
    }
    return;
  }
  if constexpr (DIM == 1) {
    __syncwarp();
    put_rows(turn, reinterpret_cast<const int32_t(&)[32]>(q));
    __syncwarp();
#pragma unroll
    for (int j = 0; j < 8; j++) {
      const uint32_t g = j * 32 + lane;
      const uint4 t = turn[g ^ (g >> 3 & 7)];
      T x[4] = {back.value(t.x), back.value(t.y), back.value(t.z), back.value(t.w)};
      if constexpr (MASKED) {
        const uint32_t four = __shfl_sync(ALL, mask, 4 * j + (lane >> 3)) >> 4 * (lane & 7);
#pragma unroll
        for (int c = 0; c < 4; c++) if (four >> c & 1) x[c] = fill;
      }
      store_row(at + 4 * g, x);
    }
  } else {
    T* row = at + (uint64_t)(8 * (lane >> 3)) * p.x() + 4 * (lane & 7);
#pragma unroll
    for (int j = 0; j < 8; j++) {
      T x[4];
#pragma unroll
      for (int c = 0; c < 4; c++) x[c] = MASKED && (mask >> (4 * j + c) & 1) ? fill : back.value(q[4 * j + c]);
      store_row(row, x);
      row += p.x();
    }
  }
}

// Stores exact values over their replacements, which other lanes may have stored.
template <class T, int DIM> FZ_DEV void put_exact(const Params& p, const Unit<DIM>& u, T* dst, uint32_t mask, const uint8_t* exact) {
  __syncwarp();
  for (uint32_t m = mask; m; m &= m - 1) {
    bool inside;
    const uint64_t i = u.at(p, __ffs(m) - 1, &inside);
    if (inside) store<T>(dst + i, load<T>(exact));
    exact += sizeof(T);
  }
}

// The descriptor of unit `k`. Each lane has a word of two descriptors.
FZ_DEV uint32_t descriptor_of(uint32_t descriptors, uint32_t k) { return __shfl_sync(ALL, descriptors, k >> 1) >> (16 * (k & 1)) & 0xffff; }

// The header of a unit: everything in front of its planes.
template <class T> struct UnitHeader {
  uint32_t mode, least, kind, base;
  uint32_t low, high, most;  // widths of the two parts of the lane, and the largest width of the unit
  uint32_t mask, exact;      // exact values of the lane, and their first word
  T fill;                    // the exact value, if all are equal
  const uint16_t* planes;
};

// Reads the header of unit `k` at word `at`, and advances `at` to the next unit. False: no encoder
// writes such a header.
template <class T, int DIM, uint32_t ROOM> FZ_DEV bool read_header(Words& in, uint32_t d, uint32_t k, uint32_t& at, UnitHeader<T>& f) {
  constexpr uint32_t EACH = sizeof(T) / 4;
  const uint32_t lane = threadIdx.x & 31, mode = d & 3, least = d >> 2 & 63, planes = d >> 8 & 7, kind = d >> KIND_AT & 3;
  const bool joint = d >> 13 & 1;
  if (d >> 14 || mode == 1 || (mode == INTER && (DIM != 3 || k == 0))) return false;
  const uint32_t* w = in.template need<ROOM>(at, 64);
  const uint32_t* w0 = w;
  const uint32_t base = mode != INTER ? *w++ : 0;
  uint32_t low = least, high = least;
  for (uint32_t i = 0; i < planes; i++) {
    low += (*w++ >> lane & 1) << i;
    if (!joint) high += (*w++ >> lane & 1) << i;
  }
  if (joint) high = low;  // seed: fast-joint
  uint32_t mask = 0, lanes = 0;
  if (kind != NONE) {
    if (kind == ALL_ONE) mask = lanes = ALL;
    else {
      lanes = __shfl_sync(ALL, *w++, 0);
      if (lanes >> lane & 1) mask = w[__popc(lanes & below())];
      w += __popc(lanes);
    }
  }
  T fill = 0;
  if (kind == ONE_VALUE || kind == ALL_ONE) fill = Back<T>::bits(w);
  at += (uint32_t)(w - w0);
  const uint32_t most = __reduce_max_sync(ALL, max(low, high));
  const uint32_t cost = __reduce_add_sync(ALL, low + high), plane_words = (cost + 1) / 2;
  if (at > in.size || most > 32) return false;
  uint32_t exact = at;
  if (kind != NONE) {
    const uint32_t n = __popc(mask), to = warp_sum_to(n);
    uint32_t all = EACH;
    if (kind == VALUES) { exact += EACH * (to - n); all = EACH * __shfl_sync(ALL, to, 31); }  // seed: fast-exact
    at += all;
  }
  if (at > in.size || plane_words > in.size - at) return false;
  f = {mode, least, kind, base, low, high, most, mask, exact, fill, reinterpret_cast<const uint16_t*>(in.template need<ROOM>(at, plane_words))};
  at += plane_words;
  return true;
}

// Decodes the codes of a unit. In mode INTER it is added to the codes in `q`.
template <class T, int DIM> FZ_DEV void add_unit(const UnitHeader<T>& f, uint32_t (&q)[32]) {
  const uint32_t mode = f.mode, most = f.most;
  if (mode != INTER) {
    // A branch, not 32 selections.
    __syncwarp();
#pragma unroll
    for (int e = 0; e < 32; e++) q[e] = f.base;
  }
  if (most == 0) return;
  // Unsigned bytes, or bytes with their sign.
  const uint32_t keep = mode == OFFSETS ? 0 : ALL, sign = mode == OFFSETS ? 0x4440 : 0x8880, up = mode == OFFSETS ? 1 : 0x1111;
  const uint16_t* from = f.planes;
  uint32_t b[8], x = 0, y = 0, t[32];
  get_byte(from, 0, f.low, f.high, f.least, most, keep, x, y, b);
#pragma unroll
  for (int c = 0; c < 4; c++) {
#pragma unroll
    for (int j = 0; j < 8; j++) t[8 * c + j] = fz_permute(b[j], sign + c * up);
  }
  if (most > 8) {
#pragma unroll 1
    for (uint32_t s = 1; s < (most + 7) / 8; s++) {
      get_byte(from, s, f.low, f.high, f.least, most, keep, x, y, b);
      const uint32_t below = (1u << 8 * s) - 1;
#pragma unroll
      for (int c = 0; c < 4; c++) {
#pragma unroll
        for (int j = 0; j < 8; j++) t[8 * c + j] = (t[8 * c + j] & below) | fz_permute(b[j], sign + c * up) << 8 * s;
      }
    }
  }
  if (mode == OFFSETS) {
    __syncwarp();
#pragma unroll
    for (int e = 0; e < 32; e++) q[e] += t[e];
  } else {
    add_sums<DIM>(q, t);
  }
}

// Stores the values of a unit. `words`: the words of its chunk.
template <class T, int DIM> FZ_DEV void put_values(const Params& p, T* dst, T* to, uint32_t number, uint32_t k, bool rows, const uint32_t (&q)[32], const Back<T>& back, uint4* turn, const UnitHeader<T>& f, const uint8_t* words) {
  if (f.kind == NONE || f.kind == VALUES) {
    put_unit<T, DIM, false>(p, dst, to, number, k, rows, q, back, turn, 0, 0);
    if (f.kind == VALUES) put_exact<T, DIM>(p, Unit<DIM>(p, chunk_at<DIM>(p, number), k), dst, f.mask, words + 4ull * f.exact);
  } else {
    put_unit<T, DIM, true>(p, dst, to, number, k, rows, q, back, turn, f.mask, f.fill);
  }
}

// The value of a constant chunk.
template <class T> FZ_DEV T constant_of(uint64_t entry, T step) { return (T)((int64_t)(entry << 2) >> 2) * step; }

// Stores a unit of a constant chunk.
template <class T, int DIM> FZ_DEV void put_constant(const Params& p, const Chunk& chunk, uint32_t k, T* dst, bool pieces, T x) {
  const Unit<DIM> u(p, chunk, k);
  if (u.whole && pieces) {
    constexpr uint32_t PIECE = 16 / sizeof(T), LINE = DIM == 1 ? 32 : 32 / PIECE;
    const uint32_t lane = threadIdx.x & 31;
    T* at = dst + u.first + (DIM == 1 ? 0 : (uint64_t)(lane / LINE) * p.x()) + PIECE * (lane % LINE);
    const uint64_t row = DIM == 1 ? 32 * PIECE : (uint64_t)(32 / LINE) * p.x();
#pragma unroll
    for (uint32_t j = 0; j < 1024 / (32 * PIECE); j++) store_piece(at + j * row, x);
  } else {
#pragma unroll 1
    for (int e = 0; e < 32; e++) { bool in; const uint64_t i = u.at(p, e, &in); if (in) store<T>(dst + i, x); }
  }
}

// Copies the values of a raw chunk, by `warps` warps of which this one is `warp`. Several rows are
// loaded at a time, to hide the latency of memory.
template <class T, int DIM> FZ_DEV void put_raw(const Params& p, const Chunk& chunk, const Box& box, T* dst, const uint8_t* from, uint32_t warp, uint32_t warps) {
  constexpr uint32_t MANY = 8;
  const uint32_t lane = threadIdx.x & 31, rows = DIM == 1 ? (box.x + 31) / 32 : box.y * box.z;
  const auto there = [&](uint32_t r) { return r < rows && (DIM == 1 ? 32 * r : 0) + lane < box.x; };
  for (uint32_t first = warp; first < rows; first += MANY * warps) {
    T x[MANY];
#pragma unroll
    for (uint32_t j = 0; j < MANY; j++) {
      const uint32_t r = first + j * warps;
      if (there(r)) x[j] = load<T>(from + sizeof(T) * (r * (DIM == 1 ? 32 : box.x) + lane));
    }
#pragma unroll
    for (uint32_t j = 0; j < MANY; j++) {
      const uint32_t r = first + j * warps;
      if (there(r)) store<T>(dst + box_row<DIM>(p, chunk, box, r) + (DIM == 1 ? 32 * r : 0) + lane, x[j]);
    }
  }
}

FZ_DEV float smaller_of(float a, float b) { return fminf(a, b); }
FZ_DEV double smaller_of(double a, double b) { return fmin(a, b); }

// Clears the padding of the pipeline behind the shape, which has `values` bytes.
FZ_DEV void clear_behind(const Operand& array, uint64_t values, uint64_t all) {
  for (uint64_t i = values + blockIdx.x * blockDim.x + threadIdx.x; i < all; i += (uint64_t)gridDim.x * blockDim.x) address(array)[i] = 0;
}
// The step of a decoder: finite even for a malicious bound.
template <class T> FZ_DEV T step_back(const quantizer::BoundMetadata& f) {
  return T(2) * smaller_of(Real<T>::from(f.bound), Real<T>::value(sizeof(T) == 4 ? 0x7e800000u : 0x7fd0000000000000ull));
}
}  // namespace fast
}  // namespace fz
