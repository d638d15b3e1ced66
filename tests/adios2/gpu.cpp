// The operator in an ADIOS2 with CUDA: arrays in device memory, written and read. The folder of the plugin is in ADIOS2_PLUGIN_PATH.
//
//   gpu BP4|BP5 <file> [host]      host: arrays are read into host memory alone
// SPDX-License-Identifier: BSD-3-Clause
#include "check.hpp"

#include <adios2.h>
#include <cuda_runtime_api.h>

#include <complex>

using adios2::Dims;
using adios2::Mode;

static constexpr std::size_t steps = 2;
static bool reads_on_device = true;

/** An array in device memory. */
template <class T> class device_array {
  T *data_ = nullptr;
  std::size_t bytes_;

public:
  explicit device_array(std::size_t n) : bytes_(n * sizeof(T)) { CHECK(cudaMalloc(reinterpret_cast<void **>(&data_), bytes_) == cudaSuccess); }
  explicit device_array(const std::vector<T> &x) : device_array(x.size()) {
    CHECK(cudaMemcpy(data_, x.data(), bytes_, cudaMemcpyHostToDevice) == cudaSuccess);
  }
  device_array(const device_array &) = delete;
  device_array &operator=(const device_array &) = delete;
  ~device_array() { cudaFree(data_); }
  T *data() { return data_; }
  std::vector<T> host() const {
    std::vector<T> x(bytes_ / sizeof(T));
    CHECK(cudaMemcpy(x.data(), data_, bytes_, cudaMemcpyDeviceToHost) == cudaSuccess);
    return x;
  }
};

template <class T> std::vector<T> values(std::size_t n, std::size_t step) {
  auto x = field<float>(n + step);
  return std::vector<T>(x.begin() + static_cast<std::ptrdiff_t>(step), x.end());
}

template <class T> void compare(const std::vector<T> &x, const std::vector<T> &y, double bound) {
  CHECK(x.size() == y.size());
  for (std::size_t i = 0; i < x.size(); i++) CHECK(std::abs(x[i] - y[i]) <= static_cast<decltype(std::abs(x[i]))>(bound));
}

template <class T> void round_trip(const std::string &kind, const std::string &file, const Dims &shape, adios2::Params params, double bound) {
  const std::size_t n = adios2::GetTotalSize(shape);
  params["PluginName"] = "fzgm";
  params["PluginLibrary"] = "fzgm_adios2";
  params["verbose"] = "1";
  {
    adios2::ADIOS adios;
    adios2::IO io = adios.DeclareIO("write");
    io.SetEngine(kind);
    // BP4 reads arrays of short integers on the host for its statistics, and has no statistics for complex numbers in device memory.
    if (kind == "BP4") io.SetParameter("StatsLevel", "0");
    auto variable = io.DefineVariable<T>("T", shape, Dims(shape.size(), 0), shape);
    // Without this line, ADIOS2 takes arrays in device memory for column-major ones.
    variable.SetArrayLayout(adios2::ArrayOrdering::RowMajor);
    variable.SetMemorySpace(adios2::MemorySpace::GPU);
    variable.AddOperation("plugin", params);
    adios2::Engine engine = io.Open(file, Mode::Write);
    for (std::size_t step = 0; step < steps; step++) {
      device_array<T> x(values<T>(n, step));
      engine.BeginStep();
      engine.Put(variable, x.data(), Mode::Sync);
      engine.EndStep();
    }
    engine.Close();
  }
  for (const bool on_device : {false, true}) {
    if (on_device && !reads_on_device) continue;
    adios2::ADIOS adios;
    adios2::IO io = adios.DeclareIO("read");
    io.SetEngine(kind);
    adios2::Engine engine = io.Open(file, Mode::Read);
    for (std::size_t step = 0; step < steps; step++) {
      CHECK(engine.BeginStep() == adios2::StepStatus::OK);
      auto variable = io.InquireVariable<T>("T");
      CHECK(variable);
      std::vector<T> y(n);
      device_array<T> z(n);
      variable.SetArrayLayout(adios2::ArrayOrdering::RowMajor);
      variable.SetMemorySpace(on_device ? adios2::MemorySpace::GPU : adios2::MemorySpace::Host);
      engine.Get(variable, on_device ? z.data() : y.data(), Mode::Sync);
      engine.EndStep();
      compare(values<T>(n, step), on_device ? z.host() : y, bound);
    }
    engine.Close();
  }
}

int main(int argc, char **argv) {
  if (argc != 3 && argc != 4) return std::fprintf(stderr, "usage: gpu BP4|BP5 <file> [host]\n"), 2;
  reads_on_device = argc == 3;
  for (const char *preset : {"fast", "high", "pfpl"}) {
    round_trip<float>(argv[1], argv[2], {64, 100, 128}, {{"accuracy", "1e-2"}, {"preset", preset}}, 1e-2);
    round_trip<double>(argv[1], argv[2], {300, 400}, {{"accuracy", "1e-2"}, {"preset", preset}}, 1e-2);
  }
  round_trip<float>(argv[1], argv[2], {50000}, {}, 0.0);
  round_trip<double>(argv[1], argv[2], {6, 5, 4, 50, 5}, {{"preset", "exact"}}, 0.0);
  round_trip<std::int8_t>(argv[1], argv[2], {50000}, {}, 0.0);
  round_trip<std::int32_t>(argv[1], argv[2], {50000}, {}, 0.0);
  round_trip<std::complex<float>>(argv[1], argv[2], {100, 500}, {{"accuracy", "1e-2"}}, 1.5e-2);
  round_trip<float>(argv[1], argv[2], {7}, {{"accuracy", "1e-2"}}, 1e-2);
  for (const char *device : {"cpu", "cuda:0"}) round_trip<float>(argv[1], argv[2], {50000}, {{"accuracy", "1e-2"}, {"device", device}}, 1e-2);
  round_trip<float>(argv[1], argv[2], {50000}, {{"accuracy", "1e-38"}}, 1e-38);
  std::printf("ok  device memory, %s: presets, types, tiny blocks, blocks that do not shrink\n", argv[1]);
  return 0;
}
