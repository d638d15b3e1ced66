// Shared by entropy coders: streams whose parts have lengths that depend on the data. A first pass
// codes into slots and counts, a second one moves the slots together; each of its blocks adds up
// all counts before its own, so that no block waits for another.
#pragma once
#include "common/units.cuh"

namespace fz {
// An output: nothing is written beyond its room.
struct Out {
  uint8_t* at;
  uint64_t max;
  FZ_DEV explicit Out(const Operand& o) : at(address(o)), max(o.max) {}
  FZ_DEV Out(const Args& a) : Out(output(a, 0)) {}
  template <class T> FZ_DEV void put(uint64_t i, T w) const {
    if (i + sizeof(T) <= max) store<T>(at + i, w);
  }
  FZ_DEV void put16(uint64_t i, uint4 q) const {
    if (i + 16 <= max) store16(at + i, q);
    else if (i < max) store_part(at + i, q, (uint32_t)(max - i));
  }
};

// First pass: the sum of the counts of the warps of this block. Ends with a barrier.
FZ_DEV void note_tile(uint32_t& tile, uint32_t own) {
  __shared__ uint32_t sizes[CODER_TILE];
  if ((threadIdx.x & 31) == 0) sizes[threadIdx.x >> 5] = own;
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t sum = 0;
    for (uint32_t k = 0; k < CODER_TILE; k++) sum += sizes[k];
    tile = sum;
  }
  __syncthreads();
}

// Second pass: the words before the parts of this block, and the start of each part after them; the
// last entry is the end of the parts.
struct Places {
  uint64_t w[32], before;
  uint32_t starts[CODER_THREADS + 1];
  FZ_DEV void find(const uint32_t* tiles, uint32_t own) {
    const uint32_t tid = threadIdx.x;
    uint64_t sum = 0;
    static_assert(CODER_THREADS / CODER_TILE % 4 == 0, "four at a time");
    for (uint32_t i = tid; i < blockIdx.x * (CODER_THREADS / CODER_TILE / 4); i += CODER_THREADS) {
      const uint4 q = reinterpret_cast<const uint4*>(tiles)[i];
      sum += (uint64_t)q.x + q.y + q.z + q.w;
    }
    sum = block_sum_to(sum, w);
    if (tid == CODER_THREADS - 1) before = sum;
    const uint32_t upto = block_sum_to(own, reinterpret_cast<uint32_t*>(w));
    starts[tid] = upto - own;
    if (tid == CODER_THREADS - 1) starts[CODER_THREADS] = upto;
    __syncthreads();
  }
};

// Numbers of a header.
template <int N> FZ_DEV void put_words(const Out& out, uint64_t at, const uint64_t (&words)[N]) {
  for (int i = 0; i < N; i++) out.put<uint32_t>(at + 4 * i, (uint32_t)words[i]);
}
}  // namespace fz
