/* GPUs through the C interface: memory of every kind, streams, graphs, results, wrong arguments, forks, contexts that are gone.
 *
 * The driver is opened when the program runs, and its few functions are declared here, so that no toolkit is needed to build
 * it. Without a driver it checks that every call reports this; FZGM_REQUIRE_GPU=1 makes that a failure. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct CUctx_st *context_t;
typedef struct CUgraph_st *graph_t;
typedef struct CUgraphExec_st *executable_t;
typedef unsigned long long address_t;
typedef fz_cuda_stream stream_t;

#define DRIVER(X)                                                                    \
  X(cuInit, (unsigned))                                                              \
  X(cuDevicePrimaryCtxRetain, (context_t *, int))                                    \
  X(cuCtxCreate_v2, (context_t *, unsigned, int))                                    \
  X(cuCtxDestroy_v2, (context_t))                                                    \
  X(cuCtxSetCurrent, (context_t))                                                    \
  X(cuCtxGetCurrent, (context_t *))                                                  \
  X(cuMemAlloc_v2, (address_t *, size_t))                                            \
  X(cuMemFree_v2, (address_t))                                                       \
  X(cuMemHostAlloc, (void **, size_t, unsigned))                                     \
  X(cuMemFreeHost, (void *))                                                         \
  X(cuMemAllocManaged, (address_t *, size_t, unsigned))                              \
  X(cuMemcpyHtoD_v2, (address_t, const void *, size_t))                              \
  X(cuMemcpyDtoH_v2, (void *, address_t, size_t))                                    \
  X(cuMemcpyDtoDAsync_v2, (address_t, address_t, size_t, stream_t))                  \
  X(cuStreamCreate, (stream_t *, unsigned))                                          \
  X(cuStreamDestroy_v2, (stream_t))                                                  \
  X(cuStreamSynchronize, (stream_t))                                                 \
  X(cuStreamBeginCapture_v2, (stream_t, int))                                        \
  X(cuStreamEndCapture, (stream_t, graph_t *))                                       \
  X(cuGraphInstantiateWithFlags, (executable_t *, graph_t, unsigned long long))      \
  X(cuGraphLaunch, (executable_t, stream_t))                                         \
  X(cuGraphExecDestroy, (executable_t))                                              \
  X(cuGraphDestroy, (graph_t))

#define DECLARE(name, arguments) static int (*name) arguments;
DRIVER(DECLARE)

#define CU(call)                                                                                      \
  do {                                                                                                \
    const int code_ = (call);                                                                         \
    if (code_ != 0) {                                                                                 \
      fprintf(stderr, "%s:%d: %s gives CUDA error %d\n", __FILE__, __LINE__, #call, code_);           \
      exit(1);                                                                                        \
    }                                                                                                 \
  } while (0)

static void *libcuda;

static void find(void *function, const char *name) {
  void *found = dlsym(libcuda, name);
  CHECK(found != NULL);
  memcpy(function, &found, sizeof found); /* ISO C has no conversion from an object to a function */
}

#define FIND(name, arguments) find(&name, #name);

enum { N = 20011, BYTES = N * 4 }; /* no multiple of any tile */
static float x[N], y[N], z[N];
static const uint64_t dims[1] = {N};
static uint64_t capacity, plain_bytes, summed_bytes;
static unsigned char *plain, *summed; /* the containers without and with checksums, made by the CPU */
static context_t primary;

static fz_plan *plan_with(int32_t device, int32_t checksum) {
  fz_pipeline *pipeline = pfpl_noa(1e-3);
  fz_options options;
  fz_plan *plan;
  OK(fz_options_init(&options));
  CHECK(options.device == FZ_DEVICE_AUTO && options.checksum == 1);
  options.device = device;
  options.checksum = checksum;
  plan = plan_of(pipeline, dims, 1, &options);
  fz_pipeline_free(pipeline);
  return plan;
}

static fz_plan *decoder_of(const fz_plan *plan) {
  fz_plan *decoder = NULL;
  OK(fz_plan_decoder(plan, &decoder));
  return decoder;
}

static fz_workspace *workspace_of(const fz_plan *plan) {
  fz_workspace *workspace = NULL;
  OK(fz_workspace_new(plan, &workspace));
  return workspace;
}

static void references(void) {
  fz_plan *cpu = plan_with(FZ_DEVICE_CPU, 0), *sums = plan_with(FZ_DEVICE_CPU, 1);
  uint64_t restored = 0;
  OK(fz_max_compressed_bytes(sums, &capacity));
  plain = compressed(cpu, NULL, x, N, &plain_bytes);
  summed = compressed(sums, NULL, x, N, &summed_bytes);
  OK(fz_decompress(NULL, NULL, plain, plain_bytes, z, sizeof z, &restored));
  CHECK(restored == sizeof z && worst_error(x, z, N) <= 1e-3 * range_of(x, N));
  fz_plan_free(sums);
  fz_plan_free(cpu);
}

