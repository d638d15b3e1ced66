// What every device function includes: operands, status, small scans. Under nvcc this is CUDA, with FZ_EMULATED the
// stand-in of tests/emu.
//
// A device function is `extern "C" __global__ void name(FZ_ARGS)`. Its rules:
//   - it starts with `if (fz::dead(a)) return;`, so that nothing runs on what an earlier launch could not make;
//   - before `fz::dead` or `fz::await_former` it reads nothing but its argument, tables of the plan and what the caller brought,
//     and writes nothing;
//   - it stays within Operand.max of what it writes, whatever the data says, and within the lengths of what it reads;
//   - it publishes the length of every output that has a word, even where it cannot write all of it;
//   - operands may lie at any address: the caller's array and the segments of a container are not aligned;
//   - a block whose neighbours wait for it (look-back) always answers them.
#pragma once
#ifdef FZ_EMULATED
#include "cuda_emu.h"
#else
#include <stdint.h>
#define FZ_DYN_SHARED(T, name) extern __shared__ __align__(16) unsigned char fz_dyn_shared_[]; T* name = reinterpret_cast<T*>(fz_dyn_shared_)
#endif
#include <stddef.h>
#include <string.h>
#include "args.h"

#define FZ_ARGS const __grid_constant__ fz::Args a
#define FZ_DEV __device__ __forceinline__

namespace fz {
constexpr uint32_t TILE = 16384;
constexpr uint32_t ALL = 0xffffffffu;

// Numbers of fz_status; STORED: the container holds the array as it is, and nothing is left to do.
enum : int32_t {
  STORED = -1, OK = 0, INVALID_ARGUMENT = 10, PLAN_MISMATCH = 12, CORRUPT = 30, CHECKSUM = 31, NOT_A_CONTAINER = 32, DST_TOO_SMALL = 40,
  OUTLIER_CAPACITY = 41
};

// The status block: zero when a call starts.
struct Status {
  unsigned long long failed;  // 0, or step + 1 in the upper half and the number of a status in the lower
  unsigned long long needed;
  uint32_t stage, pad;
};

FZ_DEV Status* status_of(const Args& a) { return reinterpret_cast<Status*>(a.status); }

// A launch may start before the one ahead of it has ended (programmatic dependent launch), which hides what it takes to start.
// Every thread that goes on waits here; then all that earlier launches wrote is there. The next launch may start from here
// on: it finds places when all blocks of this one have started.
#ifdef FZ_EMULATED
FZ_DEV void await_former() { fzemu::await_former(); }
#else
FZ_DEV void await_former() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#endif
}
#endif

// What has failed so far. It takes a while to come, so functions in which time counts ask for it before their data.
FZ_DEV unsigned long long failure(const Args& a) {
  await_former();
  return *reinterpret_cast<volatile unsigned long long*>(&status_of(a)->failed);
}

// True in all threads of the grid or in none: an earlier launch failed, and nobody changes that any more. What fails in this
// launch is not seen, so that blocks which wait for each other still find each other.
FZ_DEV bool dead(const Args& a, unsigned long long failed) { return failed != 0 && (failed >> 32) <= a.step; }
FZ_DEV bool dead(const Args& a) { return dead(a, failure(a)); }

// The first failure of a call is the one that is reported.
FZ_DEV void fail(const Args& a, int32_t code, uint64_t needed = 0) {
  Status* s = status_of(a);
  const unsigned long long mine = (unsigned long long)(a.step + 1) << 32 | (uint32_t)code;
  if (atomicCAS(&s->failed, 0ull, mine) == 0) { s->needed = needed; s->stage = a.stage; }
}

FZ_DEV uint64_t length(const Operand& o) { return o.bytes ? *reinterpret_cast<const uint64_t*>(o.bytes) : o.max; }
FZ_DEV uint8_t* address(const Operand& o) {
  return reinterpret_cast<uint8_t*>(o.base + (o.offset ? *reinterpret_cast<const uint64_t*>(o.offset) : 0));
}
FZ_DEV const Operand& input(const Args& a, int i) { return a.operands[i]; }
FZ_DEV const Operand& output(const Args& a, int i) { return a.operands[a.inputs + i]; }
// Call from one thread of the grid.
FZ_DEV void publish(const Operand& o, uint64_t bytes) { if (o.bytes) *reinterpret_cast<uint64_t*>(o.bytes) = bytes; }

template <class P> FZ_DEV const P& params(const Args& a) {
  static_assert(sizeof(P) <= PARAM_BYTES, "a parameter block has 64 bytes");
  return *reinterpret_cast<const P*>(a.params);
}
template <class P> FZ_DEV const P& link_params(const Args& a, int i) { return *reinterpret_cast<const P*>(a.links[i]); }

// Words at any address.
FZ_DEV bool aligned(const void* p, int n) { return (reinterpret_cast<uintptr_t>(p) & (n - 1)) == 0; }
template <class T> FZ_DEV T load(const void* p) {
  if (aligned(p, sizeof(T))) return *reinterpret_cast<const T*>(p);
  T x;
  unsigned char* to = reinterpret_cast<unsigned char*>(&x);
  const unsigned char* from = reinterpret_cast<const unsigned char*>(p);
#pragma unroll
  for (int i = 0; i < (int)sizeof(T); i++) to[i] = from[i];
  return x;
}
template <class T> FZ_DEV void store(void* p, T x) {
  if (aligned(p, sizeof(T))) { *reinterpret_cast<T*>(p) = x; return; }
  const unsigned char* from = reinterpret_cast<const unsigned char*>(&x);
  unsigned char* to = reinterpret_cast<unsigned char*>(p);
#pragma unroll
  for (int i = 0; i < (int)sizeof(T); i++) to[i] = from[i];
}

// What scans do with two neighbours; zero is nothing to either.
struct Sum {
  template <class T> FZ_DEV T operator()(T a, T b) const { return a + b; }
};
struct Most {
  template <class T> FZ_DEV T operator()(T a, T b) const { return a > b ? a : b; }
};
// Inclusive scan of a warp; all lanes call it.
template <class Op, class T> FZ_DEV T warp_scan_to(T v) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    T t = __shfl_up_sync(ALL, v, d);
    if (lane >= d) v = Op()(v, t);
  }
  return v;
}
// Inclusive scan of a block of a multiple of 32 threads; `w`: 32 shared words. Ends with a barrier.
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

// One 64-bit word carries flag and value between blocks, so relaxed order is enough.
#ifdef FZ_EMULATED
FZ_DEV uint64_t peek(const uint64_t* p) { return *p; }
FZ_DEV void poke(uint64_t* p, uint64_t v) { *p = v; }
FZ_DEV uint4 load_whole(const uint4* p) { return *p; }
FZ_DEV void release(uint32_t* p, uint32_t v) { *p = v; }
#else
FZ_DEV uint64_t peek(const uint64_t* p) { return *reinterpret_cast<const volatile uint64_t*>(p); }
FZ_DEV void poke(uint64_t* p, uint64_t v) { *reinterpret_cast<volatile uint64_t*>(p) = v; }
// All 16 bytes at once.
FZ_DEV uint4 load_whole(const uint4* p) {
  uint4 r;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w) : "l"(__cvta_generic_to_global(p)));
  return r;
}
// Who sees it sees all that stands before it too, of other threads what they did before a barrier. A fence would also forget what is in
// the first cache.
FZ_DEV void release(uint32_t* p, uint32_t v) { asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
#endif
}  // namespace fz
