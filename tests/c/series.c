/* Series of steps, and arrays with ghost cells. */
#include "check.h"

enum { NX = 60, NY = 40, G = 2, ROW = NX + 2 * G, ALL = ROW * (NY + 2 * G), N = NX * NY };
static float x[ALL], y[ALL], packed[N], restored[N];
static const uint64_t dims[2] = {NX, NY};

static fz_view interior(float *grid) {
  fz_view view;
  FZ_INIT(view);
  view.dtype = FZ_F32;
  view.ndim = 2;
  view.origin = grid + G * ROW + G;
  view.dims[0] = NX;
  view.dims[1] = NY;
  view.strides[0] = 1;
  view.strides[1] = ROW;
  return view;
}

static void views(const fz_plan *encoder, fz_workspace *workspace) {
  fz_view src = interior(x), dst = interior(y);
  uint64_t capacity = 0, bytes = 0, want_bytes = 0, length = 0;
  unsigned char *container, *want;
  fz_plan *decoder = NULL;
  size_t i, j;
  OK(fz_max_compressed_bytes(encoder, &capacity));
  container = guarded_new(capacity);
  want = guarded_new(capacity);
  OK(fz_compress(encoder, workspace, packed, sizeof packed, want, capacity, &want_bytes));
  OK(fz_compress_view(encoder, workspace, &src, container, capacity, &bytes));
  CHECK(bytes == want_bytes && memcmp(container, want, bytes) == 0 && guarded_intact(container, capacity));
  OK(fz_compress_view(encoder, NULL, &src, container, bytes, &bytes));
  GIVES(FZ_DST_TOO_SMALL, fz_compress_view(encoder, NULL, &src, container, bytes - 1, &bytes));

  for (i = 0; i < ALL; i++) y[i] = 1e30f;
  OK(fz_decompress(NULL, NULL, container, bytes, restored, sizeof restored, &length));
  OK(fz_decompress_view(NULL, NULL, container, bytes, &dst, &length));
  CHECK(length == sizeof packed);
  for (j = 0; j < NY + 2 * G; j++) {
    for (i = 0; i < ROW; i++) {
      const int inside = i >= G && i < G + NX && j >= G && j < G + NY;
      const float value = y[j * ROW + i], expected = inside ? restored[(j - G) * NX + i - G] : 1e30f;
      CHECK(memcmp(&value, &expected, sizeof value) == 0);
    }
  }
  /* Upside down, into a grid without ghost cells. */
  OK(fz_plan_decoder(encoder, &decoder));
  dst.origin = y + (NY - 1) * NX;
  dst.strides[1] = -NX;
  OK(fz_decompress_view(decoder, NULL, container, bytes, &dst, &length));
  CHECK(memcmp(y, restored + (NY - 1) * NX, NX * sizeof *y) == 0);

  src.strides[1] = 0; /* one row in place of all */
  OK(fz_compress_view(encoder, NULL, &src, container, capacity, &bytes));
  GIVES(FZ_INVALID_ARGUMENT, fz_decompress_view(NULL, NULL, want, want_bytes, &src, &length));
  CHECK(strstr(fz_last_error(), "no two elements share a place") != NULL);
  dst = interior(y);
  dst.dims[1]--;
  GIVES(FZ_PLAN_MISMATCH, fz_decompress_view(NULL, NULL, want, want_bytes, &dst, &length));
  GIVES(FZ_PLAN_MISMATCH, fz_compress_view(encoder, NULL, &dst, container, capacity, &bytes));
  dst = interior(y);
  dst.origin = NULL;
  GIVES(FZ_NULL_POINTER, fz_decompress_view(NULL, NULL, want, want_bytes, &dst, &length));
  dst.origin = want - 16; /* the elements include the container */
  GIVES(FZ_INVALID_ARGUMENT, fz_decompress_view(NULL, NULL, want, want_bytes, &dst, &length));
  GIVES(FZ_INVALID_ARGUMENT, fz_compress_view(encoder, NULL, &dst, want, capacity, &bytes));
  CHECK(strstr(fz_last_error(), "src and dst overlap") != NULL);
  want[want_bytes / 2] ^= 1;
  dst = interior(y);
  y[G * ROW + G] = 7.0f;
  CHECK(fz_decompress_view(NULL, NULL, want, want_bytes, &dst, &length) != FZ_OK && y[G * ROW + G] == 7.0f);
  guarded_free(container);
  guarded_free(want);
  fz_plan_free(decoder);
}

