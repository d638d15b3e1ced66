// Stage exact: scratch and zeroed memory of the launches, for which src/stages/exact/device.rs computes the bytes.
#pragma once
#include "common/scan.cuh"
#include "exact/word.cuh"
#include "multilevel/memory.cuh"

namespace fz {
namespace exact {
using multilevel::BATCH;
using multilevel::Coding;
using multilevel::MASK_RUN;
using multilevel::Section;
using multilevel::STEP;
using multilevel::up;
constexpr uint32_t POINTS = BATCH * STEP, UNIT = 256;
// The sections of the table and of the array.
constexpr uint32_t OF_TABLE = 0, OF_ARRAY = 1, PARTS = 2;

// A section of a stream.
struct Part {
  Section s;
  Coding c;
  Scale scale;
  // The first byte of the codes and of the low bits in the stream, and their words.
  uint64_t codes, low, code_words, low_words;
};

// The numbers of a stream.
struct Head {
  uint32_t stored, order, y, z, holes, plain, table;
  // The table is not in ascending order.
  uint32_t ordered;
  uint64_t gap, factor, hole, center;
  template <class W> FZ_DEV Map<W> map(uint32_t kind) const { return {kind, (W)gap, (W)factor}; }
  template <class W> FZ_DEV Form<W> form(uint32_t part) const { return part == OF_TABLE ? Form<W>{0, !ordered} : Form<W>{(W)center, plain != 0}; }
};

struct State {
  Head head;
  Part of[PARTS];
};
static_assert(sizeof(State) <= STATE_BYTES, "as in Rust");

FZ_DEV uint64_t elements(const ExactParams& p) { return p.dims[0] * p.dims[1] * p.dims[2]; }
// The most values of a table in a stream.
FZ_DEV uint32_t most_values(const ExactParams& p) { return (uint32_t)min((unsigned long long)elements(p), (unsigned long long)TABLE); }
// The room of the batches of a part.
FZ_DEV uint32_t batch_room(uint64_t integers) { return (uint32_t)((integers + (uint64_t)POINTS * UNIT - 1) / ((uint64_t)POINTS * UNIT) * UNIT); }

// The memory that encoder and decoder have in common.
struct Memory {
  State* state;
  // Of both parts: the classes of batches; the starts of runs, and the words and places of mask runs and runs.
  uint8_t* classes;
  uint32_t *starts, *sizes;
  uint64_t* places;
  // Sums of blocks, for each part.
  uint64_t* totals[PARTS];
  uint8_t* rest;
  FZ_DEV Memory(const Args& a, const ExactParams& p) {
    rest = reinterpret_cast<uint8_t*>(a.scratch);
    state = take<State>(STATE_BYTES);
    classes = take<uint8_t>(batch_room(most_values(p)) + batch_room(elements(p)));
    starts = take<uint32_t>(4ull * p.runs);
    sizes = take<uint32_t>(4ull * p.runs);
    places = take<uint64_t>(8ull * p.runs);
    for (uint32_t k = 0; k < PARTS; k++) totals[k] = take<uint64_t>(8 * BLOCKS);
  }
  template <class T> FZ_DEV T* take(uint64_t bytes) {
    uint8_t* mine = rest;
    rest += up(bytes);
    return reinterpret_cast<T*>(mine);
  }
};

// Prepares the section of a part with `count` integers.
FZ_DEV void set_part(Part& part, const ExactParams& p, uint32_t number, uint32_t count) {
  part.s = multilevel::row_section(multilevel::DIFFERENCES, count);
  part.s.first_batch = number == OF_TABLE ? 0 : batch_room(most_values(p));
}

// Consecutive integers of a thread, which it loads and stores at once. Their place is a multiple of EACH.
constexpr uint32_t EACH = BATCH;
template <class W> struct __align__(sizeof(W) * EACH < 16 ? sizeof(W) * EACH : 16) Each {
  W of[EACH];
  FZ_DEV static Each load(const W* o, uint32_t at, uint32_t end) {
    if (at + EACH <= end) return *reinterpret_cast<const Each*>(o + at);
    Each own;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) own.of[k] = at + k < end ? o[at + k] : (W)0;
    return own;
  }
  FZ_DEV void store(W* o, uint32_t at, uint32_t end) const {
    if (at + EACH <= end) {
      *reinterpret_cast<Each*>(o + at) = *this;
      return;
    }
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++)
      if (at + k < end) o[at + k] = of[k];
  }
};
FZ_DEV uint64_t whole_batches(uint64_t integers) { return (integers + POINTS - 1) / POINTS * POINTS; }

