// Stage multilevel, decoder: the passes of a level. A warp or, if there are few runs, a team of warps restores a run, and then quiet steps.
#include "multilevel/pass_team.cuh"

namespace fz {
namespace multilevel {
// Shared memory of a block, which has fewer warps for wide values.
template <class T> struct PassRoom {
  static constexpr uint32_t WARPS = PASS_BYTES / 32 / sizeof(T), TEAMS = WARPS / TEAM;
  RunRing rings[WARPS];
  DecoderSet set;
  Values<T> values;
  // For each context the number of its table; from bit 3 on 1 if it is FILL2.
  uint8_t codes[CONTEXTS];
  union {
    StagedTaps<T> taps[WARPS][2];
    TeamRoom<T> teams[TEAMS];
  };
};

// A pass of a call, for one part of its work. The parts are functions of their own, so that each of them has all registers.
template <class T> struct Pass {
  const MultilevelParams& p;
  const DecoderMemory memory;
  const Buffers<T> buffers;
  const Known<T> finer;
  const Target<T> array;
  const RowTarget<T> target;
  const PassDecoder<T> decoder;
  FZ_DEV Pass(const Args& a, PassRoom<T>& room, uint32_t number, uint32_t level)
      : p(params<MultilevelParams>(a)), memory(a, p), buffers(memory.values, p), finer(buffers, memory.plan->shape, level > 1 ? level - 1 : 1), array(output(a, 0), elements(p)),
        target(memory.plan->shape, level > 1 ? &finer : nullptr, array), decoder(a, p, memory, number, room.set, room.values, room.codes) {}
};

// Results of the parts that restore runs: the grid before this one has ended, a grid failed, and a run is corrupt.
constexpr uint32_t WAITED = 1, STOPPED = 2, CORRUPT_RUN = 4;

template <class T, bool LINES, int STENCIL> FZ_APART uint32_t restore_runs(const Args* a, Shared<PassRoom<T>> shared, uint32_t number, uint32_t level) {
  PassRoom<T>& room = *shared;
  const Pass<T> pass(*a, room, number, level);
  bool waits = true;
  const bool good = pass.decoder.template runs<STENCIL, LINES>(&pass.target, room.rings[threadIdx.x >> 5], room.taps[threadIdx.x >> 5], waits);
  return (waits ? 0 : WAITED) | (good ? 0 : CORRUPT_RUN);
}

// Teams of a block have consecutive runs if other blocks restore quiet steps, and else runs of different blocks.
FZ_DEV uint32_t run_of_team(const Coding& c, uint32_t team, uint32_t teams) { return c.has_masks ? blockIdx.x * teams + team : blockIdx.x + team * gridDim.x; }

// All threads of a block must call the function.
template <class T, bool LINES> FZ_APART uint32_t restore_by_teams(const Args* a, Shared<PassRoom<T>> shared, uint32_t number, uint32_t level) {
  PassRoom<T>& room = *shared;
  const Pass<T> pass(*a, room, number, level);
  // The warps that decode have different schedulers. Blocks that are a quarter of the grid apart share a multiprocessor.
  const uint32_t warp = uniform(threadIdx.x >> 5), team = warp / TEAM, role = (warp + 4 * blockIdx.x / gridDim.x + 2 * team) % TEAM;
  const uint32_t run = uniform(run_of_team(pass.decoder.c, team, PassRoom<T>::TEAMS));
  const Team<T, LINES> of(pass.decoder, room.teams[team], role - 1);
  bool good = true;
  const bool goes = run >= uniform(pass.decoder.c.runs) ? of.idle() : role == 0 ? of.decode(run, room.rings[warp], good) : of.work(run, pass.target);
  return WAITED | (goes ? 0 : STOPPED) | (good ? 0 : CORRUPT_RUN);
}

template <class T, bool LINES, int STENCIL> FZ_APART void restore_quiet(const Args* a, Shared<PassRoom<T>> shared, uint32_t number, uint32_t level, uint32_t own, uint32_t all) {
  PassRoom<T>& room = *shared;
  const Pass<T> pass(*a, room, number, level);
  pass.decoder.template quiet<STENCIL, LINES>(&pass.target, room.taps[threadIdx.x >> 5], QuietBatches(pass.decoder.s, pass.decoder.masks, own, all));
}

// Until it copies taps, the grid reads no results of the grid before it: both call `cancelled_late`.
template <class T, bool LINES> FZ_DEV void decode_pass(const Args& a, PassRoom<T>& of_block) {
  const Shared<PassRoom<T>> shared(of_block);
  PassRoom<T>& room = *shared;
  const MultilevelParams& p = params<MultilevelParams>(a);
  const DecoderMemory memory(a, p);
  // The grid before this one may fail meanwhile, so the threads of a block agree.
  const bool is_early = __syncthreads_and(!cancelled_early(a) && is_open(a, memory, p));
  const MultilevelMetadata& m = metadata_of(a);
  const Plan& plan = *memory.plan;
  const Shape& shape = plan.shape;
  const uint32_t level = (a.tag & 255) / 4, axis = a.tag % 4;
  const bool known = is_early && uniform(m.differences == 0 && level <= plan.base_ends), has = known && uniform(shape.has_pass(level, axis));
  const uint32_t number = has ? plan.number[level][axis] : 0;
  const Coding& c = memory.state->of[number];
  // Runs are distributed over the blocks.
  const bool works = has && (uniform(c.has_masks) || blockIdx.x < uniform(c.runs));
  if (!works) {
    if (uniform(cancelled_late(a)) || !known || has || LINES || level == 1) return;
    const Buffers<T> buffers(memory.values, p);
    copy_known(shape, Known<T>(buffers, shape, level), Known<T>(buffers, shape, level - 1), shape.grid(2, level - 1));
    return;
  }
  copy_set(room.set, memory.set(number, 0));
  if (threadIdx.x < CONTEXTS) room.codes[threadIdx.x] = (uint8_t)(memory.set(number, 0).place[threadIdx.x] / sizeof(DecoderTable) | (threadIdx.x == FILL2 ? FILL_CODE : 0));
  room.values.fill();
  __syncthreads();
  const uint32_t stencil = uniform(stencil_at(m, level)), runs = uniform(c.runs), warps = PassRoom<T>::WARPS, teams = PassRoom<T>::TEAMS;
  const bool few = runs <= teams * gridDim.x;
  uint32_t result = 0;
  if (!few) {
    result = stencil == 8   ? restore_runs<T, LINES, 8>(&a, shared, number, level)
             : stencil == 6 ? restore_runs<T, LINES, 6>(&a, shared, number, level)
             : stencil == 4 ? restore_runs<T, LINES, 4>(&a, shared, number, level)
                            : restore_runs<T, LINES, 2>(&a, shared, number, level);
  } else if (run_of_team(c, 0, teams) < runs) {
    result = restore_by_teams<T, LINES>(&a, shared, number, level);
  }
  if (result & CORRUPT_RUN && (threadIdx.x & 31) == 0) corrupt(a);
  if (result & STOPPED || (!(result & WAITED) && uniform(cancelled_late(a) || !is_open(a, memory, p)))) return;
  if (!uniform(c.has_masks)) return;
  // If most warps have no run, these warps restore the quiet steps. All warps of a block are busy if its teams have runs.
  const uint32_t each = few ? warps : 1, units = warps / each * gridDim.x, with_runs = few ? (runs + teams - 1) / teams : runs, busy = 2 * with_runs < units ? with_runs : 0;
  const uint32_t warp = uniform(threadIdx.x >> 5), unit = few ? blockIdx.x : spread_warp();
  if (unit < busy) return;
  const uint32_t own = unit - busy + (few ? warp * (units - busy) : 0), all = each * (units - busy);
  if (stencil == 8) restore_quiet<T, LINES, 8>(&a, shared, number, level, own, all);
  else if (stencil == 6) restore_quiet<T, LINES, 6>(&a, shared, number, level, own, all);
  else if (stencil == 4) restore_quiet<T, LINES, 4>(&a, shared, number, level, own, all);
  else restore_quiet<T, LINES, 2>(&a, shared, number, level, own, all);
}
}  // namespace multilevel
}  // namespace fz

// At least `BLOCKS` on a multiprocessor: warps wait for memory and for their own results.
#define MULTILEVEL_PASS_DECODE(NAME, VALUE, LINES, BLOCKS) \
  extern "C" __global__ void __launch_bounds__(fz::multilevel::PassRoom<VALUE>::WARPS * 32, BLOCKS) multilevel_##NAME(FZ_ARGS) { \
    __shared__ fz::multilevel::PassRoom<VALUE> room; \
    fz::multilevel::decode_pass<VALUE, LINES>(a, room); \
  }
MULTILEVEL_PASS_DECODE(decode_lines_f32, float, true, 4)
MULTILEVEL_PASS_DECODE(decode_lines_f64, double, true, 2)
MULTILEVEL_PASS_DECODE(decode_rows_f32, float, false, 4)
MULTILEVEL_PASS_DECODE(decode_rows_f64, double, false, 2)
