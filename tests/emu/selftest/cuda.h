// The calls of the driver that the self-test makes.
#pragma once
#include <stddef.h>
#include <stdint.h>

using Address = uint64_t;
extern "C" {
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(void**, int);
int cuCtxPushCurrent_v2(void*);
int cuCtxSynchronize();
int cuMemAlloc_v2(Address*, size_t);
int cuMemFree_v2(Address);
int cuMemAllocAsync(Address*, size_t, void*);
int cuMemFreeAsync(Address, void*);
int cuMemAllocManaged(Address*, size_t, unsigned);
int cuMemHostAlloc(void**, size_t, unsigned);
int cuMemFreeHost(void*);
int cuMemcpyHtoD_v2(Address, const void*, size_t);
int cuMemcpyDtoH_v2(void*, Address, size_t);
int cuMemcpyDtoHAsync_v2(void*, Address, size_t, void*);
int cuMemcpyDtoDAsync_v2(Address, Address, size_t, void*);
int cuMemsetD8Async(Address, unsigned char, size_t, void*);
int cuPointerGetAttribute(void*, int, Address);
int cuPointerGetAttributes(unsigned, const int*, void**, Address);
int cuStreamCreate(void**, unsigned);
int cuStreamDestroy_v2(void*);
int cuStreamSynchronize(void*);
int cuStreamQuery(void*);
int cuStreamBeginCapture_v2(void*, int);
int cuStreamEndCapture(void*, void**);
int cuThreadExchangeStreamCaptureMode(int*);
int cuGraphInstantiateWithFlags(void**, void*, unsigned long long);
int cuGraphLaunch(void*, void*);
int cuGraphExecDestroy(void*);
int cuGraphDestroy(void*);
int cuEventCreate(void**, unsigned);
int cuEventRecord(void*, void*);
int cuEventQuery(void*);
int cuEventSynchronize(void*);
int cuEventElapsedTime(float*, void*, void*);
int cuStreamWaitEvent(void*, void*, unsigned);
int cuLibraryLoadData(void**, const void*, void*, void*, unsigned, void*, void*, unsigned);
int cuLibraryGetKernel(void**, void*, const char*);
int cuKernelGetFunction(void**, void*);
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
int cuLaunchKernelEx(const void*, void*, void**, void**);
long fzemu_count(const char*);
void fzemu_reset();
int fzemu_live_allocations();
long fzemu_live(const char*);
void fzemu_fail(const char*, long, int, int);
const char* fzemu_failed();
void fzemu_exempt(int);
}
