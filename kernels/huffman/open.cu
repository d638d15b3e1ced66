// Stage huffman, decoder: one block checks the header and builds the tables.
#include "huffman/tables.cuh"

using namespace fz;
using namespace fz::huffman;

// The front of a stream, from loads that are all issued at once.
struct Front {
  uint32_t header[32], first[32], entry[32], keys[SHARED_SYMBOLS];
};

// The header, by one thread: false if it is none for `n` symbols in a stream of `have` bytes.
FZ_DEV bool read_header(const Front& front, const HuffmanParams& p, uint64_t n, uint64_t have, HuffmanOpened& b) {
  const uint32_t* word = front.header;
  const auto both = [&](int k) { return (uint64_t)word[k + 1] << 32 | word[k]; };
  const uint32_t sublen = word[1];
  const uint64_t cells = both(8);
  if ((uint16_t)word[0] != (uint16_t)p.bklen || sublen == 0 || both(4) != n || cells >= 1ull << 32) return false;
  // More partitions than a number of 32 bits counts do not fit into a stream.
  const uint64_t parts = (n + sublen - 1) / sublen, bits_at = SYMBOLS_AT + (uint64_t)p.width * p.bklen;
  const uint64_t offsets[6] = {0, HEADER_BYTES, bits_at, bits_at + 4 * parts, bits_at + 8 * parts, bits_at + 8 * parts + 4 * cells};
  bool good = parts == word[2];
  for (int i = 0; i < 6; i++) good &= word[10 + i] == offsets[i];
  b.sole = both(6) == 0 && cells == 0 && front.entry[0] == 0 && front.entry[1] == 1;
  b.sublen = sublen;
  b.cells = cells;
  return good && offsets[5] == have;
}

// The codes of each length, by one warp: symbols of the codebook, or 0 if it is none.
FZ_DEV uint32_t read_book(const Front& front, const HuffmanParams& p, HuffmanOpened& b) {
  const uint32_t l = threadIdx.x & 31, first = front.first[l], entry = front.entry[l];
  const uint32_t longer = __shfl_down_sync(ALL, first, 1), next = __shfl_down_sync(ALL, entry, 1), shorter = __shfl_sync(ALL, first, 30);
  const bool last = l == 31;
  // Nothing counts the longest codes: they are those that make the code complete.
  const uint32_t number = l == 0 ? 0 : last ? (shorter > 0x7fffffffu ? ~0u : 2 * shorter) : next - entry;
  const uint32_t number_longer = __shfl_down_sync(ALL, number, 1);
  bool good = last ? entry <= p.bklen : entry <= next;
  if (l < 2) good &= entry == 0;
  // Longest codes first.
  if (l > 0) good &= first == (last ? 0 : (uint32_t)(((uint64_t)longer + number_longer + 1) / 2)) && (uint64_t)first + number <= 1ull << l;
  const uint64_t all = (uint64_t)__shfl_sync(ALL, entry, 31) + __shfl_sync(ALL, number, 31);
  b.first[l] = first;
  b.entry[l] = entry;
  b.number[l] = number;
  return __all_sync(ALL, good) && all > 0 && all <= p.bklen ? (uint32_t)all : 0;
}

// As find_code, by bisection: a code of l bits is the first one if every longer length has a code too.
FZ_DEV uint32_t code_at(const HuffmanOpened& b, const Front& front, const HuffmanKeys& keys, uint32_t peek) {
  uint32_t l = 1;
#pragma unroll
  for (uint32_t step = 16; step; step >>= 1)
    if (l + step <= 32 && peek >> (33 - l - step) < b.first[l + step - 1]) l += step;  // seed: open-bisect
  const uint32_t rank = (peek >> (32 - l)) - b.first[l], k = b.entry[l] + rank;
  if (rank >= b.number[l]) return 0;
  return (k < SHARED_SYMBOLS ? front.keys[k] : keys(k)) << 16 | l;
}

// The codes that end in these FIRST bits, as HuffmanOpened::steps has them.
FZ_DEV uint32_t steps_at(const uint32_t* table, uint32_t bits) {
  uint32_t starts = 0, at = 0;
#pragma unroll 1
  for (;;) {
    const uint32_t l = table[bits << at & ((1 << FIRST) - 1)] & 0xffff;
    if (l == 0 || at + l > FIRST) break;  // seed: open-steps
    starts |= 1u << at;
    at += l;
  }
  return at << FIRST | starts;
}

// Loads the front of a stream that is long enough.
FZ_DEV void load_front(Front& front, const HuffmanParams& p, const HuffmanKeys& keys, const uint8_t* src) {
  const uint32_t tid = threadIdx.x;
  if (tid < 32) {
    front.header[tid] = load<uint32_t>(src + 4 * tid);
    front.first[tid] = load<uint32_t>(src + HEADER_BYTES + 4 * tid);
    front.entry[tid] = load<uint32_t>(src + HEADER_BYTES + 128 + 4 * tid);
  }
  for (uint32_t k = tid; k < min(p.bklen, SHARED_SYMBOLS); k += blockDim.x) front.keys[k] = keys(k);
}

