// Batched device functions: `name_batch` runs `name` for many arrays, with a row of the grid
// (blockIdx.y) for each of them. Every array has a workspace of its own, so that a failure of one
// array cancels no launch of another.
//
// A batched function begins with FZ_BATCH_BEGIN, which fills in the argument block of the array in
// shared memory. Its body is that of the function for one array, whose code it does not change.
//
// Functions of steps without a batched version run for one array after the other, in one workspace.
// They load the addresses of array and container from memory (Operand::offset). The container
// kernels are batched there too, with one row and the tag ONE_BY_ONE.
#pragma once
#include "common/container/result.cuh"
#include "common/launch.cuh"

#define FZ_BATCH_ARGS const __grid_constant__ fz::BatchArgs batch
#define FZ_BATCH_BEGIN                                                                           \
  __shared__ fz::Args a;                                                                         \
  if (!fz::begin_batched(batch, a)) return

// Defines a function for one array, and its batched version, from a function of the argument block.
// THREADS of a block; blocks on a multiprocessor: ALONE, and BATCHED, which counts more.
#define FZ_BOTH(NAME, FUNCTION, THREADS, ALONE, BATCHED) FZ_BOTH_OF(NAME, FUNCTION, FUNCTION, THREADS, ALONE, BATCHED)
// The function has a parameter: true in batches.
#define FZ_BOTH_WITH(NAME, FUNCTION, THREADS, ALONE, BATCHED) FZ_BOTH_OF(NAME, FUNCTION<false>, FUNCTION<true>, THREADS, ALONE, BATCHED)
#define FZ_BOTH_OF(NAME, ONE, MANY, THREADS, ALONE, BATCHED)                                     \
  extern "C" __global__ void __launch_bounds__(THREADS, ALONE) NAME(FZ_ARGS) { ONE(a); }          \
  extern "C" __global__ void __launch_bounds__(THREADS, BATCHED) NAME##_batch(FZ_BATCH_ARGS) {    \
    FZ_BATCH_BEGIN;                                                                              \
    MANY(a);                                                                                     \
  }

namespace fz {
// Tag of a container kernel of an array whose steps have functions for one array, as in
// src/runtime/cuda/batch.rs.
constexpr uint32_t ONE_BY_ONE = 1;
static_assert(offsetof(ContainerArgs, result) == 0, "word 0 of the argument block of a container kernel");
// Positions in Args, in words of eight bytes.
constexpr uint32_t ARGS_WORDS = sizeof(Args) / 8, OPERANDS_AT = offsetof(Args, operands) / 8, FUSED_AT = offsetof(Args, fused_params) / 8, PASSED_AT = offsetof(Args, passed) / 8,
                   PAYLOAD_AT = offsetof(Args, speculative_payload) / 8, PAYLOAD_BYTES_AT = offsetof(Args, speculative_bytes) / 8, NUMBERS_AT = offsetof(Args, inputs) / 8;
static_assert(sizeof(Args) % 8 == 0 && sizeof(Operand) == 32 && offsetof(Operand, max) == 24, "operands of four words");
static_assert(PASSED_AT + 4 == PAYLOAD_AT && PAYLOAD_AT + 1 == PAYLOAD_BYTES_AT, "words in this order");

// The array of a block.
struct BatchItem {
  uint64_t array, container, array_capacity, capacity, result;

  FZ_DEV explicit BatchItem(const BatchArgs& b) {
    const uint32_t at = b.first + blockIdx.y, i = b.numbers ? reinterpret_cast<const uint32_t*>(b.numbers)[at] : at;
    array = reinterpret_cast<const uint64_t*>(b.arrays)[i];
    container = reinterpret_cast<const uint64_t*>(b.containers)[i];
    capacity = reinterpret_cast<const uint64_t*>(b.container_capacities)[i];
    array_capacity = b.array_capacities ? reinterpret_cast<const uint64_t*>(b.array_capacities)[i] : b.array_bytes;
    result = b.results + (uint64_t)i * sizeof(Result);
  }
  FZ_DEV int32_t status(const BatchArgs& b) const {
    if (b.array_bytes && (!array || !container)) return NULL_POINTER;
    return array_capacity < b.array_bytes ? DST_TOO_SMALL : OK;
  }
  // An address of the first array, for this one.
  FZ_DEV uint64_t moved(const BatchArgs& b, uint64_t x) const {
    if (x & IN_CONTAINER) return container + (x & ~IN_CONTAINER);
    if (x & IN_ARRAY) return array + (x & ~IN_ARRAY);
    return x - b.workspace < b.stride ? x + blockIdx.y * b.stride : x;
  }
  // Bytes of the container from an offset on.
  FZ_DEV uint64_t behind(uint64_t x) const {
    const uint64_t offset = x & ~IN_CONTAINER;
    return capacity > offset ? capacity - offset : 0;
  }
  // A word of the argument block.
  FZ_DEV uint64_t word(const BatchArgs& b, const uint64_t* words, uint32_t at) const {
    const uint64_t x = words[at];
    if (at == 0) return b.container && x ? result : x;  // ContainerArgs::result
    if (at < OPERANDS_AT || (at >= FUSED_AT && at < PASSED_AT) || at >= NUMBERS_AT) return x;
    if (at == PAYLOAD_AT) return behind(x) ? moved(b, x) : 0;
    if (at == PAYLOAD_BYTES_AT) return words[PAYLOAD_AT] ? behind(words[PAYLOAD_AT]) : 0;
    const bool operand = at < FUSED_AT, max = operand && (at - OPERANDS_AT) % 4 == 3;
    if (!max) return at == PASSED_AT + 3 ? x : moved(b, x);
    const bool placed = (words[at - 3] & IN_CONTAINER) && !words[at - 2];
    return placed ? min(x, behind(words[at - 3])) : x;
  }
};

// Fills in the argument block of the array of this block. False in all threads if the array has no
// memory; the last function of the call then writes its result. Functions for one array, which do
// not come here, find the failure in the status block; the first container kernel of the next array
// overwrites it.
FZ_DEV bool begin_batched(const BatchArgs& b, Args& a) {
  const BatchItem item(b);
  const int32_t status = item.status(b);
  if (status != OK) {
    wait_prerequisites();
    if (b.args.tag == ONE_BY_ONE && blockIdx.x == 0 && threadIdx.x == 0) *status_of(b.args) = {(unsigned long long)(b.args.step + 1) << 32 | (uint32_t)status, 0, 0, 0};  // seed: batch-mark
    if (b.last && blockIdx.x == 0 && threadIdx.x == 0) write_result(item.result, {0, status == DST_TOO_SMALL ? b.array_bytes : 0, status, 0});
    return false;
  }
  const uint64_t* from = reinterpret_cast<const uint64_t*>(&b.args);
  for (uint32_t i = threadIdx.x; i < ARGS_WORDS; i += blockDim.x) reinterpret_cast<uint64_t*>(&a)[i] = item.word(b, from, i);
  __syncthreads();
  return true;
}
}  // namespace fz
