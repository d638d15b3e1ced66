// From segments to a container: the head, the segments that do not lie in it yet, or the array as it is when that is
// shorter. Every block reckons the same lengths; the last one to end writes the result.
#include "container.cuh"

namespace fz {
// By one block.
FZ_DEV void write_head(const Frame& f, const HeadRow& h, uint64_t payload) {
  const uint8_t* blank = f.image + h.blank_at;
  if (h.varints == 0) {
    for (uint32_t i = threadIdx.x; i < h.blank; i += blockDim.x) f.container[i] = blank[i];
  } else {
    for (uint32_t i = threadIdx.x; i < h.blank; i += blockDim.x) f.container[i + shift(f, h, i)] = blank[i];
  }
  __syncthreads();
  const FieldRow* rows = f.table<FieldRow>(h.fields_at);
  for (uint32_t i = threadIdx.x; i < h.fields; i += blockDim.x) {
    const FieldRow r = rows[i];
    uint8_t* to = f.container + r.at + (h.varints ? shift(f, h, r.at) : 0);
    if (r.what == FIELD_STORED) {
      const uint8_t* from = f.bytes_of(r.index) + r.detail;
      for (uint32_t k = 0; k < r.width; k++) to[k] = from[k];
    } else {
      const uint64_t x = Layout::number(f, h, r, payload);
      for (uint32_t k = 0; k < r.width; k++) to[k] = (uint8_t)(x >> 8 * k);
    }
  }
  const FieldRow* varints = f.table<FieldRow>(h.varints_at);
  for (uint32_t i = threadIdx.x; i < h.varints; i += blockDim.x) {
    uint64_t x = Layout::number(f, h, varints[i], payload), at = varints[i].at;
    for (uint32_t k = 0; k < i; k++) at += varint_bytes(Layout::number(f, h, varints[k], payload));
    for (; x >= 128; x >>= 7) f.container[at++] = (uint8_t)(x | 128);
    f.container[at] = (uint8_t)x;
  }
}
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256) fz_seal(FZ_ARGS) {
  using namespace fz;
  const Frame f(a);
  const Border& p = params<Border>(a);
  const bool failed = dead(a);
  uint64_t total = 0;
  if (!failed) {
    const HeadRow* h = &f.form(p.own);
    Layout own(f, *h);
    const bool stored = own.head + own.payload > p.stored_limit;
    if (stored) {
      h = &f.form(p.stored);
      own.head = h->blank;
      own.payload = f.array_bytes;
      // The only varint of a stored head is the length of the array.
      for (uint32_t i = 0; i < h->varints; i++) own.head += varint_bytes(Layout::number(f, *h, f.table<FieldRow>(h->varints_at)[i]));
    }
    total = own.head + own.payload;
    if (total > f.capacity) {
      if (blockIdx.x == 0 && threadIdx.x == 0) fail(a, DST_TOO_SMALL, total);
    } else {
      if (blockIdx.x == 0) {
        write_head(f, *h, own.payload);
        if (threadIdx.x == 0) { f.call()->head = own.head; f.call()->total = total; f.call()->form = stored ? p.stored : p.own; }
      }
      const SegmentRow* s = f.table<SegmentRow>(h->segments_at);
      uint64_t at = own.head;
      for (uint32_t i = 0; i < h->segments; i++) {
        const uint64_t n = f.segment_bytes(s[i]);
        if (s[i].unit) {
          if (blockIdx.x == 0 && threadIdx.x == 0) store<uint32_t>(f.container + at, f.number(s[i]));
        } else if (f.value(s[i].value).place != PLACE_SEGMENT) {
          copy(f.container + at, f.bytes_of(s[i].value), n);
        }
        at += n;
      }
    }
  }
  if (last_block(&f.call()->ticket) && threadIdx.x == 0) report(a, total);
}
