// SPDX-License-Identifier: BSD-3-Clause
#include "block.hpp"

#include <array>
#include <cstring>
#include <stdexcept>

namespace fzgm_adios2 {
namespace {

constexpr unsigned char magic[4] = {'F', 'Z', 'A', 1};
/** Where the checksum is; it covers the bytes before it and, of an uncompressed block, the payload. A container has its own. */
constexpr std::size_t checksum_offset = 12;

using crc_tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr crc_tables make_tables() {
  crc_tables tables{};
  for (std::uint32_t byte = 0; byte < 256; byte++) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320u : 0u);
    tables[0][byte] = crc;
  }
  for (std::size_t table = 1; table < 8; table++) {
    for (std::size_t byte = 0; byte < 256; byte++) {
      const std::uint32_t crc = tables[table - 1][byte];
      tables[table][byte] = (crc >> 8) ^ tables[0][crc & 255];
    }
  }
  return tables;
}

constexpr crc_tables tables = make_tables();

std::uint64_t load(const unsigned char *bytes, std::size_t count) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

void store(unsigned char *bytes, std::size_t count, std::uint64_t value) noexcept {
  for (std::size_t i = 0; i < count; i++) bytes[i] = static_cast<unsigned char>(value >> 8 * i);
}

/** CRC-32 (ISO-HDLC), 8 bytes at a time; `crc` is that of the bytes before. */
std::uint32_t crc32(std::uint32_t crc, const unsigned char *bytes, std::uint64_t count) noexcept {
  crc = ~crc;
  for (; count >= 8; bytes += 8, count -= 8) {
    const std::uint64_t word = load(bytes, 8) ^ crc;
    crc = 0;
    for (std::size_t i = 0; i < 8; i++) crc ^= tables[7 - i][word >> 8 * i & 255];
  }
  for (; count > 0; bytes++, count--) crc = (crc >> 8) ^ tables[0][(crc ^ *bytes) & 255];
  return ~crc;
}

std::uint32_t checksum(const unsigned char *block, storage stored, std::uint64_t payload_bytes) noexcept {
  const std::uint32_t crc = crc32(0, block, checksum_offset);
  return stored == storage::raw ? crc32(crc, block + header_bytes, payload_bytes) : crc;
}

[[noreturn]] void damaged(const std::string &of_variable, const std::string &what) {
  throw std::runtime_error("fzgm: a block" + of_variable + " cannot be restored: " + what);
}

} // namespace

void write_header(char *block, const block_header &header, std::uint64_t payload_bytes) noexcept {
  auto *bytes = reinterpret_cast<unsigned char *>(block);
  std::memcpy(bytes, magic, sizeof magic);
  bytes[4] = static_cast<unsigned char>(header.stored);
  bytes[5] = header.type;
  store(bytes + 6, 6, header.bytes);
  store(bytes + checksum_offset, 4, checksum(bytes, header.stored, payload_bytes));
}

block_header read_header(const char *block, std::uint64_t block_bytes, const std::string &of_variable) {
  // A file that ends early gives ADIOS2 a length below that of its own header, from which it subtracts.
  if (block_bytes < header_bytes || block_bytes > max_block_bytes) {
    damaged(of_variable, "it has " + std::to_string(static_cast<std::int64_t>(block_bytes)) + " bytes, a header has " +
                             std::to_string(header_bytes) + "; the file is cut off or damaged");
  }
  const auto *bytes = reinterpret_cast<const unsigned char *>(block);
  if (std::memcmp(bytes, magic, 3) != 0) {
    damaged(of_variable, "it does not begin with \"FZA\"; the file is damaged, or another plugin wrote it under this name");
  }
  if (bytes[3] != magic[3]) {
    damaged(of_variable, "its version is " + std::to_string(bytes[3]) + ", this plugin reads version 1; install a newer plugin");
  }
  const block_header header = {static_cast<storage>(bytes[4]), bytes[5], load(bytes + 6, 6)};
  const std::uint64_t payload_bytes = block_bytes - header_bytes;
  if (header.stored != storage::raw && header.stored != storage::container) {
    damaged(of_variable, "byte 4 of its header is " + std::to_string(bytes[4]) + ", expected 0 or 1; the file is damaged");
  }
  if (header.stored == storage::raw && header.bytes != payload_bytes) {
    damaged(of_variable, "it has " + std::to_string(payload_bytes) + " bytes of data, its header states " +
                             std::to_string(header.bytes) + "; the file is cut off or damaged");
  }
  if (load(bytes + checksum_offset, 4) != checksum(bytes, header.stored, payload_bytes)) {
    damaged(of_variable, "its checksum does not match; the file is damaged");
  }
  return header;
}

} // namespace fzgm_adios2
