// Stage huffman: the stream, and the memory that the passes of the encoder share.
#pragma once
#include "common/coder.cuh"
#include "huffman/params.h"

namespace fz {
namespace huffman {
// Flag of a table entry: the code is longer than 16 bits or does not exist.
constexpr uint32_t LONG_CODE = 0x400;
// The code of a symbol that does not occur.
constexpr uint32_t NO_CODE = 0xffffffffu;

// Where the parts of a stream of n symbols are.
struct HuffmanForm {
  uint64_t n, bits_at, starts_at, cells_at;
  uint32_t sublen, parts;
};

FZ_DEV uint32_t huffman_partition(uint32_t rule, uint64_t n) {
  const uint64_t t = n >> 17;
  if (rule != 0) return rule;
  return t <= 768 ? MIN_PARTITION : t < 2048 ? 1024 : t < 4096 ? 2048 : MAX_PARTITION;
}
FZ_DEV HuffmanForm huffman_form(const HuffmanParams& p, uint64_t n, uint32_t sublen, uint32_t parts) {
  HuffmanForm f;
  f.n = n;
  f.sublen = sublen;
  f.parts = parts;
  f.bits_at = SYMBOLS_AT + (uint64_t)p.width * p.bklen;
  f.starts_at = f.bits_at + 4ull * f.parts;
  f.cells_at = f.starts_at + 4ull * f.parts;
  return f;
}
// The symbols of an encoder. Every warp calls this, and divisions would be a large part of its
// work.
FZ_DEV HuffmanForm huffman_form(const Args& a) {
  const HuffmanParams& p = params<HuffmanParams>(a);
  const Operand& in = input(a, 0);
  const uint64_t n = least(length(in), in.max) >> p.width / 2;  // of 1, 2 or 4 bytes
  const uint32_t sublen = huffman_partition(p.partition, n);
  const uint32_t parts = sublen == 768 ? (uint32_t)((n + 767) >> 8) / 3 : (uint32_t)((n + sublen - 1) >> (31 - __clz((int)sublen)));
  return huffman_form(p, n, sublen, parts);
}

// Counts of all symbols, from huffman_count for the encoder. The memory is zero when the call
// starts.
struct HuffmanCounts {
  uint32_t largest;  // symbol outside the code book, or 0
  uint32_t done;     // blocks, while counting
  uint32_t pad[2];
  uint32_t of[1];
};
static_assert(offsetof(HuffmanCounts, of) == COUNTS_AT, "as in Rust");
FZ_DEV const uint32_t* huffman_counts(const Args& a) { return reinterpret_cast<const HuffmanCounts*>(address(input(a, 1)))->of; }

// Scratch of the encoder; `encode` in src/stages/huffman/device.rs allocates it.
struct HuffmanScratch {
  uint64_t* bits;    // of the whole stream
  uint32_t* codes;   // by symbol: length << 27 | code, or NO_CODE
  uint32_t* table;   // by symbol: the code at the top, its length in the lower half, LONG_CODE
  uint32_t* tiles;   // cells of each tile
  uint32_t* sizes;   // bits of each partition
  uint32_t* slots;   // cells of each partition, before they are moved together
  uint32_t stride;   // words of a slot: no code is longer than 28 bits
  uint8_t* work;     // of the book, before there are tiles

  FZ_DEV HuffmanScratch(const Args& a, const HuffmanForm& f) {
    const uint64_t symbols = (params<HuffmanParams>(a).bklen + 3ull) & ~3ull;
    const uint64_t count = ((f.parts + CODER_TILE - 1) / CODER_TILE + 3ull) & ~3ull;
    uint8_t* at = reinterpret_cast<uint8_t*>(a.scratch);
    bits = reinterpret_cast<uint64_t*>(at);
    codes = reinterpret_cast<uint32_t*>(at + SCRATCH_HEADER_BYTES);
    table = codes + symbols;
    tiles = table + symbols;
    work = reinterpret_cast<uint8_t*>(tiles);
    sizes = tiles + count;
    slots = sizes + ((f.parts + 3ull) & ~3ull);
    stride = f.sublen / 8 * 7;  // MAX_CODE_BITS / 32 words per symbol
  }
};
}  // namespace huffman
}  // namespace fz
