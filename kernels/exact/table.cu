// Stage exact, encoder: the distinct values of an array in ascending order, and the ranks of slots. Slots of a search hold values
// in any order; the list of values is sorted, so the order in which threads run does not matter.
#include "common/scan.cuh"
#include "exact/early.cuh"
#include "exact/exchange.cuh"
#include "exact/search.cuh"

namespace fz {
namespace exact {
constexpr uint32_t SORTED = 2048;
// Steps of a search between two looks at the number of values, and parts of the array for each warp.
constexpr uint32_t STEPS = 4, TURNS = 16;

// The values of a thread that it puts into slots.
template <class W> struct Inserts {
  W values[EACH];
  uint32_t slots[EACH];
  // The places of values that have no slot yet, and those of new values.
  uint32_t open, fresh;
  // One step for each value: it is found, it is put into an empty slot, or it continues behind the slots of the step. All slots are
  // read before any is changed, and all are changed before any result is needed, so that a thread waits twice. A slot with a value keeps
  // it, so earlier contents do no harm.
  FZ_DEV void step(const Search& search) {
    uint64_t there[EACH][2];
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
      const uint4 two = open >> k & 1 ? __ldcg(reinterpret_cast<const uint4*>(search.slots + (slots[k] & ~1u))) : make_uint4(0, 0, 0, 0);
      there[k][0] = (uint64_t)two.y << 32 | two.x;
      there[k][1] = (uint64_t)two.w << 32 | two.z;
    }
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
      uint64_t own = there[k][0];
      if (slots[k] & 1 || (own != values[k] && own != EMPTY)) {
        own = there[k][1];
        slots[k] |= 1;
      }
      if (open >> k & 1 && own == EMPTY)
        own = atomicCAS(reinterpret_cast<unsigned long long*>(search.slots) + slots[k], (unsigned long long)EMPTY, (unsigned long long)values[k]);
      there[k][0] = own;
    }
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
      if (!(open >> k & 1)) continue;
      const uint64_t own = there[k][0];
      const bool is_new = own == EMPTY;
      fresh |= (uint32_t)is_new << k;
      if (is_new || own == values[k]) open &= ~(1u << k);
      else slots[k] = (slots[k] + 1) & (search.count - 1);
    }
  }
};

