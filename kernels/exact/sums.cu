// Stage exact, decoder: sums of differences. Along x, in raster order, the first launch adds up the differences of each block, the
// second one writes the sums.
#include "common/scan.cuh"
#include "exact/decoder.cuh"

namespace fz {
namespace exact {
constexpr uint32_t EACH = 8, CHUNK = 256 * EACH;

// The consecutive integers of a thread, which it loads and stores at once.
template <class W> struct __align__(sizeof(W) * EACH < 16 ? sizeof(W) * EACH : 16) Each {
  W of[EACH];
  FZ_DEV static Each load(const W* o, uint32_t at, uint32_t end) {
    if (at + EACH <= end) return *reinterpret_cast<const Each*>(o + at);
    Each own;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) own.of[k] = at + k < end ? o[at + k] : (W)0;
    return own;
  }
  FZ_DEV void store(W* o, uint32_t at, uint32_t end) const {
    if (at + EACH <= end) {
      *reinterpret_cast<Each*>(o + at) = *this;
      return;
    }
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++)
      if (at + k < end) o[at + k] = of[k];
  }
};

// The chunks of a block have a multiple of the integers of a thread.
template <class W> FZ_DEV void sum_x(const Args& a, uint64_t* words) {
  typedef typename Wide<W>::Word T;
  const ExactParams& p = params<ExactParams>(a);
  const DecoderMemory memory(a, p);
  if (!is_open(a, memory, p)) return;
  const uint32_t turn = a.tag >> 1 & 127;
  const bool writes = a.tag & 1;
  __shared__ T total;
#pragma unroll 1
  for (uint32_t number = 0; number < PARTS; number++) {
    const uint32_t n = memory.state->of[number].s.count, order = number == OF_TABLE ? 1 : memory.state->head.order;
    if (turn >= order) continue;
    W* o = memory.of<W>(number);
    const Head& head = memory.state->head;
    const bool is_last = number == OF_ARRAY && turn + 1 == order && writer(head) == BY_X;
    const Map<W> map = head.map<W>(p.kind);
    const multilevel::Target<W> target(output(a, 0), n);
    const bool whole = target.whole && aligned(target.at, 16);
    const Share share((n + CHUNK - 1) / CHUNK);
    const uint32_t first = share.first * CHUNK, end = min(n, share.end * CHUNK);
    if (!writes) {
      T sum = 0;
#pragma unroll 2
      for (uint32_t at = first + threadIdx.x * EACH; at < end; at += CHUNK) {
        const Each<W> own = Each<W>::load(o, at, end);
#pragma unroll
        for (uint32_t k = 0; k < EACH; k++) sum += own.of[k];
      }
      sum = block_sum_to(sum, reinterpret_cast<T*>(words));
      if (threadIdx.x == blockDim.x - 1) memory.totals[number][blockIdx.x] = sum;
      continue;
    }
    T before = 0;
    for (uint32_t k = threadIdx.x; k < blockIdx.x; k += blockDim.x) before += (T)memory.totals[number][k];
    before = block_sum_to(before, reinterpret_cast<T*>(words));
    if (threadIdx.x == blockDim.x - 1) total = before;
    __syncthreads();
    before = total;
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
      if (!is_last || whole) {
        own.store(is_last ? target.at : o, at, end);
      } else {
#pragma unroll
        for (uint32_t k = 0; k < EACH; k++)
          if (at + k < end) target.put(at + k, own.of[k]);
      }
      __syncthreads();
      if (threadIdx.x == blockDim.x - 1) total = before + upto;
      __syncthreads();
      before = total;
    }
  }
}

// Sums along y or z. A thread has a line.
template <class W> FZ_DEV void sum_lines(const Args& a) {
  const ExactParams& p = params<ExactParams>(a);
  const DecoderMemory memory(a, p);
  if (!is_open(a, memory, p)) return;
  const uint32_t axis = a.tag & 255;
  const Head& head = memory.state->head;
  if (!(axis == 1 ? head.y : head.z)) return;
  const bool is_last = writer(head) == (axis == 1 ? BY_Y : BY_Z);
  const Map<W> map = head.map<W>(p.kind);
  const multilevel::Target<W> target(output(a, 0), elements(p));
  const uint32_t nx = (uint32_t)p.dims[0], ny = (uint32_t)p.dims[1], nz = (uint32_t)p.dims[2], plane = nx * ny;
  const uint32_t lines = axis == 1 ? nx * nz : plane, steps = axis == 1 ? ny : nz, apart = axis == 1 ? nx : plane;
#pragma unroll 1
  for (uint32_t line = blockIdx.x * blockDim.x + threadIdx.x; line < lines; line += gridDim.x * blockDim.x) {
    const uint64_t first = axis == 1 ? line / nx * plane + line % nx : line;
    W* at = memory.of<W>(OF_ARRAY) + first;
    W sum = 0;
#pragma unroll 8
    for (uint32_t k = 0; k < steps; k++) {
      sum = (W)(sum + at[(uint64_t)k * apart]);
      if (is_last) target.put(first + (uint64_t)k * apart, map.element(sum));
      else at[(uint64_t)k * apart] = sum;
    }
  }
}
}  // namespace exact
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256) exact_sum_x(FZ_ARGS) {
  __shared__ uint64_t words[32];
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::sum_x<decltype(w)>(a, words); });
}
extern "C" __global__ void __launch_bounds__(256) exact_sum_lines(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::sum_lines<decltype(w)>(a); });
}
