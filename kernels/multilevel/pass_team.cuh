// Stage multilevel, decoder: passes of few runs. A team of warps restores a run: one warp decodes the codes of a group of steps, while the
// others predict the next group and restore the values of the group before.
#pragma once
#include "multilevel/pass_decode.cuh"

namespace fz {
namespace multilevel {
// Warps of a team: all warps of a block, or these. Steps of a group, of which each warp that does not decode has at most two.
constexpr uint32_t TEAM = 4, TEAM_STEPS = 6;
// Codes of a group: the low bits of the state when the raw bits begin, and from SYMBOL_SHIFT on the symbol; or LONG_CODE and a code; or
// EXACT_CODE, in place of which there is an exact value.
constexpr uint32_t SYMBOL_SHIFT = FREQUENCY_BITS + 4, LONG_CODE = 1u << 31, EXACT_CODE = ~0u;
// Points contain the place of their quick table, which is the last one if a lane has no point, and whether their context is FILL2.
constexpr uint32_t FILL_POINT = 1 << 15;

// A step: places of its first known point and of its first point, the index of the first point along the axis, and the number of points.
struct TeamStep {
  uint32_t from, to, first, lanes;
};

// A table for a warp whose latency counts: one load finds both symbols that a unit of 64 slots usually has.
struct QuickTable {
  static constexpr uint32_t UNIT = 64, UNITS = ONE_SLOT / UNIT;
  // The `decoder_entry` of the symbol of the first slot. Then the frequency - 1 of the next symbol, from bit 14 on its raw bits, and from
  // bit 18 on both symbols, 6 bits each.
  uint2 units[UNITS];
  FZ_DEV static uint2 unit(const DecoderTable& table, uint32_t number) {
    // The table has two units for it. Where symbols begin, they have the distance from the symbol before.
    const uint32_t two = reinterpret_cast<const uint32_t*>(table.units)[number], s = two & 63, later = two >> 16 & 63;
    const uint32_t next = two & 0xf800 ? s + (two >> 6 & 31) : later != s ? later : s + (two >> 22 & 31);
    const uint32_t e = table.entries[s], n = table.entries[next], end = (e >> SYMBOL_SHIFT) + e % ONE_SLOT + 1;
    // A unit without its next symbol, which is too far, seems to have symbols with many raw bits.
    const uint32_t rare = end >= (number + 1) * UNIT || n >> SYMBOL_SHIFT == end ? 0 : LONG << FREQUENCY_BITS;
    return make_uint2(e | rare, n % (1u << SYMBOL_SHIFT) | rare | s << SYMBOL_SHIFT | next << (SYMBOL_SHIFT + 6));
  }
  // Fills the tables of a set, and one that does not change states. The threads of a block must call the function.
  FZ_DEV static void fill(QuickTable* to, const DecoderSet& set) {
    for (uint32_t i = threadIdx.x; i < set.tables * UNITS; i += blockDim.x) to[i / UNITS].units[i % UNITS] = unit(set.of[i / UNITS], i % UNITS);
    for (uint32_t i = threadIdx.x; i < UNITS; i += blockDim.x) to[TABLES].units[i] = make_uint2(ONE_SLOT - 1, 0);
  }
};
static_assert(TABLES * sizeof(QuickTable) < FILL_POINT, "a point has 16 bits");

// A step of a run by quick tables. The constructor takes symbols and loads the words that lanes may require. The run does not change before
// `finish`.
struct QuickStep {
  uint32_t x, shift, symbols, word, next, end;
  bool need, again;
  // A lane is behind, has many raw bits or a token that is no code, or may lack a word.
  bool is_rare;
  FZ_DEV QuickStep(const RunDecoder& run, uint2 unit) {
    const uint32_t high = run.x >> FREQUENCY_BITS, place = run.x % ONE_SLOT - (unit.x >> SYMBOL_SHIFT), last = unit.x % ONE_SLOT, behind = place + ~last, second = unit.y % ONE_SLOT;
    const bool is_second = place > last;
    x = (is_second ? second : last) * high + (high + (is_second ? behind : place));
    shift = (is_second ? unit.y : unit.x) >> FREQUENCY_BITS & LONG;
    symbols = is_second ? unit.y >> 6 : unit.y;
    // As `RunDecoder::refill_and_bits`.
    const uint32_t rest = x >> shift, limit = run.left > 0 ? 1u << 16 : 0;
    need = x < limit;
    const bool both = rest == 0, late = rest < limit;
    again = (both & need) | (late & !need);
    is_rare = (shift == LONG) | (is_second & (behind > second)) | (both & need & (run.left < 2));
    const uint32_t who = __ballot_sync(ALL, need), then = (__ballot_sync(ALL, both) & who) | (__ballot_sync(ALL, late) & ~who), middle = run.at + 2 * __popc(who);
    word = run.word_at(run.at + 2 * __popc(who & run.lanes));
    next = run.word_at(middle + 2 * __popc(then & run.lanes));
    end = middle + 2 * __popc(then);
  }
  // Returns symbol and raw bits.
  FZ_DEV uint32_t finish(RunDecoder& run) const {
    const uint32_t whole = need ? x << 16 | word : x, rest = whole >> shift;
    run.x = again ? rest << 16 | next : rest;
    run.count_word(need);
    run.count_word(again);
    run.at = end;
    return (whole & 0xffff) | (symbols & 0xffff0000);
  }
};

// Groups of steps that a team works on. Group k of a run is at place k % 4, or k % 2.
template <class T> struct TeamRoom {
  // Predictions, or exact values, and left neighbors.
  T guesses[4][TEAM_STEPS * STEP], left[4][TEAM_STEPS * STEP];
  uint32_t codes[2][TEAM_STEPS * STEP];
  uint16_t points[4 * TEAM_STEPS][STEP];
  TeamStep steps[4][TEAM_STEPS];
  // The number of steps of a group, which is 0 behind the last one.
  uint32_t counts[4];
};

// The threads of a block wait for each other. Warps may call the function at different places, where __syncthreads() is not allowed.
FZ_DEV void barrier_anywhere() {
#ifdef FZ_EMULATED
  __syncthreads();
#else
  asm volatile("barrier.sync 1, %0;" ::"r"(blockDim.x) : "memory");
#endif
}

// A team that restores a run. In turn k, its warps plan group k, predict group k - 1, decode group k - 2, and restore group k - 3.
template <class T, bool LINES> struct Team {
  const PassDecoder<T>& pass;
  static constexpr uint32_t TEAMS = PASS_BYTES / 32 / sizeof(T) / TEAM;
  const TeamRoom<T> (&rooms)[TEAMS];
  TeamRoom<T>& room;
  const QuickTable* const tables;
  // 1 if a grid failed.
  uint32_t& failed;
  // The warps that predict and restore, and the number of this one among them.
  const uint32_t workers, worker;
  FZ_DEV Team(const PassDecoder<T>& of_pass, TeamRoom<T> (&of_block)[TEAMS], uint32_t number, const QuickTable* of_set, uint32_t& flag, uint32_t warps, uint32_t warp)
      : pass(of_pass), rooms(of_block), room(of_block[number]), tables(of_set), failed(flag), workers(warps - 1), worker(warp - 1) {}

  // Waits for the grid before this one. Returns true if a grid failed, which some threads may see first.
  FZ_DEV bool stops() const {
    if (pass.stops() && (threadIdx.x & 31) == 0) atomicOr(&failed, 1u);
    barrier_anywhere();
    return failed != 0;
  }
  // True if a team decodes a group in this turn. The number of steps of the group was written two turns before.
  FZ_DEV bool goes_on(uint32_t turn) const {
    uint32_t any = turn < 2;
#pragma unroll
    for (uint32_t i = 0; i < TEAMS; i++) any |= rooms[i].counts[(turn - 2) % 4];
    return any != 0;
  }
  // The turns of a warp, which all threads of the block have the same number of. The following functions return false if a grid failed.
  template <class Turn> FZ_DEV bool turns(Turn work_in) const {
    if (stops()) return false;
    bool more = true;
#pragma unroll 1
    for (uint32_t turn = 0; more; turn++) {
      work_in(turn);
      more = goes_on(turn);
      barrier_anywhere();
    }
    return true;
  }
  // The turns of a warp of a team without a run.
  FZ_DEV bool idle() const {
    return turns([](uint32_t) {});
  }
  // The turns of the warp that decodes. `good` becomes false if the run is corrupt.
  FZ_DEV bool decode(uint32_t number, RunRing& ring, bool& good) const {
    RunDecoder run(run_words(pass.a, pass.memory, pass.c, pass.c.mask_runs + number), ring);
    const State& state = *pass.memory.state;
    const Shared<const DecoderSet> set(pass.set);
    const Shared<const QuickTable> quick(*tables);
    const bool goes = turns([&](uint32_t turn) {
      if (turn >= 2) decode_group(run, state, *set, &*quick, turn - 2);
    });
    good = !goes || run.is_finished();
    return goes;
  }
  FZ_DEV void decode_group(RunDecoder& run, const State& state, const DecoderSet& set, const QuickTable* quick, uint32_t k) const {
    const uint32_t lane = threadIdx.x & 31, count = uniform(room.counts[k % 4]);
    if (count == 0) return;
    uint32_t* codes = room.codes[k % 2] + lane;
    // Points are loaded two steps ahead. Lanes load two points and keep one of them: a number of 16 bits would be converted, and waited
    // for, at the next branch.
    const uint32_t* points = reinterpret_cast<const uint32_t*>(room.points[k % 4 * TEAM_STEPS]) + lane / 2;
    const uint32_t half = lane % 2 * 16;
    uint32_t own = point_in(points[0], half), ahead = points[STEP / 2];
    uint2 unit = look(quick, run, own);
#pragma unroll 1
    for (uint32_t j = 0; j < count; j++) {
      const uint32_t later = points[min(j + 2, TEAM_STEPS - 1) * (STEP / 2)], then = point_in(ahead, half);
      run.more();
      const QuickStep step(run, unit);
      if (__builtin_expect(__any_sync(ALL, step.is_rare), 0)) codes[j * STEP] = decode_rarely(run, set, state, own, room.guesses[k % 4][j * STEP + lane]);
      else codes[j * STEP] = step.finish(run);
      unit = look(quick, run, then);
      own = then;
      ahead = later;
    }
  }
  // The code of a point if `QuickStep::is_rare` is true in some lane.
  FZ_DEV static uint32_t decode_rarely(RunDecoder& run, const DecoderSet& set, const State& state, uint32_t point, T& guess) {
    const bool live = point / sizeof(QuickTable) < TABLES;
    const DecoderTable& table = set.of[point / sizeof(QuickTable) % TABLES];
    Taken t = run.take(table, run.look(table), live);
    if (__any_sync(ALL, t.behind)) run.search(table, t);
    if (!__any_sync(ALL, t.raw() == LONG)) return run.refill_and_bits(t.raw()) | t.symbol << SYMBOL_SHIFT;
    run.refill();
    const Decoded d = decode_long(run, state, live ? t.symbol : 0, Num<T>::BITS);
    if (!d.exact) return LONG_CODE | d.u;
    guess = Num<T>::value(d.bits);
    return EXACT_CODE;
  }
  FZ_DEV static uint32_t point_in(uint32_t two, uint32_t shift) { return two >> shift & (FILL_POINT - 1); }
  FZ_DEV static uint2 look(const QuickTable* quick, const RunDecoder& run, uint32_t point) {
    return *reinterpret_cast<const uint2*>(reinterpret_cast<const uint8_t*>(quick) + (point | (run.x >> 3 & (sizeof(QuickTable) - 8))));
  }
  // The turns of a warp that predicts and restores. The last one plans groups too.
  template <int STENCIL> FZ_DEV bool work(uint32_t number, const RowTarget<T>& target) const {
    const Predictor<T> of = pass.of;
    const uint32_t known = kept(pass.s.known), apart = LINES ? kept(lines_apart()) : 1;
    T* const at = kept(pass.known.at);
    RunBatches<false> walk(pass.s, pass.c, pass.masks, RunSteps(pass.s, pass.c, pass.memory.starts + pass.c.first_run, number));
    const Divider lines_of(uniform(LINES ? pass.s.per_line : pass.s.strips)), strips_of(uniform(LINES ? pass.s.strips : pass.s.points[1]));
    uint32_t batch = 0, mask = 0;
    return turns([&](uint32_t turn) {
      // Groups are planned, and values are restored, while the taps are on their way.
      T t[2][8];
#pragma unroll
      for (uint32_t q = 0; q < 2; q++)
        if (turn >= 1) load<STENCIL>(turn - 1, worker + q * workers, t[q], at, known, apart);
      if (worker == workers - 1) plan(walk, turn, batch, mask, lines_of, strips_of, target);
#pragma unroll 1
      for (uint32_t j = worker; turn >= 3 && j < TEAM_STEPS; j += workers) restore(of, turn - 3, j, at, known, target);
#pragma unroll
      for (uint32_t q = 0; q < 2; q++)
        if (turn >= 1) predict<STENCIL>(of, turn - 1, worker + q * workers, t[q], known);
    });
  }
  // The distance of known points along the axis of a pass over y or z.
  FZ_DEV uint32_t lines_apart() const { return 2 * pass.known.length * (pass.s.axis == 2 ? pass.known.rows : 1); }
  // Plans group k: takes the next steps of the run. Lanes have a step each.
  FZ_DEV void plan(RunBatches<false>& walk, uint32_t k, uint32_t& batch, uint32_t& mask, const Divider& lines_of, const Divider& strips_of, const RowTarget<T>& target) const {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t count = 0, own_batch = 0, own = 0;
    while (count < TEAM_STEPS) {
      if (mask == 0 && !walk.next(batch, mask)) break;
      const uint32_t all = __popc(mask), taken = min(all, TEAM_STEPS - count);
      uint32_t left = mask;
      for (uint32_t i = count; i < count + taken; i++) {
        if (lane == i) own_batch = batch;
        if (lane == i) own = __ffs((int)left) - 1;
        left &= left - 1;
      }
      mask = left;
      count += taken;
    }
    if (lane < count) room.steps[k % 4][lane] = step_of(own_batch, own, lines_of, strips_of, target);
    if (lane == 0) room.counts[k % 4] = count;
  }
  FZ_DEV TeamStep step_of(uint32_t batch, uint32_t j, const Divider& lines_of, const Divider& strips_of, const RowTarget<T>& target) const {
    const Section& s = pass.s;
    const uint32_t width = s.points[0], length = pass.known.length;
    if constexpr (LINES) {
      const uint32_t line = lines_of(batch), other = strips_of(line), x = (line - other * strips_of.by) * STEP, i = (batch - line * lines_of.by) * BATCH + j;
      const uint32_t plane = pass.known.rows * length, apart = lines_apart();
      const uint32_t from = (s.axis == 2 ? (pass.shape.has(1) ? 2 * other : other) * length : other * plane) + x + i * apart;
      return {from, from + apart / 2, i, min(STEP, width - x)};
    } else {
      const uint32_t step = batch * BATCH + j, row = lines_of(step), x = (step - row * lines_of.by) * STEP, z = strips_of(row);
      return {row * length + x, (row - z * strips_of.by) * target.per_y + z * target.per_z + 2 * x, x, min(STEP, width - x)};
    }
  }
  // Whether points of a step may lack taps.
  FZ_DEV static bool has_ends(uint32_t first, uint32_t known) { return first < 3 || first + (LINES ? 1 : STEP) + 4 > known; }
  // Loads the taps of step j of group k. Taps that do not exist are other known points.
  template <int STENCIL> FZ_DEV void load(uint32_t k, uint32_t j, T (&t)[8], const T* known_points, uint32_t known, uint32_t apart) const {
    if (j >= room.counts[k % 4]) return;
    const TeamStep step = room.steps[k % 4][j];
    const uint32_t lane = threadIdx.x & 31, i = step.first + (LINES ? 0 : lane);
    const T* at = known_points + step.from + (LINES ? min(lane, step.lanes - 1) : lane);
    constexpr int FIRST = STENCIL == 8 ? 0 : STENCIL == 6 ? 1 : 2;
    if (!has_ends(step.first, known)) {
#pragma unroll
      for (int r = FIRST; r < 8 - FIRST; r++) t[r] = LINES ? at[(int64_t)(r - 3) * apart] : at[r - 3];
      return;
    }
#pragma unroll
    for (int r = FIRST; r < 8 - FIRST; r++) t[r] = at[(int64_t)(max(0, min((int)i + r - 3, (int)known - 1)) - (int)i) * apart];
  }
  template <int STENCIL> FZ_DEV void predict(const Predictor<T>& of, uint32_t k, uint32_t j, const T (&t)[8], uint32_t known) const {
    if (j >= room.counts[k % 4]) return;
    const TeamStep step = room.steps[k % 4][j];
    const uint32_t lane = threadIdx.x & 31, i = step.first + (LINES ? 0 : lane), to = j * STEP + lane;
    constexpr int OUTER = STENCIL == 8 ? 0 : 3, INNER = STENCIL >= 6 ? 1 : 3;
    Guess<T> g = inside<STENCIL>(t[OUTER], t[INNER], t[2], t[3], t[4], t[5], t[STENCIL >= 6 ? 6 : 3], t[STENCIL == 8 ? 7 : 3]);
    if (has_ends(step.first, known)) g = near_end<STENCIL>(g, i + 1, known > i ? known - i - 1 : 0, t[INNER], t[2], t[3], t[4], t[5], t[STENCIL >= 6 ? 6 : 3], of.step);
    const Predicted<T> p = expect(of, g, t[3], t[4], i + 1 < known);
    room.guesses[k % 4][to] = p.p;
    if constexpr (!LINES) room.left[k % 4][to] = t[3];
    room.points[k % 4 * TEAM_STEPS + j][lane] = (uint16_t)((lane < step.lanes ? pass.codes_of[p.context] & TABLE_CODE : TABLES) * sizeof(QuickTable) | (p.context == FILL2 ? FILL_POINT : 0));
  }
  // The prediction of a point whose context is FILL2 is its left neighbor.
  FZ_DEV void restore(const Predictor<T>& of, uint32_t k, uint32_t j, T* known_points, uint32_t known, const RowTarget<T>& target) const {
    if (j >= room.counts[k % 4]) return;
    const TeamStep step = room.steps[k % 4][j];
    const uint32_t lane = threadIdx.x & 31, at = j * STEP + lane, code = room.codes[k % 2][at], t = code >> SYMBOL_SHIFT & 63;
    const bool fill = (room.points[k % 4 * TEAM_STEPS + j][lane] & FILL_POINT) != 0;
    const T p = room.guesses[k % 4][at];
    const uint32_t u = code & LONG_CODE ? code & ~LONG_CODE : code_of(t, code & ((1u << raw_bits(t, 0)) - 1));
    T value = Num<T>::fma(Num<T>::small_integer(unzigzag(u - fill)), of.step, fill ? of.finish(of.center) : p);
    if (code == EXACT_CODE || (fill && u == 0)) value = p;
    if (lane >= step.lanes) return;
    if constexpr (LINES) {
      known_points[step.to + lane] = value;
    } else {
      target.put(step.to + 2 * lane, room.left[k % 4][at], value);
      // The known point behind the last one of the pass.
      if (step.first + lane + 1 == pass.s.points[0] && known > pass.s.points[0]) target.put_last(step.to + 2 * lane + 2, known_points[step.from + lane + 1]);
    }
  }
};
}  // namespace multilevel
}  // namespace fz
