// Stage exact, decoder: functions of all launches.
#pragma once
#include "exact/memory.cuh"
#include "multilevel/run_decoder.cuh"
#include "multilevel/source.cuh"

namespace fz {
namespace exact {
using multilevel::Words;

// Launches of a decoder are numbered in their tags: a failure cancels later ones.
FZ_DEV uint32_t order_of(const Args& a) { return a.tag >> 8; }
FZ_DEV void corrupt(const Args& a) {
  atomicCAS(reinterpret_cast<uint32_t*>(a.zeroed), 0u, order_of(a) + 1);
  fail(a, CORRUPT);
}
// Returns true if no earlier launch has failed; all threads agree.
FZ_DEV bool is_sound(const Args& a) {
  const uint32_t broken = *reinterpret_cast<const volatile uint32_t*>(a.zeroed);
  return broken == 0 || broken > order_of(a);
}
// Returns true if this launch has work.
FZ_DEV bool is_open(const Args& a, const Memory& memory, const ExactParams& p) { return elements(p) > 0 && is_sound(a) && !memory.state->head.stored; }

// The words of a run or mask run of a part.
FZ_DEV Words run_words(const Args& a, const Memory& memory, const Part& part, uint32_t number) {
  const uint32_t run = part.c.first_mask_run + number;
  return {address(input(a, 0)) + part.codes + 2 * memory.places[run], memory.sizes[run]};
}

// The launch that writes elements: the last sum, `exact_unpack` if there are no sums, or `exact_elements` if there are ranks, or holes
// with sums.
constexpr uint32_t BY_X = 0, BY_Y = 1, BY_Z = 2, BY_ALL = 3, BY_UNPACK = 4;
FZ_DEV uint32_t writer(const Head& h) {
  if (h.table || (h.holes && h.order)) return BY_ALL;
  return h.z ? BY_Z : h.y ? BY_Y : h.order ? BY_X : BY_UNPACK;
}
// Stores the elements of a thread from element `i` on, of `n` elements.
template <class W> FZ_DEV void put_each(const multilevel::Target<W>& target, const Each<W>& own, uint32_t i, uint32_t n) {
  if (target.whole && aligned(target.at, 16)) {
    own.store(target.at, i, n);
    return;
  }
#pragma unroll
  for (uint32_t k = 0; k < EACH; k++)
    if (i + k < n) target.put(i + k, own.of[k]);
}

// The axis of the sums that a launch adds up together with those along x, or 0. Its blocks have lines of whole rows, of which each
// thread has some integers.
constexpr uint32_t ROW_THREADS = 256, FEWEST_LINES = 64, SHORTEST_ROW = 128;
FZ_DEV uint32_t axis_with_x(const Head& h, const ExactParams& p) {
  const uint32_t axis = h.y ? 1 : h.z ? 2 : 0, width = (uint32_t)p.dims[0];
  if (axis == 0 || h.order != 1 || p.dims[3 - axis] < FEWEST_LINES || width < SHORTEST_ROW || p.dims[0] > (p.width < 8 ? 4 : 2) * ROW_THREADS) return 0;
  // If the sums replace the differences, no other block may read these.
  if (writer(h) != axis && width % POINTS != 0) return 0;
  return width <= ROW_THREADS || width % (width <= 2 * ROW_THREADS ? 2 : 4) == 0 ? axis : 0;
}

// Finds a warp's next run or mask run: `number` runs over those of both parts.
struct Numbered {
  uint32_t part, number;
  bool there;
};
FZ_DEV Numbered numbered(const State& state, uint32_t number, bool masks) {
  for (uint32_t k = 0; k < PARTS; k++) {
    const uint32_t own = masks ? state.of[k].c.mask_runs : state.of[k].c.runs;
    if (number < own) return {k, number, true};
    number -= own;
  }
  return {0, 0, false};
}
}  // namespace exact
}  // namespace fz
