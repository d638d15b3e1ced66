// Heads of containers on the device: what src/format/template.rs does on the host, from tables that the host made of
// the same templates.
#pragma once
#include "units.cuh"

namespace fz {
// What blocks of the border functions share through the workspace; zero when a call starts.
struct Call {
  unsigned long long head, total;
  unsigned int form;  // index of the form of the container
  unsigned int crcs;  // checksums that it has
  unsigned int ticket, crc_ticket, sum_ticket, crc_payload;
};
// The caller's result, `fz_result` in C.
struct Result { uint64_t bytes, needed; int32_t status; uint32_t stage; };

// Tables and words in shared memory.
static_assert(STAGED_WORDS == 16 * BORDER_THREADS && STAGED_HEAD == 16 * BORDER_THREADS, "a piece for each thread");
struct Staged {
  uint4 tables[STAGED_TABLES / 16], words[STAGED_WORDS / 16];
};

// Operands of the border functions.
struct Frame {
  const uint8_t *tables, *image;  // all of them, and those that are staged
  uint32_t staged;
  uint8_t* seen;  // the words as they are read, and here also written: they themselves, or a copy in shared memory
  uint8_t *control, *arena, *array, *container;
  uint64_t array_bytes, capacity;

  FZ_DEV explicit Frame(const Args& a)
      : tables(address(a.operands[2])), image(tables), staged(0), seen(address(a.operands[3])), control(seen), arena(address(a.operands[4])), array(address(a.operands[0])),
        container(address(a.operands[1])), array_bytes(a.operands[0].max), capacity(a.operands[1].max) {}

