// Stage multilevel: scratch and zeroed memory of the launches, for which `encode` and `decode` in
// src/stages/multilevel/device.rs compute the bytes.
#pragma once
#include "common/coder.cuh"
#include "multilevel/mask_layout.cuh"

namespace fz {
namespace multilevel {
constexpr uint32_t SYMBOLS = 64;

// The counts of a section, which are zero when a call starts.
struct Counts {
  // Tokens by contexts without those of quiet steps; tokens of quiet steps, which are 0; symbols of masks.
  uint32_t of[CONTEXTS][SYMBOLS], quiet[CONTEXTS], masks[CONTEXTS][16];
  unsigned long long raw;
  // The number of steps that are not quiet, and of exact values of differences.
  uint32_t busy, exact;
};
static_assert(sizeof(Counts) == COUNTS_BYTES, "as in Rust");

// Costs of the stencils of a level.
struct StencilSums {
  unsigned long long of[4];
};

// A set of tables for an encoder.
struct EncoderSet {
  uint64_t cost;
  uint32_t bits, tables;
  // The bits of the set in a stream.
  uint32_t words[SET_WORDS];
  // For each context and symbol its `encoder_entry`.
  uint2 entries[CONTEXTS][SYMBOLS];
};
static_assert(sizeof(EncoderSet) == ENCODER_SET_BYTES, "as in Rust");

// A table for a decoder: for each 32 slots the symbol of the first one and the next symbol, and for each symbol its `decoder_entry`.
struct DecoderTable {
  // The first symbol, from bit 6 on the distance to the next one, and from bit 11 on the slot where it begins. If no other symbol begins
  // or the distance is above 31, it is 0.
  uint16_t units[1 << (FREQUENCY_BITS - 5)];
  uint32_t entries[SYMBOLS];
};
struct DecoderSet {
  // Where the table of a context is in `of`, in bytes.
  uint16_t place[CONTEXTS];
  uint32_t tables, pad[3];
  DecoderTable of[TABLES];
  FZ_DEV const DecoderTable& at(uint32_t bytes) const { return *reinterpret_cast<const DecoderTable*>(reinterpret_cast<const uint8_t*>(of) + bytes); }
  FZ_DEV const DecoderTable& table(uint32_t context) const { return at(place[context]); }
};
static_assert(sizeof(DecoderSet) == DECODER_SET_BYTES, "as in Rust");

// The decisions about a section.
struct Coding {
  uint32_t has_masks, steps, per_run, code;
  // The numbers of mask runs and of runs, and the first ones of the section among those of all sections.
  uint32_t mask_runs, runs, first_mask_run, first_run;
  // The room of a mask run and of a run in words, and the place of the first slot.
  uint32_t mask_room, room;
  uint64_t slots;
  // Words of the tables, bits of a size, words before the runs, and in a decoder the next batch whose quiet steps a warp restores.
  uint32_t table_words, width, head, next;
  // The place of the section in the stream, in words after the header of the stream, and its number of words.
  uint64_t at, words;
  // The place of the list of exact values, in words after the header of the stream. In an encoder before `multilevel_gather`, in words
  // of the section.
  uint64_t list;
};
struct State {
  Coding of[MOST_SECTIONS];
  // The numbers of all mask runs and runs. `head` is the bytes of the header of the stream, `stored` is 1 if it stores the values, and
  // `overflows` counts runs that did not fit into their slots.
  uint32_t mask_runs, runs, head, stored, overflows, patterns;
  uint64_t pattern[PATTERNS];
};

FZ_DEV uint64_t up(uint64_t bytes) { return (bytes + 15) & ~15ull; }

// The memory that encoder and decoder have in common.
struct Memory {
  Plan* plan;
  State* state;
  uint8_t *masks, *rest;
  // For each run its start, 8 · batch + step. For each mask run and run its number of words, and its place in its section.
  uint32_t *starts, *sizes;
  uint64_t* places;
  FZ_DEV Memory(const Args& a, const MultilevelParams& p) {
    uint8_t* at = reinterpret_cast<uint8_t*>(a.scratch);
    auto take = [&](uint64_t bytes) { uint8_t* mine = at; at += up(bytes); return mine; };
    plan = reinterpret_cast<Plan*>(take(PLAN_BYTES));
    state = reinterpret_cast<State*>(take(STATE_BYTES));
    masks = take(p.batches);
    starts = reinterpret_cast<uint32_t*>(take(4ull * p.runs));
    sizes = reinterpret_cast<uint32_t*>(take(4ull * p.runs));
    places = reinterpret_cast<uint64_t*>(take(8ull * p.runs));
    rest = at;
  }
};
static_assert(sizeof(Plan) <= PLAN_BYTES && sizeof(State) <= STATE_BYTES, "as in Rust");

FZ_DEV uint64_t elements(const MultilevelParams& p) { return p.dims[0] * p.dims[1] * p.dims[2]; }

// The known points of a level, which have even coordinates along x. Odd levels are in one buffer, and
// even levels in the other one.
template <class T> struct Buffers {
  T* of[2];
  FZ_DEV Buffers(uint8_t* at, const MultilevelParams& p) {
    of[0] = reinterpret_cast<T*>(at);
    of[1] = reinterpret_cast<T*>(at + up(p.dims[1] * p.dims[2] * ((p.dims[0] + 1) / 2) * sizeof(T)));
  }
  FZ_DEV T* level(uint32_t k) const { return of[(k + 1) & 1]; }
};

struct EncoderMemory : Memory {
  // For each section the sets of all tokens, of the tokens without quiet steps, and of the masks.
  EncoderSet* sets;
  uint16_t *kept, *more;
  // The numbers of exact values of chunks, for differences.
  uint32_t* exact;
  // First the restored points, later the slots of runs.
  uint8_t* pool;
  uint64_t pool_words;
  Counts* counts;
  StencilSums* sums;
  FZ_DEV EncoderMemory(const Args& a, const MultilevelParams& p) : Memory(a, p) {
    const uint64_t n = elements(p);
    sets = reinterpret_cast<EncoderSet*>(rest);
    uint8_t* at = rest + up(3ull * p.sections * sizeof(EncoderSet));
    kept = reinterpret_cast<uint16_t*>(at);
    at += up(2 * n);
    more = reinterpret_cast<uint16_t*>(at);
    at += up(2 * n);
    exact = reinterpret_cast<uint32_t*>(at);
    at += up(n / 512 + 4);
    pool = at;
    pool_words = (n * p.value - n * p.value / POOL_LESS + (uint64_t)RUN_ROOM * p.runs) / 2;
    counts = reinterpret_cast<Counts*>(a.zeroed);
    sums = reinterpret_cast<StencilSums*>(counts + p.sections);
  }
  FZ_DEV EncoderSet& set(uint32_t section, uint32_t kind) const { return sets[3 * section + kind]; }
};

struct DecoderMemory : Memory {
  // For each section the sets of the tokens and of the masks.
  DecoderSet* sets;
  uint8_t* values;
  FZ_DEV DecoderMemory(const Args& a, const MultilevelParams& p) : Memory(a, p) {
    sets = reinterpret_cast<DecoderSet*>(rest);
    values = rest + up(2ull * p.sections * sizeof(DecoderSet));
  }
  FZ_DEV DecoderSet& set(uint32_t section, uint32_t kind) const { return sets[2 * section + kind]; }
};
}  // namespace multilevel
}  // namespace fz
