// Stage exact, encoder: memory and numbers of a call.
#pragma once
#include "exact/memory.cuh"
#include "multilevel/quantize.cuh"
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
  // a value.
  uint32_t odd, distinct, listed, ones;
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
};

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
  // The search for distinct values, in the memory of the tokens.
  uint64_t* slots;
  uint32_t* rank_of;
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
    pool_words = (bytes + beside) / 2;
  }
  // The frequent ranks in ascending order, and later the new rank of each one. Valid between `exact_rank` and `exact_code`.
  FZ_DEV Frequent* frequent() const { return reinterpret_cast<Frequent*>(slots); }
  FZ_DEV uint32_t* new_ranks() const { return rank_of; }
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

// An array with the orders of its differences.
template <class W> struct Differences {
  Integers<W> o;
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
  // True if all integers of a batch exist, and the neighbors of these and of the MOST_ORDER integers before.
  FZ_DEV bool is_inside(uint32_t begin, uint32_t count) const {
    if (begin == 0 || begin + POINTS > count || (z && begin < plane + MOST_ORDER)) return false;
    if (!y) return true;
    const uint32_t in_plane = begin % plane;
    return in_plane >= row + MOST_ORDER && in_plane + POINTS <= plane;
  }
  // As `flat` where all neighbors exist.
  FZ_DEV W inside(uint32_t i) const {
    W d = o[i];
    if (y) d = (W)(d - o[i - row]);
    if (z) d = (W)(d - o[i - plane]);
    if (y && z) d = (W)(d + o[i - row - plane]);
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
template <class W> FZ_DEV Differences<W> differences_of(const Args& a, const EncoderMemory& memory, const ExactParams& p, uint32_t part) {
  const Head& h = memory.state->head;
  const Integers<W> o = source_of<W>(a, memory, p, part);
  if (part == OF_TABLE) return {o, 1, 1, 1, false, false};
  return {o, (uint32_t)p.dims[0], (uint32_t)(p.dims[0] * p.dims[1]), h.order, h.y != 0, h.z != 0};
}

// The places of a lane in a batch whose neighbors along y and z exist.
struct Neighbors {
  uint32_t y, z;
  template <class W> FZ_DEV Neighbors(const Differences<W>& of, uint32_t first) : y(0), z(0) {
    const uint32_t at = first + (threadIdx.x & 31) * EACH;
    if (of.z) z = from(at, of.plane);
    if (!of.y) return;
    if (of.plane > POINTS) {
      // At most one plane begins in the batch.
      const uint32_t in_plane = first % of.plane + (threadIdx.x & 31) * EACH;
      y = from(in_plane, of.row);
      if (in_plane + EACH > of.plane) y &= ~from(in_plane, of.plane) | from(in_plane, of.plane + of.row);
      return;
    }
#pragma unroll 1
    for (uint32_t k = 0; k < EACH; k++) y |= (uint32_t)((at + k) % of.plane >= of.row) << k;
  }
  // The places from `at` on that are at `least` or behind it.
  static FZ_DEV uint32_t from(uint32_t at, uint32_t least) { return at >= least ? ALL_OF : ALL_OF << min(least - at, EACH) & ALL_OF; }
  static constexpr uint32_t ALL_OF = (1u << EACH) - 1;
};

// The numbers of a batch, by a warp, of which a lane has consecutive ones: those of the lane, and the places where it has an integer
// and where that is no hole.
template <class W> struct Numbers {
  typedef typename Wide<W>::Word T;
  W u[EACH];
  uint32_t live, filled;
  FZ_DEV static uint32_t first_of(uint32_t batch) { return batch * POINTS + (threadIdx.x & 31) * EACH; }
  FZ_DEV void look(uint32_t first, uint32_t count) { live = count >= first + EACH ? Neighbors::ALL_OF : count > first ? (1u << (count - first)) - 1 : 0; }
  // The elements `back` before those of the lane, of which all exist.
  FZ_DEV static Each<W> near(const Integers<W>& o, uint32_t first, uint32_t back) {
    if (back % EACH == 0) return *reinterpret_cast<const Each<W>*>(o.at + (first - back));
    Each<W> own;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) own.of[k] = o.at[first + k - back];
    return own;
  }
  // The same at the places in `at`; any other number at others.
  FZ_DEV static Each<W> some(const Integers<W>& o, uint32_t first, uint32_t back, uint32_t at) {
    if (__all_sync(ALL, at == Neighbors::ALL_OF)) return near(o, first, back);
    Each<W> own;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) own.of[k] = at >> k & 1 ? o.at[first + k - back] : (W)0;
    return own;
  }
  // Adds the integers of the elements `back` before those of the lane at the places in `at`, or subtracts them.
  template <bool ADDS> FZ_DEV void add(const Integers<W>& o, uint32_t first, uint32_t back, uint32_t at) {
    const Each<W> of = some(o, first, back, at);
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
      const W other = at >> k & 1 ? o.integer(of.of[k]) : (W)0;
      u[k] = ADDS ? (W)(u[k] + other) : (W)(u[k] - other);
    }
  }
  // Differences along y and z where all integers and their neighbors exist.
  FZ_DEV void load_inside(const Differences<W>& of, uint32_t first) {
    const Each<W> own = near(of.o, first, 0);
    if (of.y && of.z) {
      // Few registers are free, so that there are not more loads at a time.
      const Each<W> y = near(of.o, first, of.row);
#pragma unroll
      for (uint32_t k = 0; k < EACH; k++) u[k] = (W)(of.o.integer(own.of[k]) - of.o.integer(y.of[k]));
      const Each<W> z = near(of.o, first, of.plane), both = near(of.o, first, of.row + of.plane);
#pragma unroll
      for (uint32_t k = 0; k < EACH; k++) u[k] = (W)(u[k] - of.o.integer(z.of[k]) + of.o.integer(both.of[k]));
    } else if (of.y || of.z) {
      const Each<W> other = near(of.o, first, of.y ? of.row : of.plane);
#pragma unroll
      for (uint32_t k = 0; k < EACH; k++) u[k] = (W)(of.o.integer(own.of[k]) - of.o.integer(other.of[k]));
    } else {
#pragma unroll
      for (uint32_t k = 0; k < EACH; k++) u[k] = of.o.integer(own.of[k]);
    }
  }
  // Integers of the lane, or their differences along z.
  FZ_DEV static Each<W> along_z(const Differences<W>& of, uint32_t first, bool has_z) {
    Each<W> own = near(of.o, first, 0);
    Each<W> other = {};
    if (has_z) other = near(of.o, first, of.plane);
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) own.of[k] = (W)(of.o.integer(own.of[k]) - (has_z ? of.o.integer(other.of[k]) : (W)0));
    return own;
  }
  // Differences along y and z of a batch that is part of a row. `upper` has those along z in the row above, if the batch `follows` it, and
  // receives those of this row.
  FZ_DEV void load_row(const Differences<W>& of, uint32_t begin, uint32_t first, bool follows, Each<W>& upper) {
    const bool has_y = begin % of.plane >= of.row, has_z = of.z && begin >= of.plane;
    const Each<W> own = along_z(of, first, has_z);
    Each<W> above = {};
    if (has_y) above = follows ? upper : along_z(of, first - of.row, has_z);
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) u[k] = (W)(own.of[k] - above.of[k]);
    upper = own;
  }
  // ROWS: by `load_row`, which reads `follows` and `upper`.
  template <bool ROWS> FZ_DEV void load(const Differences<W>& of, const Form<W>& form, uint32_t count, uint32_t batch, bool follows, Each<W>& upper) {
    const uint32_t lane = threadIdx.x & 31, first = first_of(batch), begin = batch * POINTS;
    look(first, count);
    filled = live;
    // The last differences along y and z before the batch.
    W before = 0;
    const bool inside = of.is_inside(begin, count);
    if (ROWS) {
      load_row(of, begin, first, follows, upper);
      if (of.x && batch && lane + MOST_ORDER >= 32) before = inside ? of.inside(begin - 32 + lane) : of.flat(begin - 32 + lane);
    } else if (inside) {
      load_inside(of, first);
      if (of.x && lane + MOST_ORDER >= 32) before = of.inside(begin - 32 + lane);
    } else {
      if (of.x && batch && lane + MOST_ORDER >= 32) before = of.flat(begin - 32 + lane);
      const Each<W> own = some(of.o, first, 0, live);
#pragma unroll
      for (uint32_t k = 0; k < EACH; k++) u[k] = of.o.integer(own.of[k]);
      if (of.y || of.z) {
        const Neighbors n(of, begin);
        if (of.y) add<false>(of.o, first, of.row, n.y & live);
        if (of.z) add<false>(of.o, first, of.plane, n.z & live);
        if (of.y && of.z) add<true>(of.o, first, of.row + of.plane, n.y & n.z & live);
      }
    }
#pragma unroll 1
    for (uint32_t turn = 0; turn < of.x; turn++) {
      const W left = (W)__shfl_up_sync(ALL, (T)u[EACH - 1], 1), last = (W)__shfl_sync(ALL, (T)before, 31);
#pragma unroll
      for (int k = EACH - 1; k > 0; k--) u[k] = (W)(u[k] - u[k - 1]);
      u[0] = (W)(u[0] - (lane ? left : last));
      // The first lanes become wrong, and are not read.
      before = (W)(before - (W)__shfl_up_sync(ALL, (T)before, 1));
    }
    if (inside && !form.plain) {
#pragma unroll
      for (uint32_t k = 0; k < EACH; k++) u[k] = zigzag((W)(u[k] - form.center));
      return;
    }
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
      const W number = form.number(u[k]);
      u[k] = live >> k & 1 ? number : (W)0;
    }
  }
  // With holes. `fill` is the last integer before the batch that is none.
  FZ_DEV void load(const Differences<W>& of, const Form<W>& form, uint32_t count, uint32_t batch, W hole, W fill) {
    const uint32_t lane = threadIdx.x & 31, first = first_of(batch);
    look(first, count);
    Each<W> own = some(of.o, first, 0, live);
    W last = 0;
    filled = 0;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
      own.of[k] = of.o.integer(own.of[k]);
      if (!(live >> k & 1) || own.of[k] == hole) continue;
      filled |= 1u << k;
      last = own.of[k];
    }
    const uint32_t before = __ballot_sync(ALL, filled != 0) & ((1u << lane) - 1);
    const W left = (W)__shfl_sync(ALL, (T)last, before ? 31 - __clz((int)before) : 0);
    W from = before ? left : fill;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
      u[k] = filled >> k & 1 ? form.number((W)(own.of[k] - (of.x ? from : (W)0))) : (W)0;
      if (filled >> k & 1) from = own.of[k];
    }
  }
  // True if the code of a number of this lane may be long.
  FZ_DEV bool may_be_long(uint32_t shift) const {
    T all = 0;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) all |= (T)u[k];
    return all >> shift >= (T)(multilevel::CODES / 2);
  }
  // The integers of the batch other than holes.
  FZ_DEV uint32_t fields() const { return __all_sync(ALL, filled == Neighbors::ALL_OF) ? POINTS : __reduce_add_sync(ALL, (uint32_t)__popc(filled)); }
  // The length of one of `count` numbers on average, in halves of bits. Returns false if the batch is quiet.
  FZ_DEV bool length(bool holes, uint32_t count, uint32_t& halves) const {
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) sum += length_of(u[k]);
    sum = __reduce_add_sync(ALL, sum);
    if (count == 0 || (!holes && sum == 0)) return false;
    halves = count == POINTS ? (4 * sum + POINTS) / (2 * POINTS) : (4 * sum + count) / (2 * count);
    return true;
  }
};

// The last integer before a batch that is no hole, or 0, by a warp.
template <class W> FZ_DEV W fill_before(const EncoderMemory& memory, const Integers<W>& o, W hole, uint32_t batch) {
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