  // The block takes the tables into shared memory, all of them at once, so that rows which lead to each other cost little. They
  // belong to the plan and do not wait for earlier launches. stage() has to follow.
  FZ_DEV void stage_tables(const Args& a, Staged& s) {
    constexpr int EACH = STAGED_TABLES / 16 / BORDER_THREADS;
    const uint32_t rows = (uint32_t)a.operands[2].max / 16, i = threadIdx.x;
    uint4 t[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      const uint32_t at = i + k * BORDER_THREADS;
      t[k] = at < rows ? reinterpret_cast<const uint4*>(tables)[at] : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) s.tables[i + k * BORDER_THREADS] = t[k];
    if (rows) { image = reinterpret_cast<const uint8_t*>(s.tables); staged = 16 * rows; }
  }
  // The same with the words, or zeros for them. What is too long stays where it is. Behind it stands a barrier.
  FZ_DEV void stage(const Args& a, Staged& s, bool zeros) {
    const uint32_t i = threadIdx.x;
    const uint64_t words = params<Border>(a).words_end / 16;
    const bool short_words = words <= STAGED_WORDS / 16;
    if (short_words) s.words[i] = !zeros && i < words ? reinterpret_cast<const uint4*>(control)[i] : make_uint4(0, 0, 0, 0);
    if (short_words) seen = reinterpret_cast<uint8_t*>(s.words);
    else if (zeros) clear(control, words * 16, i, BORDER_THREADS);
    __syncthreads();
  }
  // Whether an earlier launch of the call has failed, as the words that are staged have it.
  FZ_DEV bool failed() const { return reinterpret_cast<const Status*>(seen + STATUS_AT)->failed != 0; }
  // Zeros in place of memory that has to be zero when a call starts, aligned to 16.
  static FZ_DEV void clear(uint8_t* p, uint64_t bytes, uint64_t first, uint64_t threads) {
    for (uint64_t i = first; i < bytes / 16; i += threads) reinterpret_cast<uint4*>(p)[i] = make_uint4(0, 0, 0, 0);
  }
  // That of the steps, by all threads of the grid.
  FZ_DEV void clear_zeroed(const Args& a) const {
    const uint64_t from = params<Border>(a).words_end;
    clear(control + from, a.operands[3].max - from, (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, (uint64_t)gridDim.x * blockDim.x);
  }

  FZ_DEV const Image& head() const { return *reinterpret_cast<const Image*>(image); }
  template <class T> FZ_DEV const T* table(uint32_t at) const { return reinterpret_cast<const T*>(image + at); }
  // Of the bytes of heads only some are staged.
  FZ_DEV const uint8_t* said(uint32_t at) const { return (at < staged ? image : tables) + at; }
  FZ_DEV const HeadRow& form(uint32_t i) const { return table<HeadRow>(head().heads_at)[i]; }
  FZ_DEV const ValueRow& value(uint32_t i) const { return table<ValueRow>(head().values_at)[i]; }
  FZ_DEV Call* call() const { return reinterpret_cast<Call*>(control + CALL_AT); }
  FZ_DEV uint64_t* word(uint32_t v) const { return reinterpret_cast<uint64_t*>(seen + WORDS_AT) + value(v).word; }
  FZ_DEV uint64_t* start(uint32_t v) const { return word(v) + head().values; }
  FZ_DEV uint64_t bytes(uint32_t v) const { return value(v).kind == KIND_DYNAMIC ? *word(v) : value(v).max; }
  // Not for values in the container.
  FZ_DEV uint8_t* bytes_of(uint32_t v) const {
    const ValueRow& r = value(v);
    return r.place == PLACE_ARENA ? arena + r.offset : array;
  }
  // A number that stands in place of a value.
  FZ_DEV uint32_t number(const SegmentRow& s) const {
    return s.unit == FACT ? load<uint32_t>(bytes_of(s.value) + s.at) : (uint32_t)(bytes(s.value) / s.unit);
  }
  FZ_DEV uint64_t segment_bytes(const SegmentRow& s) const { return s.unit ? 4 : bytes(s.value); }
};

// Of fields, which differ in what has to be done for them, neighbours are dealt with by different warps: the first one of a thread.
FZ_DEV uint32_t first_field() { return threadIdx.x % 32 * (blockDim.x / 32) + threadIdx.x / 32; }

// Whether a field holds bytes of a fact.
FZ_DEV bool is_stored(const FieldRow& r) { return r.what == FIELD_STORED || r.what == FIELD_BOUND || r.what == FIELD_REPEATED; }

// A number of at most eight bytes.
FZ_DEV uint64_t load_le(const uint8_t* p, uint32_t width) {
  uint8_t b[8];
#pragma unroll
  for (uint32_t k = 0; k < 8; k++) b[k] = k < width ? p[k] : 0;
  uint64_t x;
  memcpy(&x, b, 8);
  return x;
}

FZ_DEV uint32_t varint_bytes(uint64_t x) {
  uint32_t n = 1;
  while (x >>= 7) n++;
  return n;
}

// How a form of container comes out of the lengths of a call.
struct Layout {
  uint64_t head, payload;

  FZ_DEV Layout() : head(0), payload(0) {}
  FZ_DEV Layout(const Frame& f, const HeadRow& h) : head(h.blank), payload(0) {
    const SegmentRow* s = f.table<SegmentRow>(h.segments_at);
    const FieldRow* v = f.table<FieldRow>(h.varints_at);
    for (uint32_t i = 0; i < h.segments; i++) payload += f.segment_bytes(s[i]);
    for (uint32_t i = 0; i < h.varints; i++) head += varint_bytes(number(f, h, v[i]));
  }

