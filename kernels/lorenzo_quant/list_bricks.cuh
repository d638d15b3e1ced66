// LorenzoQuant in three dimensions, brick by brick: the lists. The differences of planes that have entries are
// computed again, as the encoder has computed them.
#pragma once
#include "lorenzo_quant/encode_bricks.cuh"

namespace fz {
namespace lorenzo_quant {
// Of `flags` of all lanes, the number before those of this lane, and the number of all.
template <int N> struct Ranks {
  uint32_t before = 0, all = 0;
  FZ_DEV explicit Ranks(uint32_t flags) {
    const uint32_t lower = (1u << (threadIdx.x & 31)) - 1;
#pragma unroll
    for (int k = 0; k < N; k++) {
      const uint32_t lanes = __ballot_sync(ALL, flags >> k & 1);
      before += __popc(lanes & lower);
      all += __popc(lanes);
    }
  }
};

// Both lists, and the numbers of the next entries. The entries of a row pass through shared memory, so that stores are
// of consecutive words.
template <class T> struct ListEnds {
  static constexpr int N = 16 / sizeof(T);
  typedef typename Real<T>::Bits Bits;
  struct Entries {
    Bits values[32 * N];
    uint32_t indices[32 * N];
  };
  uint8_t *errors, *indices;
  Entries* shared;  // of this warp
  uint64_t outliers, exact;

  // The values with flags to the places from entry `first` on; returns their number.
  FZ_DEV uint32_t put(const T (&v)[N], uint32_t flags, uint32_t i, uint64_t first) const {
    const Ranks<N> ranks(flags);
    uint32_t j = ranks.before;
#pragma unroll
    for (int k = 0; k < N; k++)
      if (flags >> k & 1) {
        shared->values[j] = Real<T>::bits(v[k]);
        shared->indices[j++] = i + k;
      }
    __syncwarp();
#pragma unroll 1
    for (uint32_t e = threadIdx.x & 31; e < ranks.all; e += 32) {
      store<Bits>(errors + (first + e) * sizeof(T), shared->values[e]);
      store<uint32_t>(indices + (first + e) * 4, shared->indices[e]);
    }
    __syncwarp();
    return ranks.all;
  }
};

// The code of a plane is unrolled, because the plane before is kept in registers. What few rows need is long, and so a separate
// function, to which data is passed as values: a plane must not take more instructions than a multiprocessor keeps.
template <class T> using Piece = Row<T, 16 / sizeof(T)>;

// The entries of a row from element `i` on: differences with the lower flags, and values with the flags above them. Returns the number
// of outliers, and above 16 bits that of exact values.
template <class T> __device__ __attribute__((noinline)) uint32_t put_row(const ListEnds<T> ends, const Piece<T> differences, const Piece<T> values, uint32_t flags, uint32_t i) {
  constexpr int N = ListEnds<T>::N;
  T d[N];
#pragma unroll
  for (int k = 0; k < N; k++) d[k] = canonical(differences.e[k]);
  const uint32_t kept = flags >> N, outliers = ends.put(d, flags & ((1u << N) - 1), i, ends.outliers);
  return __any_sync(ALL, kept != 0) ? outliers | ends.put(values.e, kept, i, ends.exact) << 16 : outliers;
}
template <class T> struct Found {
  Piece<T> multiples;
  uint32_t exact;
};
// As row_of.
template <class T> __device__ __attribute__((noinline)) Found<T> find_row(const Multiples<T> m, const Piece<T> values, uint32_t have, bool starts) {
  Found<T> found;
  found.exact = row_of(m, values.e, found.multiples.e, have, starts);
  return found;
}

template <class T> struct Lister {
  static constexpr int N = 16 / sizeof(T);
  Brick<T> b;
  Slots slots;
  Multiples<T> m;
  PlainMultiples<T> multiples;
  Values<T> values;
  T radius;
  uint64_t outliers;
  ListEnds<T> ends;

  FZ_DEV Lister(const Args& a, const LorenzoQuantParams& p, typename ListEnds<T>::Entries* shared)
      : b(p), slots(a, b), m(p, quantizer::load_metadata(input(a, 1))), multiples(m), values(a, p),
        radius(Real<T>::from((double)p.radius)), outliers(totals(a).outliers), ends{address(output(a, 2)), address(output(a, 3)), shared + threadIdx.x / 32, 0, 0} {}

  // Bits of the planes of the brick that have entries.
  FZ_DEV uint32_t planes() const {
    const uint32_t all = slots_of(b), of_plane = all / SIDE;
    uint32_t found = 0;
    for (uint32_t s = threadIdx.x & 31; s < all; s += 32) {
      const uint32_t z = of_plane ? s / of_plane : 0, r = of_plane > 1 ? s % of_plane : 0;
      if (z < b.planes() && r < b.rows() && slots.here[slot_at(b, z, r)]) found |= of_plane ? 1u << z : (1u << b.planes()) - 1;
    }
    return __reduce_or_sync(ALL, found);
  }
  // The entries of the planes `wanted`. Without a branch for each row, the loads of a plane do not wait for each other.
  template <bool PIECES> FZ_DEV void list(uint32_t wanted) {
    const uint32_t rows = b.rows(), of_brick = slots_of(b);
    const bool starts = b.starts();
    T behind[SIDE][N] = {};
#pragma unroll 1
    for (uint32_t z = 0; wanted >> z; z++) {
      // Differences need the plane before too.
      if (!(wanted >> z & 3)) continue;
      const bool own = wanted >> z & 1;
      T above[N] = {};
      Piece<T> v[SIDE];
      const uint2 before = own ? before_row(z, threadIdx.x & (SIDE - 1)) : make_uint2(0, 0);
#pragma unroll
      for (int r = 0; r < SIDE; r++) {
        const uint32_t have = r < (int)rows ? b.have : 0;
        if (PIECES) v[r].load_whole(values.src + b.at(z, r) * sizeof(T), have > 0);
        else values.load(v[r].e, b.at(z, r), have);
      }
#pragma unroll
      for (int r = 0; r < SIDE; r++) {
        const uint32_t have = r < (int)rows ? b.have : 0;
        Found<T> q;
        bool good = true;
        q.exact = 0;
#pragma unroll
        for (int k = 0; k < N; k++) q.multiples.e[k] = multiples.of(v[r].e[k], good);
        if (!__all_sync(ALL, good)) q = find_row(m, v[r], have, starts);
        differences<T>(q.multiples.e, behind[r], above, z, r, starts);
        if (!own || r >= (int)rows) continue;
        // The next entries are the first ones of a slot.
        if (of_brick == SIDE * SIDE || (r == 0 && (of_brick == SIDE || z == 0))) {
          ends.outliers = __shfl_sync(ALL, before.x, r);
          ends.exact = outliers + __shfl_sync(ALL, before.y, r);
        }
        uint32_t flags = q.exact << N;
#pragma unroll
        for (int k = 0; k < N; k++)
          if (k < (int)have && !(Real<T>::abs(q.multiples.e[k]) < radius)) flags |= 1u << k;
        if (!__any_sync(ALL, flags != 0)) continue;
        const uint32_t made = put_row(ends, q.multiples, v[r], flags, (uint32_t)b.at(z, r));
        ends.outliers += made & 0xffff;
        ends.exact += made >> 16;
      }
    }
  }

private:
  // The entries before the slot of row `r` of plane `z`, if there is such a row.
  FZ_DEV uint2 before_row(uint32_t z, uint32_t r) const { return r < b.rows() ? slots.before[slot_at(b, z, r)] : make_uint2(0, 0); }
};

// A warp has a brick, or a plane of one if there are as many warps.
template <class T> FZ_DEV void list_bricks(const Args& a, const LorenzoQuantParams& p, typename ListEnds<T>::Entries* shared) {
  Lister<T> lister(a, p, shared);
  Brick<T>& b = lister.b;
  const uint64_t warps = (uint64_t)gridDim.x * (blockDim.x / 32), each = warps >= b.all * SIDE ? SIDE : 1;
  for (uint64_t i = (uint64_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < b.all * each; i += warps) {
    b.take(i / each);
    uint32_t wanted = lister.planes();
    // A slot with several planes is for one warp.
    if (each > 1 && slots_of(b) > 1) wanted &= 1u << i % each;
    else if (i % each) wanted = 0;
    if (lister.values.pieces) lister.template list<true>(wanted);
    else lister.template list<false>(wanted);
  }
}
}  // namespace lorenzo_quant
}  // namespace fz
