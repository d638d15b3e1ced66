/* The cost of a call besides its work: the shortest one, in each floating-point environment of its caller. A figure to read, not a test. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "environments.h"

#include <time.h>

enum { CALLS = 100000, RUNS = 20 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void measure(const fz_plan *plan, const char *name, uint64_t bits) {
  double best = 1e30;
  int run;
  for (run = 0; run < RUNS; run++) {
    const double start = now();
    double time;
    uint64_t bytes;
    int i, failed = 0;
    environment_set(bits);
    for (i = 0; i < CALLS; i++) failed |= fz_max_compressed_bytes(plan, &bytes);
    environment_set(DEFAULT_ENVIRONMENT);
    time = now() - start;
    CHECK(!failed);
    if (time < best) best = time;
  }
  printf("%6.1f ns  fz_max_compressed_bytes, %s\n", best / CALLS, name);
}

int main(void) {
  const uint64_t dims[1] = {1000};
  fz_pipeline *pipeline = pfpl_noa(1e-3);
  fz_plan *plan = plan_of(pipeline, dims, 1, NULL);
  int i;
  measure(plan, "default", DEFAULT_ENVIRONMENT);
  for (i = 0; i < (int)ENVIRONMENTS; i++) measure(plan, environments[i].name, environments[i].bits);
  fz_plan_free(plan);
  fz_pipeline_free(pipeline);
  return 0;
}
