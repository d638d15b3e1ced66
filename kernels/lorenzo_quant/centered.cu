// Stage lorenzo_quant in one dimension, with tiles around their means: values to codes, outliers,
// exact values, and means, and back.
//
// A block has a tile of values. Encoding, thread t has those of its elements that lane t of the sum
// has: t, t + 256, t + 512 and t + 768. Where entries go is for lorenzo_quant_places to find, which
// tallies tiles of bytes: several of values.
#include "lorenzo_quant/entries.cuh"

namespace fz {
namespace lorenzo_quant {
constexpr uint32_t LANES = BLOCK, EACH = STRIP / LANES;

// Memory that is zero when the call starts, and the entries of tiles of bytes: as
// lorenzo_quant_places takes them.
struct Totals {
  uint64_t outliers, exact;
};
FZ_DEV uint64_t tiles_of(const Args& a, const LorenzoQuantParams& p) {
  const uint64_t per = TILE / p.value, room = output(a, 0).max / p.code, all = room > p.count ? room : p.count;
  return (all + per - 1) / per;
}
FZ_DEV TileCount* found_of(const Args& a) { return reinterpret_cast<TileCount*>(a.zeroed + sizeof(Totals)); }

// The data that the threads of a block exchange.
template <class T> struct CenteredShared {
  T q[STRIP], sums[LANES];
  uint32_t counts[LANES], words[32], total;
};

// A tile in the threads of a block; bits mark the elements of a thread that are outliers and those
// that are exact.
template <class T> struct Centered {
  T d[EACH], mean;
  uint32_t outliers, exact;

  static FZ_DEV uint32_t at(int k) { return k * LANES + threadIdx.x; }
  // The multiple of element `e`, or its stand-in: the multiple before it, or the mean if there is
  // none.
  FZ_DEV T standing(const CenteredShared<T>& b, uint32_t e, bool strict) const {
    if (!strict) return b.q[e];
    for (;; e--) {
      if (b.q[e] == b.q[e]) return b.q[e];
      if (e == 0) return mean;  // seed: centered-stand-in
    }
  }
  // All threads call it.
  FZ_DEV Centered(const Args& a, const LorenzoQuantParams& p, const Multiples<T>& m, uint64_t first, CenteredShared<T>& b) : outliers(0), exact(0) {
    const uint8_t* src = address(input(a, 0));
    const uint64_t values = length(input(a, 0)) / sizeof(T);
    const uint32_t have = first < p.count ? (uint32_t)least(p.count - first, STRIP) : 0, t = threadIdx.x;
    T sum = T(0);
    uint32_t count = 0;
    for (int k = 0; k < (int)EACH; k++) {
      T q = T(0);
      if (at(k) < have) {
        const uint64_t i = first + at(k);
        if (m.of(i < values ? load<T>(src + i * sizeof(T)) : T(0), q)) {
          sum = sum + q;
          count++;
        } else {
          exact |= 1u << k;
          q = nan<T>();  // seed: centered-count
        }
      }
      b.q[at(k)] = q;
    }
    b.sums[t] = sum;
    b.counts[t] = count;
    for (uint32_t half = LANES / 2; half > 0; half /= 2) {
      __syncthreads();
      if (t < half) {
        b.sums[t] = b.sums[t] + b.sums[t + half];
        b.counts[t] += b.counts[t + half];
      }
    }
    __syncthreads();
    mean = b.counts[0] == 0 ? T(0) : canonical(round_away(b.sums[0] / (T)(int32_t)b.counts[0]));
    const T radius = Real<T>::from((double)p.radius);
    for (int k = 0; k < (int)EACH; k++) {
      const uint32_t e = at(k);
      d[k] = T(0);
      if (e >= have || exact >> k & 1) continue;
      d[k] = b.q[e] - (e == 0 ? mean : standing(b, e - 1, m.strict));
      if (!(Real<T>::abs(d[k]) < radius)) outliers |= 1u << k;
    }
    __syncthreads();
  }
};

template <class T, class C> FZ_DEV void encode_centered(const Args& a, const LorenzoQuantParams& p, CenteredShared<T>& b) {
  typedef typename Real<T>::Bits Bits;
  const Multiples<T> m(p, quantizer::load_metadata(input(a, 1)));
  const bool zigzag = (p.switches & ZIGZAG) != 0;
  uint8_t *codes = address(output(a, 0)), *means = address(output(a, 4));
  const uint64_t room = output(a, 0).max / sizeof(C), in_means = output(a, 4).max / sizeof(T), tiles = tiles_of(a, p);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    publish(output(a, 0), output(a, 0).max);
    publish(output(a, 4), output(a, 4).max);
  }
  for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    uint32_t outliers = 0, exact = 0;
    for (uint64_t first = first_of<T>(tile); first < first_of<T>(tile + 1); first += STRIP) {
      const Centered<T> c(a, p, m, first, b);
      for (int k = 0; k < (int)EACH; k++) {
        const uint64_t i = first + c.at(k);
        if (i < room) store<C>(codes + i * sizeof(C), c.outliers >> k & 1 ? C(0) : code_of<C>(c.d[k], zigzag));
      }
      const uint64_t number = first / STRIP;
      if (threadIdx.x == 0 && number < in_means) store<Bits>(means + number * sizeof(T), Real<T>::bits(c.mean));
      outliers += __popc(c.outliers);
      exact += __popc(c.exact);
    }
    note(found_of(a)[tile], a.zeroed + offsetof(Totals, outliers), outliers, b.words);
    note(found_of(a)[tiles + tile], a.zeroed + offsetof(Totals, exact), exact, b.words);
  }
}