/* Twenty steps with readers between the appends, then a step of slabs. */
static void steps(const fz_plan *encoder, fz_workspace *workspace, const fz_plan *half) {
  static const char path[] = "series_test.fzs";
  fz_series_writer *writer = NULL, *second = NULL;
  fz_series *series = NULL;
  fz_series_summary about;
  fz_step step;
  uint64_t at = 99, bytes = 0, length = 0, capacity = 0, origin[2] = {5, 7}, extent[2] = {20, 1};
  unsigned char *container;
  char name[16];
  int i;
  (void)remove(path);
  OK(fz_series_writer_open(path, 1, &writer));
  if (fz_series_writer_open(path, 1, &second) != FZ_FILE) CHECK(0);
  OK(fz_max_compressed_bytes(half, &capacity));
  container = guarded_new(capacity);
  for (i = 0; i < 20; i++) {
    sprintf(name, "t%d", i);
    packed[0] = (float)i;
    OK(fz_series_append(writer, i == 3 ? NULL : name, encoder, workspace, packed, sizeof packed, &at));
    CHECK(at == (uint64_t)i);
    OK(fz_series_open(path, &series));
    FZ_INIT(about);
    OK(fz_series_info(series, &about));
    CHECK(about.steps == (uint64_t)i + 1 && about.indexed == 1 && about.lost_bytes == 0);
    OK(fz_series_read(series, at, NULL, restored, sizeof restored, &length));
    CHECK(length == sizeof packed && fabsf(restored[0] - (float)i) <= 1e-2f * 100.0f);
    fz_series_free(series);
  }
  OK(fz_series_begin(writer, "halves", FZ_F32, dims, 2, NY / 2));
  for (i = 0; i < 2; i++) {
    OK(fz_compress(half, NULL, packed + i * (N / 2), sizeof packed / 2, container, capacity, &bytes));
    OK(fz_series_slab(writer, container, bytes));
  }
  OK(fz_series_end(writer, &at));
  OK(fz_series_begin(writer, "not ended", FZ_F32, dims, 2, NY / 2));
  fz_series_writer_free(writer);

  OK(fz_series_open(path, &series));
  OK(fz_series_find(series, "halves", &at));
  FZ_INIT(step);
  OK(fz_series_step_info(series, at, &step));
  CHECK(at == 20 && step.slabs == 2 && step.slab_rows == NY / 2 && step.dims[1] == NY && step.dims[2] == 1);
  CHECK(step.original_bytes == sizeof packed && step.stored_bytes > 2 * bytes / 2 && strcmp(step.name, "halves") == 0);
  OK(fz_series_read(series, at, NULL, restored, sizeof restored, &length));
  OK(fz_series_read_region(series, at, origin, extent, 2, y, sizeof y, &length));
  CHECK(length == 20 * sizeof *y && memcmp(y, restored + 7 * NX + 5, length) == 0);
  GIVES(FZ_UNKNOWN_NAME, fz_series_find(series, "not ended", &at));
  GIVES(FZ_INVALID_ARGUMENT, fz_series_read(series, 21, NULL, restored, sizeof restored, &length));
  GIVES(FZ_DST_TOO_SMALL, fz_series_read(series, 0, NULL, restored, sizeof restored - 1, &length));
  fz_series_free(series);
  CHECK(remove(path) == 0);
  GIVES(FZ_FILE, fz_series_open(path, &series));
  guarded_free(container);
}

int main(void) {
  fz_pipeline *pipeline = pfpl_noa(1e-4);
  const uint64_t half_dims[2] = {NX, NY / 2};
  fz_plan *encoder = plan_of(pipeline, dims, 2, NULL), *half = plan_of(pipeline, half_dims, 2, NULL);
  fz_workspace *workspace = NULL;
  size_t j;
  fill(x, ALL);
  for (j = 0; j < NY; j++) memcpy(packed + j * NX, x + (j + G) * ROW + G, NX * sizeof *x);
  OK(fz_workspace_new(encoder, &workspace));
  views(encoder, workspace);
  steps(encoder, workspace, half);
  fz_workspace_free(workspace);
  fz_plan_free(encoder);
  fz_plan_free(half);
  fz_pipeline_free(pipeline);
  puts("series of steps, and arrays with ghost cells");
  return 0;
}
