// Lengths of the codes of Huffman from counts, by one block of 1024 threads.
#pragma once
#include "huffman/stream.cuh"

namespace fz {
namespace huffman {
constexpr int BOOK_THREADS = 1024;
constexpr uint64_t NOWHERE = ~0ull;

// Memory for a book of up to `cap` symbols; I numbers twice as many nodes.
template <class I> struct BookNodes {
  uint64_t *key, *leaf, *node;  // count << 16 | symbol, to be sorted; counts of the leaves, and of the sums
  I *parent, *up, *symbol;      // parents of leaves, and from `cap` on those of sums; of sums twice, by turns; symbols of the leaves
  uint8_t *depth, *length;      // of sums, by turns; by symbol
  uint32_t cap;
};

// Words that all threads share.
struct BookShared {
  uint32_t w[32], number[33], first[32], entry[32], base[32], ranks[32][33];
  uint64_t sums[32];
  uint32_t leaves, inner, longest, most;
};

// In ascending order; `n` is a power of two. Pairs that are no more than 32 apart stay within a
// warp.
FZ_DEV void book_sort(uint64_t* key, uint32_t n) {
  for (uint32_t size = 2; size <= n; size <<= 1)
    for (uint32_t apart = size >> 1; apart; apart >>= 1) {
      for (uint32_t i = threadIdx.x; i < n / 2; i += BOOK_THREADS) {
        const uint32_t low = 2 * i - (i & (apart - 1)), high = low + apart;
        const uint64_t x = key[low], y = key[high];
        if ((x > y) == !(low & size)) { key[low] = y; key[high] = x; }
      }
      const uint32_t next = apart > 1 ? apart >> 1 : size;
      if (apart > 32 || next > 32) __syncthreads();
      else __syncwarp();
    }
  __syncthreads();
}

// The end of `book_queues`: the last nodes, no more than a warp has lanes, in registers in merged order.
// Each step pairs the two smallest. Returns the number of sums.
template <class S, class I> FZ_DEV uint32_t book_last(const BookNodes<I>& b, const S* all_leaves, const S* all_nodes, uint32_t leaf, uint32_t leaves, uint32_t node, uint32_t made, int lane) {
  const uint32_t ls = leaves - leaf, ns = made - node;
  const S *A = all_leaves + leaf, *B = all_nodes + node;
  uint32_t left = ls + ns;
  // Leaves among the first `lane` of the merged order.
  uint32_t low = (uint32_t)lane > ns ? lane - ns : 0, high = min((uint32_t)lane, ls);
  while (low < high) {
    const uint32_t m = (low + high) / 2;
    if (A[m] <= B[lane - 1 - m]) low = m + 1;
    else high = m;
  }
  const uint32_t x = low, y = lane - low;
  const bool there = (uint32_t)lane < left, is_leaf = there && x < ls && (y >= ns || A[x] <= B[y]);
  S count = !there ? (S)NOWHERE : is_leaf ? A[x] : B[y];
  uint32_t at = is_leaf ? leaf + x : b.cap + node + y;
  for (; left > 1; left--, made++) {
    const S sum = __shfl_sync(ALL, count, 0) + __shfl_sync(ALL, count, 1), count1 = __shfl_down_sync(ALL, count, 1), count2 = __shfl_down_sync(ALL, count, 2);
    const uint32_t at1 = __shfl_down_sync(ALL, at, 1), at2 = __shfl_down_sync(ALL, at, 2);
    if (lane < 2) b.parent[at] = (I)made;
    const uint32_t place = __popc(__ballot_sync(ALL, count <= sum)) - 2, own = (uint32_t)lane;  // seed: book-last
    at = own < place ? at2 : own == place ? b.cap + made : at1;
    count = own + 1 >= left ? (S)NOWHERE : own < place ? count2 : own == place ? sum : count1;
  }
  return made;
}

// One warp, no barrier. Per round all nodes that do not exceed the smallest sum are paired in
// merged order, with the result of repeatedly pairing the two smallest: new sums go after equal
// ones. The minimum doubles every two rounds.
template <class I> FZ_DEV uint32_t book_queues(const BookNodes<I>& b, uint32_t leaves, int lane) {
  uint32_t leaf = 0, node = 0, made = 0;
  while ((leaves - leaf) + (made - node) > 32) {
    const uint64_t L = leaf + lane < leaves ? b.leaf[leaf + lane] : NOWHERE, N = node + lane < made ? b.node[node + lane] : NOWHERE;
    const uint64_t l0 = __shfl_sync(ALL, L, 0), l1 = __shfl_sync(ALL, L, 1), n0 = __shfl_sync(ALL, N, 0), n1 = __shfl_sync(ALL, N, 1);
    const uint64_t sum = l0 <= n0 ? l0 + (l1 <= n0 ? l1 : n0) : n0 + (l0 <= n1 ? l0 : n1);
    uint32_t ls = __popc(__ballot_sync(ALL, L <= sum)), ns = __popc(__ballot_sync(ALL, N <= sum));
    for (uint32_t k = ls; k == 32; ls += k) k = __popc(__ballot_sync(ALL, (leaf + ls + lane < leaves ? b.leaf[leaf + ls + lane] : NOWHERE) <= sum));
    for (uint32_t k = ns; k == 32; ns += k) k = __popc(__ballot_sync(ALL, (node + ns + lane < made ? b.node[node + ns + lane] : NOWHERE) <= sum));
    const uint32_t pairs = (ls + ns) / 2;
    const uint64_t *A = b.leaf + leaf, *B = b.node + node;
    uint32_t used = 0;
    for (uint32_t q = lane; q < pairs; q += 32) {
      // Leaves among the first 2q of the merged order; one goes before an equal sum.
      uint32_t low = 2 * q > ns ? 2 * q - ns : 0, high = min(2 * q, ls);
      while (low < high) {
        const uint32_t m = (low + high) / 2;
        if (A[m] <= B[2 * q - 1 - m]) low = m + 1;
        else high = m;
      }
      uint32_t x = low, y = 2 * q - low;
      uint64_t total = 0;
      for (int k = 0; k < 2; k++) {
        const bool take = x < ls && (y >= ns || A[x] <= B[y]);
        if (take) { total += A[x]; b.parent[leaf + x] = (I)(made + q); x++; }
        else { total += B[y]; b.parent[b.cap + node + y] = (I)(made + q); y++; }
      }
      b.node[made + q] = total;
      used = x;
    }
    used = __shfl_sync(ALL, used, (pairs - 1) & 31);
    leaf += used;
    node += 2 * pairs - used;
    made += pairs;
    __syncwarp();
  }
  return book_last(b, b.leaf, b.node, leaf, leaves, node, made, lane);
}

// One thread: the heap of the reference, which moves nothing past its equal. Counts are in `key`,
// nodes in `up`, from place 1 on; `leaf` and `key` are not the same.
template <class I> FZ_DEV uint32_t book_heap(const BookNodes<I>& b, uint32_t leaves) {
  auto count = [&](uint32_t i) -> uint64_t& { return b.key[i - 1]; };
  auto id = [&](uint32_t i) -> I& { return b.up[i - 1]; };
  uint32_t size = 0, made = 0;
  auto insert = [&](uint64_t c, uint32_t node) {
    uint32_t i = ++size;
    for (; i > 1 && count(i / 2) > c; i /= 2) { count(i) = count(i / 2); id(i) = id(i / 2); }
    count(i) = c;
    id(i) = (I)node;
  };
  auto remove = [&](uint64_t& c) {
    c = count(1);
    const uint32_t node = id(1);
    const uint64_t last = count(size);
    const I moved = id(size);
    size--;
    uint32_t i = 1;
    while (2 * i <= size) {
      uint32_t child = 2 * i;
      if (child < size && count(child + 1) < count(child)) child++;
      if (last <= count(child)) break;
      count(i) = count(child);
      id(i) = id(child);
      i = child;
    }
    if (size) { count(i) = last; id(i) = moved; }
    return node;
  };
  for (uint32_t i = 0; i < leaves; i++) insert(b.leaf[i], i);
  while (size > 1) {
    uint64_t x, y;
    const uint32_t one = remove(x), other = remove(y);
    b.parent[one] = (I)made;
    b.parent[other] = (I)made;
    if (size) insert(x + y, b.cap + made);
    made++;
  }
  return made;
}

// Lengths for the counts, raised to `floor`; returns the longest.
template <class I> FZ_DEV uint32_t book_lengths(const BookNodes<I>& b, BookShared& s, const uint32_t* counts, uint32_t n, uint32_t floor, bool exact) {
  const uint32_t tid = threadIdx.x;
  if (tid == 0) s.leaves = 0;
  __syncthreads();
  // All threads have read the number of an earlier try.
  if (tid == 0) s.longest = 0;
  for (uint32_t at = 0; at < n; at += BOOK_THREADS) {
    const uint32_t symbol = at + tid;
    uint32_t count = 0;
    if (symbol < n) { count = max(counts[symbol], floor); b.length[symbol] = 0; }
    const uint32_t place = s.leaves + block_sum_to(count != 0 ? 1u : 0u, s.w);
    if (count) b.key[place - 1] = (uint64_t)count << 16 | symbol;
    __syncthreads();
    if (tid == BOOK_THREADS - 1) s.leaves = place;
    __syncthreads();
  }
  const uint32_t leaves = s.leaves;
  auto put = [&](uint32_t at, uint64_t key) {
    b.leaf[at] = key >> 16;
    b.symbol[at] = (I)(key & 0xffff);
  };
  if (!exact && leaves <= BOOK_THREADS) {
    // Of few the rank of each is found sooner than all are sorted.
    const uint64_t own = tid < leaves ? b.key[tid] : NOWHERE;
    uint32_t rank = 0;
    if (tid / 32 * 32 < leaves)
#pragma unroll 8
      for (uint32_t k = 0; k < leaves; k++) rank += b.key[k] < own;
    if (tid < leaves) put(rank, own);
  } else {
    if (!exact) {
      uint32_t n2 = 2;
      while (n2 < leaves) n2 <<= 1;
      for (uint32_t i = leaves + tid; i < n2; i += BOOK_THREADS) b.key[i] = NOWHERE;
      __syncthreads();
      book_sort(b.key, n2);
    }
    for (uint32_t i = tid; i < leaves; i += BOOK_THREADS) put(i, b.key[i]);
  }
  __syncthreads();
  if (leaves == 1) {
    if (tid == 0) b.length[b.symbol[0]] = 1;
    __syncthreads();
    return 1;
  }
  if (exact) {
    if (tid == 0) s.inner = book_heap(b, leaves);
  } else if (tid < 32) {
    const uint32_t made = book_queues(b, leaves, tid);
    if (tid == 0) s.inner = made;
  }
  __syncthreads();
  // Depths of sums by jumps that double; the last one is the root.
  const uint32_t inner = s.inner;
  for (uint32_t i = tid; i < inner; i += BOOK_THREADS) {
    const bool root = i + 1 == inner;
    b.up[i] = root ? (I)i : b.parent[b.cap + i];
    b.depth[i] = !root;
  }
  __syncthreads();
  uint32_t now = 0;
  for (bool more = true; more; now ^= b.cap) {
    more = false;
    const uint32_t then = now ^ b.cap;
    for (uint32_t i = tid; i < inner; i += BOOK_THREADS) {
      const I p = b.up[now + i], q = b.up[now + p];
      b.depth[then + i] = b.depth[now + i] + b.depth[now + p];
      b.up[then + i] = q;
      more |= (uint32_t)q + 1 != inner;
    }
    more = __syncthreads_or(more);
  }
  uint32_t longest = 0;
  for (uint32_t i = tid; i < leaves; i += BOOK_THREADS) {
    const uint32_t d = b.depth[now + b.parent[i]] + 1;
    b.length[b.symbol[i]] = (uint8_t)d;
    longest = max(longest, d);
  }
  longest = __reduce_max_sync(ALL, longest);
  if (tid % 32 == 0 && longest) atomicMax(&s.longest, longest);
  __syncthreads();
  return s.longest;
}
}  // namespace huffman
}  // namespace fz
