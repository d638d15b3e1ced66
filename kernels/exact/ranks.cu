// Stage exact, encoder: ranks in a table in place of integers. The choice among tables and orders reads few ranks, and most arrays whose
// values repeat cost less without a table.
#include "exact/search.cuh"

namespace fz {
namespace exact {
// The ranks that `exact_choose` reads, in their places: a warp has an element of the sample. These are the ones of the element, of BACK
// elements before it, of its neighbors along y and z with MOST_ORDER elements before each, and of an element behind it.
template <class W> FZ_DEV void rank_sample(const Args& a) {
  constexpr uint32_t NEAR = MOST_ORDER + 1, ALL_OF = BACK + 1 + 3 * NEAR + 1;
  const ExactParams& p = params<ExactParams>(a);
  if (values_of(a, p) == 0) return;
  const EncoderMemory memory(a, p);
  const Search search(memory, p);
  const uint32_t n = (uint32_t)elements(p), row = (uint32_t)p.dims[0], plane = (uint32_t)(p.dims[0] * p.dims[1]);
  const Sample sample(n);
  const Integers<W> o = integers_of<W>(a, memory, p);
  W* ranks = reinterpret_cast<W*>(memory.ranks);
  const uint32_t warps = gridDim.x * (blockDim.x >> 5);
#pragma unroll 1
  for (uint32_t s = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; s < sample.count; s += warps) {
    const uint32_t i = s * sample.stride;
#pragma unroll
    for (uint32_t k = threadIdx.x & 31; k < ALL_OF; k += 32) {
      const uint32_t axes = k > BACK ? (k - BACK - 1) / NEAR + 1 : 0;
      const uint64_t back = axes ? (k - BACK - 1) % NEAR + (axes & 1 ? (uint64_t)row : 0) + (axes & 2 ? (uint64_t)plane : 0) : k;
      const uint32_t at = k == ALL_OF - 1 ? sample.between(s, n) : back <= i ? (uint32_t)(i - back) : i;
      ranks[at] = (W)memory.rank_of[search.find(o[at])];
    }
  }
}

// The values in an order with the frequent ones in front, in the other list, and the new ranks of slots.
template <class W> FZ_DEV void order_values(const Args& a) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  const Head& head = memory.state->head;
  if (elements(p) == 0 || !head.ordered) return;
  const W* from = reinterpret_cast<const W*>(memory.values[0]);
  W* to = reinterpret_cast<W*>(memory.values[1]);
  const uint32_t count = slots_of(p), first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
  for (uint32_t i = first; i < head.table; i += step) to[new_rank(memory.frequent, memory.all.frequent, i)] = from[i];
  for (uint32_t i = first; i <= count; i += step)
    if (i < count ? memory.slots[i] != EMPTY : memory.zeroed.ones != 0) memory.rank_of[i] = new_rank(memory.frequent, memory.all.frequent, memory.rank_of[i]);
}

// The ranks of all elements, and the values of an ordered table in the list of others.
template <class W> FZ_DEV void rank_all(const Args& a) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0 || !memory.has_table()) return;
  const Search search(memory, p);
  const Head& head = memory.state->head;
  const uint32_t n = (uint32_t)elements(p);
  const Integers<W> o = integers_of<W>(a, memory, p);
  if (head.ordered) {
    const W* values = reinterpret_cast<const W*>(memory.values[1]);
    W* to = reinterpret_cast<W*>(memory.values[0]);
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < head.table; i += gridDim.x * blockDim.x) to[i] = values[i];
  }
  W* ranks = reinterpret_cast<W*>(memory.ranks);
#pragma unroll 1
  for (uint32_t i = EACH * (blockIdx.x * blockDim.x + threadIdx.x); i < n; i += EACH * gridDim.x * blockDim.x) {
    Each<W> own = Each<W>::load(o.at, i, n);
    // Equal neighbors have the same slot. The first slots of the others are read before any is needed, and then all ranks.
    uint32_t slot[EACH];
    uint64_t there[EACH];
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
      slot[k] = search.first(o.integer(own.of[k]));
      there[k] = k == 0 || own.of[k] != own.of[k - 1] ? search.slots[slot[k]] : EMPTY;
    }
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
      const uint64_t value = o.integer(own.of[k]);
      if (k > 0 && own.of[k] == own.of[k - 1]) slot[k] = slot[k - 1];
      else if (i + k < n && (there[k] != value || value == EMPTY)) slot[k] = search.find(value);
    }
    uint32_t rank[EACH];
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) rank[k] = i + k < n ? memory.rank_of[slot[k]] : 0;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) own.of[k] = (W)rank[k];
    own.store(ranks, i, n);
  }
}
}  // namespace exact
}  // namespace fz

EXACT_BY_WORD(exact_rank_sample, rank_sample)
EXACT_BY_WORD(exact_order_values, order_values)
EXACT_BY_WORD(exact_rank, rank_all)
