// Stages that can be fused, for elements of W bytes. A stage is a type with
//   P, Q       parameters to encode and to decode, which read() and read_back() make from its parameter
//              block and its further input
//   forward(v, halo, rows, p, t), backward(v, live, q, shared, t)
//   EXTRA      further inputs, 0 or 1
//   SYNCS      backward() ends with a barrier after its last access to shared memory of other threads
//   HALVES     as first stage it takes a whole tile in H layout instead of E
//   OCTETS     as last stage it reports the non-zero bytes of a whole tile
//   HALO       it reads the element before
// `v` is the tile: in E layout, and in P layout after a bitshuffle. `halo` has the two words before the
// slice of the warp, zeros before the first one. Stages that work element by element also transform
// it, so that a stage which reads the element before needs no barrier. `live`, in `rows`, are the groups
// of 8 rows that may be non-zero. Until a bitshuffle the staging area holds the words as loaded.
#pragma once
#include "quantizer/kept.cuh"
#include "quantizer/tile.cuh"
#include "bitshuffle/transpose.cuh"
#include "common/words.cuh"

namespace fz {
namespace rze {
// A whole tile, or the last one with fewer bytes.
template <bool WHOLE> struct Tile {
  static constexpr bool whole = WHOLE;
  uint4* st;
  uint32_t len;
  int tid;
};
struct Nothing {};

// The float of a width.
template <int W> struct PickFloat;
template <> struct PickFloat<4> { typedef float Type; };
template <> struct PickFloat<8> { typedef double Type; };

template <int W> struct QuantizeStage {
  static constexpr int EXTRA = 1;
  static constexpr bool SYNCS = false, HALVES = false, OCTETS = false, HALO = false;
  typedef Nothing Shared;
  typedef TileBins<W> P;
  typedef TileSteps<W> Q;
  static FZ_DEV P read(const Args& a, int fused_kernel, int extra) { return P(fused_params<quantizer::QuantizerParams>(a, fused_kernel), input(a, extra)); }
  static FZ_DEV Q read_back(const Operand& further) { return Q(quantizer::load_metadata(further)); }
  template <class T> static FZ_DEV void forward(uint32_t (&v)[32], uint32_t (&halo)[2], Rows&, const P& p, const T& t) {
    quantize_tile(p, v, halo, t.st, t.tid);
    // A difference follows, which removes the shift of the codes. Behind the end of a short tile it
    // removes nothing.
    if constexpr (!T::whole) {
#pragma unroll
      for (int i = 0; i < 32; i++) v[i] -= p.shifted();
      halo[1] -= p.shifted();
    }
  }
  template <class T> static FZ_DEV void backward(uint32_t (&v)[32], uint32_t, const Q& q, Shared&, const T&) { q.restore(v); }
};

// Records the extremes of a tile in E layout of W-byte values, by all warps. `have`: bytes of the tile
// that the array has.
template <int W> FZ_DEV void measure_tile(const Args& a, const quantizer::QuantizerParams& p, const uint32_t (&v)[32], uint32_t have, int tid) {
  typedef typename PickFloat<W>::Type T;
  const T threshold = quantizer::Real<T>::from(p.threshold);
  const auto value = [&](int i) {
    if constexpr (W == 4) return __uint_as_float(v[i]);
    else return quantizer::Real<double>::value((uint64_t)v[2 * i + 1] << 32 | v[2 * i]);
  };
  constexpr int N = 128 / W;
  quantizer::Extremes<T> extremes;
  if (have == TILE) {
#pragma unroll
    for (int i = 0; i < N; i++) extremes.add(value(i));
  }
  if (!__all_sync(ALL, have == TILE && extremes.bounded(threshold))) {
    extremes = quantizer::Extremes<T>();
#pragma unroll
    for (int i = 0; i < N; i++)
      if ((uint32_t)(128 * tid + W * i) < have) extremes.add_bounded(value(i), threshold);
  }
  extremes.record(a);
}

// Difference to the element before, in negabinary, restarted in every tile. Bytes that make no
// whole element are copied.
template <int W> struct DifferenceStage {
  static constexpr int EXTRA = 0, WORDS = W == 8 ? 2 : 1;  // words that are dealt with at once
  static constexpr bool SYNCS = true, HALVES = false, OCTETS = false, HALO = true;
  typedef Nothing P, Q;
  typedef Pack<W> E;
  struct Shared {
    E sums[4];
  };
  static FZ_DEV P read(const Args&, int, int) { return {}; }
  static FZ_DEV Q read_back(const Operand&) { return {}; }

  static FZ_DEV E pack(uint32_t low, uint32_t high) { return W == 8 ? (E)((uint64_t)high << 32 | low) : (E)high; }
  static FZ_DEV E get(const uint32_t (&v)[32], int i) { return pack(v[i], v[i + WORDS - 1]); }
  // Sets the bytes of whole elements.
  template <class T> static FZ_DEV void set(uint32_t (&v)[32], int i, E x, const T& t) {
#pragma unroll
    for (int j = 0; j < WORDS; j++) {
      const uint32_t w = (uint32_t)((uint64_t)x >> 32 * j);
      v[i + j] = T::whole ? w : choose(w, v[i + j], low_bytes(ALL, (int)(t.len / W * W) - 4 * (32 * t.tid + i + j)));
    }
  }
  // Of packed elements: the last one alone, and one in all places.
  static FZ_DEV E last(E x) { return W < 4 ? x >> (32 - 8 * (W % 4)) : x; }
  static FZ_DEV E everywhere(E x) { return x * Packed<W>::ONES; }
  // Each element and all before it.
  static FZ_DEV E sums(E x) {
    if (W == 1) x = add<W>(x, x << 8);
    if (W <= 2) x = add<W>(x, x << 16);
    return x;
  }

  template <class T> static FZ_DEV void forward(uint32_t (&v)[32], uint32_t (&halo)[2], Rows&, const P&, const T& t) {
    uint32_t high = __shfl_up_sync(ALL, v[31], 1), low = W == 8 ? __shfl_up_sync(ALL, v[30], 1) : 0;
    if ((t.tid & 31) == 0) { low = halo[0]; high = halo[1]; }
#pragma unroll
    for (int i = 32 - WORDS; i >= 0; i -= WORDS) {
      const E x = get(v, i), word = i ? get(v, i ? i - WORDS : 0) : pack(low, high);
      const E before = W < 4 ? x << 8 * (W % 4) | last(word) : word;
      set(v, i, negabinary<W>(sub<W>(x, before)), t);
    }
  }
  template <class T> static FZ_DEV void backward(uint32_t (&v)[32], uint32_t, const Q&, Shared& s, const T& t) {
    const int lane = t.tid & 31, warp = t.tid >> 5;
    E sum = 0;  // one element
#pragma unroll
    for (int i = 0; i < 32; i += WORDS) {
      const E x = add<W>(sums(unnegabinary<W>(get(v, i))), everywhere(sum));
      set(v, i, x, t);
      sum = last(x);
    }
    const E upto = warp_sum_to(sum);
    if (lane == 31) s.sums[warp] = upto;
    __syncthreads();
    E before = upto - sum;
    if (warp > 0) before += s.sums[0];
    if (warp > 1) before += s.sums[1];
    if (warp > 2) before += s.sums[2];
    // Sums of narrow elements are truncated.
    before = everywhere(W < 4 ? before & ((1u << 8 * (W % 4)) - 1) : before);
#pragma unroll
    for (int i = 0; i < 32; i += WORDS) set(v, i, add<W>(get(v, i), before), t);
  }
};

// Bit planes; a short tile is copied. Elements of four bytes stay in their thread. For other widths
// each thread makes whole words of other columns, which go through the staging area.
template <int W> struct BitshuffleStage {
  static constexpr int EXTRA = 0;
  static constexpr bool SYNCS = W != 4, HALVES = false, OCTETS = W == 4, HALO = false;
  typedef Nothing P, Q;
  typedef Nothing Shared;
  static FZ_DEV P read(const Args&, int, int) { return {}; }
  static FZ_DEV Q read_back(const Operand&) { return {}; }

  // Words of planes to and from elements. W < 4: 4 / W groups of 32 elements side by side, the last
  // element first, so that element 0 becomes the lowest bit. W = 8: two neighbors exchange halves
  // of 64 elements, so that one has the upper words of 32 elements and the other the lower words.
  static FZ_DEV uint32_t element(const uint32_t (&v)[32], int group, int e) {
    const int at = W * (32 * group + e);
    return v[at / 4] >> 8 * (at % 4) & (ALL >> (32 - 8 * (W % 8)));
  }
  static FZ_DEV void trade(uint32_t (&v)[32], uint32_t (&a)[32], int tid) {
    const bool odd = tid & 1;  // has the lower words and elements 16 to 31
#pragma unroll
    for (int e = 0; e < 16; e++) {
      const uint32_t other = __shfl_xor_sync(ALL, odd ? v[2 * e + 1] : v[2 * e], 1);
      a[e] = odd ? other : v[2 * e + 1];
      a[e + 16] = odd ? v[2 * e] : other;
    }
  }
  static FZ_DEV void trade_back(uint32_t (&v)[32], const uint32_t (&a)[32], int tid) {
    const bool odd = tid & 1;
#pragma unroll
    for (int e = 0; e < 16; e++) {
      const uint32_t other = __shfl_xor_sync(ALL, odd ? a[e] : a[e + 16], 1);
      v[2 * e + 1] = odd ? other : a[e];
      v[2 * e] = odd ? a[e + 16] : other;
    }
  }
  // Index of word k of this thread among all words.
  static FZ_DEV int place_of(int k, int tid) {
    if (W == 8) return (32 * (tid & 1) + k) * 64 + 2 * (tid >> 2) + (1 - (tid >> 1 & 1));
    constexpr int PLANES = W == 8 ? 32 : 8 * W, GROUPS = 32 / PLANES;
    return k % PLANES * (128 * GROUPS) + GROUPS * tid + k / PLANES;
  }

  template <class T> static FZ_DEV void forward(uint32_t (&v)[32], uint32_t (&)[2], Rows& rows, const P&, const T& t) {
    if (!T::whole) { e_to_p(t.st, v, t.tid); return; }
    if constexpr (W == 4) {
#pragma unroll
      for (int j = 0; j < 4; j++) {
        rows.octets[j] = 0;
#pragma unroll
        for (int i = 24 - 8 * j; i < 32 - 8 * j; i++) rows.octets[j] |= v[i];
      }
      const uint32_t any = __reduce_or_sync(ALL, rows.octets[0] | rows.octets[1] | rows.octets[2] | rows.octets[3]);
      if (any < 256) { to_planes<1>(v); rows.live = 8; }
      else if (any < 65536) { to_planes<2>(v); rows.live = 12; }
      else to_planes<4>(v);
    } else {
      uint32_t a[32], *words = reinterpret_cast<uint32_t*>(t.st);
      if constexpr (W == 8) trade(v, a, t.tid);
      else {
#pragma unroll
        for (int e = 0; e < 32; e++) {
          a[31 - e] = 0;
#pragma unroll
          for (int g = 0; g < 4 / W; g++) a[31 - e] |= element(v, g, e) << (32 - 8 * W * (g + 1));
        }
      }
      to_planes<4>(a);
      __syncthreads();
#pragma unroll
      for (int k = 0; k < 32; k++) words[place_of(k, t.tid)] = a[k];
      __syncthreads();
#pragma unroll
      for (int p = 0; p < 32; p++) v[p] = words[128 * p + t.tid];
    }
  }
  template <class T> static FZ_DEV void backward(uint32_t (&v)[32], uint32_t live, const Q&, Shared&, const T& t) {
    if (!T::whole) { p_to_e(t.st, v, t.tid); return; }
    if constexpr (W == 4) {
      if (live & 3) from_planes<4>(v);
      else if (live & 4) from_planes<2>(v);
      else from_planes<1>(v);
    } else {
      uint32_t a[32], *words = reinterpret_cast<uint32_t*>(t.st);
      __syncthreads();
      put_p(t.st, v, t.tid);
      __syncthreads();
#pragma unroll
      for (int k = 0; k < 32; k++) a[k] = words[place_of(k, t.tid)];
      __syncthreads();
      from_planes<4>(a);
      if constexpr (W == 8) trade_back(v, a, t.tid);
      else {
#pragma unroll
        for (int i = 0; i < 32; i++) {
          v[i] = 0;
#pragma unroll
          for (int j = 0; j < 4 / W; j++) {
            const int e = (4 / W) * i + j, g = e / 32;
            v[i] |= (a[31 - e % 32] >> (32 - 8 * W * (g + 1)) & (ALL >> (32 - 8 * (W % 8)))) << 8 * W * j;
          }
        }
      }
    }
  }
};

// Bit planes of elements of two bytes in H layout, where each thread makes the words of its own
// column. The halves of a tile are transposed as one: elements of the first half in the upper
// halves of the words, those of the second in the lower halves.
struct HalvesStage {
  static constexpr int EXTRA = 0;
  static constexpr bool SYNCS = false, HALVES = true, OCTETS = false, HALO = false;
  typedef Nothing P, Q;
  typedef Nothing Shared;
  static FZ_DEV P read(const Args&, int, int) { return {}; }
  static FZ_DEV Q read_back(const Operand&) { return {}; }

