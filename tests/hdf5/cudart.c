/* As much of the CUDA runtime as examples/hdf5_cuda.c calls, over the driver, which may be the emulator: that has too little for the real one. */
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <string.h>

static int driver(const char *name, void *function) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW), *found = library ? dlsym(library, name) : NULL;
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

static int context(void) {
  int (*init)(unsigned), (*retain)(void **, int), (*set)(void *);
  void *primary;
  return driver("cuInit", &init) && driver("cuDevicePrimaryCtxRetain", &retain) && driver("cuCtxSetCurrent", &set) && init(0) == 0 &&
         retain(&primary, 0) == 0 && set(primary) == 0;
}

cudaError_t cudaMalloc(void **out, size_t bytes) {
  int (*allocate)(void **, size_t);
  return context() && driver("cuMemAlloc_v2", &allocate) && allocate(out, bytes) == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
  int (*copy)(void *, const void *, size_t);
  return kind == cudaMemcpyHostToDevice && driver("cuMemcpyHtoD_v2", &copy) && copy(to, from, bytes) == 0 ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaFree(void *memory) {
  int (*release)(void *);
  return driver("cuMemFree_v2", &release) && release(memory) == 0 ? cudaSuccess : cudaErrorInvalidValue;
}
