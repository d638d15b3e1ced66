// Stage multilevel, decoder: the passes of a level. A warp or, if there are few runs, a team of warps restores a run, and then quiet steps.
#include "multilevel/pass_team.cuh"

namespace fz {
namespace multilevel {
// Shared memory of a block, which has fewer warps for wide values.
template <class T> struct PassRoom {
  static constexpr uint32_t WARPS = PASS_BYTES / 32 / sizeof(T), TEAMS = WARPS / TEAM;
  DecoderSet set;
  // For each context the number of its table; from bit 3 on 1 if it is FILL2.
  uint8_t codes[CONTEXTS];
  // For teams.
  uint32_t failed;
  union {
    struct {
      RunRing rings[WARPS];
      StagedTaps<T> taps[WARPS][2];
      Values<T> values;
    };
    struct {
      RunRing team_rings[TEAMS];
      TeamRoom<T> teams[TEAMS];
      QuickTable tables[TABLES + 1];
    };
  };
};

// Results of a pass by teams: the grid before this one has ended, a grid failed, and a run is corrupt.
constexpr uint32_t WAITED = 1, STOPPED = 2, CORRUPT_RUN = 4;

// The teams of a block, which has one team of all warps if there are few runs.
template <class T> FZ_DEV uint32_t teams_of_block(const Coding& c) {
  return uniform(c.runs) <= (uniform(c.has_masks) ? gridDim.x / 8 : gridDim.x) ? 1 : PassRoom<T>::TEAMS;
}
// Teams of a block have consecutive runs if other blocks restore quiet steps, and else runs of different blocks.
FZ_DEV uint32_t run_of_team(const Coding& c, uint32_t team, uint32_t teams) { return uniform(c.has_masks) ? blockIdx.x * teams + team : blockIdx.x + team * gridDim.x; }

// All threads of a block must call the function.
template <class T, bool LINES> FZ_APART uint32_t restore_by_teams(const Args* a, Shared<PassRoom<T>> shared, uint32_t number, uint32_t level) {
  PassRoom<T>& room = *shared;
  const MultilevelParams& p = params<MultilevelParams>(*a);
  const DecoderMemory memory(*a, p);
  const Buffers<T> buffers(memory.values, p);
  const PassDecoder<T> decoder(*a, p, memory, number, room.set, room.values, room.codes);
  const Target<T> array(output(*a, 0), elements(p));
  const Known<T> finer(buffers, memory.plan->shape, level > 1 ? level - 1 : 1);
  const RowTarget<T> target(memory.plan->shape, level > 1 ? &finer : nullptr, array);
  // The warps that decode have different schedulers. Blocks that are a quarter of the grid apart share a multiprocessor.
  const uint32_t teams = teams_of_block<T>(decoder.c), warps = PassRoom<T>::WARPS / teams, warp = uniform(threadIdx.x >> 5), team = warp / warps;
  const uint32_t role = (warp + 4 * blockIdx.x / gridDim.x + 2 * team) % warps, run = uniform(run_of_team(decoder.c, team, teams));
  // The threads of the block meet before a run begins.
  QuickTable::fill(room.tables, room.set);
  for (uint32_t i = threadIdx.x; i < sizeof(room.teams) / 4; i += blockDim.x) reinterpret_cast<uint32_t*>(room.teams)[i] = 0;
  const Team<T, LINES> of(decoder, room.teams, team, room.tables, room.failed, warps, role);
  const uint32_t stencil = uniform(stencil_at(metadata_of(*a), level));
  bool good = true;
  const bool goes = run >= uniform(decoder.c.runs) ? of.idle()
                    : role == 0                    ? of.decode(run, room.team_rings[team], good)
                    : stencil == 8                 ? of.template work<8>(run, target)
                    : stencil == 6                 ? of.template work<6>(run, target)
                    : stencil == 4                 ? of.template work<4>(run, target)
                                                   : of.template work<2>(run, target);
  return WAITED | (goes ? 0 : STOPPED) | (good ? 0 : CORRUPT_RUN);
}

// Until it waits in `cancelled_late`, the grid reads only results of grids before `multilevel_put_exact`. They have ended, because that
// function calls `cancelled_late` too, or because the passes of the first level wait for them.
template <class T, bool LINES> FZ_DEV void decode_pass(const Args& a, PassRoom<T>& of_block) {
  const Shared<PassRoom<T>> shared(of_block);
  PassRoom<T>& room = *shared;
  const MultilevelParams& p = params<MultilevelParams>(a);
  const DecoderMemory memory(a, p);
  const uint32_t level = (a.tag & 255) / 4, axis = a.tag % 4;
  const Skips skips = skips_of(a);
  if (uniform(skips.skips(level))) return;
  if (uniform(skips.waits(level))) ended_of(a).wait();
  // The grid before this one may fail meanwhile, so the threads of a block agree.
  const bool is_early = __syncthreads_and(!cancelled_early(a) && is_open(a, memory, p));
  const MultilevelMetadata& m = metadata_of(a);
  const Plan& plan = *memory.plan;
  const Shape& shape = plan.shape;
  const bool known = is_early && uniform(m.differences == 0 && level <= plan.base_ends), has = known && uniform(shape.has_pass(level, axis));
  const uint32_t number = has ? plan.number[level][axis] : 0;
  const Coding& c = memory.state->of[number];
  // Runs are distributed over the blocks.
  const bool works = has && (uniform(c.has_masks) || blockIdx.x < uniform(c.runs));
  if (!works) {
    // The next grid may start at once.
    if (uniform(cancelled(a)) || !known || has || LINES || level == 1) return;
    const Buffers<T> buffers(memory.values, p);
    copy_known(shape, Known<T>(buffers, shape, level), Known<T>(buffers, shape, level - 1), shape.grid(2, level - 1));
    return;
  }
  copy_set(room.set, memory.set(number, 0));
  if (threadIdx.x < CONTEXTS) room.codes[threadIdx.x] = (uint8_t)(memory.set(number, 0).place[threadIdx.x] / sizeof(DecoderTable) | (threadIdx.x == FILL2 ? FILL_CODE : 0));
  const bool few = uniform(c.runs) <= PassRoom<T>::TEAMS * gridDim.x;
  if (!few) room.values.fill();
  if (threadIdx.x == 0) room.failed = 0;
  __syncthreads();
  const uint32_t result = few && run_of_team(c, 0, teams_of_block<T>(c)) < uniform(c.runs) ? restore_by_teams<T, LINES>(&a, shared, number, level) : 0;
  if (result & CORRUPT_RUN && (threadIdx.x & 31) == 0) corrupt(a);
  if (uniform(result & STOPPED)) return;
  const bool waits = uniform(!(result & WAITED));
  const Buffers<T> buffers(memory.values, p);
  const PassDecoder<T> decoder(a, p, memory, number, room.set, room.values, room.codes);
  RunRing& ring = room.rings[threadIdx.x >> 5];
  StagedTaps<T>* taps = room.taps[threadIdx.x >> 5];
  const Target<T> array(output(a, 0), elements(p));
  const Known<T> finer(buffers, shape, level > 1 ? level - 1 : 1);
  const RowTarget<T> target(shape, level > 1 ? &finer : nullptr, array);
  const uint32_t stencil = uniform(stencil_at(m, level));
  const bool good = stencil == 8   ? decoder.template all<8, LINES>(&target, ring, taps, few, waits)
                    : stencil == 6 ? decoder.template all<6, LINES>(&target, ring, taps, few, waits)
                    : stencil == 4 ? decoder.template all<4, LINES>(&target, ring, taps, few, waits)
                                   : decoder.template all<2, LINES>(&target, ring, taps, few, waits);
  if (!good && (threadIdx.x & 31) == 0) corrupt(a);
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