/* Layouts of this version of the interface. */
static void layouts(void) {
  CHECK(sizeof(fz_result) == 24 && offsetof(fz_result, needed) == 8 && offsetof(fz_result, status) == 16 && offsetof(fz_result, stage) == 20);
  CHECK(sizeof(fz_device) == 280 && offsetof(fz_device, memory_bytes) == 16 && offsetof(fz_device, name) == 24);
  CHECK(sizeof(fz_options) == 40 && offsetof(fz_options, device) == 24 && offsetof(fz_options, max_memory_bytes) == 32);
  CHECK(sizeof(fz_info) == 88 && sizeof(fz_cuda_stream) == sizeof(void *));
}

/* ---- memory */

enum kind { HOST, PINNED, MANAGED, DEVICE, KINDS };

static unsigned char *take(enum kind kind, size_t bytes) {
  address_t address = 0;
  void *memory = NULL;
  switch (kind) {
    case HOST: memory = malloc(bytes); break;
    case PINNED: CU(cuMemHostAlloc(&memory, bytes, 1 | 2)); break; /* portable, mapped */
    case MANAGED: CU(cuMemAllocManaged(&address, bytes, 1)); memory = (void *)(uintptr_t)address; break;
    default: CU(cuMemAlloc_v2(&address, bytes)); memory = (void *)(uintptr_t)address; break;
  }
  CHECK(memory != NULL);
  return (unsigned char *)memory;
}

static void drop(enum kind kind, unsigned char *memory) {
  if (kind == HOST) free(memory);
  else if (kind == PINNED) CU(cuMemFreeHost(memory));
  else CU(cuMemFree_v2((address_t)(uintptr_t)memory));
}

static void put(enum kind kind, unsigned char *to, const void *from, size_t bytes) {
  if (kind == DEVICE) CU(cuMemcpyHtoD_v2((address_t)(uintptr_t)to, from, bytes));
  else memcpy(to, from, bytes);
}

static void get(enum kind kind, void *to, const unsigned char *from, size_t bytes) {
  if (kind == DEVICE) CU(cuMemcpyDtoH_v2(to, (address_t)(uintptr_t)from, bytes));
  else memcpy(to, from, bytes);
}

/* A device pointer of somebody who has a driver, where this library can do nothing with it: refused, not read. */
static void foreign_pointer(const char *why) {
  unsigned char *array, *container;
  fz_plan *plan;
  uint64_t bytes = 0;
  libcuda = dlopen("libcuda.so.1", RTLD_NOW);
  if (libcuda == NULL) return;
  DRIVER(FIND)
  if (cuInit(0) != 0 || cuDevicePrimaryCtxRetain(&primary, 0) != 0) return;
  CU(cuCtxSetCurrent(primary));
  plan = plan_with(FZ_DEVICE_AUTO, 1);
  array = take(DEVICE, BYTES), container = take(HOST, (size_t)capacity);
  GIVES(FZ_NO_DEVICE, fz_compress(plan, NULL, array, BYTES, container, capacity, &bytes));
  CHECK(strstr(fz_last_error(), why) != NULL);
  GIVES(FZ_NO_DEVICE, fz_decompress(NULL, NULL, array, BYTES, container, capacity, &bytes));
  drop(HOST, container);
  drop(DEVICE, array);
  fz_plan_free(plan);
}

/* Every call that needs a GPU reports that there is none, with the reason; other calls work. */
static void without(const char *why) {
  fz_plan *plan = plan_with(FZ_DEVICE_AUTO, 1), *decoder = decoder_of(plan), *none = NULL;
  fz_workspace *workspace = workspace_of(plan), *decoding = workspace_of(decoder);
  fz_pipeline *pipeline = pfpl_noa(1e-3);
  unsigned char *container;
  fz_options options;
  fz_result result;
  fz_device device;
  uint64_t bytes = 0;
  uint32_t count = 77;

  GIVES(FZ_NO_DEVICE, fz_device_count(&count));
  CHECK(count == 77 && strstr(fz_last_error(), why) != NULL && strlen(fz_last_error()) > strlen(why) + 10);
  printf("no GPU: %s\n", fz_last_error());
  device.struct_bytes = sizeof device;
  GIVES(FZ_NO_DEVICE, fz_device_info(0, &device));
  OK(fz_options_init(&options));
  options.device = 0;
  GIVES(FZ_NO_DEVICE, fz_pipeline_finalize(pipeline, FZ_F32, dims, 1, &options, &none));
  GIVES(FZ_NO_DEVICE, fz_plan_open(summed, summed_bytes, &options, &none));
  GIVES(FZ_NO_DEVICE, fz_plan_preload(plan, workspace, NULL));
  GIVES(FZ_NO_DEVICE, fz_plan_preload(decoder, decoding, NULL));
  GIVES(FZ_NO_DEVICE, fz_compress_async(plan, workspace, x, sizeof x, y, sizeof y, &result, NULL));
  GIVES(FZ_NO_DEVICE, fz_decompress_async(decoder, decoding, summed, summed_bytes, y, sizeof y, &result, NULL));
  CHECK(none == NULL && strstr(fz_last_error(), why) != NULL);

  container = compressed(plan, workspace, x, N, &bytes);
  CHECK(bytes == summed_bytes && memcmp(container, summed, (size_t)bytes) == 0);
  OK(fz_decompress(decoder, decoding, container, bytes, y, sizeof y, &bytes));
  CHECK(memcmp(y, z, sizeof y) == 0);
  guarded_free(container);
  fz_pipeline_free(pipeline);
  fz_workspace_free(decoding);
  fz_workspace_free(workspace);
  fz_plan_free(decoder);
  fz_plan_free(plan);
}

