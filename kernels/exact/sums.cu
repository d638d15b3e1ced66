// Stage exact, decoder: sums of differences. Along x, in raster order, a launch writes the sums if those of the differences of each block
// are known. `exact_unpack` adds up differences; for sums of sums one more launch does.
#include "common/scan.cuh"
#include "exact/decoder.cuh"

namespace fz {
namespace exact {
constexpr uint32_t CHUNK = 256 * EACH;
static_assert(CHUNK == CHUNK_BATCHES * POINTS, "the differences of blocks are added up in the same chunks");

// For each batch of a block the sum of all batches before. `before` is that of the batches of all blocks before.
template <class T> FZ_DEV void sum_batches(const DecoderMemory& memory, const BatchShare& share, T before, T* words) {
  __shared__ T total;
#pragma unroll 1
  for (uint32_t from = share.first; from < share.end; from += blockDim.x) {
    const uint32_t batch = from + threadIdx.x;
    const T own = batch < share.end ? (T)memory.sums_before[batch] : 0, upto = block_sum_to(own, words);
    if (batch < share.end) memory.sums_before[batch] = before + upto - own;
    if (threadIdx.x == blockDim.x - 1) total = before + upto;
    __syncthreads();
    before = total;
    __syncthreads();
  }
}

// The last number of sums, of sums of these, and of sums of those.
template <class T> struct Repeated {
  T once, twice, thrice;
  FZ_DEV void add(T d) {
    once += d;
    twice += once;
    thrice += twice;
  }
  // Behind `count` zeros.
  FZ_DEV Repeated after(uint64_t count) const { return {once, twice + (T)count * once, thrice + (T)count * twice + (T)(count * (count + 1) / 2) * once}; }
  FZ_DEV Repeated operator+(const Repeated& o) const { return {once + o.once, twice + o.twice, thrice + o.thrice}; }
  FZ_DEV Repeated up(uint32_t lanes) const { return {__shfl_up_sync(ALL, once, lanes), __shfl_up_sync(ALL, twice, lanes), __shfl_up_sync(ALL, thrice, lanes)}; }
  FZ_DEV T of(uint32_t order) const { return order == 1 ? once : order == 2 ? twice : thrice; }
};
// Adds up the sums of sums of each block, behind whole chunks: a difference counts as often as integers follow.
template <class W> FZ_DEV void add_repeated(const DecoderMemory& memory, const W* o, uint32_t n, uint64_t* words) {
  typedef typename Wide<W>::Word T;
  const uint32_t chunks = (n + CHUNK - 1) / CHUNK, each = (chunks + gridDim.x - 1) / gridDim.x;
  const Share share(chunks);
  T twice = 0, thrice = 0;
#pragma unroll 2
  for (uint32_t k = share.first; k < share.end; k++) {
    const Each<W> own = Each<W>::load(o, k * CHUNK + threadIdx.x * EACH, n);
    const uint64_t left = (uint64_t)(share.first + each - k) * CHUNK - threadIdx.x * EACH;
    T times = (T)left, more = (T)(left * (left + 1) / 2);
#pragma unroll
    for (uint32_t j = 0; j < EACH; j++) {
      twice += times * own.of[j];
      thrice += more * own.of[j];
      more -= times;
      times -= 1;
    }
  }
  twice = block_sum_to(twice, reinterpret_cast<T*>(words));
  thrice = block_sum_to(thrice, reinterpret_cast<T*>(words));
  if (threadIdx.x != blockDim.x - 1) return;
  // The words of low bits are not needed any more.
  memory.totals[0][blockIdx.x] = twice;
  memory.totals[1][blockIdx.x] = thrice;
}
// Shared memory of a block for repeated sums: those of its warps, twice.
struct RepeatedRoom {
  uint64_t of[2][3][256 / 32];
};
// Repeated sums of all blocks before this one.
template <class T> FZ_DEV Repeated<T> repeated_before(const DecoderMemory& memory, uint32_t n, uint64_t* words, RepeatedRoom& room) {
  const uint32_t chunks = (n + CHUNK - 1) / CHUNK, each = (chunks + gridDim.x - 1) / gridDim.x;
  Repeated<T> before = {};
  for (uint32_t k = threadIdx.x; k < blockIdx.x; k += blockDim.x) {
    const Repeated<T> of = {(T)memory.sums[OF_ARRAY][k], (T)memory.totals[0][k], (T)memory.totals[1][k]};
    before = before + of.after((uint64_t)(blockIdx.x - 1 - k) * each * CHUNK);
  }
  T* all = reinterpret_cast<T*>(words);
  before = {block_sum_to(before.once, all), block_sum_to(before.twice, all), block_sum_to(before.thrice, all)};
  T* last = reinterpret_cast<T*>(room.of[1][0]);
  if (threadIdx.x == blockDim.x - 1) {
    last[0] = before.once;
    last[1] = before.twice;
    last[2] = before.thrice;
  }
  __syncthreads();
  before = {last[0], last[1], last[2]};
  __syncthreads();
  return before;
}
// Sums of sums in place of the differences of the array; its elements, if `is_last`.
template <class W> FZ_DEV void sum_repeated(const DecoderMemory& memory, W* o, uint32_t n, const Map<W>& map, const multilevel::Target<W>& target, bool is_last, uint64_t* words, RepeatedRoom& room) {
  typedef typename Wide<W>::Word T;
  constexpr uint32_t WARPS = 256 / 32, OF_WARP = 32 * EACH;
  const uint32_t order = memory.state->head.order, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const Share share((n + CHUNK - 1) / CHUNK);
  const uint32_t end = min(n, share.end * CHUNK);
  // The integers of the next chunk are on their way.
  Each<W> ahead = Each<W>::load(o, share.first * CHUNK + threadIdx.x * EACH, end);
  Repeated<T> before = repeated_before<T>(memory, n, words, room);
#pragma unroll 1
  for (uint32_t k = share.first; k < share.end; k++) {
    const uint32_t at = k * CHUNK + threadIdx.x * EACH;
    Each<W> own = ahead;
    ahead = Each<W>::load(o, at + CHUNK, end);
    Repeated<T> upto = {};
#pragma unroll
    for (uint32_t j = 0; j < EACH; j++) upto.add((T)own.of[j]);
#pragma unroll
    for (uint32_t d = 1; d < 32; d *= 2) {
      const Repeated<T> other = upto.up(d);
      if (lane >= d) upto = other.after(d * EACH) + upto;
    }
    T* const of = reinterpret_cast<T*>(room.of[(k - share.first) & 1][0]);
    if (lane == 31) {
      of[warp] = upto.once;
      of[WARPS + warp] = upto.twice;
      of[2 * WARPS + warp] = upto.thrice;
    }
    __syncthreads();
    Repeated<T> s = {};
#pragma unroll
    for (uint32_t j = 0; j < WARPS; j++) {
      if (j == warp) s = before;
      before = before.after(OF_WARP) + Repeated<T>{of[j], of[WARPS + j], of[2 * WARPS + j]};
    }
    const Repeated<T> left = upto.up(1);
    s = s.after(lane * EACH);
    if (lane > 0) s = s + left;
#pragma unroll
    for (uint32_t j = 0; j < EACH; j++) {
      s.add((T)own.of[j]);
      own.of[j] = is_last ? map.element((W)s.of(order)) : (W)s.of(order);
    }
    if (is_last) put_each(target, own, at, end);
    else own.store(o, at, end);
  }
}

// The chunks of a block have a multiple of the integers of a thread. The first launch writes sums, or adds up sums of sums, which the
// second one writes.
template <class W> FZ_DEV void sum_x(const Args& a, uint64_t* words, RepeatedRoom& room) {
  typedef typename Wide<W>::Word T;
  const ExactParams& p = params<ExactParams>(a);
  const uint32_t turn = a.tag & 255;
  // Most arrays have few sums along x.
  if (elements(p) == 0 || (turn > 0 && reinterpret_cast<const State*>(a.scratch)->head.order < 2)) return;
  const DecoderMemory memory(a, p);
  if (!is_open(a, memory, p)) return;
  __shared__ T total;
#pragma unroll 1
  for (uint32_t number = 0; number < PARTS; number++) {
    const uint32_t n = memory.state->of[number].s.count, order = number == OF_TABLE ? 1 : memory.state->head.order;
    if (order == 0 || (turn > 0 && order == 1)) continue;
    W* o = memory.of<W>(number);
    const Head& head = memory.state->head;
    const bool is_last = number == OF_ARRAY && writer(head) == BY_X;
    const Map<W> map = head.map<W>(p.kind);
    const multilevel::Target<W> target(output(a, 0), n);
    if (order > 1) {
      if (turn == 0) add_repeated(memory, o, n, words);
      else sum_repeated(memory, o, n, map, target, is_last, words, room);
      continue;
    }
    const Share share((n + CHUNK - 1) / CHUNK);
    const uint32_t first = share.first * CHUNK, end = min(n, share.end * CHUNK);
    const bool with_lines = number == OF_ARRAY && axis_with_x(head, p);
    T before = 0;
    for (uint32_t k = threadIdx.x; k < blockIdx.x; k += blockDim.x) before += (T)memory.sums[number][k];
    before = block_sum_to(before, reinterpret_cast<T*>(words));
    if (threadIdx.x == blockDim.x - 1) total = before;
    __syncthreads();
    before = total;
    if (with_lines) {
      sum_batches(memory, BatchShare(memory.state->of[number].s.batches), before, reinterpret_cast<T*>(words));
      continue;
    }
#pragma unroll 1
    for (uint32_t from = first; from < end; from += CHUNK) {
      const uint32_t at = from + threadIdx.x * EACH;
      Each<W> own = Each<W>::load(o, at, end);
      T sum = 0;
#pragma unroll
      for (uint32_t k = 0; k < EACH; k++) sum += own.of[k];
      const T upto = block_sum_to(sum, reinterpret_cast<T*>(words));
      T s = before + upto - sum;
#pragma unroll
      for (uint32_t k = 0; k < EACH; k++) {
        s += own.of[k];
        own.of[k] = is_last ? map.element((W)s) : (W)s;
      }
      if (is_last) put_each(target, own, at, end);
      else own.store(o, at, end);
      __syncthreads();
      if (threadIdx.x == blockDim.x - 1) total = before + upto;
      __syncthreads();
      before = total;
    }
  }
}

// Consecutive integers of a row.
template <class W, uint32_t N> struct __align__(sizeof(W) * N) Few {
  W of[N];
};
// Shared memory of a block: the sums of its warps, for some rows, twice.
constexpr uint32_t MOST_ROWS = 4, ROW_WARPS = ROW_THREADS / 32;
struct RowRoom {
  uint64_t of[2][MOST_ROWS][ROW_WARPS];
};

// Sums along x, and those along an axis. A block has a line of rows, and a thread N integers of each of them.
template <class W, uint32_t N> struct RowSums {
  typedef typename Wide<W>::Word T;
  static constexpr uint32_t ROWS = N * sizeof(W) <= 8 && sizeof(W) < 8 ? MOST_ROWS : MOST_ROWS / 2;
  const W* o;
  W* to;
  const uint64_t* sums_before;
  Map<W> map;
  // `is_last`: the sums are the elements of the array. `whole`: N elements can be stored at once, because their addresses are aligned.
  bool is_last, whole;
  const multilevel::Target<W>& target;
  uint32_t width, steps, apart;
  // Rows of a line, of which all are in flight: the integers, and the sum of all integers before the row, of which the integers
  // behind the start of a batch are those of threads.
  struct Rows {
    Few<W, N> d[ROWS];
    T before[ROWS];
    W own[ROWS];
  };
  FZ_DEV void load(Rows& rows, uint32_t row, uint32_t step) const {
    const uint32_t x = threadIdx.x * N;
#pragma unroll
    for (uint32_t k = 0; k < ROWS; k++) {
      rows.d[k] = {};
      rows.own[k] = 0;
      rows.before[k] = 0;
      if (step + k >= steps) continue;
      const uint32_t first = (row + k * apart) * width, rest = first % POINTS;
      if (x < width) rows.d[k] = *reinterpret_cast<const Few<W, N>*>(o + first + x);
      rows.before[k] = (T)sums_before[first / POINTS];
      if (threadIdx.x < rest) rows.own[k] = o[first - rest + threadIdx.x];
    }
  }
  FZ_DEV void put(uint32_t i, const Few<W, N>& d) const {
    if (!is_last || whole) {
      *reinterpret_cast<Few<W, N>*>(to + i) = d;
    } else {
#pragma unroll
      for (uint32_t k = 0; k < N; k++) target.put(i + k, d.of[k]);
    }
  }
  // The line from row `row` on.
  FZ_DEV void line(RowRoom& room, uint32_t row) const {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, x = threadIdx.x * N;
    const bool has_rest = width % POINTS != 0;
    W sums[N] = {};
    uint32_t turn = 0;
    Rows ahead;
    load(ahead, row, 0);
#pragma unroll 1
    for (uint32_t step = 0; step < steps; step += ROWS, row += ROWS * apart, turn ^= 1) {
      T upto[ROWS];
      const Rows rows = ahead;
#pragma unroll
      for (uint32_t k = 0; k < ROWS; k++) {
        T own = 0;
#pragma unroll
        for (uint32_t j = 0; j < N; j++) own += rows.d[k].of[j];
        upto[k] = warp_sum_to(own);
        if (lane == 31) reinterpret_cast<T*>(room.of[turn][k])[warp] = upto[k];
        upto[k] -= own;
      }
      load(ahead, row + ROWS * apart, step + ROWS);
      __syncthreads();
#pragma unroll
      for (uint32_t k = 0; k < ROWS; k++) {
        if (step + k >= steps) break;
        T s = rows.before[k] + upto[k];
        s += sum_of_warps(lane < warp && lane < ROW_WARPS ? reinterpret_cast<const T*>(room.of[turn][k])[lane] : (T)0);
        if (has_rest) s += rest_of(rows.own[k]);
        Few<W, N> own = {};
#pragma unroll
        for (uint32_t j = 0; j < N; j++) {
          s += rows.d[k].of[j];
          sums[j] = (W)(sums[j] + (W)s);
          own.of[j] = is_last ? map.element(sums[j]) : sums[j];
        }
        if (x < width) put((row + k * apart) * width + x, own);
      }
    }
  }
  // The sum of `own` of all lanes.
  FZ_DEV static uint32_t sum_of_warps(uint32_t own) { return __reduce_add_sync(ALL, own); }
  FZ_DEV static uint64_t sum_of_warps(uint64_t own) { return __shfl_sync(ALL, warp_sum_to(own), 31); }
  // The sum of `own` of all threads.
  FZ_DEV static T rest_of(W own) {
    __shared__ T sums[ROW_WARPS];
    const T upto = warp_sum_to((T)own);
    __syncthreads();
    if ((threadIdx.x & 31) == 31) sums[threadIdx.x >> 5] = upto;
    __syncthreads();
    T all = 0;
    for (uint32_t j = 0; j < ROW_WARPS; j++) all += sums[j];
    return all;
  }
};
template <class W, uint32_t N> FZ_DEV void sum_rows(const DecoderMemory& memory, const ExactParams& p, const multilevel::Target<W>& target, uint32_t axis, RowRoom& room) {
  const Head& head = memory.state->head;
  W* o = memory.of<W>(OF_ARRAY);
  const uint32_t ny = (uint32_t)p.dims[1], nz = (uint32_t)p.dims[2];
  const bool is_last = writer(head) == axis;
  const RowSums<W, N> sums = {o, is_last ? target.at : o, memory.sums_before, head.map<W>(p.kind), is_last, target.whole && aligned(target.at, sizeof(W) * N), target, (uint32_t)p.dims[0], axis == 1 ? ny : nz, axis == 1 ? 1 : ny};
#pragma unroll 1
  for (uint32_t line = blockIdx.x; line < (axis == 1 ? nz : ny); line += gridDim.x) {
    sums.line(room, axis == 1 ? line * ny : line);
    __syncthreads();
  }
}

// Sums along y or z. A thread has a line, of which it loads some integers ahead.
constexpr uint32_t AHEAD = 8;
template <class W> FZ_DEV void sum_lines(const Args& a, RowRoom& room) {
  const ExactParams& p = params<ExactParams>(a);
  const DecoderMemory memory(a, p);
  if (!is_open(a, memory, p)) return;
  const uint32_t axis = a.tag & 255;
  const Head& head = memory.state->head;
  if (!(axis == 1 ? head.y : head.z)) return;
  const bool is_last = writer(head) == (axis == 1 ? BY_Y : BY_Z);
  const Map<W> map = head.map<W>(p.kind);
  const multilevel::Target<W> target(output(a, 0), elements(p));
  if (axis_with_x(head, p) == axis) {
    const uint32_t each = ((uint32_t)p.dims[0] + ROW_THREADS - 1) / ROW_THREADS;
    if (each == 1) sum_rows<W, 1>(memory, p, target, axis, room);
    else if (each == 2 || sizeof(W) == 8) sum_rows<W, 2>(memory, p, target, axis, room);
    else sum_rows<W, sizeof(W) == 8 ? 2 : 4>(memory, p, target, axis, room);
    return;
  }
  const uint32_t nx = (uint32_t)p.dims[0], ny = (uint32_t)p.dims[1], nz = (uint32_t)p.dims[2], plane = nx * ny;
  const uint32_t lines = axis == 1 ? nx * nz : plane, steps = axis == 1 ? ny : nz, apart = axis == 1 ? nx : plane;
#pragma unroll 1
  for (uint32_t line = blockIdx.x * blockDim.x + threadIdx.x; line < lines; line += gridDim.x * blockDim.x) {
    const uint64_t first = axis == 1 ? line / nx * plane + line % nx : line;
    W* at = memory.of<W>(OF_ARRAY) + first;
    W sum = 0, ahead[AHEAD];
    auto load = [&](uint32_t from) {
#pragma unroll
      for (uint32_t k = 0; k < AHEAD; k++) ahead[k] = from + k < steps ? at[(uint64_t)(from + k) * apart] : (W)0;
    };
    load(0);
#pragma unroll 1
    for (uint32_t from = 0; from < steps; from += AHEAD) {
      W own[AHEAD];
#pragma unroll
      for (uint32_t k = 0; k < AHEAD; k++) own[k] = sum = (W)(sum + ahead[k]);
      load(from + AHEAD);
#pragma unroll
      for (uint32_t k = 0; k < AHEAD; k++) {
        if (from + k >= steps) break;
        if (is_last) target.put(first + (uint64_t)(from + k) * apart, map.element(own[k]));
        else at[(uint64_t)(from + k) * apart] = own[k];
      }
    }
  }
}
}  // namespace exact
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256, 4) exact_sum_x(FZ_ARGS) {
  __shared__ uint64_t words[32];
  __shared__ fz::exact::RepeatedRoom room;
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::sum_x<decltype(w)>(a, words, room); });
}
extern "C" __global__ void __launch_bounds__(256, 4) exact_sum_lines(FZ_ARGS) {
  __shared__ fz::exact::RowRoom room;
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::sum_lines<decltype(w)>(a, room); });
}