  // Rows 2 r and 2 r + 1 of the tile are plane 15 - r of the halves.
  template <class T> static FZ_DEV void forward(uint32_t (&v)[32], uint32_t (&)[2], Rows& rows, const P&, const T& t) {
    if (!T::whole) { e_to_p(t.st, v, t.tid); return; }
    uint32_t any = 0, a[32];
#pragma unroll
    for (int i = 0; i < 32; i++) any |= v[i];
    any = __reduce_or_sync(ALL, any | any >> 16) & 0xffff;
    rows.live = (any & 0xf000 ? 1 : 0) | (any & 0xf00 ? 2 : 0) | (any & 0xf0 ? 4 : 0) | (any & 0xf ? 8 : 0);
    if (any < 256) {
#pragma unroll
      for (int e = 0; e < 32; e++) a[31 - e] = __byte_perm(v[e / 2], v[16 + e / 2], e & 1 ? 0x4426 : 0x4404);
      to_planes<2>(a);
#pragma unroll
      for (int r = 0; r < 8; r++) {
        v[2 * r] = v[2 * r + 1] = 0;
        v[16 + 2 * r] = a[16 + r];
        v[17 + 2 * r] = a[24 + r];
      }
    } else {
#pragma unroll
      for (int e = 0; e < 32; e++) a[31 - e] = __byte_perm(v[e / 2], v[16 + e / 2], e & 1 ? 0x3276 : 0x1054);
      to_planes<4>(a);
#pragma unroll
      for (int r = 0; r < 16; r++) {
        v[2 * r] = a[r];
        v[2 * r + 1] = a[16 + r];
      }
    }
  }
  template <class T> static FZ_DEV void backward(uint32_t (&v)[32], uint32_t live, const Q&, Shared&, const T& t) {
    if (!T::whole) { p_to_e(t.st, v, t.tid); return; }
    uint32_t a[32];
    if (live & 3) {
#pragma unroll
      for (int r = 0; r < 16; r++) {
        a[r] = v[2 * r];
        a[16 + r] = v[2 * r + 1];
      }
      from_planes<4>(a);
#pragma unroll
      for (int i = 0; i < 16; i++) {
        v[i] = __byte_perm(a[31 - 2 * i], a[30 - 2 * i], 0x7632);
        v[16 + i] = __byte_perm(a[31 - 2 * i], a[30 - 2 * i], 0x5410);
      }
    } else {
#pragma unroll
      for (int r = 0; r < 8; r++) {
        a[r] = a[8 + r] = 0;
        a[16 + r] = v[16 + 2 * r];
        a[24 + r] = v[17 + 2 * r];
      }
      from_planes<2>(a);
#pragma unroll
      for (int i = 0; i < 16; i++) {
        v[i] = __byte_perm(a[31 - 2 * i], a[30 - 2 * i], 0x7531);
        v[16 + i] = __byte_perm(a[31 - 2 * i], a[30 - 2 * i], 0x7430);
      }
    }
  }
};
}  // namespace rze
}  // namespace fz
