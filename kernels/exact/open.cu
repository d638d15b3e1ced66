// Stage exact, decoder: checks the stream. A block opens a section.
#include "exact/decoder.cuh"
#include "multilevel/open_section.cuh"

namespace fz {
namespace exact {
struct OpenRoom {
  multilevel::SectionRoom section;
  Head head;
  Part part;
  uint32_t good, bad_tokens;
};

// Reads consecutive words.
struct Reader {
  Words words;
  uint64_t at;
  bool bad;
  // Returns a number of `count` words, at most four.
  FZ_DEV uint64_t number(uint32_t count) {
    bad |= at + count > words.count;
    uint64_t all = 0;
    for (uint32_t k = 0; k < count; k++) all |= (uint64_t)words[at + k] << 16 * k;
    at += count;
    return all;
  }
  FZ_DEV void skip(uint64_t count) {
    bad |= bad || count > words.count - at;
    at += bad ? 0 : count;
  }
};

// One thread reads the header, and the part of this block.
FZ_DEV bool read_stream(const Args& a, const ExactParams& p, OpenRoom& own) {
  const uint64_t have = least(length(input(a, 0)), input(a, 0).max), n = elements(p);
  const uint8_t* src = address(input(a, 0));
  Head& h = own.head;
  h = {};
  own.part = {};
  if (have < HEAD_BYTES) return false;
  const uint32_t first = load<uint16_t>(src);
  if (first == 0) {
    h.stored = 1;
    return have - HEAD_BYTES == n * p.width;
  }
  Reader r = {{src, have / 2}, 1, have % 2 != 0};
  h.order = first & 3;
  h.y = first >> 2 & 1;
  h.z = first >> 3 & 1;
  h.holes = first >> 4 & 1;
  h.plain = first >> 8 & 1;
  if (!(first >> 15) || first & 0x7800 || (h.y && p.dims[1] == 1) || (h.z && p.dims[2] == 1)) return false;
  if (h.holes && (h.order > 1 || h.y || h.z)) return false;
  const bool has_table = first >> 5 & 1;
  h.ordered = first >> 10 & 1;
  if (h.ordered && !has_table) return false;
  if (has_table) {
    const uint64_t values = r.number(2);
    if (values == 0 || values > most_values(p)) return false;
    h.table = (uint32_t)values;
  }
  const uint32_t words = (8 * p.width + 15) / 16;
  const uint64_t most = p.width == 8 ? ~0ull : (1ull << 8 * p.width) - 1;
  auto value = [&](uint32_t flag, uint64_t other) -> uint64_t {
    const uint64_t v = first & flag ? r.number(words) : other;
    r.bad |= v > most;
    return v;
  };
  h.gap = value(1 << 6, 0);
  h.factor = value(1 << 9, 1);
  h.hole = value(1 << 4, 0);
  h.center = value(1 << 7, 0);
  if (p.kind == FLOAT && h.gap > most >> 1) return false;
  if ((first >> 9 & 1) && h.factor < 2) return false;
  for (uint32_t k = has_table ? OF_TABLE : OF_ARRAY; k < PARTS; k++) {
    Part part = {};
    const uint32_t scale = (uint32_t)r.number(1);
    part.scale = {scale & 255, scale >> 8};
    if (part.scale.least > 16 * p.width || part.scale.step > MOST_STEP) return false;
    part.code_words = r.number(4);
    part.low_words = r.number(4);
    part.codes = 2 * r.at;
    r.skip(part.code_words);
    part.low = 2 * r.at;
    r.skip(part.low_words);
    if (k == blockIdx.x) own.part = part;
  }
  return !r.bad && r.at == r.words.count;
}

// A table has no tokens of patterns, and no long codes in words of 8 and 16 bits.
FZ_DEV bool has_bad_tokens(const multilevel::ReadSet& set, uint32_t width) {
  const uint32_t first = multilevel::PATTERN, tokens = multilevel::EXACT - first + (width < 4);
  bool bad = false;
  for (uint32_t i = threadIdx.x; i < set.tables * tokens; i += blockDim.x) bad |= set.of[i / tokens][first + i % tokens] > 0;
  return bad;
}

FZ_DEV void open(const Args& a, OpenRoom& own) {
  const ExactParams& p = params<ExactParams>(a);
  const DecoderMemory memory(a, p);
  const uint32_t number = blockIdx.x;
  const bool first = number == 0 && threadIdx.x == 0;
  if (first) publish(output(a, 0), output(a, 0).max);
  if (elements(p) == 0) {
    if (first && length(input(a, 0))) corrupt(a);
    return;
  }
  State& state = *memory.state;
  if (threadIdx.x == 0) {
    own.good = read_stream(a, p, own);
    if (number == 0) state.head = own.head;
    if (!own.good) corrupt(a);
    const bool absent = !own.good || own.head.stored || (number == OF_TABLE && own.head.table == 0);
    Part& part = own.part;
    set_part(part, p, number, absent ? 0 : number == OF_TABLE ? own.head.table : (uint32_t)elements(p));
    part.c.has_masks = 1;
    // The mask runs and runs of the table, and those of the array behind them.
    const uint32_t of_table = p.table_runs, most = number == OF_TABLE ? of_table : p.runs - of_table;
    part.c.first_mask_run = number == OF_TABLE ? 0 : of_table;
    own.section.good = 0;
    if (!absent) {
      const Words words = {address(input(a, 0)) + part.codes, part.code_words};
      own.section.good = multilevel::read_fields(most, words, part.s, part.c, own.section);
      if (!own.section.good) corrupt(a);
    }
    part.c.first_run = part.c.first_mask_run + part.c.mask_runs;
    if (!own.section.good) part.c.mask_runs = part.c.runs = 0;
    state.of[number] = part;
    own.good = own.section.good;
  }
  __syncthreads();
  if (!own.good) return;
  const Words words = {address(input(a, 0)) + own.part.codes, own.part.code_words};
  multilevel::read_tables(words, own.part.c, own.section);
  bool good = own.section.good;
  if (good) {
    own.section.sets[0].fill(memory.set(number, 0));
    own.section.sets[1].fill(memory.set(number, 1));
    const bool bad = __syncthreads_or(has_bad_tokens(own.section.sets[0], p.width));
    good = multilevel::find_runs(memory.sizes, memory.places, words, own.part.c, own.section) == words.count && !bad;
  }
  if (!good && threadIdx.x == 0) corrupt(a);
}
}  // namespace exact
}  // namespace fz

extern "C" __global__ void __launch_bounds__(1024) exact_open(FZ_ARGS) {
  __shared__ fz::exact::OpenRoom own;
  if (fz::cancelled(a)) return;
  fz::exact::open(a, own);
}
