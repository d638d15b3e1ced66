/* Every call on the CPU needs at most 128 KiB of stack, as documented in docs/threads.md: each runs in a thread that has no more, over memory that
   shows how far down it went. With an argument the program prints how far. */
#define _DEFAULT_SOURCE
#include "check.h"

#include <pthread.h>
#include <sys/mman.h>

enum { STACK = 128 << 10, PAGE = 64 << 10, PAINT = 0xA5, ROOM = 1 << 22, MOST_CALLS = 64 };

typedef int32_t call(void);

/* The deepest run of each call, in bytes, and what it was about. */
static struct {
  const char *name;
  size_t used;
  char about[160];
} deepest[MOST_CALLS];
static const char *about = "";

static unsigned char *stack;
static struct {
  call *run;
  unsigned char *top;
  int32_t status;
  char error[256]; /* each thread has its own */
} job;

static void *entry(void *unused) {
  unsigned char here = 0;
  job.top = &here;
  job.status = job.run();
  snprintf(job.error, sizeof job.error, "%s", fz_last_error());
  return unused;
}

static int32_t on_small_stack(const char *name, call *run) {
  pthread_attr_t attributes;
  pthread_t thread;
  size_t low = 0, used, i;
  if (stack == NULL) {
    /* Memory below the stack cannot be accessed. */
    stack = (unsigned char *)mmap(NULL, PAGE + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK((void *)stack != MAP_FAILED && mprotect(stack, PAGE, PROT_NONE) == 0);
    stack += PAGE;
  }
  memset(stack, PAINT, STACK);
  job.run = run;
  CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, stack, STACK) == 0);
  CHECK(pthread_create(&thread, &attributes, entry, NULL) == 0 && pthread_join(thread, NULL) == 0);
  CHECK(pthread_attr_destroy(&attributes) == 0);
  while (stack[low] == PAINT) low++;
  used = (size_t)(job.top - (stack + low));
  for (i = 0; deepest[i].name != NULL && strcmp(deepest[i].name, name) != 0; i++) CHECK(i + 2 < MOST_CALLS);
  deepest[i].name = name;
  if (used > deepest[i].used) {
    deepest[i].used = used;
    snprintf(deepest[i].about, sizeof deepest[i].about, "%s", about);
  }
  return job.status;
}

