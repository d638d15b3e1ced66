// Stage multilevel, encoder: the counts of the symbols of masks or of classes.
#pragma once
#include "multilevel/memory.cuh"

namespace fz {
namespace multilevel {
// Counts a symbol of each live lane. Most lanes have the symbol of the first one: additions to the same count take turns, so one lane adds
// them together. A warp must call the function.
FZ_DEV void add_symbol(uint32_t (&counts)[CONTEXTS * 16], uint32_t symbol, bool live) {
  const uint32_t first = __shfl_sync(ALL, symbol, 0), same = __ballot_sync(ALL, live && symbol == first);
  if ((threadIdx.x & 31) == 0 && same) atomicAdd(&counts[symbol], (uint32_t)__popc(same));
  if (live && !(same >> (threadIdx.x & 31) & 1)) atomicAdd(&counts[symbol], 1u);
}
// The threads of a block add batches `from` to `end` - 1 of a section to counts in shared memory.
FZ_DEV void add_masks(uint32_t (&counts)[CONTEXTS * 16], const Section& s, const uint8_t* masks, uint32_t from, uint32_t end) {
  if (s.kind == BASE) return;
  const MaskLayout layout(s);
  for (uint32_t first = from; first < end; first += blockDim.x) {
    const uint32_t b = first + threadIdx.x;
    const bool live = b < end;
    const uint32_t mask = live ? masks[b] : 0;
    uint32_t before = 0;
    if (live && b % layout.per_lane != 0) before = masks[b - 1] >> (layout.classes ? 0 : 4);
    add_symbol(counts, layout.context(before) * 16 + (mask & 15), live);
    if (!layout.classes) add_symbol(counts, layout.context(mask & 15) * 16 + (mask >> 4), live);
  }
}
}  // namespace multilevel
}  // namespace fz
