// SPDX-License-Identifier: BSD-3-Clause
#include "operator.hpp"

#include "block.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>

namespace fzgm_adios2 {
namespace {

/**
 * A shelf keeps a workspace of at most this many bytes: a program may have an operator for each of its variables. Memory of a larger one costs
 * little beside the block, and what the system needs to hand it out and back.
 */
constexpr std::uint64_t max_kept_bytes = std::uint64_t{128} << 20;

/** No container is shorter. */
constexpr std::uint64_t min_container_bytes = 64;

/** Length of a block in bytes. Throws std::length_error if a header cannot hold it. */
std::uint64_t block_length(const adios2::Dims &count, std::size_t element_bytes, const std::string &of_variable) {
  std::uint64_t bytes = element_bytes;
  for (const std::size_t n : count) {
    if (n == 0) return 0;
  }
  for (const std::size_t n : count) {
    if (n > max_block_bytes / bytes) {
      throw std::length_error("fzgm: a block" + of_variable + " has more than " + std::to_string(max_block_bytes) +
                              " bytes; write smaller blocks");
    }
    bytes *= n;
  }
  return bytes;
}

/** A call of `stored`, the pipeline without stages that change anything. */
fzgm::plan stored_plan(std::uint64_t bytes, std::int32_t device) {
  auto options = fzgm::options();
  options.container = FZ_CONTAINER_COMPACT;
  options.device = device;
  return fzgm::pipeline::from_text("stored").finalize(fzgm::dtype::u8, {bytes}, options);
}

/** True for memory of a GPU, which a plan for the CPU rejects. */
bool is_on_device(const char *src) {
  const auto plan = stored_plan(1, FZ_DEVICE_CPU);
  std::vector<char> dst(static_cast<std::size_t>(plan.max_compressed_bytes()));
  std::uint64_t bytes = 0;
  return fz_compress(plan.get(), nullptr, src, 1, dst.data(), dst.size(), &bytes) == FZ_INVALID_ARGUMENT;
}

/** Copies from memory of any kind to the host. */
void copy_to_host(const char *src, std::uint64_t bytes, char *dst) {
  if (bytes == 0) return;
  if (!is_on_device(src)) {
    std::memcpy(dst, src, static_cast<std::size_t>(bytes));
    return;
  }
  const auto plan = stored_plan(bytes, FZ_DEVICE_AUTO);
  std::vector<char> container(static_cast<std::size_t>(plan.max_compressed_bytes()));
  container.resize(static_cast<std::size_t>(fzgm::compress(plan, fzgm::const_bytes(src, bytes), container)));
  fzgm::decompress(container, fzgm::mutable_bytes(dst, bytes));
}

using buffer = std::unique_ptr<char[]>;

/** Memory whose contents do not matter. */
buffer make_buffer(std::uint64_t bytes) { return buffer(new char[static_cast<std::size_t>(bytes)]); }

/** Moves the two values of each element apart, all first ones before all second ones, or (`join`) together again. */
template <class T> void regroup(const char *src, char *dst, std::uint64_t bytes, bool join) {
  const std::size_t count = static_cast<std::size_t>(bytes) / (2 * sizeof(T));
  for (std::size_t part = 0; part < 2; part++) {
    for (std::size_t i = 0; i < count; i++) {
      const std::size_t apart = (part * count + i) * sizeof(T), together = (2 * i + part) * sizeof(T);
      std::memcpy(dst + (join ? together : apart), src + (join ? apart : together), sizeof(T));
    }
  }
}

void regroup(const char *src, char *dst, std::uint64_t bytes, std::int32_t dtype, bool join) {
  if (dtype == FZ_F32) {
    regroup<std::uint32_t>(src, dst, bytes, join);
  } else {
    regroup<std::uint64_t>(src, dst, bytes, join);
  }
}

/** The block with its parts apart, in host memory. */
buffer parts_of(const char *src, std::uint64_t bytes, std::int32_t dtype) {
  buffer parts = make_buffer(bytes), copy;
  if (is_on_device(src)) {
    copy = make_buffer(bytes);
    copy_to_host(src, bytes, copy.get());
    src = copy.get();
  }
  regroup(src, parts.get(), bytes, dtype, false);
  return parts;
}

/** The accuracy that a container promises, in the words of ADIOS2. The norm is the largest error. */
adios2::Accuracy accuracy_of(const fz_info &info) {
  const double largest = std::numeric_limits<double>::infinity();
  switch (info.mode) {
  case FZ_MODE_ABS: return {info.bound, largest, false};
  case FZ_MODE_REL:
  case FZ_MODE_PREL: return {info.bound, largest, true};
  // The range is at most twice the largest magnitude, which a relative error of ADIOS2 refers to.
  case FZ_MODE_NOA: return {2.0 * info.bound, largest, true};
  default: return {0.0, largest, false};
  }
}

} // namespace

std::optional<coder> coder_shelf::take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::optional<coder> taken = std::move(kept_);
  kept_.reset();
  return taken;
}

