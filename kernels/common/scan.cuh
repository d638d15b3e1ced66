// Inclusive scans over a warp and over a block.
#pragma once
#include "common/launch.cuh"

namespace fz {
// Operators of scans. Zero is the identity of both.
struct Sum {
  template <class T> FZ_DEV T operator()(T a, T b) const { return a + b; }
};
struct Most {
  template <class T> FZ_DEV T operator()(T a, T b) const { return a > b ? a : b; }
};
// Scan of a warp. All lanes call it.
template <class Op, class T> FZ_DEV T warp_scan_to(T v) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    T t = __shfl_up_sync(ALL, v, d);
    if (lane >= d) v = Op()(v, t);
  }
  return v;
}
// Scan of a block of a multiple of 32 threads. `w`: 32 words of shared memory. Ends with a barrier.
template <class Op, class T> FZ_DEV T block_scan_to(T v, T* w) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  T s = warp_scan_to<Op>(v);
  if (lane == 31) w[warp] = s;
  __syncthreads();
  if (warp == 0) { T t = warp_scan_to<Op>(lane < warps ? w[lane] : T(0)); w[lane] = t; }
  __syncthreads();
  if (warp > 0) s = Op()(s, w[warp - 1]);
  __syncthreads();
  return s;
}
template <class T> FZ_DEV T warp_sum_to(T v) { return warp_scan_to<Sum>(v); }
template <class T> FZ_DEV T block_sum_to(T v, T* w) { return block_scan_to<Sum>(v, w); }

}  // namespace fz
