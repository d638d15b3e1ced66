// Lorenzo in two and three dimensions: differences to seven neighbours, and sums along x, y and z. One dimension is
// difference.cu.
#include "words.cuh"

namespace fz {
namespace lorenzo {
struct Params {
  uint32_t dims[3], width;
};

template <class T> struct Array {
  uint8_t* at;
  FZ_DEV T get(uint64_t i) const { return load<T>(at + i * sizeof(T)); }
  FZ_DEV void put(uint64_t i, T x) const { store<T>(at + i * sizeof(T), x); }
};

// Elements that both operands have. The plan has seen to it that the box fits.
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

template <class T> FZ_DEV void encode(const Args& a, const Params& p) {
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
    if (y && z) d = T(d + pair(i - plane - nx));
    dst.put(i, d);
  }
}

// A warp has a row.
template <class T> FZ_DEV void decode_x(const Args& a, const Params& p) {
  const Array<T> src = {address(input(a, 0))}, dst = {address(output(a, 0))};
  const uint64_t n = elements<T>(a), nx = p.dims[0], rows = (uint64_t)p.dims[1] * p.dims[2];
  const uint32_t lane = threadIdx.x & 31;
  // The sum is one of 32 or 64 bits: of what is narrower the upper ones do not count.
  typedef decltype(T(0) + 0u) Sum;
  for (uint64_t row = me() / 32; row < rows; row += all() / 32) {
    Sum before = 0;
    for (uint64_t x = 0; x < nx; x += 32) {
      const bool here = x + lane < nx;
      const Sum sum = before + warp_sum_to(here ? (Sum)src.get(row * nx + x + lane) : Sum(0));
      if (here) dst.put(row * nx + x + lane, (T)sum);
      before = __shfl_sync(ALL, sum, 31);
    }
  }
  for (uint64_t i = rows * nx + me(); i < n; i += all()) dst.put(i, src.get(i));
}

// A thread has a line of `count` elements, `stride` apart; neighbours have neighbouring lines.
template <class T> FZ_DEV void sum_line(const Array<T>& dst, uint64_t from, uint32_t count, uint64_t stride) {
  T sum = dst.get(from);
  for (uint32_t k = 1; k < count; k++) {
    from += stride;
    sum = T(sum + dst.get(from));
    dst.put(from, sum);
  }
}
template <class T> FZ_DEV void decode_y(const Args& a, const Params& p) {
  const Array<T> dst = {address(output(a, 0))};
  const uint64_t nx = p.dims[0], plane = nx * p.dims[1], lines = nx * p.dims[2];
  for (uint64_t i = me(); i < lines; i += all()) sum_line(dst, i / nx * plane + i % nx, p.dims[1], nx);
}
template <class T> FZ_DEV void decode_z(const Args& a, const Params& p) {
  const Array<T> dst = {address(output(a, 0))};
  const uint64_t plane = (uint64_t)p.dims[0] * p.dims[1];
  for (uint64_t i = me(); i < plane; i += all()) sum_line(dst, i, p.dims[2], plane);
}
}  // namespace lorenzo
}  // namespace fz

using namespace fz;

extern "C" __global__ void __launch_bounds__(256) lorenzo_encode(FZ_ARGS) {
  if (dead(a)) return;
  const auto& p = params<lorenzo::Params>(a);
  if (lorenzo::me() == 0) publish(output(a, 0), length(input(a, 0)));
  lorenzo::with_type(p.width, [&](auto t) { lorenzo::encode<decltype(t)>(a, p); });
}

extern "C" __global__ void __launch_bounds__(256) lorenzo_decode_x(FZ_ARGS) {
  if (dead(a)) return;
  const auto& p = params<lorenzo::Params>(a);
  if (lorenzo::me() == 0) publish(output(a, 0), length(input(a, 0)));
  lorenzo::with_type(p.width, [&](auto t) { lorenzo::decode_x<decltype(t)>(a, p); });
}

extern "C" __global__ void __launch_bounds__(256) lorenzo_decode_y(FZ_ARGS) {
  if (dead(a)) return;
  const auto& p = params<lorenzo::Params>(a);
  lorenzo::with_type(p.width, [&](auto t) { lorenzo::decode_y<decltype(t)>(a, p); });
}

extern "C" __global__ void __launch_bounds__(256) lorenzo_decode_z(FZ_ARGS) {
  if (dead(a)) return;
  const auto& p = params<lorenzo::Params>(a);
  lorenzo::with_type(p.width, [&](auto t) { lorenzo::decode_z<decltype(t)>(a, p); });
}