/* Wrong whatever the machine has; nothing of it reaches a device. */
static void arguments(void) {
  fz_plan *plan = plan_with(FZ_DEVICE_AUTO, 1), *decoder = decoder_of(plan), *cpu = plan_with(FZ_DEVICE_CPU, 1), *none = NULL;
  fz_workspace *workspace = workspace_of(plan), *decoding = workspace_of(decoder), *host = workspace_of(cpu);
  fz_pipeline *pipeline = pfpl_noa(1e-3);
  fz_options options;
  fz_result results[2];
  fz_result *crooked = (fz_result *)(void *)((char *)results + 4);
  fz_device device;

  GIVES(FZ_NULL_POINTER, fz_device_count(NULL));
  GIVES(FZ_NULL_POINTER, fz_device_info(0, NULL));
  device.struct_bytes = 4;
  GIVES(FZ_INVALID_ARGUMENT, fz_device_info(0, &device));
  CHECK(strstr(fz_last_error(), "280") != NULL);
  GIVES(FZ_NULL_POINTER, fz_plan_preload(NULL, workspace, NULL));
  GIVES(FZ_NULL_POINTER, fz_plan_preload(plan, NULL, NULL));
  GIVES(FZ_PLAN_MISMATCH, fz_plan_preload(plan, decoding, NULL));
  GIVES(FZ_NULL_POINTER, fz_compress_async(NULL, workspace, x, sizeof x, y, sizeof y, results, NULL));
  GIVES(FZ_NULL_POINTER, fz_compress_async(plan, NULL, x, sizeof x, y, sizeof y, results, NULL));
  GIVES(FZ_NULL_POINTER, fz_compress_async(plan, workspace, NULL, sizeof x, y, sizeof y, results, NULL));
  GIVES(FZ_NULL_POINTER, fz_compress_async(plan, workspace, x, sizeof x, NULL, sizeof y, results, NULL));
  GIVES(FZ_INVALID_ARGUMENT, fz_compress_async(plan, workspace, x, sizeof x, y, sizeof y, crooked, NULL));
  GIVES(FZ_INVALID_ARGUMENT, fz_compress_async(plan, workspace, x, sizeof x, x, sizeof x, results, NULL));
  GIVES(FZ_INVALID_ARGUMENT, fz_compress_async(plan, workspace, x, sizeof x, results, sizeof results, results, NULL));
  GIVES(FZ_INVALID_ARGUMENT, fz_compress_async(plan, workspace, x, UINT64_MAX, y, sizeof y, results, NULL));
  GIVES(FZ_PLAN_MISMATCH, fz_compress_async(plan, workspace, x, sizeof x - 4, y, sizeof y, results, NULL));
  GIVES(FZ_PLAN_MISMATCH, fz_compress_async(plan, decoding, x, sizeof x, y, sizeof y, results, NULL));
  GIVES(FZ_INVALID_ARGUMENT, fz_compress_async(decoder, decoding, x, sizeof x, y, sizeof y, results, NULL));
  GIVES(FZ_INVALID_ARGUMENT, fz_compress_async(cpu, host, x, sizeof x, y, sizeof y, results, NULL));
  CHECK(strstr(fz_last_error(), "cpu") != NULL);
  GIVES(FZ_NULL_POINTER, fz_decompress_async(NULL, decoding, x, sizeof x, y, sizeof y, results, NULL));
  GIVES(FZ_NULL_POINTER, fz_decompress_async(decoder, NULL, x, sizeof x, y, sizeof y, results, NULL));
  GIVES(FZ_NULL_POINTER, fz_decompress_async(decoder, decoding, NULL, sizeof x, y, sizeof y, results, NULL));
  GIVES(FZ_INVALID_ARGUMENT, fz_decompress_async(decoder, decoding, x, sizeof x, x, sizeof x, results, NULL));
  GIVES(FZ_INVALID_ARGUMENT, fz_decompress_async(plan, workspace, x, sizeof x, y, sizeof y, results, NULL));
  GIVES(FZ_DST_TOO_SMALL, fz_decompress_async(decoder, decoding, x, sizeof x, y, sizeof y - 1, results, NULL));

  OK(fz_options_init(&options));
  options.device = -3;
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_finalize(pipeline, FZ_F32, dims, 1, &options, &none));
  OK(fz_options_init(&options));
  options.checksum = 3;
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_finalize(pipeline, FZ_F32, dims, 1, &options, &none));
  CHECK(none == NULL);
  fz_pipeline_free(pipeline);
  fz_workspace_free(host);
  fz_workspace_free(decoding);
  fz_workspace_free(workspace);
  fz_plan_free(cpu);
  fz_plan_free(decoder);
  fz_plan_free(plan);
}

