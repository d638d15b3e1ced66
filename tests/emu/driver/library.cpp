// Libraries, kernels and launches. Whatever image is loaded, its kernels are those that were compiled into this driver.
#include <string.h>

#include "../grid.h"
#include "driver.h"

using namespace fzemu;

namespace {
constexpr uint32_t FATBIN = 0xBA55ED50;
constexpr int MAX_SHARED = 232448;
}  // namespace

API cuLibraryLoadData(void** library, const void* image, void*, void*, unsigned, void*, void*, unsigned) {
  CALLED;
  Lock lock(driver());
  count("load");
  if (!initialized()) return NOT_INITIALIZED;
  if (Result refused = refuse_in_capture()) return refused;
  uint32_t magic = 0;
  if (image && reinterpret_cast<uintptr_t>(image) % 8 == 0) memcpy(&magic, image, sizeof magic);
  if (magic != FATBIN) return INVALID_IMAGE;
  *library = const_cast<void*>(image);
  return SUCCESS;
}
API cuLibraryUnload(void*) { CALLED; return SUCCESS; }
API cuLibraryGetKernel(const Entry** kernel, void* library, const char* name) {
  CALLED;
  if (!library) return INVALID_HANDLE;
  for (const Entry* entry = entries; entry; entry = entry->next) {
    if (strcmp(entry->name, name)) continue;
    *kernel = entry;
    return SUCCESS;
  }
  return NOT_FOUND;
}
API cuKernelGetFunction(const Entry** function, const Entry* kernel) {
  CALLED;
  Lock lock(driver());
  if (Result refused = refuse_in_capture()) return refused;
  if (!current_context()) return INVALID_CONTEXT;
  *function = kernel;
  return SUCCESS;
}
API cuFuncGetAttribute(int* value, int which, const Entry* function) {
  CALLED;
  if (!function) return INVALID_HANDLE;
  switch (which) {
    case 0: *value = int(function->max_threads); break;
    case 1: *value = int(function->shared_end - function->shared); break;  // of all kernels of its file
    case 4: *value = 32; break;                                             // registers
    case 5: case 6: *value = 90; break;                                     // PTX and binary version
    case 8: *value = MAX_SHARED; break;
    default: *value = 0;
  }
  return SUCCESS;
}
API cuFuncSetAttribute(const Entry* function, int which, int value) {
  CALLED;
  if (!function) return INVALID_HANDLE;
  return which == 8 && (value < 0 || value > MAX_SHARED) ? INVALID_VALUE : SUCCESS;
}
API cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const Entry* function, int threads, size_t) {
  CALLED;
  if (!function || threads <= 0) return INVALID_VALUE;
  *blocks = 2048 / threads;
  return SUCCESS;
}
namespace {
Result launch(const Entry* function, dim3 grid, dim3 block, unsigned shared_bytes, void* stream, void** parameters, void** extra, bool follows) {
  Lock lock(driver());
  count("launch");
  if (follows) count("overlap");
  if (!function || extra || !parameters) return INVALID_VALUE;
  const uint64_t threads = uint64_t(block.x) * block.y * block.z;
  if (!grid.x || !grid.y || !grid.z || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535) return INVALID_VALUE;
  if (!threads || threads > 1024 || threads > function->max_threads || block.z > 64) return INVALID_VALUE;
  if (shared_bytes > unsigned(MAX_SHARED)) return INVALID_VALUE;
  // Arguments are read now, as the driver does it.
  const auto* first = static_cast<const unsigned char*>(parameters[0]);
  std::shared_ptr<unsigned char[]> argument(new unsigned char[function->argument_bytes]);
  memcpy(argument.get(), first, function->argument_bytes);
  return enqueue(stream, [=] { run_grid(*function, grid, block, shared_bytes, argument.get(), follows); });
}

// As cuda.h has them.
struct Attribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    uint64_t words[8];
    int number;
  } value;
};
struct Config {
  unsigned gx, gy, gz, bx, by, bz, shared_bytes;
  void* stream;
  Attribute* attributes;
  unsigned attribute_count;
};
constexpr int PROGRAMMATIC_STREAM_SERIALIZATION = 6, PREFERRED_SHARED_MEMORY_CARVEOUT = 14;
}  // namespace

API cuLaunchKernel(const Entry* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared_bytes, void* stream, void** parameters, void** extra) {
  CALLED;
  return launch(function, dim3(gx, gy, gz), dim3(bx, by, bz), shared_bytes, stream, parameters, extra, false);
}
API cuLaunchKernelEx(const Config* c, const Entry* function, void** parameters, void** extra) {
  CALLED;
  bool follows = false;
  for (unsigned i = 0; i < c->attribute_count; i++) {
    const auto& attribute = c->attributes[i];
    if (attribute.id == PREFERRED_SHARED_MEMORY_CARVEOUT) {
      if (attribute.value.number < 0 || attribute.value.number > 100) return INVALID_VALUE;
    } else if (attribute.id == PROGRAMMATIC_STREAM_SERIALIZATION) {
      follows = attribute.value.number != 0;
    } else {
      return INVALID_VALUE;
    }
  }
  return launch(function, dim3(c->gx, c->gy, c->gz), dim3(c->bx, c->by, c->bz), c->shared_bytes, c->stream, parameters, extra, follows);
}