// Zeros after the entries, for a stage that reads all of the room.
FZ_DEV void clear_list(uint8_t* list, uint64_t from, uint64_t to, uint32_t width) {
  const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = from * width + (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < to * width; i += step) list[i] = 0;
}

template <class T> FZ_DEV void list_centered(const Args& a, const LorenzoQuantParams& p, CenteredShared<T>& b) {
  typedef typename Real<T>::Bits Bits;
  const Totals all = *reinterpret_cast<const Totals*>(a.zeroed);
  const uint64_t count = all.outliers + all.exact, room = least(output(a, 2).max / p.value, output(a, 3).max / 4);
  if (count > room) return;
  uint8_t *errors = address(output(a, 2)), *indices = address(output(a, 3));
  if (p.switches & WHOLE_ERRORS) clear_list(errors, count, room, p.value);
  if (p.switches & WHOLE_INDICES) clear_list(indices, count, room, 4);
  if (count == 0) return;
  const Multiples<T> m(p, quantizer::load_metadata(input(a, 1)));
  const uint8_t* src = address(input(a, 0));
  const uint64_t values = length(input(a, 0)) / sizeof(T), tiles = tiles_of(a, p);
  auto put = [&](uint64_t j, uint64_t i, Bits bits) {
    store<Bits>(errors + j * sizeof(T), bits);
    store<uint32_t>(indices + j * 4, (uint32_t)i);
  };
  for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const TileCount outliers = found_of(a)[tile], exact = found_of(a)[tiles + tile];
    if (outliers.here + exact.here == 0) continue;
    uint64_t j = outliers.before, e = all.outliers + exact.before;
    for (uint64_t first = first_of<T>(tile); first < first_of<T>(tile + 1); first += STRIP) {
      const Centered<T> c(a, p, m, first, b);
      for (int k = 0; k < (int)EACH; k++) {
        const uint64_t i = first + c.at(k);
        // Both numbers in one word: neither is above 256.
        const uint32_t mine = (c.outliers >> k & 1) | (c.exact >> k & 1) << 16, upto = block_sum_to(mine, b.words), before = upto - mine;
        if (mine & 1) put(j + (before & 0xffff), i, Real<T>::bits(canonical(c.d[k])));
        if (mine >> 16) put(e + (before >> 16), i, i < values ? load<Bits>(src + i * sizeof(T)) : Bits(0));
        if (threadIdx.x == LANES - 1) b.total = upto;
        __syncthreads();
        j += b.total & 0xffff;
        e += b.total >> 16;
        __syncthreads();
      }
    }
  }
}

// Each value of a group of lanes is added to those at the distances 1, 2, 4, ... after it.
template <int WIDTH, class T> FZ_DEV T sum_in_lanes(T v) {
  const int lane = threadIdx.x & (WIDTH - 1);
  for (int d = 1; d < WIDTH; d <<= 1) {
    const T before = __shfl_up_sync(ALL, v, d, WIDTH);
    if (lane >= d) v = v + before;
  }
  return v;
}

