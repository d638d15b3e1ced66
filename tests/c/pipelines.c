/* A pipeline built stage by stage gives the bytes of the preset; the number of threads gives the same bytes too. */
#include "check.h"

enum { NX = 500, NY = 400, N = NX * NY };
static const uint64_t dims[2] = {NX, NY};

static void same_bytes(const fz_plan *a, const fz_plan *b, const float *x) {
  uint64_t a_bytes = 0, b_bytes = 0;
  unsigned char *of_a = compressed(a, NULL, x, N, &a_bytes);
  unsigned char *of_b = compressed(b, NULL, x, N, &b_bytes);
  CHECK(a_bytes == b_bytes && memcmp(of_a, of_b, (size_t)a_bytes) == 0);
  guarded_free(of_a);
  guarded_free(of_b);
}

/* pfpl by hand: codes of the quantiser, differences of neighbors, bit planes, zeros taken out. */
static fz_pipeline *by_hand(void) {
  fz_pipeline *p = NULL;
  uint32_t quantizer = 0, difference = 0, bitshuffle = 0, rze = 0;
  OK(fz_pipeline_new(&p));
  OK(fz_pipeline_add_stage(p, "quantizer", &quantizer));
  OK(fz_pipeline_add_stage(p, "difference", &difference));
  OK(fz_pipeline_add_stage(p, "bitshuffle", &bitshuffle));
  OK(fz_pipeline_add_stage(p, "rze", &rze));
  OK(fz_pipeline_connect(p, quantizer, "codes", difference));
  OK(fz_pipeline_connect(p, difference, "output", bitshuffle));
  OK(fz_pipeline_connect(p, bitshuffle, "output", rze));
  OK(fz_pipeline_set_string(p, quantizer, "code_type", "u32"));
  OK(fz_pipeline_set_int(p, quantizer, "quant_radius", 1 << 22));
  OK(fz_pipeline_set_int(p, quantizer, "inplace_outliers", 1));
  OK(fz_pipeline_set_string(p, difference, "code", "negabinary"));
  OK(fz_pipeline_set_int(p, difference, "chunk_size", 16384));
  OK(fz_pipeline_set_int(p, bitshuffle, "element_width", 4));
  OK(fz_pipeline_set_string(p, quantizer, "mode", "noa"));
  OK(fz_pipeline_set_double(p, quantizer, "error_bound", 1e-3));
  return p;
}

int main(void) {
  float *x = (float *)malloc(N * sizeof *x);
  fz_pipeline *preset = pfpl_noa(1e-3), *custom = by_hand();
  fz_plan *one, *other;
  fz_options options;
  uint32_t threads;

  CHECK(x != NULL);
  fill(x, N);
  one = plan_of(preset, dims, 2, NULL);

  other = plan_of(custom, dims, 2, NULL);
  same_bytes(one, other, x);
  fz_plan_free(other);

  for (threads = 0; threads <= 5; threads++) {
    OK(fz_options_init(&options));
    options.threads = threads;
    other = plan_of(preset, dims, 2, &options);
    same_bytes(one, other, x);
    fz_plan_free(other);
  }

  /* a plan keeps what it needs: its pipeline may change or go before it is used */
  OK(fz_pipeline_set_double(preset, FZ_EVERY_STAGE, "error_bound", 0.5));
  other = plan_of(custom, dims, 2, NULL);
  fz_pipeline_free(preset);
  fz_pipeline_free(custom);
  same_bytes(one, other, x);
  fz_plan_free(other);
  fz_plan_free(one);
  free(x);
  printf("same bytes from preset, hand-made pipeline and any number of threads\n");
  return 0;
}
