/* Every argument that can be wrong, wrong: a status and a text, never a crash, and nothing written that was not asked for. */
#include "check.h"

enum { N = 3000 };
static float x[N], y[N];
static const uint64_t dims[1] = {N};

static void texts(void) {
  int32_t status;
  CHECK(fz_abi_version() == FZ_ABI_VERSION);
  CHECK(strlen(fz_version()) >= 5 && strlen(fz_build_info()) > 0);
  for (status = -100; status <= 200; status++) CHECK(fz_strerror(status) != NULL && fz_strerror(status)[0] != '\0');
  CHECK(strcmp(fz_strerror(FZ_OK), fz_strerror(12345)) != 0);
  CHECK(fz_last_error() != NULL && fz_last_error()[0] == '\0'); /* nothing has failed yet */
}

static void free_null(void) {
  fz_pipeline_free(NULL);
  fz_plan_free(NULL);
  fz_workspace_free(NULL);
}

static void pipelines(void) {
  fz_pipeline *p = NULL;
  fz_plan *plan = NULL;
  uint32_t stage = 77;
  fz_options options;
  const uint64_t zero[3] = {0, 1, 1}, huge[3] = {UINT64_MAX, UINT64_MAX, 2};
  static char text[65536 + 2];
  char *misaligned = (char *)&p + 1;

  GIVES(FZ_NULL_POINTER, fz_pipeline_new(NULL));
  GIVES(FZ_NULL_POINTER, fz_pipeline_from_preset(NULL, FZ_F32, &p));
  GIVES(FZ_NULL_POINTER, fz_pipeline_from_preset("pfpl", FZ_F32, NULL));
  GIVES(FZ_UNKNOWN_NAME, fz_pipeline_from_preset("no such preset", FZ_F32, &p));
  CHECK(strstr(fz_last_error(), "no such preset") != NULL && strstr(fz_last_error(), "pfpl") != NULL);
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_from_preset("\xff\xfe", FZ_F32, &p)); /* not UTF-8 */
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_from_preset("pfpl", 10, &p));
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_from_preset("pfpl", -1, &p));
  GIVES(FZ_UNSUPPORTED, fz_pipeline_from_preset("pfpl", FZ_I8, &p));
  CHECK(p == NULL);
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_new((fz_pipeline **)(void *)misaligned));
  memset(text, 'x', sizeof text - 1); /* one byte more than a text may have, and then the most */
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_from_preset(text, FZ_F32, &p));
  text[sizeof text - 2] = '\0';
  GIVES(FZ_UNKNOWN_NAME, fz_pipeline_from_preset(text, FZ_F32, &p));

  OK(fz_pipeline_new(&p));
  GIVES(FZ_NULL_POINTER, fz_pipeline_add_stage(NULL, "rze", &stage));
  GIVES(FZ_NULL_POINTER, fz_pipeline_add_stage(p, NULL, &stage));
  GIVES(FZ_UNKNOWN_NAME, fz_pipeline_add_stage(p, "no such stage", &stage));
  GIVES(FZ_INVALID_PIPELINE, fz_pipeline_finalize(p, FZ_F32, dims, 1, NULL, &plan)); /* no stage */
  CHECK(stage == 77);
  OK(fz_pipeline_add_stage(p, "quantizer", &stage));
  OK(fz_pipeline_add_stage(p, "rze", NULL)); /* who does not want the index need not take it */
  CHECK(stage == 0);
  GIVES(FZ_NULL_POINTER, fz_pipeline_set_double(NULL, stage, "error_bound", 1.0));
  GIVES(FZ_NULL_POINTER, fz_pipeline_set_double(p, stage, NULL, 1.0));
  GIVES(FZ_NULL_POINTER, fz_pipeline_set_string(p, stage, "mode", NULL));
  GIVES(FZ_UNKNOWN_NAME, fz_pipeline_set_double(p, stage, "no such parameter", 1.0));
  GIVES(FZ_UNKNOWN_NAME, fz_pipeline_set_int(p, FZ_EVERY_STAGE, "no such parameter", 1));
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_set_int(p, 5, "quant_radius", 1)); /* no such stage */
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_set_double(p, stage, "error_bound", -1.0));
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_set_double(p, stage, "error_bound", (double)NAN));
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_set_double(p, stage, "error_bound", (double)HUGE_VALF));
  CHECK(fz_pipeline_set_string(p, stage, "mode", "sideways") != FZ_OK);
  CHECK(fz_pipeline_set_string(p, stage, "error_bound", "1e-3 of it") != FZ_OK); /* not a number */
  OK(fz_pipeline_set_string(p, stage, "error_bound", "1e-3"));
  GIVES(FZ_NULL_POINTER, fz_pipeline_connect(NULL, 0, "codes", 1));
  GIVES(FZ_NULL_POINTER, fz_pipeline_connect(p, 0, NULL, 1));
  GIVES(FZ_UNKNOWN_NAME, fz_pipeline_connect(p, 0, "no such port", 1));
  CHECK(fz_pipeline_connect(p, 9, "codes", 1) != FZ_OK);
  CHECK(fz_pipeline_connect(p, 0, "codes", 9) != FZ_OK);
  CHECK(fz_pipeline_connect(p, 0, "codes", FZ_EVERY_STAGE) != FZ_OK);
  fz_pipeline_free(p);

  p = pfpl_noa(1e-3);
  GIVES(FZ_NULL_POINTER, fz_pipeline_finalize(NULL, FZ_F32, dims, 1, NULL, &plan));
  GIVES(FZ_NULL_POINTER, fz_pipeline_finalize(p, FZ_F32, NULL, 1, NULL, &plan));
  GIVES(FZ_NULL_POINTER, fz_pipeline_finalize(p, FZ_F32, dims, 1, NULL, NULL));
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_finalize(p, 99, dims, 1, NULL, &plan));
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_finalize(p, FZ_F32, dims, 0, NULL, &plan));
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_finalize(p, FZ_F32, dims, FZ_MAX_DIMS + 1, NULL, &plan));
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_finalize(p, FZ_F32, dims, UINT32_MAX, NULL, &plan));
  CHECK(fz_pipeline_finalize(p, FZ_F32, huge, 3, NULL, &plan) != FZ_OK);
  CHECK(fz_pipeline_finalize(p, FZ_F32, huge, 1, NULL, &plan) != FZ_OK);
  CHECK(fz_pipeline_finalize(p, FZ_I8, dims, 1, NULL, &plan) != FZ_OK); /* a preset for floats */
  OK(fz_options_init(&options));
  CHECK(options.struct_bytes == sizeof options && options.strict == 1 && options.threads == 1);
  CHECK(options.container == FZ_CONTAINER_FZM && options.generation == FZ_GENERATION_2026_08 && options.max_memory_bytes == 0);
  options.struct_bytes = 3;
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_finalize(p, FZ_F32, dims, 1, &options, &plan));
  OK(fz_options_init(&options));
  options.container = 55;
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_finalize(p, FZ_F32, dims, 1, &options, &plan));
  OK(fz_options_init(&options));
  options.generation = -2;
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_finalize(p, FZ_F32, dims, 1, &options, &plan));
  OK(fz_options_init(&options));
  options.strict = 2;
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_finalize(p, FZ_F32, dims, 1, &options, &plan));
  OK(fz_options_init(&options));
  options.checksum = -1;
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_finalize(p, FZ_F32, dims, 1, &options, &plan));
  OK(fz_options_init(&options));
  options.previous_base = 2;
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_finalize(p, FZ_F32, dims, 1, &options, &plan));
  OK(fz_options_init(&options));
  options.threads = UINT32_MAX;
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_finalize(p, FZ_F32, dims, 1, &options, &plan));
  OK(fz_options_init(&options));
  options.max_memory_bytes = 1;
  CHECK(fz_pipeline_finalize(p, FZ_F32, dims, 1, &options, &plan) != FZ_OK || plan != NULL);
  fz_plan_free(plan);
  plan = NULL;
  GIVES(FZ_NULL_POINTER, fz_options_init(NULL));

  /* a length may be 0 */
  OK(fz_pipeline_finalize(p, FZ_F32, zero, 1, NULL, &plan));
  {
    uint64_t bytes = 0, restored = 1;
    unsigned char *container = compressed(plan, NULL, x, 0, &bytes);
    OK(fz_decompress(NULL, NULL, container, bytes, NULL, 0, &restored));
    CHECK(restored == 0);
    guarded_free(container);
    fz_plan_free(plan);
  }
  fz_pipeline_free(p);
}

