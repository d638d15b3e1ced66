// Stage exact, encoder: the search for distinct values, in slots.
#pragma once
#include "exact/encoder.cuh"

namespace fz {
namespace exact {
constexpr uint64_t EMPTY = ~0ull;

// The search for values.
struct Search {
  uint64_t* slots;
  uint32_t count, bits;
  FZ_DEV Search(const EncoderMemory& memory, const ExactParams& p) : slots(memory.slots), count(slots_of(p)) { bits = 31 - __clz((int)count); }
  // The first slot of a value, the first one of two that are read at once.
  FZ_DEV uint32_t first(uint64_t value) const { return (uint32_t)(value * 0x9e3779b97f4a7c15ull >> (64 - bits)) & ~1u; }
  // The slot of a value that was put in. The value with the bits of an empty slot is behind the last one.
  FZ_DEV uint32_t find(uint64_t value) const {
    if (value == EMPTY) return count;
    uint32_t slot = first(value);
    for (uint32_t k = 0; k < count && slots[slot] != value; k++) slot = (slot + 1) & (count - 1);
    return slot;
  }
};

// True if the array is searched: values of the sample repeat, and there may be a table at all.
FZ_DEV bool is_searched(const Args& a, const ExactParams& p) {
  return elements(p) > 0 && reinterpret_cast<const EncoderState*>(a.scratch)->repeats && table_room(p) > 0;
}
// The number of distinct values, or 0 if there are too many.
FZ_DEV uint32_t values_of(const Args& a, const ExactParams& p) {
  if (!is_searched(a, p)) return 0;
  const uint32_t distinct = reinterpret_cast<const Zeroed*>(a.zeroed)->distinct;
  return distinct <= table_room(p) ? distinct : 0;
}
}  // namespace exact
}  // namespace fz

// A device function that calls `FUNCTION` for the word of the array.
#define EXACT_BY_WORD(NAME, FUNCTION)                                                                                     \
  extern "C" __global__ void __launch_bounds__(256) NAME(FZ_ARGS) {                                                       \
    if (fz::cancelled(a)) return;                                                                                         \
    fz::exact::with_word(fz::params<fz::exact::ExactParams>(a).width, [&](auto w) { fz::exact::FUNCTION<decltype(w)>(a); }); \
  }