// The consecutive units of a block.
struct Share {
  uint32_t first, end;
  FZ_DEV explicit Share(uint32_t units) {
    const uint32_t each = (units + gridDim.x - 1) / gridDim.x;
    first = min(units, blockIdx.x * each);
    end = min(units, first + each);
  }
};
// The consecutive batches of a block of a decoder, which are whole chunks, and those of a warp of it.
constexpr uint32_t CHUNK_BATCHES = 8;
struct BatchShare {
  uint32_t first, end, own_first, own_end;
  FZ_DEV explicit BatchShare(uint32_t batches) {
    const Share share((batches + CHUNK_BATCHES - 1) / CHUNK_BATCHES);
    first = share.first * CHUNK_BATCHES;
    end = min(batches, share.end * CHUNK_BATCHES);
    const uint32_t warps = blockDim.x >> 5, each = (end - first + warps - 1) / warps;
    own_first = min(end, first + (threadIdx.x >> 5) * each);
    own_end = min(end, own_first + each);
  }
};
// Adds `own` of the threads of all warps before this one to the sum of `before` of all threads. `sizes`: 9 numbers in shared memory.
FZ_DEV uint64_t before_warp(uint64_t before, uint64_t own, uint64_t* words, uint64_t* sizes) {
  const uint32_t warp = threadIdx.x >> 5;
  before = block_sum_to(before, words);
  own = warp_sum_to(own);
  if ((threadIdx.x & 31) == 31) sizes[1 + warp] = own;
  if (threadIdx.x == blockDim.x - 1) sizes[0] = before;
  __syncthreads();
  uint64_t at = sizes[0];
  for (uint32_t k = 0; k < warp; k++) at += sizes[1 + k];
  __syncthreads();
  return at;
}
// Words of consecutive batches, at most 32: those of the batch of a lane, and of the batches before it.
struct BatchWords {
  uint32_t own, before;
  FZ_DEV explicit BatchWords(uint32_t words) : own(words) { before = warp_sum_to(words) - words; }
};

struct DecoderMemory : Memory {
  // For each part the sets of the tokens and of the classes.
  multilevel::DecoderSet* sets;
  // Words of the low bits of batches.
  uint16_t* words;
  // Sums of the differences of batches of the array, later those of all batches before.
  uint64_t* sums_before;
  // For each part sums of the differences of blocks; the codes, and the integers.
  uint64_t* sums[PARTS];
  uint16_t* codes[PARTS];
  uint8_t* integers[PARTS];
  FZ_DEV DecoderMemory(const Args& a, const ExactParams& p) : Memory(a, p) {
    sets = take<multilevel::DecoderSet>(2 * PARTS * sizeof(multilevel::DecoderSet));
    words = take<uint16_t>(2ull * (batch_room(most_values(p)) + batch_room(elements(p))));
    sums_before = take<uint64_t>(8 * (whole_batches(elements(p)) / POINTS));
    const uint64_t counts[PARTS] = {most_values(p), elements(p)};
    for (uint32_t k = 0; k < PARTS; k++) {
      sums[k] = take<uint64_t>(8 * BLOCKS);
      codes[k] = take<uint16_t>(2 * whole_batches(counts[k]));
      integers[k] = take<uint8_t>(p.width * counts[k]);
    }
  }
  FZ_DEV multilevel::DecoderSet& set(uint32_t part, uint32_t kind) const { return sets[2 * part + kind]; }
  template <class W> FZ_DEV W* of(uint32_t part) const { return reinterpret_cast<W*>(integers[part]); }
};
}  // namespace exact
}  // namespace fz
