// Stage multilevel, encoder: the set of tables of a kind: 0 that of all tokens of a section, 1 that of the tokens without quiet steps,
// 2 that of the masks.
#pragma once
#include "multilevel/memory.cuh"
#include "multilevel/table.cuh"

namespace fz {
namespace multilevel {
constexpr uint32_t SET_THREADS = 32 * CONTEXTS;

struct SetMaker {
  Log2 log;
  // The counts of a group of contexts are those of its first context.
  uint64_t counts[CONTEXTS][SYMBOLS];
  uint64_t cost[CONTEXTS], both[CONTEXTS];
  uint32_t first[CONTEXTS + 1], groups, best;
  bool stop;
  uint32_t lengths[TABLES + 1], words[SET_WORDS];

  FZ_DEV void load(const Counts& c, uint32_t kind) {
    for (uint32_t i = threadIdx.x; i < CONTEXTS * SYMBOLS; i += SET_THREADS) {
      const uint32_t k = i / SYMBOLS, s = i % SYMBOLS;
      uint64_t n = kind < 2 ? c.of[k][s] : s < 16 ? c.masks[k][s] : 0;
      if (kind == 0 && s == 0) n += c.quiet[k];
      counts[k][s] = n;
    }
    if (threadIdx.x <= CONTEXTS) first[threadIdx.x] = threadIdx.x;
    if (threadIdx.x == 0) groups = CONTEXTS;
  }
  // Computes the cost of a group, if `alone`, and of the group united with the next one.
  FZ_DEV void find_costs(uint32_t g, bool alone) {
    const uint32_t lane = threadIdx.x & 31;
    uint64_t a = counts[first[g]][lane], b = counts[first[g]][32 + lane];
    if (alone) {
      const uint64_t own = cost_of_counts(log, a, b);
      if (lane == 0) cost[g] = own;
    }
    if (g + 1 >= groups) return;
    a += counts[first[g + 1]][lane];
    b += counts[first[g + 1]][32 + lane];
    const uint64_t union_cost = cost_of_counts(log, a, b);
    if (lane == 0) both[g] = union_cost;
  }
  // By the first warp: the union of two neighbors that saves most, the first one of equals.
  FZ_DEV void choose() {
    const uint32_t lane = threadIdx.x & 31;
    long long most = lane + 1 < groups ? (long long)(cost[lane] + cost[lane + 1]) - (long long)both[lane] : INT64_MIN;
    // The largest high half, and the largest low half of those with it.
    const int high = (int)(most >> 32), top = __reduce_max_sync(ALL, high);
    const uint32_t low = high == top ? (uint32_t)most : 0, second = __reduce_max_sync(ALL, low);
    const uint32_t at = __ffs((int)__ballot_sync(ALL, high == top && low == second)) - 1;
    most = (long long)((unsigned long long)(uint32_t)top << 32 | second);
    if (lane == 0) {
      best = at;
      stop = groups == 1 || (most <= 0 && groups <= TABLES);
    }
  }
  // Unites group `best` and the next one.
  FZ_DEV void unite() {
    const uint32_t to = first[best], from = first[best + 1];
    if (threadIdx.x < SYMBOLS) counts[to][threadIdx.x] += counts[from][threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 32) {
      // The groups behind move by one.
      const uint32_t g = threadIdx.x;
      const bool moves = g > best && g + 1 < groups;
      const uint32_t own_first = moves ? first[g + 1] : 0;
      const uint64_t own_cost = g == best ? both[g] : moves ? cost[g + 1] : 0, own_both = moves ? both[g + 1] : 0;
      __syncwarp();
      if (moves || g == best) cost[g] = own_cost;
      if (moves) {
        first[g] = own_first;
        both[g] = own_both;
      }
      if (g == 0) groups--;
    }
    __syncthreads();
    const uint32_t warp = threadIdx.x >> 5;
    if (warp == 0) find_costs(best, false);
    if (warp == 1 && best > 0) find_costs(best - 1, false);
    __syncthreads();
  }
  FZ_DEV void put(uint32_t at, uint64_t value) {
    const uint32_t shift = at % 32;
    atomicOr(&words[at / 32], (uint32_t)(value << shift));
    const uint64_t high = shift ? value >> (32 - shift) : value >> 32;
    if ((uint32_t)high) atomicOr(&words[at / 32 + 1], (uint32_t)high);
  }
  FZ_DEV void write(EncoderSet& set) {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (uint32_t i = threadIdx.x; i < SET_WORDS; i += SET_THREADS) words[i] = 0;
    __syncthreads();
    const bool mine = warp < groups;
    const uint32_t of = mine ? first[warp] : 0;
    const MadeTable table(counts[of][lane], counts[of][32 + lane]);
    uint32_t bits[2];
    uint64_t value[2];
    table.code(0, bits[0], value[0]);
    table.code(1, bits[1], value[1]);
    const uint32_t low = warp_sum_to(bits[0]), high = warp_sum_to(bits[1]);
    const uint32_t all_low = __shfl_sync(ALL, low, 31), all_high = __shfl_sync(ALL, high, 31);
    if (mine && lane == 0) lengths[warp] = 12 + all_low + all_high;
    __syncthreads();
    if (threadIdx.x == 0) {
      uint32_t sum = CONTEXTS - 1, begins = 0;
      uint64_t all = 0;
      for (uint32_t g = 0; g < groups; g++) {
        const uint32_t own = lengths[g];
        lengths[g] = sum;
        sum += own;
        if (g > 0) begins |= 1u << (first[g] - 1);
        all += cost[g];
      }
      atomicOr(&words[0], begins);
      set.bits = sum;
      set.tables = groups;
      set.cost = all;
    }
    __syncthreads();
    if (mine) {
      const uint32_t at = lengths[warp];
      if (lane == 0) put(at, (table.entries - 1) | table.rest << 6);
      put(at + 12 + low - bits[0], value[0]);
      put(at + 12 + all_low + high - bits[1], value[1]);
      const uint2 one = encoder_entry(table.e.f[0], table.e.before[0]), other = encoder_entry(table.e.f[1], table.e.before[1]);
      for (uint32_t k = of; k < (warp + 1 < groups ? first[warp + 1] : CONTEXTS); k++) {
        set.entries[k][lane] = one;
        set.entries[k][32 + lane] = other;
      }
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < SET_WORDS; i += SET_THREADS) set.words[i] = words[i];
  }
  // All threads of a block of `SET_THREADS` must call the function: makes the set of a kind from the counts of a section.
  FZ_DEV void make(const Counts& c, uint32_t kind, EncoderSet& set) {
    log.fill();
    load(c, kind);
    __syncthreads();
    find_costs(threadIdx.x >> 5, true);
    __syncthreads();
    for (;;) {
      if (threadIdx.x < 32) choose();
      __syncthreads();
      if (stop) break;
      unite();
    }
    write(set);
  }
};
}  // namespace multilevel
}  // namespace fz
