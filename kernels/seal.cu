// From segments to a container: the segments that do not lie in it yet, or the array as it is when that is shorter, and the
// head. Every block reckons the same lengths; where some copy, the last one to end writes the head and the result, and leaves zeros
// for the next call, and otherwise the first one does.
#include "container.cuh"

namespace fz {
// Whether a field holds bytes of a fact.
FZ_DEV bool is_stored(const FieldRow& r) { return r.what == FIELD_STORED || r.what == FIELD_BOUND || r.what == FIELD_REPEATED; }
// The number of a field, or those bytes.
FZ_DEV uint64_t content(const Frame& f, const HeadRow& h, const FieldRow& r, uint64_t payload) {
  return is_stored(r) ? load_le(f.bytes_of(r.index) + r.detail, r.width) : Layout::number(f, h, r, payload);
}

// By one block; `x` is the content of the thread's first field.
FZ_DEV void write_head(const Frame& f, const HeadRow& h, uint64_t payload, uint64_t x) {
  const uint32_t first = threadIdx.x, own = first_field();
  const uint8_t* blank = f.said(h.blank_at);
  const FieldRow* rows = f.table<FieldRow>(h.fields_at);
  if (h.varints == 0 && aligned(f.container, 16)) {
    const uint32_t whole = h.blank / 16;
    for (uint32_t i = first; i < whole; i += blockDim.x) reinterpret_cast<uint4*>(f.container)[i] = reinterpret_cast<const uint4*>(blank)[i];
    for (uint32_t i = whole * 16 + first; i < h.blank; i += blockDim.x) f.container[i] = blank[i];
  } else {
    for (uint32_t i = first; i < h.blank; i += blockDim.x) f.container[i + (h.varints ? shift(f, h, i) : 0)] = blank[i];
  }
  __syncthreads();
  for (uint32_t i = own; i < h.fields; i += blockDim.x) {
    const FieldRow r = rows[i];
    uint8_t* to = f.container + r.at + (h.varints ? shift(f, h, r.at) : 0);
    if (i != own) x = content(f, h, r, payload);
    for (uint32_t k = 0; k < r.width; k++) to[k] = (uint8_t)(x >> 8 * k);
  }
  const FieldRow* varints = f.table<FieldRow>(h.varints_at);
  for (uint32_t i = own; i < h.varints; i += blockDim.x) {
    uint64_t y = Layout::number(f, h, varints[i], payload), at = varints[i].at;
    for (uint32_t k = 0; k < i; k++) at += varint_bytes(Layout::number(f, h, varints[k], payload));
    for (; y >= 128; y >>= 7) f.container[at++] = (uint8_t)(y | 128);
    f.container[at] = (uint8_t)y;
  }
}

// A form for the segments as they are, and how long it makes them.
struct Choice {
  uint32_t form;
  Layout layout;
  FZ_DEV uint64_t total() const { return layout.head + layout.payload; }
};
FZ_DEV Choice choose(const Frame& f, const Border& p) {
  Choice own = {p.own, Layout(f, f.form(p.own))};
  if (own.total() <= p.stored_limit) return own;
  const HeadRow& h = f.form(p.stored);
  Choice stored = {p.stored, own.layout};
  stored.layout.head = h.blank;
  stored.layout.payload = f.array_bytes;
  // The only varint of a stored head is the length of the array.
  for (uint32_t i = 0; i < h.varints; i++) stored.layout.head += varint_bytes(Layout::number(f, h, f.table<FieldRow>(h.varints_at)[i]));
  return stored;
}
}  // namespace fz

extern "C" __global__ void __launch_bounds__(fz::BORDER_THREADS) fz_seal(FZ_ARGS) {
  using namespace fz;
  __shared__ Staged staged;
  Frame f(a);
  const Border& p = params<Border>(a);
  f.stage_tables(a, staged);
  await_former();
  f.stage(a, staged, false);
  f.clear_zeroed(a);
  bool failed = reinterpret_cast<const Status*>(f.seen + STATUS_AT)->failed != 0;
  // Facts are on their way while the form is chosen, as usual the plan's own.
  const HeadRow& own = f.form(p.own);
  const FieldRow* rows = f.table<FieldRow>(own.fields_at);
  const uint32_t mine = first_field();
  const bool early = !failed && mine < own.fields && is_stored(rows[mine]);
  uint64_t x = early ? content(f, own, rows[mine], 0) : 0;
  Choice c = {p.own, Layout()};
  if (!failed) c = choose(f, p);
  const bool fits = c.total() <= f.capacity;
  const HeadRow& h = f.form(c.form);
  const SegmentRow* s = f.table<SegmentRow>(h.segments_at);
  if (!failed && fits) {
    uint64_t at = c.layout.head;
    for (uint32_t i = 0; i < h.segments; i++) {
      const uint64_t n = f.segment_bytes(s[i]);
      if (!s[i].unit && f.value(s[i].value).place != PLACE_SEGMENT) copy(f.container + at, f.bytes_of(s[i].value), n);
      at += n;
    }
  }
  // As usual nothing has to be copied and the first block waits for nobody. Others that are late find zeros in some of the words: what
  // they reckon then is shorter still, so that they end here too.
  const bool copies = p.copies || c.form != p.own, waits = failed || !fits || copies;
  if (!waits && blockIdx.x > 0) return;
  const bool fills = !failed && fits && mine < h.fields && !(early && c.form == p.own);
  if (fills) x = content(f, h, f.table<FieldRow>(h.fields_at)[mine], c.layout.payload);
  if (waits && !last_block(&f.call()->ticket, copies)) return;
  if (!failed && fits) {
    write_head(f, h, c.layout.payload, x);
    if (threadIdx.x == 0) {
      uint64_t at = c.layout.head;
      for (uint32_t i = 0; i < h.segments; i++) {
        if (s[i].unit) store<uint32_t>(f.container + at, f.number(s[i]));
        at += f.segment_bytes(s[i]);
      }
    }
  } else if (!failed) {
    if (threadIdx.x == 0) fail(a, DST_TOO_SMALL, c.total());
    failed = true;
  }
  if (threadIdx.x == 0) report(a, c.total(), failed);
  if (p.more) {
    if (threadIdx.x == 0) { f.call()->head = c.layout.head; f.call()->total = c.total(); f.call()->form = c.form; }
    return;
  }
  __syncthreads();
  Frame::clear(f.control, p.words_end, threadIdx.x, blockDim.x);
}
