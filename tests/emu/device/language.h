// Qualifiers, vector types, and the place of a thread in its grid.
#pragma once

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline __attribute__((always_inline))
// build.sh reads the bound from the source; a launch that breaks it is refused.
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) alignas(n)
// Blocks run one after another, so one copy serves all. build.sh moves everything of this kind in a file of kernels
// into one section, which is poisoned before each block: a read of what was not set shows.
#define __shared__ static
// `extern __shared__ T name[]` of kernels, whose length is that of the launch.
#define FZ_DYN_SHARED(T, name) T* name = reinterpret_cast<T*>(fzemu::dynamic_shared())

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct uint3 { unsigned x, y, z; };

// As aligned as on the device: a kernel that casts a pointer to a wider vector than it may is found by the sanitizers.
#define FZ_VECTORS(T, name)                                                                     \
  struct alignas(2 * sizeof(T)) name##2 { T x, y; };                                            \
  struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) name##4 { T x, y, z, w; };            \
  static inline name##2 make_##name##2(T x, T y) { return {x, y}; }                             \
  static inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
FZ_VECTORS(signed char, char)
FZ_VECTORS(unsigned char, uchar)
FZ_VECTORS(short, short)
FZ_VECTORS(unsigned short, ushort)
FZ_VECTORS(int, int)
FZ_VECTORS(unsigned, uint)
FZ_VECTORS(long long, longlong)
FZ_VECTORS(unsigned long long, ulonglong)
FZ_VECTORS(float, float)
FZ_VECTORS(double, double)
#undef FZ_VECTORS

namespace fzemu {
struct Warp;
struct Thread {
  uint3 index;
  unsigned lane;
  Warp* warp;
};
// The thread that runs.
extern Thread* current;
extern uint3 block_index;
extern dim3 block_size, grid_size;
void* dynamic_shared();
// Waits for the launch ahead.
void wait_prerequisites();
[[noreturn]] void fail(const char* file, int line, const char* what);
}  // namespace fzemu

#define threadIdx (fzemu::current->index)
#define blockIdx (fzemu::block_index)
#define blockDim (fzemu::block_size)
#define gridDim (fzemu::grid_size)
#define warpSize 32

// The place of a barrier or a warp operation. The counter distinguishes two of them on one line.
#define FZ_HERE __FILE__, int(__LINE__ | ((__COUNTER__ & 0x7ff) << 20))