void coder_shelf::keep(coder &&used) {
  std::uint64_t bytes = 0;
  if (fz_workspace_bytes(used.plan.get(), &bytes) != FZ_OK || bytes > max_kept_bytes) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  kept_ = std::move(used);
}

compression::compression(const adios2::Params &parameters)
    : PluginOperatorInterface(parameters), parameters_(read_parameters(parameters)) {
  if (parameters_.lossless()) return;
  for (const std::int32_t dtype : {FZ_F32, FZ_F64}) {
    try {
      make_encoder(dtype, {1}, true);
    } catch (const fzgm::error &e) {
      wrong_[dtype == FZ_F64] = std::string("fzgm: the parameters are not for elements of type ") + (dtype == FZ_F64 ? "double: " : "float: ") + e.what();
    }
  }
  if (!wrong_[0].empty() && !wrong_[1].empty()) throw std::invalid_argument(wrong_[0]);
}

std::string compression::of_variable() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return variable_.empty() ? "" : " of variable " + variable_;
}

void compression::AddExtraParameters(const adios2::Params &params) {
  const auto name = params.find("VariableName");
  const std::lock_guard<std::mutex> lock(mutex_);
  variable_ = name == params.end() ? "" : name->second;
}

bool compression::IsDataTypeValid(const adios2::DataType type) const {
  const element of = element_of(type);
  if (of.values != 0 && of.is_float() && !wrong_[of.dtype == FZ_F64].empty()) throw std::invalid_argument(wrong_[of.dtype == FZ_F64]);
  return of.values != 0;
}

std::size_t compression::GetEstimatedSize(const std::size_t ElemCount, const std::size_t ElemSize, const std::size_t,
                                          const std::size_t *) const {
  return header_bytes + ElemCount * ElemSize;
}

/**
 * The fastest dimension is the first, dimensions of 1 are left out, and the slowest ones are merged down to FZ_MAX_DIMS. The parts of
 * elements of two values are the slowest dimension.
 */
std::vector<std::uint64_t> compression::array_dims(const adios2::Dims &count, const element &of) const {
  std::vector<std::uint64_t> dims;
  const auto add = [&dims](std::uint64_t n) {
    if (n == 1) return;
    if (dims.size() == FZ_MAX_DIMS) {
      dims.back() *= n;
    } else {
      dims.push_back(n);
    }
  };
  for (std::size_t i = 0; i < count.size(); i++) add(count[parameters_.first_is_fastest ? i : count.size() - 1 - i]);
  add(of.values);
  if (dims.empty()) dims.push_back(1);
  return dims;
}

fzgm::pipeline compression::make_pipeline(std::int32_t dtype) const {
  const bool lossy = !parameters_.lossless() && (dtype == FZ_F32 || dtype == FZ_F64);
  auto pipeline = fzgm::pipeline::from_preset(lossy || parameters_.lossless() ? parameters_.preset : "bits", static_cast<fzgm::dtype>(dtype));
  if (!lossy) return pipeline;
  pipeline.set(fzgm::every_stage, "mode", parameters_.mode);
  pipeline.set(fzgm::every_stage, "error_bound", parameters_.accuracy);
  // In the precision of the elements: a fill value is stored as the nearest one.
  const double threshold = dtype == FZ_F32 ? static_cast<double>(static_cast<float>(parameters_.threshold)) : parameters_.threshold;
  if (std::isfinite(threshold)) pipeline.set(fzgm::every_stage, "outlier_threshold", threshold);
  return pipeline;
}

