/* Compresses a field that lies on a GPU and restores it there, on a stream of its own, and prints ratio, speed, and errors.
 *
 *   cc compress_cuda.c -lfzgm -lcudart -lm        with the CUDA toolkit in the paths of compiler and linker
 *   compress_cuda [<nx> [<ny> [<nz>]]]            x runs fastest; 512 512 512 unless given */
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

int main(int argc, char **argv) {
  const double relative_bound = 1e-3; /* of the value range */
  uint64_t dims[3] = {512, 512, 512}, capacity;
  for (int d = 0; d < 3 && argc > 1; d++) dims[d] = d + 1 < argc ? strtoull(argv[d + 1], NULL, 10) : 1;
  const size_t count = (size_t)(dims[0] * dims[1] * dims[2]), bytes = count * sizeof(float);

  /* As with arrays of the host; FZ_DEVICE_AUTO, the default, leaves it to the stream which GPU works. */
  fz_pipeline *pipeline;
  fz_plan *plan, *decoder;
  TRY(fz_pipeline_from_preset("pfpl", FZ_F32, &pipeline));
  TRY(fz_pipeline_set_string(pipeline, FZ_EVERY_STAGE, "mode", "noa"));
  TRY(fz_pipeline_set_double(pipeline, FZ_EVERY_STAGE, "error_bound", relative_bound));
  TRY(fz_pipeline_finalize(pipeline, FZ_F32, dims, 3, NULL, &plan));
  TRY(fz_plan_decoder(plan, &decoder));
  TRY(fz_max_compressed_bytes(plan, &capacity));

  float *x = malloc(bytes), *y = malloc(bytes), *field, *restored;
  if (!x || !y) return fprintf(stderr, "out of memory\n"), 1;
  double low = INFINITY, high = -INFINITY;
  for (size_t i = 0; i < count; i++) {
    x[i] = sinf((float)(i % dims[0]) * 0.01f) * cosf((float)(i / dims[0] % dims[1]) * 0.02f) + (float)(i / dims[0] / dims[1]) * 1e-3f;
    low = fmin(low, x[i]);
    high = fmax(high, x[i]);
  }

  cudaStream_t stream;
  cudaEvent_t start, between, end;
  void *container;
  fz_result *results, outcome[2]; /* one for each call, in device memory */
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CUDA(cudaEventCreate(&start));
  CUDA(cudaEventCreate(&between));
  CUDA(cudaEventCreate(&end));
  CUDA(cudaMalloc((void **)&field, bytes));
  CUDA(cudaMalloc((void **)&restored, bytes));
  CUDA(cudaMalloc(&container, capacity));
  CUDA(cudaMalloc((void **)&results, sizeof outcome));
  CUDA(cudaMemcpy(field, x, bytes, cudaMemcpyHostToDevice));

  /* A workspace for each call in flight. After fz_plan_preload() a call puts work on the stream and does nothing else. */
  fz_workspace *encoding, *decoding;
  TRY(fz_workspace_new(plan, &encoding));
  TRY(fz_workspace_new(decoder, &decoding));
  TRY(fz_plan_preload(plan, encoding, stream));
  TRY(fz_plan_preload(decoder, decoding, stream));

  for (int turn = 0; turn < 2; turn++) { /* the first one warms up */
    CUDA(cudaEventRecord(start, stream));
    TRY(fz_compress_async(plan, encoding, field, bytes, container, capacity, &results[0], stream));
    CUDA(cudaEventRecord(between, stream));
    /* The length of the container is known to the device alone, and that is enough. */
    TRY(fz_decompress_async(decoder, decoding, container, capacity, restored, bytes, &results[1], stream));
    CUDA(cudaEventRecord(end, stream));
  }
  CUDA(cudaMemcpyAsync(outcome, results, sizeof outcome, cudaMemcpyDeviceToHost, stream));
  CUDA(cudaMemcpyAsync(y, restored, bytes, cudaMemcpyDeviceToHost, stream));
  CUDA(cudaStreamSynchronize(stream));
  for (int i = 0; i < 2; i++) {
    if (outcome[i].status != FZ_OK) return fprintf(stderr, "%s (stage %u)\n", fz_strerror(outcome[i].status), outcome[i].stage), 1;
  }

  float compress_ms, decompress_ms;
  CUDA(cudaEventElapsedTime(&compress_ms, start, between));
  CUDA(cudaEventElapsedTime(&decompress_ms, between, end));
  double worst = 0.0;
  for (size_t i = 0; i < count; i++) worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
  const double bound = relative_bound * (high - low);
  printf("fzgm %s: %zu -> %llu bytes, ratio %.2f\n", fz_version(), bytes, (unsigned long long)outcome[0].bytes, (double)bytes / (double)outcome[0].bytes);
  printf("compress %.1f GB/s, decompress %.1f GB/s\n", (double)bytes / compress_ms / 1e6, (double)bytes / decompress_ms / 1e6);
  printf("bound %g, worst error %g, worst error / bound %.4f\n", bound, worst, worst / bound);

  fz_workspace_free(decoding);
  fz_workspace_free(encoding);
  fz_plan_free(decoder);
  fz_plan_free(plan);
  fz_pipeline_free(pipeline);
  CUDA(cudaFree(results));
  CUDA(cudaFree(container));
  CUDA(cudaFree(restored));
  CUDA(cudaFree(field));
  CUDA(cudaStreamDestroy(stream));
  free(y);
  free(x);
  return worst <= bound ? 0 : 1;
}
