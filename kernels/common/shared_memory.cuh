// Shared memory: copies from global memory that do not pass through registers, and consecutive
// words.
#pragma once
#include "common/memory.cuh"

#ifdef FZ_EMULATED
FZ_DEV void fz_copy16(void* shared, const void* global) { memcpy(shared, global, 16); }
FZ_DEV void fz_copies_done() {}
template <int BYTES> FZ_DEV void fz_copy(void* shared, const void* global) { memcpy(shared, global, BYTES); }
FZ_DEV void fz_copies_close() {}
template <int LATEST> FZ_DEV void fz_copies_but() {}
FZ_DEV void fz_prefetch(const void*, uint32_t) {}
struct fz_words {
  uint32_t* at;
  FZ_DEV explicit fz_words(uint32_t* shared) { at = shared; }
  FZ_DEV void put(uint32_t wanted, uint32_t word) {
    if (wanted) *at++ = word;
  }
  FZ_DEV void join(uint32_t word) const { atomicOr(at, word); }
};
#else
FZ_DEV uint32_t fz_shared_address(const void* shared) { return (uint32_t)__cvta_generic_to_shared(shared); }
FZ_DEV void fz_copy16(void* shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(fz_shared_address(shared)), "l"(global) : "memory");
}
FZ_DEV void fz_copies_done() { asm volatile("cp.async.wait_all;" ::: "memory"); }
template <int BYTES> FZ_DEV void fz_copy(void* shared, const void* global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(fz_shared_address(shared)), "l"(global), "n"(BYTES) : "memory");
}
// Groups the requests since the last call. fz_copies_but waits for all but the latest groups.
FZ_DEV void fz_copies_close() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LATEST> FZ_DEV void fz_copies_but() { asm volatile("cp.async.wait_group %0;" ::"n"(LATEST) : "memory"); }
// To the second cache. Both are multiples of 16.
FZ_DEV void fz_prefetch(const void* global, uint32_t bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(global), "r"(bytes));
#endif
}
// Consecutive words in shared memory: those for which `wanted` is 32, others for which it is 0; and
// bits beside others.
struct fz_words {
  uint32_t at;
  FZ_DEV explicit fz_words(uint32_t* shared) { at = fz_shared_address(shared); }
  FZ_DEV void put(uint32_t wanted, uint32_t word) {
    asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; @p st.shared.u32 [%0], %2;}" ::"r"(at), "r"(wanted), "r"(word) : "memory");
    at += wanted >> 3;
  }
  FZ_DEV void join(uint32_t word) const { asm volatile("red.shared.or.b32 [%0], %1;" ::"r"(at), "r"(word) : "memory"); }
};
#endif
