// Stage multilevel, encoder: the sets of tables of all sections. A block computes one set: that of all
// tokens of a section, of the tokens without quiet steps, or of the masks.
#include "multilevel/memory.cuh"
#include "multilevel/table.cuh"

namespace fz {
namespace multilevel {
constexpr uint32_t THREADS = 32 * CONTEXTS;

struct SetMaker {
  Log2 log;
  // The counts of a group of contexts are those of its first context.
  uint64_t counts[CONTEXTS][SYMBOLS];
  uint64_t cost[CONTEXTS], both[CONTEXTS];
  uint32_t first[CONTEXTS + 1], groups, best;
  bool stop;
  uint32_t lengths[TABLES + 1], words[SET_WORDS];

  FZ_DEV void load(const Counts& c, uint32_t kind) {
    for (uint32_t i = threadIdx.x; i < CONTEXTS * SYMBOLS; i += THREADS) {
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
  FZ_DEV void choose() {
    long long most = 0;
    best = 0;
    for (uint32_t g = 0; g + 1 < groups; g++) {
      const long long gain = (long long)(cost[g] + cost[g + 1]) - (long long)both[g];
      if (g == 0 || gain > most) {
        most = gain;
        best = g;
      }
    }
    stop = groups == 1 || (most <= 0 && groups <= TABLES);
  }
  // Unites group `best` and the next one.
  FZ_DEV void unite() {
    const uint32_t to = first[best], from = first[best + 1];
    if (threadIdx.x < SYMBOLS) counts[to][threadIdx.x] += counts[from][threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
      cost[best] = both[best];
      groups--;
      for (uint32_t g = best + 1; g < groups; g++) {
        first[g] = first[g + 1];
        cost[g] = cost[g + 1];
        both[g] = both[g + 1];
      }
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
    for (uint32_t i = threadIdx.x; i < SET_WORDS; i += THREADS) words[i] = 0;
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
      for (uint32_t g = 0; g < groups; g++) {
        const uint32_t own = lengths[g];
        lengths[g] = sum;
        sum += own;
        if (g > 0) begins |= 1u << (first[g] - 1);
      }
      atomicOr(&words[0], begins);
      set.bits = sum;
      set.tables = groups;
      set.cost = 0;
      for (uint32_t g = 0; g < groups; g++) set.cost += cost[g];
    }
    __syncthreads();
    if (mine) {
      const uint32_t at = lengths[warp];
      if (lane == 0) put(at, (table.entries - 1) | table.rest << 6);
      put(at + 12 + low - bits[0], value[0]);
      put(at + 12 + all_low + high - bits[1], value[1]);
      for (uint32_t k = of; k < (warp + 1 < groups ? first[warp + 1] : CONTEXTS); k++) {
        set.entries[k][lane] = encoder_entry(table.e.f[0], table.e.before[0]);
        set.entries[k][32 + lane] = encoder_entry(table.e.f[1], table.e.before[1]);
      }
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < SET_WORDS; i += THREADS) set.words[i] = words[i];
  }
};
}  // namespace multilevel
}  // namespace fz

extern "C" __global__ void __launch_bounds__(512) multilevel_tables(FZ_ARGS) {
  using namespace fz::multilevel;
  __shared__ SetMaker maker;
  if (fz::cancelled(a)) return;
  const MultilevelParams& p = fz::params<MultilevelParams>(a);
  const EncoderMemory memory(a, p);
  const uint32_t section = blockIdx.x / 3, kind = blockIdx.x % 3;
  if (section >= memory.plan->sections) return;
  const Section& s = memory.plan->of[section];
  if (s.kind == BASE && kind > 0) return;
  maker.log.fill();
  maker.load(memory.counts[section], kind);
  __syncthreads();
  maker.find_costs(threadIdx.x >> 5, true);
  __syncthreads();
  for (;;) {
    if (threadIdx.x == 0) maker.choose();
    __syncthreads();
    if (maker.stop) break;
    maker.unite();
  }
  maker.write(memory.set(section, kind));
}
