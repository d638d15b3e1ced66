// Stage multilevel, decoder: passes of few runs. A team of four warps restores a run: one warp decodes the codes of a batch, while the
// others predict the next batch and restore the values of the batch before.
#pragma once
#include "multilevel/pass_decode.cuh"

namespace fz {
namespace multilevel {
constexpr uint32_t TEAM = 4;
// A code in place of which there is an exact value.
constexpr uint32_t EXACT_CODE = ~0u;
// Flags of a point behind the place of its table: there is a point, and its context is FILL2.
constexpr uint32_t LIVE_POINT = 1 << 14, FILL_POINT = 1 << 15;
static_assert(TABLES * sizeof(DecoderTable) <= LIVE_POINT, "a point has 16 bits");

// A batch of a run. `mask` has its steps, and is 0 behind the last batch. In lines, `first` is the first step, and `lanes` have points.
struct TeamBatch {
  uint32_t number, mask, first, lanes;
};
// Batches that a team works on. Batch k of a run is at place k % 4, k % 3, or k % 2.
template <class T> struct TeamRoom {
  StagedTaps<T> taps[2];
  // Predictions, or exact values, and left neighbors.
  T guesses[3][BATCH * STEP], left[3][BATCH * STEP];
  uint32_t codes[2][BATCH * STEP];
  uint16_t points[3][BATCH * STEP];
  TeamBatch batches[4];
};

// The threads of a block meet, and one of them waits for a later meeting or none does.
FZ_DEV bool meet(bool pending) { return __syncthreads_or(pending); }

// A team that restores a run. In turn k, its warps copy the taps of batch k, predict batch k - 1, decode batch k - 2, and restore
// batch k - 3.
template <class T, bool LINES> struct Team {
  const PassDecoder<T>& pass;
  TeamRoom<T>& room;
  // This warp is one of three that predict and restore.
  const uint32_t worker;
  FZ_DEV Team(const PassDecoder<T>& of_pass, TeamRoom<T>& of_room, uint32_t of_warp) : pass(of_pass), room(of_room), worker(of_warp) {}

  FZ_DEV bool is_pending(uint32_t turn) const { return turn < 2 || room.batches[(turn - 2) % 4].mask != 0; }

  // Waits for the grid before this one. Returns true if a grid failed.
  FZ_DEV bool stops() const { return meet(pass.stops()); }
  // The turns of a warp. The following functions return false if a grid failed.
  template <class Turn> FZ_DEV bool turns(Turn work_in) const {
    if (stops()) return false;
    uint32_t turn = 0;
#pragma unroll 1
    do work_in(turn);
    while (meet(is_pending(turn++)));
    return true;
  }
  // The turns of a warp of a team without a run.
  FZ_DEV bool idle() const {
    if (stops()) return false;
    while (meet(false)) {}
    return true;
  }
  // The turns of the warp that decodes. `good` becomes false if the run is corrupt.
  FZ_DEV bool decode(uint32_t number, RunRing& ring, bool& good) const {
    RunDecoder run(run_words(pass.a, pass.memory, pass.c, pass.c.mask_runs + number), ring);
    const State& state = *pass.memory.state;
    const bool goes = turns([&](uint32_t turn) {
      if (turn >= 2) decode_batch(run, state, turn - 2);
    });
    good = !goes || run.is_finished();
    return goes;
  }
  FZ_DEV void decode_batch(RunDecoder& run, const State& state, uint32_t k) const {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t left = uniform(room.batches[k % 4].mask);
    if (left == 0) return;
    const uint16_t* points = room.points[k % 3] + lane;
    uint32_t* codes = room.codes[k % 2] + lane;
    T* guesses = room.guesses[k % 3] + lane;
    const Shared<const DecoderSet> set(pass.set);
    const Shared<const Values<T>> values(pass.of_codes);
    uint32_t at = (__ffs((int)left) - 1) * STEP, point = points[at];
    Shared<const DecoderTable> table((*set).at(point % LIVE_POINT));
    uint32_t unit = run.look(*table);
#pragma unroll 1
    while (true) {
      left &= left - 1;
      const uint32_t next = left ? (__ffs((int)left) - 1) * STEP : at, ahead = points[next];
      const Shared<const DecoderTable> then((*set).at(ahead % LIVE_POINT));
      const bool live = (point & LIVE_POINT) != 0;
      run.more();
      Taken t = run.take(*table, unit, live);
      const uint32_t raw_field = t.entry & Taken::RAW;
      uint32_t code = t.symbol;
      if (!__any_sync(ALL, raw_field != 0 || t.behind)) {
        run.refill();
        unit = run.look(*then);
      } else if (!__any_sync(ALL, raw_field == Taken::RAW || t.behind)) {
        const uint32_t raw = run.refill_and_bits(t.raw());
        unit = run.look(*then);
        code = (*values).codes[t.symbol] + raw;
      } else {
        code = decode_rarely(run, *table, t, state, live, guesses[at]);
        unit = run.look(*then);
      }
      codes[at] = code;
      if (!left) return;
      at = next;
      point = ahead;
      table = then;
    }
  }
  // The code of a point if some lane is behind, has many raw bits, or a token that is no code.
  FZ_DEV uint32_t decode_rarely(RunDecoder& run, const DecoderTable& table, Taken& t, const State& state, bool live, T& guess) const {
    if (__any_sync(ALL, t.behind)) run.search(table, t);
    run.refill();
    if (!__any_sync(ALL, t.raw() == LONG)) return decode_short(run, t.symbol, t.raw());
    const Decoded d = decode_long(run, state, live ? t.symbol : 0, Num<T>::BITS);
    if (!d.exact) return d.u;
    guess = Num<T>::value(d.bits);
    return EXACT_CODE;
  }

  // The turns of a warp that predicts and restores. The last one copies taps too: it has fewer steps than the others.
  FZ_DEV bool work(uint32_t number, const RowTarget<T>& target) const {
    const uint32_t stencil = uniform(stencil_at(metadata_of(pass.a), pass.s.level));
    RunBatches<false> walk(pass.s, pass.c, pass.masks, RunSteps(pass.s, pass.c, pass.memory.starts + pass.c.first_run, number));
    const Divider lines_of(uniform(LINES ? pass.s.per_line : pass.s.strips)), planes_of(uniform(pass.s.points[1]));
    uint32_t line_number = ~0u;
    Line<T> line;
    return turns([&](uint32_t turn) {
      if (worker == TEAM - 2) stage(walk, turn, stencil);
      if (turn >= 1) predict(turn - 1, stencil, lines_of);
      if (turn >= 3) {
        if constexpr (LINES) restore_lines(turn - 3, lines_of, line, line_number);
        else restore_rows(turn - 3, target, lines_of, planes_of);
      }
      wait_for_copies();
    });
  }
  // Begins to copy the taps of the next batch.
  FZ_DEV void stage(RunBatches<false>& walk, uint32_t k, uint32_t stencil) const {
    const Section& s = pass.s;
    TeamBatch next = {0, 0, 0, 0};
    if (walk.next(next.number, next.mask)) {
      if constexpr (LINES) {
        const uint32_t number = next.number / s.per_line;
        const Line<T> line(pass.shape, s, pass.known, number);
        next.first = (next.number - number * s.per_line) * BATCH;
        next.lanes = __ballot_sync(ALL, line.live);
        if (stencil > 6) stage_line<8>(room.taps[k % 2], line, next.first, next.mask, s.known);
        else stage_line<6>(room.taps[k % 2], line, next.first, next.mask, s.known);
      } else {
        stage_pack(room.taps[k % 2], pass.known.at, RowPack(s, pass.known.length, next.number), s.known, pass.known.wide);
      }
    } else {
      next.mask = 0;
    }
    if ((threadIdx.x & 31) == 0) room.batches[k % 4] = next;
  }
  FZ_DEV void predict(uint32_t k, uint32_t stencil, const Divider& rows_of) const {
    const TeamBatch batch = room.batches[k % 4];
    const uint32_t lane = threadIdx.x & 31, known = pass.s.known;
#pragma unroll 1
    for (uint32_t j = worker; j < BATCH; j += TEAM - 1) {
      if (!(batch.mask >> j & 1)) continue;
      uint32_t i = batch.first + j;
      bool ends = i < 3 || i + 5 > known, live = batch.lanes >> lane & 1;
      if constexpr (!LINES) {
        const uint32_t step = batch.number * BATCH + j, x = (step - rows_of(step) * rows_of.by) * STEP;
        i = x + lane;
        ends = x == 0 || x + STEP + 4 > known;
        live = i < pass.s.points[0];
      }
      constexpr uint32_t APART = LINES ? STEP : 1;
      const T* taps = room.taps[k % 2].at + (LINES ? j * STEP + lane : j * ROW_TAPS + lane + 1);
      const Predicted<T> p = stencil == 8 ? expect_staged<8, APART>(pass.of, taps, ends, i, known) : stencil == 6 ? expect_staged<6, APART>(pass.of, taps, ends, i, known)
                             : stencil == 4 ? expect_staged<4, APART>(pass.of, taps, ends, i, known) : expect_staged<2, APART>(pass.of, taps, ends, i, known);
      const uint32_t to = j * STEP + lane;
      room.guesses[k % 3][to] = p.p;
      room.points[k % 3][to] = (uint16_t)(pass.set.place[p.context] | (live ? LIVE_POINT : 0) | (p.context == FILL2 ? FILL_POINT : 0));
      if constexpr (!LINES) room.left[k % 3][to] = taps[3];
    }
  }
  // The value of a point. The prediction of a point whose context is FILL2 is its left neighbor.
  FZ_DEV T value(uint32_t k, uint32_t at, bool& live) const {
    const uint32_t u = room.codes[k % 2][at], point = room.points[k % 3][at];
    const T p = room.guesses[k % 3][at];
    live = (point & LIVE_POINT) != 0;
    const bool fill = (point & FILL_POINT) != 0;
    if (u == EXACT_CODE || (fill && u == 0)) return p;
    return Num<T>::fma(Num<T>::small_integer(unzigzag(u - fill)), pass.of.step, fill ? pass.of.finish(pass.of.center) : p);
  }
  FZ_DEV void restore_lines(uint32_t k, const Divider& lines_of, Line<T>& line, uint32_t& line_number) const {
    const TeamBatch batch = room.batches[k % 4];
    const uint32_t number = lines_of(batch.number);
    if (number != line_number) line = Line<T>(pass.shape, pass.s, pass.known, number);
    line_number = number;
#pragma unroll 1
    for (uint32_t j = worker; j < BATCH; j += TEAM - 1) {
      if (!(batch.mask >> j & 1)) continue;
      bool live;
      const T x = value(k, j * STEP + (threadIdx.x & 31), live);
      if (live) line.odd[(uint64_t)(batch.first + j) * line.apart] = x;
    }
  }
  FZ_DEV void restore_rows(uint32_t k, const RowTarget<T>& target, const Divider& rows_of, const Divider& planes_of) const {
    const TeamBatch batch = room.batches[k % 4];
    const uint32_t lane = threadIdx.x & 31, known = pass.s.known, width = pass.s.points[0];
#pragma unroll 1
    for (uint32_t j = worker; j < BATCH; j += TEAM - 1) {
      if (!(batch.mask >> j & 1)) continue;
      const uint32_t step = batch.number * BATCH + j, row = rows_of(step), z = planes_of(row), i = (step - row * rows_of.by) * STEP + lane;
      const uint32_t place = (row - z * planes_of.by) * target.per_y + z * target.per_z + 2 * i;
      bool live;
      const T odd = value(k, j * STEP + lane, live);
      if (live) target.put(place, room.left[k % 3][j * STEP + lane], odd);
      // The known point behind the last one of the pass.
      if (i + 1 == width && known > width) target.put_last(place + 2, pass.known.at[row * pass.known.length + i + 1]);
    }
  }
};
}  // namespace multilevel
}  // namespace fz
