// Device memory is memory of the process, each allocation by itself, so that AddressSanitizer
// detects its end. It is filled with 0xcd at first, so that reads of uninitialized memory show, and
// with 0xdd at the end.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <map>

#include "driver.h"
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

using namespace fzemu;

namespace fzemu {
namespace {
std::map<Address, Block>& blocks() {
  static std::map<Address, Block> live;
  return live;
}

void* pointer(Address a) { return reinterpret_cast<void*>(a); }
Address address(const void* p) { return reinterpret_cast<Address>(p); }

Address fresh(size_t bytes) {
  // As aligned as the driver does it.
  void* p = nullptr;
  return posix_memalign(&p, 256, bytes) ? 0 : address(p);
}

Result allocate(Address* out, size_t bytes, Kind kind) {
  if (!out || bytes == 0) return INVALID_VALUE;
  if (!current_context()) return INVALID_CONTEXT;
  count("alloc");
  const Address a = fresh(bytes);
  if (!a) return OUT_OF_MEMORY;
  memset(pointer(a), 0xcd, bytes);
  blocks()[a] = Block{a, bytes, kind, kind == Kind::pooled ? nullptr : current_context()};
  *out = a;
  return SUCCESS;
}

// Of one kind out of two, by its start.
Result release(Address a, Kind kind, Kind or_kind) {
  auto found = blocks().find(a);
  if (found == blocks().end() || (found->second.kind != kind && found->second.kind != or_kind)) return INVALID_VALUE;
  memset(pointer(a), 0xdd, found->second.bytes);
  blocks().erase(found);
  free(pointer(a));
  return SUCCESS;
}

bool on_device(Address a) {
  const Block* block = block_at(a);
  return block && block->on_device();
}
}  // namespace

const Block* block_at(Address a) {
  auto after = blocks().upper_bound(a);
  if (after == blocks().begin()) return nullptr;
  const Block& block = std::prev(after)->second;
  return a - block.start < block.bytes ? &block : nullptr;
}

void forget(const Context* context) {
  Lock lock(driver());
  finish_all();
  for (auto block = blocks().begin(); block != blocks().end();) {
    const bool gone = block->second.context == context && block->second.on_device();
    if (gone) free(pointer(block->second.start));
    block = gone ? blocks().erase(block) : std::next(block);
  }
}

void check_device(Address a, size_t bytes, const char* operation) {
  const Block* block = bytes ? block_at(a) : nullptr;
  if (bytes == 0 || (block && block->on_device() && bytes <= block->bytes - (a - block->start))) return;
  fprintf(stderr, "\nfzemu: %s: %zu bytes at %#llx are not within one live allocation of the device\n", operation, bytes, (unsigned long long)a);
  abort();
}

GraphMemory::GraphMemory(size_t n) : start(fresh(n)), bytes(n) {}
GraphMemory::~GraphMemory() {
  Lock lock(driver());
  blocks().erase(start);
  free(pointer(start));
}
void GraphMemory::allocate() {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(pointer(start), bytes);
#endif
  memset(pointer(start), 0xcd, bytes);
  blocks()[start] = Block{start, bytes, Kind::pooled, nullptr};
}
void GraphMemory::release() {
  memset(pointer(start), 0xdd, bytes);
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(pointer(start), bytes);
#endif
  blocks().erase(start);
}
}  // namespace fzemu

// The number of live allocations: of the device, pinned, managed.
extern "C" __attribute__((visibility("default"))) int fzemu_live_allocations() {
  Lock lock(driver());
  return int(blocks().size());
}

// ---- allocation

