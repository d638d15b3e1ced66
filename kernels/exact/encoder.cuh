// Stage exact, encoder: the memory of a call, and the integers of elements.
#pragma once
#include "exact/memory.cuh"
#include "multilevel/source.cuh"

namespace fz {
namespace exact {
// The choices that are compared: 16 orders along axes, and 2 with holes, with three forms each.
constexpr uint32_t ORDERS = 16, HOLE_ORDERS = 2, FORMS = 3, CANDIDATES = (ORDERS + HOLE_ORDERS) * FORMS;
constexpr uint64_t NEVER = ~0ull;

struct Candidate {
  uint64_t cost, center;
};
// A frequent rank, and the new one.
struct Frequent {
  uint32_t rank, to;
};
// The choices for an array of integers: those of elements, and ranks in a table.
struct Round {
  Candidate of[CANDIDATES];
  uint64_t hole;
};
// The encoder's numbers; its first member is the state that a decoder has too.
struct EncoderState {
  State common;
  Round rounds[2];
  // The least place of the sample, and the common factor of its differences.
  uint64_t least, factor;
  // Words of the stream. `overflows` counts runs that did not fit into their slots, and `stored` is 1 if the stream is the elements.
  uint64_t words[PARTS], at[PARTS];
  uint32_t overflows, stored;
  // Values of the sample repeat.
  uint32_t repeats;
  // The cost of ranks if those of frequent values are small, and the number of these.
  uint64_t frequent_cost;
  uint32_t frequent;
};
static_assert(sizeof(EncoderState) <= STATE_BYTES, "as in Rust");

// Zero when a call starts.
struct Zeroed {
  multilevel::Counts counts[PARTS];
  // The complement of the least place of the array, and the cost of the table.
  unsigned long long least, table_cost;
  // The number of elements that the factor does not divide; of distinct values, those of them that are in the list, and of slots with
  // a value; and parts of the array that are searched.
  uint32_t odd, distinct, listed, ones, parts, pad[3];
};
static_assert(sizeof(Zeroed) == ZEROED_BYTES, "as in Rust");

// The token of a code with the number and the value of its raw bits, of which a long code has others.
struct Kept {
  static constexpr uint32_t BITS = 6, RAW = 11, ALL_BITS = 31 << BITS, LONG = multilevel::EXACT | ALL_BITS;
  // In place of a lane that has no integer in a step: token 63, which does not occur, so that its entry is 0.
  static constexpr uint32_t NONE = 63;
};

// The elements that the encoder looks at.
struct Sample {
  uint32_t count, stride;
  FZ_DEV explicit Sample(uint32_t n) : stride(max(n / SAMPLE, 1u) | 1) { count = min(SAMPLE, (n + stride - 1) / stride); }
  // Another element behind number s, for the cost of an order that is made from the sample: the sample itself would flatter it.
  FZ_DEV uint32_t between(uint32_t s, uint32_t n) const { return min(n - 1, s * stride + (count > 1 ? stride / 2 : 0)); }
};
// The most elements before an element that a hole's cost reads.
constexpr uint32_t BACK = 32;

// The new rank, by `count` frequent ranks; other values follow the frequent ones in their order.
FZ_DEV uint32_t new_rank(const Frequent* frequent, uint32_t count, uint32_t rank) {
  uint32_t low = 0, high = count;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (frequent[middle].rank < rank) low = middle + 1;
    else high = middle;
  }
  return low < count && frequent[low].rank == rank ? frequent[low].to : rank + count - low;
}

// The most values of a table that the encoder makes.
FZ_DEV uint32_t table_room(const ExactParams& p) { return (uint32_t)min((unsigned long long)(elements(p) / 4), (unsigned long long)TABLE); }
FZ_DEV uint32_t slots_of(const ExactParams& p) {
  uint32_t slots = 64;
  while (slots < 2 * table_room(p)) slots *= 2;
  return slots;
}
constexpr uint32_t FILL_CHUNK = 2048;

struct EncoderMemory : Memory {
  EncoderState& all;
  Zeroed& zeroed;
  // For each part the sets of the tokens and of the classes.
  multilevel::EncoderSet* sets;
  // For both parts: tokens with their raw bits, and the number of integers other than holes of batches.
  uint32_t* kept;
  uint16_t* fields;
  // The integers, the ranks, and the values of the table twice. One of each two is later used for numbers. The other one of integers and
  // ranks is later used for runs, with the memory between both.
  uint8_t *integers, *ranks, *between, *values[2];
  // The search for distinct values, in the memory of the tokens; the frequent ranks in ascending order.
  uint64_t* slots;
  uint32_t* rank_of;
  Frequent* frequent;
  // For each chunk 1 more than its last element that is no hole, later than that of all chunks before.
  uint32_t* fills;
  uint64_t pool_words;
  FZ_DEV EncoderMemory(const Args& a, const ExactParams& p) : Memory(a, p), all(*reinterpret_cast<EncoderState*>(state)), zeroed(*reinterpret_cast<Zeroed*>(a.zeroed)) {
    const uint64_t n = elements(p), room = table_room(p), both = whole_batches(n) + whole_batches(room);
    sets = take<multilevel::EncoderSet>(2 * PARTS * sizeof(multilevel::EncoderSet));
    uint8_t* const tokens = rest;
    slots = take<uint64_t>(8ull * slots_of(p) + 8);
    rank_of = take<uint32_t>(4ull * slots_of(p) + 4);
    uint8_t* const searched = rest;
    rest = tokens;
    kept = take<uint32_t>(4 * both);
    fields = take<uint16_t>(2ull * (batch_room(most_values(p)) + batch_room(n)));
    if (rest < searched) rest = searched;
    const uint64_t bytes = p.width * whole_batches(n), beside = up(p.width < 4 ? (uint64_t)multilevel::RUN_ROOM * p.runs : 0);
    ranks = take<uint8_t>(bytes);
    between = take<uint8_t>(beside);
    integers = take<uint8_t>(bytes);
    values[0] = take<uint8_t>(p.width * whole_batches(room));
    values[1] = take<uint8_t>(p.width * whole_batches(room));
    fills = take<uint32_t>(4 * ((n + FILL_CHUNK - 1) / FILL_CHUNK));
    frequent = take<Frequent>(SAMPLE / 2 * sizeof(Frequent));
    pool_words = (bytes + beside) / 2;
  }
  // The slots of runs. Valid behind `exact_code`.
  FZ_DEV uint8_t* pool() const { return has_table() ? ranks : between; }
  FZ_DEV multilevel::EncoderSet& set(uint32_t part, uint32_t kind) const { return sets[2 * part + kind - 1]; }
  FZ_DEV uint32_t first_code(uint32_t part, const ExactParams& p) const { return part == OF_TABLE ? 0 : (uint32_t)whole_batches(table_room(p)); }
  FZ_DEV bool has_table() const { return state->head.table > 0; }
  // The place of the numbers of a batch, where no integers are needed any more. It has their low bits, as in a stream. If some codes
  // are long, the bits above them follow, those of all numbers.
  FZ_DEV uint8_t* numbers(uint32_t part, uint32_t batch, uint32_t width) const { return (part == OF_TABLE ? values[1] : has_table() ? integers : ranks) + (uint64_t)batch * POINTS * width; }
};

// The map of all elements. Valid behind `exact_places`.
template <class W> FZ_DEV Map<W> map_of(const EncoderMemory& memory, const ExactParams& p) {
  const EncoderState& s = memory.all;
  if (s.factor > 1 && memory.zeroed.odd == 0) return {p.kind, Map<W>::at(p.kind, ~memory.zeroed.least), (W)s.factor};
  return {p.kind, p.kind == FLOAT ? Map<W>::at(p.kind, s.least) : (W)0, 1};
}

// Elements that launches read instead of integers: those that have no factor, or one that is a shift, and that are aligned.
template <class W> FZ_DEV bool is_direct(const Args& a, const Map<W>& map) {
  return (map.factor == 1 || (sizeof(W) == 8 && is_power(map.factor))) && aligned(address(input(a, 0)), 16);
}
// The integers of elements. Valid behind `exact_integers`.
template <class W> FZ_DEV Integers<W> integers_of(const Args& a, const EncoderMemory& memory, const ExactParams& p) {
  const Map<W> map = map_of<W>(memory, p);
  return is_direct(a, map) ? Integers<W>(address(input(a, 0)), map) : Integers<W>(memory.integers);
}
// The integers of a part.
template <class W> FZ_DEV Integers<W> source_of(const Args& a, const EncoderMemory& memory, const ExactParams& p, uint32_t part) {
  if (part == OF_TABLE) return Integers<W>(memory.values[0]);
  return memory.has_table() ? Integers<W>(memory.ranks) : integers_of<W>(a, memory, p);
}
}  // namespace exact
}  // namespace fz
