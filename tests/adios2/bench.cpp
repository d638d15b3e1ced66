// What the operator costs beside the calls of fzgm: CPU time of Operate and InverseOperate over that of fz_compress and fz_decompress with a
// plan and a workspace that are kept. No test: it prints a table.
//
//   bench <libfzgm_adios2.so> [<seconds per row>]
// SPDX-License-Identifier: BSD-3-Clause
#include "check.hpp"

#include <adios2/plugin/PluginOperatorInterface.h>
#include <dlfcn.h>
#include <fzgm.hpp>

#include <algorithm>
#include <ctime>

using plugin = adios2::plugin::PluginOperatorInterface;

static double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class F> double timed(F f) {
  const double start = now();
  f();
  return now() - start;
}

/** Two ways that take turns, so that a change of clock rates meets both; the median of the ratios of neighboring runs. */
template <class A, class B> void row(const char *preset, std::size_t kib, const char *name, double seconds, A bare, B with) {
  double best = 1e9, spent = 0.0;
  std::vector<double> ratios;
  bare();
  with();
  while (spent < seconds || ratios.size() < 15) {
    const double a = timed(bare), b = timed(with);
    best = std::min(best, a);
    spent += a + b;
    ratios.push_back(b / a);
  }
  std::nth_element(ratios.begin(), ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2), ratios.end());
  const double overhead = ratios[ratios.size() / 2] - 1.0;
  std::printf("%-6s %6zu KiB  %-10s  bare %9.3f ms  overhead %6.2f %%, %8.1f us  (%zu runs)\n", preset, kib, name, 1e3 * best, 100.0 * overhead,
              1e6 * best * overhead, ratios.size());
  std::fflush(stdout);
}

int main(int argc, char **argv) {
  if (argc != 2 && argc != 3) return std::fprintf(stderr, "usage: bench <libfzgm_adios2.so> [<seconds per row>]\n"), 2;
  const double seconds = argc == 3 ? std::atof(argv[2]) : 2.0;
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  plugin *(*create)(const adios2::Params &) = nullptr;
  void (*destroy)(plugin *) = nullptr;
  *reinterpret_cast<void **>(&create) = dlsym(library, "OperatorCreate");
  *reinterpret_cast<void **>(&destroy) = dlsym(library, "OperatorDestroy");
  CHECK(create != nullptr && destroy != nullptr);
  for (const char *preset : {"fast", "high", "pfpl", "bits"}) {
    for (const std::size_t kib : {4, 1024, 8192, 65536}) {
      const std::size_t ny = 32, nx = kib * 256 / ny, bytes = nx * ny * sizeof(float);
      const auto x = field<float>(nx * ny);
      std::vector<float> y(x.size());
      const bool lossless = std::string(preset) == "bits";

      auto pipeline = fzgm::pipeline::from_preset(preset, fzgm::dtype::f32);
      if (!lossless) {
        pipeline.set(fzgm::every_stage, "mode", "abs");
        pipeline.set(fzgm::every_stage, "error_bound", 1e-2);
      }
      auto options = fzgm::options();
      options.container = FZ_CONTAINER_COMPACT;
      const auto plan = pipeline.finalize(fzgm::dtype::f32, {nx, ny}, options);
      auto workspace = plan.make_workspace();
      // Both ways use the same memory: where it lies counts for a few per cent.
      std::vector<char> block(bytes + 16), container;
      std::uint64_t container_bytes = 0;
      std::size_t block_bytes = 0;

      fzgm::compress(plan, workspace, x, {block.data() + 16, bytes});
      container.assign(block.begin() + 16, block.end());
      plugin *op = create(lossless ? adios2::Params{} : adios2::Params{{"accuracy", "1e-2"}, {"preset", preset}});
      row(preset, kib, "compress", seconds, [&] { container_bytes = fzgm::compress(plan, workspace, x, {block.data() + 16, bytes}); },
          [&] { block_bytes = op->Operate(reinterpret_cast<const char *>(x.data()), {0, 0}, {ny, nx}, adios2::DataType::Float, block.data()); });
      CHECK(block_bytes == container_bytes + 16 && std::memcmp(block.data() + 16, container.data(), container_bytes) == 0);

      const fzgm::const_bytes same(block.data() + 16, container_bytes);
      const auto decoder = fzgm::plan::open(same);
      auto decoding = decoder.make_workspace();
      row(preset, kib, "decompress", seconds, [&] { fzgm::decompress(decoder, decoding, same, y); },
          [&] { op->InverseOperate(block.data(), block_bytes, reinterpret_cast<char *>(y.data())); });
      destroy(op);
    }
  }
  return 0;
}
