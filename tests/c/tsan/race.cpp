// A call that the header forbids: one pipeline in two threads. ThreadSanitizer must report it, or its silence elsewhere proves nothing.
#include "../check.h"

#include <thread>

int main() {
  fz_pipeline *pipeline = pfpl_noa(1e-3);
  const auto set = [pipeline] {
    for (int i = 1; i < 1000; i++) OK(fz_pipeline_set_double(pipeline, FZ_EVERY_STAGE, "value_base", i));
  };
  std::thread one(set), other(set);
  one.join();
  other.join();
  fz_pipeline_free(pipeline);
  return 0;
}
