// Stage multilevel: launches that do not wait for the one before them. Behind the base section there are launches for differences, for many
// roots, and for levels that most arrays do not have. They return at once, while the base section is coded, and the first launch with
// work waits for the base section itself.
#pragma once
#include "multilevel/memory.cuh"

namespace fz {
namespace multilevel {
// As `fz::cancelled`, but the next grid starts only after the grids before this one have ended. If the grid before this one calls the
// function too, this one may read the results of all other grids before the call.
FZ_DEV bool cancelled_late(const Args& a) {
#ifdef FZ_EMULATED
  return cancelled(a);
#else
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;" ::: "memory");
#endif
  return cancelled(a, *reinterpret_cast<volatile unsigned long long*>(&status_of(a)->failed));
#endif
}

// How many blocks of a grid have ended, and 1 if all of them have. Zero when a call starts.
struct Ended {
  uint32_t blocks, all;
  // All threads of a block must call the function at the end.
  FZ_DEV void add_block() {
    __syncthreads();
    if (threadIdx.x > 0) return;
    __threadfence();
    if (atomicAdd(&blocks, 1u) + 1 < gridDim.x) return;
    __threadfence();
    *const_cast<volatile uint32_t*>(&all) = 1;
  }
  // Returns when all blocks of the grid have ended. All threads of a block must call it. The blocks must have started. They have, if the
  // grid calls `cancelled_late` and is launched before this one.
  FZ_DEV void wait() const {
    if (threadIdx.x == 0) {
      while (*const_cast<const volatile uint32_t*>(&all) == 0) {}
      __threadfence();
    }
    __syncthreads();
  }
};

// By these numbers a launch decides whether it ends at once. `base`: the array has few batches, and a base section has its coarse levels.
// `ends`: levels 1 to `ends` have sections of their own. A launch may read both before it waits for the grids before it.
struct Skips {
  bool base;
  uint32_t ends;
  FZ_DEV Skips(const MultilevelParams& p, const MultilevelMetadata& m) : base(false), ends(0) {
    if (p.batches > FEW_BATCHES || m.differences > 0) return;
    const Shape shape(p, m.axes);
    base = shape.roots() <= BASE_POINTS;
    ends = shape.base_ends();
  }
  // A launch for differences or many roots, or for a level that is in the base section, ends if the function returns true.
  FZ_DEV bool skips() const { return without_wait(base); }
  FZ_DEV bool skips(uint32_t level) const { return without_wait(base && level > ends); }
  FZ_DEV static bool without_wait(bool ends_now) {
#ifdef FZ_EMULATED
    // The emulator demands that all threads wait for the launch before.
    if (ends_now) wait_prerequisites();
#endif
    return ends_now;
  }
  // The launches for the first level that is not.
  FZ_DEV bool waits(uint32_t level) const { return base && level == ends; }
};
}  // namespace multilevel
}  // namespace fz