coder compression::make_encoder(std::int32_t dtype, const std::vector<std::uint64_t> &dims, bool plain) const {
  auto options = fzgm::options();
  options.container = FZ_CONTAINER_COMPACT;
  options.threads = plain ? 1 : parameters_.threads;
  options.device = plain ? static_cast<std::int32_t>(FZ_DEVICE_AUTO) : parameters_.device;
  coder made;
  made.dtype = dtype;
  made.dims = dims;
  made.plan = make_pipeline(dtype).finalize(static_cast<fzgm::dtype>(dtype), dims, options);
  made.workspace = made.plan.make_workspace();
  return made;
}

std::int32_t compression::try_compress(const char *src, std::uint64_t bytes, const element &of, const std::vector<std::uint64_t> &dims,
                                       char *dst, bool plain, std::uint64_t &compressed) {
  try {
    auto encoder = plain ? std::nullopt : encoder_.take();
    if (!encoder || encoder->dtype != of.dtype || encoder->dims != dims) encoder = make_encoder(of.dtype, dims, plain);
    // A container is stored only if it is shorter than the block.
    const std::int32_t status =
        fz_compress(encoder->plan.get(), encoder->workspace.get(), src, bytes, dst, bytes - 1, &compressed);
    if (!plain && status != FZ_INTERNAL) encoder_.keep(std::move(*encoder));
    return status;
  } catch (const fzgm::error &e) {
    return e.status();
  }
}

/** Returns the length of the container in `dst`, or 0 if the block is to be stored as it is. */
std::uint64_t compression::compress(const char *src, std::uint64_t bytes, const element &of, const std::vector<std::uint64_t> &dims,
                                    char *dst) {
  if (bytes <= min_container_bytes) return 0;
  buffer parts;
  if (of.values == 2) {
    try {
      parts = parts_of(src, bytes, of.dtype);
    } catch (const std::bad_alloc &) {
      return 0;
    }
    src = parts.get();
  }
  std::uint64_t compressed = 0;
  std::int32_t status = try_compress(src, bytes, of, dims, dst, false, compressed);
  // Neither threads nor the device change the bytes, so the calling thread and the device of the memory do as well.
  if (status == FZ_NO_DEVICE || status == FZ_DEVICE || status == FZ_NO_THREADS) {
    status = try_compress(src, bytes, of, dims, dst, true, compressed);
  }
  if (status == FZ_OK) return compressed;
  if (status != FZ_DST_TOO_SMALL && parameters_.verbose) {
    std::fprintf(stderr, "fzgm: a block%s is stored without compression: %s\n", of_variable().c_str(), fz_last_error());
  }
  return 0;
}

std::size_t compression::Operate(const char *dataIn, const adios2::Dims &, const adios2::Dims &blockCount, const adios2::DataType type,
                                 char *bufferOut) {
  const element of = element_of(type);
  if (of.values == 0) {
    throw std::invalid_argument("fzgm: a block" + of_variable() + " has elements of type number " + std::to_string(static_cast<int>(type)) +
                                " of ADIOS2; expected numbers or characters");
  }
  try {
    const std::uint64_t bytes = block_length(blockCount, adios2::GetDataTypeSize(type), of_variable());
    char *payload = bufferOut + header_bytes;
    std::uint64_t payload_bytes = compress(dataIn, bytes, of, array_dims(blockCount, of), payload);
    const storage stored = payload_bytes == 0 ? storage::raw : storage::container;
    if (stored == storage::raw) {
      copy_to_host(dataIn, bytes, payload);
      payload_bytes = bytes;
    }
    write_header(bufferOut, {stored, of.number, bytes}, payload_bytes);
    return header_bytes + static_cast<std::size_t>(payload_bytes);
  } catch (const fzgm::error &e) {
    // Without a type of this library, which ADIOS2 may unload before the exception is handled.
    throw std::runtime_error("fzgm: a block" + of_variable() + " cannot be compressed: " + e.what());
  }
}

