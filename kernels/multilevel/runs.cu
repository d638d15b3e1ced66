// Stage multilevel, encoder: masks or none, and the runs of all sections, as
// src/stages/multilevel/section.rs and stream.rs. Writes the metadata.
#include "multilevel/run_plan.cuh"
#include "multilevel/stencil.cuh"

namespace fz {
namespace multilevel {
struct RunPlanner {
  // The decisions, which are in memory in the end: barriers with loads from memory behind them take long.
  Coding of[MOST_SECTIONS];
  uint64_t cost[MOST_SECTIONS], tokens[MOST_SECTIONS], masks[MOST_SECTIONS];
  uint32_t root[MOST_SECTIONS];
  // Runs of all sections, sums of roots and of bytes.
  uint64_t all, roots, spared;
  uint32_t mask_runs, runs;
  uint8_t stencils[MOST_LEVELS];

  FZ_DEV void decide(const EncoderMemory& memory, uint32_t k) {
    const Section& s = memory.plan->of[k];
    const Counts& c = memory.counts[k];
    Coding coding = {};
    const uint64_t raw = c.raw * BIT, all = memory.set(k, 0).cost;
    coding.has_masks = 0;
    coding.steps = s.steps;
    masks[k] = 0;
    tokens[k] = all + raw;
    if (s.kind != BASE) {
      const uint64_t with = memory.set(k, 1).cost + memory.set(k, 2).cost;
      const bool few = 4ull * c.busy <= s.steps && with <= all + 3 * all / 8;
      if (s.kind == DIFFERENCES || with <= all || few) {
        coding.has_masks = 1;
        coding.steps = c.busy;
        masks[k] = memory.set(k, 2).cost;
        tokens[k] = memory.set(k, 1).cost + raw;
      }
    }
    cost[k] = tokens[k] + masks[k];
    root[k] = s.kind == BASE ? 0 : (uint32_t)root_of(coding.steps);
    uint32_t bits = memory.set(k, coding.has_masks).bits;
    if (coding.has_masks) bits += memory.set(k, 2).bits;
    coding.table_words = (bits + 15) / 16;
    of[k] = coding;
  }
  // By the first warp: sums of all sections.
  FZ_DEV void add_up(const Plan& plan, const MultilevelParams& p) {
    uint64_t sum = 0, own_roots = 0, own_spared = 0;
    for (uint32_t k = threadIdx.x; k < plan.sections; k += 32) {
      sum += cost[k];
      own_roots += root[k];
      own_spared += bytes_of(masks[k]) + bytes_of(tokens[k]);
    }
    const uint64_t bytes = bytes_of(warp_total(sum));
    own_roots = warp_total(own_roots);
    own_spared = warp_total(own_spared);
    if (threadIdx.x > 0) return;
    all = runs_of(bytes ? bytes : 1, elements(p) * p.value);
    roots = own_roots;
    spared = own_spared;
  }
  // By a thread for each section: its runs.
  FZ_DEV void cut(const Section& s, uint32_t k) {
    Coding& c = of[k];
    c.mask_runs = c.has_masks ? (s.batches + MASK_RUN - 1) / MASK_RUN : 0;
    if (s.kind == BASE) {
      c.per_run = c.steps;
      c.code = 0;
    } else {
      const uint64_t wanted = all * root[k] / (roots ? roots : 1), some = wanted ? wanted : 1, own = some > WAVE ? some - some % WAVE : some;
      c.code = code_of_steps((uint32_t)((c.steps + own - 1) / own));
      c.per_run = (8 + c.code % 8) << c.code / 8;
    }
    c.runs = (c.steps + c.per_run - 1) / c.per_run;
  }
  // By the first warp: numbers of runs.
  FZ_DEV void number_runs(State& state, const Plan& plan) {
    const uint32_t sections = plan.sections;
    uint32_t before = 0, of_masks = 0;
    for (uint32_t from = 0; from < sections; from += 32) {
      const uint32_t k = from + threadIdx.x, own_masks = k < sections ? of[k].mask_runs : 0;
      const uint32_t own = k < sections ? own_masks + of[k].runs : 0, upto = warp_sum_to(own);
      if (k < sections) {
        of[k].first_mask_run = before + upto - own;
        of[k].first_run = before + upto - own + own_masks;
      }
      before += __shfl_sync(ALL, upto, 31);
      of_masks += __reduce_add_sync(ALL, own_masks);
    }
    if (threadIdx.x > 0) return;
    state.mask_runs = mask_runs = of_masks;
    state.runs = runs = before - of_masks;
    state.overflows = 0;
  }
  // A thread for each section determines the room of its runs: RUN_ROOM bytes, and a share of the other bytes in proportion to the
  // cost. A run that does not fit is coded again later.
  FZ_DEV void give_room(const EncoderMemory& memory, uint32_t k) {
    Coding& c = of[k];
    const uint64_t fixed = (uint64_t)RUN_ROOM / 2 * (mask_runs + runs), spare = memory.pool_words > fixed ? memory.pool_words - fixed : 0;
    auto room = [&](uint64_t cost, uint32_t count) -> uint32_t {
      const uint64_t each = count ? bytes_of(cost) * spare / (spared + 1) / count : 0;
      return RUN_ROOM / 2 + (uint32_t)(each < 1u << 28 ? each : 1u << 28);
    };
    c.mask_room = room(masks[k], c.mask_runs);
    c.room = room(tokens[k], c.runs);
  }
  // By the first warp: where slots are.
  FZ_DEV void place_slots(uint32_t sections) {
    uint64_t before = 0;
    for (uint32_t from = 0; from < sections; from += 32) {
      const uint32_t k = from + threadIdx.x;
      uint64_t own = 0;
      if (k < sections) own = (uint64_t)of[k].mask_room * of[k].mask_runs + (uint64_t)of[k].room * of[k].runs;
      const uint64_t upto = warp_sum_to(own);
      if (k < sections) of[k].slots = before + upto - own;
      before += __shfl_sync(ALL, upto, 31);
    }
  }
};
}  // namespace multilevel
}  // namespace fz