/* A pipeline without device code for the shape: multilevel on 2^31 elements. A plan for a GPU reports it with a GPU and without. */
static void without_device_code(void) {
  const uint64_t many[2] = {65536, 32768};
  fz_pipeline *pipeline = NULL;
  fz_plan *none = NULL;
  fz_options options;
  OK(fz_pipeline_from_preset("high", FZ_F32, &pipeline));
  OK(fz_options_init(&options));
  options.device = 0;
  GIVES(FZ_UNSUPPORTED, fz_pipeline_finalize(pipeline, FZ_F32, many, 2, &options, &none));
  CHECK(none == NULL && strstr(fz_last_error(), "device code") != NULL);
  fz_pipeline_free(pipeline);
}

static void blocking(int32_t option) {
  fz_plan *plan = plan_with(option, 1), *decoder = decoder_of(plan), *opened = NULL;
  fz_workspace *workspace = workspace_of(plan), *decoding = workspace_of(decoder);
  unsigned char *copy = (unsigned char *)malloc((size_t)capacity);
  int a, b;
  CHECK(copy != NULL);
  for (a = 0; a < KINDS; a++) {
    for (b = 0; b < KINDS; b++) {
      /* at odd addresses, as any other */
      unsigned char *array = take((enum kind)a, BYTES + 1), *container = take((enum kind)b, (size_t)capacity + 1);
      uint64_t bytes = 0, restored = 0;
      fz_info info;
      put((enum kind)a, array + 1, x, BYTES);
      OK(fz_compress(plan, workspace, array + 1, BYTES, container + 1, capacity, &bytes));
      CHECK(bytes == summed_bytes);
      get((enum kind)b, copy, container + 1, (size_t)bytes);
      CHECK(memcmp(copy, summed, (size_t)bytes) == 0);
      info.struct_bytes = sizeof info;
      OK(fz_container_info(container + 1, bytes, &info));
      CHECK(info.original_bytes == BYTES && info.container_bytes == bytes);

      put((enum kind)a, array + 1, y, BYTES);
      OK(fz_decompress(decoder, decoding, container + 1, bytes, array + 1, BYTES, &restored));
      get((enum kind)a, y, array + 1, BYTES);
      CHECK(restored == BYTES && memcmp(y, z, BYTES) == 0);
      memset(y, 0, sizeof y);
      put((enum kind)a, array + 1, y, BYTES);
      OK(fz_decompress(NULL, NULL, container + 1, bytes, array + 1, BYTES, &restored));
      get((enum kind)a, y, array + 1, BYTES);
      CHECK(restored == BYTES && memcmp(y, z, BYTES) == 0);
      OK(fz_plan_open(container + 1, bytes, NULL, &opened));
      OK(fz_decompress(opened, NULL, container + 1, bytes, array + 1, BYTES, &restored));
      fz_plan_free(opened);

      GIVES(FZ_DST_TOO_SMALL, fz_compress(plan, workspace, array + 1, BYTES, container + 1, 100, &bytes));
      GIVES(FZ_DST_TOO_SMALL, fz_decompress(decoder, decoding, container + 1, bytes, array + 1, BYTES - 1, &restored));
      put((enum kind)b, container + 1, "nonsense", 8);
      CHECK(fz_decompress(decoder, decoding, container + 1, bytes, array + 1, BYTES, &restored) == FZ_NOT_A_CONTAINER);
      CHECK(fz_decompress(NULL, NULL, container + 1, bytes, array + 1, BYTES, &restored) == FZ_NOT_A_CONTAINER);
      CHECK(fz_container_info(container + 1, bytes, &info) == FZ_NOT_A_CONTAINER);
      GIVES(FZ_INVALID_ARGUMENT, fz_compress(plan, workspace, array + 1, BYTES, array + 9, capacity, &bytes));
      drop((enum kind)a, array);
      drop((enum kind)b, container);
    }
  }
  free(copy);
  fz_workspace_free(decoding);
  fz_workspace_free(workspace);
  fz_plan_free(decoder);
  fz_plan_free(plan);
}

/* Device memory is refused where the plan is for the CPU, and GPUs that are not there. */
static void refusals(void) {
  fz_plan *cpu = plan_with(FZ_DEVICE_CPU, 1), *none = NULL;
  fz_pipeline *pipeline = pfpl_noa(1e-3);
  unsigned char *array = take(DEVICE, BYTES), *container = take(HOST, (size_t)capacity);
  uint64_t bytes = 0;
  fz_options options;
  fz_device device;
  GIVES(FZ_INVALID_ARGUMENT, fz_compress(cpu, NULL, array, BYTES, container, capacity, &bytes));
  CHECK(strstr(fz_last_error(), "src") != NULL && strstr(fz_last_error(), "cpu") != NULL);
  OK(fz_options_init(&options));
  options.device = 99;
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_finalize(pipeline, FZ_F32, dims, 1, &options, &none));
  CHECK(strstr(fz_last_error(), "cuda:99") != NULL);
  device.struct_bytes = sizeof device;
  GIVES(FZ_INVALID_ARGUMENT, fz_device_info(99, &device));
  drop(HOST, container);
  drop(DEVICE, array);
  fz_pipeline_free(pipeline);
  fz_plan_free(cpu);
}

/* ---- streams */

static fz_result read_result(enum kind kind, const unsigned char *result) {
  fz_result copy;
  get(kind, &copy, result, sizeof copy);
  return copy;
}

