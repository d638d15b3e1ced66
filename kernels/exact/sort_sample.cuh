// Stage exact, encoder: the sorted sample, by a block.
#pragma once
#include "exact/encoder.cuh"
#include "exact/exchange.cuh"

namespace fz {
namespace exact {
constexpr uint32_t THREADS = 1024, OWN = SAMPLE / THREADS;

struct SampleRoom {
  uint64_t keys[SAMPLE], words[32], result;
  template <class K> FZ_DEV K* sorted() { return reinterpret_cast<K*>(keys); }
};
// Returns the number of the last thread to all threads.
FZ_DEV uint64_t of_last(uint64_t v, SampleRoom& room) {
  if (threadIdx.x == THREADS - 1) room.result = v;
  __syncthreads();
  v = room.result;
  __syncthreads();
  return v;
}
// A sum and a maximum over all threads.
FZ_DEV uint64_t total(uint64_t v, SampleRoom& room) { return of_last(block_sum_to(v, room.words), room); }
FZ_DEV uint64_t largest(uint64_t v, SampleRoom& room) { return of_last(block_scan_to<Most>(v, room.words), room); }

// The steps of a bitonic sort of parts of `size` numbers in which the numbers of a warp change places. A thread has consecutive ones.
template <class K> FZ_DEV void sort_near(K (&v)[OWN], uint32_t size) {
  const uint32_t first = threadIdx.x * OWN;
#pragma unroll 1
  for (uint32_t apart = min(size / 2, 16 * OWN); apart >= OWN; apart /= 2) {
    const bool takes_less = ((first & apart) == 0) == ((first & size) == 0);
#pragma unroll
    for (uint32_t k = 0; k < OWN; k++) {
      const K other = __shfl_xor_sync(ALL, v[k], apart / OWN);
      v[k] = (v[k] < other) == takes_less ? v[k] : other;
    }
  }
#pragma unroll
  for (uint32_t apart = OWN / 2; apart > 0; apart /= 2) {
    if (apart > size / 2) continue;
#pragma unroll
    for (uint32_t k = 0; k < OWN; k++) {
      if (k & apart) continue;
      const K x = v[k], y = v[k + apart];
      const bool moves = (x > y) == (((first + k) & size) == 0);
      v[k] = moves ? y : x;
      v[k + apart] = moves ? x : y;
    }
  }
}
// Sorts the sample. Numbers behind it are the largest ones.
template <class K> FZ_DEV void sort_sample(K* sorted) {
  K v[OWN];
  constexpr uint32_t NEAR = 32 * OWN;
  auto load = [&] {
#pragma unroll
    for (uint32_t k = 0; k < OWN; k++) v[k] = sorted[threadIdx.x * OWN + k];
  };
  auto store = [&] {
#pragma unroll
    for (uint32_t k = 0; k < OWN; k++) sorted[threadIdx.x * OWN + k] = v[k];
    __syncthreads();
  };
  __syncthreads();
  load();
#pragma unroll 1
  for (uint32_t size = 2; size <= NEAR; size *= 2) sort_near(v, size);
  store();
#pragma unroll 1
  for (uint32_t size = 2 * NEAR; size <= SAMPLE; size *= 2) {
#pragma unroll 1
    for (uint32_t apart = size / 2; apart >= NEAR; apart /= 2) {
      for (uint32_t k = threadIdx.x; k < SAMPLE / 2; k += THREADS) exchange(sorted, k, size, apart);
      __syncthreads();
    }
    load();
    sort_near(v, size);
    store();
  }
}
// The number of equals from the first one on.
template <class K> FZ_DEV uint32_t equals(const K* sorted, uint32_t first, uint32_t count) {
  uint32_t low = first, high = count;
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    if (sorted[middle] == sorted[first]) low = middle;
    else high = middle;
  }
  return high - first;
}
// The elements of the sorted sample that equal the one before, and the most frequent value, the first of equals.
template <class K> struct MostFrequent {
  K value;
  uint32_t repeated, count;
  FZ_DEV MostFrequent(const K* sorted, uint32_t all, SampleRoom& room) : repeated(0) {
    uint64_t best = 0;
    for (uint32_t i = threadIdx.x; i < all; i += THREADS) {
      if (i > 0 && sorted[i] == sorted[i - 1]) {
        repeated++;
        continue;
      }
      const uint64_t own = (uint64_t)equals(sorted, i, all) << 32 | (SAMPLE - 1 - i);
      best = own > best ? own : best;
    }
    repeated = (uint32_t)total(repeated, room);
    best = largest(best, room);
    count = (uint32_t)(best >> 32);
    value = sorted[SAMPLE - 1 - (uint32_t)best];
  }
};
}  // namespace exact
}  // namespace fz
