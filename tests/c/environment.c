/* Every call gives the same bytes, values and texts in every floating-point environment of its caller, and leaves the environment as
 * it found it, exception flags included. Workspaces with threads are made in one environment and used in another one. */
#include "check.h"
#include "environments.h"

enum { NX = 24, NY = 20, NZ = 17, N = NX * NY * NZ, TEXT = 1 << 16, ROOM = 1 << 18 };

static uint64_t env = DEFAULT_ENVIRONMENT; /* that of the next calls */
static const char *env_name = "default";

/* The status of a call in `env`. Between the two switches nothing is computed here. */
#define IN_ENV(call) (environment_set(env), status_of = (call), found = environment_now(), environment_set(DEFAULT_ENVIRONMENT), same_env(__LINE__), status_of)
static int32_t status_of;
static uint64_t found;

static void same_env(int line) {
  if (found == env) return;
  fprintf(stderr, "line %d: %s: the environment was %#llx and is %#llx\n", line, env_name, (unsigned long long)env, (unsigned long long)found);
  exit(1);
}

static const char *const presets[] = {"pfpl", "fz", "cusz", "cusz_ans", "bits", "lc_speed", "lc_ratio", "lc_tp", "lc_cr", "fast"};
static const char *const modes[] = {"abs", "noa", "prel", "rel"};

typedef struct {
  const char *name;
  double bound;
} data_kind;
/* Bounds for mode abs; the others take 1e-3. */
static const data_kind kinds[] = {{"smooth", 1e-3}, {"with subnormal numbers and specials", 1e-3}, {"tiny", 1e-37}};

static float f32[N];
static double f64[N];

static void make(int kind) {
  unsigned noise = 7;
  int i;
  for (i = 0; i < N; i++) {
    double v = sin(i * 0.01) * 40.0 + (i % 97) / 31.0;
    noise = noise * 1664525u + 1013904223u;
    f64[i] = v + (noise >> 8) * 1e-9;
    f32[i] = (float)f64[i];
    if (kind == 1) {
      const uint32_t bits = noise >> 10;
      const uint64_t wide = bits;
      if (i % 3 == 0) memcpy(&f32[i], &bits, 4), memcpy(&f64[i], &wide, 8);
      if (i % 701 == 0) f32[i] = NAN, f64[i] = NAN;
      if (i % 1009 == 0) f32[i] = -INFINITY, f64[i] = INFINITY;
      if (i % 211 == 0) f32[i] = 1e20f, f64[i] = 1e20;
    }
    if (kind == 2) f32[i] *= 3e-37f, f64[i] *= 3e-307;
  }
}

typedef struct {
  uint64_t bytes, restored;
  unsigned char container[ROOM], values[N * 8];
} result;

/* All calls from the preset to the restored values; with `lent` the workspaces are made in the default environment. */
static int whole(const char *preset, const char *mode, double bound, int32_t dtype, uint32_t threads, int lent, result *r) {
  const uint64_t dims[3] = {NX, NY, NZ};
  const void *x = dtype == FZ_F32 ? (const void *)f32 : (const void *)f64;
  const uint64_t size = dtype == FZ_F32 ? sizeof f32 : sizeof f64, outside = env;
  fz_pipeline *pipeline = NULL;
  fz_plan *plan = NULL, *decoder = NULL;
  fz_workspace *encoding = NULL, *decoding = NULL;
  fz_options options;
  uint64_t capacity = 0;
  OK(IN_ENV(fz_options_init(&options)));
  options.threads = threads;
  OK(IN_ENV(fz_pipeline_from_preset(preset, dtype, &pipeline)));
  if (mode != NULL) {
    char text[32];
    OK(IN_ENV(fz_pipeline_set_string(pipeline, FZ_EVERY_STAGE, "mode", mode)));
    if (IN_ENV(fz_pipeline_set_double(pipeline, FZ_EVERY_STAGE, "error_bound", bound)) != FZ_OK) {
      fz_pipeline_free(pipeline);
      return 0;
    }
    /* The number once more as text, whose digits are rounded by the library. */
    snprintf(text, sizeof text, "%.17g", bound);
    OK(IN_ENV(fz_pipeline_set_string(pipeline, FZ_EVERY_STAGE, "error_bound", text)));
  }
  if (IN_ENV(fz_pipeline_finalize(pipeline, dtype, dims, 3, &options, &plan)) != FZ_OK) {
    fz_pipeline_free(pipeline); /* a mode that the preset has not, or a bound that the type is too narrow for */
    return 0;
  }
  OK(IN_ENV(fz_plan_decoder(plan, &decoder)));
  if (lent) env = DEFAULT_ENVIRONMENT;
  OK(IN_ENV(fz_workspace_new(plan, &encoding)));
  OK(IN_ENV(fz_workspace_new(decoder, &decoding)));
  env = outside;
  OK(IN_ENV(fz_max_compressed_bytes(plan, &capacity)));
  CHECK(capacity <= ROOM);
  OK(IN_ENV(fz_compress(plan, encoding, x, size, r->container, capacity, &r->bytes)));
  OK(IN_ENV(fz_decompress(decoder, decoding, r->container, r->bytes, r->values, size, &r->restored)));
  fz_workspace_free(decoding);
  fz_workspace_free(encoding);
  fz_plan_free(decoder);
  fz_plan_free(plan);
  fz_pipeline_free(pipeline);
  return 1;
}

static void same(const result *want, const result *got, const char *preset, const char *mode, const char *what) {
  if (want->bytes == got->bytes && memcmp(want->container, got->container, want->bytes) == 0 && want->restored == got->restored &&
      memcmp(want->values, got->values, want->restored) == 0)
    return;
  fprintf(stderr, "%s %s, %s: other bytes or values in the environment \"%s\"\n", preset, mode ? mode : "", what, env_name);
  exit(1);
}

