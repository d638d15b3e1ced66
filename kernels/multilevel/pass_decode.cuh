// Stage multilevel, decoder: the runs and the quiet steps of a pass.
#pragma once
#include "multilevel/decoder.cuh"
#include "multilevel/group.cuh"
#include "multilevel/run_batches.cuh"

namespace fz {
namespace multilevel {
// Where the points of a level go: to the known points of the level below, or to the array.
template <class T> struct RowTarget {
  T* at;
  // From a row to the next one, and from a plane.
  uint32_t per_y, per_z;
  // An array that is not aligned, or too short.
  const Target<T>* array;
  bool pairs;
  FZ_DEV RowTarget(const Shape& shape, const Known<T>* finer, const Target<T>& target) : array(nullptr) {
    const uint32_t length = finer ? finer->length : shape.n[0], count = finer ? finer->rows : shape.n[1];
    at = finer ? finer->at : target.at;
    per_y = (finer && shape.has(1) ? 2 : 1) * length;
    per_z = (finer && shape.has(2) ? 2 : 1) * length * count;
    if (!finer && !target.whole) array = &target;
    pairs = length % 2 == 0 && aligned(at, 2 * sizeof(T));
  }
  // A known point and the one behind it, from `place` on.
  FZ_DEV void put(uint32_t place, T even, T odd) const {
    if (array) {
      array->put(place, even);
      array->put(place + 1, odd);
    } else {
      put_pair(at + place, pairs, even, odd);
    }
  }
  FZ_DEV void put_last(uint32_t place, T even) const {
    if (array) array->put(place, even);
    else at[place] = even;
  }
};

// Batches with steps that are in no run; warps take eight of them at a time, by a number that all warps of a pass share.
struct QuietBatches {
  const Section& s;
  const uint8_t* masks;
  uint32_t* shared;
  uint32_t base, batches, own, pending;
  FZ_DEV QuietBatches(const Section& section, const uint8_t* of, uint32_t* of_pass) : s(section), masks(of), shared(of_pass), batches(uniform(section.batches)) { load(); }
  FZ_DEV void load() {
    const uint32_t lane = threadIdx.x & 31;
    base = uniform(lane == 0 ? atomicAdd(shared, BATCH) : 0);
    own = lane < BATCH && base + lane < batches ? s.all(base + lane) & ~masks[base + lane] : 0;
    pending = __ballot_sync(ALL, own != 0);
  }
  // The next batch and its quiet steps; false: there is none.
  FZ_DEV bool next(uint32_t& batch, uint32_t& mask) {
    while (pending == 0) {
      if (base >= batches) return false;
      load();
    }
    const int k = __ffs((int)pending) - 1;
    pending &= pending - 1;
    batch = base + k;
    mask = uniform_of(own, k);
    return true;
  }
};

// A code of a point before it is decoded: the number of its table, and whether its context is FILL2.
constexpr uint32_t TABLE_CODE = TABLES - 1;
static_assert(TABLES == FILL_CODE, "a code has 4 bits");

// Divides by a number that many numbers are divided by.
struct Divider {
  uint32_t by, rate;
  FZ_DEV explicit Divider(uint32_t d) : by(d), rate(~0u / d) {}
  // The estimate is the quotient or 1 less.
  FZ_DEV uint32_t operator()(uint32_t n) const {
    const uint32_t q = __umulhi(n, rate);
    return q + (n - q * by >= by);
  }
};

// Begins to copy the taps of all steps of a batch, which all exist. `i` is the first step of the batch.
template <int STENCIL, class T> FZ_DEV void stage_inner_line(StagedTaps<T>& to, const Line<T>& line, uint32_t i) {
  constexpr uint32_t TAPS = STENCIL < 4 ? 4 : STENCIL, FIRST = (8 - TAPS) / 2;
  T* own = &to.at[FIRST * STEP + (threadIdx.x & 31)];
  const T* from = line.even + (i + FIRST - 3) * line.apart;
#pragma unroll
  for (uint32_t r = FIRST; r < LINE_TAPS - FIRST; r++) {
    fz_copy<sizeof(T)>(own, from);
    own += STEP;
    from += line.apart;
  }
}

// `expect` for point i, whose taps are `APART` apart from t on. If `ends` is false, no tap is missing.
template <int STENCIL, uint32_t APART, class T> FZ_DEV Predicted<T> expect_staged(const Predictor<T>& of, const T* t, bool ends, uint32_t i, uint32_t known) {
  const Taps<T> w = staged_taps<STENCIL, APART>(t);
  Guess<T> g = inside<STENCIL>(w.t0, w.a5, w.a, w.b, w.c, w.d, w.d5, w.t7);
  if (ends) g = near_end<STENCIL>(g, i + 1, known > i ? known - i - 1 : 0, w.a5, w.a, w.b, w.c, w.d, w.d5, of.step);
  return expect(of, g, w.b, w.c, i + 1 < known);
}
// Steps of a line that are predicted together: their latencies overlap.
constexpr uint32_t SPAN = 2;
// Predicts steps of a line, whose points have taps from `taps` on, and replaces the first tap of each step by its prediction. `ends` is
// not 0 if some steps lack taps. Returns the codes of the points, that of step j from bit 4 j on. `i` is the first step.
template <int STENCIL, class T>
FZ_DEV uint32_t expect_steps(const Predictor<T>& of, const uint8_t* codes_of, T* taps, uint32_t ends, uint32_t known, uint32_t i) {
  uint32_t codes = 0, context[SPAN];
  T p[SPAN];
  Guess<T> g[SPAN];
  bool usual = true;
#pragma unroll
  for (uint32_t j = 0; j < SPAN; j++) {
    const Taps<T> w = staged_taps<STENCIL, STEP>(taps + j * STEP);
    g[j] = inside<STENCIL>(w.t0, w.a5, w.a, w.b, w.c, w.d, w.d5, w.t7);
  }
  // Few steps lack taps. Their branches are not between the steps, so that the latencies of steps overlap.
  if (ends % (1u << SPAN)) {
#pragma unroll
    for (uint32_t j = 0; j < SPAN; j++) {
      if (!(ends >> j & 1)) continue;
      const Taps<T> w = staged_taps<STENCIL, STEP>(taps + j * STEP);
      g[j] = near_end<STENCIL>(g[j], i + j + 1, known > i + j ? known - i - j - 1 : 0, w.a5, w.a, w.b, w.c, w.d, w.d5, of.step);
    }
  }
#pragma unroll
  for (uint32_t j = 0; j < SPAN; j++) {
    usual = usual && of.is_usual(g[j].p);
    p[j] = of.finish(g[j].p);
    context[j] = bucket(g[j].v * of.rate);
  }
  if (__any_sync(ALL, !usual)) {
#pragma unroll
    for (uint32_t j = 0; j < SPAN; j++) {
      const Predicted<T> r = expect(of, g[j], taps[(j + 3) * STEP], taps[(j + 4) * STEP], i + j + 1 < known);
      p[j] = r.p;
      context[j] = r.context;
    }
  }
#pragma unroll
  for (uint32_t j = 0; j < SPAN; j++) {
    codes |= (uint32_t)codes_of[context[j]] << 4 * j;
    taps[j * STEP] = p[j];
  }
  return codes;
}

// The values of a run.
template <class T> struct RunValues {
  static constexpr bool IN_SPANS = true;
  RunDecoder& run;
  const DecoderSet& set;
  const State& state;
  const Values<T>& values;
  const Predictor<T>& of;
  // The unit of the next step in its table; Taken::RAW if the batch has points whose context is FILL2, else 0; the table.
  uint32_t unit, fills;
  Shared<const DecoderTable> now;
  FZ_DEV RunValues(RunDecoder& of_run, const DecoderSet& tables, const State& of_call, const Values<T>& of_codes, const Predictor<T>& predictor)
      : run(of_run), set(tables), state(of_call), values(of_codes), of(predictor), unit(0), fills(0), now(tables.of[0]) {}
  FZ_DEV Shared<const DecoderTable> table(uint32_t codes) const { return Shared<const DecoderTable>(set.of[codes & TABLE_CODE]); }
  // `first` is the first step of a batch.
  FZ_DEV void begin(uint32_t codes, uint32_t first) {
    now = table(codes >> 4 * first);
    unit = run.look(*now);
    fills = __any_sync(ALL, (codes & 0x11111111 * FILL_CODE) != 0) ? Taken::RAW : 0;
  }
  // The value of step j of a batch of codes, where `next` is the step after it.
  FZ_DEV T value(T guess, uint32_t codes, uint32_t j, uint32_t next, bool live) {
    const Shared<const DecoderTable> then = table(codes >> (4 * next & 31));
    run.more();
    const T v = decode_value(run, unit, *now, state, values, of, fills, Expected<T>{guess, codes, 4 * j, live}, [&] { unit = run.look(*then); });
    now = then;
    return v;
  }
  // The value of a point outside batches of codes.
  FZ_DEV T value(Predicted<T> p, T, bool live) {
    const bool fill = p.context == FILL2;
    const DecoderTable& own = set.table(p.context);
    run.more();
    return decode_value(run, run.look(own), own, state, values, of, fill ? Taken::RAW : 0, Expected<T>{p.p, fill ? FILL_CODE : 0, 0, live}, [] {});
  }
};
// The values of quiet steps, whose codes are 0.
template <class T> struct QuietValues {
  static constexpr bool IN_SPANS = false;
  T step;
  FZ_DEV T value(Predicted<T> p, T left, bool) const { return p.context == FILL2 ? left : Num<T>::fma(T(0), step, p.p); }
};

// Warps by numbers, so that neighbors are in different blocks. Blocks that are a quarter of the grid apart share a multiprocessor, and
// warps with the same place in a block share a scheduler.
FZ_DEV uint32_t spread_warp() {
  const uint32_t in_block = blockDim.x >> 5, quarter = 4 * blockIdx.x / gridDim.x;
  return (uniform(threadIdx.x >> 5) + in_block - quarter % in_block) % in_block * gridDim.x + blockIdx.x;
}

// The pass that a warp works on.
template <class T> struct PassDecoder {
  const Args& a;
  const DecoderMemory& memory;
  const Shape& shape;
  const Section& s;
  Coding& c;
  const uint8_t* masks;
  const DecoderSet& set;
  const Values<T>& of_codes;
  const uint8_t* codes_of;
  const Known<T> known;
  const Predictor<T> of;
  FZ_DEV PassDecoder(const Args& args, const MultilevelParams& p, const DecoderMemory& of_call, uint32_t number, const DecoderSet& tables, const Values<T>& values, const uint8_t* of_contexts)
      : a(args), memory(of_call), shape(of_call.plan->shape), s(of_call.plan->of[number]), c(of_call.state->of[number]),
        masks(of_call.masks + of_call.plan->of[number].first_batch), set(tables), of_codes(values), codes_of(of_contexts), known(Buffers<T>(of_call.values, p), of_call.plan->shape, of_call.plan->of[number].level), of(p.threshold, metadata_of(args)) {}

  FZ_DEV uint32_t warps() const { return gridDim.x * (blockDim.x >> 5); }

  // Waits for the grid before this one. Returns true if a grid failed.
  FZ_DEV bool stops() const { return uniform(cancelled_late(a) || !is_open(a, memory, params<MultilevelParams>(a))); }
  // Returns whether all runs were sound. `waits` is true until the grid before this one has ended; if that grid failed, it stays true.
  template <int STENCIL, bool LINES> FZ_DEV bool runs(const RowTarget<T>* target, RunRing& ring, StagedTaps<T>* room, bool& waits) const {
    bool good = true;
#pragma unroll 1
    for (uint32_t number = spread_warp(), count = uniform(c.runs); number < count; number += warps()) {
      RunDecoder run(run_words(a, memory, c, c.mask_runs + number), ring);
      RunBatches<false> walk(s, c, masks, RunSteps(s, c, memory.starts + c.first_run, number));
      RunValues<T> values(run, set, *memory.state, of_codes, of);
      if (waits && stops()) return true;
      waits = false;
      if constexpr (LINES) lines<STENCIL>(walk, room, values);
      else rows<STENCIL>(walk, *target, room, values);
      good &= run.is_finished();
    }
    return good;
  }
  // Calls f(j, k) for the steps j of a batch, where k is the next one, or any number.
  template <class F> static FZ_DEV void each_step(uint32_t steps, F f) {
    uint32_t j = __ffs((int)steps) - 1;
#pragma unroll 1
    while (true) {
      steps &= steps - 1;
      const uint32_t next = __ffs((int)steps) - 1;
      f(j, next);
      if (!steps) return;
      j = next;
    }
  }
  // Restores the steps of batches by `values`; the taps of the next batch are on their way meanwhile.
  template <int STENCIL, class Batches, class Values> FZ_DEV void lines(Batches& walk, StagedTaps<T>* room, Values& values) const {
    const uint32_t points = kept(s.known);
    const Divider lines_of(uniform(s.per_line));
    // All steps have 32 points.
    const bool full = uniform(s.points[0] % STEP == 0);
    uint32_t batch, mask, number = ~0u, i_ahead = 0;
    Line<T> ahead;
    auto stage = [&](StagedTaps<T>& to) {
      const uint32_t own = lines_of(batch);
      if (own != number) ahead = Line<T>(shape, s, known, own);
      number = own;
      i_ahead = (batch - own * lines_of.by) * BATCH;
      if (mask == (1u << BATCH) - 1 && i_ahead > 0 && i_ahead + 12 <= points) stage_inner_line<STENCIL>(to, ahead, i_ahead);
      else stage_line<STENCIL>(to, ahead, i_ahead, mask, points);
    };
    bool more = walk.next(batch, mask);
    if (more) stage(room[0]);
    fz_copies_close();
#pragma unroll 1
    for (uint32_t which = 0; more; which ^= 1) {
      const Line<T> line = ahead;
      const uint32_t i = i_ahead, steps = mask;
      more = walk.next(batch, mask);
      if (more) stage(room[which ^ 1]);
      fz_copies_close();
      fz_copies_but<1>();
      __syncwarp();
      const Shared<T> column(room[which].at[threadIdx.x & 31]);
      T* taps = &*column;
      if constexpr (Values::IN_SPANS) {
        const uint32_t before = i == 0 ? 7 : 0, behind = points < i + 12 ? ~0u << (points > i + 4 ? points - i - 4 : 0) : 0;
        uint32_t codes = 0;
#pragma unroll 1
        for (uint32_t j = 0; j < BATCH; j += SPAN)
          if (steps >> j & ((1u << SPAN) - 1)) codes |= expect_steps<STENCIL>(of, codes_of, taps + j * STEP, (before | behind) >> j, points, i + j) << 4 * j;
        values.begin(codes, __ffs((int)steps) - 1);
        if (full) {
          each_step(steps, [&](uint32_t j, uint32_t next) { line.odd[(i + j) * line.apart] = values.value(taps[j * STEP], codes, j, next, true); });
        } else {
          each_step(steps, [&](uint32_t j, uint32_t next) {
            const T restored = values.value(taps[j * STEP], codes, j, next, line.live);
            if (line.live) line.odd[(i + j) * line.apart] = restored;
          });
        }
      } else {
#pragma unroll 1
        for (uint32_t left = steps; left; left &= left - 1) {
          const uint32_t j = __ffs((int)left) - 1, at = i + j;
          const Predicted<T> p = predict_staged<STENCIL, STEP>(of, taps + j * STEP, at < 3 || at + 5 > points, at, points);
          const T restored = values.value(p, taps[(j + 3) * STEP], line.live);
          if (line.live) line.odd[at * line.apart] = restored;
        }
      }
      __syncwarp();
    }
  }
  template <int STENCIL, class Batches, class Values> FZ_DEV void rows(Batches& walk, const RowTarget<T>& target, StagedTaps<T>* room, Values& values) const {
    const uint32_t lane = kept(threadIdx.x & 31), points = kept(s.known), width = kept(s.points[0]);
    // All steps have 32 points, rows end with a point of the pass, and a store has two points.
    const bool full = uniform(width % STEP == 0 && points == width && !target.array && target.pairs);
    const Divider rows_of(uniform(s.strips)), planes_of(uniform(s.points[1]));
    uint32_t batch, mask;
    RowPack ahead;
    auto stage = [&](StagedTaps<T>& to) {
      const uint32_t step = min(batch * BATCH + lane % BATCH, s.steps - 1);
      ahead.number = rows_of(step);
      ahead.row = ahead.number * known.length;
      ahead.x = (step - ahead.number * rows_of.by) * STEP;
      stage_pack(to, known.at, ahead, points, known.wide);
    };
    bool more = walk.next(batch, mask);
    if (more) stage(room[0]);
    fz_copies_close();
#pragma unroll 1
    for (uint32_t which = 0; more; which ^= 1) {
      // Lane k of each 8 has the first point of step k, whether points of it lack taps, and where it is in the target.
      const uint32_t first = ahead.x, ends = ahead.ends(points), z = planes_of(ahead.number), steps = mask;
      const uint32_t to = (ahead.number - z * planes_of.by) * target.per_y + z * target.per_z + 2 * first;
      more = walk.next(batch, mask);
      if (more) stage(room[which ^ 1]);
      fz_copies_close();
      fz_copies_but<1>();
      __syncwarp();
      const Shared<T> column(room[which].at[lane + 1]);
      const T* taps = &*column;
#pragma unroll 1
      for (uint32_t left = steps; left; left &= left - 1) {
        const uint32_t j = __ffs((int)left) - 1, i = __shfl_sync(ALL, first, j) + lane, place = __shfl_sync(ALL, to, j) + 2 * lane;
        const T* own = taps + j * ROW_TAPS;
        const Taps<T> w = staged_taps<STENCIL, 1>(own);
        Guess<T> g = inside<STENCIL>(w.t0, w.a5, w.a, w.b, w.c, w.d, w.d5, w.t7);
        if (ends >> j & 1) g = near_end<STENCIL>(g, i + 1, points > i ? points - i - 1 : 0, w.a5, w.a, w.b, w.c, w.d, w.d5, of.step);
        const Predicted<T> p = expect(of, g, w.b, w.c, i + 1 < points);
        if (full) {
          put_pair(target.at + place, true, w.b, values.value(p, w.b, true));
          continue;
        }
        const bool live = i < width;
        const T odd = values.value(p, w.b, live);
        if (live) target.put(place, w.b, odd);
        // The known point behind the last one of the pass.
        if (i + 1 == width && points > width) target.put_last(place + 2, own[4]);
      }
      __syncwarp();
    }
  }

  // Restores runs, unless teams have restored them, and quiet steps: all of their tokens are 0. `waits` is true until the grid before this
  // one has ended.
  template <int STENCIL, bool LINES> FZ_DEV bool all(const RowTarget<T>* target, RunRing& ring, StagedTaps<T>* room, bool few, bool waits) const {
    const bool good = few || runs<STENCIL, LINES>(target, ring, room, waits);
    if ((waits && stops()) || !uniform(c.has_masks)) return good;
    QuietBatches walk(s, masks, &c.next);
    QuietValues<T> values = {of.step};
    if constexpr (LINES) lines<STENCIL>(walk, room, values);
    else rows<STENCIL>(walk, *target, room, values);
    return good;
  }
};
}  // namespace multilevel
}  // namespace fz
