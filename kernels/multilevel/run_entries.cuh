// Stage multilevel, encoder: entries of a set of tables in shared memory.
#pragma once
#include "multilevel/memory.cuh"
#include "multilevel/num.cuh"

namespace fz {
namespace multilevel {
// Entries in shared memory.
struct RunEntries {
  Shared<uint2> of;
  FZ_DEV uint2 at(uint32_t i) const {
#ifdef FZ_EMULATED
    return (&*of)[i];
#else
    // The compiler would compute the address of the shared memory again for each load.
    uint2 e;
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(e.x), "=r"(e.y) : "r"(of.at + i * (uint32_t)sizeof(uint2)));
    return e;
#endif
  }
};
}  // namespace multilevel
}  // namespace fz
