/* The parameters of the operator. SPDX-License-Identifier: BSD-3-Clause */
#ifndef FZGM_ADIOS2_PARAMETERS_HPP
#define FZGM_ADIOS2_PARAMETERS_HPP

#include <cstdint>
#include <map>
#include <string>

namespace fzgm_adios2 {

/** The parameters of an operator, checked as far as they do not depend on the element type. */
struct parameters {
  std::string preset = "bits";
  /** A word of the parameter `mode` of stages; "lossless": there is no bound. */
  std::string mode = "lossless";
  double accuracy = 0.0;
  /** The smallest magnitude of a fill value; infinity: there is none. */
  double threshold;
  /** An fz_device_choice or the number of a GPU. */
  std::int32_t device;
  std::uint32_t threads = 1;
  /** Print on the standard error output why a block is not compressed; ADIOS2 has the parameter too. */
  bool verbose = false;
  /** The first dimension of a block runs fastest, as in Fortran. */
  bool first_is_fastest = false;

  bool lossless() const { return mode == "lossless"; }
};

/**
 * Reads parameters, whose names ADIOS2 has written in small letters.
 *
 * Throws std::invalid_argument for an unknown name, a value outside of its range, and values that exclude each other.
 */
parameters read_parameters(const std::map<std::string, std::string> &given);

} // namespace fzgm_adios2

#endif
