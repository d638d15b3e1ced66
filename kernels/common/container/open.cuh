// Opens a container: reads its header into lengths, segments, and metadata. For any bytes, no later
// function receives a length that its value has no room for, or a segment beyond the end of the
// container.
#pragma once
#include "common/container/fixed_header.cuh"

namespace fz {
struct Opened {
  uint64_t lengths[64];  // of varints
  uint64_t header, payload;
  int32_t status;
};

// Shared memory of a block that opens a container.
template <bool BATCHED> struct OpenRoom {
  Staged<BATCHED> staged;
  uint4 first[Staged<BATCHED>::HEADER / 16];
  Opened o;
  uint64_t varints[64];
};

// Reads the varints of a header, which must have their shortest form, by one thread: the position
// of each follows from those before it.
FZ_DEV bool read_varints(const Frame& f, const HeaderRow& h, const uint8_t* c, Opened& o, uint64_t (&values)[64]) {
  const FieldRow* rows = f.table<FieldRow>(h.varints_at);
  uint64_t moved = 0;
  if (h.varints > 64) return false;
  for (uint32_t i = 0; i < h.varints; i++) {
    uint64_t x = 0, at = rows[i].at + moved;
    uint32_t n = 0;
    for (;; n++) {
      if (n == 10 || at + n >= f.capacity) return false;
      const uint8_t b = c[at + n];
      if (n == 9 && b > 1) return false;
      x |= (uint64_t)(b & 127) << 7 * n;
      if (!(b & 128)) {
        if (b == 0 && n > 0) return false;
        break;
      }
    }
    values[i] = x;
    moved += n + 1;
    o.lengths[i] = n + 1;
  }
  o.header = h.blank + moved;
  return o.header <= f.capacity;
}

FZ_DEV uint64_t moved(const Frame& f, const HeaderRow& h, const Opened& o, uint32_t at) {
  const FieldRow* v = f.table<FieldRow>(h.varints_at);
  uint64_t n = 0;
  for (uint32_t i = 0; i < h.varints && v[i].at <= at; i++) n += o.lengths[i];
  return n;
}

// Sets the length of a value; returns a status if the value cannot have this length.
FZ_DEV int32_t set_length(const Frame& f, uint32_t v, uint64_t bytes) {
  const ValueRow& r = f.value(v);
  if (r.kind == KIND_DYNAMIC && bytes > r.max) return f.plan().longer;
  if (r.kind != KIND_DYNAMIC && bytes != r.max) return CORRUPT;
  *f.word(v) = bytes;
  return OK;
}

// Writes bytes of a metadata. False: eight bytes of ones, which are no valid bound and no valid
// count, and mark metadata that a header does not contain.
FZ_DEV bool set_fact(const Frame& f, const FieldRow& r, uint64_t x, uint32_t width) {
  if (f.value(r.index).place != PLACE_ARENA) return true;
  uint8_t* to = f.bytes_of(r.index) + r.detail;
  if (width == 4) store<uint32_t>(to, (uint32_t)x);
  else
    for (uint32_t k = 0; k < width; k++) to[k] = (uint8_t)(x >> 8 * k);
  return width < 8 || x != ~0ull;
}

// True if a float of four or eight bytes may be a bound, by the rules of the stages' configs. Only
// a measured bound, which has four bytes, may be infinite. -0 is a bound of 0.
FZ_DEV bool is_bound(uint64_t x, uint32_t width) {
  if (width == 4) return x <= 0x7f800000u || x == 0x80000000u;
  return x < 0x7ff0000000000000ull || x == 0x8000000000000000ull;
}

// True if a byte that this thread compares differs from the blank of a form.
FZ_DEV bool differs(const Frame& f, const HeaderRow& h, const uint8_t* c, const Opened& o) {
  const uint8_t *blank = f.header_bytes(h.blank_at), *mask = f.header_bytes(h.mask_at);
  uint32_t bits = 0, done = 0;
  if (h.varints == 0) {
    done = h.blank & ~3u;
    for (uint32_t i = 4 * threadIdx.x; i < done; i += 4 * blockDim.x)
      bits |= (load<uint32_t>(c + i) ^ load<uint32_t>(blank + i)) & load<uint32_t>(mask + i);
  }
  for (uint32_t i = done + threadIdx.x; i < h.blank; i += blockDim.x) bits |= (c[i + moved(f, h, o, i)] ^ blank[i]) & mask[i];
  return bits != 0;
}

// Sets all metadata to ones, before those of the header are written. A warp per value.
FZ_DEV void blank_facts(const Frame& f) {
  for (uint32_t v = threadIdx.x / 32; v < f.plan().values; v += blockDim.x / 32) {
    const ValueRow& r = f.value(v);
    if (r.kind == KIND_METADATA && r.place == PLACE_ARENA)
      for (uint32_t k = threadIdx.x & 31; k < r.max / 4; k += 32) reinterpret_cast<uint32_t*>(f.bytes_of(v))[k] = ALL;
  }
}
// The address of a segment is this number and its start. Functions of steps for one array of a batch
// load the address as a whole.
FZ_DEV uint64_t segments_from(const Args& a, const Frame& f) { return a.tag == ONE_BY_ONE ? 0 : (uint64_t)f.container; }
FZ_DEV const uint8_t* segment_at(const Args& a, const Frame& f, uint32_t v) { return reinterpret_cast<const uint8_t*>(segments_from(a, f) + *f.start(v)); }
// The start of a segment at an offset in the container.
template <bool BATCHED> FZ_DEV uint64_t start_at(const Args& a, const Frame& f, uint64_t offset) {
  return BATCHED ? (uint64_t)f.container + offset - segments_from(a, f) : offset;
}

// Writes the staged words to the workspace, with the state of the call.
template <bool BATCHED> FZ_DEV void put_words(const Args& a, const Frame& f, const Staged<BATCHED>& staged) {
  const uint64_t words = params<ContainerArgs>(a).words_end / 16;
  for (uint64_t i = threadIdx.x; i < words && f.seen != f.control; i += blockDim.x) reinterpret_cast<uint4*>(f.control)[i] = staged.words[i];
}

// Opens a container of the plan's first form, whose header has a fixed length. False: the container
// has another form.
template <bool BATCHED> FZ_DEV bool open_fixed(const Args& a, const Frame& f, const uint8_t* c, Staged<BATCHED>& staged) {
  if (!staged.holds(f.form(0))) return false;
  const FixedHeader u(f);
  const uint64_t x = load_le(c + u.field.at, u.field.width);
  uint64_t bytes = u.value.max;
  if (u.segment.field != NO_FIELD) {
    const FieldRow& r = f.table<FieldRow>(u.h.fields_at)[u.segment.field];
    bytes = load_le(c + r.at, r.width);
  }
  blank_facts(f);
  // Zeros pad the blank and its mask to multiples of 16 bytes.
  const uint8_t *blank = f.local + u.h.blank_at, *mask = f.local + u.h.mask_at;
  uint32_t other = f.capacity < u.h.blank;
  for (uint32_t i = 4 * threadIdx.x; i < u.h.blank; i += 4 * blockDim.x)
    other |= (load<uint32_t>(c + i) ^ *reinterpret_cast<const uint32_t*>(blank + i)) & *reinterpret_cast<const uint32_t*>(mask + i);  // seed: usual-blank
  if (__syncthreads_or(other != 0)) return false;
  // The first segment with an impossible length decides on the status.
  const bool dynamic = u.value.kind == KIND_DYNAMIC, wrong_length = dynamic ? bytes > u.value.max : bytes != u.value.max;
  if (wrong_length) bytes = 0;
  const uint64_t upto = u.upto(bytes);
  const uint64_t room = f.capacity - u.h.blank;
  const bool behind = params<ContainerArgs>(a).whole && __shfl_sync(ALL, upto, 31) != room;
  uint32_t bad = __ballot_sync(ALL, wrong_length || upto > room);
  if (behind && !bad) bad = 1;
  const int32_t status = __shfl_sync(ALL, wrong_length && dynamic ? f.plan().longer : CORRUPT, bad ? __ffs(bad) - 1 : 0);
  if (threadIdx.x < u.h.segments && !bad) {
    *f.word(u.segment.value) = bytes;
    *f.start(u.segment.value) = start_at<BATCHED>(a, f, u.h.blank + upto - bytes);
  }
  if (threadIdx.x == 31) {
    Call* call = reinterpret_cast<Call*>(f.seen + CALL_AT);
    call->header = u.h.blank;
    call->total = u.h.blank + upto;
  }
  __syncthreads();
  put_words(a, f, staged);
  bool wrong = bad != 0;
  if (u.field.what == FIELD_STORED || u.field.what == FIELD_BOUND)
    wrong |= !set_fact(f, u.field, x, u.field.width) || (u.field.what == FIELD_BOUND && !is_bound(x, u.field.width));  // seed: usual-bound
  const uint64_t counted = u.field.what == FIELD_COUNT ? f.bytes(u.field.index) : 0;
  wrong |= u.number(x, counted, bytes, upto) != x && u.field.width;  // seed: usual-number
  if (__syncthreads_or(wrong) && threadIdx.x == 0) fail(a, bad ? status : CORRUPT);
  return true;
}

// The first block reads the header and sets all words. All blocks clear the zeroed memory of the
// steps.
template <bool BATCHED> FZ_DEV void open_container(const Args& a, OpenRoom<BATCHED>& room) {
  Staged<BATCHED>& staged = room.staged;
  uint4 (&first)[Staged<BATCHED>::HEADER / 16] = room.first;
  Opened& o = room.o;
  uint64_t (&varints)[64] = room.varints;
  Frame f(a);
  wait_prerequisites();
  f.clear_zeroed(a);
  if (blockIdx.x > 0) return;
  f.stage_tables(a, staged);
  for (uint32_t i = threadIdx.x; i < staged.HEADER / 16; i += BATCHED ? blockDim.x : CONTAINER_BLOCK) {
    const uint64_t left = f.capacity > 16 * i ? f.capacity - 16 * i : 0;
    first[i] = left >= 16 ? load16(f.container + 16 * i) : load_part(f.container + 16 * i, (uint32_t)left);
  }
  f.stage(a, staged, true);
  if (f.staged && f.plan().fixed_header && open_fixed(a, f, reinterpret_cast<const uint8_t*>(first), staged)) return;
  const PlanTables& plan = f.plan();
  const HeaderRow* h = nullptr;
  const uint8_t* c = nullptr;
  uint32_t form = 0;
  for (; form < plan.headers && !h; form++) {
    const HeaderRow& r = f.form(form);
    c = r.blank + 10 * r.varints <= staged.HEADER ? reinterpret_cast<const uint8_t*>(first) : f.container;
    if (threadIdx.x == 0) o.status = read_varints(f, r, c, o, varints) ? OK : CORRUPT;
    __syncthreads();
    if (!__syncthreads_or(o.status != OK || differs(f, r, c, o))) h = &r;
  }
  if (!h) {
    uint8_t* control = f.control;
    Frame::clear(control, params<ContainerArgs>(a).words_end, threadIdx.x, blockDim.x);
    __syncthreads();
    if (threadIdx.x == 0) {
      const bool known = f.capacity >= 4 && load<uint32_t>(first) == load<uint32_t>(f.header_bytes(f.form(0).blank_at));
      fail(a, known ? PLAN_MISMATCH : NOT_A_CONTAINER);
    }
    return;
  }
  const FieldRow* fields = f.table<FieldRow>(h->fields_at);
  const FieldRow* rows = f.table<FieldRow>(h->varints_at);
  const SegmentRow* segments = f.table<SegmentRow>(h->segments_at);
  auto field = [&](uint32_t i) {
    if (i & VARINT) return varints[i & ~VARINT];
    return load_le(c + fields[i].at + moved(f, *h, o, fields[i].at), fields[i].width);
  };
  blank_facts(f);
  __syncthreads();
  // One thread sets the lengths, which are few. Meanwhile other warps write the metadata.
  int wrong = 0;
  if (threadIdx.x >= 32) {
    const uint32_t others = blockDim.x - 32, first = threadIdx.x % 32 * (others / 32) + threadIdx.x / 32 - 1;  // seed: facts-of-warps
    for (uint32_t i = first; i < h->fields; i += others) {
      const FieldRow& r = fields[i];
      if (r.what != FIELD_STORED && r.what != FIELD_BOUND) continue;
      const uint64_t x = field(i);
      wrong |= !set_fact(f, r, x, r.width) || (r.what == FIELD_BOUND && !is_bound(x, r.width));  // seed: any-bound
    }
    for (uint32_t i = first; i < h->varints; i += others)
      if (rows[i].what == FIELD_STORED) wrong |= !set_fact(f, rows[i], varints[i], 8);
  } else if (threadIdx.x == 0) {
    int32_t status = OK;
    uint64_t at = o.header;
    for (uint32_t i = 0; i < h->segments && status == OK; i++) {
      const SegmentRow& s = segments[i];
      uint64_t n = 4;
      if (!s.unit) {
        n = s.field == NO_FIELD ? f.value(s.value).max : field(s.field);
        if (!h->stored) status = set_length(f, s.value, n);
        else if (n != f.array_bytes) status = CORRUPT;
        if (status == OK && !h->stored) *f.start(s.value) = start_at<BATCHED>(a, f, at);
      }
      if (status == OK && n > f.capacity - at) status = CORRUPT;
      at += n;
    }
    if (status == OK && params<ContainerArgs>(a).whole && at != f.capacity) status = CORRUPT;  // seed: open-whole
    o.payload = at - o.header;
    const RuleRow* rules = f.table<RuleRow>(plan.rules_at);
    for (uint32_t i = 0; i < plan.rules && status == OK && !h->stored; i++) {
      const RuleRow& r = rules[i];
      const uint64_t n = r.field == NO_FIELD ? f.bytes(r.output) : field(r.field) * r.unit;
      // A segment, or another reader of the same edge, has set a word that is not zero.
      const uint64_t known = *f.word(r.input);
      status = set_length(f, r.input, n);
      if (status == OK && known != 0 && known != n) status = CORRUPT;
    }
    o.status = status;
  }
  __syncthreads();
  // These stores overlap with the checks below.
  put_words(a, f, staged);
  // All other fields must agree with the lengths.
  if (o.status != OK) wrong = 1;
  else {
    for (uint32_t i = first_field(); i < h->fields; i += blockDim.x) {
      const FieldRow& r = fields[i];
      if (r.what == FIELD_REPEATED || r.what == FIELD_STORED || r.what == FIELD_BOUND) continue;
      if (h->stored) wrong |= field(i) != (r.what == FIELD_SEGMENT_OFFSET ? 0 : f.array_bytes);  // seed: stored-offset
      else wrong |= field(i) != Layout::number(f, *h, r, o.payload);
    }
    // Numbers in segments must agree with the metadata.
    uint64_t at = o.header;
    for (uint32_t i = 0; i < h->segments && threadIdx.x == 0; i++) {
      if (segments[i].unit) wrong |= load<uint32_t>(f.container + at) != f.number(segments[i]);
      at += f.segment_bytes(segments[i]);
    }
  }
  wrong = __syncthreads_or(wrong);
  if (threadIdx.x != 0) return;
  Call* call = f.call();
  call->form = form - 1;
  call->crcs = h->crcs;
  call->header = o.header;
  call->total = o.header + o.payload;
  if (wrong) fail(a, o.status != OK ? o.status : CORRUPT);
  else if (h->stored) fail(a, STORED);
}
}  // namespace fz
