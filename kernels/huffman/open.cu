// Stage huffman, decoder: one block checks the header and builds the tables.
#include "huffman/tables.cuh"

using namespace fz;
using namespace fz::huffman;

// Symbols of a codebook, longest codes first; 0: it is none.
FZ_DEV uint32_t symbols_of(const HuffmanOpened& b, uint32_t most) {
  const uint64_t all = (uint64_t)b.entry[31] + b.number[31];
  bool good = all > 0 && all <= most;
  uint64_t first = 0;
  for (int l = 31; l >= 1 && good; l--) {
    if (l < 31) first = (uint32_t)((first + b.number[l + 1] + 1) / 2);
    good = b.first[l] == first && first + b.number[l] <= 1ull << l;
  }
  return good ? (uint32_t)all : 0;
}

// The rules of `Form::read` and `Reversed::read` in src/stages/huffman.
extern "C" __global__ void __launch_bounds__(1024, 1) huffman_open(FZ_ARGS) {
  __shared__ HuffmanOpened b;
  __shared__ uint32_t wrong, used;  // anything is; symbols of the codebook, if there is one
  if (cancelled(a)) return;
  const uint32_t tid = threadIdx.x;
  const HuffmanParams& p = params<HuffmanParams>(a);
  const Operand& in = input(a, 0);
  const uint8_t* src = address(in);
  const uint64_t have = least(length(in), in.max), n = wanted(a);
  HuffmanOpened& to = opened(a);
  if (tid == 0) { to.sound = 0; wrong = 0; used = 1; b.sole = 0; b.sublen = 1; b.cells = 0; }
  if (have == 0 && n == 0) return;
  __syncthreads();
  if (tid == 0) {
    bool good = n != 0 && have >= SYMBOLS_AT + (uint64_t)p.width * p.bklen;
    if (good) {
      auto word = [&](uint32_t at) { return load<uint32_t>(src + at); };
      auto both = [&](uint32_t at) { return (uint64_t)word(at + 4) << 32 | word(at); };
      const uint32_t sublen = word(4);
      const uint64_t cells = both(32);
      good = (uint16_t)word(0) == (uint16_t)p.bklen && sublen > 0 && both(16) == n && cells < 1ull << 32;
      if (good) {
        // More partitions than a number of 32 bits counts do not fit into a stream.
        const uint64_t parts = (n + sublen - 1) / sublen, bits_at = SYMBOLS_AT + (uint64_t)p.width * p.bklen;
        const uint64_t offsets[6] = {0, HEADER_BYTES, bits_at, bits_at + 4 * parts, bits_at + 8 * parts, bits_at + 8 * parts + 4 * cells};
        good = parts == word(8);
        for (int i = 0; i < 6; i++) good &= word(40 + 4 * i) == offsets[i];
        good &= offsets[5] == have;
        b.sole = both(24) == 0 && cells == 0 && word(256) == 0 && word(260) == 1;
        b.sublen = sublen;
        b.cells = cells;
      }
    }
    if (!good) wrong = 1;
  }
  __syncthreads();
  const HuffmanKeys keys = {src + SYMBOLS_AT, p.width};
  const bool begins = !wrong;
  __syncthreads();  // all have looked before anybody sets it
  if (begins && b.sole) {
    if (tid == 0) {
      b.symbol = keys(0);
      if (b.symbol >= p.bklen) wrong = 1;
    }
  } else if (begins) {
    if (tid < 32) {
      b.first[tid] = load<uint32_t>(src + HEADER_BYTES + 4 * tid);
      b.entry[tid] = load<uint32_t>(src + HEADER_BYTES + 128 + 4 * tid);
    }
    __syncthreads();
    if (tid < 32) {
      // Nothing counts the longest codes: they are those that make the code complete.
      const bool last = tid == 31;
      b.number[tid] = tid == 0 ? 0 : last ? (b.first[30] > 0x7fffffffu ? ~0u : 2 * b.first[30]) : b.entry[tid + 1] - b.entry[tid];
      const bool ascends = last ? b.entry[31] <= p.bklen : b.entry[tid] <= b.entry[tid + 1];
      if (!ascends || (tid < 2 && b.entry[tid] != 0)) wrong = 1;
    }
    __syncthreads();
    if (tid == 0) used = wrong ? 0 : symbols_of(b, p.bklen);
    __syncthreads();
    const uint32_t symbols = used;
    for (uint32_t k = tid; k < symbols; k += blockDim.x)
      if (keys(k) >= p.bklen) wrong = 1;
    __syncthreads();
    if (symbols && !wrong) {
      // Up to this slot only codes of more than `longer` bits start.
      auto shift_for = [&](uint32_t longer) {
        const uint32_t end = b.first[longer] << (32 - longer);
        return end == 0 ? 0 : max(22 - __clz((int)(end - 1)), 0);
      };
      const uint32_t second = shift_for(FIRST), third = shift_for(min(32 - second, 31u));
      if (tid == 0) { to.shift[0] = second; to.shift[1] = third; }
      for (uint32_t i = tid; i < TABLE; i += blockDim.x) {
        const uint32_t which = i < 1u << FIRST ? 0 : 1 + (i - (1u << FIRST)) / NEXT, shift = which == 0 ? 32 - FIRST : which == 1 ? second : third;  // seed: long-table
        const uint32_t place = which == 0 ? i : i % NEXT, peek = place << shift;
        const uint32_t found = peek >> shift == place ? find_code(b, keys, peek, 1) : 0;
        reinterpret_cast<uint32_t*>(to.table)[i] = (found & 0xffff) <= 32 - shift ? found : 0;
      }
      if (tid < 32) { to.first[tid] = b.first[tid]; to.number[tid] = b.number[tid]; to.entry[tid] = b.entry[tid]; }
    }
  }
  __syncthreads();
  if (tid != 0) return;
  if (wrong || !used) { fail(a, CORRUPT); return; }
  to.sole = b.sole;
  to.symbol = b.symbol;
  to.sublen = b.sublen;
  to.cells = b.cells;
  to.sound = 1;
}
