// Stage multilevel, decoder: checks the stream. A block opens a section: it finds the runs and reads the tables.
#pragma once
#include "multilevel/decoder.cuh"
#include "multilevel/differences.cuh"
#include "multilevel/open_section.cuh"

namespace fz {
namespace multilevel {
constexpr uint32_t HEAD_BYTES = 4;

struct OpenMemory {
  Plan plan;
  SectionRoom room;
  uint64_t at, words;
  uint32_t good;
};

// Checks the config fields that are results of a run.
FZ_DEV bool is_possible(const MultilevelParams& p, const MultilevelMetadata& m) {
  const double infinity = __longlong_as_double(0x7ff0000000000000ll);
  const uint32_t rank = p.dims[2] > 1 ? 3 : p.dims[1] > 1 ? 2 : 1, known = (1u << rank) - 1;
  const bool interpolates = (m.axes & 1) && !(m.axes & ~known) && m.differences == 0, differs = m.axes == 0 && m.differences >= 1 && m.differences <= rank;
  const bool zeros = __double_as_longlong(m.low) != (long long)(1ull << 63) && __double_as_longlong(m.high) != 0;
  return (interpolates || differs) && !(m.flags & ~LATTICE) && m.step >= 0.0 && m.step < infinity && fabs(m.center) < infinity && m.low <= m.high && zeros &&
         m.low < infinity && m.high > -infinity;
}

// One warp reads the header and finds the section. The first block writes the results to memory.
FZ_DEV bool read_head(const Args& a, const MultilevelParams& p, const DecoderMemory& memory, OpenMemory& own, uint32_t section) {
  const uint32_t lane = threadIdx.x & 31, sections = own.plan.sections;
  const uint64_t have = least(length(input(a, 0)), input(a, 0).max);
  const uint8_t* src = address(input(a, 0));
  State& state = *memory.state;
  if (have < HEAD_BYTES) return false;
  const uint32_t head = load<uint32_t>(src), patterns = head >> 24 & 7;
  if (section == 0 && lane == 0) {
    state.stored = head == 0;
    state.patterns = patterns;
    state.head = HEAD_BYTES + 4 * sections + patterns * p.value;
  }
  if (head == 0) return have - HEAD_BYTES == elements(p) * p.value;
  if ((head & 0xffffff) != sections || head >> 27 || patterns > PATTERNS) return false;
  const uint64_t first = HEAD_BYTES + 4 * (uint64_t)sections + patterns * p.value;
  if (have < first) return false;
  uint64_t before = 0;
  for (uint32_t from = 0; from < sections; from += 32) {
    const uint32_t i = from + lane;
    const uint64_t words = i < sections ? load<uint32_t>(src + HEAD_BYTES + 4 * i) : 0, upto = warp_sum_to(words);
    if (i == section) {
      own.at = before + upto - words;
      own.words = words;
    }
    before += __shfl_sync(ALL, upto, 31);
  }
  if (section == 0 && lane < patterns) {
    const uint8_t* at = src + HEAD_BYTES + 4 * sections + lane * p.value;
    state.pattern[lane] = p.value == 4 ? load<uint32_t>(at) : load<uint64_t>(at);
  }
  __syncwarp();
  return first + 2 * before == have;
}

// As `make_plan`, by the threads of a block: each one has a pass.
FZ_DEV void make_plan_together(Plan& plan, const MultilevelParams& p, const MultilevelMetadata& m) {
  const Shape shape(p, m.axes);
  const uint32_t levels = shape.levels(), ends = shape.base_ends(), level = levels - threadIdx.x / 3;
  const int axis = 2 - (int)(threadIdx.x % 3);
  const bool interpolates = m.differences == 0, has = interpolates && threadIdx.x < 3 * levels && shape.has_pass(level, axis);
  Section& base = plan.of[0];
  if (threadIdx.x == 0) {
    if (!interpolates) {
      make_plan(plan, p, m);
    } else {
      plan.shape = shape;
      plan.levels = levels;
      plan.base_ends = ends;
      plan.sections = 1;
      base = row_section(shape.roots() > BASE_POINTS ? ROOTS : BASE, shape.roots());
    }
  }
  __syncthreads();
  if (has && level > ends) {
    const uint32_t count = shape.points(level, axis, 0) * shape.points(level, axis, 1) * shape.points(level, axis, 2);
    atomicAdd(&base.count, count);
    atomicAdd(&base.steps, (count + STEP - 1) / STEP);
  } else if (has) {
    uint32_t number = 1;
    for (uint32_t l = ends; l >= level; l--)
      for (int d = 2; d >= 0; d--) number += shape.has_pass(l, d) && (l > level || d > axis);
    plan.number[level][axis] = (uint8_t)number;
    plan.of[number] = pass_section(shape, level, axis);
    atomicAdd(&plan.sections, 1u);
  }
  __syncthreads();
  if (interpolates && threadIdx.x == 0) {
    base.batches = (base.steps + BATCH - 1) / BATCH;
    plan.points = plan.batches = 0;
    for (uint32_t k = 0; k < plan.sections; k++) {
      Section& s = plan.of[k];
      s.first_point = plan.points;
      s.first_batch = plan.batches;
      plan.points += s.count;
      plan.batches += (s.batches + 255) & ~255u;
    }
  }
  __syncthreads();
}

// One thread reads the fields of the section.
FZ_DEV void open_fields(const DecoderMemory& memory, const MultilevelParams& p, const Words& words, OpenMemory& own) {
  if (threadIdx.x > 0) return;
  const Section* of = own.plan.of;
  Coding& c = memory.state->of[blockIdx.x];
  uint32_t run = 0;
  for (uint32_t k = 0; k < blockIdx.x; k++) run += (of[k].batches + MASK_RUN - 1) / MASK_RUN + (of[k].steps + 7) / 8;
  c.first_mask_run = run;
  c.at = own.at;
  c.words = own.words;
  c.next = 0;
  own.room.good = read_fields(p.runs > run ? p.runs - run : 0, words, of[blockIdx.x], c, own.room);
  c.first_run = run + c.mask_runs;
}
// The tables and runs of the section. Returns true in all threads if they are sound.
FZ_DEV bool open_runs(const DecoderMemory& memory, const MultilevelParams& p, const Section& s, const Words& words, SectionRoom& room) {
  Coding& c = memory.state->of[blockIdx.x];
  if (room.good) read_tables(words, c, room);
  if (!room.good) return false;
  room.sets[0].fill(memory.set(blockIdx.x, 0));
  if (c.has_masks) room.sets[1].fill(memory.set(blockIdx.x, 1), blockDim.x / 64);
  const uint64_t end = find_runs(memory.sizes, memory.places, words, c, room);
  if (s.kind != DIFFERENCES) return end == words.count;
  if (threadIdx.x == 0) c.list = c.at + end;
  return end + 2 <= words.count && words.count - end == list_words(words.two(end), p);
}

// All threads of a block must call the function, which opens section `blockIdx.x`. Returns true in all threads if it exists and is sound.
// `section` becomes a copy of the section, and `words` its words.
FZ_DEV bool open(const Args& a, OpenMemory& own, Section& section, Words& words) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const DecoderMemory memory(a, p);
  const uint32_t number = blockIdx.x;
  const bool first = number == 0 && threadIdx.x == 0;
  if (first) publish(output(a, 0), output(a, 0).max);
  const uint64_t have = length(input(a, 0));
  if (elements(p) == 0) {
    if (first && have) corrupt(a);
    return false;
  }
  const MultilevelMetadata& m = metadata_of(a);
  if (!is_possible(p, m)) {
    if (first) corrupt(a);
    return false;
  }
  make_plan_together(own.plan, p, m);
  if (number >= own.plan.sections) return false;
  if (number == 0) {
    const uint32_t* from = reinterpret_cast<const uint32_t*>(&own.plan);
    for (uint32_t i = threadIdx.x; i < sizeof(Plan) / 4; i += blockDim.x) reinterpret_cast<uint32_t*>(memory.plan)[i] = from[i];
  }
  if (threadIdx.x < 32) {
    const bool good = read_head(a, p, memory, own, number);
    if (threadIdx.x == 0) own.good = good;
  }
  __syncthreads();
  const bool is_stored = have >= HEAD_BYTES && load<uint32_t>(address(input(a, 0))) == 0;
  if (!own.good || is_stored) {
    if (!own.good && threadIdx.x == 0) corrupt(a);
    return false;
  }
  section = own.plan.of[number];
  const uint32_t head = load<uint32_t>(address(input(a, 0))) >> 24 & 7;
  words = {address(input(a, 0)) + HEAD_BYTES + 4 * own.plan.sections + head * p.value + 2 * own.at, own.words};
  open_fields(memory, p, words, own);
  __syncthreads();
  const bool good = open_runs(memory, p, section, words, own.room);
  if (!good && threadIdx.x == 0) corrupt(a);
  return good;
}
}  // namespace multilevel
}  // namespace fz
