// Eight threads share one plan; each has its workspace, its error text, and the same bytes as all others. Beside that each
// makes, describes and frees plans, pipelines and files of its own.
#include "check.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

struct Free {
  void operator()(fz_pipeline *p) const { fz_pipeline_free(p); }
  void operator()(fz_plan *p) const { fz_plan_free(p); }
  void operator()(fz_workspace *p) const { fz_workspace_free(p); }
};
template <class T> using Owned = std::unique_ptr<T, Free>;

Owned<fz_workspace> workspace_of(const fz_plan *plan) {
  fz_workspace *made = nullptr;
  OK(fz_workspace_new(plan, &made));
  return Owned<fz_workspace>(made);
}

std::vector<unsigned char> compress(const fz_plan *plan, fz_workspace *workspace, const std::vector<float> &x) {
  std::uint64_t capacity = 0, bytes = 0;
  OK(fz_max_compressed_bytes(plan, &capacity));
  std::vector<unsigned char> out(capacity);
  OK(fz_compress(plan, workspace, x.data(), x.size() * sizeof(float), out.data(), out.size(), &bytes));
  out.resize(bytes);
  return out;
}

} // namespace

namespace {

// The calls of one thread while others make the same ones; the plan is shared.
void of_its_own(const fz_plan *encoder, const std::vector<unsigned char> &container, int k) {
  fz_info info;
  info.struct_bytes = sizeof info;
  std::uint64_t bytes = 0;
  OK(fz_container_info(container.data(), container.size(), &info));
  CHECK(info.container_bytes == container.size());
  GIVES(FZ_TRUNCATED, fz_container_info_partial(container.data(), 30, &info, &bytes));
  CHECK(std::string(fz_last_error()).find(std::to_string(bytes)) != std::string::npos);

  const std::uint64_t dims[] = {100 + static_cast<std::uint64_t>(k)};
  std::vector<float> x(dims[0]), y(dims[0]);
  fill(x.data(), x.size());
  const Owned<fz_pipeline> pipeline(pfpl_noa(1e-3));
  const Owned<fz_plan> mine(plan_of(pipeline.get(), dims, 1, nullptr));
  OK(fz_workspace_bytes(mine.get(), &bytes));
  std::vector<unsigned char> memory(bytes);
  fz_workspace *lent = nullptr;
  OK(fz_workspace_from_buffer(mine.get(), memory.data(), memory.size(), &lent));
  const Owned<fz_workspace> workspace(lent);
  const auto small = compress(mine.get(), workspace.get(), x);
  fz_plan *made = nullptr;
  OK(fz_plan_open(small.data(), small.size(), nullptr, &made));
  const Owned<fz_plan> opened(made);
  OK(fz_decompress(opened.get(), nullptr, small.data(), small.size(), y.data(), y.size() * sizeof(float), &bytes));
  OK(fz_decompress(nullptr, nullptr, small.data(), small.size(), y.data(), y.size() * sizeof(float), &bytes));
  OK(fz_plan_decoder(encoder, &made));
  const Owned<fz_plan> decoder(made);
  GIVES(FZ_PLAN_MISMATCH, fz_decompress(decoder.get(), nullptr, small.data(), small.size(), y.data(), y.size() * sizeof(float), &bytes));

  fz_pipeline *again = nullptr;
  OK(fz_pipeline_from_container(small.data(), small.size(), &again));
  const Owned<fz_pipeline> recipe(again);
  char text[1000];
  OK(fz_pipeline_to_toml(recipe.get(), text, sizeof text, &bytes));
  OK(fz_pipeline_to_text(pipeline.get(), text, sizeof text, &bytes));
  const std::string path = "threads_test_" + std::to_string(getpid()) + "_" + std::to_string(k) + ".fzm";
  OK(fz_compress_file(mine.get(), workspace.get(), x.data(), x.size() * sizeof(float), path.c_str(), &bytes));
  OK(fz_file_info(path.c_str(), &info));
  CHECK(info.dims[0] == dims[0] && info.container_bytes == bytes && bytes == small.size());
  OK(fz_decompress_file(nullptr, nullptr, path.c_str(), y.data(), y.size() * sizeof(float), &bytes));
  CHECK(std::remove(path.c_str()) == 0);
}

// Each of the eight makes calls that run on this number of threads.
void share(std::uint32_t threads_of_a_call) {
  std::vector<float> x(120001);
  fill(x.data(), x.size());
  const std::uint64_t dims[] = {x.size()};
  const Owned<fz_pipeline> pipeline(pfpl_noa(1e-4));
  fz_options options;
  OK(fz_options_init(&options));
  options.threads = threads_of_a_call;
  const Owned<fz_plan> encoder(plan_of(pipeline.get(), dims, 1, &options));
  fz_plan *made = nullptr;
  OK(fz_plan_decoder(encoder.get(), &made));
  const Owned<fz_plan> decoder(made);
  const std::vector<unsigned char> expected = compress(encoder.get(), nullptr, x);
  const double bound = 1e-4 * range_of(x.data(), x.size());

  std::vector<std::thread> threads;
  for (int k = 0; k < 8; k++) {
    threads.emplace_back([&, k] {
      const auto in = workspace_of(encoder.get()), out = workspace_of(decoder.get());
      CHECK(std::string(fz_last_error()).empty()); // the failures of other threads are theirs
      const std::string name = "preset " + std::to_string(k);
      for (int turn = 0; turn < 4; turn++) {
        fz_pipeline *none = nullptr;
        GIVES(FZ_UNKNOWN_NAME, fz_pipeline_from_preset(name.c_str(), FZ_F32, &none));
        CHECK(std::string(fz_last_error()).find(name) != std::string::npos);
        const auto container = compress(encoder.get(), in.get(), x);
        CHECK(container == expected);
        std::vector<float> y(x.size());
        std::uint64_t restored = 0;
        OK(fz_decompress(decoder.get(), out.get(), container.data(), container.size(), y.data(), y.size() * sizeof(float), &restored));
        CHECK(restored == y.size() * sizeof(float) && worst_error(x.data(), y.data(), x.size()) <= bound);
        of_its_own(encoder.get(), container, k);
      }
    });
  }
  for (auto &thread : threads) thread.join();
}

} // namespace

int main() {
  share(1);
#ifndef __SANITIZE_THREAD__ // which does not see the locks inside of the standard library of Rust, and so no thread pool
  share(2);
#endif
  std::puts("eight threads on one plan: the same bytes");
  return 0;
}