// Sums in groups of four, of the 32 groups of a part, of the eight parts, and then the mean: the
// order matters where sums round. If there are outliers, differences are stored in the array.
template <class T, class C> FZ_DEV void decode_centered(const Args& a, const LorenzoQuantParams& p, T* parts) {
  const uint32_t warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  const Entries e(a, p);
  // An f64 of 0 means the f32.
  const uint32_t narrow = load<uint32_t>(address(input(a, 3)) + offsetof(LorenzoQuantMetadata, bound_f32));
  const T step = T(2) * Real<T>::from(e.bound == 0 ? (double)Real<float>::value(narrow) : e.bound);
  const bool zigzag = (p.switches & ZIGZAG) != 0, listed = e.outliers.count > 0;
  const uint8_t *codes = address(input(a, 0)), *means = address(input(a, 4));
  uint8_t* dst = address(output(a, 0));
  const uint64_t n = wanted<T>(a, p);
  for (uint64_t first = (uint64_t)blockIdx.x * STRIP; first < n; first += (uint64_t)gridDim.x * STRIP) {
    const uint64_t i = first + threadIdx.x * EACH;
    const T mean = load<T>(means + first / STRIP * sizeof(T));
    T v[EACH];
    for (int k = 0; k < (int)EACH; k++) {
      if (i + k >= n) v[k] = T(0);
      else if (listed) v[k] = load<T>(dst + (i + k) * sizeof(T));
      else v[k] = difference_of<C, T>(load<C>(codes + (i + k) * sizeof(C)), zigzag);
    }
    for (int k = 1; k < (int)EACH; k++) v[k] = v[k - 1] + v[k];
    const T before = __shfl_up_sync(ALL, sum_in_lanes<32>(v[EACH - 1]), 1);
    for (int k = 0; k < (int)EACH; k++)
      if (lane > 0) v[k] = v[k] + before;
    if (lane == 31) parts[warp] = v[EACH - 1];
    __syncthreads();
    if (warp == 0) {
      const T all = sum_in_lanes<8>(parts[lane & 7]);
      __syncwarp();
      if (lane < 8) parts[lane] = all;
    }
    __syncthreads();
    for (int k = 0; k < (int)EACH; k++) {
      if (warp > 0) v[k] = v[k] + parts[warp - 1];
      if (i + k < n) store<T>(dst + (i + k) * sizeof(T), canonical((v[k] + mean) * step));  // seed: centered-order
    }
    __syncthreads();
  }
  // Zeros after the predicted elements.
  const uint64_t all = (uint64_t)gridDim.x * blockDim.x, me = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  for (uint64_t i = (uint64_t)p.count * sizeof(T) + me; i < output(a, 0).max; i += all) dst[i] = 0;
}
}  // namespace lorenzo_quant
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256) lorenzo_quant_encode_centered(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  using namespace fz::lorenzo_quant;
  __shared__ double shared[sizeof(CenteredShared<double>) / 8 + 1];
  const LorenzoQuantParams& p = fz::params<LorenzoQuantParams>(a);
  by_types(p, [&](auto value, auto code) {
    typedef decltype(value) T;
    encode_centered<T, decltype(code)>(a, p, *reinterpret_cast<CenteredShared<T>*>(shared));
  });
}

extern "C" __global__ void __launch_bounds__(256) lorenzo_quant_lists_centered(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  using namespace fz::lorenzo_quant;
  __shared__ double shared[sizeof(CenteredShared<double>) / 8 + 1];
  const LorenzoQuantParams& p = fz::params<LorenzoQuantParams>(a);
  if (p.value == 4) list_centered(a, p, *reinterpret_cast<CenteredShared<float>*>(shared));
  else list_centered(a, p, *reinterpret_cast<CenteredShared<double>*>(shared));
}

// Checks the header, by one thread. Its bound of eight bytes may be infinite, which fz_open does
// not allow.
extern "C" __global__ void __launch_bounds__(32) lorenzo_quant_check_centered(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  using namespace fz::lorenzo_quant;
  if (threadIdx.x != 0) return;
  const LorenzoQuantParams& p = fz::params<LorenzoQuantParams>(a);
  const uint64_t bound = fz::load<uint64_t>(fz::address(fz::input(a, 3)) + offsetof(LorenzoQuantMetadata, bound));
  // Negative, or NaN; -0 is a bound of 0.
  const bool wrong = bound > 0x7ff0000000000000ull && bound != 1ull << 63;
  const uint64_t means = ((uint64_t)p.count + STRIP - 1) / STRIP * p.value;
  if (wrong || fz::length(fz::input(a, 4)) != means) fz::fail(a, fz::CORRUPT);  // seed: centered-bound
}

extern "C" __global__ void __launch_bounds__(256) lorenzo_quant_decode_centered(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  using namespace fz::lorenzo_quant;
  __shared__ double parts[8];
  const LorenzoQuantParams& p = fz::params<LorenzoQuantParams>(a);
  by_types(p, [&](auto value, auto code) {
    typedef decltype(value) T;
    decode_centered<T, decltype(code)>(a, p, reinterpret_cast<T*>(parts));
  });
}
