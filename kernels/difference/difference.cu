// Difference: each element minus the one before, and sums of them.
#include "common/units.cuh"
#include "difference/params.h"

namespace fz {
namespace difference {
// The places of the elements of a tile in their chunks.
struct Chunks {
  uint32_t size, first;
  FZ_DEV Chunks(uint64_t chunk, uint64_t element) : size((uint32_t)chunk), first(1) {
    if (chunk) first = (uint32_t)((chunk & (chunk - 1)) == 0 ? element & (chunk - 1) : element % chunk);
  }
  // Place of element `i` of the tile; never 0 without chunks.
  FZ_DEV uint32_t place(uint32_t i) const {
    if (!size) return 1;
    const uint64_t at = (uint64_t)first + i;
    return at < size ? (uint32_t)at : size > TILE ? (uint32_t)(at - size) : (uint32_t)at % size;
  }
  FZ_DEV uint32_t next(uint32_t place) const { return place + 1 == size ? 0 : place + 1; }
  // Elements of the `n` from this place on that come before the first start of a chunk.
  FZ_DEV uint32_t before(uint32_t place, uint32_t n) const {
    const uint64_t rest = place == 0 ? 0 : size ? size - place : n;
    return rest < n ? (uint32_t)rest : n;
  }
};

// A unit as registers of packed words.
template <int W> struct Unit {
  static constexpr int N = 16 / sizeof(Pack<W>), WORDS = 16 / W, PER = WORDS / N;
  Pack<W> r[N];
  FZ_DEV explicit Unit(uint4 u) {
    if constexpr (W < 8) { r[0] = u.x; r[1] = u.y; r[N - 2] = u.z; r[N - 1] = u.w; }
    else { r[0] = (uint64_t)u.y << 32 | u.x; r[1] = (uint64_t)u.w << 32 | u.z; }
  }
  FZ_DEV uint4 packed() const {
    if constexpr (W < 8) return make_uint4((uint32_t)r[0], (uint32_t)r[1], (uint32_t)r[N - 2], (uint32_t)r[N - 1]);
    else return make_uint4((uint32_t)r[0], (uint32_t)(r[0] >> 32), (uint32_t)r[1], (uint32_t)(r[1] >> 32));
  }
};

// The first `n` words of a register.
template <int W> FZ_DEV Pack<W> words_below(uint32_t n) {
  constexpr uint32_t PER = sizeof(Pack<W>) / W;
  return n >= PER ? ~Pack<W>(0) : n == 0 ? Pack<W>(0) : (Pack<W>(1) << (8 * W * n) % (8 * sizeof(Pack<W>))) - 1;
}
// One word in all places of a register.
template <int W> FZ_DEV Pack<W> everywhere(Pack<W> word) {
  if constexpr (W == sizeof(Pack<W>)) return word;
  else return word * low_bits<W>();
}
template <int W> FZ_DEV Pack<W> last_word(Pack<W> r) { return r >> 8 * (sizeof(Pack<W>) - W); }

// `op(x, before)` over packed words, 0 standing before the first of a chunk.
template <int W, class Op> FZ_DEV void differences(const Args& a, uint64_t chunk, Op op) {
  typedef Pack<W> P;
  over_words<W>(a, [&](uint4 (&u)[UNITS], const uint8_t* src, uint64_t left, uint64_t at) {
    const Chunks chunks(chunk, at / W);
    const int lane = threadIdx.x & 31;
    P before = 0;  // the last register of the unit before, or something that ends alike
    if (lane == 0 && at + unit_at(0) > 0 && unit_at(0) < left) {
      const uint8_t* p = src + unit_at(0) - W;
      if constexpr (W == 1) before = (P)*p << 24;
      else if constexpr (W == 2) before = (P)load<uint16_t>(p) << 16;
      else before = load<P>(p);
    }
#pragma unroll
    for (int i = 0; i < UNITS; i++) {
      Unit<W> unit(u[i]);
      constexpr int N = Unit<W>::N, PER = Unit<W>::PER;
      const P end = unit.r[N - 1], own = __shfl_up_sync(ALL, end, 1), next = __shfl_sync(ALL, end, 31);
      P prior = lane ? own : before;
      before = next;
      const uint32_t place = chunks.place(unit_at(i) / W), open = chunks.before(place, 16 / W);
      // Words at which a chunk starts have nothing before them.
      P keep[N];
#pragma unroll
      for (int k = 0; k < N; k++) keep[k] = ~P(0);
      if (open < 16 / W) {
        uint32_t p = place;
#pragma unroll
        for (int j = 0; j < 16 / W; j++) {
          if (p == 0) keep[j / PER] &= ~(words_below<W>(j % PER + 1) ^ words_below<W>(j % PER));
          p = chunks.next(p);
        }
      }
#pragma unroll
      for (int k = 0; k < N; k++) {
        const P x = unit.r[k];
        P shifted = prior;
        if constexpr (PER > 1) shifted = x << 8 * W | last_word<W>(prior);
        unit.r[k] = op(x, shifted & keep[k]);
        prior = x;
      }
      u[i] = unit.packed();
    }
  });
}

// A sum that a start of a chunk may have cut.
struct Tail {
  uint64_t sum, cut;
};
static_assert(sizeof(Tail) == TAIL_BYTES, "as in Rust");
// Shared memory of `sum_tile`.
struct Warps {
  uint64_t sum[8];
  uint32_t cut[8];
};

// The sums of a tile of packed words, in their places; `carry` is added at the start. The result is
// the sum at the end, without `carry` if a chunk starts in the tile.
template <int W> FZ_DEV Tail sum_tile(uint4 (&u)[UNITS], const Chunks& chunks, uint64_t carry, Warps& s) {
  typedef Pack<W> P;
  constexpr int N = Unit<W>::N, PER = Unit<W>::PER, BITS = 8 * W;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  P row = 0, into[UNITS];  // sum that runs into the row, and into each unit, as a whole register; only W bytes of it count
  uint32_t cut = 0, apart = 0;  // a start was seen in the warp; units that a start separates from the sum before the warp
#pragma unroll
  for (int i = 0; i < UNITS; i++) {
    Unit<W> unit(u[i]);
    const uint32_t place = chunks.place(unit_at(i) / W), open = chunks.before(place, 16 / W);
    P sum = 0;
    if (open == 16 / W) {
#pragma unroll
      for (int k = 0; k < N; k++) {
        P x = unit.r[k];
        if constexpr (PER == 4) x = add<W>(x, x << 8);
        if constexpr (PER > 1) x = add<W>(x, x << 16);
        x = add<W>(x, everywhere<W>(sum));
        unit.r[k] = x;
        sum = last_word<W>(x);
      }
    } else {
      uint32_t p = place;
#pragma unroll
      for (int k = 0; k < N; k++) {
        P x = 0;
#pragma unroll
        for (int j = 0; j < PER; j++) {
          const P word = PER == 1 ? unit.r[k] : (unit.r[k] >> BITS * j) & words_below<W>(1);
          sum = (p == 0 ? 0 : sum) + word;
          x |= PER == 1 ? sum : (sum & words_below<W>(1)) << BITS * j;
          p = chunks.next(p);
        }
        unit.r[k] = x;
      }
    }
    u[i] = unit.packed();
    // Over the lanes; a lane adds only the terms after the last start.
    const uint32_t starts = __ballot_sync(ALL, open < 16 / W), upto = starts & ((2u << lane) - 1), below = starts & ((1u << lane) - 1);
    const int first = upto ? 31 - __clz(upto) : 0;
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
      const P t = __shfl_up_sync(ALL, sum, d);
      if (lane >= first + d) sum += t;
    }
    const P left = __shfl_up_sync(ALL, sum, 1), end = __shfl_sync(ALL, sum, 31);
    into[i] = (lane ? left : 0) + (below ? 0 : row);
    if (below || cut) apart |= 1u << i;
    row = starts ? end : row + end;
    cut |= starts != 0;
  }
  if (lane == 0) { s.sum[warp] = row; s.cut[warp] = cut; }
  __syncthreads();
  Tail tail = {0, 0};
  P before = (P)carry;
#pragma unroll
  for (int k = 0; k < 8; k++) {
    const P sum = (P)s.sum[k];
    const bool fresh = s.cut[k] != 0;
    if (k < warp) before = fresh ? sum : before + sum;
    tail.sum = fresh ? (uint64_t)sum : (uint64_t)(P)(tail.sum + sum);
    tail.cut |= fresh;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < UNITS; i++) {
    Unit<W> unit(u[i]);
    const P word = (into[i] + (apart >> i & 1 ? 0 : before)) & (PER == 1 ? ~P(0) : words_below<W>(1));
    const uint32_t open = chunks.before(chunks.place(unit_at(i) / W), 16 / W);
#pragma unroll
    for (int k = 0; k < N; k++) {
      const uint32_t n = open > (uint32_t)(k * PER) ? open - k * PER : 0;
      unit.r[k] = add<W>(unit.r[k], everywhere<W>(word) & words_below<W>(n));
    }
    u[i] = unit.packed();
  }
  return tail;
}

template <int W, class Code> FZ_DEV void encode(const Args& a, const DifferenceParams& p) {
  differences<W>(a, p.chunk, [](Pack<W> x, Pack<W> before) { return Code::template of<W>(sub<W>(x, before)); });
}

// Chunks that do not end with tiles continue from one tile to the next: the sum at the end of each
// tile is then in scratch memory.
FZ_DEV bool runs_on(const DifferenceParams& p) { return p.chunk == 0 || TILE % (p.chunk * p.width) != 0; }

template <int W, class Code> FZ_DEV void decode(const Args& a, const DifferenceParams& p, Warps& s) {
  const Tail* tails = reinterpret_cast<const Tail*>(a.scratch);
  over_words<W>(a, [&](uint4 (&u)[UNITS], const uint8_t*, uint64_t, uint64_t at) {
    const Chunks chunks(p.chunk, at / W);
    decode_units<W, Code>(u);
    sum_tile<W>(u, chunks, runs_on(p) ? tails[at / TILE].sum : 0, s);
  });
}

// The sum at the end of each tile, to scratch.
template <int W, class Code> FZ_DEV void tails(const Args& a, const DifferenceParams& p, Warps& s) {
  Tail* tails = reinterpret_cast<Tail*>(a.scratch);
  const uint64_t n = least(length(input(a, 0)), output(a, 0).max);
  const uint8_t* src = address(input(a, 0));
  for (uint64_t at = (uint64_t)blockIdx.x * TILE; at < n; at += (uint64_t)gridDim.x * TILE) {
    uint4 u[UNITS];
    load_tile(u, src + at, n - n % W - at);
    decode_units<W, Code>(u);
    const Tail tail = sum_tile<W>(u, Chunks(p.chunk, at / W), 0, s);
    if (threadIdx.x == 0) tails[at / TILE] = tail;
  }
}

template <class F> FZ_DEV void by_code(const DifferenceParams& p, F f) {
  by_width(p.width, [&](auto w) {
    if (p.code == NEGABINARY) f(w, Negabinary());
    else if (p.code == ZIGZAG) f(w, Zigzag());
    else f(w, Plain());
  });
}

// Which bits a NaN has that comes out of arithmetic is the machine's choice; the bytes of a
// container are not.
FZ_DEV float one_nan(float x) { return x == x ? x : __uint_as_float(0x7fc00000u); }
FZ_DEV double one_nan(double x) { return x == x ? x : __longlong_as_double(0x7ff8000000000000ll); }

// Elements of floats, as floats.
template <class T, int W> FZ_DEV Pack<W> minus(Pack<W> x, Pack<W> before) {
  T u, v;
  memcpy(&u, &x, W);
  memcpy(&v, &before, W);
  u = one_nan(u - v);
  memcpy(&x, &u, W);
  return x;
}

// Sums of floats are rounded one by one, so each chunk is the work of one thread, from -0 on, which
// keeps the sign of a first zero. The rest of the block brings the elements and takes the sums.
// Chunks below a tile go several to a block, the same as on the CPU.
template <class T> FZ_DEV void sum_floats(const Args& a, uint64_t chunk, T* stage) {
  const Operand &in = input(a, 0), &out = output(a, 0);
  const uint64_t bytes = least(length(in), out.max), n = bytes / sizeof(T), whole = n * sizeof(T);
  if (blockIdx.x == 0 && threadIdx.x == 0) publish(out, length(in));
  if (blockIdx.x == 0 && threadIdx.x < bytes - whole) address(out)[whole + threadIdx.x] = address(in)[whole + threadIdx.x];
  constexpr uint64_t ROOM = TILE / sizeof(T);
  const uint64_t task = chunk == 0 ? n : chunk >= ROOM ? chunk : chunk * (ROOM / chunk);
  const uint8_t* src = address(in);
  uint8_t* dst = address(out);
  for (uint64_t first = blockIdx.x * task; first < n; first += gridDim.x * task) {
    const uint64_t end = least(n, first + task);
    T sum = T(-0.0);
    for (uint64_t at = first; at < end; at += ROOM) {
      const uint32_t m = (uint32_t)least(ROOM, end - at);
      for (uint32_t i = threadIdx.x; i < m; i += blockDim.x) stage[i] = load<T>(src + (at + i) * sizeof(T));
      __syncthreads();
      // In a chunk that fills the stage, thread 0 continues the sum.
      const uint64_t run = chunk && chunk < ROOM ? chunk : ROOM;
      for (uint64_t from = threadIdx.x * run; from < m; from += blockDim.x * run) {
        const uint32_t to = (uint32_t)least(m, from + run);
        if (run == chunk) sum = T(-0.0);
        for (uint32_t i = (uint32_t)from; i < to; i++) {
          sum += stage[i];
          stage[i] = one_nan(sum);
        }
      }
      __syncthreads();
      for (uint32_t i = threadIdx.x; i < m; i += blockDim.x) store<T>(dst + (at + i) * sizeof(T), stage[i]);
      __syncthreads();
    }
  }
}
}  // namespace difference
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256, 4) difference_encode(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  using namespace fz::difference;
  const DifferenceParams& p = fz::params<DifferenceParams>(a);
  if (p.floats && p.width == 4) differences<4>(a, p.chunk, [](uint32_t x, uint32_t b) { return minus<float, 4>(x, b); });
  else if (p.floats && p.width == 8) differences<8>(a, p.chunk, [](uint64_t x, uint64_t b) { return minus<double, 8>(x, b); });
  else by_code(p, [&](auto w, auto code) { encode<decltype(w)::BYTES, decltype(code)>(a, p); });
}

