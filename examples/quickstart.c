/* Compresses a raw float32 file in memory, restores it, and prints ratio and errors.
 *
 *   quickstart <file.f32> <nx> [<ny> [<nz>]]        x runs fastest */
#include <fzgm.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TRY(call)                                                                  \
  do {                                                                             \
    if ((call) != FZ_OK) {                                                         \
      fprintf(stderr, "%s: %s\n", #call, fz_last_error());                         \
      return 1;                                                                    \
    }                                                                              \
  } while (0)

static double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  const double relative_bound = 1e-3; /* of the value range */
  uint64_t dims[3] = {1, 1, 1}, count = 1, capacity, bytes, restored;
  const uint32_t ndim = (uint32_t)(argc - 2);
  if (argc < 3 || argc > 5) return fprintf(stderr, "usage: %s <file.f32> <nx> [<ny> [<nz>]]\n", argv[0]), 2;
  for (uint32_t d = 0; d < ndim; d++) count *= dims[d] = strtoull(argv[d + 2], NULL, 10);

  float *x = malloc(count * sizeof *x), *y = malloc(count * sizeof *y);
  FILE *file = fopen(argv[1], "rb");
  if (!x || !y || !file || fread(x, sizeof *x, count, file) != count) return fprintf(stderr, "cannot read %s\n", argv[1]), 1;
  fclose(file);

  /* A pipeline of stages, and a plan for this type and shape, shared by any number of threads. */
  fz_pipeline *pipeline;
  fz_plan *plan, *decoder;
  TRY(fz_pipeline_from_preset("pfpl", FZ_F32, &pipeline));
  TRY(fz_pipeline_set_string(pipeline, FZ_EVERY_STAGE, "mode", "noa"));
  TRY(fz_pipeline_set_double(pipeline, FZ_EVERY_STAGE, "error_bound", relative_bound));
  TRY(fz_pipeline_finalize(pipeline, FZ_F32, dims, ndim, NULL, &plan));
  TRY(fz_plan_decoder(plan, &decoder));

  /* One workspace per call in flight; calls reuse its memory. */
  fz_workspace *encoding, *decoding;
  TRY(fz_workspace_new(plan, &encoding));
  TRY(fz_workspace_new(decoder, &decoding));
  TRY(fz_max_compressed_bytes(plan, &capacity));
  void *container = malloc(capacity);
  if (!container) return fprintf(stderr, "out of memory\n"), 1;

  double compress_s = 1e9, decompress_s = 1e9; /* the best of five */
  for (int turn = 0; turn < 5; turn++) {
    const double t0 = now();
    TRY(fz_compress(plan, encoding, x, count * sizeof *x, container, capacity, &bytes));
    const double t1 = now();
    TRY(fz_decompress(decoder, decoding, container, bytes, y, count * sizeof *y, &restored));
    compress_s = fmin(compress_s, t1 - t0);
    decompress_s = fmin(decompress_s, now() - t1);
  }

  double low = x[0], high = x[0], worst = 0.0;
  for (uint64_t i = 0; i < count; i++) {
    low = fmin(low, x[i]);
    high = fmax(high, x[i]);
    worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
  }
  const double original = (double)(count * sizeof *x), bound = relative_bound * (high - low);
  printf("fzgm %s: %.0f -> %.0f bytes, ratio %.2f\n", fz_version(), original, (double)bytes, original / (double)bytes);
  printf("compress %.2f GB/s, decompress %.2f GB/s, one thread\n", original / compress_s / 1e9, original / decompress_s / 1e9);
  printf("bound %g, worst error %g, worst error / bound %.4f\n", bound, worst, worst / bound);

  fz_workspace_free(decoding);
  fz_workspace_free(encoding);
  fz_plan_free(decoder);
  fz_plan_free(plan);
  fz_pipeline_free(pipeline);
  free(container);
  free(y);
  free(x);
  return worst <= bound ? 0 : 1;
}