/* There and back on one stream, nothing waited for in between. */
static void asynchronous(stream_t stream, enum kind results, int32_t checksum) {
  fz_plan *plan = plan_with(FZ_DEVICE_AUTO, checksum), *decoder = decoder_of(plan);
  fz_workspace *workspace = workspace_of(plan), *decoding = workspace_of(decoder), *alone;
  fz_plan *opened;
  unsigned char *array = take(DEVICE, BYTES), *container = take(DEVICE, (size_t)capacity), *back = take(DEVICE, BYTES);
  unsigned char *result = take(results, 2 * sizeof(fz_result)), *copy = take(HOST, (size_t)capacity);
  fz_result *out = (fz_result *)(void *)result, compress, decompress;
  const uint64_t want = checksum == 2 ? summed_bytes : plain_bytes;
  put(DEVICE, array, x, BYTES);
  OK(fz_plan_preload(plan, workspace, stream));
  OK(fz_plan_preload(decoder, decoding, stream));
  OK(fz_compress_async(plan, workspace, array, BYTES, container, capacity, &out[0], stream));
  OK(fz_decompress_async(decoder, decoding, container, capacity, back, BYTES, &out[1], stream));
  fz_plan_free(plan); /* what is on the stream does not need it */
  CU(cuStreamSynchronize(stream));
  compress = read_result(results, result);
  decompress = read_result(results, result + sizeof(fz_result));
  CHECK(compress.status == FZ_OK && compress.bytes == want);
  CHECK(decompress.status == FZ_OK && decompress.bytes == BYTES);
  get(DEVICE, copy, container, (size_t)want);
  CHECK(memcmp(copy, checksum == 2 ? summed : plain, (size_t)want) == 0);
  get(DEVICE, y, back, BYTES);
  CHECK(memcmp(y, z, BYTES) == 0);

  /* a plan that was opened from the container */
  OK(fz_plan_open(container, want, NULL, &opened));
  alone = workspace_of(opened);
  OK(fz_plan_preload(opened, alone, stream));
  memset(y, 0, sizeof y);
  put(DEVICE, back, y, BYTES);
  OK(fz_decompress_async(opened, alone, container, capacity, back, BYTES, &out[1], stream));
  CU(cuStreamSynchronize(stream));
  decompress = read_result(results, result + sizeof(fz_result));
  CHECK(decompress.status == FZ_OK && decompress.bytes == BYTES);
  get(DEVICE, y, back, BYTES);
  CHECK(memcmp(y, z, BYTES) == 0);

  /* the result is a courtesy */
  OK(fz_decompress_async(decoder, decoding, container, want, back, BYTES, NULL, stream));
  /* damage */
  put(DEVICE, container, "nonsense", 8);
  OK(fz_decompress_async(decoder, decoding, container, want, back, BYTES, &out[1], stream));
  CU(cuStreamSynchronize(stream));
  decompress = read_result(results, result + sizeof(fz_result));
  CHECK(decompress.status == FZ_NOT_A_CONTAINER && decompress.bytes == 0);
  /* another's plan */
  CHECK(fz_plan_preload(opened, decoding, stream) == FZ_PLAN_MISMATCH);

  fz_workspace_free(alone);
  fz_plan_free(opened);
  fz_workspace_free(decoding);
  fz_workspace_free(workspace);
  fz_plan_free(decoder);
  drop(HOST, copy);
  drop(results, result);
  drop(DEVICE, back);
  drop(DEVICE, container);
  drop(DEVICE, array);
}

/* A thread without a context: the NULL stream is that of the primary one, and the thread has none afterwards. */
static void without_context(void) {
  fz_plan *plan = plan_with(0, 0);
  fz_workspace *workspace = workspace_of(plan);
  unsigned char *array = take(DEVICE, BYTES), *container = take(DEVICE, (size_t)capacity), *result = take(PINNED, sizeof(fz_result));
  context_t current = primary;
  put(DEVICE, array, x, BYTES);
  CU(cuCtxSetCurrent(NULL));
  OK(fz_compress_async(plan, workspace, array, BYTES, container, capacity, (fz_result *)(void *)result, NULL));
  CU(cuCtxGetCurrent(&current));
  CHECK(current == NULL);
  CU(cuCtxSetCurrent(primary));
  CU(cuStreamSynchronize(NULL));
  CHECK(read_result(PINNED, result).bytes == plain_bytes);
  fz_workspace_free(workspace);
  fz_plan_free(plan);
  drop(PINNED, result);
  drop(DEVICE, container);
  drop(DEVICE, array);
}

static void too_small(stream_t stream) {
  fz_plan *plan = plan_with(0, 1);
  fz_workspace *workspace = workspace_of(plan);
  unsigned char *array = take(DEVICE, BYTES), *container = take(DEVICE, (size_t)capacity), *result = take(PINNED, sizeof(fz_result));
  fz_result outcome;
  put(DEVICE, array, x, BYTES);
  OK(fz_compress_async(plan, workspace, array, BYTES, container, plain_bytes - 1, (fz_result *)(void *)result, stream));
  CU(cuStreamSynchronize(stream));
  outcome = read_result(PINNED, result);
  CHECK(outcome.status == FZ_DST_TOO_SMALL && outcome.bytes == 0 && outcome.needed == plain_bytes);
  OK(fz_compress_async(plan, workspace, array, BYTES, container, plain_bytes, (fz_result *)(void *)result, stream));
  CU(cuStreamSynchronize(stream));
  CHECK(read_result(PINNED, result).status == FZ_OK);
  fz_workspace_free(workspace);
  fz_plan_free(plan);
  drop(PINNED, result);
  drop(DEVICE, container);
  drop(DEVICE, array);
}

