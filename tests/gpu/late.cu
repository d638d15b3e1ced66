// On a machine with a GPU and nvcc: calls return while a kernel ahead of them on the same stream still runs, and their
// results are right once it has ended. Uses the installed header and library as any program does.
//
//   nvcc -O2 -I include tests/gpu/late.cu -L lib -lfzgm -o late && ./late
#include <cuda_runtime.h>
#include <fzgm.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY(call) \
  do { \
    if ((call) != 0) { fprintf(stderr, "%s:%d: %s failed: %s\n", __FILE__, __LINE__, #call, fz_last_error()); exit(1); } \
  } while (0)

__global__ void spin(long long cycles) {
  for (long long start = clock64(); clock64() - start < cycles;) {}
}

int main() {
  const uint64_t n = 1 << 22, bytes = n * sizeof(float);
  float *host = (float *)malloc(bytes), *src, *back;
  for (uint64_t i = 0; i < n; i++) host[i] = sinf(i * 1e-3f) + 0.1f * cosf(i * 0.37f);
  TRY(cudaMalloc(&src, bytes));
  TRY(cudaMalloc(&back, bytes));
  TRY(cudaMemcpy(src, host, bytes, cudaMemcpyHostToDevice));

  fz_pipeline *pipeline;
  TRY(fz_pipeline_from_preset("pfpl", FZ_F32, &pipeline));
  TRY(fz_pipeline_set_string(pipeline, FZ_EVERY_STAGE, "mode", "abs"));
  TRY(fz_pipeline_set_double(pipeline, FZ_EVERY_STAGE, "error_bound", 1e-3));
  fz_plan *encoder, *decoder;
  TRY(fz_pipeline_finalize(pipeline, FZ_F32, &n, 1, NULL, &encoder));
  TRY(fz_plan_decoder(encoder, &decoder));
  fz_workspace *encoding, *decoding;
  TRY(fz_workspace_new(encoder, &encoding));
  TRY(fz_workspace_new(decoder, &decoding));
  uint64_t most;
  TRY(fz_max_compressed_bytes(encoder, &most));
  void *container;
  fz_result *results;
  TRY(cudaMalloc(&container, most));
  TRY(cudaMallocHost(&results, 2 * sizeof *results));

  cudaStream_t stream;
  TRY(cudaStreamCreate(&stream));
  TRY(fz_plan_preload(encoder, encoding, stream));
  TRY(fz_plan_preload(decoder, decoding, stream));
  spin<<<1, 1, 0, stream>>>(2000000000ll);  // about a second
  TRY(fz_compress_async(encoder, encoding, src, bytes, container, most, &results[0], stream));
  TRY(fz_decompress_async(decoder, decoding, container, most, back, bytes, &results[1], stream));
  const cudaError_t still = cudaStreamQuery(stream);
  TRY(cudaStreamSynchronize(stream));
  if (still != cudaErrorNotReady) { fprintf(stderr, "the calls waited for the kernel ahead of them\n"); return 1; }
  if (results[0].status || results[1].status) { fprintf(stderr, "status %d, %d\n", results[0].status, results[1].status); return 1; }

  float *restored = (float *)malloc(bytes);
  TRY(cudaMemcpy(restored, back, bytes, cudaMemcpyDeviceToHost));
  double worst = 0;
  for (uint64_t i = 0; i < n; i++) worst = fmax(worst, fabs((double)restored[i] - host[i]));
  printf("calls returned while the kernel ran; %llu bytes to %llu, worst error %g\n", (unsigned long long)bytes,
         (unsigned long long)results[0].bytes, worst);
  return worst <= 1e-3 ? 0 : 1;
}
