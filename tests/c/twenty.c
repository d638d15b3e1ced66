/* A program of twenty lines, for packages: an array goes in and comes back. */
#include <fzgm.h>
#include <stdio.h>

#define TRY(call) if ((call) != FZ_OK) return fprintf(stderr, "%s\n", fz_last_error()), 1

int main(void) {
  static float x[1000], y[1000];
  static unsigned char container[16384];
  const uint64_t dims[1] = {1000};
  uint64_t bytes, restored, i;
  fz_pipeline *pipeline;
  fz_plan *plan;
  for (i = 0; i < 1000; i++) x[i] = (float)i / 7.0f;
  TRY(fz_pipeline_from_preset("pfpl", FZ_F32, &pipeline));
  TRY(fz_pipeline_finalize(pipeline, FZ_F32, dims, 1, NULL, &plan));
  TRY(fz_compress(plan, NULL, x, sizeof x, container, sizeof container, &bytes));
  TRY(fz_decompress(NULL, NULL, container, bytes, y, sizeof y, &restored));
  for (i = 0; i < 1000; i++) if (x[i] - y[i] > 0.15f || y[i] - x[i] > 0.15f) return 1;
  printf("%s: %d bytes, and back\n", fz_version(), (int)bytes);
  fz_plan_free(plan);
  fz_pipeline_free(pipeline);
  return 0;
}
