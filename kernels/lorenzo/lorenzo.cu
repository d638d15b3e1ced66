// Lorenzo in two and three dimensions: differences to seven neighbors, and sums along x, y and z.
// One dimension is difference.cu.
#include "common/units.cuh"
#include "lorenzo/params.h"

namespace fz {
namespace lorenzo {
template <class T> struct Array {
  uint8_t* at;
  FZ_DEV T get(uint64_t i) const { return load<T>(at + i * sizeof(T)); }
  FZ_DEV void put(uint64_t i, T x) const { store<T>(at + i * sizeof(T), x); }
};

// Elements that both operands have. The plan guarantees that the grid fits.
template <class T> FZ_DEV uint64_t elements(const Args& a) {
  const uint64_t have = length(input(a, 0)), room = output(a, 0).max;
  return (have < room ? have : room) / sizeof(T);
}

template <class F> FZ_DEV void with_type(uint32_t width, F f) {
  if (width == 1) f(uint8_t(0));
  else if (width == 2) f(uint16_t(0));
  else if (width == 4) f(uint32_t(0));
  else if (width == 8) f(uint64_t(0));
}

FZ_DEV uint64_t me() { return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; }
FZ_DEV uint64_t all() { return (uint64_t)gridDim.x * blockDim.x; }

template <class T> FZ_DEV void encode(const Args& a, const LorenzoParams& p) {
  const Array<T> src = {address(input(a, 0))}, dst = {address(output(a, 0))};
  const uint64_t n = elements<T>(a), nx = p.dims[0], ny = p.dims[1], plane = nx * ny, box = plane * p.dims[2];
  for (uint64_t i = me(); i < n; i += all()) {
    if (i >= box) {
      dst.put(i, src.get(i));
      continue;
    }
    const bool x = i % nx != 0, y = i / nx % ny != 0, z = i >= plane;
    auto pair = [&](uint64_t i) { return T(src.get(i) - (x ? src.get(i - 1) : T(0))); };
    T d = pair(i);
    if (y) d = T(d - pair(i - nx));
    if (z) d = T(d - pair(i - plane));
    if (y && z) d = T(d + pair(i - plane - nx));  // seed: lorenzo-diagonal
    dst.put(i, d);
  }
}

// A warp has a row.
template <class T> FZ_DEV void decode_x(const Args& a, const LorenzoParams& p) {
  const Array<T> src = {address(input(a, 0))}, dst = {address(output(a, 0))};
  const uint64_t n = elements<T>(a), nx = p.dims[0], rows = (uint64_t)p.dims[1] * p.dims[2];
  const uint32_t lane = threadIdx.x & 31;
  // The sum has 32 or 64 bits: for narrower types the upper bits do not count.
  typedef decltype(T(0) + 0u) Sum;
  for (uint64_t row = me() / 32; row < rows; row += all() / 32) {
    Sum before = 0;
    for (uint64_t x = 0; x < nx; x += 32) {
      const bool here = x + lane < nx;
      const Sum sum = before + warp_sum_to(here ? (Sum)src.get(row * nx + x + lane) : Sum(0));
      if (here) dst.put(row * nx + x + lane, (T)sum);
      before = __shfl_sync(ALL, sum, 31);  // seed: lorenzo-carry
    }
  }
  for (uint64_t i = rows * nx + me(); i < n; i += all()) dst.put(i, src.get(i));  // seed: lorenzo-tail
}

// A thread has a line of `count` elements, `stride` apart; neighbors have neighboring lines.
template <class T> FZ_DEV void sum_line(const Array<T>& dst, uint64_t from, uint32_t count, uint64_t stride) {
  T sum = dst.get(from);
  for (uint32_t k = 1; k < count; k++) {
    from += stride;
    sum = T(sum + dst.get(from));
    dst.put(from, sum);
  }
}
template <class T> FZ_DEV void decode_y(const Args& a, const LorenzoParams& p) {
  const Array<T> dst = {address(output(a, 0))};
  const uint64_t nx = p.dims[0], plane = nx * p.dims[1], lines = nx * p.dims[2];
  for (uint64_t i = me(); i < lines; i += all()) sum_line(dst, i / nx * plane + i % nx, p.dims[1], nx);
}
template <class T> FZ_DEV void decode_z(const Args& a, const LorenzoParams& p) {
  const Array<T> dst = {address(output(a, 0))};
  const uint64_t plane = (uint64_t)p.dims[0] * p.dims[1];
  for (uint64_t i = me(); i < plane; i += all()) sum_line(dst, i, p.dims[2], plane);
}

// Blocks around their means: a warp has a block of elements.
FZ_DEV int64_t wide(uint8_t x) { return (int8_t)x; }
FZ_DEV int64_t wide(uint16_t x) { return (int16_t)x; }
FZ_DEV int64_t wide(uint32_t x) { return (int32_t)x; }
FZ_DEV int64_t wide(uint64_t x) { return (int64_t)x; }

// Half of a unit away from zero; sums that leave 64 bits wrap around.
template <class T> FZ_DEV T mean_of(const Array<T>& src, uint64_t from, uint32_t count) {
  const uint32_t lane = threadIdx.x & 31;
  uint64_t own = 0;
  for (uint32_t k = lane; k < count; k += 32) own += (uint64_t)wide(src.get(from + k));
  const uint64_t sum = __shfl_sync(ALL, warp_sum_to(own), 31);
  const int64_t n = count;
  return (T)((int64_t)(sum + (uint64_t)((int64_t)sum >= 0 ? n / 2 : -(n / 2))) / n);
}

template <class T, bool CENTER> FZ_DEV void by_blocks(const Args& a, const LorenzoMeanParams& p) {
  const Array<T> src = {address(input(a, 0))}, dst = {address(output(a, 0))};
  const uint64_t n = elements<T>(a), have = least(length(input(a, 0)), output(a, 0).max);
  const uint64_t blocks = (n + p.block - 1) / p.block;
  const Operand& means = CENTER ? output(a, 1) : input(a, 1);
  if (CENTER && me() == 0) publish(means, blocks * sizeof(T));
  if (!CENTER && length(means) != blocks * sizeof(T)) {
    if (me() == 0) fail(a, CORRUPT);
    return;
  }
  const Array<T> mean = {address(means)};
  for (uint64_t b = me() / 32; b < blocks; b += all() / 32) {
    const uint64_t from = b * p.block;
    const uint32_t count = (uint32_t)least(n - from, p.block);
    T mu = T(0);
    if (CENTER) {
      mu = mean_of(src, from, count);
      if ((threadIdx.x & 31) == 0 && (b + 1) * sizeof(T) <= means.max) mean.put(b, mu);
    } else {
      mu = mean.get(b);
    }
    for (uint32_t k = threadIdx.x & 31; k < count; k += 32) {
      const T x = src.get(from + k);
      dst.put(from + k, CENTER ? T(x - mu) : T(x + mu));
    }
  }
  // Bytes that make up no element.
  for (uint64_t i = n * sizeof(T) + me(); i < have; i += all()) dst.at[i] = src.at[i];
}
}  // namespace lorenzo
}  // namespace fz

