// Kernels with a bug each, and some without. All write operand 0, an array of u32, one for each thread of the grid;
// main.cpp has the right result of each.
#include "common/launch.cuh"
#include "common/memory.cuh"
#include "common/scan.cuh"

namespace {
FZ_DEV uint32_t* out(const fz::Args& a) { return reinterpret_cast<uint32_t*>(fz::address(a.operands[0])) + blockIdx.x * blockDim.x; }
FZ_DEV uint32_t left_neighbor(const uint32_t* x) { return threadIdx.x ? x[threadIdx.x - 1] : 0; }
}  // namespace

#define KERNEL(name) extern "C" __global__ void __launch_bounds__(256) name(FZ_ARGS)

// ---- without a bug

KERNEL(neighbors) {
  __shared__ uint32_t x[256];
  x[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out(a)[threadIdx.x] = left_neighbor(x);
}

// Each block waits for the sum of the one before it.
KERNEL(look_back) {
  __shared__ uint32_t warps[32];
  __shared__ uint64_t before;
  uint64_t* words = reinterpret_cast<uint64_t*>(a.zeroed);
  const uint32_t sum = fz::block_sum_to<uint32_t>(1, warps);
  if (threadIdx.x == 0) {
    before = 0;
    if (blockIdx.x) while ((before = fz::peek(words + blockIdx.x - 1)) == 0) {}
    fz::poke(words + blockIdx.x, before + blockDim.x);
  }
  __syncthreads();
  out(a)[threadIdx.x] = uint32_t(before) + sum - 1;
}

KERNEL(waits) {
  fz::wait_prerequisites();
  out(a)[threadIdx.x] = threadIdx.x;
}

// Each result is 1.
KERNEL(functions) {
  bool ok = true;
  const uint32_t lane = threadIdx.x & 31, odd = 0xaaaaaaaau;
  ok &= __shfl_xor_sync(fz::ALL, lane, 5) == (lane ^ 5) && __shfl_down_sync(fz::ALL, lane, 3, 8) == (lane % 8 < 5 ? lane + 3 : lane);
  ok &= __shfl_up_sync(fz::ALL, lane, 1) == (lane ? lane - 1 : 0) && __shfl_sync(fz::ALL, lane, 2, 4) == (lane & ~3u) + 2;
  ok &= __ballot_sync(fz::ALL, lane & 1) == odd && __match_any_sync(fz::ALL, lane & 1) == (lane & 1 ? odd : ~odd);
  if (lane & 1) ok &= __reduce_add_sync(odd, lane) == 256 && __reduce_min_sync(odd, int(lane) - 9) == -8;
  ok &= __reduce_xor_sync(fz::ALL, 1u << lane) == fz::ALL && __any_sync(fz::ALL, lane == 7) && !__all_sync(fz::ALL, lane == 7);
  ok &= __syncthreads_count(lane == 0) == 8 && __syncthreads_or(threadIdx.x == 200) && !__syncthreads_and(lane);
  ok &= __byte_perm(0x33221100, 0x77665544, 0x7052) == 0x77005522u && __byte_perm(0x80, 0, 0x8880) == 0xffffff80u;
  ok &= __funnelshift_l(0x80000000u, 1, 1) == 3 && __funnelshift_r(1, 2, 33) == 0 && __funnelshift_rc(1, 2, 32) == 2;
  ok &= __brev(1) == 0x80000000u && __clz(1) == 31 && __ffsll(1ll << 40) == 41 && __dp4a(0x01ff02feu, 0x01010101u, 0u) == 0x200u;
  // 0.1 and 0.3 as doubles: their exact product and sum lie between two doubles.
  ok &= __dmul_ru(0.1, 0.3) > __dmul_rd(0.1, 0.3) && __dmul_rz(-0.1, 0.3) == -__dmul_rd(0.1, 0.3) && __dadd_rz(1.0, 1e-30) == 1.0;
  ok &= __dsub_rz(1.0, 1e-30) < 1.0 && __dsub_rn(1.0, 1e-30) == 1.0 && __fadd_ru(1.f, 1e-30f) > 1.f && __dsqrt_rd(2.0) < __dsqrt_ru(2.0);
  ok &= __double2float_rz(1.99999999999) < 2.f && __double2float_rn(1.99999999999) == 2.f && __double2float_rd(-1.00000000001) < -1.f;
  ok &= __float2int_rn(2.5f) == 2 && __float2int_rz(-2.7f) == -2 && __float2int_rn(3e9f) == 0x7fffffff && __float2int_rz(NAN) == 0;
  ok &= __float2uint_rz(-1.f) == 0 && __float2uint_rn(5e9f) == 0xffffffffu && __double2ll_rn(-1e19) == (long long)(1ull << 63);
  ok &= __double2ull_rz(1e20) == ~0ull && __double2int_ru(1.1) == 2 && __longlong_as_double(__double_as_longlong(0.1)) == 0.1;
  unsigned long long word = 5;
  ok &= atomicCAS(&word, 5ull, 7ull) == 5 && word == 7 && atomicAdd(&word, 1ull) == 7 && atomicMax(&word, 3ull) == 8;
  out(a)[threadIdx.x] = ok;
}

// ---- found by the order of threads

KERNEL(missing_barrier) {
  __shared__ uint32_t x[256];
  x[threadIdx.x] = threadIdx.x;
  out(a)[threadIdx.x] = left_neighbor(x);
}

KERNEL(missing_second_barrier) {
  __shared__ uint32_t x[256];
  uint32_t v = 0;
  for (uint32_t turn = 0; turn < 2; turn++) {
    x[threadIdx.x] = turn ? 0 : threadIdx.x;
    __syncthreads();
    v += left_neighbor(x);
  }
  out(a)[threadIdx.x] = v;
}

// ---- found by poison

KERNEL(unset_shared) {
  __shared__ uint32_t total;
  __syncthreads();
  atomicAdd(&total, 1u);
  __syncthreads();
  out(a)[threadIdx.x] = total;
}

KERNEL(unset_dynamic_shared) {
  FZ_DYN_SHARED(uint32_t, total);
  atomicAdd(total, 1u);
  __syncthreads();
  out(a)[threadIdx.x] = *total;
}

// ---- found by the scheduler

KERNEL(divergent_barrier) {
  if (threadIdx.x < 128) __syncthreads();
  else __syncthreads();
  out(a)[threadIdx.x] = 0;
}

KERNEL(barrier_against_shuffle) {
  if (threadIdx.x & 1) __syncthreads();
  else __syncwarp();
  out(a)[threadIdx.x] = 0;
}

KERNEL(mask_without_caller) { out(a)[threadIdx.x] = __ballot_sync(0xffffu, 1); }
KERNEL(mask_of_lanes_that_left) {
  if ((threadIdx.x & 31) == 31) return;
  out(a)[threadIdx.x] = __ballot_sync(fz::ALL, 1);
}
KERNEL(mask_of_another_branch) {
  out(a)[threadIdx.x] = threadIdx.x & 1 ? __ballot_sync(fz::ALL, 1) : __ballot_sync(0x55555555u, 1);
}
KERNEL(shuffle_outside_mask) {
  if ((threadIdx.x & 31) < 16) out(a)[threadIdx.x] = __shfl_sync(0xffffu, threadIdx.x, 20);
}

// ---- found by the sanitizers

KERNEL(store_past_end) { out(a)[threadIdx.x + 1] = 0; }
KERNEL(shared_past_end) {
  __shared__ uint32_t x[255];
  x[threadIdx.x] = 0;
  __syncthreads();
  out(a)[threadIdx.x] = x[0];
}
KERNEL(dynamic_shared_past_end) {
  FZ_DYN_SHARED(uint32_t, x);
  x[threadIdx.x + 1] = 0;
  out(a)[threadIdx.x] = 0;
}
KERNEL(misaligned) { *reinterpret_cast<uint32_t*>(fz::address(a.operands[0]) + 1) = 0; }
KERNEL(shift_too_far) { out(a)[threadIdx.x] = 1u << (threadIdx.x & 63); }
KERNEL(conversion_out_of_range) { out(a)[threadIdx.x] = uint32_t(int(float(threadIdx.x) * 1e9f)); }

// ---- for the cases of main.cpp

KERNEL(copy) { out(a)[threadIdx.x] = reinterpret_cast<const uint32_t*>(fz::address(a.operands[1]))[threadIdx.x]; }
extern "C" __global__ void __launch_bounds__(64, 2) small_blocks(FZ_ARGS) { out(a)[threadIdx.x] = 0; }
