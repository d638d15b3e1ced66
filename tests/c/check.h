/* Shared by the C and C++ tests: checks that print place and reason, a field to compress, and the bound computed in C. */
#ifndef CHECK_H
#define CHECK_H

#include <fzgm.h> /* first: the header must compile alone */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                               \
  do {                                                                                                 \
    if (!(condition)) {                                                                                \
      fprintf(stderr, "%s:%d: not true: %s (last error: %s)\n", __FILE__, __LINE__, #condition, fz_last_error()); \
      exit(1);                                                                                         \
    }                                                                                                  \
  } while (0)

/* The call gives this status, and a text when the status is a failure. */
#define GIVES(status, call)                                                                            \
  do {                                                                                                 \
    const int32_t got_ = (call);                                                                       \
    if (got_ != (status) || (got_ != FZ_OK && fz_last_error()[0] == '\0')) {                           \
      fprintf(stderr, "%s:%d: %s gives %d (%s), expected %d; last error: %s\n", __FILE__, __LINE__, #call, (int)got_, \
              fz_strerror(got_), (int)(status), fz_last_error());                                      \
      exit(1);                                                                                         \
    }                                                                                                  \
  } while (0)

#define OK(call) GIVES(FZ_OK, call)

enum { GUARD_BYTES = 64, GUARD = 0xA5 };

/* Memory between two runs of guard bytes. */
static inline unsigned char *guarded_new(size_t bytes) {
  unsigned char *base = (unsigned char *)malloc(bytes + 2 * GUARD_BYTES);
  CHECK(base != NULL);
  memset(base, GUARD, bytes + 2 * GUARD_BYTES);
  return base + GUARD_BYTES;
}

static inline int guarded_intact(const unsigned char *memory, size_t bytes) {
  size_t i;
  for (i = 0; i < GUARD_BYTES; i++) {
    if (memory[-1 - (ptrdiff_t)i] != GUARD || memory[bytes + i] != GUARD) return 0;
  }
  return 1;
}

static inline void guarded_free(unsigned char *memory) {
  free(memory - GUARD_BYTES);
}

/* A smooth field with a kink, noise in its last digits and both signs. */
static inline void fill(float *x, size_t count) {
  unsigned noise = 1;
  size_t i;
  for (i = 0; i < count; i++) {
    noise = noise * 1664525u + 1013904223u;
    x[i] = 40.0f * sinf((float)i / 57.0f) + (float)(i % 1000) / 250.0f + (float)(noise >> 16) * 1e-7f;
  }
}

/* The largest |x - y|, in double so that the check does not round in favor of the library. */
static inline double worst_error(const float *x, const float *y, size_t count) {
  double worst = 0.0;
  size_t i;
  for (i = 0; i < count; i++) {
    const double error = fabs((double)x[i] - (double)y[i]);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

static inline double range_of(const float *x, size_t count) {
  double low = x[0], high = x[0];
  size_t i;
  for (i = 1; i < count; i++) {
    if (x[i] < low) low = x[i];
    if (x[i] > high) high = x[i];
  }
  return high - low;
}

/* The preset pfpl with a bound relative to the value range. */
static inline fz_pipeline *pfpl_noa(double bound) {
  fz_pipeline *pipeline = NULL;
  OK(fz_pipeline_from_preset("pfpl", FZ_F32, &pipeline));
  OK(fz_pipeline_set_string(pipeline, FZ_EVERY_STAGE, "mode", "noa"));
  OK(fz_pipeline_set_double(pipeline, FZ_EVERY_STAGE, "error_bound", bound));
  return pipeline;
}

static inline fz_plan *plan_of(const fz_pipeline *pipeline, const uint64_t *dims, uint32_t ndim, const fz_options *options) {
  fz_plan *plan = NULL;
  OK(fz_pipeline_finalize(pipeline, FZ_F32, dims, ndim, options, &plan));
  CHECK(plan != NULL);
  return plan;
}

/* Compresses into memory of the promised size between guards; the caller frees it with guarded_free. */
static inline unsigned char *compressed(const fz_plan *plan, fz_workspace *workspace, const float *x, size_t count, uint64_t *bytes) {
  uint64_t capacity = 0;
  unsigned char *memory;
  OK(fz_max_compressed_bytes(plan, &capacity));
  CHECK(capacity > 0);
  memory = guarded_new((size_t)capacity);
  OK(fz_compress(plan, workspace, x, count * sizeof *x, memory, capacity, bytes));
  CHECK(*bytes > 0 && *bytes <= capacity && guarded_intact(memory, (size_t)capacity));
  return memory;
}

#endif
