// Huffman: the stream, and the memory that the passes of the encoder share.
#pragma once
#include "coder.cuh"

namespace fz {
// Argument block of both kernels, as in src/stages/huffman.rs.
struct HuffmanParams {
  uint32_t bklen, width, partition, exact;
};

constexpr uint32_t HUFFMAN_HEAD = 128, HUFFMAN_KEYS = 384;
// Symbols whose codes fit into shared memory, beside the symbols of a tile.
constexpr uint32_t HUFFMAN_NEAR = 1024;
// Of a table entry: the code is longer than 16 bits, or there is none.
constexpr uint32_t HUFFMAN_FAR = 0x400;
// Of a symbol without a code.
constexpr uint32_t HUFFMAN_NONE = 0xffffffffu;

// Where the parts of a stream of n symbols are.
struct HuffmanForm {
  uint64_t n, bits_at, starts_at, cells_at;
  uint32_t sublen, parts;
};

FZ_DEV uint32_t huffman_partition(uint32_t rule, uint64_t n) {
  const uint64_t t = n >> 17;
  if (rule != 0) return rule;
  return t <= 768 ? 768 : t < 2048 ? 1024 : t < 4096 ? 2048 : 4096;
}
FZ_DEV HuffmanForm huffman_form(const HuffmanParams& p, uint64_t n, uint32_t sublen, uint32_t parts) {
  HuffmanForm f;
  f.n = n;
  f.sublen = sublen;
  f.parts = parts;
  f.bits_at = HUFFMAN_KEYS + (uint64_t)p.width * p.bklen;
  f.starts_at = f.bits_at + 4ull * f.parts;
  f.cells_at = f.starts_at + 4ull * f.parts;
  return f;
}
// The symbols of an encoder. Every warp asks for this, and divisions would be a good part of its work.
FZ_DEV HuffmanForm huffman_form(const Args& a) {
  const HuffmanParams& p = params<HuffmanParams>(a);
  const Operand& in = input(a, 0);
  const uint64_t n = least(length(in), in.max) >> p.width / 2;  // of 1, 2 or 4 bytes
  const uint32_t sublen = huffman_partition(p.partition, n);
  const uint32_t parts = sublen == 768 ? (uint32_t)((n + 767) >> 8) / 3 : (uint32_t)((n + sublen - 1) >> (31 - __clz((int)sublen)));
  return huffman_form(p, n, sublen, parts);
}

// How often each symbol occurs, as huffman_count leaves it to the encoder. In memory that is zero at first.
struct HuffmanCounts {
  uint32_t largest;  // symbol that is none of the codebook, or 0
  uint32_t done;     // blocks, while counting
  uint32_t pad[2];
  uint32_t of[1];
};
FZ_DEV const uint32_t* huffman_counts(const Args& a) { return reinterpret_cast<const HuffmanCounts*>(address(input(a, 1)))->of; }

// Scratch of the encoder: `huffman::encoder` in src/stages/huffman/device.rs has room for it.
struct HuffmanScratch {
  uint64_t* bits;    // of the whole stream
  uint32_t* codes;   // by symbol: length << 27 | code, or HUFFMAN_NONE
  uint32_t* table;   // by symbol: the code at the top, its length in the lower half, HUFFMAN_FAR
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
    codes = reinterpret_cast<uint32_t*>(at + 64);
    table = codes + symbols;
    tiles = table + symbols;
    work = reinterpret_cast<uint8_t*>(tiles);
    sizes = tiles + count;
    slots = sizes + ((f.parts + 3ull) & ~3ull);
    stride = f.sublen / 8 * 7;
  }
};
}  // namespace fz
