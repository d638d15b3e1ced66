// Stage multilevel: scratch and zeroed memory of the launches. `scratch` in
// src/stages/multilevel/device.rs allocates as much.
#pragma once
#include "common/coder.cuh"
#include "multilevel/mask_layout.cuh"

namespace fz {
namespace multilevel {
constexpr uint32_t SYMBOLS = 64;

// The counts of a section. Zero when a call starts.
struct Counts {
  // Tokens by contexts, those of quiet steps (which have token 0) apart; symbols of masks.
  uint32_t of[CONTEXTS][SYMBOLS], quiet[CONTEXTS], masks[CONTEXTS][16];
  unsigned long long raw;
  // Steps that are not quiet; exact values of differences.
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
  // Bits as they are stored.
  uint32_t words[SET_WORDS];
  // By context and symbol: the multiplier of the division; frequency - 1, the sum before, and the
  // shift.
  uint2 entries[CONTEXTS][SYMBOLS];
};
static_assert(sizeof(EncoderSet) == ENCODER_SET_BYTES, "as in Rust");

// A table for a decoder: for each 16 slots the symbol of the first one, and the entries of symbols (decoder_entry).
struct DecoderTable {
  uint8_t first[1 << (FREQUENCY_BITS - 4)];
  uint32_t entries[SYMBOLS];
};
struct DecoderSet {
  // Where the table of a context is in `of`, in bytes.
  uint16_t place[CONTEXTS];
  uint32_t tables, pad[3];
  DecoderTable of[TABLES];
  FZ_DEV const DecoderTable& table(uint32_t context) const { return *reinterpret_cast<const DecoderTable*>(reinterpret_cast<const uint8_t*>(of) + place[context]); }
};
static_assert(sizeof(DecoderSet) == DECODER_SET_BYTES, "as in Rust");

// The decisions about a section.
struct Coding {
  uint32_t has_masks, steps, per_run, code;
  // Mask runs, then runs, among those of all sections.
  uint32_t mask_runs, runs, first_mask_run, first_run;
  // Room of a run in words, and where that of the first one is.
  uint32_t mask_room, room;
  uint64_t slots;
  // Words of tables; bits of a size; words before the runs.
  uint32_t table_words, width, head, pad;
  // Where the section is in the stream, in words behind the head, and how many words it has.
  uint64_t at, words;
  // Where the list of exact values is, in words behind the head; of an encoder until `multilevel_gather` in the section.
  uint64_t list;
};
struct State {
  Coding of[MOST_SECTIONS];
  // All of them. Bytes of the head; 1: the values are stored; runs that did not fit into their slots.
  uint32_t mask_runs, runs, head, stored, overflows, patterns;
  uint64_t pattern[PATTERNS];
};

FZ_DEV uint64_t up(uint64_t bytes) { return (bytes + 15) & ~15ull; }

// Memory that encoder and decoder have.
struct Memory {
  Plan* plan;
  State* state;
  uint8_t *masks, *rest;
  // For each run where it starts: 8 · batch + step. For each run and mask run its words, and where it is in its section.
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

// Known points of a level, even ones along x: those of odd levels in one buffer, of even levels in
// another one.
template <class T> struct Buffers {
  T* of[2];
  FZ_DEV Buffers(uint8_t* at, const MultilevelParams& p) {
    of[0] = reinterpret_cast<T*>(at);
    of[1] = reinterpret_cast<T*>(at + up(p.dims[1] * p.dims[2] * ((p.dims[0] + 1) / 2) * sizeof(T)));
  }
  FZ_DEV T* level(uint32_t k) const { return of[(k + 1) & 1]; }
};

struct EncoderMemory : Memory {
  // Sets of the tokens, of those without quiet steps, and of the masks, for each section.
  EncoderSet* sets;
  uint16_t *kept, *more;
  // Exact values of chunks of differences.
  uint32_t* exact;
  // Slots for runs, and before that the restored points.
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
  // Sets of the tokens and of the masks, for each section.
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
