/* The descriptions of the library are sufficient to set every parameter and to draw every pipeline; pipelines as text come back as
   they were; and every wrong argument of these functions is refused. */
#include "check.h"

/* The sizes are part of the binary interface. */
typedef char stage_bytes[sizeof(fz_stage) == 240 ? 1 : -1];
typedef char port_bytes[sizeof(fz_port) == 64 ? 1 : -1];
typedef char parameter_bytes[sizeof(fz_parameter) == 688 ? 1 : -1];
typedef char preset_bytes[sizeof(fz_preset) == 256 ? 1 : -1];

static const char chain[] = "lorenzo_quant(eb=0.001,mode=noa) > bitshuffle(width=2) > rze";

/* Sets a parameter to this number by the function of its kind; words and flags by their text too, and so
   many names. */
static int32_t set(fz_pipeline *p, uint32_t stage, const fz_parameter *info, double value) {
  char word[96], *end;
  double i;
  switch (info->kind) {
    case FZ_PARAMETER_REAL: return fz_pipeline_set_double(p, stage, info->name, value);
    case FZ_PARAMETER_INT:
    case FZ_PARAMETER_FLAG: return fz_pipeline_set_int(p, stage, info->name, (int64_t)value);
    case FZ_PARAMETER_NAMES:
      for (end = word, i = 0.0; i < value; i += 1.0) end += sprintf(end, "%sa%d", i > 0.0 ? "+" : "", (int)i);
      return fz_pipeline_set_string(p, stage, info->name, word);
    default: break;
  }
  memcpy(word, info->choices_text, sizeof word);
  for (end = word, i = 0.0; i < value && end != NULL; i += 1.0) end = strchr(end + 1, ' ');
  if (end == NULL) return fz_pipeline_set_string(p, stage, info->name, "none of them");
  end += *end == ' ';
  if (strchr(end, ' ') != NULL) *strchr(end, ' ') = '\0';
  return fz_pipeline_set_string(p, stage, info->name, end);
}

static void parameter(fz_pipeline *p, uint32_t stage, uint32_t index, const fz_parameter *library) {
  fz_parameter info;
  memset(&info, 0x55, sizeof info);
  info.struct_bytes = sizeof info;
  OK(fz_pipeline_stage_parameter(p, stage, index, &info));
  CHECK(memcmp(&info, library, sizeof info) == 0 && info.struct_bytes == sizeof info);
  CHECK(info.kind >= FZ_PARAMETER_REAL && info.kind <= FZ_PARAMETER_NAMES);
  CHECK(info.low <= info.default_value && info.default_value <= info.high && info.value == info.default_value);
  CHECK(strlen(info.name) > 0 && strlen(info.range) > 0 && strlen(info.about) > 0 && strlen(info.default_text) > 0);
  CHECK(strcmp(info.default_text, info.value_text) == 0);
  CHECK((info.choices > 0) == (info.choices_text[0] != '\0') && (info.kind != FZ_PARAMETER_WORD || info.choices > 0));
  /* the ends of the range are taken, what lies behind is not */
  OK(set(p, stage, &info, info.high));
  CHECK(set(p, stage, &info, info.low) == (info.low_excluded ? FZ_INVALID_ARGUMENT : FZ_OK));
  if (info.high < HUGE_VAL && info.high < 1e300) CHECK(set(p, stage, &info, info.high + 1.0) != FZ_OK);
  OK(set(p, stage, &info, info.high));
  OK(fz_pipeline_stage_parameter(p, stage, index, &info));
  CHECK(info.value == info.high && info.default_value == library->default_value);
  OK(fz_pipeline_set_string(p, stage, info.name, info.default_text));
}