/* Runs a call, named by its function, over the variables below. */
#define RUN(want, function)                                                                            \
  do {                                                                                                 \
    if (on_small_stack(#function, function) != (want)) {                                               \
      fprintf(stderr, "%s:%d: %s gives %d, expected %d: %s (%s)\n", __FILE__, __LINE__, #function,     \
              (int)job.status, (int)(want), job.error, about);                                         \
      exit(1);                                                                                         \
    }                                                                                                  \
  } while (0)
#define CALL(name, expression)                                                                         \
  static int32_t name(void) { return (expression); }

/* Arrays at odd addresses take more. */
enum { N = 70000 };
static double aligned[N + 1];
static unsigned char back[8 * N + 1];
static unsigned char *const values = (unsigned char *)aligned + 1;
static unsigned char memory[ROOM], container[ROOM];
static char text[1 << 16];
static const char path[] = "stack_test.fzm";
static const char *preset, *source;
static int32_t dtype;
static uint64_t dims[3], array_bytes, bytes, made, needed;
static uint32_t ndim, count, number;
static const uint64_t origin[3] = {3, 4, 5}, extent[3] = {9, 9, 3};
static fz_options options;
static fz_pipeline *pipeline, *other;
static fz_plan *plan, *decoder;
static fz_workspace *workspace;
static fz_info info;
static uint64_t lengths[FZ_MAX_DIMS];
static uint32_t ndim;
static fz_stage stage;
static fz_port port;
static fz_parameter parameter;
static fz_preset described;

static int32_t none(void) { return FZ_OK; }
CALL(pipeline_from_preset, fz_pipeline_from_preset(preset, dtype, &pipeline))
CALL(pipeline_from_text, fz_pipeline_from_text(source, &other))
CALL(pipeline_from_toml, fz_pipeline_from_toml(source, &other))
CALL(pipeline_to_text, fz_pipeline_to_text(pipeline, text, sizeof text, &bytes))
CALL(pipeline_to_toml, fz_pipeline_to_toml(pipeline, text, sizeof text, &bytes))
CALL(pipeline_from_container, fz_pipeline_from_container(container, made, &other))
CALL(pipeline_new, fz_pipeline_new(&other))
CALL(pipeline_add_stage, fz_pipeline_add_stage(other, source, &number))
CALL(pipeline_connect, fz_pipeline_connect(other, 0, source, 1))
CALL(pipeline_set_string, fz_pipeline_set_string(pipeline, FZ_EVERY_STAGE, "mode", source))
CALL(pipeline_set_double, fz_pipeline_set_double(pipeline, FZ_EVERY_STAGE, "error_bound", 1e-3))
CALL(pipeline_set_int, fz_pipeline_set_int(pipeline, FZ_EVERY_STAGE, "error_bound", 1))
CALL(pipeline_stage_count, fz_pipeline_stage_count(pipeline, &count))
CALL(pipeline_stage_info, fz_pipeline_stage_info(pipeline, 0, &stage))
CALL(pipeline_stage_port, fz_pipeline_stage_port(pipeline, 0, FZ_PORT_OUTPUT, 0, &port))
CALL(pipeline_stage_parameter, fz_pipeline_stage_parameter(pipeline, 0, 0, &parameter))
CALL(stage_count, fz_stage_count(&count))
CALL(stage_info, fz_stage_info(number, &stage))
CALL(stage_port, fz_stage_port(number, FZ_PORT_INPUT, 0, &port))
CALL(stage_parameter, fz_stage_parameter(number, 0, &parameter))
CALL(preset_count, fz_preset_count(&count))
CALL(preset_info, fz_preset_info(0, &described))
CALL(options_init, fz_options_init(&options))
CALL(pipeline_finalize, fz_pipeline_finalize(pipeline, dtype, dims, ndim, &options, &plan))
CALL(plan_decoder, fz_plan_decoder(plan, &decoder))
CALL(plan_open, fz_plan_open(container, made, &options, &decoder))
CALL(max_compressed_bytes, fz_max_compressed_bytes(plan, &bytes))
CALL(workspace_bytes, fz_workspace_bytes(plan, &bytes))
CALL(workspace_new, fz_workspace_new(plan, &workspace))
CALL(workspace_new_to_decode, fz_workspace_new(decoder, &workspace))
CALL(workspace_from_buffer, fz_workspace_from_buffer(plan, memory, sizeof memory, &workspace))
CALL(compress, fz_compress(plan, workspace, values, array_bytes, container, sizeof container, &made))
CALL(decompress, fz_decompress(decoder, workspace, container, made, back + 1, sizeof back - 1, &bytes))
CALL(decompress_region, fz_decompress_region(container, made, origin, extent, ndim, back + 1, sizeof back - 1, &bytes))
CALL(decompress_preview, fz_decompress_preview(container, made, 2, back + 1, sizeof back - 1, &bytes))
CALL(compress_file, fz_compress_file(plan, workspace, values, array_bytes, path, &bytes))
CALL(decompress_file, fz_decompress_file(decoder, workspace, path, back + 1, sizeof back - 1, &bytes))
CALL(decompress_region_file, fz_decompress_region_file(path, origin, extent, ndim, back + 1, sizeof back - 1, &bytes))
CALL(decompress_preview_file, fz_decompress_preview_file(path, 2, back + 1, sizeof back - 1, &bytes))
CALL(file_info, fz_file_info(path, &info))
CALL(container_info, fz_container_info(container, made, &info))
CALL(container_shape, fz_container_shape(container, made, lengths, &ndim))
CALL(container_info_partial, fz_container_info_partial(container, bytes, &info, &needed))

static int32_t texts(void) {
  return fz_version()[0] == '\0' || fz_build_info()[0] == '\0' || fz_strerror(FZ_OK)[0] == '\0' || fz_abi_version() > 99;
}
static int32_t free_all(void) {
  fz_workspace_free(workspace);
  fz_plan_free(plan);
  fz_plan_free(decoder);
  fz_pipeline_free(pipeline);
  fz_pipeline_free(other);
  workspace = NULL;
  plan = decoder = NULL;
  pipeline = other = NULL;
  return FZ_OK;
}
static int32_t free_workspace(void) {
  fz_workspace_free(workspace);
  workspace = NULL;
  return FZ_OK;
}
static int32_t free_decoder(void) {
  fz_plan_free(decoder);
  decoder = NULL;
  return FZ_OK;
}
static int32_t free_other(void) {
  fz_pipeline_free(other);
  other = NULL;
  return FZ_OK;
}

/* A field with values that no bin holds, of the type of `dtype`. */
static void fill_values(void) {
  size_t i;
  for (i = 0; i < N; i++) {
    const double value = i % 97 == 0 ? 1e20 : 100.0 * sin((double)i * 0.01);
    const float narrow = (float)value;
    if (dtype == FZ_F32) memcpy(values + 4 * i, &narrow, 4);
    else memcpy(values + 8 * i, &value, 8);
  }
  array_bytes = N * (uint64_t)(dtype == FZ_F32 ? 4 : 8);
}

/* All that is done with a pipeline, to restore what it compressed. */
static void with_pipeline(int boxes) {
  uint64_t k;
  RUN(FZ_OK, pipeline_finalize);
  RUN(FZ_OK, plan_decoder);
  RUN(FZ_OK, max_compressed_bytes);
  CHECK(bytes <= sizeof container);
  RUN(FZ_OK, workspace_bytes);
  RUN(FZ_OK, compress);
  RUN(FZ_OK, decompress);
  RUN(FZ_OK, workspace_new);
  RUN(FZ_OK, compress);
  RUN(FZ_OK, compress_file);
  RUN(FZ_OK, free_workspace);
  RUN(FZ_OK, workspace_new_to_decode);
  RUN(FZ_OK, decompress);
  RUN(FZ_OK, decompress_file);
  RUN(FZ_OK, free_workspace);
  RUN(FZ_OK, workspace_bytes);
  if (bytes <= sizeof memory) {
    /* With fewer outliers than there is room for, or with a status. */
    RUN(FZ_OK, workspace_from_buffer);
    (void)on_small_stack("compress", compress);
    RUN(FZ_OK, free_workspace);
    RUN(FZ_OK, compress);
  }
  RUN(FZ_OK, free_decoder);
  RUN(FZ_OK, plan_open);
  RUN(FZ_OK, decompress);
  RUN(FZ_OK, free_decoder);
  RUN(FZ_OK, decompress);
  RUN(FZ_OK, decompress_file);
  info.struct_bytes = sizeof info;
  RUN(FZ_OK, file_info);
  RUN(FZ_OK, container_info);
  RUN(FZ_OK, container_shape);
  bytes = 0;
  RUN(FZ_TRUNCATED, container_info_partial);
  bytes = made;
  RUN(FZ_OK, container_info_partial);
  RUN(FZ_OK, pipeline_from_container);
  RUN(FZ_OK, free_other);
  RUN(FZ_OK, pipeline_to_toml);
  source = text;
  RUN(FZ_OK, pipeline_from_toml);
  RUN(FZ_OK, free_other);
  if (on_small_stack("pipeline_to_text", pipeline_to_text) == FZ_OK) {
    RUN(FZ_OK, pipeline_from_text);
    RUN(FZ_OK, free_other);
  }
  if (boxes) {
    RUN(FZ_OK, decompress_region);
    RUN(FZ_OK, decompress_preview);
    RUN(FZ_OK, decompress_region_file);
    RUN(FZ_OK, decompress_preview_file);
  }
  /* Damage, all over: a status, whichever it is. */
  for (k = 1; k < made; k += made / 16 + 1) {
    container[k] ^= 0x5A;
    (void)on_small_stack("decompress", decompress);
    container[k] ^= 0x5A;
  }
  RUN(FZ_OK, free_all);
}

static void presets(int32_t type, int32_t form, uint32_t threads) {
  uint32_t k, presets_there = 0, m;
  static const char *modes[] = {"abs", "noa", "prel", "rel"};
  /* Those that no list has. */
  static const char *research[] = {"lc_speed", "lc_ratio", "lc_tp"};
  static char what[160];
  OK(fz_preset_count(&presets_there));
  dtype = type;
  fill_values();
  dims[0] = 100, dims[1] = 70, dims[2] = 10, ndim = 3;
  for (k = 0; k < presets_there + 3; k++) {
    fz_preset it;
    it.struct_bytes = sizeof it;
    OK(fz_preset_info(k < presets_there ? k : 0, &it));
    if (k >= presets_there) {
      it.lossless = 0;
      strcpy(it.name, research[k - presets_there]);
    }
    /* Mode rel is for the quantizer alone. */
    for (m = 0; m < (it.lossless ? 1 : strcmp(it.name, "pfpl") == 0 ? 4 : 3); m++) {
      snprintf(what, sizeof what, "%s, %s, %s, %s, %d threads", it.name, it.lossless ? "lossless" : modes[m],
               type == FZ_F32 ? "f32" : "f64", form == FZ_CONTAINER_FZM ? "fzm" : "compact", (int)threads);
      about = what;
      preset = it.name;
      RUN(FZ_OK, pipeline_from_preset);
      if (!it.lossless) {
        source = modes[m];
        RUN(FZ_OK, pipeline_set_double);
        RUN(FZ_OK, pipeline_set_string);
      }
      RUN(FZ_OK, options_init);
      options.container = form;
      options.threads = threads;
      with_pipeline(strcmp(it.name, "fast") == 0);
    }
  }
}

/* Stages and parameters that no preset has, one after the other. */
static void chains(void) {
  static const char *all[] = {
      "lorenzo_quant(code_type=u16,centering=true) > huffman(bklen=65536)",
      "difference(code=zigzag) > rle",
      "adm > ans",
      "quantizer(mode=rel) > rze",
      "lorenzo_quant > bitpack(auto_detect=true)",
      "difference(code=negabinary) > bitshuffle > rre",
      "difference > bitshuffle(width=8) > rze(word=8) > ans",
  };
  size_t k;
  dtype = FZ_F32;
  fill_values();
  for (k = 0; k < sizeof all / sizeof *all; k++) {
    about = source = all[k];
    RUN(FZ_OK, pipeline_from_text);
    pipeline = other;
    other = NULL;
    dims[0] = N, ndim = 1;
    RUN(FZ_OK, options_init);
    with_pipeline(0);
  }
}

/* Calls that describe the library, and calls that build pipelines stage by stage. */
static void descriptions(void) {
  about = "descriptions";
  RUN(FZ_OK, none);
  RUN(FZ_OK, texts);
  RUN(FZ_OK, preset_count);
  described.struct_bytes = sizeof described;
  RUN(FZ_OK, preset_info);
  RUN(FZ_OK, stage_count);
  stage.struct_bytes = sizeof stage;
  port.struct_bytes = sizeof port;
  parameter.struct_bytes = sizeof parameter;
  for (number = 0; number < count; number++) {
    RUN(FZ_OK, stage_info);
    RUN(FZ_OK, stage_port);
    if (stage.parameters > 0) RUN(FZ_OK, stage_parameter);
  }
  RUN(FZ_INVALID_ARGUMENT, stage_info);
  preset = "pfpl", dtype = FZ_F32;
  RUN(FZ_OK, pipeline_from_preset);
  RUN(FZ_OK, pipeline_set_int);
  RUN(FZ_OK, pipeline_stage_count);
  RUN(FZ_OK, pipeline_stage_info);
  RUN(FZ_OK, pipeline_stage_port);
  RUN(FZ_OK, pipeline_stage_parameter);
  RUN(FZ_OK, pipeline_new);
  source = "quantizer";
  RUN(FZ_OK, pipeline_add_stage);
  source = "rze";
  RUN(FZ_OK, pipeline_add_stage);
  source = "codes";
  RUN(FZ_OK, pipeline_connect);
  source = "nothing";
  RUN(FZ_UNKNOWN_NAME, pipeline_connect);
  RUN(FZ_UNKNOWN_NAME, pipeline_add_stage);
  RUN(FZ_OK, free_all);
}

/* `times` times `open`, then `inner`, then as often `close`. */
static char *nested(const char *head, const char *open, const char *inner, const char *close, size_t times) {
  const size_t room = strlen(head) + times * (strlen(open) + strlen(close)) + strlen(inner) + 1;
  char *all = (char *)malloc(room), *end = all;
  size_t i;
  CHECK(all != NULL);
  end += sprintf(end, "%s", head);
  for (i = 0; i < times; i++) end += sprintf(end, "%s", open);
  end += sprintf(end, "%s", inner);
  for (i = 0; i < times; i++) end += sprintf(end, "%s", close);
  return all;
}

/* Texts that nest as deep as anybody likes. */
static void deep(void) {
  static const size_t times[] = {15, 31, 60, 80, 100000};
  size_t i, k;
  about = "deep";
  for (i = 0; i < sizeof times / sizeof *times; i++) {
    char *texts_there[7];
    const size_t n = times[i];
    texts_there[0] = nested("x=", "[", "", "]", n);
    texts_there[1] = nested("x=", "{a=", "1", "}", n);
    texts_there[2] = nested("[[stage]]\nname=\"a\"\ntype=\"rze\"\nx=", "[", "", "]", n);
    texts_there[3] = nested("x", ".x", "=1", "", n);
    texts_there[4] = nested("[x", ".x", "]\n", "", n);
    texts_there[5] = nested("x=[", "{a=[", "1", "]}", n);
    texts_there[6] = nested("rze", " > rze", "", "", n);
    for (k = 0; k < 7; k++) {
      source = texts_there[k];
      CHECK(on_small_stack("pipeline_from_toml", pipeline_from_toml) != FZ_OK);
      CHECK(k == 6 || on_small_stack("pipeline_from_text", pipeline_from_text) != FZ_OK);
      if (k == 6) (void)on_small_stack("pipeline_from_text", pipeline_from_text);
      RUN(FZ_OK, free_all);
      free(texts_there[k]);
    }
  }
}

int main(int argc, char **argv) {
  size_t i, most = 0;
  (void)argv;
  descriptions();
  deep();
  presets(FZ_F32, FZ_CONTAINER_FZM, 1);
  presets(FZ_F64, FZ_CONTAINER_COMPACT, 1);
  presets(FZ_F32, FZ_CONTAINER_FZM, 2);
  chains();
  remove(path);
  for (i = 0; deepest[i].name != NULL; i++) {
    if (argc > 1) printf("%-26s %7lu bytes  %s\n", deepest[i].name, (unsigned long)deepest[i].used, deepest[i].about);
    if (deepest[i].used > most) most = deepest[i].used;
  }
  printf("at most %lu bytes of stack\n", (unsigned long)most);
  /* Other compilers have larger frames, and what a thread keeps for itself lies on its stack too. */
  CHECK(most <= 112 << 10);
  return 0;
}
