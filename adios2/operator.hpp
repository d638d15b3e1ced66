/* The operator that ADIOS2 loads. SPDX-License-Identifier: BSD-3-Clause */
#ifndef FZGM_ADIOS2_OPERATOR_HPP
#define FZGM_ADIOS2_OPERATOR_HPP

#include "element.hpp"
#include "parameters.hpp"

#include <adios2/plugin/PluginOperatorInterface.h>
#include <fzgm.hpp>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#if !defined(ADIOS2_PLUGIN_OPERATOR_INTERFACE) || ADIOS2_PLUGIN_OPERATOR_INTERFACE != 2
#error "this plugin is for version 2 of the operator interface, that of ADIOS2 2.12; give the headers of such an ADIOS2"
#endif

namespace fzgm_adios2 {

/** A plan and the memory of its calls. */
struct coder {
  /** The element type and the shape of an encoder. */
  std::int32_t dtype = -1;
  std::vector<std::uint64_t> dims;
  /** The container that a decoder was opened from. */
  fz_info info{};
  fzgm::plan plan;
  fzgm::workspace workspace;
};

/** The coder of the last call, if it is small. One call uses it at a time; a concurrent call makes its own. */
class coder_shelf {
public:
  std::optional<coder> take();
  void keep(coder &&used);

private:
  std::mutex mutex_;
  std::optional<coder> kept_;
};

/**
 * Any number of threads may call one operator at the same time, except for the functions of its base class. Failures are exceptions of the
 * standard library.
 *
 * Parameters are checked completely before the first block, because ADIOS2 does not survive an exception of Operate: engine BP4 calls it from a
 * function that is noexcept, and engine BP5 crashes in the next Close(). So Operate stores a block that it cannot compress as it is.
 */
class compression final : public adios2::plugin::PluginOperatorInterface {
public:
  /** Throws std::invalid_argument for wrong parameters. */
  explicit compression(const adios2::Params &parameters);

  std::size_t Operate(const char *dataIn, const adios2::Dims &blockStart, const adios2::Dims &blockCount, const adios2::DataType type,
                      char *bufferOut) override;
  std::size_t InverseOperate(const char *bufferIn, const std::size_t sizeIn, char *dataOut) override;
  /** Throws std::invalid_argument for parameters that are wrong for the type. */
  bool IsDataTypeValid(const adios2::DataType type) const override;
  std::size_t GetEstimatedSize(const std::size_t ElemCount, const std::size_t ElemSize, const std::size_t ndims,
                               const std::size_t *dims) const override;
  void AddExtraParameters(const adios2::Params &params) override;

private:
  std::string of_variable() const;
  std::vector<std::uint64_t> array_dims(const adios2::Dims &count, const element &of) const;
  fzgm::pipeline make_pipeline(std::int32_t dtype) const;
  coder make_encoder(std::int32_t dtype, const std::vector<std::uint64_t> &dims, bool plain) const;
  std::uint64_t compress(const char *src, std::uint64_t bytes, const element &of, const std::vector<std::uint64_t> &dims, char *dst);
  std::int32_t try_compress(const char *src, std::uint64_t bytes, const element &of, const std::vector<std::uint64_t> &dims, char *dst,
                            bool plain, std::uint64_t &compressed);
  void restore(fzgm::const_bytes container, const element &of, char *dst, std::uint64_t bytes);
  coder open_decoder(fzgm::const_bytes container, const element &of, std::uint64_t bytes) const;

  parameters parameters_;
  /** The error of the parameters for float and for double; empty if there is none. */
  std::string wrong_[2];
  mutable std::mutex mutex_;
  /** Guarded by mutex_. */
  std::string variable_;
  coder_shelf encoder_;
  coder_shelf decoder_;
};

} // namespace fzgm_adios2

#endif