/* One graph with both directions, launched on one array after the other. */
static void graphs(stream_t stream) {
  fz_plan *plan = plan_with(0, 0), *decoder = decoder_of(plan);
  fz_workspace *workspace = workspace_of(plan), *decoding = workspace_of(decoder);
  unsigned char *next = take(DEVICE, BYTES), *array = take(DEVICE, BYTES), *container = take(DEVICE, (size_t)capacity), *back = take(DEVICE, BYTES);
  unsigned char *result = take(DEVICE, 2 * sizeof(fz_result));
  fz_result *out = (fz_result *)(void *)result;
  graph_t graph = NULL;
  executable_t executable = NULL;
  int turn, i;
  OK(fz_plan_preload(plan, workspace, stream));
  OK(fz_plan_preload(decoder, decoding, stream));
  CU(cuStreamBeginCapture_v2(stream, 0)); /* global: the strictest mode */
  CU(cuMemcpyDtoDAsync_v2((address_t)(uintptr_t)array, (address_t)(uintptr_t)next, BYTES, stream));
  OK(fz_compress_async(plan, workspace, array, BYTES, container, capacity, &out[0], stream));
  OK(fz_decompress_async(decoder, decoding, container, capacity, back, BYTES, &out[1], stream));
  CU(cuStreamEndCapture(stream, &graph));
  CU(cuGraphInstantiateWithFlags(&executable, graph, 0));
  for (turn = 0; turn < 3; turn++) {
    static float other[N];
    for (i = 0; i < N; i++) other[i] = x[(i * (turn + 1)) % N] * (float)(1 + turn);
    put(DEVICE, next, other, BYTES);
    CU(cuGraphLaunch(executable, stream));
    CU(cuStreamSynchronize(stream));
    CHECK(read_result(DEVICE, result).status == FZ_OK);
    CHECK(read_result(DEVICE, result + sizeof(fz_result)).status == FZ_OK);
    get(DEVICE, y, back, BYTES);
    CHECK(worst_error(other, y, N) <= 1e-3 * range_of(other, N) && (turn > 0 || memcmp(y, z, BYTES) == 0));
  }
  CU(cuGraphExecDestroy(executable));
  CU(cuGraphDestroy(graph));
  fz_workspace_free(decoding);
  fz_workspace_free(workspace);
  fz_plan_free(decoder);
  fz_plan_free(plan);
  drop(DEVICE, result);
  drop(DEVICE, back);
  drop(DEVICE, container);
  drop(DEVICE, array);
  drop(DEVICE, next);
}

/* ---- strides */

enum { NX = 60, NY = 40, ROW = NX + 2, CELLS = ROW * (NY + 2), INSIDE = NX * NY };

static void is_inside(const float *grid, const float *inside, const char *what) {
  int i;
  for (i = 0; i < CELLS; i++) {
    const int column = i % ROW - 1, row = i / ROW - 1, interior = column >= 0 && column < NX && row >= 0 && row < NY;
    const float want = interior ? inside[row * NX + column] : 9.0f;
    if (memcmp(&grid[i], &want, sizeof want) != 0) {
      fprintf(stderr, "%s: cell %d is %g instead of %g\n", what, i, grid[i], want);
      exit(1);
    }
  }
}

/* A grid with a ghost cell on each side, the view of its interior, and the container of the packed interior. */
struct strided {
  float grid[CELLS], inside[INSIDE], back[INSIDE], got[CELLS];
  unsigned char made[2 * INSIDE * sizeof(float)];
  uint64_t made_bytes;
  fz_view view;
  fz_plan *plan, *decoder;
  fz_workspace *workspace, *decoding;
};

static struct strided *strided_new(void) {
  struct strided *s = (struct strided *)calloc(1, sizeof *s);
  const uint64_t shape[2] = {NX, NY};
  fz_pipeline *pipeline = pfpl_noa(1e-3);
  uint64_t bytes = 0;
  int i;
  CHECK(s != NULL);
  s->plan = plan_of(pipeline, shape, 2, NULL), s->decoder = decoder_of(s->plan);
  s->workspace = workspace_of(s->plan), s->decoding = workspace_of(s->decoder);
  fill(s->inside, INSIDE);
  for (i = 0; i < CELLS; i++) s->grid[i] = 9.0f;
  for (i = 0; i < INSIDE; i++) s->grid[(i / NX + 1) * ROW + i % NX + 1] = s->inside[i];
  OK(fz_compress(s->plan, s->workspace, s->inside, sizeof s->inside, s->made, sizeof s->made, &s->made_bytes));
  OK(fz_decompress(s->decoder, s->decoding, s->made, s->made_bytes, s->back, sizeof s->back, &bytes));
  FZ_INIT(s->view);
  s->view.dtype = FZ_F32;
  s->view.ndim = 2;
  s->view.dims[0] = NX, s->view.dims[1] = NY;
  s->view.strides[0] = 1, s->view.strides[1] = ROW;
  fz_pipeline_free(pipeline);
  return s;
}

