// From a container to lengths, segments and facts. Whatever the bytes are, no later function gets a length that does not
// fit its value, or a segment that leaves the container.
#include "container.cuh"

namespace fz {
struct Opened {
  uint64_t lengths[64];  // of varints
  uint64_t head, payload;
  int32_t status;
};

FZ_DEV uint64_t little_endian(const uint8_t* p, uint32_t width) {
  uint64_t x = 0;
  for (uint32_t k = 0; k < width && k < 8; k++) x |= (uint64_t)p[k] << 8 * k;
  return x;
}

// Reads the varints of a head in their shortest form; by one thread. Their places follow from each other.
FZ_DEV bool read_varints(const Frame& f, const HeadRow& h, Opened& o, uint64_t (&values)[64]) {
  const FieldRow* rows = f.table<FieldRow>(h.varints_at);
  uint64_t moved = 0;
  if (h.varints > 64) return false;
  for (uint32_t i = 0; i < h.varints; i++) {
    uint64_t x = 0, at = rows[i].at + moved;
    uint32_t n = 0;
    for (;; n++) {
      if (n == 10 || at + n >= f.capacity) return false;
      const uint8_t b = f.container[at + n];
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
  o.head = h.blank + moved;
  return o.head <= f.capacity;
}

FZ_DEV uint64_t moved(const Frame& f, const HeadRow& h, const Opened& o, uint32_t at) {
  const FieldRow* v = f.table<FieldRow>(h.varints_at);
  uint64_t n = 0;
  for (uint32_t i = 0; i < h.varints && v[i].at <= at; i++) n += o.lengths[i];
  return n;
}

// Sets the length of a value, if it may have it; returns a status.
FZ_DEV int32_t set_length(const Frame& f, uint32_t v, uint64_t bytes) {
  const ValueRow& r = f.value(v);
  if (r.kind == KIND_DYNAMIC && bytes > r.max) return f.head().longer;
  if (r.kind != KIND_DYNAMIC && bytes != r.max) return CORRUPT;
  *f.word(v) = bytes;
  return OK;
}

// Puts a fact where kernels look for it. No bound and no count has eight bytes of ones, which would say that the head
// does not tell.
FZ_DEV bool set_fact(const Frame& f, const FieldRow& r, const uint8_t* from, uint32_t width) {
  if (f.value(r.index).place != PLACE_ARENA) return true;
  uint8_t* to = f.bytes_of(r.index) + r.detail;
  for (uint32_t k = 0; k < width; k++) to[k] = from[k];
  return width < 8 || little_endian(from, width) != ~0ull;
}
}  // namespace fz

// One block. Operands as for all border functions.
extern "C" __global__ void __launch_bounds__(256) fz_open(FZ_ARGS) {
  using namespace fz;
  __shared__ Opened o;
  __shared__ uint64_t varints[64];
  const Frame f(a);
  const Image& image = f.head();
  const HeadRow* h = nullptr;
  for (uint32_t form = 0; form < image.heads && !h; form++) {
    const HeadRow& r = f.form(form);
    if (threadIdx.x == 0) o.status = read_varints(f, r, o, varints) ? OK : CORRUPT;
    __syncthreads();
    int other = o.status != OK;
    if (!other) {
      for (uint32_t i = threadIdx.x; i < r.blank; i += blockDim.x) {
        const uint8_t x = f.container[i + moved(f, r, o, i)];
        if ((x ^ f.image[r.blank_at + i]) & f.image[r.mask_at + i]) other = 1;
      }
    }
    if (!__syncthreads_or(other)) {
      h = &r;
      if (threadIdx.x == 0) f.call()->form = form;
    }
  }
  if (!h) {
    if (threadIdx.x == 0) {
      const uint8_t* magic = f.image + f.form(0).blank_at;
      bool known = f.capacity >= 4;
      for (int i = 0; i < 4 && known; i++) known = f.container[i] == magic[i];
      fail(a, known ? PLAN_MISMATCH : NOT_A_CONTAINER);
    }
    return;
  }
  const FieldRow* fields = f.table<FieldRow>(h->fields_at);
  const FieldRow* rows = f.table<FieldRow>(h->varints_at);
  const SegmentRow* segments = f.table<SegmentRow>(h->segments_at);
  auto field = [&](uint32_t i) {
    if (i & VARINT) return varints[i & ~VARINT];
    return little_endian(f.container + fields[i].at + moved(f, *h, o, fields[i].at), fields[i].width);
  };
  // Lengths, by one thread: there are a handful.
  if (threadIdx.x == 0) {
    int32_t status = OK;
    uint64_t at = o.head;
    for (uint32_t i = 0; i < h->segments && status == OK; i++) {
      const SegmentRow& s = segments[i];
      uint64_t n = 4;
      if (!s.unit) {
        n = s.field == NO_FIELD ? f.value(s.value).max : field(s.field);
        if (!h->stored) status = set_length(f, s.value, n);
        else if (n != f.array_bytes) status = CORRUPT;
        if (status == OK && !h->stored) *f.start(s.value) = at;
      }
      if (status == OK && n > f.capacity - at) status = CORRUPT;
      at += n;
    }
    o.payload = at - o.head;
    const RuleRow* rules = f.table<RuleRow>(image.rules_at);
    for (uint32_t i = 0; i < image.rules && status == OK && !h->stored; i++) {
      const RuleRow& r = rules[i];
      const uint64_t n = r.field == NO_FIELD ? f.bytes(r.output) : field(r.field) * r.unit;
      // A word that is not zero was set by a segment or another reader of the same edge.
      const uint64_t known = *f.word(r.input);
      status = set_length(f, r.input, n);
      if (status == OK && known != 0 && known != n) status = CORRUPT;
    }
    f.call()->head = o.head;
    f.call()->total = at;
    o.status = status;
  }
  __syncthreads();
  // Facts that the head does not say are all ones.
  for (uint32_t v = 0; v < image.values; v++) {
    const ValueRow& r = f.value(v);
    if (r.kind == KIND_FACTS && r.place == PLACE_ARENA)
      for (uint32_t k = threadIdx.x; k < r.max; k += blockDim.x) f.bytes_of(v)[k] = 0xff;
  }
  __syncthreads();
  // What else the head says has to agree with the lengths; facts are taken as they are.
  int wrong = o.status != OK;
  if (!wrong) {
    for (uint32_t i = threadIdx.x; i < h->fields; i += blockDim.x) {
      const FieldRow& r = fields[i];
      if (r.what == FIELD_STORED) {
        const uint8_t* from = f.container + r.at + moved(f, *h, o, r.at);
        wrong |= !set_fact(f, r, from, r.width);
      } else if (h->stored) {
        wrong |= r.what != FIELD_SEGMENT_OFFSET && field(i) != f.array_bytes;
      } else {
        wrong |= field(i) != Layout::number(f, *h, r, o.payload);
      }
    }
    for (uint32_t i = threadIdx.x; i < h->varints; i += blockDim.x)
      if (rows[i].what == FIELD_STORED) wrong |= !set_fact(f, rows[i], reinterpret_cast<const uint8_t*>(varints + i), 8);
    // Numbers of segments are compared with facts.
    __syncthreads();
    uint64_t at = o.head;
    for (uint32_t i = 0; i < h->segments && threadIdx.x == 0; i++) {
      if (segments[i].unit) wrong |= load<uint32_t>(f.container + at) != f.number(segments[i]);
      at += f.segment_bytes(segments[i]);
    }
  }
  if (__syncthreads_or(wrong)) {
    if (threadIdx.x == 0) fail(a, o.status != OK ? o.status : CORRUPT);
  } else if (h->stored && threadIdx.x == 0) {
    fail(a, STORED);
  }
}

// Segments that a step changes in place, or that another value shares, are copied out of the container.
extern "C" __global__ void __launch_bounds__(256) fz_load(FZ_ARGS) {
  using namespace fz;
  if (dead(a)) return;
  const Frame f(a);
  const HeadRow& h = f.form(0);
  const SegmentRow* s = f.table<SegmentRow>(h.segments_at);
  for (uint32_t i = 0; i < h.segments; i++)
    if (!s[i].unit && f.value(s[i].value).place == PLACE_ARENA) copy(f.bytes_of(s[i].value), f.container + *f.start(s[i].value), f.bytes(s[i].value));
}

// The end of a decompression: what was stored as it is, and the result.
extern "C" __global__ void __launch_bounds__(256) fz_close(FZ_ARGS) {
  using namespace fz;
  const Frame f(a);
  const Border& p = params<Border>(a);
  Status* status = status_of(a);
  const unsigned long long failed = *reinterpret_cast<volatile unsigned long long*>(&status->failed);
  const bool stored = (int32_t)(uint32_t)failed == STORED;
  if (stored) {
    copy(f.array, f.container + f.call()->head, f.array_bytes);
  } else if (!failed) {
    const HeadRow& h = f.form(0);
    const SegmentRow* s = f.table<SegmentRow>(h.segments_at);
    for (uint32_t i = 0; i < h.segments; i++)
      if (!s[i].unit && f.value(s[i].value).place == PLACE_ARRAY) copy(f.array, f.container + *f.start(s[i].value), f.array_bytes);
  }
  if (last_block(&f.call()->ticket) && threadIdx.x == 0) {
    if (stored) status->failed = 0;
    report(a, p.array_bytes);
  }
}
