// A plugin that measures another one: it passes all calls to libfzgm_adios2.so in the folder FZGM_TIMED_FOLDER, and adds their seconds to
// the counter of the program, which is linked with -rdynamic.
// SPDX-License-Identifier: BSD-3-Clause
#include <adios2/plugin/PluginOperatorInterface.h>

#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>

using plugin = adios2::plugin::PluginOperatorInterface;

extern "C" double operator_seconds;

namespace {

class timer {
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();

public:
  ~timer() { operator_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
};

class timed final : public plugin {
  plugin *inner_ = nullptr;
  void (*destroy_)(plugin *) = nullptr;

public:
  explicit timed(const adios2::Params &parameters) : PluginOperatorInterface(parameters) {
    const char *folder = std::getenv("FZGM_TIMED_FOLDER");
    void *library = dlopen((std::string(folder ? folder : ".") + "/libfzgm_adios2.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::invalid_argument(dlerror());
    plugin *(*create)(const adios2::Params &) = nullptr;
    *reinterpret_cast<void **>(&create) = dlsym(library, "OperatorCreate");
    *reinterpret_cast<void **>(&destroy_) = dlsym(library, "OperatorDestroy");
    inner_ = create(parameters);
  }
  ~timed() override { destroy_(inner_); }

  std::size_t Operate(const char *in, const adios2::Dims &start, const adios2::Dims &count, const adios2::DataType type, char *out) override {
    const timer measured;
    return inner_->Operate(in, start, count, type, out);
  }
  std::size_t InverseOperate(const char *in, const std::size_t bytes, char *out) override {
    const timer measured;
    return inner_->InverseOperate(in, bytes, out);
  }
  bool IsDataTypeValid(const adios2::DataType type) const override { return inner_->IsDataTypeValid(type); }
  std::size_t GetEstimatedSize(const std::size_t n, const std::size_t bytes, const std::size_t ndims, const std::size_t *dims) const override {
    return inner_->GetEstimatedSize(n, bytes, ndims, dims);
  }
  void AddExtraParameters(const adios2::Params &parameters) override { inner_->AddExtraParameters(parameters); }
};

} // namespace

extern "C" plugin *OperatorCreate(const adios2::Params &parameters) { return new timed(parameters); }
extern "C" void OperatorDestroy(plugin *created) { delete created; }