// The parts of the array in an order in which consecutive ones are far from each other: values of neighbors repeat more often.
struct SearchParts {
  static constexpr uint32_t UNIT = EACH * 32;
  uint32_t units, regions, turns, each;
  FZ_DEV explicit SearchParts(uint32_t n) : units((n + UNIT - 1) / UNIT), regions(gridDim.x * (blockDim.x >> 5)) {
    turns = min(TURNS, (units + regions - 1) / regions);
    each = (units + turns * regions - 1) / (turns * regions);
  }
  // The first unit of part `number`; those behind the last one have none.
  FZ_DEV uint32_t first(uint32_t number) const { return min(units, (number % regions * turns + number / regions) * each); }
  FZ_DEV uint32_t count() const { return turns * regions; }
};
// A warp takes the next part when it is done with one. It counts its new values at once, since all warps count at one place. It does so
// before the next steps: if all slots are full, all values are counted, and each warp ends. It looks at the count also where it searches no
// value, as in a background.
template <class W> FZ_DEV void insert_all(const Args& a) {
  const ExactParams& p = params<ExactParams>(a);
  if (!is_searched(a, p)) return;
  const EncoderMemory memory(a, p);
  const Search search(memory, p);
  const uint32_t n = (uint32_t)elements(p), most = table_room(p), lane = threadIdx.x & 31;
  const Integers<W> o = integers_of<W>(a, memory, p);
  const volatile uint32_t* const distinct = &memory.zeroed.distinct;
  const SearchParts parts(n);
  uint32_t seen = *distinct;
#pragma unroll 1
  for (;;) {
    uint32_t number = lane == 0 ? atomicAdd(&memory.zeroed.parts, 1u) : 0;
    number = __shfl_sync(ALL, number, 0);
    if (number >= parts.count()) return;
    const uint32_t first = parts.first(number), end = min(parts.units, first + parts.each);
#pragma unroll 1
    for (uint32_t at = first; at < end; at++) {
      const uint32_t i = at * SearchParts::UNIT + EACH * lane;
      const Each<W> own = Each<W>::load(o.at, i, n);
      W last = i > 0 && i < n ? o.at[i - 1] : (W)~own.of[0];
      Inserts<W> inserts;
      inserts.open = inserts.fresh = 0;
#pragma unroll
      for (uint32_t k = 0; k < EACH; k++) {
        inserts.open |= (uint32_t)(i + k < n && own.of[k] != last) << k;
        last = own.of[k];
        inserts.values[k] = o.integer(own.of[k]);
        inserts.slots[k] = search.first(inserts.values[k]);
        // The value of an empty slot has no slot.
        if (inserts.values[k] == EMPTY && inserts.open >> k & 1) {
          inserts.open &= ~(1u << k);
          inserts.fresh |= (uint32_t)(__ldcg(&memory.zeroed.ones) == 0 && atomicExch(&memory.zeroed.ones, 1u) == 0) << k;
        }
      }
      do {
        if (__any_sync(ALL, seen > most)) return;
        seen = *distinct;
#pragma unroll 1
        for (uint32_t k = 0; k < STEPS && __any_sync(ALL, inserts.open); k++) inserts.step(search);
        const uint32_t count = warp_sum_to((uint32_t)__popc(inserts.fresh));
        if (lane == 31 && count) atomicAdd(&memory.zeroed.distinct, count);
        inserts.fresh = 0;
      } while (__any_sync(ALL, inserts.open));
    }
  }
}

// Lists the values as numbers in the order of a table. A warp finds the places of those in EACH slots of all lanes at once.
template <class W> FZ_DEV void list_values(const Args& a) {
  const ExactParams& p = params<ExactParams>(a);
  const uint32_t values = values_of(a, p), count = slots_of(p);
  if (values == 0) return;
  const EncoderMemory memory(a, p);
  W* to = reinterpret_cast<W*>(memory.values[0]);
  const uint32_t lane = threadIdx.x & 31, warps = gridDim.x * (blockDim.x >> 5);
#pragma unroll 1
  for (uint32_t part = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; part <= count / (32 * EACH); part += warps) {
    uint64_t own[EACH];
    uint32_t there = 0;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
      const uint32_t i = (part * EACH + k) * 32 + lane;
      own[k] = i < count ? memory.slots[i] : EMPTY;
      there |= (uint32_t)(own[k] != EMPTY || (i == count && memory.zeroed.ones)) << k;
    }
    const uint32_t upto = warp_sum_to((uint32_t)__popc(there));
    uint32_t at = lane == 31 && upto ? atomicAdd(&memory.zeroed.listed, upto) : 0;
    at = __shfl_sync(ALL, at, 31) + upto - __popc(there);
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
      if (!(there >> k & 1)) continue;
      if (at < values) to[at] = (W)Map<W>::key((W)own[k], p.kind);
      at++;
    }
  }
}

// A block sorts consecutive values.
template <class W> FZ_DEV void sort_values(const Args& a, W* sorted) {
  const ExactParams& p = params<ExactParams>(a);
  const uint32_t values = values_of(a, p), first = blockIdx.x * SORTED;
  if (first >= values) return;
  const EncoderMemory memory(a, p);
  W* list = reinterpret_cast<W*>(memory.values[0]) + first;
  for (uint32_t k = threadIdx.x; k < SORTED; k += blockDim.x) sorted[k] = first + k < values ? list[k] : (W)EMPTY;
#pragma unroll 1
  for (uint32_t size = 2; size <= SORTED; size *= 2)
#pragma unroll 1
    for (uint32_t apart = size / 2; apart > 0; apart /= 2) {
      __syncthreads();
      for (uint32_t k = threadIdx.x; k < SORTED / 2; k += blockDim.x) exchange(sorted, k, size, apart);
    }
  __syncthreads();
  for (uint32_t k = threadIdx.x; k < SORTED && first + k < values; k += blockDim.x) list[k] = sorted[k];
}

