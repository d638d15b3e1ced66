/* A field there and back: every shape, both containers, every way to a decoder; the bound is checked here, in C. */
#include "check.h"

static void restored_by(const fz_plan *decoder, fz_workspace *workspace, const unsigned char *container, uint64_t container_bytes,
                        const float *x, size_t count, double bound) {
  const size_t bytes = count * sizeof *x;
  unsigned char *memory = guarded_new(bytes);
  uint64_t restored = 0;
  OK(fz_decompress(decoder, workspace, container, container_bytes, memory, bytes, &restored));
  CHECK(restored == bytes);
  CHECK(guarded_intact(memory, bytes));
  if (count > 0) {
    float *y = (float *)malloc(bytes);
    CHECK(y != NULL);
    memcpy(y, memory, bytes);
    CHECK(worst_error(x, y, count) <= bound);
    free(y);
  }
  guarded_free(memory);
}

static void round_trip(const uint64_t *dims, uint32_t ndim, size_t count, int32_t kind) {
  const double relative = 1e-3;
  float *x = (float *)malloc(count * sizeof *x + 1);
  fz_pipeline *pipeline = pfpl_noa(relative);
  fz_options options;
  fz_plan *plan, *mirror = NULL, *opened = NULL;
  fz_workspace *encoding = NULL, *decoding = NULL;
  fz_info info;
  uint64_t bytes = 0, again = 0, workspace_bytes = 0, lengths[FZ_MAX_DIMS];
  unsigned char *container, *second;
  double bound;
  uint32_t i, kept = 0;

  CHECK(x != NULL);
  fill(x, count);
  bound = count > 0 ? relative * range_of(x, count) : 0.0;

  OK(fz_options_init(&options));
  options.container = kind;
  plan = plan_of(pipeline, dims, ndim, &options);
  OK(fz_workspace_bytes(plan, &workspace_bytes));
  OK(fz_workspace_new(plan, &encoding));

  container = compressed(plan, NULL, x, count, &bytes);
  second = compressed(plan, encoding, x, count, &again);
  CHECK(again == bytes && memcmp(container, second, (size_t)bytes) == 0);
  guarded_free(second);
  second = compressed(plan, encoding, x, count, &again); /* a used workspace changes nothing */
  CHECK(again == bytes && memcmp(container, second, (size_t)bytes) == 0);
  guarded_free(second);

  memset(&info, 0, sizeof info);
  info.struct_bytes = sizeof info;
  OK(fz_container_info(container, bytes, &info));
  OK(fz_container_shape(container, bytes, lengths, &kept));
  CHECK(kept == ndim);
  for (i = 0; i < FZ_MAX_DIMS; i++) CHECK(lengths[i] == (i < ndim ? dims[i] : 1));
  CHECK(info.struct_bytes == sizeof info);
  CHECK(info.container == kind);
  CHECK(info.dtype == FZ_F32);
  CHECK(info.original_bytes == count * sizeof *x);
  CHECK(info.container_bytes == bytes);
  CHECK(info.stages >= 1);
  CHECK(info.ndim >= 1 && info.ndim <= 3);
  if (info.stages > 1) { /* an array that does not compress is stored: one stage, lossless */
    CHECK(info.mode == FZ_MODE_NOA && info.strict == 1);
    CHECK(kind == FZ_CONTAINER_FZM ? info.bound == relative : (float)info.bound == (float)relative);
  } else {
    CHECK(info.mode == FZ_MODE_LOSSLESS && info.bound == 0.0);
  }
  CHECK(count < 4096 || info.stages > 1);
  CHECK(info.ndim == (ndim < 3 ? ndim : 3));
  for (i = 0; i < (ndim > 3 ? 2 : ndim); i++) CHECK(info.dims[i] == dims[i]);

  OK(fz_plan_decoder(plan, &mirror));
  OK(fz_plan_open(container, bytes, NULL, &opened));
  OK(fz_workspace_new(opened, &decoding));
  restored_by(NULL, NULL, container, bytes, x, count, bound);
  restored_by(mirror, NULL, container, bytes, x, count, bound);
  restored_by(opened, NULL, container, bytes, x, count, bound);
  restored_by(opened, decoding, container, bytes, x, count, bound);
  restored_by(opened, decoding, container, bytes, x, count, bound);

  fz_workspace_free(decoding);
  fz_workspace_free(encoding);
  fz_plan_free(opened);
  fz_plan_free(mirror);
  fz_plan_free(plan);
  fz_pipeline_free(pipeline);
  guarded_free(container);
  free(x);
}

/* Values that no bound covers are restored bit for bit and do not affect others. */
static void specials(void) {
  enum { N = 5000 };
  static float x[N], y[N];
  const uint64_t dims[1] = {N};
  const uint32_t payload = 0x7fc12345u;
  fz_pipeline *pipeline = pfpl_noa(1e-3);
  fz_plan *plan = plan_of(pipeline, dims, 1, NULL);
  unsigned char *container;
  uint64_t bytes = 0, restored = 0;
  double bound;
  size_t i;

  fill(x, N);
  bound = 1e-3 * range_of(x, N);
  memcpy(&x[17], &payload, sizeof payload);
  x[18] = HUGE_VALF;
  x[4000] = -HUGE_VALF;
  container = compressed(plan, NULL, x, N, &bytes);
  OK(fz_decompress(NULL, NULL, container, bytes, y, sizeof y, &restored));
  CHECK(restored == sizeof y);
  for (i = 0; i < N; i++) {
    if (i == 17 || i == 18 || i == 4000) {
      CHECK(memcmp(&x[i], &y[i], sizeof x[i]) == 0);
    } else {
      CHECK(fabs((double)x[i] - (double)y[i]) <= bound);
    }
  }
  guarded_free(container);
  fz_plan_free(plan);
  fz_pipeline_free(pipeline);
}

int main(void) {
  static const uint64_t more[FZ_MAX_DIMS] = {5, 4, 3, 2, 3, 2, 2, 3};
  static const uint64_t shapes[][3] = {{1, 1, 1}, {2, 1, 1}, {13, 1, 1}, {4096, 1, 1}, {50001, 1, 1}, {144, 73, 1}, {31, 17, 11}};
  size_t i;
  int32_t kind;
  for (kind = FZ_CONTAINER_FZM; kind <= FZ_CONTAINER_COMPACT; kind++) {
    for (i = 0; i < sizeof shapes / sizeof *shapes; i++) {
      const uint64_t *s = shapes[i];
      const uint32_t ndim = s[2] > 1 ? 3 : s[1] > 1 ? 2 : 1;
      round_trip(s, ndim, (size_t)(s[0] * s[1] * s[2]), kind);
    }
    round_trip(more, 4, 120, kind);
    round_trip(more, FZ_MAX_DIMS, 4320, kind);
  }
  specials();
  printf("fzgm %s: round trips within the bound\n", fz_version());
  return 0;
}
