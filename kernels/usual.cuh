// The usual container, as Image::usual has it, for the functions that write and read it: a thread deals with each field of the head, and a
// lane of every warp with each segment; the rows of both are looked up once. A call of a small array takes about as long as its longest
// chain of loads and branches, so this has few.
#pragma once
#include "container.cuh"

namespace fz {
struct Usual {
  HeadRow h;
  FieldRow field;      // of this thread; of a width of 0: none
  SegmentRow segment;  // of this lane
  ValueRow value;      // of the segment; of a length of 0: none

  FZ_DEV explicit Usual(const Frame& f) : h(f.form(0)), field{0, 0, FIELD_PAYLOAD_BYTES, 0, 1}, segment{0, 0, NO_FIELD, 0}, value{0, KIND_STATIC, 0, 0, 0, 0} {
    const uint32_t mine = first_field(), lane = threadIdx.x & 31;
    if (mine < h.fields) field = f.table<FieldRow>(h.fields_at)[mine];
    if (lane >= h.segments) return;
    segment = f.table<SegmentRow>(h.segments_at)[lane];
    value = f.value(segment.value);
  }
  // The bytes of the segment of this lane and all before it: in the last lane those of all.
  FZ_DEV uint64_t upto(uint64_t bytes) const { return h.segments == 1 ? __shfl_sync(ALL, bytes, 0) : warp_sum_to(bytes); }

  // What stands in the field: `fact`, if that is what it holds, the units that it counts, or what follows from the bytes of the segment of
  // this lane, where `upto` are those of it and all before it.
  FZ_DEV uint64_t number(uint64_t fact, uint64_t counted, uint64_t bytes, uint64_t upto) const {
    const int of = (int)field.index & 31;
    const uint64_t own = __shfl_sync(ALL, bytes, of), before = __shfl_sync(ALL, upto - bytes, of), all = __shfl_sync(ALL, upto, 31), unit = field.detail;
    uint64_t x = fact;
    if (field.what == FIELD_COUNT) x = counted >> __popcll(unit - 1);
    if (field.what == FIELD_COUNT && (unit & (unit - 1))) x = counted / unit;
    if (field.what == FIELD_SEGMENT_BYTES) x = own;
    if (field.what == FIELD_SEGMENT_OFFSET) x = before;
    if (field.what == FIELD_PAYLOAD_BYTES) x = all;
    return x;
  }
};
}  // namespace fz