API cuMemAlloc_v2(Address* out, size_t bytes) {
  CALLED;
  SYNCHRONIZES;
  return allocate(out, bytes, Kind::device);
}
API cuMemAllocManaged(Address* out, size_t bytes, unsigned) {
  CALLED;
  SYNCHRONIZES;
  return allocate(out, bytes, Kind::managed);
}
API cuMemFree_v2(Address a) {
  CALLED;
  SYNCHRONIZES;
  if (!a) return SUCCESS;
  count("free");
  finish_all();
  // Memory of a pool may be freed this way too.
  if (Result r = release(a, Kind::device, Kind::managed)) return release(a, Kind::pooled, Kind::pooled) ? r : SUCCESS;
  return SUCCESS;
}
API cuMemHostAlloc(void** out, size_t bytes, unsigned) {
  CALLED;
  SYNCHRONIZES;
  return allocate(reinterpret_cast<Address*>(out), bytes, Kind::pinned);
}
API cuMemAllocHost_v2(void** out, size_t bytes) { return cuMemHostAlloc(out, bytes, 0); }
API cuMemFreeHost(void* p) {
  CALLED;
  SYNCHRONIZES;
  count("free");
  finish_all();
  return release(address(p), Kind::pinned, Kind::pinned);
}
// Memory of the caller becomes pinned, and remains the caller's.
API cuMemHostRegister_v2(void* p, size_t bytes, unsigned) {
  CALLED;
  SYNCHRONIZES;
  if (!p || bytes == 0) return INVALID_VALUE;
  if (!current_context()) return INVALID_CONTEXT;
  const Address a = address(p);
  if (block_at(a) || block_at(a + bytes - 1)) return ALREADY_REGISTERED;
  blocks()[a] = Block{a, bytes, Kind::registered, current_context()};
  return SUCCESS;
}
API cuMemHostUnregister(void* p) {
  CALLED;
  SYNCHRONIZES;
  finish_all();
  auto found = blocks().find(address(p));
  if (found == blocks().end() || found->second.kind != Kind::registered) return INVALID_VALUE;
  blocks().erase(found);
  return SUCCESS;
}
API cuMemHostGetDevicePointer_v2(Address* out, void* p, unsigned) {
  CALLED;
  Lock lock(driver());
  if (!block_at(address(p))) return INVALID_VALUE;
  *out = address(p);
  return SUCCESS;
}
API cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  CALLED;
  Lock lock(driver());
  *total = size_t(1) << 34;
  *free_bytes = *total;
  for (const auto& entry : blocks())
    if (entry.second.on_device()) *free_bytes -= std::min(*free_bytes, entry.second.bytes);
  return SUCCESS;
}
API cuMemGetAddressRange_v2(Address* start, size_t* bytes, Address a) {
  CALLED;
  Lock lock(driver());
  const Block* block = block_at(a);
  if (!block) return NOT_FOUND;
  if (start) *start = block->start;
  if (bytes) *bytes = block->bytes;
  return SUCCESS;
}

// ---- pools

API cuMemPoolCreate(void** pool, const void*) {
  CALLED;
  Lock lock(driver());
  if (Result refused = refuse_in_capture()) return refused;
  *pool = malloc(1);
  return SUCCESS;
}
API cuMemPoolDestroy(void* pool) {
  CALLED;
  free(pool);
  return SUCCESS;
}
API cuMemPoolSetAttribute(void*, int, void*) { CALLED; return SUCCESS; }
API cuMemPoolTrimTo(void*, size_t) { CALLED; return SUCCESS; }
API cuDeviceGetDefaultMemPool(void** pool, int) {
  CALLED;
  static char only;
  *pool = &only;
  return SUCCESS;
}
API cuDeviceGetMemPool(void** pool, int device) { return cuDeviceGetDefaultMemPool(pool, device); }
API cuMemAllocFromPoolAsync(Address* out, size_t bytes, void*, void* handle) {
  CALLED;
  Lock lock(driver());
  Stream* stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  if (!stream->capture) {
    // The address is known at once; use before the stream reaches this point is not detected.
    return allocate(out, bytes, Kind::pooled);
  }
  if (!out || bytes == 0) return INVALID_VALUE;
  count("alloc");
  auto memory = std::make_shared<GraphMemory>(bytes);
  *out = memory->start;
  stream->capture->graph->memory.push_back(memory);
  return enqueue(handle, [m = memory.get()] { m->allocate(); });
}
API cuMemAllocAsync(Address* out, size_t bytes, void* stream) { return cuMemAllocFromPoolAsync(out, bytes, nullptr, stream); }
API cuMemFreeAsync(Address a, void* handle) {
  CALLED;
  Lock lock(driver());
  Stream* stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  count("free");
  if (stream->capture) {
    for (auto& memory : stream->capture->graph->memory)
      if (memory->start == a) return enqueue(handle, [m = memory.get()] { m->release(); });
    return INVALID_VALUE;
  }
  if (const Block* block = block_at(a); !block || block->start != a || !block->on_device()) return INVALID_VALUE;
  return enqueue(handle, [=] {
    if (release(a, Kind::pooled, Kind::device)) {
      fprintf(stderr, "\nfzemu: cuMemFreeAsync: %#llx is freed twice\n", (unsigned long long)a);
      abort();
    }
  });
}

// ---- copies