// Merges MERGED sorted parts at a time: the place of a value is the number of smaller ones in all of them, which are searched together.
constexpr uint32_t MERGED = 8;
template <class W> FZ_DEV void merge_values(const Args& a) {
  const ExactParams& p = params<ExactParams>(a);
  const uint32_t values = values_of(a, p), turn = a.tag, length = SORTED << 3 * turn;
  if (values == 0) return;
  const EncoderMemory memory(a, p);
  const W* from = reinterpret_cast<const W*>(memory.values[turn % 2]);
  W* to = reinterpret_cast<W*>(memory.values[1 - turn % 2]);
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < values; i += gridDim.x * blockDim.x) {
    const uint32_t first = i / (MERGED * length) * (MERGED * length);
    const W own = from[i];
    uint32_t smaller[MERGED] = {};
#pragma unroll 1
    for (uint32_t step = length; step > 0; step /= 2)
#pragma unroll
      for (uint32_t k = 0; k < MERGED; k++) {
        const uint32_t next = smaller[k] + step, at = first + k * length + next;
        if (next <= length && at <= values && from[at - 1] < own) smaller[k] = next;
      }
    uint32_t place = first;
#pragma unroll
    for (uint32_t k = 0; k < MERGED; k++) place += smaller[k];
    to[place] = own;
  }
}

// The values of the table, their ranks, and their cost.
template <class W> FZ_DEV void number_values(const Args& a, uint64_t* words) {
  const ExactParams& p = params<ExactParams>(a);
  const uint32_t values = values_of(a, p);
  if (values == 0) return;
  const EncoderMemory memory(a, p);
  const Search search(memory, p);
  // Behind an odd number of merges the values are in the second list.
  const W* sorted = reinterpret_cast<const W*>(memory.values[a.tag % 2]);
  W* to = reinterpret_cast<W*>(memory.values[1 - a.tag % 2]);
  uint64_t cost = 0;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < values; i += gridDim.x * blockDim.x) {
    const W value = (W)Map<W>::key(sorted[i], p.kind);
    to[i] = value;
    memory.rank_of[search.find(value)] = i;
    if (i > 0) cost += 4 * (1 + length_of((W)(value - (W)Map<W>::key(sorted[i - 1], p.kind))));
  }
  cost = block_sum_to(cost, words);
  if (threadIdx.x == blockDim.x - 1 && cost) atomicAdd(&memory.zeroed.table_cost, (unsigned long long)cost);
  if (blockIdx.x == 0 && threadIdx.x == 0) memory.state->head.table = values;
}
}  // namespace exact
}  // namespace fz

// Runs beside `exact_choose`, whose results it does not read.
extern "C" __global__ void __launch_bounds__(256) exact_insert(FZ_ARGS) {
  if (!fz::exact::cancelled_beside(a)) fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::insert_all<decltype(w)>(a); });
  fz::wait_prerequisites();
}
EXACT_BY_WORD(exact_list_values, list_values)
extern "C" __global__ void __launch_bounds__(1024) exact_sort_values(FZ_ARGS) {
  __shared__ uint64_t sorted[fz::exact::SORTED];
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::sort_values(a, reinterpret_cast<decltype(w)*>(sorted)); });
}
EXACT_BY_WORD(exact_merge_values, merge_values)
extern "C" __global__ void __launch_bounds__(256) exact_number_values(FZ_ARGS) {
  __shared__ uint64_t words[32];
  if (fz::cancelled(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::number_values<decltype(w)>(a, words); });
}
