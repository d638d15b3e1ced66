// Stage exact, encoder: memory and numbers of a call.
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
// The choices for an array of integers: those of elements, and ranks in a table.
struct Round {
  Candidate of[CANDIDATES];
  uint64_t hole, cost;
  // The sample has a value of holes; its values repeat.
  uint32_t has_hole, repeats;
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
};
static_assert(sizeof(EncoderState) <= STATE_BYTES, "as in Rust");

// Zero when a call starts.
struct Zeroed {
  multilevel::Counts counts[PARTS];
  // The complement of the least place of the array, and the cost of the table.
  unsigned long long least, table_cost;
  // The number of elements that the factor does not divide; of distinct values, those of them that are in the list, and of slots with
  // a value.
  uint32_t odd, distinct, listed, ones;
};
static_assert(sizeof(Zeroed) == ZEROED_BYTES, "as in Rust");

// The elements that the encoder looks at.
struct Sample {
  uint32_t count, stride;
  FZ_DEV explicit Sample(uint32_t n) : stride(max(n / SAMPLE, 1u) | 1) { count = min(SAMPLE, (n + stride - 1) / stride); }
};

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
  // For both parts: tokens with their first raw bits, the other raw bits, and the number of integers other than holes of batches.
  uint16_t *kept, *more, *fields;
  // The integers, the ranks, the values of the table twice, and the numbers of values of the table.
  uint8_t *integers, *ranks, *values[2];
  // The search for distinct values.
  uint64_t* slots;
  uint32_t* rank_of;
  // For each chunk 1 more than its last element that is no hole, later than that of all chunks before.
  uint32_t* fills;
  uint8_t* pool;
  uint64_t pool_words;
  FZ_DEV EncoderMemory(const Args& a, const ExactParams& p) : Memory(a, p), all(*reinterpret_cast<EncoderState*>(state)), zeroed(*reinterpret_cast<Zeroed*>(a.zeroed)) {
    const uint64_t n = elements(p), room = table_room(p), both = n + room;
    sets = take<multilevel::EncoderSet>(2 * PARTS * sizeof(multilevel::EncoderSet));
    kept = take<uint16_t>(2 * both);
    more = take<uint16_t>(2 * both);
    fields = take<uint16_t>(2ull * (batch_room(most_values(p)) + batch_room(n)));
    integers = take<uint8_t>(p.width * n);
    ranks = take<uint8_t>(p.width * n);
    values[0] = take<uint8_t>(p.width * room);
    values[1] = take<uint8_t>(p.width * room);
    slots = take<uint64_t>(8ull * slots_of(p) + 8);
    rank_of = take<uint32_t>(4ull * slots_of(p) + 4);
    fills = take<uint32_t>(4 * ((n + FILL_CHUNK - 1) / FILL_CHUNK));
    pool = rest;
    const uint64_t bytes = both * p.width;
    pool_words = (bytes + (uint64_t)multilevel::RUN_ROOM * p.runs) / 2;
  }
  FZ_DEV multilevel::EncoderSet& set(uint32_t part, uint32_t kind) const { return sets[2 * part + kind - 1]; }
  FZ_DEV uint32_t first_code(uint32_t part, const ExactParams& p) const { return part == OF_TABLE ? 0 : table_room(p); }
  FZ_DEV bool has_table() const { return state->head.table > 0; }
  // The integers of a part, and the place of its numbers, where no integers are needed any more.
  template <class W> FZ_DEV const W* source(uint32_t part) const { return reinterpret_cast<const W*>(part == OF_TABLE ? values[0] : has_table() ? ranks : integers); }
  template <class W> FZ_DEV W* numbers(uint32_t part) const { return reinterpret_cast<W*>(part == OF_TABLE ? values[1] : has_table() ? integers : ranks); }
};

// The map of all elements. Valid behind `exact_places`.
template <class W> FZ_DEV Map<W> map_of(const EncoderMemory& memory, const ExactParams& p) {
  const EncoderState& s = memory.all;
  if (s.factor > 1 && memory.zeroed.odd == 0) return {p.kind, Map<W>::at(p.kind, ~memory.zeroed.least), (W)s.factor};
  return {p.kind, p.kind == FLOAT ? Map<W>::at(p.kind, s.least) : (W)0, 1};
}