using namespace fz;

extern "C" __global__ void __launch_bounds__(256) lorenzo_encode(FZ_ARGS) {
  if (cancelled(a)) return;
  const auto& p = params<lorenzo::LorenzoParams>(a);
  if (lorenzo::me() == 0) publish(output(a, 0), length(input(a, 0)));
  lorenzo::with_type(p.width, [&](auto t) { lorenzo::encode<decltype(t)>(a, p); });
}

extern "C" __global__ void __launch_bounds__(256) lorenzo_decode_x(FZ_ARGS) {
  if (cancelled(a)) return;
  const auto& p = params<lorenzo::LorenzoParams>(a);
  if (lorenzo::me() == 0) publish(output(a, 0), length(input(a, 0)));
  lorenzo::with_type(p.width, [&](auto t) { lorenzo::decode_x<decltype(t)>(a, p); });
}

extern "C" __global__ void __launch_bounds__(256) lorenzo_decode_y(FZ_ARGS) {
  if (cancelled(a)) return;
  const auto& p = params<lorenzo::LorenzoParams>(a);
  lorenzo::with_type(p.width, [&](auto t) { lorenzo::decode_y<decltype(t)>(a, p); });
}

extern "C" __global__ void __launch_bounds__(256) lorenzo_decode_z(FZ_ARGS) {
  if (cancelled(a)) return;
  const auto& p = params<lorenzo::LorenzoParams>(a);
  lorenzo::with_type(p.width, [&](auto t) { lorenzo::decode_z<decltype(t)>(a, p); });
}

extern "C" __global__ void __launch_bounds__(256) lorenzo_center(FZ_ARGS) {
  if (cancelled(a)) return;
  const auto& p = params<lorenzo::LorenzoMeanParams>(a);
  if (lorenzo::me() == 0) publish(output(a, 0), length(input(a, 0)));
  lorenzo::with_type(p.width, [&](auto t) { lorenzo::by_blocks<decltype(t), true>(a, p); });
}

extern "C" __global__ void __launch_bounds__(256) lorenzo_move_back(FZ_ARGS) {
  if (cancelled(a)) return;
  const auto& p = params<lorenzo::LorenzoMeanParams>(a);
  if (lorenzo::me() == 0) publish(output(a, 0), length(input(a, 0)));
  lorenzo::with_type(p.width, [&](auto t) { lorenzo::by_blocks<decltype(t), false>(a, p); });
}