/* Stages list the modes that they accept. Mode rel can be set in each of them, and a plan rejects it. */
static void modes(void) {
  static const char *const without[] = {"fast", "multilevel", "lorenzo_quant", "ginterp"};
  fz_pipeline *p = NULL;
  fz_parameter info;
  uint32_t i, k, index;
  for (i = 0; i < 5; i++) {
    const int rejects = i < 4;
    OK(fz_pipeline_new(&p));
    OK(fz_pipeline_add_stage(p, rejects ? without[i] : "quantizer", &index));
    OK(fz_pipeline_set_string(p, index, "mode", "rel"));
    for (k = 0, info.struct_bytes = sizeof info;; k++) {
      OK(fz_pipeline_stage_parameter(p, index, k, &info));
      if (strcmp(info.name, "mode") == 0) break;
    }
    CHECK(strcmp(info.choices_text, rejects ? "abs noa prel" : "abs noa rel prel") == 0);
    CHECK(info.choices == (rejects ? 3 : 4) && info.value == (rejects ? -1 : 2) && strcmp(info.value_text, "rel") == 0);
    fz_pipeline_free(p);
  }
}

/* Every stage of the library, with its ports and parameters, alone in a pipeline. */
static void stages(void) {
  uint32_t count = 0, i, k, index = 7;
  fz_stage stage;
  fz_port port;
  fz_parameter info;
  OK(fz_stage_count(&count));
  CHECK(count >= 8);
  for (i = 0; i < count; i++) {
    fz_pipeline *p = NULL;
    stage.struct_bytes = sizeof stage;
    OK(fz_stage_info(i, &stage));
    CHECK(strlen(stage.name) > 0 && strlen(stage.about) > 0 && stage.inputs >= 1 && stage.outputs >= 1);
    OK(fz_pipeline_new(&p));
    OK(fz_pipeline_add_stage(p, stage.name, &index));
    for (k = 0; k < stage.inputs + stage.outputs; k++) {
      const int32_t direction = k < stage.inputs ? FZ_PORT_INPUT : FZ_PORT_OUTPUT;
      port.struct_bytes = sizeof port;
      OK(fz_stage_port(i, direction, k < stage.inputs ? k : k - stage.inputs, &port));
      CHECK(strlen(port.name) > 0 && port.producer == FZ_NO_STAGE && port.producer_port == 0);
    }
    GIVES(FZ_INVALID_ARGUMENT, fz_stage_port(i, FZ_PORT_INPUT, stage.inputs, &port));
    GIVES(FZ_INVALID_ARGUMENT, fz_stage_port(i, FZ_PORT_OUTPUT, stage.outputs, &port));
    for (k = 0; k < stage.parameters; k++) {
      memset(&info, 0xAA, sizeof info);
      info.struct_bytes = sizeof info;
      OK(fz_stage_parameter(i, k, &info));
      parameter(p, index, k, &info);
    }
    GIVES(FZ_INVALID_ARGUMENT, fz_stage_parameter(i, stage.parameters, &info));
    fz_pipeline_free(p);
  }
  GIVES(FZ_INVALID_ARGUMENT, fz_stage_info(count, &stage));
  GIVES(FZ_INVALID_ARGUMENT, fz_stage_info(UINT32_MAX, &stage));
}

static void presets(void) {
  uint32_t count = 0, i, found = 0;
  fz_preset preset;
  OK(fz_preset_count(&count));
  for (i = 0; i < count; i++) {
    fz_pipeline *p = NULL;
    preset.struct_bytes = sizeof preset;
    OK(fz_preset_info(i, &preset));
    OK(fz_pipeline_from_preset(preset.name, FZ_F32, &p));
    CHECK(preset.lossless == (fz_pipeline_set_double(p, FZ_EVERY_STAGE, "error_bound", 1.0) != FZ_OK));
    CHECK(strlen(preset.about) > 0);
    found += strcmp(preset.name, "pfpl") == 0;
    fz_pipeline_free(p);
  }
  CHECK(found == 1);
  GIVES(FZ_INVALID_ARGUMENT, fz_preset_info(count, &preset));
}

