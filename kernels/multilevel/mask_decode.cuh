// Stage multilevel, decoder: a warp decodes a mask run.
#pragma once
#include "multilevel/base_decode.cuh"

namespace fz {
namespace multilevel {
// Decodes mask run `number` of a section by its set of tables.
FZ_DEV bool decode_mask_run(const Section& s, const DecoderSet& set, const Words& words, uint32_t number, uint8_t* masks, RunRing& ring) {
  const MaskLayout layout(s);
  const uint32_t lane = threadIdx.x & 31;
  RunDecoder run(words, ring);
  uint32_t context = 0, mask = 0;
#pragma unroll 1
  for (uint32_t row = 0; row < layout.rows(); row++) {
    const uint32_t batch = layout.batch(number, row, lane);
    const bool live = batch < s.batches;
    const uint32_t symbol = run.symbol(set.table(context), live);
    if (!live) continue;
    run.bad |= symbol > 15;
    context = layout.context(symbol & 15);
    mask = layout.classes || row % 2 == 0 ? symbol & 15 : mask | (symbol & 15) << 4;
    if (layout.classes || row % 2 == 1) masks[batch] = (uint8_t)mask;
  }
  return run.is_finished();
}

// The first block has a base section, and others have mask runs.
template <class T, uint32_t WARPS> union MaskRoom {
  struct {
    BaseRoom<T, WARPS> base;
    RunRing ring;
  };
  RunRing rings[WARPS];
};
}  // namespace multilevel
}  // namespace fz
