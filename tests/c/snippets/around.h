/* Declarations that the fragments of the pages assume. A page may declare one of these itself. */
#include <fzgm.h>

#include <stdio.h>
#include <stdlib.h>

#define TRY(call) if ((call) != FZ_OK) return fprintf(stderr, "%s\n", fz_last_error()), 1

extern fz_pipeline *pipeline;
extern fz_plan *plan, *decoder;
extern fz_workspace *workspace, *encoding, *decoding;
extern const uint64_t *dims;
extern uint32_t ndim;
extern double relative_bound;
extern float *x, *y, *field;
extern void *container, *dst;
extern uint64_t bytes, capacity, restored, count;
extern fz_result *results;
extern fz_cuda_stream stream;
