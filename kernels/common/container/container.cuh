// Container headers on the device: src/format/template.rs on the host, from tables that the host
// builds from the same templates.
#pragma once
#include "common/batch.cuh"
#include "common/copy.cuh"
#include "common/units.cuh"

namespace fz {
// State that the container kernels share through the workspace; zero when a call starts.
struct Call {
  unsigned long long header, total;  // bytes of the header and of the container
  unsigned int form;  // index of the form of the container
  unsigned int crcs;  // number of its checksums
  unsigned int ticket, crc_ticket, sum_ticket, crc_payload;
};
static_assert(CALL_AT + sizeof(Call) <= WORDS_AT, "the words follow");
static_assert(STATUS_AT + sizeof(Status) <= CALL_AT, "the state of the call follows");

// Tables and words in shared memory.
static_assert(STAGED_WORDS == 16 * CONTAINER_BLOCK && STAGED_HEADER == 16 * CONTAINER_BLOCK, "a piece for each thread");
// BATCHED: less memory, so that a multiprocessor processes more arrays at a time, and any number of
// threads. Tables, words, and headers that do not fit are read from global memory.
template <bool BATCHED> struct Staged {
  static constexpr uint32_t TABLES = BATCHED ? 6144 : STAGED_TABLES, WORDS = BATCHED ? 1024 : STAGED_WORDS, HEADER = BATCHED ? 1024 : STAGED_HEADER;
  uint4 tables[TABLES / 16], words[WORDS / 16];
  // True if a header of fixed length has a thread for each field, and fits.
  static FZ_DEV bool holds(const HeaderRow& h) { return !BATCHED || (h.fields <= blockDim.x && h.blank <= HEADER); }
};

// Operands of the container kernels.
struct Frame {
  const uint8_t *tables, *local;  // all tables, and those that are staged
  uint32_t staged;
  uint8_t* seen;  // status, state, and words: those of the workspace, or a copy in shared memory
  uint8_t *control, *arena, *array, *container;
  uint64_t array_bytes, capacity;

  FZ_DEV explicit Frame(const Args& a)
      : tables(address(a.operands[2])), local(tables), staged(0), seen(address(a.operands[3])), control(seen), arena(address(a.operands[4])), array(address(a.operands[0])),
        container(address(a.operands[1])), array_bytes(a.operands[0].max), capacity(a.operands[1].max) {}

  // Copies the tables to shared memory, so that chains of rows cost little. They belong to the plan
  // and do not wait for earlier launches. A call of stage() must follow.
  template <bool BATCHED> FZ_DEV void stage_tables(const Args& a, Staged<BATCHED>& s) {
    constexpr int EACH = STAGED_TABLES / 16 / CONTAINER_BLOCK;
    const uint32_t rows = (uint32_t)a.operands[2].max / 16, threads = BATCHED ? blockDim.x : CONTAINER_BLOCK;
    if (BATCHED && 16 * rows > s.TABLES) return;
    for (uint32_t from = threadIdx.x; from < (BATCHED ? rows : CONTAINER_BLOCK); from += EACH * threads) {
      uint4 t[EACH];
#pragma unroll
      for (int k = 0; k < EACH; k++) {
        const uint32_t at = from + k * threads;
        t[k] = at < rows ? reinterpret_cast<const uint4*>(tables)[at] : make_uint4(0, 0, 0, 0);
      }
#pragma unroll
      for (int k = 0; k < EACH; k++)
        if (!BATCHED || from + k * threads < rows) s.tables[from + k * threads] = t[k];
    }
    if (rows) { local = reinterpret_cast<const uint8_t*>(s.tables); staged = 16 * rows; }
  }
  // Copies the words to shared memory, or zeros with `zeros`. Words that do not fit stay in the
  // workspace. Ends with a barrier.
  template <bool BATCHED> FZ_DEV void stage(const Args& a, Staged<BATCHED>& s, bool zeros) {
    const uint32_t threads = BATCHED ? blockDim.x : CONTAINER_BLOCK;
    const uint64_t words = params<ContainerArgs>(a).words_end / 16;
    const bool short_words = words <= s.WORDS / 16;
    if (short_words) {
      for (uint32_t i = threadIdx.x; i < s.WORDS / 16; i += threads) s.words[i] = !zeros && i < words ? reinterpret_cast<const uint4*>(control)[i] : make_uint4(0, 0, 0, 0);
      seen = reinterpret_cast<uint8_t*>(s.words);
    } else if (zeros) clear(control, words * 16, threadIdx.x, threads);
    __syncthreads();
  }
  // True if an earlier launch of the call has failed, by the staged words.
  FZ_DEV bool failed() const { return reinterpret_cast<const Status*>(seen + STATUS_AT)->failed != 0; }
  // Clears memory that is zero when a call starts. It is aligned to 16 bytes.
  static FZ_DEV void clear(uint8_t* p, uint64_t bytes, uint64_t first, uint64_t threads) {
    for (uint64_t i = first; i < bytes / 16; i += threads) reinterpret_cast<uint4*>(p)[i] = make_uint4(0, 0, 0, 0);
  }
  // Clears the zeroed memory of all steps, by all threads of the grid.
  FZ_DEV void clear_zeroed(const Args& a) const {
    const uint64_t from = params<ContainerArgs>(a).words_end;
    clear(control + from, a.operands[3].max - from, (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, (uint64_t)gridDim.x * blockDim.x);
  }

  FZ_DEV const PlanTables& plan() const { return *reinterpret_cast<const PlanTables*>(local); }
  template <class T> FZ_DEV const T* table(uint32_t at) const { return reinterpret_cast<const T*>(local + at); }
  // Bytes of a header, not all of which are staged.
  FZ_DEV const uint8_t* header_bytes(uint32_t at) const { return (at < staged ? local : tables) + at; }
  FZ_DEV const HeaderRow& form(uint32_t i) const { return table<HeaderRow>(plan().headers_at)[i]; }
  FZ_DEV const ValueRow& value(uint32_t i) const { return table<ValueRow>(plan().values_at)[i]; }
  FZ_DEV Call* call() const { return reinterpret_cast<Call*>(control + CALL_AT); }
  FZ_DEV uint64_t* word(uint32_t v) const { return reinterpret_cast<uint64_t*>(seen + WORDS_AT) + value(v).word; }
  FZ_DEV uint64_t* start(uint32_t v) const { return word(v) + plan().values; }
  FZ_DEV uint64_t bytes(uint32_t v) const { return value(v).kind == KIND_DYNAMIC ? *word(v) : value(v).max; }
  // Address of a value outside the container.
  FZ_DEV uint8_t* bytes_of(uint32_t v) const {
    const ValueRow& r = value(v);
    return r.place == PLACE_ARENA ? arena + r.offset : array;
  }
  // The number that a segment holds in place of its value.
  FZ_DEV uint32_t number(const SegmentRow& s) const {
    return s.unit == METADATA ? load<uint32_t>(bytes_of(s.value) + s.at) : (uint32_t)(bytes(s.value) / s.unit);
  }
  FZ_DEV uint64_t segment_bytes(const SegmentRow& s) const { return s.unit ? 4 : bytes(s.value); }
};

// The first field of a thread. Neighboring fields belong to different warps, since they differ in
// their work.
FZ_DEV uint32_t first_field() { return threadIdx.x % 32 * (blockDim.x / 32) + threadIdx.x / 32; }

// True if a field holds bytes of a metadata.
FZ_DEV bool is_stored(const FieldRow& r) { return r.what == FIELD_STORED || r.what == FIELD_BOUND || r.what == FIELD_REPEATED; }

// A little-endian number of at most eight bytes.
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

// Lengths of a container of some form in this call.
struct Layout {
  uint64_t header, payload;

