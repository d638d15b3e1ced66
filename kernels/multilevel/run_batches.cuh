// Stage multilevel: the batches of a run, and the places of the codes of their steps.
#pragma once
#include "multilevel/memory.cuh"
#include "multilevel/num.cuh"
#include "multilevel/starts.cuh"

namespace fz {
namespace multilevel {
// The steps of a run: from place `from` of batch `first` to the step before place `to` of batch `last`.
struct RunSteps {
  uint32_t first, from, last, to;
  FZ_DEV RunSteps(const Section& s, const Coding& c, const uint32_t* starts, uint32_t run) {
    place(s, c, starts, run, first, from);
    last = s.batches;
    to = 0;
    if (run + 1 < c.runs) place(s, c, starts, run + 1, last, to);
    first = uniform(first);
    from = uniform(from);
    last = uniform(last);
    to = uniform(to);
  }
  FZ_DEV static void place(const Section& s, const Coding& c, const uint32_t* starts, uint32_t run, uint32_t& batch, uint32_t& at) {
    if (c.has_masks) {
      batch = starts[run] / BATCH;
      at = starts[run] % BATCH;
    } else {
      batch = s.batch_of(run * c.per_run);
      at = s.place_of(run * c.per_run);
    }
  }
  // The mask of the steps of a batch that are in the run.
  FZ_DEV uint32_t mask(const Section& s, const Coding& c, const uint8_t* masks, uint32_t batch) const {
    if (batch < first || batch > last || batch >= s.batches) return 0;
    uint32_t m = c.has_masks ? busy_of(s, masks[batch], batch) : s.all(batch);
    if (batch == first) m &= ~((1u << from) - 1);
    if (batch == last) m &= (1u << to) - 1;
    return m;
  }
};

// Iterates over the batches that have steps in a run, forward or backward. A warp loads 32 masks at a time.
template <bool BACKWARD> struct RunBatches {
  const Section& s;
  const Coding& c;
  const uint8_t* masks;
  const RunSteps steps;
  uint32_t base, own, pending;
  bool over;
  FZ_DEV RunBatches(const Section& section, const Coding& coding, const uint8_t* of, const RunSteps& r) : s(section), c(coding), masks(of), steps(r), over(false) {
    base = (BACKWARD ? min(r.last, s.batches - 1) : r.first) & ~31u;
    load();
  }
  FZ_DEV void load() {
    own = steps.mask(s, c, masks, base + (threadIdx.x & 31));
    pending = __ballot_sync(ALL, own != 0);
  }
  // Passes over batches without steps, of which a run may have many between its steps.
  FZ_DEV void skip() {
    constexpr uint32_t EACH = 16, WIDE = 32 * EACH, LOADS = 4;
    const uint32_t lane = threadIdx.x & 31;
    while (c.has_masks && (BACKWARD ? base >= steps.first + LOADS * WIDE : base + LOADS * WIDE <= min(steps.last, s.batches))) {
      uint32_t who[LOADS];
#pragma unroll
      for (uint32_t j = 0; j < LOADS; j++) {
        const uint32_t at = BACKWARD ? base - EACH * (lane + 1) - WIDE * j : base + 32 + EACH * lane + WIDE * j;
        const uint4 q = at < s.batches ? *reinterpret_cast<const uint4*>(masks + at) : make_uint4(0, 0, 0, 0);
        who[j] = __ballot_sync(ALL, (q.x | q.y | q.z | q.w) != 0);
      }
#pragma unroll
      for (uint32_t j = 0; j < LOADS; j++) {
        const uint32_t passed = (who[j] ? (__ffs((int)who[j]) - 1) * EACH : WIDE) & ~31u;
        base = BACKWARD ? base - passed : base + passed;
        if (who[j]) return;
      }
    }
  }
  // Finds the next batch and its mask; returns false if there is none.
  FZ_DEV bool next(uint32_t& batch, uint32_t& mask) {
    while (pending == 0) {
      if (BACKWARD ? base <= steps.first : base + 32 > steps.last || base + 32 >= uniform(s.batches)) return false;
      skip();
      base = BACKWARD ? base - 32 : base + 32;
      load();
    }
    const int k = BACKWARD ? 31 - __clz((int)pending) : __ffs((int)pending) - 1;
    pending &= ~(1u << k);
    batch = base + k;
    mask = uniform_of(own, k);
    return true;
  }
};

// The places of the codes of the steps of a batch among those of the section, for a lane. If no row ends within a step, steps have
// 32 codes, and those of consecutive steps are `next` apart.
struct BatchCodes {
  uint32_t first, next;
  // If rows end within steps: the place of this lane's point in its row, and the length of a row.
  uint32_t x, width;
  bool live, whole;
  FZ_DEV BatchCodes() {}
  FZ_DEV BatchCodes(const Section& s, uint32_t batch) : next(STEP), x(0), width(s.points[0]), live(true), whole(true) {
    const uint32_t lane = threadIdx.x & 31;
    if (s.in_lines()) {
      const uint32_t line = batch / s.per_line, i = batch % s.per_line * BATCH, other = line / s.strips;
      x = line % s.strips * STEP + lane;
      live = x < width;
      next = s.axis == 1 ? width : width * s.points[1];
      first = (s.axis == 1 ? other * s.points[1] * width : other * width) + x + i * next;
    } else if (width % STEP == 0) {
      first = batch * BATCH * STEP + lane;
    } else {
      const uint32_t row = batch * BATCH / s.strips;
      x = (batch * BATCH - row * s.strips) * STEP + lane;
      first = row * width + x;
      whole = false;
    }
  }
  // Advances to the next step, if rows end within steps.
  FZ_DEV void advance() {
    first += STEP;
    x += STEP;
    const uint32_t in_row = x - (threadIdx.x & 31);
    if (in_row < width) return;
    first -= in_row - width;
    x -= in_row;
  }
  // The place of the code of step j.
  FZ_DEV uint32_t at(uint32_t j) const {
    if (whole) return first + j * next;
    BatchCodes other = *this;
    for (; j > 0; j--) other.advance();
    return other.first;
  }
};
}  // namespace multilevel
}  // namespace fz
