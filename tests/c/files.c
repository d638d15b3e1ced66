/* Containers in files and from streams, parts of them, memory of the program's own, and pipelines of containers. */
#include "check.h"

enum { N = 20011 };
static float x[N], y[N], large[4 * N];
static const uint64_t dims[1] = {N}, large_dims[1] = {4 * N};

/* Bytes of a file, or -1 where there is none. */
static long length_of(const char *path) {
  long bytes;
  FILE *file = fopen(path, "rb");
  if (file == NULL) return -1;
  CHECK(fseek(file, 0, SEEK_END) == 0);
  bytes = ftell(file);
  CHECK(fclose(file) == 0);
  return bytes;
}

static unsigned char *whole(const char *path) {
  const size_t bytes = (size_t)length_of(path);
  unsigned char *all = (unsigned char *)malloc(bytes);
  FILE *file = fopen(path, "rb");
  CHECK(all != NULL && file != NULL && fread(all, 1, bytes, file) == bytes && fclose(file) == 0);
  return all;
}

static void put(const char *path, const unsigned char *bytes, size_t count) {
  FILE *file = fopen(path, "wb");
  CHECK(file != NULL && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
}

static void files(const fz_plan *encoder, const unsigned char *container, uint64_t container_bytes) {
  static const char path[] = "files_test.fzm", other[] = "files_test_other.fzm";
  uint64_t bytes = 0;
  const double bound = 1e-4 * range_of(x, N);
  fz_plan *larger = NULL, *decoder = NULL;
  fz_pipeline *pipeline = pfpl_noa(1e-4);
  unsigned char *all;
  fz_info info, want;

  remove(path);
  GIVES(FZ_FILE, fz_file_info(path, (info.struct_bytes = sizeof info, &info)));
  CHECK(strstr(fz_last_error(), path) != NULL && strstr(fz_last_error(), "read") != NULL);
  OK(fz_compress_file(encoder, NULL, x, sizeof x, path, &bytes));
  CHECK(bytes == container_bytes && length_of(path) == (long)bytes);
  all = whole(path);
  CHECK(memcmp(all, container, bytes) == 0);
  free(all);

  want.struct_bytes = sizeof want;
  OK(fz_file_info(path, &info));
  OK(fz_container_info(container, container_bytes, &want));
  CHECK(info.container_bytes == want.container_bytes && info.original_bytes == sizeof x && info.dims[0] == N);
  CHECK(info.mode == FZ_MODE_NOA && info.dtype == FZ_F32 && info.stages == want.stages);

  OK(fz_decompress_file(NULL, NULL, path, y, sizeof y, &bytes));
  CHECK(bytes == sizeof y && worst_error(x, y, N) <= bound);
  memset(y, 0, sizeof y);
  OK(fz_plan_decoder(encoder, &decoder));
  OK(fz_decompress_file(decoder, NULL, path, y, sizeof y, &bytes));
  CHECK(worst_error(x, y, N) <= bound);

  /* Another container takes the place of the first; one that cannot be made leaves it. */
  larger = plan_of(pipeline, large_dims, 1, NULL);
  OK(fz_compress_file(larger, NULL, large, sizeof large, path, &bytes));
  CHECK(length_of(path) == (long)bytes && bytes != container_bytes);
  GIVES(FZ_PLAN_MISMATCH, fz_decompress_file(decoder, NULL, path, y, sizeof y, &bytes));
  GIVES(FZ_DST_TOO_SMALL, fz_decompress_file(NULL, NULL, path, y, sizeof y, &bytes));
  GIVES(FZ_PLAN_MISMATCH, fz_compress_file(encoder, NULL, large, sizeof large, path, &bytes));
  OK(fz_file_info(path, &info));
  CHECK(info.original_bytes == sizeof large);
  GIVES(FZ_INVALID_ARGUMENT, fz_compress_file(decoder, NULL, x, sizeof x, path, &bytes));

  /* Paths that no file can have. */
  GIVES(FZ_FILE, fz_compress_file(encoder, NULL, x, sizeof x, "no/such/folder/a.fzm", &bytes));
  CHECK(strstr(fz_last_error(), "no/such/folder/a.fzm") != NULL && strstr(fz_last_error(), "write") != NULL);
  GIVES(FZ_FILE, fz_compress_file(encoder, NULL, x, sizeof x, ".", &bytes));
  GIVES(FZ_FILE, fz_compress_file(encoder, NULL, x, sizeof x, "", &bytes));
  GIVES(FZ_FILE, fz_decompress_file(NULL, NULL, ".", y, sizeof y, &bytes));
  GIVES(FZ_FILE, fz_decompress_file(NULL, NULL, "/dev/null", y, sizeof y, &bytes));

  /* A file that was cut, and one with more behind it. */
  put(other, container, (size_t)container_bytes / 2);
  GIVES(FZ_CORRUPT, fz_decompress_file(NULL, NULL, other, y, sizeof y, &bytes));
  GIVES(FZ_CORRUPT, fz_file_info(other, &info));
  CHECK(strstr(fz_last_error(), other) != NULL);
  put(other, container, 100);
  GIVES(FZ_CORRUPT, fz_file_info(other, &info));
  put(other, (const unsigned char *)"not one", 7);
  GIVES(FZ_NOT_A_CONTAINER, fz_file_info(other, &info));
  put(other, container, 0);
  CHECK(fz_file_info(other, &info) != FZ_OK && fz_decompress_file(NULL, NULL, other, y, sizeof y, &bytes) != FZ_OK);

  remove(path);
  remove(other);
  fz_plan_free(larger);
  fz_plan_free(decoder);
  fz_pipeline_free(pipeline);
}

/* A part of a file, which is read at places, as of memory. */
static void boxes(int32_t kind) {
  static const char path[] = "files_test_box.fzm";
  static const uint64_t shape[3] = {70, 65, 4}, origin[3] = {30, 20, 1}, extent[3] = {33, 40, 2};
  static const uint64_t corner[3] = {0, 0, 0}, outside[3] = {70, 0, 0};
  enum { COUNT = 33 * 40 * 2, BYTES = COUNT * (int)sizeof(float) };
  static float part[COUNT + 1], same[COUNT];
  fz_options options;
  fz_pipeline *pipeline = NULL;
  fz_plan *encoder;
  unsigned char *container;
  uint64_t bytes = 0, length = 0, i;
  uint64_t *inside = (uint64_t *)(void *)part;

  OK(fz_options_init(&options));
  options.container = kind;
  OK(fz_pipeline_from_preset("fast", FZ_F32, &pipeline));
  OK(fz_pipeline_set_double(pipeline, FZ_EVERY_STAGE, "error_bound", 1e-3));
  encoder = plan_of(pipeline, shape, 3, &options);
  container = compressed(encoder, NULL, x, 70 * 65 * 4, &length);
  OK(fz_decompress_region(container, length, origin, extent, 3, same, sizeof same, &bytes));
  put(path, container, (size_t)length);
  part[COUNT] = 77.0f;
  OK(fz_decompress_region_file(path, origin, extent, 3, part, BYTES, &bytes));
  CHECK(bytes == BYTES && memcmp(part, same, BYTES) == 0 && part[COUNT] == 77.0f);
  OK(fz_decompress(NULL, NULL, container, length, y, sizeof y, &bytes));
  for (i = 0; i < COUNT; i++) {
    CHECK(part[i] == y[((1 + i / 1320) * 65 + 20 + i / 33 % 40) * 70 + 30 + i % 33]);
  }

  bytes = 77;
  GIVES(FZ_DST_TOO_SMALL, fz_decompress_region_file(path, origin, extent, 3, part, BYTES - 1, &bytes));
  GIVES(FZ_INVALID_ARGUMENT, fz_decompress_region_file(path, outside, extent, 3, part, BYTES, &bytes));
  GIVES(FZ_INVALID_ARGUMENT, fz_decompress_region_file(path, origin, extent, 2, part, BYTES, &bytes));
  GIVES(FZ_INVALID_ARGUMENT, fz_decompress_region_file(path, origin, extent, 0, part, BYTES, &bytes));
  GIVES(FZ_INVALID_ARGUMENT, fz_decompress_region_file(path, inside, extent, 3, part, BYTES, &bytes));
  GIVES(FZ_INVALID_ARGUMENT, fz_decompress_region_file(path, origin, inside, 3, part, BYTES, &bytes));
  GIVES(FZ_INVALID_ARGUMENT, fz_decompress_region_file(path, origin, extent, 3, part, BYTES, inside));
  GIVES(FZ_NULL_POINTER, fz_decompress_region_file(NULL, origin, extent, 3, part, BYTES, &bytes));
  GIVES(FZ_NULL_POINTER, fz_decompress_region_file(path, NULL, extent, 3, part, BYTES, &bytes));
  GIVES(FZ_NULL_POINTER, fz_decompress_region_file(path, origin, extent, 3, NULL, BYTES, &bytes));
  GIVES(FZ_FILE, fz_decompress_region_file("no/such/file", origin, extent, 3, part, BYTES, &bytes));
  CHECK(strstr(fz_last_error(), "no/such/file") != NULL && strstr(fz_last_error(), "read") != NULL);
  GIVES(FZ_FILE, fz_decompress_region_file(".", origin, extent, 3, part, BYTES, &bytes));
  put(path, container, (size_t)length - 1);
  GIVES(FZ_CORRUPT, fz_decompress_region_file(path, origin, extent, 3, part, BYTES, &bytes));
  CHECK(strstr(fz_last_error(), path) != NULL && bytes == 77);

  /* Bytes outside the region are not read: here the last byte, which belongs to the last chunk. */
  container[length - 1] ^= 0xff;
  put(path, container, (size_t)length);
  OK(fz_decompress_region_file(path, corner, extent, 3, part, BYTES, &bytes));
  remove(path);
  guarded_free(container);
  fz_plan_free(encoder);
  fz_pipeline_free(pipeline);
}

/* Every 4th element each way, from the front of a file. */
static void previews(void) {
  static const char path[] = "files_test_preview.fzm";
  static const uint64_t shape[3] = {70, 65, 4};
  enum { COUNT = 18 * 17, BYTES = COUNT * (int)sizeof(float) };
  static float part[COUNT + 1], same[COUNT];
  fz_options options;
  fz_pipeline *pipeline = NULL;
  fz_plan *encoder;
  unsigned char *container;
  uint64_t bytes = 0, length = 0, i;

  OK(fz_options_init(&options));
  OK(fz_pipeline_from_preset("high", FZ_F32, &pipeline));
  OK(fz_pipeline_set_double(pipeline, FZ_EVERY_STAGE, "error_bound", 1e-3));
  encoder = plan_of(pipeline, shape, 3, &options);
  container = compressed(encoder, NULL, x, 70 * 65 * 4, &length);
  OK(fz_decompress_preview(container, length, 4, same, sizeof same, &bytes));
  CHECK(bytes == BYTES);
  put(path, container, (size_t)length - 1);
  part[COUNT] = 77.0f;
  OK(fz_decompress_preview_file(path, 4, part, BYTES, &bytes));
  CHECK(bytes == BYTES && memcmp(part, same, BYTES) == 0 && part[COUNT] == 77.0f);
  OK(fz_decompress(NULL, NULL, container, length, y, sizeof y, &bytes));
  for (i = 0; i < COUNT; i++) {
    CHECK(part[i] == y[4 * (i / 18) * 70 + 4 * (i % 18)]);
  }

  bytes = 77;
  GIVES(FZ_DST_TOO_SMALL, fz_decompress_preview(container, length, 4, part, BYTES - 1, &bytes));
  GIVES(FZ_INVALID_ARGUMENT, fz_decompress_preview(container, length, 6, part, BYTES, &bytes));
  CHECK(strstr(fz_last_error(), "6") != NULL);
  GIVES(FZ_TRUNCATED, fz_decompress_preview(container, 300, 4, part, BYTES, &bytes));
  GIVES(FZ_NULL_POINTER, fz_decompress_preview(NULL, length, 4, part, BYTES, &bytes));
  GIVES(FZ_NULL_POINTER, fz_decompress_preview(container, length, 4, NULL, BYTES, &bytes));
  GIVES(FZ_NULL_POINTER, fz_decompress_preview_file(NULL, 4, part, BYTES, &bytes));
  GIVES(FZ_FILE, fz_decompress_preview_file("no/such/file", 4, part, BYTES, &bytes));
  put(path, container, 300);
  GIVES(FZ_TRUNCATED, fz_decompress_preview_file(path, 4, part, BYTES, &bytes));
  CHECK(bytes == 77);
  remove(path);
  guarded_free(container);
  fz_plan_free(encoder);
  fz_pipeline_free(pipeline);
}

/* As a program reads from a socket: never more than requested, until it has the length of the container. */
static void streams(const unsigned char *container, uint64_t container_bytes) {
  unsigned char *received = guarded_new((size_t)container_bytes);
  uint64_t have = 0, needed = 0;
  fz_info info;
  int steps = 0;
  int32_t status;
  info.struct_bytes = sizeof info;
  info.original_bytes = 77;
  while ((status = fz_container_info_partial(received, have, &info, &needed)) == FZ_TRUNCATED) {
    CHECK(needed > have && needed <= container_bytes && info.original_bytes == 77);
    memcpy(received + have, container + have, (size_t)(needed - have));
    have = needed;
    CHECK(++steps < 20);
  }
  OK(status);
  CHECK(needed <= have && info.container_bytes == container_bytes && info.original_bytes == sizeof x && steps > 0);
  needed = 77;
  GIVES(FZ_NOT_A_CONTAINER, fz_container_info_partial("not one", 7, &info, &needed));
  GIVES(FZ_NULL_POINTER, fz_container_info_partial(NULL, 7, &info, &needed));
  GIVES(FZ_NULL_POINTER, fz_container_info_partial(container, 7, &info, NULL));
  CHECK(needed == 77);
  GIVES(FZ_TRUNCATED, fz_container_info_partial(NULL, 0, &info, &needed));
  CHECK(needed > 0 && needed < 77);
  guarded_free(received);
}

/* A workspace in the program's memory gives the same bytes, and touches nothing beside. */
static void buffers(const fz_plan *encoder, const unsigned char *container, uint64_t container_bytes) {
  fz_plan *decoder = NULL;
  fz_workspace *in = NULL, *out = NULL;
  uint64_t need = 0, bytes = 0, skip;
  OK(fz_plan_decoder(encoder, &decoder));
  for (skip = 0; skip < 70; skip += 23) {
    unsigned char *memory, *restore, *dst;
    OK(fz_workspace_bytes(encoder, &need));
    memory = guarded_new((size_t)(need + skip));
    GIVES(FZ_INVALID_ARGUMENT, fz_workspace_from_buffer(encoder, memory, need - 1, &in));
    GIVES(FZ_NULL_POINTER, fz_workspace_from_buffer(encoder, NULL, need, &in));
    GIVES(FZ_NULL_POINTER, fz_workspace_from_buffer(encoder, memory, need, NULL));
    GIVES(FZ_INVALID_ARGUMENT, fz_workspace_from_buffer(encoder, memory, need, (fz_workspace **)(void *)memory));
    OK(fz_workspace_from_buffer(encoder, memory + skip, need, &in));
    dst = compressed(encoder, in, x, N, &bytes);
    CHECK(bytes == container_bytes && memcmp(dst, container, bytes) == 0 && guarded_intact(memory, (size_t)(need + skip)));
    guarded_free(dst);

    OK(fz_workspace_bytes(decoder, &need));
    restore = guarded_new((size_t)need);
    OK(fz_workspace_from_buffer(decoder, restore, need, &out));
    OK(fz_decompress(decoder, out, container, container_bytes, y, sizeof y, &bytes));
    CHECK(worst_error(x, y, N) <= 1e-4 * range_of(x, N) && guarded_intact(restore, (size_t)need));
    GIVES(FZ_PLAN_MISMATCH, fz_decompress(decoder, in, container, container_bytes, y, sizeof y, &bytes));
    fz_workspace_free(in);
    fz_workspace_free(out);
    guarded_free(memory);
    guarded_free(restore);
    in = out = NULL;
  }
  fz_plan_free(decoder);
}

/* The pipeline of a container makes it again. */
static void recipes(const unsigned char *container, uint64_t container_bytes, const fz_options *options) {
  fz_pipeline *again = NULL;
  fz_plan *plan;
  unsigned char *dst;
  uint64_t bytes = 0;
  char text[400];
  GIVES(FZ_NOT_A_CONTAINER, fz_pipeline_from_container("not one", 7, &again));
  CHECK(again == NULL);
  OK(fz_pipeline_from_container(container, container_bytes, &again));
  OK(fz_pipeline_to_text(again, text, sizeof text, &bytes));
  CHECK(strstr(text, "quantizer(") != NULL && strstr(text, "0.0001") != NULL && strstr(text, " > rze") != NULL);
  OK(fz_pipeline_to_toml(again, NULL, 0, &bytes));
  plan = plan_of(again, dims, 1, options);
  dst = compressed(plan, NULL, x, N, &bytes);
  CHECK(bytes == container_bytes && memcmp(dst, container, bytes) == 0);
  guarded_free(dst);
  fz_plan_free(plan);
  fz_pipeline_free(again);
}

int main(void) {
  fz_pipeline *pipeline = pfpl_noa(1e-4);
  int32_t kind;
  fill(x, N);
  fill(large, 4 * N);
  for (kind = FZ_CONTAINER_FZM; kind <= FZ_CONTAINER_COMPACT; kind++) {
    fz_options options;
    fz_plan *encoder;
    unsigned char *container;
    uint64_t bytes = 0;
    OK(fz_options_init(&options));
    options.container = kind;
    encoder = plan_of(pipeline, dims, 1, &options);
    container = compressed(encoder, NULL, x, N, &bytes);
    files(encoder, container, bytes);
    streams(container, bytes);
    buffers(encoder, container, bytes);
    recipes(container, bytes, &options);
    boxes(kind);
    previews();
    guarded_free(container);
    fz_plan_free(encoder);
  }
  fz_pipeline_free(pipeline);
  puts("files, parts of them, streams, buffers and recipes");
  return 0;
}