/** A decoder for a container, whose header is compared with that of the block first. */
coder compression::open_decoder(fzgm::const_bytes container, const element &of, std::uint64_t bytes) const {
  coder opened;
  opened.info = fzgm::container_info(container);
  const fz_info &info = opened.info;
  if (info.original_bytes != bytes || info.container_bytes != container.size() || info.dtype != of.dtype) {
    throw std::runtime_error("fzgm: a block" + of_variable() + " cannot be restored: its container has " + std::to_string(info.original_bytes) +
                             " bytes of data of type " + std::to_string(info.dtype) + " in " + std::to_string(info.container_bytes) +
                             " bytes, its header states " + std::to_string(bytes) + " of type " + std::to_string(of.dtype) + " in " +
                             std::to_string(container.size()) + "; the file is damaged");
  }
  auto options = fzgm::options();
  options.threads = parameters_.threads;
  options.device = parameters_.device;
  opened.plan = fzgm::plan::open(container, options);
  opened.workspace = opened.plan.make_workspace();
  return opened;
}

void compression::restore(fzgm::const_bytes container, const element &of, char *dst, std::uint64_t bytes) {
  buffer parts;
  if (of.values == 2) parts = make_buffer(bytes);
  char *const array = parts ? parts.get() : dst;
  std::uint64_t restored = 0;
  const auto run = [&](coder &with) {
    return fz_decompress(with.plan.get(), with.workspace.get(), container.data(), container.size(), array, bytes, &restored);
  };
  auto decoder = decoder_.take();
  const bool serves = decoder && decoder->info.original_bytes == bytes && decoder->info.dtype == of.dtype;
  std::int32_t status = serves ? run(*decoder) : static_cast<std::int32_t>(FZ_PLAN_MISMATCH);
  if (status == FZ_PLAN_MISMATCH) {
    decoder = open_decoder(container, of, bytes);
    status = run(*decoder);
  }
  if (status != FZ_OK) throw fzgm::error(status);
  if (parts) regroup(parts.get(), dst, bytes, of.dtype, true);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    m_AccuracyProvided = accuracy_of(decoder->info);
  }
  decoder_.keep(std::move(*decoder));
}

std::size_t compression::InverseOperate(const char *bufferIn, const std::size_t sizeIn, char *dataOut) {
  const block_header header = read_header(bufferIn, sizeIn, of_variable());
  const char *payload = bufferIn + header_bytes;
  if (header.stored == storage::container) {
    const element of = element_of_number(header.type);
    if (of.values == 0 || header.bytes % of.values != 0) {
      throw std::runtime_error("fzgm: a block" + of_variable() + " cannot be restored: its element type is " + std::to_string(header.type) +
                               ", which this plugin does not have; install a newer plugin");
    }
    try {
      restore({payload, sizeIn - header_bytes}, of, dataOut, header.bytes);
    } catch (const fzgm::error &e) {
      throw std::runtime_error("fzgm: a block" + of_variable() + " cannot be restored: " + e.what());
    }
  } else {
    if (header.bytes > 0) std::memcpy(dataOut, payload, static_cast<std::size_t>(header.bytes));
    const std::lock_guard<std::mutex> lock(mutex_);
    m_AccuracyProvided = {0.0, std::numeric_limits<double>::infinity(), false};
  }
  // ADIOS2 takes 0 for "not applied" and copies the stored bytes into the array.
  return header.bytes > 0 ? static_cast<std::size_t>(header.bytes) : 1;
}

} // namespace fzgm_adios2

#define FZGM_EXPORT extern "C" __attribute__((visibility("default")))

FZGM_EXPORT adios2::plugin::PluginOperatorInterface *OperatorCreate(const adios2::Params &parameters) {
  return new fzgm_adios2::compression(parameters);
}

FZGM_EXPORT void OperatorDestroy(adios2::plugin::PluginOperatorInterface *created) { delete created; }
