// Stage exact: launches that start when the one before has ended, and launches that run beside the one before. They are exceptions to the
// first rule of common/launch.cuh, as those of multilevel/ended.cuh.
#pragma once
#include "multilevel/ended.cuh"

namespace fz {
namespace exact {
#ifdef FZ_EMULATED
// The emulator demands that all threads wait at the begin.
FZ_DEV bool cancelled_beside(const Args& a) { return cancelled(a); }
FZ_DEV bool cancelled_alone(const Args& a) { return cancelled(a); }
#else
FZ_DEV bool has_failed(const Args& a) { return cancelled(a, *reinterpret_cast<volatile unsigned long long*>(&status_of(a)->failed)); }
// As `fz::cancelled` in a grid behind one that calls `multilevel::cancelled_late`, but this grid runs beside that one. All threads must
// call `fz::wait_prerequisites` at the end, so that later grids wait for both.
FZ_DEV bool cancelled_beside(const Args& a) { return has_failed(a); }
// As `fz::cancelled`, but the next grid starts when this one has ended. If the next grid has fewer blocks with work than fit, and
// starts while this one occupies a part of the multiprocessors, its blocks crowd on the others.
FZ_DEV bool cancelled_alone(const Args& a) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  return has_failed(a);
}
#endif
}  // namespace exact
}  // namespace fz
