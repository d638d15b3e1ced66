// Every device function includes this file: its argument block, the status of the call, and its
// operands. Under nvcc the functions are CUDA, with FZ_EMULATED they run on the emulator of
// tests/emu.
//
// A device function is `extern "C" __global__ void name(FZ_ARGS)`. Rules:
//   - It starts with `if (fz::cancelled(a)) return;`, so that nothing runs on the output of a
//     launch that failed. Exceptions are in multilevel/ended.cuh and exact/early.cuh.
//   - Before `fz::cancelled` or `fz::wait_prerequisites` it reads only its argument block, the
//     tables of the plan, and the caller's memory. It writes nothing.
//   - For any data it stays within Operand.max of its outputs and within the lengths of its inputs.
//   - It publishes the length of every output that has a word, even if the output does not fit.
//   - Operands have any alignment: the caller's array and the segments of a container are not
//     aligned.
//   - A block that others wait for (look-back) always publishes its state.
#pragma once
#ifdef FZ_EMULATED
#include "cuda_emu.h"
#else
#include <stdint.h>
#define FZ_DYN_SHARED(T, name) extern __shared__ __align__(16) unsigned char fz_dyn_shared_[]; T* name = reinterpret_cast<T*>(fz_dyn_shared_)
#endif
#include <stddef.h>
#include <string.h>
#include "common/args.h"
#include "common/params.h"

#define FZ_ARGS const __grid_constant__ fz::Args a
#define FZ_DEV __device__ __forceinline__

namespace fz {
// Mask of all lanes of a warp.
constexpr uint32_t ALL = 0xffffffffu;
// Besides the statuses of args.h: the container holds the array without coding, and no other launch
// has work.
constexpr int32_t STORED = -1;

// The status block: zero when a call starts.
struct Status {
  unsigned long long failed;  // 0, or step + 1 in the upper half and a status in the lower
  unsigned long long needed;
  uint32_t stage, pad;
};

FZ_DEV Status* status_of(const Args& a) { return reinterpret_cast<Status*>(a.status); }

// Waits until earlier launches have ended and their writes are visible. Every thread of a launch
// that does not return calls it. With programmatic dependent launch a grid may start before the
// grid ahead of it has ended, which hides its start-up time. From here on the next grid may start:
// its blocks are scheduled when all blocks of this grid have started.
#ifdef FZ_EMULATED
FZ_DEV void wait_prerequisites() { fzemu::wait_prerequisites(); }
#else
FZ_DEV void wait_prerequisites() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#endif
}
#endif

// The first failure of the call so far, or 0. The load takes long, so latency-bound functions issue
// it before the loads of their data.
FZ_DEV unsigned long long failure(const Args& a) {
  wait_prerequisites();
  return *reinterpret_cast<volatile unsigned long long*>(&status_of(a)->failed);
}

// True if an earlier launch failed; equal in all threads of the grid. Failures of this launch do
// not count, so that blocks which wait for each other do not wait indefinitely.
FZ_DEV bool cancelled(const Args& a, unsigned long long failed) { return failed != 0 && (failed >> 32) <= a.step; }
FZ_DEV bool cancelled(const Args& a) { return cancelled(a, failure(a)); }

// Reports a failure. The first one of a call counts.
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
// Sets the length of an output. One thread of the grid calls it.
FZ_DEV void publish(const Operand& o, uint64_t bytes) { if (o.bytes) *reinterpret_cast<uint64_t*>(o.bytes) = bytes; }

template <class P> FZ_DEV const P& params(const Args& a) {
  static_assert(sizeof(P) <= PARAM_BYTES, "a parameter block has 64 bytes");
  return *reinterpret_cast<const P*>(a.params);
}
template <class P> FZ_DEV const P& fused_params(const Args& a, int i) { return *reinterpret_cast<const P*>(a.fused_params[i]); }
}  // namespace fz
