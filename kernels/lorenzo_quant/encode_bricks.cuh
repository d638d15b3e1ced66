// LorenzoQuant in three dimensions, brick by brick: the encoder.
#pragma once
#include "lorenzo_quant/slots.cuh"

namespace fz {
namespace lorenzo_quant {
// Multiples of values that safely have a multiple and keep the promise at once. Strict.
template <class T> struct PlainMultiples {
  static constexpr T WHOLE = sizeof(T) == 4 ? T(8388608.0) : T(4503599627370496.0);
  T inverse, step, promise, limit;

  FZ_DEV explicit PlainMultiples(const Multiples<T>& m) : inverse(m.inverse), step(m.step), promise(m.promise) {
    // A little less than the guard, so that no rounding matters. NaN, and with it everything, fails
    // the test.
    const T reach = m.guard * m.step * T(0.9999);  // seed: near-limit
    limit = !m.strict || !(reach > T(0)) ? T(0) : reach < m.threshold ? reach : m.threshold;  // seed: near-threshold
  }
  static FZ_DEV float toward_zero(float a, float b) { return __fadd_rz(a, b); }
  static FZ_DEV double toward_zero(double a, double b) { return __dadd_rz(a, b); }
  // As Multiples::of; `good` stays true where the answer is right.
  FZ_DEV T of(T x, bool& good) const {
    const T scaled = x * inverse;
    // Half away from zero, below WHOLE: the integer part after adding a half.
    const T size = toward_zero(toward_zero(Real<T>::abs(scaled), T(0.5)), WHOLE) - WHOLE;
    const T q = with_sign(size, scaled);
    good = good & (Real<T>::abs(x) < limit) & (Real<T>::abs(x - q * step) <= promise);  // seed: near-promise
    return q;
  }
};

// The multiples of N values in a row, any of which may stay exact: such a one takes that of the
// value before it in its tile. Returns which do, of the first `have`.
template <class T> FZ_DEV uint32_t row_of(const Multiples<T>& m, const T (&v)[16 / sizeof(T)], T (&q)[16 / sizeof(T)], uint32_t have, bool starts) {
  constexpr int N = 16 / sizeof(T);
  uint32_t exact = 0;
#pragma unroll
  for (int k = 0; k < N; k++)
    if (!m.of(v[k], q[k])) exact |= 1u << k;
  exact &= (1u << have) - 1;
  const int lead = __ffs((int)~exact) - 1;  // exact ones at the front
#pragma unroll
  for (int k = 0; k < N; k++)
    if (exact >> k & 1) q[k] = k && k >= lead ? q[k ? k - 1 : 0] : T(0);
  // The next lane may have to take over the last multiple of a lane, and so on.
#pragma unroll
  for (int i = 1; i < Brick<T>::SHARED; i++) {
    const T before = __shfl_up_sync(ALL, q[N - 1], 1);
#pragma unroll
    for (int k = 0; k < N; k++)
      if (k < lead && !starts) q[k] = before;
  }
  return exact;
}

// The array as bricks take it.
template <class T> struct Values {
  static constexpr int N = 16 / sizeof(T);
  const uint8_t* src;
  uint64_t values;
  bool pieces;  // every lane that has all of its columns can fetch them at once

  FZ_DEV Values(const Args& a, const LorenzoQuantParams& p)
      : src(address(input(a, 0))), values(length(input(a, 0)) / sizeof(T)) {
    pieces = aligned(src, 16) && p.dims[0] % N == 0 && p.count <= values;
  }
  FZ_DEV void load(T (&v)[N], uint64_t i, uint32_t have) const {
    if (pieces) {
      Row<T, N> row;
      row.load_whole(src + i * sizeof(T), have > 0);
      memcpy(v, row.e, sizeof v);
      return;
    }
#pragma unroll
    for (int k = 0; k < N; k++) v[k] = k < (int)have && i + k < values ? fz::load<T>(src + (i + k) * sizeof(T)) : T(0);
  }
};

// Differences below the radius as codes; other differences give any code. Codes of 16 bits from f32
// are the low bits of 2^22 + |d|, which are 2 |d|.
template <class T, class C, int N> FZ_DEV void codes_of(const T (&d)[N], bool zigzag, Row<C, N>& made) {
#pragma unroll
  for (int k = 0; k < N; k++) {
    if constexpr (sizeof(T) == 4 && sizeof(C) <= 2) {
      const uint32_t twice = __float_as_uint(Real<T>::abs(d[k]) + 4194304.0f), sign = (uint32_t)((int32_t)__float_as_uint(d[k] + T(0)) >> 31);  // seed: brick-minus-zero
      made.e[k] = (C)(zigzag ? twice + sign : ((twice >> 1 & 0xffff) ^ sign) - sign);
    } else made.e[k] = Real<T>::abs(d[k]) < T(2147483648.0) ? code_of<C>(d[k], zigzag) : C(0);
  }
}

// The number of occurrences of each code in a block, for a coder after this stage.
struct CodeCounts {
  static constexpr bool WANTED = true;
  uint32_t* of;
  template <class C, int N> FZ_DEV void add(const Row<C, N>& row, uint32_t have) const {
#pragma unroll
    for (int k = 0; k < N; k++)
      if (k < (int)have) atomicAdd(&of[row.e[k]], 1u);
  }
};
struct NoCounts {
  static constexpr bool WANTED = false;
  template <class C, int N> FZ_DEV void add(const Row<C, N>&, uint32_t) const {}
};

// The state of a call for bricks. Functions that are not inlined receive it as values, because data
// behind pointers would not stay in registers.
template <class T> struct Encoder {
  Multiples<T> m;
  Values<T> values;
  T radius;
  bool zigzag;
  uint8_t* codes;
  uint32_t* here;

  FZ_DEV Encoder(const Args& a, const LorenzoQuantParams& p, const Brick<T>& b)
      : m(p, quantizer::load_metadata(input(a, 1))), values(a, p), radius(Real<T>::from((double)p.radius)),
        zigzag((p.switches & ZIGZAG) != 0), codes(address(output(a, 0))), here(Slots(a, b).here) {}
};

// Multiples of a row to differences, after those along z: `behind` are the multiples of the plane
// before, `above` the differences of the row before.
template <class T> FZ_DEV void differences(T (&q)[16 / sizeof(T)], T (&behind)[16 / sizeof(T)], T (&above)[16 / sizeof(T)], uint32_t z, int r, bool starts) {
  constexpr int N = 16 / sizeof(T);
  T d[N];
#pragma unroll
  for (int k = 0; k < N; k++) {
    d[k] = z ? q[k] - behind[k] : q[k];
    behind[k] = q[k];
  }
  const T left = __shfl_up_sync(ALL, d[N - 1], 1);
#pragma unroll
  for (int k = N - 1; k > 0; k--) d[k] = d[k] - d[k - 1];
  d[0] = starts ? d[0] : d[0] - left;
#pragma unroll
  for (int k = 0; k < N; k++) {
    q[k] = r ? d[k] - above[k] : d[k];
    above[k] = d[k];
  }
}

// A brick of which every value has a code, in whole pieces. Returns the number of its first planes that are encoded: the
// plane after them has another value. Counts follow the stores of a plane: between them they take longer.
template <bool ZIGZAGS, class C, class T, class Counts> FZ_DEV uint32_t encode_plain(const Brick<T>& b, const Encoder<T>& e, const PlainMultiples<T>& multiples, const Counts& counts) {
  constexpr int N = 16 / sizeof(T);
  const uint32_t rows = b.rows(), planes = b.planes();
  const bool starts = b.starts();
  const uint64_t plane = (uint64_t)b.nx * b.ny, at = b.at(0, 0);
  const uint8_t* from = e.values.src + at * sizeof(T);
  uint8_t* to = e.codes + at * sizeof(C);
  T behind[SIDE][N];
#pragma unroll
  for (int r = 0; r < SIDE; r++)
#pragma unroll
    for (int k = 0; k < N; k++) behind[r][k] = T(0);
#pragma unroll 1
  for (uint32_t z = 0; z < planes; z++, from += plane * sizeof(T), to += plane * sizeof(C)) {
    Row<T, N> row[SIDE];
#pragma unroll
    for (int r = 0; r < SIDE; r++) row[r].load_whole(from + (uint64_t)r * b.nx * sizeof(T), r < (int)rows && b.have);
    bool good = true;
    T above[N] = {};
    Row<C, N> made[Counts::WANTED ? SIDE : 1];
#pragma unroll
    for (int r = 0; r < SIDE; r++) {
#pragma unroll
      for (int k = 0; k < N; k++) row[r].e[k] = multiples.of(row[r].e[k], good);
      differences<T>(row[r].e, behind[r], above, z, r, starts);
#pragma unroll
      for (int k = 0; k < N; k++) good = good & (Real<T>::abs(row[r].e[k]) < e.radius);  // seed: brick-radius
      Row<C, N>& own = made[Counts::WANTED ? r : 0];
      codes_of(row[r].e, ZIGZAGS, own);
      if (r < (int)rows && b.have) own.store_whole(to + (uint64_t)r * b.nx * sizeof(C));
    }
    if (!__all_sync(ALL, good)) return z;
    if constexpr (Counts::WANTED) {
#pragma unroll
      for (int r = 0; r < SIDE; r++)
        if (r < (int)rows && b.have) counts.add(made[r], N);
    }
  }
  return planes;
}
// The multiples of the rows of a plane that have the bits of `rows`, where those that were found at once may be wrong.
// False: a value of the warp is exact.
template <class T, int N> FZ_DEV bool mend(const Brick<T>& b, const Encoder<T>& e, const PlainMultiples<T>& multiples, const uint8_t* from, Row<T, N> (&row)[SIDE], uint32_t rows) {
  bool exact = false;
#pragma unroll
  for (int r = 0; r < SIDE; r++)
    if (rows >> r & 1) {
      Row<T, N> v;
      v.load_whole(from + (uint64_t)r * b.nx * sizeof(T), r < (int)b.rows() && b.have);
#pragma unroll
      for (int k = 0; k < N; k++) {
        bool good = true;
        multiples.of(v.e[k], good);
        if (!good) exact = exact | !e.m.of(v.e[k], row[r].e[k]);
      }
    }
  return !__any_sync(ALL, exact);
}
// The differences of a row that are outliers, of the first `have`: they become 0.
template <class T, int N> FZ_DEV uint32_t outliers_of(T (&d)[N], T radius, uint32_t have) {
  uint32_t flags = 0;
#pragma unroll
  for (int k = 0; k < N; k++)
    if (!(Real<T>::abs(d[k]) < radius)) {
      flags |= 1u << k;
      d[k] = T(0);
    }
  return flags & ((1u << have) - 1);
}
// The counts of a warp, and the number of the first planes of its brick that are encoded.
struct Progress {
  Tally tally;
  uint32_t planes;
};
// A brick from plane `first` on, in whole pieces, with outliers and near ties. Ends before a plane with exact values.
template <class C, class T, class Counts>
__device__ __attribute__((noinline)) Progress encode_mended(const Brick<T> b, const Encoder<T> e, Tally tally, const Counts counts, uint32_t first) {
  constexpr int N = 16 / sizeof(T);
  const PlainMultiples<T> multiples(e.m);
  const uint32_t rows = b.rows(), planes = b.planes();
  const bool starts = b.starts();
  T behind[SIDE][N] = {};
  // The plane before `first` gives its multiples alone.
#pragma unroll 1
  for (uint32_t z = first ? first - 1 : 0; z < planes; z++) {
    const uint64_t at = b.at(z, 0);
    const uint8_t* from = e.values.src + at * sizeof(T);
    Row<T, N> row[SIDE];
#pragma unroll
    for (int r = 0; r < SIDE; r++) row[r].load_whole(from + (uint64_t)r * b.nx * sizeof(T), r < (int)rows && b.have);
    uint32_t bad = 0;
#pragma unroll
    for (int r = 0; r < SIDE; r++) {
      bool good = true;
#pragma unroll
      for (int k = 0; k < N; k++) row[r].e[k] = multiples.of(row[r].e[k], good);
      if (!good) bad |= 1u << r;
    }
    if (__any_sync(ALL, bad != 0) && !mend(b, e, multiples, from, row, __reduce_or_sync(ALL, bad))) return {tally, z};
    bool small = true;
    T above[N] = {};
#pragma unroll
    for (int r = 0; r < SIDE; r++) {
      differences<T>(row[r].e, behind[r], above, z, r, starts);
#pragma unroll
      for (int k = 0; k < N; k++) small = small & (Real<T>::abs(row[r].e[k]) < e.radius);
    }
    if (z < first) continue;
    if (!__all_sync(ALL, small))
#pragma unroll
      for (int r = 0; r < SIDE; r++) tally.add(e.here, b, z, r, outliers_of(row[r].e, e.radius, r < (int)rows ? b.have : 0), 0);
    Row<C, N> made[SIDE];
#pragma unroll
    for (int r = 0; r < SIDE; r++) {
      codes_of(row[r].e, e.zigzag, made[r]);
      if (r < (int)rows && b.have) made[r].store_whole(e.codes + (at + (uint64_t)r * b.nx) * sizeof(C));
    }
#pragma unroll
    for (int r = 0; r < SIDE; r++)
      if (r < (int)rows && b.have) counts.add(made[r], N);
  }
  return {tally, planes};
}
// Codes of row `r` of plane `z`, from its differences. Outliers have code 0. All lanes call it.
template <class C, class T, class Counts> FZ_DEV void code_row(const Brick<T>& b, const Encoder<T>& e, Tally& tally, const Counts& counts, T (&d)[16 / sizeof(T)], uint32_t exact, uint32_t z, uint32_t r) {
  constexpr int N = 16 / sizeof(T);
  const uint32_t have = r < b.rows() ? b.have : 0;
  tally.add(e.here, b, z, r, outliers_of(d, e.radius, have), exact);
  Row<C, N> made;
  codes_of(d, e.zigzag, made);
  if (have) made.store(e.codes + b.at(z, r) * sizeof(C), have);
  counts.add(made, have);
}
// Any brick from plane `first` on: outliers and exact values, rows of any length, arrays that end early.
template <class C, class T, class Counts>
__device__ __attribute__((noinline)) Tally encode_any(const Brick<T> b, const Encoder<T> e, Tally tally, const Counts counts, uint32_t first) {
  constexpr int N = 16 / sizeof(T);
  const PlainMultiples<T> multiples(e.m);
  const uint32_t rows = b.rows(), planes = b.planes();
  const bool starts = b.starts();
  T behind[SIDE][N] = {};
  // The plane before `first` gives its multiples alone.
#pragma unroll 1
  for (uint32_t z = first ? first - 1 : 0; z < planes; z++) {
    T above[N] = {}, v[SIDE][N];
    // All loads of the plane are issued before the first result is used.
#pragma unroll
    for (int r = 0; r < SIDE; r++) e.values.load(v[r], b.at(z, r), r < (int)rows ? b.have : 0);
#pragma unroll
    for (int r = 0; r < SIDE; r++) {
      T q[N];
      bool good = true;
      uint32_t exact = 0;
#pragma unroll
      for (int k = 0; k < N; k++) q[k] = multiples.of(v[r][k], good);
      if (!__all_sync(ALL, good)) exact = row_of(e.m, v[r], q, r < (int)rows ? b.have : 0, starts);
      differences<T>(q, behind[r], above, z, r, starts);
      if (z >= first) code_row<C>(b, e, tally, counts, q, exact, z, r);  // seed: counts-twice
    }
  }
  return tally;
}

template <class T, class C, class Counts> FZ_DEV void encode_bricks(const Args& a, const LorenzoQuantParams& p, const Counts& counts) {
  constexpr int N = 16 / sizeof(T);
  Brick<T> b(p);
  const Encoder<T> e(a, p, b);
  const PlainMultiples<T> multiples(e.m);
  const bool pieces = e.values.pieces && aligned(e.codes, N * sizeof(C)) && multiples.limit > T(0);
  Tally tally;
  for (uint64_t brick = (uint64_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; brick < b.all; brick += (uint64_t)gridDim.x * (blockDim.x / 32)) {
    b.take(brick);
    uint32_t done = 0;
    if (pieces) done = Counts::WANTED || e.zigzag ? encode_plain<true, C>(b, e, multiples, counts) : encode_plain<false, C>(b, e, multiples, counts);
    if (pieces && done < b.planes()) {
      const Progress made = encode_mended<C>(b, e, tally, counts, done);
      tally = made.tally;
      done = made.planes;
    }
    if (done < b.planes()) tally = encode_any<C>(b, e, tally, counts, done);
  }
  tally.close(a.zeroed);
}
}  // namespace lorenzo_quant
}  // namespace fz