namespace {
// Which side is memory of the device is known from the call, or from the pointers (`unified`).
enum class Copy { to_device, to_host, on_device, unified };

void copy_now(Address to, Address from, size_t bytes, bool to_device, bool from_device) {
  if (to_device) check_device(to, bytes, "copy to the device");
  if (from_device) check_device(from, bytes, "copy from the device");
  memmove(pointer(to), pointer(from), bytes);
}

Result copy(Address to, Address from, size_t bytes, Copy kind, void* stream) {
  Lock lock(driver());
  const bool to_device = kind == Copy::unified ? on_device(to) : kind != Copy::to_host;
  const bool from_device = kind == Copy::unified ? on_device(from) : kind != Copy::to_device;
  count(to_device && from_device ? "copy_dtod" : "copy_host");
  if (!to_device) count("bytes_to_host", static_cast<long>(bytes));
  Stream* s = stream_of(stream);
  if (!s) return INVALID_HANDLE;
  const bool pageable = (!to_device && !block_at(to)) || (!from_device && !block_at(from));
  if (pageable && !s->capture) {
    if (from_device || !to_device) {
      // The driver returns only when the bytes are there.
      count("sync");
      if (Result r = enqueue(stream, [=] { copy_now(to, from, bytes, to_device, from_device); })) return r;
      finish(*s);
      return SUCCESS;
    }
    // The driver takes the bytes before it returns.
    const auto* first = static_cast<const unsigned char*>(pointer(from));
    std::vector<unsigned char> taken(first, first + bytes);
    return enqueue(stream, [=] { copy_now(to, address(taken.data()), bytes, true, false); });
  }
  return enqueue(stream, [=] { copy_now(to, from, bytes, to_device, from_device); });
}

Result copy_and_wait(Address to, Address from, size_t bytes, Copy kind) {
  SYNCHRONIZES;
  if (!current_context()) return INVALID_CONTEXT;
  finish_all();
  const bool to_device = kind == Copy::unified ? on_device(to) : kind != Copy::to_host;
  const bool from_device = kind == Copy::unified ? on_device(from) : kind != Copy::to_device;
  copy_now(to, from, bytes, to_device, from_device);
  return SUCCESS;
}
}  // namespace

API cuMemcpy(Address to, Address from, size_t n) { CALLED; return copy_and_wait(to, from, n, Copy::unified); }
API cuMemcpyHtoD_v2(Address to, const void* from, size_t n) { CALLED; return copy_and_wait(to, address(from), n, Copy::to_device); }
API cuMemcpyDtoH_v2(void* to, Address from, size_t n) { CALLED; return copy_and_wait(address(to), from, n, Copy::to_host); }
API cuMemcpyDtoD_v2(Address to, Address from, size_t n) { CALLED; return copy_and_wait(to, from, n, Copy::on_device); }
API cuMemcpyAsync(Address to, Address from, size_t n, void* s) { CALLED; return copy(to, from, n, Copy::unified, s); }
API cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t n, void* s) { CALLED; return copy(to, address(from), n, Copy::to_device, s); }
API cuMemcpyDtoHAsync_v2(void* to, Address from, size_t n, void* s) { CALLED; return copy(address(to), from, n, Copy::to_host, s); }
API cuMemcpyDtoDAsync_v2(Address to, Address from, size_t n, void* s) { CALLED; return copy(to, from, n, Copy::on_device, s); }

namespace {
template <class T> Result fill(Address to, T value, size_t n, void* stream) {
  Lock lock(driver());
  count("memset");
  if (to % sizeof(T)) return INVALID_VALUE;
  return enqueue(stream, [=] {
    check_device(to, n * sizeof(T), "memset");
    std::fill_n(static_cast<T*>(pointer(to)), n, value);
  });
}
}  // namespace
API cuMemsetD8Async(Address to, unsigned char value, size_t n, void* s) { CALLED; return fill(to, value, n, s); }
API cuMemsetD32Async(Address to, unsigned value, size_t n, void* s) { CALLED; return fill(to, value, n, s); }
API cuMemsetD8_v2(Address to, unsigned char value, size_t n) {
  CALLED;
  SYNCHRONIZES;
  if (Result r = fill(to, value, n, nullptr)) return r;
  finish_all();
  return SUCCESS;
}

// ---- what a pointer is

namespace {
// CUpointer_attribute. Returns false for an attribute that this driver does not support.
bool attribute_of(const Block* block, Address a, int which, void* out) {
  switch (which) {
    case 1: *static_cast<Context**>(out) = block ? block->context : nullptr; return true;
    case 2: *static_cast<int*>(out) = !block ? 0 : block->on_device() ? 2 : 1; return true;  // CUmemorytype
    case 3: *static_cast<Address*>(out) = block ? a : 0; return true;  // device pointer
    case 8: *static_cast<int*>(out) = block && block->kind == Kind::managed; return true;
    case 9: *static_cast<int*>(out) = block ? 0 : -2; return true;  // ordinal; -2 is CU_DEVICE_INVALID
    case 11: *static_cast<Address*>(out) = block ? block->start : 0; return true;
    case 12: *static_cast<size_t*>(out) = block ? block->bytes : 0; return true;
    default: return false;
  }
}
}  // namespace
API cuPointerGetAttribute(void* out, int which, Address a) {
  CALLED;
  Lock lock(driver());
  const Block* block = block_at(a);
  // A plain pointer of the host is no CUDA pointer.
  return block && attribute_of(block, a, which, out) ? SUCCESS : INVALID_VALUE;
}
// The plural takes a plain pointer of the host too, and answers with zeros.
API cuPointerGetAttributes(unsigned n, const int* which, void** out, Address a) {
  CALLED;
  Lock lock(driver());
  const Block* block = block_at(a);
  for (unsigned i = 0; i < n; i++) if (!attribute_of(block, a, which[i], out[i])) return INVALID_VALUE;
  return SUCCESS;
}
