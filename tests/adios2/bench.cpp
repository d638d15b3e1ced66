// The cost of the operator beside the calls of fzgm: CPU time of Operate and InverseOperate over that of fz_compress and fz_decompress with a
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

/** The fastest runs of two ways, which take turns, so that a change of clock rates meets both. */
struct fastest {
  double bare = 1e9, with = 1e9;
  /** With a stack that begins `shift` bytes further: where it lies in a page counts for up to 7 %. */
  template <class A, class B> void measure(std::size_t shift, double seconds, A run_bare, B run_with) {
    auto *const stack = static_cast<volatile char *>(__builtin_alloca(shift + 1));
    stack[0] = 0;
    run_bare();
    run_with();
    double spent = 0.0;
    for (int runs = 0; spent < seconds || runs < 4; runs++) {
      const double a = timed(run_bare), b = timed(run_with);
      bare = std::min(bare, a);
      with = std::min(with, b);
      spent += a + b;
    }
  }
  void print(const char *preset, std::size_t kib, const char *name) const {
    std::printf("%-6s %6zu KiB  %-10s  bare %9.3f ms  overhead %6.2f %%, %7.1f us\n", preset, kib, name, 1e3 * bare, 100.0 * (with / bare - 1.0),
                1e6 * (with - bare));
    std::fflush(stdout);
  }
};

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
  for (const char *preset : {"fast", "high", "pfpl", "bits", "exact"}) {
    for (const std::size_t kib : {4, 1024, 8192, 65536}) {
      const std::size_t ny = 32, nx = kib * 256 / ny, bytes = nx * ny * sizeof(float);
      const auto x = field<float>(nx * ny);
      std::vector<float> y(x.size());
      const bool lossless = std::string(preset) == "bits" || std::string(preset) == "exact";

      auto pipeline = fzgm::pipeline::from_preset(preset, fzgm::dtype::f32);
      if (!lossless) {
        pipeline.set(fzgm::every_stage, "mode", "abs");
        pipeline.set(fzgm::every_stage, "error_bound", 1e-2);
      }
      auto options = fzgm::options();
      options.container = FZ_CONTAINER_COMPACT;
      const auto plan = pipeline.finalize(fzgm::dtype::f32, {nx, ny}, options);
      fastest compression, decompression;
      // Both ways share all arrays.
      std::vector<char> block(bytes + 16), again(bytes + 16);
      for (std::size_t place = 0; place < 5; place++) {
        auto workspace = plan.make_workspace();
        plugin *op = create(lossless ? adios2::Params{{"preset", preset}} : adios2::Params{{"accuracy", "1e-2"}, {"preset", preset}});
        const auto run_bare = [&] { return fzgm::compress(plan, workspace, x, {block.data() + 16, bytes}); };
        const auto run_with = [&](std::vector<char> &to) {
          return op->Operate(reinterpret_cast<const char *>(x.data()), {0, 0}, {ny, nx}, adios2::DataType::Float, to.data());
        };
        const std::size_t container_bytes = run_bare(), block_bytes = run_with(again);
        CHECK(block_bytes == container_bytes + 16 && std::memcmp(block.data() + 16, again.data() + 16, container_bytes) == 0);
        compression.measure(place * 784, seconds / 5, run_bare, [&] { run_with(block); });

        const fzgm::const_bytes container(block.data() + 16, container_bytes);
        const auto decoder = fzgm::plan::open(container);
        auto decoding = decoder.make_workspace();
        decompression.measure(place * 784, seconds / 5, [&] { fzgm::decompress(decoder, decoding, container, y); },
                              [&] { op->InverseOperate(block.data(), block_bytes, reinterpret_cast<char *>(y.data())); });
        destroy(op);
      }
      compression.print(preset, kib, "compress");
      decompression.print(preset, kib, "decompress");
    }
  }
  return 0;
}
