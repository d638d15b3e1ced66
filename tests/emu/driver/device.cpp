// One device, its primary context and what else is created, and the stack of contexts of each thread.
#include <stdio.h>
#include <string.h>

#include "driver.h"

using namespace fzemu;

namespace fzemu {
namespace {
bool started;
uint64_t next_id = 2;
Context primary{1};
// Never destroyed: what other libraries keep for a thread may free device memory when the thread ends.
thread_local std::vector<Context*>& contexts = *new std::vector<Context*>;

// CUdevice_attribute. The device is a small one of capability 9.0.
int attribute(int which) {
  switch (which) {
    case 1: return 1024;               // threads of a block
    case 2: case 3: return 1024;       // … in x and y
    case 4: return 64;                 // … in z
    case 5: return 0x7fffffff;         // blocks in x
    case 6: case 7: return 65535;      // … in y and z
    case 8: return 49152;              // shared memory of a block
    case 10: return 32;                // threads of a warp
    case 12: return 65536;             // registers of a block
    case 16: return 2;                 // multiprocessors
    case 39: return 2048;              // threads of a multiprocessor
    case 41: return 1;                 // unified addressing
    case 75: return 9;                 // capability
    case 76: return 0;
    case 81: return 233472;            // shared memory of a multiprocessor
    case 83: return 1;                 // managed memory
    case 97: return 232448;            // shared memory of a block that requests more
    case 115: return 1;                // memory pools
    default: return 0;
  }
}
}  // namespace

Context* current_context() { return contexts.empty() ? nullptr : contexts.back(); }
bool initialized() { return started; }
}  // namespace fzemu

#define STARTED if (!started) return NOT_INITIALIZED

API cuInit(unsigned flags) {
  CALLED;
  if (flags) return INVALID_VALUE;
  started = true;
  return SUCCESS;
}
API cuDriverGetVersion(int* version) {
  CALLED;
  *version = 13000;
  return SUCCESS;
}
API cuDeviceGetCount(int* n) {
  CALLED;
  STARTED;
  *n = 1;
  return SUCCESS;
}
API cuDeviceGet(int* device, int ordinal) {
  CALLED;
  STARTED;
  if (ordinal) return INVALID_DEVICE;
  *device = 0;
  return SUCCESS;
}
API cuDeviceGetName(char* name, int bytes, int device) {
  CALLED;
  if (device || bytes <= 0) return INVALID_VALUE;
  snprintf(name, size_t(bytes), "fzemu: kernels on the CPU");
  return SUCCESS;
}
API cuDeviceGetUuid(char* uuid, int device) {
  CALLED;
  if (device) return INVALID_DEVICE;
  memset(uuid, 0xfe, 16);
  return SUCCESS;
}
API cuDeviceTotalMem_v2(size_t* bytes, int device) {
  CALLED;
  if (device) return INVALID_DEVICE;
  *bytes = size_t(1) << 34;
  return SUCCESS;
}
API cuDeviceGetAttribute(int* value, int which, int device) {
  CALLED;
  if (device) return INVALID_DEVICE;
  *value = attribute(which);
  return SUCCESS;
}

API cuDevicePrimaryCtxRetain(Context** context, int device) {
  CALLED;
  STARTED;
  if (device) return INVALID_DEVICE;
  *context = &primary;
  return SUCCESS;
}
API cuDevicePrimaryCtxRelease_v2(int device) { CALLED; return device ? INVALID_DEVICE : SUCCESS; }
API cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  CALLED;
  *flags = 0;
  *active = 1;
  return device ? INVALID_DEVICE : SUCCESS;
}
API cuCtxCreate_v2(Context** context, unsigned, int device) {
  CALLED;
  STARTED;
  if (device) return INVALID_DEVICE;
  Lock lock(driver());
  *context = new Context{next_id++};
  contexts.push_back(*context);
  return SUCCESS;
}
API cuCtxDestroy_v2(Context* context) {
  CALLED;
  if (!context || context == &primary) return INVALID_CONTEXT;
  if (current_context() == context) contexts.pop_back();
  forget(context);
  Lock lock(driver());
  forget_streams(context);
  delete context;
  return SUCCESS;
}
API cuCtxGetCurrent(Context** context) {
  CALLED;
  STARTED;
  *context = current_context();
  return SUCCESS;
}
API cuCtxSetCurrent(Context* context) {
  CALLED;
  if (!contexts.empty()) contexts.pop_back();
  if (context) contexts.push_back(context);
  return SUCCESS;
}
API cuCtxPushCurrent_v2(Context* context) {
  CALLED;
  if (!context) return INVALID_CONTEXT;
  contexts.push_back(context);
  return SUCCESS;
}
API cuCtxPopCurrent_v2(Context** context) {
  CALLED;
  if (contexts.empty()) return INVALID_CONTEXT;
  if (context) *context = contexts.back();
  contexts.pop_back();
  return SUCCESS;
}
API cuCtxGetDevice(int* device) {
  CALLED;
  if (!current_context()) return INVALID_CONTEXT;
  *device = 0;
  return SUCCESS;
}
API cuCtxGetId(Context* context, unsigned long long* id) {
  CALLED;
  if (!context) context = current_context();
  if (!context) return INVALID_CONTEXT;
  *id = context->id;
  return SUCCESS;
}
API cuCtxGetApiVersion(Context*, unsigned* version) {
  CALLED;
  *version = 13000;
  return SUCCESS;
}
API cuCtxSynchronize() {
  CALLED;
  SYNCHRONIZES;
  if (!current_context()) return INVALID_CONTEXT;
  finish_all();
  return SUCCESS;
}