/* The graph of a pipeline from its ports. */
static void graph(void) {
  fz_pipeline *p = NULL;
  fz_stage stage;
  fz_port port;
  uint32_t count = 0;
  OK(fz_pipeline_from_text(chain, &p));
  OK(fz_pipeline_stage_count(p, &count));
  CHECK(count == 3);
  stage.struct_bytes = sizeof stage;
  port.struct_bytes = sizeof port;
  OK(fz_pipeline_stage_info(p, 1, &stage));
  CHECK(strcmp(stage.name, "bitshuffle") == 0);
  OK(fz_pipeline_stage_port(p, 0, FZ_PORT_INPUT, 0, &port));
  CHECK(port.producer == FZ_NO_STAGE);
  OK(fz_pipeline_stage_port(p, 2, FZ_PORT_INPUT, 0, &port));
  CHECK(port.producer == 1 && port.producer_port == 0 && strcmp(port.name, "input") == 0);
  OK(fz_pipeline_stage_port(p, 0, FZ_PORT_OUTPUT, 2, &port));
  CHECK(strcmp(port.name, "outlier_indices") == 0 && port.producer == FZ_NO_STAGE);
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_stage_port(p, 0, 2, 0, &port));
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_stage_port(p, 3, FZ_PORT_INPUT, 0, &port));
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_stage_info(p, 3, &stage));
  fz_pipeline_free(p);
}

typedef int32_t reader(const char *, fz_pipeline **);
typedef int32_t writer(const fz_pipeline *, char *, uint64_t, uint64_t *);

static void round_trip(const char *text, reader *read, writer *write) {
  fz_pipeline *p = NULL, *again = NULL;
  uint64_t bytes = 0, same = 0, n;
  unsigned char *memory;
  OK(read(text, &p));
  OK(write(p, NULL, 0, &bytes));
  CHECK(bytes > 1);
  for (n = 1; n < bytes; n++) {
    memory = guarded_new((size_t)n);
    GIVES(FZ_DST_TOO_SMALL, write(p, (char *)memory, n, &same));
    CHECK(same == 0 && memory[0] == GUARD && guarded_intact(memory, (size_t)n));
    guarded_free(memory);
  }
  memory = guarded_new((size_t)bytes);
  OK(write(p, (char *)memory, bytes, &same));
  CHECK(same == bytes && strlen((char *)memory) == bytes - 1 && guarded_intact(memory, (size_t)bytes));
  OK(read((char *)memory, &again));
  {
    char *second = (char *)malloc((size_t)bytes);
    CHECK(second != NULL);
    OK(write(again, second, bytes, &same));
    CHECK(same == bytes && memcmp(memory, second, (size_t)bytes) == 0);
    free(second);
  }
  guarded_free(memory);
  fz_pipeline_free(again);

  /* arguments */
  GIVES(FZ_NULL_POINTER, write(NULL, NULL, 0, &bytes));
  GIVES(FZ_NULL_POINTER, write(p, NULL, 0, NULL));
  GIVES(FZ_NULL_POINTER, write(p, NULL, 10, &bytes));
  GIVES(FZ_INVALID_ARGUMENT, write(p, (char *)&bytes, sizeof bytes, &bytes)); /* the length would lie in the text */
  CHECK(write(p, (char *)&same, UINT64_MAX, &bytes) != FZ_OK);
  fz_pipeline_free(p);
  p = NULL;
  GIVES(FZ_NULL_POINTER, read(NULL, &p));
  GIVES(FZ_NULL_POINTER, read(text, NULL));
  GIVES(FZ_INVALID_ARGUMENT, read("\xff\xfe", &p));
  CHECK(read("", &p) != FZ_OK && read("no such stage", &p) != FZ_OK && p == NULL);
}

static void texts(void) {
  static const char toml[] =
      "[pipeline]\nstrict = false\n[[stage]]\nname = \"q\"\ntype = \"Quantizer\"\nerror_bound = 0.5\n"
      "[[stage]]\nname = \"z\"\ntype = \"RZE\"\ninputs = [{ from = \"q\", port = \"codes\" }]\n";
  fz_pipeline *p = NULL;
  uint64_t bytes = 4711;
  round_trip(chain, fz_pipeline_from_text, fz_pipeline_to_text);
  round_trip(toml, fz_pipeline_from_toml, fz_pipeline_to_toml);
  GIVES(FZ_UNKNOWN_NAME, fz_pipeline_from_toml("[[stage]]\nname = \"z\"\ntype = \"RZE\"\nwordsize = 4\n", &p));
  CHECK(strstr(fz_last_error(), "line 4") != NULL && strstr(fz_last_error(), "`word_size`") != NULL);
  GIVES(FZ_UNSUPPORTED, fz_pipeline_from_text("quantizer > szx", &p));
  CHECK(strstr(fz_last_error(), "SZx") != NULL && p == NULL);
  OK(fz_pipeline_from_toml(toml, &p)); /* a chain cannot express strict = false */
  GIVES(FZ_INVALID_PIPELINE, fz_pipeline_to_text(p, NULL, 0, &bytes));
  fz_pipeline_free(p);
  OK(fz_pipeline_new(&p));
  GIVES(FZ_INVALID_PIPELINE, fz_pipeline_to_toml(p, NULL, 0, &bytes));
  CHECK(bytes == 4711);
  fz_pipeline_free(p);
}

