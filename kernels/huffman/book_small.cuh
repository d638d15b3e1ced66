// Lengths of the codes of Huffman for books of at most BOOK_THREADS symbols, of arrays of fewer than FEW_COUNTED codes.
// Counts, and sums of them, are words.
#pragma once
#include "huffman/book_lengths.cuh"

namespace fz {
namespace huffman {
constexpr uint64_t FEW_COUNTED = 1 << 22;
constexpr uint32_t SYMBOL_BITS = 10;
static_assert(BOOK_THREADS == 1 << SYMBOL_BITS, "a key has a count and a symbol");

// Leaves in ascending order; returns their number.
FZ_DEV uint32_t small_leaves(const BookNodes<uint16_t>& b, BookShared& s, uint32_t* leaf, const uint32_t* counts, uint32_t n, uint32_t floor) {
  const uint32_t tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  uint32_t *key = reinterpret_cast<uint32_t*>(b.key), *rank = key + BOOK_THREADS;
  const uint32_t count = tid < n ? max(counts[tid], floor) : 0, some = __ballot_sync(ALL, count != 0);
  if (tid < n) b.length[tid] = 0;
  rank[tid] = 0;
  if (lane == 0) s.w[warp] = __popc(some);
  __syncthreads();
  const uint32_t of_warp = s.w[lane], upto = warp_sum_to(of_warp), leaves = __shfl_sync(ALL, upto, 31);
  const uint32_t place = __shfl_sync(ALL, upto - of_warp, warp) + __popc(some & ((1u << lane) - 1));
  if (count) key[place] = count << SYMBOL_BITS | tid;
  if (tid >= leaves) key[tid] = ~0u;
  __syncthreads();
  // Several warps compare the keys of a warp with a share of all keys each.
  const uint32_t warps = (leaves + 31) / 32, shares = warps ? 32 / warps : 0, each = shares ? ((leaves + 3) / 4 + shares - 1) / shares : 0, share = warps ? warp / warps : 0;
  const uint32_t mine = warps ? warp % warps * 32 + lane : 0, own = key[mine];
  if (share < shares) {
    uint32_t before = 0;
    const uint4* all = reinterpret_cast<const uint4*>(key);
#pragma unroll 4
    for (uint32_t k = share * each; k < min((share + 1) * each, (leaves + 3) / 4); k++) {
      const uint4 q = all[k];
      before += (q.x < own) + (q.y < own) + (q.z < own) + (q.w < own);
    }
    if (mine < leaves && before) atomicAdd(&rank[mine], before);
  }
  __syncthreads();
  if (tid < leaves) {
    leaf[rank[tid]] = key[tid] >> SYMBOL_BITS;
    b.symbol[rank[tid]] = (uint16_t)(key[tid] & (BOOK_THREADS - 1));
  }
  __syncthreads();
  return leaves;
}

// How many of the values of a warp, which ascend, are below `x`, or not above it.
template <bool BELOW> FZ_DEV uint32_t count_below(uint32_t values, uint32_t x) {
  uint32_t n = 0;
#pragma unroll
  for (uint32_t step = 16; step; step >>= 1) {
    const uint32_t v = __shfl_sync(ALL, values, n + step - 1);
    if (BELOW ? v < x : v <= x) n += step;
  }
  const uint32_t v = __shfl_sync(ALL, values, n);
  return n + (BELOW ? v < x : v <= x);
}

// As book_queues, with no more than 32 leaves and 32 sums in a round, in registers. `merged`: 64 words.
FZ_DEV uint32_t small_queues(const BookNodes<uint16_t>& b, const uint32_t* all_leaves, uint32_t* sums, uint32_t* merged, uint32_t leaves, int lane) {
  constexpr uint32_t NONE = ~0u;
  uint32_t leaf = 0, node = 0, made = 0;
  while ((leaves - leaf) + (made - node) > 32) {
    const uint32_t L = leaf + lane < leaves ? all_leaves[leaf + lane] : NONE, N = node + lane < made ? sums[node + lane] : NONE;
    const uint32_t l0 = __shfl_sync(ALL, L, 0), l1 = __shfl_sync(ALL, L, 1), n0 = __shfl_sync(ALL, N, 0), n1 = __shfl_sync(ALL, N, 1);
    const uint32_t l31 = __shfl_sync(ALL, L, 31), n31 = __shfl_sync(ALL, N, 31);
    const uint32_t sum = l0 <= n0 ? l0 + (l1 <= n0 ? l1 : n0) : n0 + (l0 <= n1 ? l0 : n1);
    // Behind 32 leaves there may be more that go before a sum, and behind 32 sums more that go before a leaf.
    const bool of_leaves = L <= sum && (n31 > sum || L <= n31), of_sums = N <= sum && (l31 > sum || N < l31);
    const uint32_t ls = __popc(__ballot_sync(ALL, of_leaves)), ns = __popc(__ballot_sync(ALL, of_sums)), pairs = (ls + ns) / 2;
    const uint32_t l = of_leaves ? L : NONE, n = of_sums ? N : NONE;
    // A leaf goes before an equal sum.
    const uint32_t leaf_at = lane + count_below<true>(n, l), sum_at = lane + count_below<false>(l, n);
    if (of_leaves) {
      merged[leaf_at] = L;
      if (leaf_at < 2 * pairs) b.parent[leaf + lane] = (uint16_t)(made + leaf_at / 2);
    }
    if (of_sums) {
      merged[sum_at] = N;
      if (sum_at < 2 * pairs) b.parent[b.cap + node + lane] = (uint16_t)(made + sum_at / 2);
    }
    const uint32_t used = __popc(__ballot_sync(ALL, of_leaves && leaf_at < 2 * pairs));
    __syncwarp();
    if ((uint32_t)lane < pairs) {
      const uint2 two = reinterpret_cast<const uint2*>(merged)[lane];
      sums[made + lane] = two.x + two.y;
    }
    leaf += used;
    node += 2 * pairs - used;
    made += pairs;
    __syncwarp();
  }
  return book_last(b, all_leaves, sums, leaf, leaves, node, made, lane);
}

// As book_lengths.
FZ_DEV uint32_t small_lengths(const BookNodes<uint16_t>& b, BookShared& s, const uint32_t* counts, uint32_t n, uint32_t floor) {
  const uint32_t tid = threadIdx.x;
  uint32_t *leaf = reinterpret_cast<uint32_t*>(b.leaf), *sums = reinterpret_cast<uint32_t*>(b.node);
  const uint32_t leaves = small_leaves(b, s, leaf, counts, n, floor);
  if (tid == 0) s.longest = 0;
  if (leaves == 1) {
    if (tid == 0) b.length[b.symbol[0]] = 1;
    __syncthreads();
    return 1;
  }
  if (tid < 32) small_queues(b, leaf, sums, reinterpret_cast<uint32_t*>(b.key), leaves, tid);
  __syncthreads();
  // The last sum is the root.
  uint32_t depth = 0;
  if (tid < leaves) {
    depth = 1;
    for (uint32_t at = b.parent[tid]; at + 2 < leaves; at = b.parent[b.cap + at]) depth++;  // seed: small-depth
    b.length[b.symbol[tid]] = (uint8_t)min(depth, 255u);
  }
  depth = __reduce_max_sync(ALL, depth);
  if (tid % 32 == 0 && depth) atomicMax(&s.longest, depth);
  __syncthreads();
  return s.longest;
}
}  // namespace huffman
}  // namespace fz