  FZ_DEV Layout() : header(0), payload(0) {}
  FZ_DEV Layout(const Frame& f, const HeaderRow& h) : header(h.blank), payload(0) {
    const SegmentRow* s = f.table<SegmentRow>(h.segments_at);
    const FieldRow* v = f.table<FieldRow>(h.varints_at);
    for (uint32_t i = 0; i < h.segments; i++) payload += f.segment_bytes(s[i]);
    for (uint32_t i = 0; i < h.varints; i++) header += varint_bytes(number(f, h, v[i]));
  }

  // The number of a field. Only `FIELD_PAYLOAD_BYTES` uses `payload`.
  FZ_DEV static uint64_t number(const Frame& f, const HeaderRow& h, const FieldRow& r, uint64_t payload = 0) {
    const SegmentRow* s = f.table<SegmentRow>(h.segments_at);
    switch (r.what) {
      // Only varints; other fields are copied byte by byte.
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

// Bytes of the varints before offset `at` of the blank.
FZ_DEV uint64_t shift(const Frame& f, const HeaderRow& h, uint32_t at) {
  const FieldRow* v = f.table<FieldRow>(h.varints_at);
  uint64_t n = 0;
  for (uint32_t i = 0; i < h.varints && v[i].at <= at; i++) n += varint_bytes(Layout::number(f, h, v[i]));
  return n;
}

// True in all threads of the block that arrives last. It sees the writes of the other blocks if
// `wrote` is set in them. A fence costs as much as an access to memory.
FZ_DEV bool last_block(unsigned int* ticket, bool wrote) {
  __syncthreads();
  if (gridDim.x == 1) return true;
  int last = 0;
  if (threadIdx.x == 0) {
    // For the whole block: its writes are before the barrier above, its reads behind the next one.
    if (wrote) __threadfence();
    last = atomicAdd(ticket, 1u) == gridDim.x - 1;
    if (wrote) __threadfence();
  }
  return __syncthreads_or(last) != 0;
}

// Writes the result of the call, by one thread.
FZ_DEV void report(const Args& a, uint64_t bytes, bool failed) {
  const uint64_t to = params<ContainerArgs>(a).result;
  if (!to) return;
  Result r = {bytes, 0, OK, 0};
  if (failed) {
    const volatile Status* s = status_of(a);
    r = {0, s->needed, (int32_t)(uint32_t)s->failed, s->stage};
  }
  write_result(to, r);
}
FZ_DEV bool has_failed(const Args& a) { return *reinterpret_cast<const volatile unsigned long long*>(&status_of(a)->failed) != 0; }
}  // namespace fz
