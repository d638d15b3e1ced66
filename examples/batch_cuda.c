/* Compresses and restores batches of patches on a GPU, as a captured graph, and prints speeds.
 *
 *   cc batch_cuda.c -lfzgm -lcudart -lm          with the CUDA toolkit in the paths of compiler and linker
 *   batch_cuda [<preset> [<megabytes>]]          fast and 512 unless given; patches of fast and pfpl share their kernels */
#include <cuda_runtime.h>
#include <fzgm.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY(call)                                                                            \
  do {                                                                                       \
    if ((call) != FZ_OK) return fprintf(stderr, "%s: %s\n", #call, fz_last_error()), 1;      \
  } while (0)
#define CUDA(call)                                                                           \
  do {                                                                                       \
    const cudaError_t e = (call);                                                            \
    if (e != cudaSuccess) return fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)), 1; \
  } while (0)

enum { ROUNDS = 20 };

/* Tables of a batch: on the host, and the same on the device. */
typedef struct {
  void **field, **container, **restored;
  uint64_t *capacity, *bytes;
} tables;

/* Copies a table to new device memory. */
static void *on_device(const void *from, size_t bytes) {
  void *to = NULL;
  if (cudaMalloc(&to, bytes) != cudaSuccess) return NULL;
  return cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice) == cudaSuccess ? to : NULL;
}

