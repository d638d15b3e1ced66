// LorenzoQuant in three dimensions: the encoder of few bricks. Each warp of the grid has a plane of a brick, so that
// a small array occupies the GPU. The plane before is read again.
#pragma once
#include "lorenzo_quant/encode_bricks.cuh"

namespace fz {
namespace lorenzo_quant {
// A plane of a brick and the plane before.
template <class T> struct TwoPlanes {
  static constexpr int N = 16 / sizeof(T);
  Row<T, N> before[SIDE], row[SIDE];
  FZ_DEV void load(const Brick<T>& b, const Values<T>& values, uint32_t z, bool there) {
    const uint8_t* from = values.src + b.at(z, 0) * sizeof(T);
    const uint64_t plane = (uint64_t)b.nx * b.ny * sizeof(T);
#pragma unroll
    for (int r = 0; r < SIDE; r++) {
      const bool own = there && values.pieces && r < (int)b.rows() && b.have;
      const uint8_t* at = from + (uint64_t)r * b.nx * sizeof(T);
      before[r].load_whole(at - plane, own && z);
      row[r].load_whole(at, own);
    }
  }
};

// As PlainMultiples, also of values near the middle between two multiples, which take most of the time.
template <class T> struct NearMultiples {
  PlainMultiples<T> plain;
  T guard;
  FZ_DEV explicit NearMultiples(const Multiples<T>& m) : plain(m), guard(m.guard) {}
  FZ_DEV T of(T x, bool& good) const {
    const T q = Real<T>::abs(x) < plain.limit ? nearest_of(x, plain.inverse, plain.step, plain.promise, guard) : nan<T>();
    good = good & (q == q);
    return q;
  }
};

// The result for a plane. OPEN: some values have no multiple yet. WIDE: some differences have no code.
enum class Plane { CODED, OPEN, WIDE };

// As encode_plain, of one plane.
template <bool ZIGZAGS, class T, class C, class M, class Counts> FZ_DEV Plane encode_plane(const Brick<T>& b, const Encoder<T>& e, const M& multiples, const Counts& counts, TwoPlanes<T>& v, uint32_t z) {
  constexpr int N = 16 / sizeof(T);
  const bool starts = b.starts();
  bool good = true, narrow = true;
  T above[N] = {};
  Row<C, N> made[SIDE];
#pragma unroll
  for (int r = 0; r < SIDE; r++) {
    T behind[N];
#pragma unroll
    for (int k = 0; k < N; k++) {
      behind[k] = multiples.of(v.before[r].e[k], good);  // seed: plane-before
      v.row[r].e[k] = multiples.of(v.row[r].e[k], good);
    }
    differences<T>(v.row[r].e, behind, above, z, r, starts);
#pragma unroll
    for (int k = 0; k < N; k++) narrow = narrow & (Real<T>::abs(v.row[r].e[k]) < e.radius);  // seed: plane-radius
    codes_of(v.row[r].e, ZIGZAGS, made[r]);
  }
  if (!__all_sync(ALL, narrow)) return Plane::WIDE;
  if (!__all_sync(ALL, good)) return Plane::OPEN;
  const uint64_t at = b.at(z, 0);
#pragma unroll
  for (int r = 0; r < SIDE; r++)
    if (r < (int)b.rows() && b.have) {
      made[r].store_whole(e.codes + (at + (uint64_t)r * b.nx) * sizeof(C));
      counts.add(made[r], N);
    }
  return Plane::CODED;
}
template <class T, class C, class M, class Counts> FZ_DEV Plane encode_plane(const Brick<T>& b, const Encoder<T>& e, const M& multiples, const Counts& counts, TwoPlanes<T>& v, uint32_t z) {
  return Counts::WANTED || e.zigzag ? encode_plane<true, T, C>(b, e, multiples, counts, v, z) : encode_plane<false, T, C>(b, e, multiples, counts, v, z);
}

// A plane with values that PlainMultiples leaves open; nearly all of them have a multiple.
template <class T, class C, class Counts>
__device__ __attribute__((noinline)) bool encode_near_plane(const Brick<T> b, const Encoder<T> e, const Counts counts, uint32_t z) {
  TwoPlanes<T> v;
  v.load(b, e.values, z, true);
  return encode_plane<T, C>(b, e, NearMultiples<T>(e.m), counts, v, z) == Plane::CODED;
}

// As encode_any, of one plane, row by row: the code is short, and few planes need it.
template <class C, class T, class Counts>
__device__ __attribute__((noinline)) Tally encode_any_plane(const Brick<T> b, const Encoder<T> e, const Counts counts, uint32_t z) {
  constexpr int N = 16 / sizeof(T);
  const bool starts = b.starts();
  Tally tally;
  T above[N] = {};
#pragma unroll 1
  for (uint32_t r = 0; r < b.rows(); r++) {
    T v[N], behind[N] = {}, q[N];
    uint32_t exact = 0;
    // The plane before, and this one.
#pragma unroll 1
    for (uint32_t k = z ? 0 : 1; k < 2; k++) {
      e.values.load(v, b.at(z + k - 1, r), b.have);
      exact = row_of(e.m, v, q, b.have, starts);
      if (k == 0) memcpy(behind, q, sizeof behind);
    }
    differences<T>(q, behind, above, z, (int)r, starts);
    code_row<C>(b, e, tally, counts, q, exact, z, r);
  }
  return tally;
}

// The array is read before earlier launches have ended. False: the call is cancelled.
template <class T, class C, class Counts> FZ_DEV bool encode_planes(const Args& a, const LorenzoQuantParams& p, const Counts& counts) {
  constexpr int N = 16 / sizeof(T);
  if (!a.fresh && cancelled(a)) return false;
  const uint64_t i = (uint64_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const uint32_t z = (uint32_t)(i % SIDE);
  Brick<T> b(p);
  b.take(i / SIDE);
  const bool there = i / SIDE < b.all && z < b.planes();
  TwoPlanes<T> v;
  v.load(b, Values<T>(a, p), z, there);
  if (cancelled(a)) return false;
  if (!there) return true;
  const Encoder<T> e(a, p, b);
  const PlainMultiples<T> multiples(e.m);
  const bool pieces = e.values.pieces && aligned(e.codes, N * sizeof(C));
  const Plane plane = pieces ? encode_plane<T, C>(b, e, multiples, counts, v, z) : Plane::WIDE;
  if (plane == Plane::CODED || (plane == Plane::OPEN && encode_near_plane<T, C>(b, e, counts, z))) return true;
  encode_any_plane<C>(b, e, counts, z).close(a.zeroed);
  return true;
}
}  // namespace lorenzo_quant
}  // namespace fz