static void strided_free(struct strided *s) {
  fz_workspace_free(s->decoding);
  fz_workspace_free(s->workspace);
  fz_plan_free(s->decoder);
  fz_plan_free(s->plan);
  free(s);
}

/* Blocking calls, with memory of every kind. */
static void views(void) {
  struct strided *s = strided_new();
  unsigned char *copy = take(HOST, sizeof s->made);
  uint64_t bytes = 0;
  int k;
  for (k = 0; k < KINDS; k++) {
    const enum kind kind = (enum kind)k;
    unsigned char *memory = take(kind, sizeof s->grid);
    s->view.origin = memory + (ROW + 1) * sizeof(float);
    put(kind, memory, s->grid, sizeof s->grid);
    OK(fz_compress_view(s->plan, s->workspace, &s->view, copy, sizeof s->made, &bytes));
    CHECK(bytes == s->made_bytes && memcmp(copy, s->made, (size_t)bytes) == 0);
    OK(fz_decompress_view(s->decoder, s->decoding, s->made, s->made_bytes, &s->view, &bytes));
    get(kind, s->got, memory, sizeof s->grid);
    is_inside(s->got, s->back, "decompress_view");
    put(kind, memory, s->grid, sizeof s->grid);
    copy[s->made_bytes - 1] ^= 1;
    GIVES(FZ_CHECKSUM, fz_decompress_view(NULL, NULL, copy, s->made_bytes, &s->view, &bytes));
    get(kind, s->got, memory, sizeof s->grid);
    is_inside(s->got, s->inside, "a damaged container");
    OK(fz_decompress_view(NULL, NULL, s->made, s->made_bytes, &s->view, &bytes));
    get(kind, s->got, memory, sizeof s->grid);
    is_inside(s->got, s->back, "decompress_view without a plan");
    drop(kind, memory);
  }
  drop(HOST, copy);
  strided_free(s);
}

/* On a stream: both directions in a graph, and a damaged container. */
static void views_on_a_stream(stream_t stream) {
  struct strided *s = strided_new();
  const uint64_t room = sizeof s->made, packed = sizeof s->inside;
  unsigned char *memory = take(DEVICE, sizeof s->grid), *scratch = take(DEVICE, sizeof s->inside), *there = take(DEVICE, sizeof s->made);
  unsigned char *result = take(DEVICE, 2 * sizeof(fz_result));
  fz_result *out = (fz_result *)(void *)result;
  graph_t graph = NULL;
  executable_t executable = NULL;
  s->view.origin = memory + (ROW + 1) * sizeof(float);
  OK(fz_plan_preload(s->plan, s->workspace, stream));
  OK(fz_plan_preload(s->decoder, s->decoding, stream));
  GIVES(FZ_INVALID_ARGUMENT, fz_compress_view_async(s->plan, s->workspace, &s->view, scratch, packed - 1, there, room, out, stream));
  GIVES(FZ_INVALID_ARGUMENT, fz_compress_view_async(s->plan, s->workspace, &s->view, there, packed, there, room, out, stream));
  CU(cuStreamBeginCapture_v2(stream, 0));
  OK(fz_compress_view_async(s->plan, s->workspace, &s->view, scratch, packed, there, room, &out[0], stream));
  OK(fz_decompress_view_async(s->decoder, s->decoding, there, room, &s->view, scratch, packed, &out[1], stream));
  CU(cuStreamEndCapture(stream, &graph));
  CU(cuGraphInstantiateWithFlags(&executable, graph, 0));
  put(DEVICE, memory, s->grid, sizeof s->grid);
  CU(cuGraphLaunch(executable, stream));
  CU(cuStreamSynchronize(stream));
  CHECK(read_result(DEVICE, result).status == FZ_OK && read_result(DEVICE, result + sizeof(fz_result)).bytes == packed);
  get(DEVICE, s->got, memory, sizeof s->grid);
  is_inside(s->got, s->back, "a graph");
  put(DEVICE, memory, s->grid, sizeof s->grid);
  put(DEVICE, there, "nonsense", 8);
  OK(fz_decompress_view_async(s->decoder, s->decoding, there, room, &s->view, scratch, packed, &out[1], stream));
  CU(cuStreamSynchronize(stream));
  CHECK(read_result(DEVICE, result + sizeof(fz_result)).status == FZ_NOT_A_CONTAINER);
  get(DEVICE, s->got, memory, sizeof s->grid);
  is_inside(s->got, s->inside, "nonsense");
  CU(cuGraphExecDestroy(executable));
  CU(cuGraphDestroy(graph));
  drop(DEVICE, result);
  drop(DEVICE, there);
  drop(DEVICE, scratch);
  drop(DEVICE, memory);
  strided_free(s);
}

/* ---- ends */

