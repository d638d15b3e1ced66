// The caller's result, `fz_result` in C.
#pragma once
#include "common/launch.cuh"

namespace fz {
struct Result { uint64_t bytes, needed; int32_t status; uint32_t stage; };
static_assert(sizeof(Result) == 24, "as in C");

// Writes a result, by one thread. It is read after the stream has completed the call, so its parts
// need no order.
FZ_DEV void write_result(uint64_t to, const Result& r) {
  volatile Result* out = reinterpret_cast<volatile Result*>(to);
  out->bytes = r.bytes; out->needed = r.needed; out->stage = r.stage; out->status = r.status;
}
}  // namespace fz