extern "C" __global__ void __launch_bounds__(256, 3) difference_decode(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  __shared__ fz::difference::Warps shared;
  using namespace fz::difference;
  const DifferenceParams& p = fz::params<DifferenceParams>(a);
  Warps& s = shared;
  by_code(p, [&](auto w, auto code) { decode<decltype(w)::BYTES, decltype(code)>(a, p, s); });
}

extern "C" __global__ void __launch_bounds__(256, 3) difference_decode_tails(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  __shared__ fz::difference::Warps shared;
  using namespace fz::difference;
  const DifferenceParams& p = fz::params<DifferenceParams>(a);
  Warps& s = shared;
  by_code(p, [&](auto w, auto code) { tails<decltype(w)::BYTES, decltype(code)>(a, p, s); });
}

// One block: from the sums at the ends of tiles to the sums at their starts. Every thread has a run
// of tiles.
extern "C" __global__ void __launch_bounds__(1024) difference_decode_carry(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  __shared__ fz::difference::Tail ends[1024];
  using namespace fz::difference;
  Tail* tails = reinterpret_cast<Tail*>(a.scratch);
  const uint64_t n = fz::least(fz::length(fz::input(a, 0)), fz::output(a, 0).max);
  const uint64_t tiles = (n + fz::TILE - 1) / fz::TILE, run = (tiles + blockDim.x - 1) / blockDim.x;
  const uint64_t from = fz::least(tiles, threadIdx.x * run), to = fz::least(tiles, from + run);
  auto join = [](Tail l, Tail r) { return Tail{r.cut ? r.sum : l.sum + r.sum, l.cut | r.cut}; };
  Tail sum = {0, 0};
  for (uint64_t i = from; i < to; i++) sum = join(sum, tails[i]);
  for (uint32_t d = 1; d < blockDim.x; d <<= 1) {
    ends[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x >= d) sum = join(ends[threadIdx.x - d], sum);
    __syncthreads();
  }
  ends[threadIdx.x] = sum;
  __syncthreads();
  sum = threadIdx.x ? ends[threadIdx.x - 1] : Tail{0, 0};
  for (uint64_t i = from; i < to; i++) {
    const Tail tail = tails[i];
    tails[i] = sum;
    sum = join(sum, tail);
  }
}

extern "C" __global__ void __launch_bounds__(128) difference_decode_floats(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  __shared__ uint4 stage[fz::TILE / 16];
  using namespace fz::difference;
  const DifferenceParams& p = fz::params<DifferenceParams>(a);
  if (p.width == 4) sum_floats(a, p.chunk, reinterpret_cast<float*>(stage));
  else if (p.width == 8) sum_floats(a, p.chunk, reinterpret_cast<double*>(stage));
}