static void calls(void) {
  fz_pipeline *p = pfpl_noa(1e-3), *coarse = pfpl_noa(1e-1);
  fz_plan *plan = plan_of(p, dims, 1, NULL), *foreign = plan_of(coarse, dims, 1, NULL), *none = NULL;
  fz_workspace *workspace = NULL;
  uint64_t bytes = 0, n = 4711, capacity = 0, i, *aligned;
  unsigned char *container, *memory;
  fz_info info;

  GIVES(FZ_NULL_POINTER, fz_max_compressed_bytes(NULL, &n));
  GIVES(FZ_NULL_POINTER, fz_max_compressed_bytes(plan, NULL));
  GIVES(FZ_NULL_POINTER, fz_workspace_bytes(NULL, &n));
  GIVES(FZ_NULL_POINTER, fz_workspace_bytes(plan, NULL));
  GIVES(FZ_NULL_POINTER, fz_workspace_new(NULL, &workspace));
  GIVES(FZ_NULL_POINTER, fz_workspace_new(plan, NULL));
  GIVES(FZ_NULL_POINTER, fz_plan_decoder(NULL, &none));
  GIVES(FZ_NULL_POINTER, fz_plan_decoder(plan, NULL));
  CHECK(none == NULL && workspace == NULL && n == 4711);

  /* compress */
  container = compressed(plan, NULL, x, N, &bytes);
  OK(fz_max_compressed_bytes(plan, &capacity));
  memory = guarded_new((size_t)capacity + 1);
  GIVES(FZ_NULL_POINTER, fz_compress(NULL, NULL, x, sizeof x, memory, capacity, &n));
  GIVES(FZ_NULL_POINTER, fz_compress(plan, NULL, NULL, sizeof x, memory, capacity, &n));
  GIVES(FZ_NULL_POINTER, fz_compress(plan, NULL, x, sizeof x, NULL, capacity, &n));
  GIVES(FZ_NULL_POINTER, fz_compress(plan, NULL, x, sizeof x, memory, capacity, NULL));
  CHECK(fz_compress(plan, NULL, x, sizeof x - 1, memory, capacity, &n) != FZ_OK); /* another length than planned */
  CHECK(fz_compress(plan, NULL, x, 0, memory, capacity, &n) != FZ_OK);
  CHECK(fz_compress(plan, NULL, x, UINT64_MAX, memory, capacity, &n) != FZ_OK);
  GIVES(FZ_INVALID_ARGUMENT, fz_compress(plan, NULL, x, sizeof x, x, sizeof x, &n)); /* overlapping */
  aligned = malloc((size_t)capacity); /* the length would overwrite what the call has written */
  CHECK(aligned != NULL);
  GIVES(FZ_INVALID_ARGUMENT, fz_compress(plan, NULL, x, sizeof x, aligned, capacity, aligned));
  free(aligned);
  for (i = 0; i < bytes; i = i < 40 ? i + 1 : i + 97) { /* dst one way or the other too small */
    unsigned char *small = guarded_new((size_t)i);
    n = 4711;
    GIVES(FZ_DST_TOO_SMALL, fz_compress(plan, NULL, x, sizeof x, small, i, &n));
    CHECK(guarded_intact(small, (size_t)i));
    guarded_free(small);
  }
  GIVES(FZ_DST_TOO_SMALL, fz_compress(plan, NULL, x, sizeof x, NULL, 0, &n)); /* a capacity of 0: NULL is permitted */
  CHECK(n == 4711);
  OK(fz_compress(plan, NULL, x, sizeof x, memory + 1, capacity, &n)); /* an odd address is as good as any */
  CHECK(n == bytes && memcmp(memory + 1, container, (size_t)bytes) == 0);

  /* a workspace belongs to its plan */
  OK(fz_workspace_new(foreign, &workspace));
  GIVES(FZ_PLAN_MISMATCH, fz_compress(plan, workspace, x, sizeof x, memory, capacity, &n));
  GIVES(FZ_PLAN_MISMATCH, fz_decompress(NULL, workspace, container, bytes, y, sizeof y, &n));
  OK(fz_plan_open(container, bytes, NULL, &none));
  GIVES(FZ_PLAN_MISMATCH, fz_decompress(none, workspace, container, bytes, y, sizeof y, &n));
  CHECK(fz_compress(none, NULL, x, sizeof x, memory, capacity, &n) != FZ_OK); /* a decoder does not encode */
  CHECK(fz_decompress(plan, NULL, container, bytes, y, sizeof y, &n) != FZ_OK); /* nor the other way round */
  fz_workspace_free(workspace);
  fz_plan_free(none);
  none = NULL;

  /* decompress */
  GIVES(FZ_NULL_POINTER, fz_decompress(NULL, NULL, NULL, bytes, y, sizeof y, &n));
  GIVES(FZ_NULL_POINTER, fz_decompress(NULL, NULL, container, bytes, NULL, sizeof y, &n));
  GIVES(FZ_NULL_POINTER, fz_decompress(NULL, NULL, container, bytes, y, sizeof y, NULL));
  GIVES(FZ_NOT_A_CONTAINER, fz_decompress(NULL, NULL, NULL, 0, y, sizeof y, &n));
  CHECK(fz_decompress(NULL, NULL, container, UINT64_MAX, y, sizeof y, &n) != FZ_OK);
  CHECK(fz_decompress(NULL, NULL, container, bytes, y, UINT64_MAX, &n) != FZ_OK);
  GIVES(FZ_INVALID_ARGUMENT, fz_decompress(NULL, NULL, container, bytes, container, bytes, &n));
  {
    unsigned char *small = guarded_new(sizeof y - 1);
    GIVES(FZ_DST_TOO_SMALL, fz_decompress(NULL, NULL, container, bytes, small, sizeof y - 1, &n));
    GIVES(FZ_DST_TOO_SMALL, fz_decompress(NULL, NULL, container, bytes, small, 0, &n));
    CHECK(guarded_intact(small, sizeof y - 1));
    guarded_free(small);
  }

  /* info, and containers that end early */
  memset(&info, 0, sizeof info);
  GIVES(FZ_INVALID_ARGUMENT, fz_container_info(container, bytes, &info)); /* struct_bytes not set */
  info.struct_bytes = sizeof info;
  GIVES(FZ_NULL_POINTER, fz_container_info(NULL, bytes, &info));
  GIVES(FZ_NULL_POINTER, fz_container_info(container, bytes, NULL));
  GIVES(FZ_NOT_A_CONTAINER, fz_container_info("This is no container, whatever its length.", 42, &info));
  GIVES(FZ_NULL_POINTER, fz_plan_open(NULL, bytes, NULL, &none));
  GIVES(FZ_NULL_POINTER, fz_plan_open(container, bytes, NULL, NULL));
  for (i = 0; i < bytes; i = i < 600 ? i + 1 : i + 131) {
    unsigned char *cut = (unsigned char *)malloc((size_t)i + 1); /* a block of its own, so that a sanitizer sees the end */
    CHECK(cut != NULL);
    memcpy(cut, container, (size_t)i);
    CHECK(fz_decompress(NULL, NULL, cut, i, y, sizeof y, &n) != FZ_OK);
    CHECK(fz_plan_open(cut, i, NULL, &none) != FZ_OK || none != NULL);
    fz_plan_free(none);
    none = NULL;
    free(cut);
  }
  for (i = 0; i < bytes; i = i < 600 ? i + 1 : i + 131) { /* a damaged byte: any status, no crash */
    container[i] ^= 0x41;
    n = 0;
    if (fz_decompress(NULL, NULL, container, bytes, y, sizeof y, &n) == FZ_OK) CHECK(n <= sizeof y);
    container[i] ^= 0x41;
  }
  OK(fz_decompress(NULL, NULL, container, bytes, y, sizeof y, &n));
  CHECK(n == sizeof y);

  guarded_free(memory);
  guarded_free(container);
  fz_plan_free(foreign);
  fz_plan_free(plan);
  fz_pipeline_free(coarse);
  fz_pipeline_free(p);
}

int main(void) {
  texts();
  fill(x, N);
  free_null();
  pipelines();
  calls();
  printf("every wrong argument is refused with a text\n");
  return 0;
}
