/* Two static libraries written in Rust in one program: both work, and both catch their own panics. */
#include "check.h"

extern int other_library_catches_a_panic(void);

int main(void) {
  fz_pipeline *pipeline = NULL;
  CHECK(other_library_catches_a_panic() == 42);
  OK(fz_pipeline_from_preset("pfpl", FZ_F32, &pipeline));
  fz_pipeline_free(pipeline);
  CHECK(other_library_catches_a_panic() == 42);
  printf("two Rust libraries in one program\n");
  return 0;
}