/* Presets x modes x types x data x environments x threads. */
static unsigned round_trips(void) {
  static result want, got;
  unsigned done = 0;
  size_t p, m, k, e;
  int32_t dtype;
  for (k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
    make((int)k);
    for (p = 0; p < sizeof presets / sizeof presets[0]; p++) {
      for (m = 0; m < sizeof modes / sizeof modes[0]; m++) {
        const int lossless = strcmp(presets[p], "bits") == 0;
        const char *mode = lossless ? NULL : modes[m];
        const double bound = m == 0 ? kinds[k].bound : 1e-3;
        if (m == 3 && strcmp(presets[p], "pfpl") != 0) continue;
        if (lossless && m > 0) continue;
        for (dtype = FZ_F32; dtype <= FZ_F64; dtype++) {
          env = DEFAULT_ENVIRONMENT;
          if (!whole(presets[p], mode, bound, dtype, 1, 0, &want)) continue;
          for (e = 0; e < ENVIRONMENTS; e++) {
            env = environments[e].bits, env_name = environments[e].name;
            CHECK(whole(presets[p], mode, bound, dtype, 1, 0, &got));
            same(&want, &got, presets[p], mode, kinds[k].name);
            CHECK(whole(presets[p], mode, bound, dtype, 3, (int)(e % 2), &got));
            same(&want, &got, presets[p], mode, kinds[k].name);
            done += 2;
          }
        }
      }
    }
  }
  return done;
}

/* The results of the calls beside those of a round trip, as one text. */
static void others(char *text) {
  static unsigned char container[ROOM], buffer[1 << 21];
  static float part[N];
  const uint64_t dims[3] = {NX, NY, NZ}, origin[3] = {3, 2, 1}, extent[3] = {9, 9, 9};
  char toml[TEXT], line[TEXT];
  fz_pipeline *pipeline = NULL, *again = NULL;
  fz_plan *plan = NULL, *opened = NULL;
  fz_workspace *workspace = NULL;
  fz_info info;
  uint64_t bytes = 0, length = 0, need = 0, restored = 0;
  const char *const path = "environment.fzm";
  size_t used = 0, i;
  OK(IN_ENV(fz_pipeline_from_text("fast(error_bound=1.1e-3,mode=noa,outlier_threshold=1e19)", &pipeline)));
  OK(IN_ENV(fz_pipeline_finalize(pipeline, FZ_F32, dims, 3, NULL, &plan)));
  OK(IN_ENV(fz_workspace_bytes(plan, &need)));
  CHECK(need <= sizeof buffer);
  OK(IN_ENV(fz_workspace_from_buffer(plan, buffer, need, &workspace)));
  OK(IN_ENV(fz_compress(plan, workspace, f32, sizeof f32, container, sizeof container, &bytes)));
  OK(IN_ENV(fz_pipeline_from_container(container, bytes, &again)));
  OK(IN_ENV(fz_pipeline_to_toml(again, toml, sizeof toml, &length)));
  OK(IN_ENV(fz_pipeline_to_text(again, line, sizeof line, &length)));
  fz_pipeline_free(again);
  OK(IN_ENV(fz_pipeline_from_toml(toml, &again)));
  info.struct_bytes = sizeof info;
  OK(IN_ENV(fz_container_info(container, bytes, &info)));
  OK(IN_ENV(fz_plan_open(container, bytes, NULL, &opened)));
  OK(IN_ENV(fz_decompress_region(container, bytes, origin, extent, 3, part, sizeof part, &restored)));
  OK(IN_ENV(fz_compress_file(plan, workspace, f32, sizeof f32, path, &length)));
  CHECK(length == bytes);
  OK(IN_ENV(fz_file_info(path, &info)));
  OK(IN_ENV(fz_decompress_region_file(path, origin, extent, 3, part, sizeof part, &restored)));
  OK(IN_ENV(fz_decompress_file(opened, NULL, path, part, sizeof part, &restored)));
  used += (size_t)sprintf(text + used, "%s\n%s\n%llu bytes, bound %a, threshold %a:", toml, line, (unsigned long long)bytes, info.bound, info.outlier_threshold);
  for (i = 0; i < N; i += 13) {
    uint32_t bits;
    memcpy(&bits, &part[i], sizeof bits);
    used += (size_t)sprintf(text + used, " %08x", (unsigned)bits);
  }
  /* A refusal quotes the value. */
  CHECK(IN_ENV(fz_pipeline_set_double(pipeline, FZ_EVERY_STAGE, "error_bound", -1.2345678901234567e-300)) != FZ_OK);
  strcpy(text + used, fz_last_error());
  remove(path);
  fz_workspace_free(workspace);
  fz_plan_free(opened);
  fz_plan_free(plan);
  fz_pipeline_free(pipeline);
  fz_pipeline_free(again);
}

int main(void) {
  static char want[4 * TEXT], got[4 * TEXT];
  unsigned done;
  size_t e;
  environment_set(DEFAULT_ENVIRONMENT); /* the program may be linked with -ffast-math */
  done = round_trips();
  CHECK(done >= 1000 || ENVIRONMENTS == 1);
  make(1);
  env = DEFAULT_ENVIRONMENT;
  others(want);
  for (e = 0; e < ENVIRONMENTS; e++) {
    env = environments[e].bits, env_name = environments[e].name;
    others(got);
    if (strcmp(want, got) != 0) {
      fprintf(stderr, "other texts or values in the environment \"%s\":\n%s\n%s\n", env_name, want, got);
      return 1;
    }
  }
  printf("%u round trips in %d environments, and all other calls: the same bytes, and the environment as it was\n", done, (int)ENVIRONMENTS);
  return 0;
}
