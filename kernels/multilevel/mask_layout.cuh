// Stage multilevel: the distribution of batches over the lanes of mask runs, by the rules of
// src/stages/multilevel/masks.rs.
#pragma once
#include "multilevel/plan.cuh"

namespace fz {
namespace multilevel {
struct MaskLayout {
  uint32_t batches, per_lane, runs;
  bool classes;
  FZ_DEV MaskLayout(const Section& s)
      : batches(s.batches), runs((s.batches + MASK_RUN - 1) / MASK_RUN), classes(s.kind == DIFFERENCES) {
    per_lane = runs ? (batches + STEP * runs - 1) / (STEP * runs) : 0;
  }
  FZ_DEV uint32_t rows() const { return classes ? per_lane : 2 * per_lane; }
  // The batch of a lane in a row of a run; it may be beyond the last one.
  FZ_DEV uint32_t batch(uint32_t run, uint32_t row, uint32_t lane) const {
    return (run * STEP + lane) * per_lane + (classes ? row : row / 2);
  }
  FZ_DEV uint32_t shift(uint32_t row) const { return classes ? 0 : row % 2 * 4; }
  FZ_DEV uint32_t context(uint32_t before) const { return classes ? before : __popc(before); }
};
}  // namespace multilevel
}  // namespace fz