static void arguments(void) {
  fz_pipeline *p = NULL;
  fz_stage stage;
  fz_port port;
  fz_parameter info;
  fz_preset preset;
  uint32_t count;
  stage.struct_bytes = port.struct_bytes = info.struct_bytes = preset.struct_bytes = 0;
  OK(fz_pipeline_from_text(chain, &p));
  GIVES(FZ_NULL_POINTER, fz_stage_count(NULL));
  GIVES(FZ_NULL_POINTER, fz_preset_count(NULL));
  GIVES(FZ_NULL_POINTER, fz_pipeline_stage_count(NULL, &count));
  GIVES(FZ_NULL_POINTER, fz_pipeline_stage_count(p, NULL));
  GIVES(FZ_NULL_POINTER, fz_stage_info(0, NULL));
  GIVES(FZ_NULL_POINTER, fz_stage_port(0, FZ_PORT_INPUT, 0, NULL));
  GIVES(FZ_NULL_POINTER, fz_stage_parameter(0, 0, NULL));
  GIVES(FZ_NULL_POINTER, fz_preset_info(0, NULL));
  GIVES(FZ_NULL_POINTER, fz_pipeline_stage_info(p, 0, NULL));
  GIVES(FZ_NULL_POINTER, fz_pipeline_stage_port(p, 0, FZ_PORT_INPUT, 0, NULL));
  GIVES(FZ_NULL_POINTER, fz_pipeline_stage_parameter(p, 0, 0, NULL));
  /* struct_bytes of another library */
  GIVES(FZ_INVALID_ARGUMENT, fz_stage_info(0, &stage));
  GIVES(FZ_INVALID_ARGUMENT, fz_stage_port(0, FZ_PORT_INPUT, 0, &port));
  GIVES(FZ_INVALID_ARGUMENT, fz_stage_parameter(0, 0, &info));
  GIVES(FZ_INVALID_ARGUMENT, fz_preset_info(0, &preset));
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_stage_info(p, 0, &stage));
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_stage_port(p, 0, FZ_PORT_INPUT, 0, &port));
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_stage_parameter(p, 0, 0, &info));
  stage.struct_bytes = sizeof stage;
  port.struct_bytes = sizeof port;
  info.struct_bytes = sizeof info;
  GIVES(FZ_NULL_POINTER, fz_pipeline_stage_info(NULL, 0, &stage));
  GIVES(FZ_NULL_POINTER, fz_pipeline_stage_port(NULL, 0, FZ_PORT_INPUT, 0, &port));
  GIVES(FZ_NULL_POINTER, fz_pipeline_stage_parameter(NULL, 0, 0, &info));
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_stage_parameter(p, 9, 0, &info));
  GIVES(FZ_INVALID_ARGUMENT, fz_pipeline_stage_parameter(p, 0, 99, &info));
  GIVES(FZ_INVALID_ARGUMENT, fz_stage_parameter(99, 0, &info));
  GIVES(FZ_INVALID_ARGUMENT, fz_stage_port(99, FZ_PORT_INPUT, 0, &port));
  GIVES(FZ_INVALID_ARGUMENT, fz_stage_port(0, -1, 0, &port));
  fz_pipeline_free(p);
}

int main(void) {
  stages();
  modes();
  presets();
  graph();
  texts();
  arguments();
  printf("stages, ports, parameters and presets are described; pipelines as text come back\n");
  return 0;
}
