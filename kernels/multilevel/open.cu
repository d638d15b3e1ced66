// Stage multilevel, decoder: checks the stream. A block opens a section: it finds the runs and reads the tables.
#include "multilevel/decoder.cuh"
#include "multilevel/differences.cuh"
#include "multilevel/read_tables.cuh"

namespace fz {
namespace multilevel {
constexpr uint32_t HEAD_BYTES = 4;
// Words of tables that are copied to shared memory. The tables of an encoder are not longer.
constexpr uint32_t TABLE_ROOM = 1024;

struct OpenMemory {
  Plan plan;
  ReadSet sets[2];
  uint16_t tables[TABLE_ROOM];
  uint64_t sums[32], before, at, total, words;
  uint32_t good, count;
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

// One thread reads the fields of a section.
FZ_DEV bool read_fields(const MultilevelParams& p, const Words& words, const Section& s, Coding& c, OpenMemory& own) {
  if (words.count < 2) return false;
  const uint32_t head = words[0];
  c.width = head & 31;
  c.has_masks = head >> 5 & 1;
  c.code = head >> 8;
  c.table_words = words[1];
  if (head & 0xc0) return false;
  if (s.kind == BASE && (c.has_masks || c.code)) return false;
  if (s.kind == DIFFERENCES && !c.has_masks) return false;
  uint64_t next = 2;
  c.steps = s.steps;
  if (c.has_masks) {
    if (words.count < 4) return false;
    c.steps = words.two(2);
    next = 4;
    if (c.steps > s.steps) return false;
  }
  const uint64_t per_run = s.kind == BASE ? max(c.steps, 1u) : (uint64_t)(8 + c.code % 8) << c.code / 8;
  c.per_run = (uint32_t)(per_run < 0x7fffffff ? per_run : 0x7fffffff);
  c.mask_runs = c.has_masks ? (s.batches + MASK_RUN - 1) / MASK_RUN : 0;
  c.runs = c.steps / c.per_run + (c.steps % c.per_run != 0);
  own.count = c.mask_runs + c.runs;
  const uint64_t sizes = ((uint64_t)own.count * c.width + 15) / 16;
  if (c.first_mask_run + (uint64_t)own.count > p.runs || next + sizes + c.table_words > words.count) return false;
  c.head = (uint32_t)next;
  return true;
}

// One thread reads the sets of tables of a section.
FZ_DEV bool read_sets(const Words& tables, const Coding& c, OpenMemory& own) {
  BitReader bits(tables);
  if (!own.sets[0].read(bits) || (c.has_masks && !own.sets[1].read(bits))) return false;
  return (bits.at + 15) / 16 == c.table_words;
}
// All threads of a block must call the function.
FZ_DEV void read_tables(const Words& words, const Coding& c, OpenMemory& own) {
  const Words far = words.from(c.head + ((uint64_t)own.count * c.width + 15) / 16, c.table_words);
  const Words near = {reinterpret_cast<const uint8_t*>(own.tables), c.table_words};
  const bool fits = c.table_words <= TABLE_ROOM;
  for (uint32_t i = threadIdx.x; fits && i < c.table_words; i += blockDim.x) own.tables[i] = (uint16_t)far[i];
  __syncthreads();
  if (threadIdx.x == 0) own.good = read_sets(fits ? near : far, c, own);
  __syncthreads();
}

// A block finds the runs of a section. A thread has consecutive runs.
FZ_DEV bool find_runs(const DecoderMemory& memory, const MultilevelParams& p, const Words& words, const Section& s, Coding& c, OpenMemory& own) {
  const uint32_t each = (own.count + blockDim.x - 1) / blockDim.x, first = min(own.count, threadIdx.x * each), end = min(own.count, first + each);
  auto size = [&](uint32_t i) { return words.bits(16ull * c.head + (uint64_t)i * c.width, c.width); };
  uint64_t sum = 0, before = c.head + ((uint64_t)own.count * c.width + 15) / 16 + c.table_words;
  for (uint32_t i = first; i < end; i++) sum += size(i);
  const uint64_t upto = block_sum_to(sum, own.sums);
  if (threadIdx.x == blockDim.x - 1) own.before = before + upto;
  uint64_t at = before + upto - sum;
  for (uint32_t i = first; i < end; i++) {
    const uint32_t own_size = size(i);
    memory.sizes[c.first_mask_run + i] = own_size;
    memory.places[c.first_mask_run + i] = at;
    at += own_size;
  }
  __syncthreads();
  before = own.before;
  if (s.kind != DIFFERENCES) return before == words.count;
  if (threadIdx.x == 0) c.list = c.at + before;
  return before + 2 <= words.count && words.count - before == list_words(words.two(before), p);
}

FZ_DEV void open(const Args& a, OpenMemory& own) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const DecoderMemory memory(a, p);
  const uint32_t section = blockIdx.x;
  const bool first = section == 0 && threadIdx.x == 0;
  if (first) publish(output(a, 0), output(a, 0).max);
  const uint64_t have = length(input(a, 0));
  if (elements(p) == 0) {
    if (first && have) corrupt(a);
    return;
  }
  const MultilevelMetadata& m = metadata_of(a);
  if (!is_possible(p, m)) {
    if (first) corrupt(a);
    return;
  }
  if (threadIdx.x == 0) make_plan(own.plan, p, m);
  __syncthreads();
  if (section >= own.plan.sections) return;
  if (section == 0) {
    const uint32_t* from = reinterpret_cast<const uint32_t*>(&own.plan);
    for (uint32_t i = threadIdx.x; i < sizeof(Plan) / 4; i += blockDim.x) reinterpret_cast<uint32_t*>(memory.plan)[i] = from[i];
  }
  if (threadIdx.x < 32) {
    const bool good = read_head(a, p, memory, own, section);
    if (threadIdx.x == 0) own.good = good;
  }
  __syncthreads();
  const bool is_stored = have >= HEAD_BYTES && load<uint32_t>(address(input(a, 0))) == 0;
  if (!own.good || is_stored) {
    if (!own.good && threadIdx.x == 0) corrupt(a);
    return;
  }
  const Section& s = own.plan.of[section];
  Coding& c = memory.state->of[section];
  const uint32_t head = load<uint32_t>(address(input(a, 0))) >> 24 & 7;
  const Words words = {address(input(a, 0)) + HEAD_BYTES + 4 * own.plan.sections + head * p.value + 2 * own.at, own.words};
  if (threadIdx.x == 0) {
    uint32_t run = 0;
    for (uint32_t k = 0; k < section; k++) run += (own.plan.of[k].batches + MASK_RUN - 1) / MASK_RUN + (own.plan.of[k].steps + 7) / 8;
    c.first_mask_run = run;
    c.at = own.at;
    c.words = own.words;
    own.good = read_fields(p, words, s, c, own);
    c.first_run = run + c.mask_runs;
  }
  __syncthreads();
  if (own.good) read_tables(words, c, own);
  if (own.good) {
    own.sets[0].fill(memory.set(section, 0));
    if (c.has_masks) own.sets[1].fill(memory.set(section, 1));
    const bool whole = find_runs(memory, p, words, s, c, own);
    if (threadIdx.x == 0 && !whole) corrupt(a);
  } else if (threadIdx.x == 0) {
    corrupt(a);
  }
}
}  // namespace multilevel
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256) multilevel_open(FZ_ARGS) {
  __shared__ fz::multilevel::OpenMemory own;
  if (fz::cancelled(a)) return;
  fz::multilevel::open(a, own);
}
