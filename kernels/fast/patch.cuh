// Stage fast, patches: arrays of f32 of at most 16 x 16 x 16 values, whose units have values in 16 of
// their 64 parts. A thread has a part, a warp two units, and a block both chunks of the array. The
// other parts of a unit repeat values at the edge: their differences are 0.
#pragma once
#include "fast/codes.cuh"

namespace fz {
namespace fast {
// The part of a thread: 4 x 4 values of a layer. The first parts of the lanes of a unit come first,
// as in the stream.
struct Part {
  uint32_t lane, m, unit, chunk;  // `m`: number in the unit
  uint32_t c, r, h;               // column and row of the lane in the unit, and part of the lane
  FZ_DEV Part() : lane(threadIdx.x & 31), m(threadIdx.x & 15), unit(threadIdx.x >> 4), chunk(__shfl_sync(ALL, threadIdx.x >> 7, 0)), c(m & 3), r(m >> 2 & 1), h(m >> 3) {}
  // The lane of the part above. The parts at the top have none.
  FZ_DEV uint32_t above() const { return h ? lane - 8 : lane + 4; }
  FZ_DEV bool top() const { return !(r | h); }
  FZ_DEV uint32_t row() const { return 8 * r + 4 * h; }
  // The bits of this unit from a ballot, and how many of them belong to parts before this one.
  FZ_DEV uint32_t of_unit(uint32_t bits) const { return bits >> (lane & 16) & 0xffff; }
  FZ_DEV uint32_t before(uint32_t bits) const { return __popc(bits & ((1u << m) - 1)); }
};
// Bits of eight lanes in the places of those lanes in a unit.
FZ_DEV uint32_t spread(uint32_t bits) { return (bits & 0x0f) | (bits & 0xf0) << 4; }
constexpr uint32_t SPREAD = 0x0f0f;
}  // namespace fast
}  // namespace fz