/* A workspace outlives the context that its memory was in, and serves the next one. */
static void contexts(void) {
  fz_plan *plan = plan_with(FZ_DEVICE_AUTO, 0);
  fz_workspace *workspace = workspace_of(plan), *forgotten = workspace_of(plan);
  int turn;
  for (turn = 0; turn < 2; turn++) {
    context_t own = NULL, current = NULL;
    stream_t stream = NULL;
    unsigned char *array, *container, *result;
    CU(cuCtxCreate_v2(&own, 0, 0));
    CU(cuStreamCreate(&stream, 1));
    array = take(DEVICE, BYTES), container = take(DEVICE, (size_t)capacity), result = take(DEVICE, sizeof(fz_result));
    put(DEVICE, array, x, BYTES);
    CU(cuCtxSetCurrent(primary)); /* the stream belongs to its context */
    OK(fz_compress_async(plan, workspace, array, BYTES, container, capacity, (fz_result *)(void *)result, stream));
    OK(fz_plan_preload(plan, forgotten, stream));
    CU(cuCtxGetCurrent(&current));
    CHECK(current == primary);
    CU(cuStreamSynchronize(stream));
    CHECK(read_result(DEVICE, result).bytes == plain_bytes);
    CU(cuStreamDestroy_v2(stream));
    CU(cuCtxDestroy_v2(own));
    CU(cuCtxSetCurrent(primary));
  }
  fz_workspace_free(forgotten);
  fz_workspace_free(workspace);
  fz_plan_free(plan);
}

/* CUDA does not survive a fork; the CPU does. */
static void forks(void) {
  fz_plan *plan = plan_with(FZ_DEVICE_AUTO, 1), *device = plan_with(0, 1);
  fz_workspace *workspace = workspace_of(plan), *on_device = workspace_of(device);
  unsigned char *memory = take(DEVICE, BYTES);
  int status = 0;
  pid_t child;
  OK(fz_plan_preload(plan, workspace, NULL));
  fflush(stdout);
  child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    uint64_t bytes = 0;
    unsigned char *container = (unsigned char *)malloc((size_t)capacity);
    alarm(60);
    without("fork");
    GIVES(FZ_NO_DEVICE, fz_compress(device, on_device, x, sizeof x, container, capacity, &bytes));
    GIVES(FZ_NO_DEVICE, fz_compress_async(device, on_device, x, sizeof x, y, sizeof y, NULL, NULL));
    OK(fz_compress(plan, workspace, x, sizeof x, container, capacity, &bytes));
    CHECK(bytes == summed_bytes && memcmp(container, summed, (size_t)bytes) == 0);
    fz_workspace_free(on_device);
    fz_workspace_free(workspace);
    fz_plan_free(device);
    fz_plan_free(plan);
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  drop(DEVICE, memory);
  fz_workspace_free(on_device);
  fz_workspace_free(workspace);
  fz_plan_free(device);
  fz_plan_free(plan);
}

static fz_plan *last_plan;
static fz_workspace *last_workspace;

/* The driver may be shutting down by then. */
static void at_exit(void) {
  fz_workspace_free(last_workspace);
  fz_plan_free(last_plan);
}

static void with_device(void) {
  fz_device device;
  uint32_t count = 0;
  stream_t stream = NULL;
  OK(fz_device_count(&count));
  CHECK(count >= 1);
  device.struct_bytes = sizeof device;
  OK(fz_device_info(0, &device));
  CHECK(device.capability_major >= 8 && device.memory_bytes > 0 && device.driver_version >= 12000 && device.name[0] != '\0');
  printf("cuda:0 is %s, capability %d.%d\n", device.name, (int)device.capability_major, (int)device.capability_minor);
  libcuda = dlopen("libcuda.so.1", RTLD_NOW);
  CHECK(libcuda != NULL);
  DRIVER(FIND)
  CU(cuInit(0));
  CU(cuDevicePrimaryCtxRetain(&primary, 0));

  CU(cuCtxSetCurrent(primary));
  without_context();
  blocking(FZ_DEVICE_AUTO);
  blocking(0);
  refusals();
  CU(cuStreamCreate(&stream, 1)); /* non-blocking */
  asynchronous(stream, DEVICE, 1);
  asynchronous(stream, PINNED, 2);
  asynchronous(stream, MANAGED, 0);
  asynchronous(NULL, DEVICE, 1);
  asynchronous((stream_t)(uintptr_t)1, DEVICE, 1); /* legacy */
  asynchronous((stream_t)(uintptr_t)2, DEVICE, 1); /* per thread */
  too_small(stream);
  graphs(stream);
  views();
  views_on_a_stream(stream);
  CU(cuStreamDestroy_v2(stream));
  contexts();
  forks();
  last_plan = plan_with(0, 1);
  last_workspace = workspace_of(last_plan);
  CHECK(atexit(at_exit) == 0);
}

int main(void) {
  const char *required = getenv("FZGM_REQUIRE_GPU");
  uint32_t count = 0;
  fill(x, N);
  references();
  layouts();
  arguments();
  without_device_code();
  if (fz_device_count(&count) == FZ_OK) {
    with_device();
  } else {
    CHECK(required == NULL || strcmp(required, "1") != 0);
    without("no usable GPU");
    foreign_pointer("no usable GPU");
  }
  guarded_free(plain);
  guarded_free(summed);
  printf("the C interface %s\n", count > 0 ? "works on memory of every kind" : "does without a GPU");
  return 0;
}
