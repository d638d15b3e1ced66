// Decoders of a single launch, for small arrays, where a launch costs more than its work. Every block
// checks the header by itself. The block that ends last writes the result.
#pragma once
#include "common/container/checksum.cuh"
#include "common/container/open.cuh"
#include "common/single.h"

#define FZ_SINGLE_ARGS const __grid_constant__ fz::SingleArgs single

namespace fz {
// Zero between calls.
struct SingleState {
  Status status;
  Call call;
};
static_assert(sizeof(SingleState) == 64, "as in src/runtime/cuda/single.rs");
FZ_DEV SingleState* state_of(const SingleArgs& o) { return reinterpret_cast<SingleState*>(o.step.status); }

// The numbers of a header that a block has read, in shared memory.
struct Found {
  uint4 metadata[SINGLE_METADATA / 16];
  uint64_t bytes;  // of the payload, or of the stored array
  // The metadata as the second input of a step.
  FZ_DEV Operand operand() const { return {reinterpret_cast<uint64_t>(metadata), 0, 0, SINGLE_METADATA}; }
};

FZ_DEV const uint8_t* container_of(const SingleArgs& o) { return address(o.open.operands[1]); }
// True if a container that ends behind `bytes` bytes of payload suits its memory.
FZ_DEV bool has_room(const SingleArgs& o, const SingleForm& form, uint64_t bytes) {
  const uint64_t room = o.open.operands[1].max - form.header;
  return params<ContainerArgs>(o.open).whole ? bytes == room : bytes <= room;  // seed: single-room
}

// The part of a header that a thread checks: 16 bytes of it, and a field.
struct HeaderPart {
  uint4 x, blank, mask;
  uint64_t payload, field;
  FZ_DEV HeaderPart(const SingleArgs& o, const SingleForm& form) : x(make_uint4(0, 0, 0, 0)), blank(x), mask(x), payload(0), field(0) {
    const uint8_t* c = container_of(o);
    if (o.open.operands[1].max < form.header) return;
    load(c, form, threadIdx.x);
    if (form.stored || threadIdx.x >= 32) return;
    payload = load_le(c + form.payload_at, 8);
    if (threadIdx.x < form.row_count) field = load_le(c + form.rows[threadIdx.x].at, form.rows[threadIdx.x].width);
  }
  FZ_DEV void load(const uint8_t* c, const SingleForm& form, uint32_t k) {
    if (k >= form.header / 16) return;
    x = load16(c + 16 * k);
    blank = reinterpret_cast<const uint4*>(form.blank)[k];
    mask = reinterpret_cast<const uint4*>(form.mask)[k];
  }
  FZ_DEV uint32_t differs() const {
    return (x.x ^ blank.x) & mask.x | (x.y ^ blank.y) & mask.y | (x.z ^ blank.z) & mask.z | (x.w ^ blank.w) & mask.w;
  }
  // Checks and stores the fields of a form, one in each lane of the first warp. False: a field is
  // wrong.
  FZ_DEV bool put_fields(const SingleArgs& o, const SingleForm& form, Found& s) const {
    const uint32_t lane = threadIdx.x;
    if (lane < SINGLE_METADATA / 4) reinterpret_cast<uint32_t*>(s.metadata)[lane] = ALL;
    if (lane == 0) s.bytes = payload;
    __syncwarp();
    const bool good = payload <= input(o.step, 0).max && has_room(o, form, payload);
    if (lane >= form.row_count) return good;
    const SingleRow& r = form.rows[lane];
    if (r.what == FIELD_COUNT) return good && field == (r.detail & (r.detail - 1) ? payload / r.detail : payload >> __popcll(r.detail - 1));  // seed: single-count
    uint8_t* to = reinterpret_cast<uint8_t*>(s.metadata) + r.detail;
    for (uint32_t k = 0; k < r.width; k++) to[k] = (uint8_t)(field >> 8 * k);
    return good && (r.width < 8 || field != ~0ull) && (r.what != FIELD_BOUND || is_bound(field, r.width));  // seed: single-bound
  }
};

// The index of the form of the container, equal in all threads. -1: none, or a field is wrong. `part`:
// of the first form, which a function loads before anything else. Ends with a barrier.
FZ_DEV int find_form(const SingleArgs& o, HeaderPart part, Found& s) {
  for (int i = 0; i < (int)o.form_count; i++) {
    const SingleForm& form = o.forms[i];
    bool good = o.open.operands[1].max >= form.header;
    if (i > 0) part = HeaderPart(o, form);
    if (good) {
      const uint64_t all = params<ContainerArgs>(o.open).array_bytes;
      if (form.stored && threadIdx.x == 0) s.bytes = all;
      if (form.stored) good = has_room(o, form, all);
      else if (threadIdx.x < 32) good = part.put_fields(o, form, s);
      uint32_t bits = part.differs();
      for (uint32_t k = threadIdx.x + blockDim.x; k < form.header / 16; k += blockDim.x) {
        part.load(container_of(o), form, k);
        bits |= part.differs();
      }
      good = good && bits == 0;  // seed: single-blank
    }
    if (!__syncthreads_or(!good)) return i;
  }
  return -1;
}

// Shared memory of a block at the end of a call.
union SingleRoom {
  OpenRoom<true> open;
  SumTables sums;
};

// Finds the defect of a container without a form, by one block, and writes the result.
__device__ __attribute__((noinline)) inline void reject(const SingleArgs& o, SingleRoom& room) {
  open_container<true>(o.open, room.open);
  __syncthreads();
  if (threadIdx.x == 0) report(o.open, 0, true);
}

// Compares the checksums of a container of a form.
__device__ __attribute__((noinline)) inline Verdict verify(const SingleArgs& o, int form, uint64_t payload, SingleRoom& room) {
  const Frame f(o.open);
  return checksums(f, f.form(form), o.forms[form].header, payload, &state_of(o)->call, room.sums, true);
}

// Ends the call, by all threads of all blocks. `good`: false in a thread that has failed, and has
// reported its failure. `room`: shared memory that is free now.
FZ_DEV void close_single(const SingleArgs& o, int form, const Found& found, bool good, SingleRoom& room) {
  constexpr unsigned int FAILED = 1 << 16;
  if (form < 0) {
    if (blockIdx.x == 0) reject(o, room);
    return;
  }
  const ContainerArgs& p = params<ContainerArgs>(o.open);
  SingleState* s = state_of(o);
  if (o.forms[form].stored) copy(address(o.open.operands[0]), container_of(o) + o.forms[form].header, p.array_bytes);  // seed: single-stored
  const bool failed = __syncthreads_or(!good) != 0;
  bool any = true, wrong = false;
  if (p.verify && o.forms[form].checked) {
    const Verdict verdict = verify(o, form, found.bytes, room);
    if (verdict == NO_VERDICT) return;
    wrong = verdict == WRONG;
  }
  if (threadIdx.x != 0) return;
  if (!p.verify || !o.forms[form].checked) {
    // Only the status needs an order: the result is read after the stream has completed the call.
    if (failed) __threadfence();
    const unsigned int own = failed ? FAILED + 1 : 1, all = atomicAdd(&s->call.ticket, own) + own;
    if (all % FAILED != gridDim.x) return;
    any = all >= FAILED;
    if (any) __threadfence();
  }
  Result r = {p.array_bytes, 0, OK, 0};
  unsigned long long status = 0;
  if (any) {
    const volatile Status* first = &s->status;
    status = first->failed;
    if (status) r = {0, first->needed, (int32_t)(uint32_t)status, first->stage};
  }
  // A wrong checksum takes precedence over all other failures.
  if (wrong) {
    status = CHECKSUM;
    r = {0, 0, CHECKSUM, 0};
  }
  *s = {};  // seed: single-state
  // For launches behind this call.
  status_of(o.open)->failed = status;
  if (p.result) write_result(p.result, r);
}
}  // namespace fz
