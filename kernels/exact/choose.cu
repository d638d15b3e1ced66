// Stage exact, encoder: the costs of choices for the sample, and the choice, by the rules of src/stages/exact/choose.rs. A block computes
// those of an order, or of an order with holes. The first round is for elements, the second one for ranks in a table, for
// which one more block compares an order with the frequent values in front, by the rules of src/stages/exact/frequent.rs.
#include "common/scan.cuh"
#include "exact/early.cuh"
#include "exact/numbers.cuh"
#include "exact/sort_sample.cuh"

namespace fz {
namespace exact {

struct ChooseRoom : SampleRoom {
  uint32_t counts[256], digit, below;
};
FZ_DEV uint64_t log2_of(uint64_t n) { return length_of(n) - 1; }
// Bits of a mark of some of all elements.
FZ_DEV uint64_t mark(uint64_t all, uint64_t some) {
  const uint64_t share = all / (some ? some : 1);
  return 1 + log2_of(share ? share : 1);
}
// The length of a number in quarters of bits, about.
template <class W> FZ_DEV uint32_t quarters(W u) {
  const uint32_t n = length_of(u);
  return 4 * n + (n > 2 ? (uint32_t)(u >> (n - 3)) & 3 : 0);
}

// The differences of a thread, of which those in `has` count.
template <class W> struct Own {
  W d[OWN];
  uint32_t has;
  FZ_DEV uint64_t key(uint32_t k) const { return Map<W>::key(d[k], SIGNED); }
};
// Number `rank` of the sorted keys of all threads.
template <class W> FZ_DEV uint64_t select(const Own<W>& own, uint32_t rank, ChooseRoom& room) {
  uint64_t found = 0;
  if (threadIdx.x == 0) room.below = rank;
#pragma unroll 1
  for (int shift = BITS<W> - 8; shift >= 0; shift -= 8) {
    if (threadIdx.x < 256) room.counts[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (uint32_t k = 0; k < OWN; k++)
      if (own.has >> k & 1 && (shift + 8 == (int)BITS<W> || own.key(k) >> (shift + 8) == found)) atomicAdd(&room.counts[own.key(k) >> shift & 255], 1u);
    __syncthreads();
    if (threadIdx.x < 32) {
      // A lane has 8 digits.
      uint32_t left = room.below, digit = 8 * threadIdx.x, own = 0;
      for (uint32_t k = 0; k < 8; k++) own += room.counts[digit + k];
      const uint32_t upto = warp_sum_to(own);
      __syncwarp();
      if (left < upto && left >= upto - own) {
        left -= upto - own;
        while (left >= room.counts[digit]) left -= room.counts[digit++];
        room.digit = digit;
        room.below = left;
      }
    }
    __syncthreads();
    found = found << 8 | room.digit;
  }
  __syncthreads();
  return found;
}
// The forms that are compared: relative to 0, to the median, and to the least difference.
template <class W> FZ_DEV void find_forms(const Own<W>& own, uint32_t count, Form<W> (&forms)[FORMS], ChooseRoom& room) {
  forms[0] = forms[1] = forms[2] = {0, false};
  if (count == 0) return;
  uint64_t least = NEVER;
#pragma unroll
  for (uint32_t k = 0; k < OWN; k++)
    if (own.has >> k & 1) least = own.key(k) < least ? own.key(k) : least;
  const uint64_t median = select(own, count / 2, room);
  least = ~largest(~least, room);
  forms[1] = {(W)Map<W>::key((W)median, SIGNED), false};
  forms[2] = {(W)Map<W>::key((W)least, SIGNED), true};
}
FZ_DEV void put_candidate(Round& round, uint32_t number, uint64_t cost, uint64_t center, uint64_t n, uint64_t sample) {
  if (threadIdx.x == 0) round.of[number] = {cost == NEVER ? NEVER : cost * n / sample, center};
}

template <class W> FZ_DEV void choose_order(const Args& a, const EncoderMemory& memory, const ExactParams& p, const Integers<W>& o, ChooseRoom& room) {
  Round& round = memory.all.rounds[a.tag & 1];
  const uint32_t order = blockIdx.x, n = (uint32_t)elements(p);
  const Differences<W> of = {o, (uint32_t)p.dims[0], (uint32_t)(p.dims[0] * p.dims[1]), order & 3, (order >> 2 & 1) != 0, (order >> 3 & 1) != 0};
  const Sample sample(n);
  if ((of.y && p.dims[1] == 1) || (of.z && p.dims[2] == 1)) {
    for (uint32_t f = 0; f < FORMS; f++) put_candidate(round, FORMS * order + f, NEVER, 0, n, 1);
    return;
  }
  Own<W> own;
  own.has = 0;
#pragma unroll
  for (uint32_t k = 0; k < OWN; k++) {
    const uint32_t i = threadIdx.x + k * THREADS;
    own.has |= (uint32_t)(i < sample.count) << k;
    own.d[k] = i < sample.count ? of.at(i * sample.stride) : (W)0;
  }
  Form<W> forms[FORMS];
  find_forms(own, sample.count, forms, room);
#pragma unroll 1
  for (uint32_t f = 0; f < FORMS; f++) {
    uint64_t bits = 0, others = 0;
#pragma unroll
    for (uint32_t k = 0; k < OWN; k++) {
      if (!(own.has >> k & 1)) continue;
      const W u = forms[f].number(own.d[k]);
      bits += quarters(u);
      others += u != 0;
    }
    bits = total(bits, room);
    others = total(others, room);
    put_candidate(round, FORMS * order + f, bits + 4 * others * mark(sample.count, others), forms[f].center, n, sample.count);
  }
}

// The costs with holes. `x`: the order.
template <class W> FZ_DEV void choose_holes(const Args& a, const EncoderMemory& memory, const ExactParams& p, const Integers<W>& o, uint32_t x, ChooseRoom& room) {
  typedef typename Wide<W>::Word Key;
  Round& round = memory.all.rounds[a.tag & 1];
  const uint32_t n = (uint32_t)elements(p), first = FORMS * (ORDERS + x);
  const Sample sample(n);
  Key* sorted = room.sorted<Key>();
  for (uint32_t k = threadIdx.x; k < SAMPLE; k += THREADS) sorted[k] = k < sample.count ? (Key)o[k * sample.stride] : (Key)NEVER;
  sort_sample(sorted);
  const MostFrequent<Key> most(sorted, sample.count, room);
  const W hole = (W)most.value;
  if (threadIdx.x == 0 && x == 0) round.hole = hole;
  if (16 * most.count < sample.count) {
    for (uint32_t f = 0; f < FORMS; f++) put_candidate(round, first + f, NEVER, 0, n, 1);
    return;
  }
  Own<W> own;
  own.has = 0;
  uint64_t changes = 0;
#pragma unroll 1
  for (uint32_t k = 0; k < OWN; k++) {
    const uint32_t s = threadIdx.x + k * THREADS, i = s * sample.stride;
    own.d[k] = 0;
    if (s >= sample.count) continue;
    changes += i > 0 && (o[i - 1] == hole) != (o[i] == hole);
    if (o[i] == hole) continue;
    own.has |= 1u << k;
    W last = 0;
    if (x > 0) {
      uint32_t back = 1;
      while (back <= BACK && back <= i && o[i - back] == hole) back++;
      if (back <= BACK && back <= i) last = o[i - back];
    }
    own.d[k] = (W)(o[i] - last);
  }
  changes = total(changes, room);
  const uint64_t count = total(__popc(own.has), room);
  Form<W> forms[FORMS];
  find_forms(own, (uint32_t)count, forms, room);
#pragma unroll 1
  for (uint32_t f = 0; f < FORMS; f++) {
    uint64_t bits = 0;
#pragma unroll
    for (uint32_t k = 0; k < OWN; k++)
      if (own.has >> k & 1) bits += quarters(forms[f].number(own.d[k])) + 4;
    bits = total(bits, room);
    put_candidate(round, first + f, bits + 4 * changes * mark(sample.count, changes), forms[f].center, n, sample.count);
  }
}

// Puts a number of each thread into the sample, sorts it, and calls `f` with places and sorted numbers for the next ones.
template <class F> FZ_DEV void sort_next(uint32_t (&own)[OWN], ChooseRoom& room, F f) {
  uint32_t* sorted = room.sorted<uint32_t>();
#pragma unroll
  for (uint32_t k = 0; k < OWN; k++) sorted[threadIdx.x + k * THREADS] = own[k];
  sort_sample(sorted);
#pragma unroll 1
  for (uint32_t k = 0; k < OWN; k++) own[k] = f(threadIdx.x + k * THREADS, sorted[threadIdx.x + k * THREADS]);
  __syncthreads();
}
// A rank beside a number below SAMPLE: both have 32 bits.
static_assert((uint64_t)TABLE * SAMPLE == 1ull << 32, "the number of an absent rank is the largest one");
constexpr uint32_t ABSENT = ~0u;
// The frequent ranks, and the cost of the order with those in front.
template <class W> FZ_DEV void choose_frequent(const EncoderMemory& memory, const ExactParams& p, ChooseRoom& room) {
  const W* ranks = reinterpret_cast<const W*>(memory.ranks);
  const W* values = reinterpret_cast<const W*>(memory.values[0]);
  const uint32_t n = (uint32_t)elements(p);
  const Sample sample(n);
  uint32_t own[OWN];
#pragma unroll
  for (uint32_t k = 0; k < OWN; k++) {
    const uint32_t s = threadIdx.x + k * THREADS;
    own[k] = s < sample.count ? (uint32_t)ranks[s * sample.stride] : ABSENT;
  }
  sort_next(own, room, [&](uint32_t i, uint32_t rank) {
    const uint32_t* sorted = room.sorted<uint32_t>();
    if (rank == ABSENT || (i > 0 && sorted[i - 1] == rank)) return ABSENT;
    const uint32_t count = equals(sorted, i, sample.count);
    return count > 1 ? (SAMPLE - count) * TABLE + rank : ABSENT;
  });
  sort_next(own, room, [](uint32_t i, uint32_t of) { return of == ABSENT ? ABSENT : of % TABLE * SAMPLE + i; });
  uint64_t there = 0;
  Frequent* frequent = memory.frequent;
  sort_next(own, room, [&](uint32_t i, uint32_t of) {
    if (of != ABSENT) frequent[i] = {of / SAMPLE, of % SAMPLE};
    there += of != ABSENT;
    return of;
  });
  const uint32_t count = (uint32_t)total(there, room);
  uint64_t bits = 0, others = 0;
#pragma unroll 1
  for (uint32_t k = 0; k < OWN; k++) {
    const uint32_t s = threadIdx.x + k * THREADS;
    if (s >= sample.count) continue;
    const uint32_t u = new_rank(frequent, count, ranks[sample.between(s, n)]);
    bits += quarters(u);
    others += u != 0;
  }
  bits = total(bits, room);
  others = total(others, room);
  if (threadIdx.x != 0) return;
  const uint64_t cost = bits + 4 * others * mark(sample.count, others), range = length_of((W)(values[memory.state->head.table - 1] - values[0]));
  memory.all.frequent = count;
  memory.all.frequent_cost = cost * n / sample.count + 4 * (range + 1) * count;
}

// In the second round integers are ranks.
template <class W> FZ_DEV void choose(const Args& a, ChooseRoom& room) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  const bool ranks = a.tag & 1;
  if (elements(p) == 0 || (ranks && !memory.has_table())) return;
  const Integers<W> o = ranks ? Integers<W>(memory.ranks) : integers_of<W>(a, memory, p);
  if (blockIdx.x < ORDERS) choose_order(a, memory, p, o, room);
  else if (blockIdx.x < ORDERS + HOLE_ORDERS) choose_holes(a, memory, p, o, blockIdx.x - ORDERS, room);
  else choose_frequent<W>(memory, p, room);
}

// The least cost, the first of equals, by a warp.
FZ_DEV uint32_t cheapest(const Round& round) {
  uint32_t best = threadIdx.x;
  uint64_t least = round.of[best].cost;
#pragma unroll
  for (uint32_t k = best + 32; k < CANDIDATES; k += 32)
    if (round.of[k].cost < least) {
      least = round.of[k].cost;
      best = k;
    }
#pragma unroll
  for (uint32_t d = 16; d > 0; d /= 2) {
    const uint64_t cost = __shfl_xor_sync(ALL, least, d);
    const uint32_t other = __shfl_xor_sync(ALL, best, d);
    if (cost < least || (cost == least && other < best)) {
      least = cost;
      best = other;
    }
  }
  return best;
}
// Stores a choice.
FZ_DEV void take(Head& head, const Round& round, uint32_t best) {
  const uint32_t order = best / FORMS;
  head.holes = order >= ORDERS;
  head.order = head.holes ? order - ORDERS : order & 3;
  head.y = head.holes ? 0 : order >> 2 & 1;
  head.z = head.holes ? 0 : order >> 3 & 1;
  head.plain = best % FORMS == 2;
  head.hole = head.holes ? round.hole : 0;
  head.center = round.of[best].center;
}
// One warp decides about elements and ranks. A table must cost less together with its ranks.
FZ_DEV void decide(const Args& a) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0) return;
  Head& head = memory.state->head;
  const Round &plain = memory.all.rounds[0], &ranks = memory.all.rounds[1];
  const uint32_t best = cheapest(plain), best_of_ranks = head.table ? cheapest(ranks) : 0;
  if (threadIdx.x != 0) return;
  uint64_t cost = ranks.of[best_of_ranks].cost;
  const bool ordered = head.table && memory.all.frequent_cost < cost - cost / 32;
  if (ordered) cost = memory.all.frequent_cost;
  if (head.table && cost + memory.zeroed.table_cost >= plain.of[best].cost) head.table = 0;
  head.ordered = head.table && ordered;
  take(head, head.table ? ranks : plain, head.table ? best_of_ranks : best);
  if (head.ordered) {
    head.holes = head.order = head.y = head.z = 0;
    head.plain = 1;
    head.hole = head.center = 0;
  }
  set_part(memory.state->of[OF_TABLE], p, OF_TABLE, head.table);
  set_part(memory.state->of[OF_ARRAY], p, OF_ARRAY, (uint32_t)elements(p));
}
}  // namespace exact
}  // namespace fz

// The grid behind may start when the grids before have ended.
extern "C" __global__ void __launch_bounds__(1024) exact_choose(FZ_ARGS) {
  __shared__ fz::exact::ChooseRoom room;
  if (fz::multilevel::cancelled_late(a)) return;
  fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::choose<decltype(w)>(a, room); });
}
extern "C" __global__ void __launch_bounds__(32) exact_decide(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  fz::exact::decide(a);
}
