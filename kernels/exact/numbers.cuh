// Stage exact, encoder: the numbers of batches, from integers and their differences.
#pragma once
#include "exact/encoder.cuh"
#include "multilevel/quantize.cuh"

namespace fz {
namespace exact {
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
  // True if no number of the batch has more than 32 bits.
  FZ_DEV bool is_short() const {
    T all = 0;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) all |= (T)u[k];
    return !__any_sync(ALL, (uint64_t)all >> 32 != 0);
  }
  // The same numbers as words of 32 bits.
  FZ_DEV Numbers<uint32_t> shortened() const {
    Numbers<uint32_t> own;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) own.u[k] = (uint32_t)u[k];
    own.live = live;
    own.filled = filled;
    return own;
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
