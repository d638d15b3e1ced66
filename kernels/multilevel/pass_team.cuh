// Stage multilevel, decoder: passes of few runs. A team of warps restores a run: one warp decodes the codes of a group of steps, while the
// others predict the next group and restore the values of the group before.
#pragma once
#include "multilevel/pass_decode.cuh"

namespace fz {
namespace multilevel {
// Warps of a team: all warps of a block, or these. Steps of a group, of which each warp that does not decode has at most two.
constexpr uint32_t TEAM = 4, TEAM_STEPS = 6;
// A code in place of which there is an exact value.
constexpr uint32_t EXACT_CODE = ~0u;
// Flags of a point behind the place of its table: there is a point, and its context is FILL2.
constexpr uint32_t LIVE_POINT = 1 << 14, FILL_POINT = 1 << 15;
static_assert(TABLES * sizeof(DecoderTable) <= LIVE_POINT, "a point has 16 bits");

// A step: places of its first known point and of its first point, the index of the first point along the axis, and the number of points.
struct TeamStep {
  uint32_t from, to, first, lanes;
};
// `RunDecoder::refill_and_bits` in two parts. The constructor loads the words that a lane may require, and `bits` takes them.
struct Refill {
  uint32_t count, word, next, end;
  bool need, again;
  FZ_DEV Refill(const RunDecoder& run, uint32_t bits) : count(bits) {
    need = run.x < (run.left > 0 ? 1u << 16 : 0u);
    again = (need ? run.x : run.x >> 16) >> count == 0 && run.left > need;
    const uint32_t who = __ballot_sync(ALL, need), then = __ballot_sync(ALL, again), middle = run.at + 2 * __popc(who);
    word = run.word_at(run.at + 2 * __popc(who & run.lanes));
    next = run.word_at(middle + 2 * __popc(then & run.lanes));
    end = middle + 2 * __popc(then);
  }
  FZ_DEV uint32_t bits(RunDecoder& run) const {
    const uint32_t x = need ? run.x << 16 | word : run.x, value = x & ((1u << count) - 1), rest = x >> count;
    run.x = again ? rest << 16 | next : rest;
    run.count_word(need);
    run.count_word(again);
    run.at = end;
    return value;
  }
};
// Groups of steps that a team works on. Group k of a run is at place k % 4, or k % 2.
template <class T> struct TeamRoom {
  // Predictions, or exact values, and left neighbors.
  T guesses[4][TEAM_STEPS * STEP], left[4][TEAM_STEPS * STEP];
  uint32_t codes[2][TEAM_STEPS * STEP];
  uint16_t points[4][TEAM_STEPS * STEP];
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
// Meeting k of the threads of a block. Returns whether one of them has another turn. The flags in use are zeroed one meeting before.
FZ_DEV bool meet(uint32_t (&flags)[3], uint32_t k, bool pending) {
  if (threadIdx.x == 0) flags[(k + 1) % 3] = 0;
  if (pending && (threadIdx.x & 31) == 0) atomicOr(&flags[k % 3], 1u);
  barrier_anywhere();
  return flags[k % 3] != 0;
}

// A team that restores a run. In turn k, its warps plan group k, predict group k - 1, decode group k - 2, and restore group k - 3.
template <class T, bool LINES> struct Team {
  const PassDecoder<T>& pass;
  TeamRoom<T>& room;
  uint32_t (&flags)[3];
  // The warps that predict and restore, and the number of this one among them.
  const uint32_t workers, worker;
  FZ_DEV Team(const PassDecoder<T>& of_pass, TeamRoom<T>& of_room, uint32_t (&of_block)[3], uint32_t warps, uint32_t warp) : pass(of_pass), room(of_room), flags(of_block), workers(warps - 1), worker(warp - 1) {}

  // Waits for the grid before this one. Returns true if a grid failed.
  FZ_DEV bool stops() const { return meet(flags, 0, pass.stops()); }
  // The turns of a warp. The following functions return false if a grid failed.
  template <class Turn> FZ_DEV bool turns(Turn work_in) const {
    if (stops()) return false;
    uint32_t turn = 0;
    bool more = true;
#pragma unroll 1
    while (more) {
      work_in(turn);
      more = meet(flags, turn + 1, turn < 2 || room.counts[(turn - 2) % 4] > 0);
      turn++;
    }
    return true;
  }
  // The turns of a warp of a team without a run.
  FZ_DEV bool idle() const {
    if (stops()) return false;
    for (uint32_t k = 1; meet(flags, k, false); k++) {}
    return true;
  }
  // The turns of the warp that decodes. `good` becomes false if the run is corrupt.
  FZ_DEV bool decode(uint32_t number, RunRing& ring, bool& good) const {
    RunDecoder run(run_words(pass.a, pass.memory, pass.c, pass.c.mask_runs + number), ring);
    const State& state = *pass.memory.state;
    const Shared<const DecoderSet> set(pass.set);
    const Shared<const Values<T>> values(pass.of_codes);
    const bool goes = turns([&](uint32_t turn) {
      if (turn >= 2) decode_group(run, state, *set, *values, turn - 2);
    });
    good = !goes || run.is_finished();
    return goes;
  }
  FZ_DEV void decode_group(RunDecoder& run, const State& state, const DecoderSet& set, const Values<T>& values, uint32_t k) const {
    const uint32_t lane = threadIdx.x & 31, count = uniform(room.counts[k % 4]);
    if (count == 0) return;
    const uint16_t* points = room.points[k % 4] + lane;
    uint32_t* codes = room.codes[k % 2] + lane;
    T* guesses = room.guesses[k % 4] + lane;
    uint32_t point = points[0];
    Shared<const DecoderTable> table(set.at(point % LIVE_POINT));
    uint32_t unit = run.look(*table);
#pragma unroll 1
    for (uint32_t j = 0; j < count; j++) {
      const uint32_t ahead = points[min(j + 1, count - 1) * STEP];
      const Shared<const DecoderTable> then(set.at(ahead % LIVE_POINT));
      const bool live = (point & LIVE_POINT) != 0;
      run.more();
      Taken t = run.take(*table, unit, live);
      const uint32_t raw_field = t.entry & Taken::RAW;
      // The words of the lanes are on their way before it is known whether all lanes require at most two.
      const Refill refill(run, t.raw());
      uint32_t code;
      if (!__any_sync(ALL, raw_field == Taken::RAW || t.behind)) {
        code = refill.bits(run);
        unit = run.look(*then);
        code += values.codes[t.symbol];
      } else {
        code = decode_rarely(run, *table, t, state, values, live, guesses[j * STEP]);
        unit = run.look(*then);
      }
      codes[j * STEP] = code;
      point = ahead;
      table = then;
    }
  }
  // The code of a point if some lane is behind, has many raw bits, or a token that is no code.
  FZ_DEV uint32_t decode_rarely(RunDecoder& run, const DecoderTable& table, Taken& t, const State& state, const Values<T>& values, bool live, T& guess) const {
    if (__any_sync(ALL, t.behind)) run.search(table, t);
    if (!__any_sync(ALL, t.raw() == LONG)) return values.codes[t.symbol] + run.refill_and_bits(t.raw());
    run.refill();
    const Decoded d = decode_long(run, state, live ? t.symbol : 0, Num<T>::BITS);
    if (!d.exact) return d.u;
    guess = Num<T>::value(d.bits);
    return EXACT_CODE;
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
      if (worker == workers - 1) plan(walk, turn, batch, mask, lines_of, strips_of, target);
      // Values are restored while the taps are on their way.
      T t[2][8];
#pragma unroll
      for (uint32_t q = 0; q < 2; q++)
        if (turn >= 1) load<STENCIL>(turn - 1, worker + q * workers, t[q], at, known, apart);
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
    room.points[k % 4][to] = (uint16_t)(pass.set.place[p.context] | (lane < step.lanes ? LIVE_POINT : 0) | (p.context == FILL2 ? FILL_POINT : 0));
  }
  // The prediction of a point whose context is FILL2 is its left neighbor.
  FZ_DEV void restore(const Predictor<T>& of, uint32_t k, uint32_t j, T* known_points, uint32_t known, const RowTarget<T>& target) const {
    if (j >= room.counts[k % 4]) return;
    const TeamStep step = room.steps[k % 4][j];
    const uint32_t lane = threadIdx.x & 31, at = j * STEP + lane, u = room.codes[k % 2][at];
    const bool fill = (room.points[k % 4][at] & FILL_POINT) != 0;
    const T p = room.guesses[k % 4][at];
    T value = Num<T>::fma(Num<T>::small_integer(unzigzag(u - fill)), of.step, fill ? of.finish(of.center) : p);
    if (u == EXACT_CODE || (fill && u == 0)) value = p;
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
