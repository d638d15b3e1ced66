// Loads and stores at any address, and of words that other blocks read or write meanwhile.
#pragma once
#include "common/launch.cuh"

namespace fz {
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

// A word of 64 bits carries flag and value between blocks, so relaxed order is enough.
#ifdef FZ_EMULATED
FZ_DEV uint64_t peek(const uint64_t* p) { return *p; }
FZ_DEV void poke(uint64_t* p, uint64_t v) { *p = v; }
FZ_DEV uint4 load_whole(const uint4* p) { return *p; }
FZ_DEV void release(uint32_t* p, uint32_t v) { *p = v; }
#else
FZ_DEV uint64_t peek(const uint64_t* p) { return *reinterpret_cast<const volatile uint64_t*>(p); }
FZ_DEV void poke(uint64_t* p, uint64_t v) { *reinterpret_cast<volatile uint64_t*>(p) = v; }
// 16 bytes in one load.
FZ_DEV uint4 load_whole(const uint4* p) {
  uint4 r;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w) : "l"(__cvta_generic_to_global(p)));
  return r;
}
// Store with release order, for the writes of this thread and those of other threads before a
// barrier. Unlike a fence it keeps the L1 cache valid.
FZ_DEV void release(uint32_t* p, uint32_t v) { asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
#endif
}  // namespace fz
