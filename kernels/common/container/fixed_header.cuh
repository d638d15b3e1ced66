// Containers whose header has a fixed length (`PlanTables::fixed_header`): a thread per field, and
// a lane of every warp per segment, whose rows are read once. Calls of small arrays are bound by
// the longest chain of loads and branches, which is short here.
#pragma once
#include "common/container/container.cuh"

namespace fz {
struct FixedHeader {
  HeaderRow h;
  FieldRow field;      // of this thread; width 0: none
  SegmentRow segment;  // of this lane
  ValueRow value;      // of the segment; length 0: none

  FZ_DEV explicit FixedHeader(const Frame& f) : h(f.form(0)), field{0, 0, FIELD_PAYLOAD_BYTES, 0, 1}, segment{0, 0, NO_FIELD, 0}, value{0, KIND_STATIC, 0, 0, 0, 0} {
    const uint32_t mine = first_field(), lane = threadIdx.x & 31;
    if (mine < h.fields) field = f.table<FieldRow>(h.fields_at)[mine];
    if (lane >= h.segments) return;
    segment = f.table<SegmentRow>(h.segments_at)[lane];
    value = f.value(segment.value);
  }
  // Bytes of the segments up to that of this lane. The last lane has the sum of all.
  FZ_DEV uint64_t upto(uint64_t bytes) const { return h.segments == 1 ? __shfl_sync(ALL, bytes, 0) : warp_sum_to(bytes); }

  // The number in the field of this thread: `metadata`, the number of units in `counted` bytes, or a
  // number that follows from `bytes`, those of the segment of this lane, and `upto`, those of all
  // segments up to it.
  FZ_DEV uint64_t number(uint64_t metadata, uint64_t counted, uint64_t bytes, uint64_t upto) const {
    const int of = (int)field.index & 31;
    const uint64_t own = __shfl_sync(ALL, bytes, of), before = __shfl_sync(ALL, upto - bytes, of), all = __shfl_sync(ALL, upto, 31), unit = field.detail;  // seed: usual-offset
    uint64_t x = metadata;
    if (field.what == FIELD_COUNT) x = counted >> __popcll(unit - 1);
    if (field.what == FIELD_COUNT && (unit & (unit - 1))) x = counted / unit;
    if (field.what == FIELD_SEGMENT_BYTES) x = own;
    if (field.what == FIELD_SEGMENT_OFFSET) x = before;
    if (field.what == FIELD_PAYLOAD_BYTES) x = all;
    return x;
  }
};
}  // namespace fz