  // The number that stands in a field. `payload` is only needed by the field of that name.
  FZ_DEV static uint64_t number(const Frame& f, const HeadRow& h, const FieldRow& r, uint64_t payload = 0) {
    const SegmentRow* s = f.table<SegmentRow>(h.segments_at);
    switch (r.what) {
      // Of a varint: others are copied as they are.
      case FIELD_STORED: return load<uint64_t>(f.bytes_of(r.index) + r.detail);
      case FIELD_COUNT: return f.bytes(r.index) / r.detail;
      case FIELD_SEGMENT_BYTES: return f.segment_bytes(s[r.index]);
      case FIELD_SEGMENT_OFFSET: {
        uint64_t at = 0;
        for (uint32_t i = 0; i < r.index; i++) at += f.segment_bytes(s[i]);
        return at;
      }
      case FIELD_PAYLOAD_BYTES: return payload;
      default: return 0;
    }
  }
};

// Bytes that the varints before offset `at` of the blank take up.
FZ_DEV uint64_t shift(const Frame& f, const HeadRow& h, uint32_t at) {
  const FieldRow* v = f.table<FieldRow>(h.varints_at);
  uint64_t n = 0;
  for (uint32_t i = 0; i < h.varints && v[i].at <= at; i++) n += varint_bytes(Layout::number(f, h, v[i]));
  return n;
}

// Copies by all threads of the grid.
FZ_DEV void copy(uint8_t* dst, const uint8_t* src, uint64_t n) {
  const uint64_t first = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, threads = (uint64_t)gridDim.x * blockDim.x;
  if (((uintptr_t)dst & 15) == ((uintptr_t)src & 15)) {
    uint64_t lead = (16 - ((uintptr_t)dst & 15)) & 15;
    if (lead > n) lead = n;
    const uint64_t words = (n - lead) / 16, done = lead + words * 16;
    if (first < lead) dst[first] = src[first];
    for (uint64_t i = first; i < words; i += threads) reinterpret_cast<uint4*>(dst + lead)[i] = reinterpret_cast<const uint4*>(src + lead)[i];
    if (first < n - done) dst[done + first] = src[done + first];
    return;
  }
  // Four bytes of the destination at a time, out of aligned words of the source; its two ends byte by byte.
  uint64_t lead = (4 - ((uintptr_t)dst & 3)) & 3;
  if (lead > n) lead = n;
  const uint64_t words = n - lead >= 8 ? (n - lead - 4) / 4 : 0, done = lead + words * 4;
  const uint32_t phase = ((uintptr_t)(src + lead) & 3) * 8;
  const uint32_t* from = reinterpret_cast<const uint32_t*>((uintptr_t)(src + lead) & ~(uintptr_t)3);
  if (first < lead) dst[first] = src[first];
  for (uint64_t i = first; i < words; i += threads) {
    // The first word may begin before the source: it is in the same aligned word, so it can be read.
    const uint32_t x = phase ? __funnelshift_r(from[i], from[i + 1], phase) : from[i];
    reinterpret_cast<uint32_t*>(dst + lead)[i] = x;
  }
  for (uint64_t i = done + first; i < n; i += threads) dst[i] = src[i];
}

// The last block of the grid that comes here gets true, in all threads; it sees what the others wrote before, if they say that
// they did. Fences cost as much as memory does.
FZ_DEV bool last_block(unsigned int* ticket, bool wrote) {
  __syncthreads();
  if (gridDim.x == 1) return true;
  int last = 0;
  if (threadIdx.x == 0) {
    // For the whole block: what it wrote stands before the barrier, what it reads behind the next one.
    if (wrote) __threadfence();
    last = atomicAdd(ticket, 1u) == gridDim.x - 1;
    if (wrote) __threadfence();
  }
  return __syncthreads_or(last) != 0;
}

// The end of a call, by one thread. Nobody reads the result before the stream has passed, so nothing orders its parts.
FZ_DEV void report(const Args& a, uint64_t bytes, bool failed) {
  const uint64_t to = params<Border>(a).result;
  if (!to) return;
  Result r = {bytes, 0, OK, 0};
  if (failed) {
    const volatile Status* s = status_of(a);
    r = {0, s->needed, (int32_t)(uint32_t)s->failed, s->stage};
  }
  volatile Result* out = reinterpret_cast<volatile Result*>(to);
  out->bytes = r.bytes; out->needed = r.needed; out->stage = r.stage; out->status = r.status;
}
FZ_DEV bool has_failed(const Args& a) { return *reinterpret_cast<const volatile unsigned long long*>(&status_of(a)->failed) != 0; }
}  // namespace fz