// An array with the orders of its differences.
template <class W> struct Differences {
  const W* o;
  uint32_t row, plane, x;
  bool y, z;
  // Along y and z.
  FZ_DEV W flat(uint32_t i) const {
    const bool has_y = y && i % plane >= row, has_z = z && i >= plane;
    W d = o[i];
    if (has_y) d = (W)(d - o[i - row]);
    if (has_z) {
      d = (W)(d - o[i - plane]);
      if (has_y) d = (W)(d + o[i - row - plane]);
    }
    return d;
  }
  FZ_DEV W behind(uint32_t i, uint32_t k) const { return i >= k ? flat(i - k) : (W)0; }
  FZ_DEV W at(uint32_t i) const {
    const W a = flat(i);
    if (x == 0) return a;
    const W b = behind(i, 1);
    if (x == 1) return (W)(a - b);
    const W c = behind(i, 2);
    if (x == 2) return (W)(a - b - b + c);
    return (W)(a - 3 * b + 3 * c - behind(i, 3));
  }
};
template <class W> FZ_DEV Differences<W> differences_of(const EncoderMemory& memory, const ExactParams& p, uint32_t part) {
  const Head& h = memory.state->head;
  const W* o = memory.source<W>(part);
  if (part == OF_TABLE) return {o, 1, 1, 1, false, false};
  return {o, (uint32_t)p.dims[0], (uint32_t)(p.dims[0] * p.dims[1]), h.order, h.y != 0, h.z != 0};
}

// The numbers of a batch, by a warp: those of a lane, and the steps in which the lane has an integer and in which that is no hole.
template <class W> struct Numbers {
  W u[BATCH];
  uint32_t live, filled;
  FZ_DEV void load(const Differences<W>& of, const Form<W>& form, uint32_t count, uint32_t batch) {
    typedef typename Wide<W>::Word T;
    const uint32_t lane = threadIdx.x & 31, first = batch * POINTS + lane;
    // Differences along y and z, and those of the step before: neighbors along x are those of other lanes.
    W before = of.x && batch ? of.flat(first - STEP) : (W)0;
    live = 0;
#pragma unroll
    for (uint32_t j = 0; j < BATCH; j++) {
      const uint32_t i = first + j * STEP;
      live |= (uint32_t)(i < count) << j;
      u[j] = i < count ? of.flat(i) : (W)0;
    }
#pragma unroll 1
    for (uint32_t turn = 0; turn < of.x; turn++) {
#pragma unroll
      for (int j = BATCH - 1; j >= 0; j--) {
        const W step_before = j > 0 ? u[j > 0 ? j - 1 : 0] : before;
        const T near = __shfl_up_sync(ALL, (T)u[j], 1), last = __shfl_sync(ALL, (T)step_before, 31);
        u[j] = (W)(u[j] - (W)(lane ? near : last));
      }
      // The first lanes become wrong, and are not read.
      before = (W)(before - (W)__shfl_up_sync(ALL, (T)before, 1));
    }
#pragma unroll
    for (uint32_t j = 0; j < BATCH; j++) u[j] = live >> j & 1 ? form.number(u[j]) : (W)0;
    filled = live;
  }
  // With holes. `fill` is the last integer before the batch that is none.
  FZ_DEV void load(const Differences<W>& of, const Form<W>& form, uint32_t count, uint32_t batch, W hole, W fill) {
    typedef typename Wide<W>::Word T;
    const uint32_t lane = threadIdx.x & 31, first = batch * POINTS + lane;
    live = filled = 0;
#pragma unroll
    for (uint32_t j = 0; j < BATCH; j++) {
      const uint32_t i = first + j * STEP;
      const W o = i < count ? of.o[i] : hole;
      const uint32_t who = __ballot_sync(ALL, o != hole), before = who & ((1u << lane) - 1);
      const T near = __shfl_sync(ALL, (T)o, before ? 31 - __clz((int)before) : 0), last = __shfl_sync(ALL, (T)o, who ? 31 - __clz((int)who) : 0);
      const W from = of.x == 0 ? (W)0 : before ? (W)near : fill;
      if (who) fill = (W)last;
      live |= (uint32_t)(i < count) << j;
      filled |= (uint32_t)(o != hole) << j;
      u[j] = o != hole ? form.number((W)(o - from)) : (W)0;
    }
  }
  // The length of a number on average, in halves of bits. Returns false if the batch is quiet.
  FZ_DEV bool length(bool holes, uint32_t& halves) const {
    uint32_t sum = 0, count = __popc(filled);
#pragma unroll
    for (uint32_t j = 0; j < BATCH; j++) sum += length_of(u[j]);
    sum = __reduce_add_sync(ALL, sum);
    count = __reduce_add_sync(ALL, count);
    if (count == 0 || (!holes && sum == 0)) return false;
    halves = (4 * sum + count) / (2 * count);
    return true;
  }
};

// The last integer before a batch that is no hole, or 0, by a warp.
template <class W> FZ_DEV W fill_before(const EncoderMemory& memory, const W* o, W hole, uint32_t batch) {
  const uint32_t first = batch * POINTS, chunk = first / FILL_CHUNK, lane = threadIdx.x & 31;
#pragma unroll 1
  for (uint32_t end = first; end > chunk * FILL_CHUNK; end -= STEP) {
    const uint32_t who = __ballot_sync(ALL, o[end - STEP + lane] != hole);
    if (who) return o[end - 1 - __clz((int)who)];
  }
  const uint32_t last = memory.fills[chunk];
  return last ? o[last - 1] : (W)0;
}
}  // namespace exact
}  // namespace fz