// The tables of the code book at the front of a stream: false if it is none. `used`: shared memory.
FZ_DEV bool make_tables(HuffmanOpened& b, const Front& front, const HuffmanParams& p, const HuffmanKeys& keys, uint32_t& used) {
  const uint32_t tid = threadIdx.x;
  if (tid < 32) {
    const uint32_t symbols = read_book(front, p, b);
    if (tid == 0) used = symbols;
  }
  __syncthreads();
  const uint32_t symbols = used;
  bool wrong = symbols == 0;
  for (uint32_t k = tid; k < symbols; k += blockDim.x) wrong |= (k < SHARED_SYMBOLS ? front.keys[k] : keys(k)) >= p.bklen;
  if (__syncthreads_or(wrong)) return false;
  // Up to this slot only codes of more than `longer` bits start.
  auto shift_for = [&](uint32_t longer) {
    const uint32_t end = b.first[longer] << (32 - longer);
    return end == 0 ? 0 : max(22 - __clz((int)(end - 1)), 0);
  };
  const uint32_t second = shift_for(FIRST), third = shift_for(min(32 - second, 31u));
  if (tid == 0) { b.shift[0] = second; b.shift[1] = third; }
  uint32_t* table = reinterpret_cast<uint32_t*>(b.table);
  for (uint32_t i = tid; i < TABLE; i += blockDim.x) {
    const uint32_t which = i < 1u << FIRST ? 0 : 1 + (i - (1u << FIRST)) / NEXT, shift = which == 0 ? 32 - FIRST : which == 1 ? second : third;  // seed: long-table
    const uint32_t place = which == 0 ? i : i % NEXT, peek = place << shift;
    const uint32_t found = peek >> shift == place ? code_at(b, front, keys, peek) : 0;
    table[i] = (found & 0xffff) <= 32 - shift ? found : 0;
  }
  __syncthreads();
  for (uint32_t i = tid; i < 1u << FIRST; i += blockDim.x) reinterpret_cast<uint16_t*>(b.steps)[i] = (uint16_t)steps_at(table, i);
  __syncthreads();
  return true;
}

// The rules of `Form::read` and `Reversed::read` in src/stages/huffman. The tables are made from the caller's container before its header
// has been checked (`speculative_payload`), and again if the stream turns out to be elsewhere.
extern "C" __global__ void __launch_bounds__(1024, 1) huffman_open(FZ_ARGS) {
  __shared__ HuffmanOpened b;
  __shared__ Front front;
  __shared__ uint32_t used;  // symbols of the codebook
  const uint32_t tid = threadIdx.x;
  const HuffmanParams& p = params<HuffmanParams>(a);
  const uint64_t least_bytes = SYMBOLS_AT + (uint64_t)p.width * p.bklen;
  const uint8_t* early = a.speculative_bytes >= least_bytes ? reinterpret_cast<const uint8_t*>(a.speculative_payload) : nullptr;
  bool book = false;
  if (early) {
    const HuffmanKeys keys = {early + SYMBOLS_AT, p.width};
    load_front(front, p, keys, early);
    __syncthreads();
    book = make_tables(b, front, p, keys, used);
  }
  if (cancelled(a)) return;
  const Operand& in = input(a, 0);
  const uint8_t* src = address(in);
  const uint64_t have = least(length(in), in.max), n = wanted(a);
  HuffmanOpened& to = opened(a);
  const HuffmanKeys keys = {src + SYMBOLS_AT, p.width};
  const bool long_enough = n != 0 && have >= least_bytes;
  if (tid == 0) to.sound = 0;
  if (have == 0 && n == 0) return;
  if (long_enough && src != early) {
    __syncthreads();
    load_front(front, p, keys, src);
    __syncthreads();
    book = make_tables(b, front, p, keys, used);
  }
  bool wrong = !long_enough;
  if (tid == 0 && long_enough) wrong = !read_header(front, p, n, have, b);
  wrong = __syncthreads_or(wrong);
  if (!wrong && b.sole) {
    wrong = front.keys[0] >= p.bklen;
    if (tid == 0) b.symbol = front.keys[0];
  } else if (!wrong) {
    wrong = !book;
    if (book) {
      for (uint32_t i = tid; i < TABLE / 4; i += blockDim.x) to.table[i] = b.table[i];
      for (uint32_t i = tid; i < (1u << FIRST) / 8; i += blockDim.x) to.steps[i] = b.steps[i];
      if (tid < 32) { to.first[tid] = b.first[tid]; to.number[tid] = b.number[tid]; to.entry[tid] = b.entry[tid]; }
      if (tid < 2) to.shift[tid] = b.shift[tid];
    }
  }
  if (tid != 0) return;
  if (wrong) { fail(a, CORRUPT); return; }
  to.sole = b.sole;
  to.symbol = b.symbol;
  to.sublen = b.sublen;
  to.cells = b.cells;
  to.sound = 1;
}
