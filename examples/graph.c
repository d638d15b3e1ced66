/* Builds a pipeline stage by stage: a graph with two branches. docs/pipelines.md explains each call.
 *
 *   array -> lorenzo_quant -codes-> bitshuffle -> rze
 *                          -outlier_indices-> difference -> rze
 *
 *   graph <file.f32> <nx> [<ny> [<nz>]]        x runs fastest */
#include <fzgm.h>

#include <stdio.h>
#include <stdlib.h>

#define TRY(call)                                          \
  do {                                                     \
    if ((call) != FZ_OK) {                                 \
      fprintf(stderr, "%s: %s\n", #call, fz_last_error()); \
      return 1;                                            \
    }                                                      \
  } while (0)

/* The ports of a stage, whose names fz_pipeline_connect() takes. They may depend on parameters. */
static int print_ports(const fz_pipeline *pipeline, uint32_t stage) {
  fz_stage about;
  FZ_INIT(about);
  TRY(fz_pipeline_stage_info(pipeline, stage, &about));
  printf("%s writes", about.name);
  for (uint32_t port = 0; port < about.outputs; port++) {
    fz_port output;
    FZ_INIT(output);
    TRY(fz_pipeline_stage_port(pipeline, stage, FZ_PORT_OUTPUT, port, &output));
    printf(" %s", output.name);
  }
  printf("\n");
  return 0;
}

int main(int argc, char **argv) {
  uint64_t dims[3] = {1, 1, 1}, count = 1, capacity, bytes, restored;
  if (argc < 3 || argc > 5) return fprintf(stderr, "usage: %s <file.f32> <nx> [<ny> [<nz>]]\n", argv[0]), 2;
  const uint32_t ndim = (uint32_t)(argc - 2);
  for (uint32_t d = 0; d < ndim; d++) count *= dims[d] = strtoull(argv[d + 2], NULL, 10);
  float *x = malloc(count * sizeof *x), *y = malloc(count * sizeof *y);
  FILE *file = fopen(argv[1], "rb");
  if (!x || !y || !file || fread(x, sizeof *x, count, file) != count) return fprintf(stderr, "cannot read %s\n", argv[1]), 1;
  fclose(file);

  fz_pipeline *pipeline;
  uint32_t quantizer, planes, coder, distances, indices;
  TRY(fz_pipeline_new(&pipeline));
  TRY(fz_pipeline_add_stage(pipeline, "lorenzo_quant", &quantizer)); /* reads the array: nothing is connected to it */
  TRY(fz_pipeline_add_stage(pipeline, "bitshuffle", &planes));
  TRY(fz_pipeline_add_stage(pipeline, "rze", &coder));
  TRY(fz_pipeline_add_stage(pipeline, "difference", &distances));
  TRY(fz_pipeline_add_stage(pipeline, "rze", &indices));

  TRY(fz_pipeline_set_string(pipeline, quantizer, "mode", "noa"));
  TRY(fz_pipeline_set_double(pipeline, quantizer, "error_bound", 1e-3));
  TRY(fz_pipeline_set_int(pipeline, planes, "element_width", 2)); /* codes have 16 bits */
  if (print_ports(pipeline, quantizer)) return 1;

  TRY(fz_pipeline_connect(pipeline, quantizer, "codes", planes));
  TRY(fz_pipeline_connect(pipeline, planes, "output", coder));
  TRY(fz_pipeline_connect(pipeline, quantizer, "outlier_indices", distances));
  TRY(fz_pipeline_connect(pipeline, distances, "output", indices));

  /* Outputs that no stage reads are stored in the container: here outlier_errors, and the outputs of both rze. */
  fz_plan *plan;
  TRY(fz_pipeline_finalize(pipeline, FZ_F32, dims, ndim, NULL, &plan));
  TRY(fz_max_compressed_bytes(plan, &capacity));
  void *container = malloc(capacity);
  if (!container) return fprintf(stderr, "out of memory\n"), 1;
  TRY(fz_compress(plan, NULL, x, count * sizeof *x, container, capacity, &bytes));
  TRY(fz_decompress(NULL, NULL, container, bytes, y, count * sizeof *y, &restored));
  printf("%.2f times smaller\n", (double)restored / (double)bytes);

  free(container);
  fz_plan_free(plan);
  fz_pipeline_free(pipeline);
  free(x);
  free(y);
  return restored == count * sizeof *x ? 0 : 1;
}
