// Opens and closes containers.
#include "common/container/checksum.cuh"
#include "common/container/open.cuh"

namespace fz {
template <bool BATCHED> FZ_DEV void open_container(const Args& a) {
  __shared__ OpenRoom<BATCHED> room;
  open_container(a, room);
}

// Copies segments that a step changes in place, or that another value shares, out of the container.
FZ_DEV void load_container(const Args& a) {
  if (cancelled(a)) return;
  const Frame f(a);
  const HeaderRow& h = f.form(0);
  const SegmentRow* s = f.table<SegmentRow>(h.segments_at);
  for (uint32_t i = 0; i < h.segments; i++)
    if (!s[i].unit && f.value(s[i].value).place == PLACE_ARENA) copy(f.bytes_of(s[i].value), segment_at(a, f, s[i].value), f.bytes(s[i].value));
}

// Ends a decompression: copies a stored array, compares the checksums, and writes the result. A
// wrong checksum takes precedence over all other failures. No decoder relies on the checksums.
FZ_DEV void close_container(const Args& a) {
  const Frame f(a);
  wait_prerequisites();
  const ContainerArgs& p = params<ContainerArgs>(a);
  Status* status = status_of(a);
  const unsigned long long failed = *reinterpret_cast<const volatile unsigned long long*>(&status->failed);
  const uint32_t crcs = *reinterpret_cast<const volatile unsigned int*>(&f.call()->crcs);
  const bool stored = (int32_t)(uint32_t)failed == STORED, opened = !failed || stored || (failed >> 32) > p.opened;  // seed: close-first
  if (stored) {
    copy(f.array, f.container + f.call()->header, f.array_bytes);
  } else if (!failed && p.copies) {
    const HeaderRow& h = f.form(0);
    const SegmentRow* s = f.table<SegmentRow>(h.segments_at);
    for (uint32_t i = 0; i < h.segments; i++)
      if (!s[i].unit && f.value(s[i].value).place == PLACE_ARRAY) copy(f.array, segment_at(a, f, s[i].value), f.array_bytes);
  }
  if (!p.verify || !crcs || !opened) {  // seed: close-checks
    if (blockIdx.x == 0 && threadIdx.x == 0) report(a, p.array_bytes, failed != 0 && !stored);
    return;
  }
  const Verdict verdict = checksums(f, true);
  if (verdict == NO_VERDICT || threadIdx.x != 0) return;
  if (verdict == WRONG) *status = {(unsigned long long)(a.step + 1) << 32 | CHECKSUM, 0, 0, 0};
  report(a, p.array_bytes, verdict == WRONG || (failed != 0 && !stored));  // seed: close-verdict
}
}  // namespace fz

FZ_BOTH_WITH(fz_open, fz::open_container, fz::CONTAINER_BLOCK, 2, 5)
FZ_BOTH(fz_load, fz::load_container, 256, 4, 4)
FZ_BOTH(fz_close, fz::close_container, 256, 5, 5)
