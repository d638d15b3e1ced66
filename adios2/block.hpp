/* The bytes of a block: a header of 16 bytes, then the block as it is or as a container of fzgm. docs/adios2.md describes them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FZGM_ADIOS2_BLOCK_HPP
#define FZGM_ADIOS2_BLOCK_HPP

#include <cstddef>
#include <cstdint>
#include <string>

namespace fzgm_adios2 {

/** How a block is stored. */
enum class storage : std::uint8_t { raw = 0, container = 1 };

/** The header of a block. */
struct block_header {
  storage stored;
  /** The number of the element type; see element.hpp. */
  std::uint8_t type;
  /** Length of the block before compression. */
  std::uint64_t bytes;
};

/** BP4 reserves little more than the block itself, so the header is short and an uncompressed block has no second one. */
constexpr std::size_t header_bytes = 16;

/** Lengths have 6 bytes in the header. */
constexpr std::uint64_t max_block_bytes = (std::uint64_t{1} << 48) - 1;

/** Writes the header in front of a payload that is already in place at `block + header_bytes`. */
void write_header(char *block, const block_header &header, std::uint64_t payload_bytes) noexcept;

/**
 * Reads and checks the header of a block of `block_bytes` bytes; no byte outside of them is read.
 *
 * Throws std::runtime_error if the block is not one of fzgm, or is damaged. `of_variable` is part of the text.
 */
block_header read_header(const char *block, std::uint64_t block_bytes, const std::string &of_variable);

} // namespace fzgm_adios2

#endif
