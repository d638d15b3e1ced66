// Stage huffman, decoder: the header of a stream, its code book, and tables of its codes.
#pragma once
#include "huffman/stream.cuh"

namespace fz {
namespace huffman {
// Codes up to FIRST bits are looked up at once. Longer codes are the smallest numbers, so two more
// tables have entries for the remaining bits: most of the codes that are too long for the second
// table are in the third.
constexpr uint32_t FIRST = 11, NEXT = 1024, TABLE = (1 << FIRST) + 2 * NEXT;

// Results of `huffman_open`, in scratch memory.
struct HuffmanOpened {
  uint32_t sound;  // 0: nothing can be decoded
  uint32_t sole;   // 1: all symbols are `symbol`
  uint32_t symbol, sublen;
  uint64_t cells;
  uint32_t first[32], number[32], entry[32];
  uint32_t shift[4];           // bits that the second and third table do not use, of 32
  uint4 table[TABLE / 4];      // words: symbol << 16 | length, or 0
  // By the next FIRST bits, halves of words: the codes that end in them. Bits mark where one starts; above them is
  // the number of bits of all. 0: there is none.
  uint4 steps[(1 << FIRST) / 8];
};
static_assert(sizeof(HuffmanOpened) <= OPENED_BYTES, "as in Rust");

FZ_DEV HuffmanOpened& opened(const Args& a) { return *reinterpret_cast<HuffmanOpened*>(a.scratch); }
// Symbols of the array.
FZ_DEV uint64_t wanted(const Args& a) { return length(output(a, 0)) / params<HuffmanParams>(a).width; }

struct HuffmanKeys {
  const uint8_t* at;
  uint32_t width;
  FZ_DEV uint32_t operator()(uint64_t k) const {
    const uint8_t* p = at + k * width;
    return width == 1 ? *p : width == 2 ? load<uint16_t>(p) : load<uint32_t>(p);
  }
};

// The code at the top of `peek`: symbol << 16 | length, or 0 if there is none.
template <class Book> FZ_DEV uint32_t find_code(const Book& b, const HuffmanKeys& keys, uint32_t peek, uint32_t l) {
#pragma unroll 1
  for (; l < 32; l++) {
    const uint32_t code = peek >> (32 - l);
    if (code >= b.first[l]) return code - b.first[l] < b.number[l] ? keys(b.entry[l] + code - b.first[l]) << 16 | l : 0;
  }
  return 0;
}

// The tables in which codes are looked up.
struct HuffmanTables {
  const uint32_t* table;
  uint32_t second, third;
  const HuffmanOpened* book;
  HuffmanKeys keys;

  FZ_DEV uint32_t first_of(uint32_t peek) const { return table[peek >> (32 - FIRST)]; }
  // The entry of a later table, if the first one has none.
  FZ_DEV uint32_t next_of(uint32_t e, uint32_t peek, uint32_t which, uint32_t shift) const {
    const uint32_t i = peek >> shift;
    return e == 0 && i < NEXT ? table[(1 << FIRST) + which * NEXT + i] : e;
  }
  // Codes up to as many bits as the second table has.
  FZ_DEV uint32_t most_of(uint32_t peek) const { return next_of(first_of(peek), peek, 0, second); }
  // Any code; 0: these bits are none.
  FZ_DEV uint32_t any_of(uint32_t peek) const {
    const uint32_t e = next_of(most_of(peek), peek, 1, third);
    return e ? e : find_code(*book, keys, peek, FIRST + 1);
  }
};

// Two codes of any length, where `used` bits of `a` are done with.
__device__ __attribute__((noinline)) uint2 two_codes(HuffmanTables tables, uint32_t a, uint32_t b, uint32_t next, uint32_t used) {
  const uint32_t e0 = tables.any_of(__funnelshift_l(b, a, used)), after = (used & 31) + (e0 & 31);
  return make_uint2(e0, tables.any_of(after < 32 ? __funnelshift_l(b, a, after) : __funnelshift_l(next, b, after)));  // seed: long-pair
}
}  // namespace huffman
}  // namespace fz