extern "C" __global__ void __launch_bounds__(128) multilevel_runs(FZ_ARGS) {
  using namespace fz::multilevel;
  __shared__ RunPlanner planner;
  if (fz::cancelled(a)) return;
  const MultilevelParams& p = fz::params<MultilevelParams>(a);
  const EncoderMemory memory(a, p);
  const uint32_t k = threadIdx.x;
  MultilevelMetadata m = *reinterpret_cast<const MultilevelMetadata*>(fz::address(fz::input(a, 1)));
  if (elements(p) > 0) {
    const Plan& plan = *memory.plan;
    State& state = *memory.state;
    const bool mine = k < plan.sections;
    if (mine) planner.decide(memory, k);
    if (m.differences == 0 && k >= 1 && k <= plan.levels) planner.stencils[k] = (uint8_t)(k > plan.base_ends ? plan.stencil[k] : stencil_of(memory.sums[k]));
    __syncthreads();
    if (k < 32) planner.add_up(plan, p);
    __syncthreads();
    if (mine) planner.cut(plan.of[k], k);
    __syncthreads();
    if (k < 32) planner.number_runs(state, plan);
    __syncthreads();
    if (mine) planner.give_room(memory, k);
    __syncthreads();
    if (k < 32) planner.place_slots(plan.sections);
    __syncthreads();
    if (mine) state.of[k] = planner.of[k];
    if (m.differences == 0)
      for (uint32_t level = 1; k == 0 && level <= plan.levels; level++) m.stencils[(level - 1) / 4] |= (uint8_t)((planner.stencils[level] / 2 - 1) << (level - 1) % 4 * 2);
  }
  if (k > 0) return;
  *reinterpret_cast<MultilevelMetadata*>(fz::address(fz::output(a, 0))) = m;
  fz::publish(fz::output(a, 0), sizeof m);
}
