// Seals a container: copies the segments that are not in it yet, or the array if that is shorter,
// and writes the header. Every block computes the same lengths. If blocks copy, the last one to end
// writes the header and the result and clears memory for the next call; otherwise the first one
// does.
#include "common/container/fixed_header.cuh"

namespace fz {
// The number of a field, or its bytes.
FZ_DEV uint64_t content(const Frame& f, const HeaderRow& h, const FieldRow& r, uint64_t payload) {
  return is_stored(r) ? load_le(f.bytes_of(r.index) + r.detail, r.width) : Layout::number(f, h, r, payload);
}

// By one block.
FZ_DEV void write_header(const Frame& f, const HeaderRow& h, uint64_t payload) {
  const uint32_t first = threadIdx.x, own = first_field();
  const uint8_t* blank = f.header_bytes(h.blank_at);
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
    const uint64_t x = content(f, h, r, payload);
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

// A form of container, and its lengths in this call.
struct Choice {
  uint32_t form;
  Layout layout;
  FZ_DEV uint64_t total() const { return layout.header + layout.payload; }
};
FZ_DEV Choice choose(const Frame& f, const ContainerArgs& p) {
  Choice own = {p.own, Layout(f, f.form(p.own))};
  if (own.total() <= p.stored_limit) return own;
  const HeaderRow& h = f.form(p.stored);
  Choice stored = {p.stored, own.layout};
  stored.layout.header = h.blank;
  stored.layout.payload = f.array_bytes;
  // The only varint of the header of a stored array is its length.
  for (uint32_t i = 0; i < h.varints; i++) stored.layout.header += varint_bytes(Layout::number(f, h, f.table<FieldRow>(h.varints_at)[i]));
  return stored;
}

// Seals a container whose header has a fixed length, if no segment has to be copied. All loads are
// issued at once, and the header is composed in shared memory.
struct FixedSeal {
  FixedHeader u;
  const uint8_t* stored;  // the metadata that the field holds
  ValueRow counted;       // or the value whose units it counts

  template <bool BATCHED> static FZ_DEV bool applies(const Frame& f, const ContainerArgs& p, const Staged<BATCHED>& staged) {
    return !p.copies && !p.more && p.own == 0 && f.staged && f.plan().fixed_header && staged.holds(f.form(0));
  }
  FZ_DEV explicit FixedSeal(const Frame& f) : u(f), stored(nullptr), counted{0, KIND_STATIC, 0, 0, 0, 0} {
    if (is_stored(u.field)) stored = f.bytes_of(u.field.index) + u.field.detail;
    if (u.field.what == FIELD_COUNT) counted = f.value(u.field.index);
  }
  static FZ_DEV uint64_t bytes(const Frame& f, const ValueRow& v) {
    return v.kind == KIND_DYNAMIC ? reinterpret_cast<const uint64_t*>(f.seen + WORDS_AT)[v.word] : v.max;
  }

  // After staging. False: a stored array is shorter, or the container does not fit.
  FZ_DEV bool end(const Args& a, const Frame& f, const ContainerArgs& p, uint8_t* tables, uint64_t metadata) const {
    const uint64_t own = bytes(f, u.value), upto = u.upto(own), total = u.h.blank + __shfl_sync(ALL, upto, 31);
    if (total > p.stored_limit || total > f.capacity) return false;  // seed: usual-room
    // The first block does not wait. Late blocks that read cleared words compute smaller lengths,
    // and end here too.
    if (blockIdx.x > 0) return true;
    const uint64_t x = u.number(metadata, bytes(f, counted), own, upto);
    uint8_t* blank = tables + u.h.blank_at;
    uint8_t* to = blank + u.field.at;
    if (u.field.width == 8 && aligned(to, 8)) *reinterpret_cast<uint64_t*>(to) = x;
    else if (u.field.width == 4 && aligned(to, 4)) *reinterpret_cast<uint32_t*>(to) = (uint32_t)x;
    else
      for (uint32_t k = 0; k < u.field.width; k++) to[k] = (uint8_t)(x >> 8 * k);
    __syncthreads();
    if (threadIdx.x == 0) report(a, total, false);
    const uint32_t whole = aligned(f.container, 16) ? u.h.blank / 16 : 0;
    for (uint32_t i = threadIdx.x; i < whole; i += blockDim.x) reinterpret_cast<uint4*>(f.container)[i] = reinterpret_cast<const uint4*>(blank)[i];
    for (uint32_t i = whole * 16 + threadIdx.x; i < u.h.blank; i += blockDim.x) f.container[i] = blank[i];
    Frame::clear(f.control, p.words_end, threadIdx.x, blockDim.x);
    return true;
  }
};

template <bool BATCHED> FZ_DEV void seal_container(const Args& a) {
  __shared__ Staged<BATCHED> staged;
  Frame f(a);
  const ContainerArgs& p = params<ContainerArgs>(a);
  f.stage_tables(a, staged);
  __syncthreads();
  if (FixedSeal::applies(f, p, staged)) {
    const FixedSeal fixed(f);
    wait_prerequisites();
    const uint64_t metadata = fixed.stored ? load_le(fixed.stored, fixed.u.field.width) : 0;
    f.stage(a, staged, false);
    f.clear_zeroed(a);  // seed: seal-zeroed
    if (!f.failed() && fixed.end(a, f, p, reinterpret_cast<uint8_t*>(staged.tables), metadata)) return;
  } else {
    wait_prerequisites();
    f.stage(a, staged, false);
    f.clear_zeroed(a);  // seed: seal-zeroed
  }
  bool failed = f.failed();
  const Choice c = failed ? Choice{p.own, Layout()} : choose(f, p);
  const bool fits = c.total() <= f.capacity;
  const HeaderRow& h = f.form(c.form);
  const SegmentRow* s = f.table<SegmentRow>(h.segments_at);
  if (!failed && fits) {
    uint64_t at = c.layout.header;
    for (uint32_t i = 0; i < h.segments; i++) {
      const uint64_t n = f.segment_bytes(s[i]);
      if (!s[i].unit && f.value(s[i].value).place != PLACE_SEGMENT) copy(f.container + at, f.bytes_of(s[i].value), n);
      at += n;
    }
  }
  // If nothing is copied, the first block does not wait. Late blocks that read cleared words
  // compute smaller lengths, and end here too.
  const bool copies = p.copies || c.form != p.own, waits = failed || !fits || copies;
  if (!waits && blockIdx.x > 0) return;
  if (waits && !last_block(&f.call()->ticket, copies)) return;
  if (!failed && fits) {
    write_header(f, h, c.layout.payload);
    if (threadIdx.x == 0) {
      uint64_t at = c.layout.header;
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
    if (threadIdx.x == 0) { f.call()->header = c.layout.header; f.call()->total = c.total(); f.call()->form = c.form; }
    return;
  }
  __syncthreads();
  Frame::clear(f.control, p.words_end, threadIdx.x, blockDim.x);  // seed: seal-words
}
}  // namespace fz

FZ_BOTH_WITH(fz_seal, fz::seal_container, fz::CONTAINER_BLOCK, 2, 5)
