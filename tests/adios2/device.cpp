// Blocks in the memory of a GPU, as an ADIOS2 that was built for GPUs hands them to operators. The driver may be the emulator.
//
//   device <libfzgm_adios2.so>
// SPDX-License-Identifier: BSD-3-Clause
#include "check.hpp"

#include <adios2/plugin/PluginOperatorInterface.h>
#include <dlfcn.h>

#include <complex>

using adios2::DataType;
using adios2::Dims;
using adios2::Params;
using plugin = adios2::plugin::PluginOperatorInterface;

static plugin *(*create)(const Params &);
static void (*destroy)(plugin *);
static int (*init)(unsigned);
static int (*retain)(void **, int);
static int (*set_current)(void *);
static int (*allocate)(unsigned long long *, std::size_t);
static int (*release)(unsigned long long);
static int (*copy_to_device)(unsigned long long, const void *, std::size_t);

template <class F> void find(void *library, F &function, const char *name) {
  void *found = dlsym(library, name);
  CHECK(found != nullptr);
  std::memcpy(&function, &found, sizeof found);
}

static std::vector<char> compress(const Params &params, const char *src, const Dims &count, DataType type) {
  plugin *op = create(params);
  const std::size_t width = adios2::GetDataTypeSize(type), elements = adios2::GetTotalSize(count);
  std::vector<char> block(op->GetEstimatedSize(elements, width, count.size(), count.data()));
  block.resize(op->Operate(src, Dims(count.size(), 0), count, type, block.data()));
  destroy(op);
  return block;
}

/** The same block from host and device memory, and from host memory on the device. */
template <class T> void same(const std::vector<T> &x, const Dims &count, DataType type, Params params, bool shrinks) {
  const std::size_t bytes = x.size() * sizeof(T);
  const char *host = reinterpret_cast<const char *>(x.data());
  unsigned long long device = 0;
  CHECK(allocate(&device, bytes) == 0 && copy_to_device(device, host, bytes) == 0);
  const auto expected = compress(params, host, count, type);
  CHECK((expected.size() < bytes) == shrinks);
  CHECK(compress(params, reinterpret_cast<const char *>(device), count, type) == expected);
  params["device"] = "cuda:0";
  CHECK(compress(params, host, count, type) == expected);
  CHECK(compress(params, reinterpret_cast<const char *>(device), count, type) == expected);
  CHECK(release(device) == 0);

  std::vector<T> y(x.size());
  plugin *op = create(params);
  op->InverseOperate(expected.data(), expected.size(), reinterpret_cast<char *>(y.data()));
  destroy(op);
  std::vector<T> z(x.size());
  op = create(Params{});
  op->InverseOperate(expected.data(), expected.size(), reinterpret_cast<char *>(z.data()));
  destroy(op);
  CHECK(std::memcmp(y.data(), z.data(), bytes) == 0);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), *driver = dlopen("libcuda.so.1", RTLD_NOW), *context = nullptr;
  CHECK(library != nullptr && driver != nullptr);
  find(library, create, "OperatorCreate");
  find(library, destroy, "OperatorDestroy");
  find(driver, init, "cuInit");
  find(driver, retain, "cuDevicePrimaryCtxRetain");
  find(driver, set_current, "cuCtxSetCurrent");
  find(driver, allocate, "cuMemAlloc_v2");
  find(driver, release, "cuMemFree_v2");
  find(driver, copy_to_device, "cuMemcpyHtoD_v2");
  CHECK(init(0) == 0 && retain(&context, 0) == 0 && set_current(context) == 0);
  const Params bound = {{"accuracy", "1e-2"}};
  for (const char *preset : {"fast", "high", "pfpl"}) {
    same(field<float>(6000), {60, 100}, DataType::Float, {{"accuracy", "1e-2"}, {"preset", preset}}, true);
  }
  same(field<double>(6000), {5, 3, 4, 100}, DataType::Double, bound, true);
  same(field<float>(6000), {6000}, DataType::Float, Params{}, true);
  same(field<std::int32_t>(6000), {60, 100}, DataType::Int32, bound, true);
  std::vector<std::complex<float>> waves(3000);
  for (std::size_t i = 0; i < waves.size(); i++) waves[i] = std::polar(1.0f, static_cast<float>(i) / 40);
  same(waves, {30, 100}, DataType::FloatComplex, bound, true);
  // Blocks that do not shrink, and blocks that are too short.
  same(noise<float>(3000), {3000}, DataType::Float, Params{}, false);
  same(noise<char>(10), {10}, DataType::Char, Params{}, false);
  std::puts("ok  blocks in device memory are those of the host, byte for byte");
  return 0;
}