static int run(const char *preset, uint64_t side, size_t megabytes) {
  const uint64_t dims[3] = {side, side, side};
  const size_t elements = (size_t)(side * side * side), bytes = elements * sizeof(float), count = (megabytes << 20) / bytes;
  fz_pipeline *pipeline;
  fz_plan *encoder, *decoder;
  uint64_t capacity, memory;
  TRY(fz_pipeline_from_preset(preset, FZ_F32, &pipeline));
  TRY(fz_pipeline_set_string(pipeline, FZ_EVERY_STAGE, "mode", "noa"));
  TRY(fz_pipeline_set_double(pipeline, FZ_EVERY_STAGE, "error_bound", 1e-3));
  TRY(fz_pipeline_finalize(pipeline, FZ_F32, dims, 3, NULL, &encoder));
  TRY(fz_plan_decoder(encoder, &decoder));
  TRY(fz_max_compressed_bytes(encoder, &capacity));
  capacity = (capacity + 15) / 16 * 16;

  /* All patches have one plan here; a plan for each shape makes a batch of different shapes. */
  const fz_plan **plans = malloc(2 * count * sizeof *plans);
  float *x = malloc(count * bytes), *y = malloc(count * bytes);
  fz_result *outcome = malloc(2 * count * sizeof *outcome);
  tables t = {malloc(count * 8), malloc(count * 8), malloc(count * 8), malloc(count * 8), malloc(count * 8)};
  if (!plans || !x || !y || !outcome || !t.field || !t.container || !t.restored || !t.capacity || !t.bytes) return fprintf(stderr, "out of memory\n"), 1;
  for (size_t i = 0; i < count; i++) {
    plans[i] = encoder;
    plans[count + i] = decoder;
    for (size_t k = 0; k < elements; k++) {
      const float a = (float)(k % side) / (float)side, b = (float)(k / side % side) / (float)side, c = (float)(k / side / side) / (float)side;
      x[i * elements + k] = sinf(3.0f * a + (float)i) * cosf(2.0f * b) + c * c + 1e-4f * (float)((k * 2654435761u >> 7) % 100);
    }
  }
  fz_batch_plan *encoders, *decoders;
  fz_batch_workspace *encoding, *decoding;
  TRY(fz_batch_plan_new(plans, count, 1, &encoders));
  TRY(fz_batch_plan_new(plans + count, count, 1, &decoders));
  TRY(fz_batch_workspace_new(encoders, &encoding));
  TRY(fz_batch_workspace_new(decoders, &decoding));

  char *field, *containers, *restored;
  fz_result *results;
  CUDA(cudaMalloc((void **)&field, count * bytes));
  CUDA(cudaMalloc((void **)&containers, count * capacity));
  CUDA(cudaMalloc((void **)&restored, count * bytes));
  CUDA(cudaMalloc((void **)&results, 2 * count * sizeof *results));
  CUDA(cudaMemcpy(field, x, count * bytes, cudaMemcpyHostToDevice));
  for (size_t i = 0; i < count; i++) {
    t.field[i] = field + i * bytes;
    t.container[i] = containers + i * capacity;
    t.restored[i] = restored + i * bytes;
    t.capacity[i] = capacity;
    t.bytes[i] = bytes;
  }
  const tables d = {on_device(t.field, count * 8), on_device(t.container, count * 8), on_device(t.restored, count * 8), on_device(t.capacity, count * 8),
                    on_device(t.bytes, count * 8)};
  if (!d.field || !d.container || !d.restored || !d.capacity || !d.bytes) return fprintf(stderr, "out of device memory\n"), 1;

  cudaStream_t stream;
  cudaGraph_t graph[2];
  cudaGraphExec_t exec[2];
  cudaEvent_t start, end;
  size_t free_before, free_after, total;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CUDA(cudaEventCreate(&start));
  CUDA(cudaEventCreate(&end));
  CUDA(cudaMemGetInfo(&free_before, &total));
  TRY(fz_batch_preload(encoders, encoding, stream));
  TRY(fz_batch_preload(decoders, decoding, stream));
  CUDA(cudaMemGetInfo(&free_after, &total));
  memory = free_before > free_after ? free_before - free_after : 0;
  for (int way = 0; way < 2; way++) {
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    if (way == 0) {
      TRY(fz_compress_batch_async(encoders, encoding, (const void *const *)d.field, d.container, d.capacity, results, stream));
    } else {
      TRY(fz_decompress_batch_async(decoders, decoding, (const void *const *)d.container, d.capacity, d.restored, d.bytes, results + count, stream));
    }
    CUDA(cudaStreamEndCapture(stream, &graph[way]));
    CUDA(cudaGraphInstantiateWithFlags(&exec[way], graph[way], 0));
  }
  double speed[2];
  for (int way = 0; way < 2; way++) {
    float ms;
    for (int i = 0; i < 3; i++) CUDA(cudaGraphLaunch(exec[way], stream));
    CUDA(cudaEventRecord(start, stream));
    for (int i = 0; i < ROUNDS; i++) CUDA(cudaGraphLaunch(exec[way], stream));
    CUDA(cudaEventRecord(end, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaEventElapsedTime(&ms, start, end));
    speed[way] = (double)count * (double)bytes * ROUNDS / ms / 1e6;
  }
  CUDA(cudaMemcpy(outcome, results, 2 * count * sizeof *outcome, cudaMemcpyDeviceToHost));
  CUDA(cudaMemcpy(y, restored, count * bytes, cudaMemcpyDeviceToHost));
  double compressed = 0.0, worst = 0.0;
  for (size_t i = 0; i < count; i++) {
    float low = INFINITY, high = -INFINITY, error = 0.0f;
    for (size_t k = i * elements; k < (i + 1) * elements; k++) {
      low = fminf(low, x[k]);
      high = fmaxf(high, x[k]);
      error = fmaxf(error, fabsf(x[k] - y[k]));
    }
    worst = fmax(worst, error / (1e-3 * ((double)high - low)));
    compressed += (double)outcome[i].bytes;
    if (outcome[i].status || outcome[count + i].status) return fprintf(stderr, "patch %zu: statuses %d and %d\n", i, outcome[i].status, outcome[count + i].status), 1;
  }
  printf("%s, %5zu patches of %2llu^3: compress %7.1f GB/s, decompress %7.1f GB/s, ratio %.2f, worst error / bound %.4f, device memory %.1f MiB\n", preset, count,
         (unsigned long long)side, speed[0], speed[1], (double)count * (double)bytes / compressed, worst, (double)memory / 1048576.0);

  void *const memory_of_device[] = {field, containers, restored, results, d.field, d.container, d.restored, d.capacity, d.bytes};
  void *const memory_of_host[] = {plans, x, y, outcome, t.field, t.container, t.restored, t.capacity, t.bytes};
  for (int i = 0; i < 9; i++) {
    CUDA(cudaFree(memory_of_device[i]));
    free(memory_of_host[i]);
  }
  for (int way = 0; way < 2; way++) {
    CUDA(cudaGraphExecDestroy(exec[way]));
    CUDA(cudaGraphDestroy(graph[way]));
  }
  CUDA(cudaStreamDestroy(stream));
  fz_batch_workspace_free(decoding);
  fz_batch_workspace_free(encoding);
  fz_batch_plan_free(decoders);
  fz_batch_plan_free(encoders);
  fz_plan_free(decoder);
  fz_plan_free(encoder);
  fz_pipeline_free(pipeline);
  return worst <= 1.0 ? 0 : 1;
}

int main(int argc, char **argv) {
  const char *preset = argc > 1 ? argv[1] : "fast";
  const size_t megabytes = argc > 2 ? strtoull(argv[2], NULL, 10) : 512;
  for (uint64_t side = 16; side <= 64; side *= 2)
    if (run(preset, side, megabytes)) return 1;
  return 0;
}
