// Stage exact, encoder: the tables and the runs of sections, as src/stages/multilevel/section.rs and stream.rs. A warp codes a run.
#include "exact/encode_run.cuh"
#include "exact/starts.cuh"
#include "multilevel/find_places.cuh"
#include "multilevel/run_plan.cuh"
#include "multilevel/set_maker.cuh"

namespace fz {
namespace exact {
FZ_DEV void make_tables(const Args& a, multilevel::SetMaker& maker) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  const uint32_t part = blockIdx.x / 2, kind = 1 + blockIdx.x % 2;
  if (elements(p) == 0 || memory.state->of[part].s.count == 0) return;
  maker.make(memory.zeroed.counts[part], kind, memory.set(part, kind));
}

// Bytes of the integers of a part.
FZ_DEV uint64_t bytes_of_part(const Part& part, const ExactParams& p) { return (uint64_t)part.s.count * p.width; }

// One thread determines the runs of both parts, and their slots: RUN_ROOM bytes, and a share of the other bytes in proportion to the
// cost. A run that does not fit is coded again later.
FZ_DEV void plan_runs(const Args& a) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0) return;
  uint64_t tokens[PARTS], masks[PARTS], bytes = 0, at = 0;
  uint32_t runs = 0;
  for (uint32_t k = 0; k < PARTS; k++) {
    Part& part = memory.state->of[k];
    Coding& c = part.c;
    c = {};
    c.first_mask_run = c.first_run = runs;
    tokens[k] = masks[k] = 0;
    if (part.s.count == 0) continue;
    const multilevel::EncoderSet &busy = memory.set(k, 1), &classes = memory.set(k, 2);
    c.has_masks = 1;
    c.steps = memory.zeroed.counts[k].busy;
    tokens[k] = busy.cost + memory.zeroed.counts[k].raw * multilevel::BIT;
    masks[k] = classes.cost;
    c.table_words = (busy.bits + classes.bits + 15) / 16;
    const uint64_t all = multilevel::bytes_of(tokens[k] + masks[k]), some = multilevel::runs_of(all ? all : 1, bytes_of_part(part, p)) / 4, own = some ? some : 1;
    c.code = multilevel::code_of_steps((uint32_t)((c.steps + own - 1) / own));
    c.per_run = (8 + c.code % 8) << c.code / 8;
    c.mask_runs = (part.s.batches + MASK_RUN - 1) / MASK_RUN;
    c.first_run = runs + c.mask_runs;
    c.runs = min((c.steps + c.per_run - 1) / c.per_run, p.runs > c.first_run ? p.runs - c.first_run : 0);
    runs = c.first_run + c.runs;
    bytes += multilevel::bytes_of(tokens[k]) + multilevel::bytes_of(masks[k]);
  }
  const uint64_t fixed = (uint64_t)multilevel::RUN_ROOM / 2 * runs, spare = memory.pool_words > fixed ? memory.pool_words - fixed : 0;
  for (uint32_t k = 0; k < PARTS; k++) {
    Coding& c = memory.state->of[k].c;
    auto room = [&](uint64_t cost, uint32_t of) -> uint32_t {
      const uint64_t each = of ? multilevel::bytes_of(cost) * spare / (bytes + 1) / of : 0;
      return multilevel::RUN_ROOM / 2 + (uint32_t)(each < 1u << 28 ? each : 1u << 28);
    };
    c.mask_room = room(masks[k], c.mask_runs);
    c.room = room(tokens[k], c.runs);
    c.slots = at;
    at += (uint64_t)c.mask_room * c.mask_runs + (uint64_t)c.room * c.runs;
  }
}

FZ_DEV void put_starts(const Args& a, uint32_t* words) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  const Part& part = memory.state->of[blockIdx.x % PARTS];
  if (elements(p) == 0 || part.s.count == 0) return;
  find_starts(part, memory.classes + part.s.first_batch, memory.starts + part.c.first_run, words);
}

FZ_DEV void encode_runs(const Args& a, RunsRoom& own) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  if (elements(p) == 0) return;
  encode_groups<false>(
      memory, p, own,
      [&](const RunPlace& place, uint32_t, uint8_t*& end, uint32_t& room) {
        end = slot_end(memory, place, room);
        return true;
      },
      [&](uint32_t number, uint32_t words) {
        if ((threadIdx.x & 31) == 0) memory.sizes[number] = words;
      });
}

FZ_DEV void place_runs(const Args& a, multilevel::PlaceMemory& own) {
  const ExactParams& p = params<ExactParams>(a);
  const EncoderMemory memory(a, p);
  Part& part = memory.state->of[blockIdx.x];
  if (elements(p) == 0 || part.s.count == 0) return;
  const uint32_t overflows = multilevel::find_places(part.c, memory.sizes + part.c.first_mask_run, memory.places + part.c.first_mask_run, own);
  if (overflows) atomicAdd(&memory.all.overflows, overflows);
}
}  // namespace exact
}  // namespace fz

extern "C" __global__ void __launch_bounds__(512) exact_tables(FZ_ARGS) {
  __shared__ fz::multilevel::SetMaker maker;
  if (fz::cancelled(a)) return;
  fz::exact::make_tables(a, maker);
}
extern "C" __global__ void __launch_bounds__(32) exact_runs(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  if (threadIdx.x == 0) fz::exact::plan_runs(a);
}
extern "C" __global__ void __launch_bounds__(1024) exact_starts(FZ_ARGS) {
  __shared__ uint32_t words[32];
  if (fz::exact::cancelled_alone(a)) return;
  fz::exact::put_starts(a, words);
}
extern "C" __global__ void __launch_bounds__(32 * fz::exact::RUN_WARPS, 9) exact_encode_runs(FZ_ARGS) {
  __shared__ fz::exact::RunsRoom own;
  if (fz::cancelled(a)) return;
  fz::exact::encode_runs(a, own);
}
extern "C" __global__ void __launch_bounds__(1024) exact_place(FZ_ARGS) {
  __shared__ fz::multilevel::PlaceMemory own;
  if (fz::cancelled(a)) return;
  fz::exact::place_runs(a, own);
}
