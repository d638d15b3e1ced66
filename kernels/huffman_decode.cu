// Huffman, decoding: one block reads the head and makes tables, then every thread decodes a partition, in lock step: each lane
// of a warp takes one symbol per step, so that places in the array are known beforehand.
#include "huffman.cuh"

using namespace fz;

// Codes up to FIRST bits are looked up at once, most others by their top 16 bits: long codes are the smallest numbers.
constexpr uint32_t FIRST = 11, SECOND = 1024;
constexpr int DECODE_THREADS = 256;
// Symbols that a lane decodes before a warp writes.
constexpr uint32_t ROW = 32;

// What the first pass finds out, in scratch.
struct HuffmanOpened {
  uint32_t sound;  // 0: nothing can be decoded
  uint32_t sole;   // 1: all symbols are `symbol`
  uint32_t symbol, sublen;
  uint64_t cells;
  uint32_t first[32], number[32], entry[32];
  uint32_t table[(1 << FIRST) + SECOND];  // symbol << 16 | length, or 0
};
static_assert(sizeof(HuffmanOpened) <= 16384, "the room that src/stages/huffman/device.rs asks for");

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

// The code at the top of `peek`: symbol << 16 | length, or 0 where there is none.
template <class Book> FZ_DEV uint32_t find_code(const Book& b, const HuffmanKeys& keys, uint32_t peek, uint32_t l) {
#pragma unroll 1
  for (; l < 32; l++) {
    const uint32_t code = peek >> (32 - l);
    if (code >= b.first[l]) return code - b.first[l] < b.number[l] ? keys(b.entry[l] + code - b.first[l]) << 16 | l : 0;
  }
  return 0;
}

// The rules of `Form::read` and `Reversed::read` in src/stages/huffman.
extern "C" __global__ void __launch_bounds__(1024, 1) huffman_open(FZ_ARGS) {
  __shared__ HuffmanOpened b;
  __shared__ uint32_t wrong, used;
  if (dead(a)) return;
  const uint32_t tid = threadIdx.x;
  const HuffmanParams& p = params<HuffmanParams>(a);
  const Operand& in = input(a, 0);
  const uint8_t* src = address(in);
  const uint64_t have = least(length(in), in.max), n = wanted(a);
  HuffmanOpened& to = opened(a);
  if (tid == 0) { to.sound = 0; wrong = 0; b.sole = 0; b.sublen = 1; b.cells = 0; }
  if (have == 0 && n == 0) return;
  __syncthreads();
  if (tid == 0) {
    bool good = n != 0 && have >= HUFFMAN_KEYS + (uint64_t)p.width * p.bklen;
    if (good) {
      auto word = [&](uint32_t at) { return load<uint32_t>(src + at); };
      auto both = [&](uint32_t at) { return (uint64_t)word(at + 4) << 32 | word(at); };
      const uint32_t sublen = word(4);
      const uint64_t cells = both(32);
      good = (uint16_t)word(0) == (uint16_t)p.bklen && sublen > 0 && both(16) == n && cells < 1ull << 32;
      if (good) {
        // More partitions than a number of 32 bits counts do not fit into a stream.
        const uint64_t parts = (n + sublen - 1) / sublen, bits_at = HUFFMAN_KEYS + (uint64_t)p.width * p.bklen;
        const uint64_t offsets[6] = {0, HUFFMAN_HEAD, bits_at, bits_at + 4 * parts, bits_at + 8 * parts, bits_at + 8 * parts + 4 * cells};
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
  const HuffmanKeys keys = {src + HUFFMAN_KEYS, p.width};
  const bool begins = !wrong;
  __syncthreads();  // all have looked before anybody sets it
  if (begins && b.sole) {
    b.symbol = keys(0);
    if (tid == 0 && b.symbol >= p.bklen) wrong = 1;
  } else if (begins) {
    if (tid < 32) {
      b.first[tid] = load<uint32_t>(src + HUFFMAN_HEAD + 4 * tid);
      b.entry[tid] = load<uint32_t>(src + HUFFMAN_HEAD + 128 + 4 * tid);
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
    if (tid == 0 && !wrong) {
      const uint64_t all = (uint64_t)b.entry[31] + b.number[31];
      bool good = all > 0 && all <= p.bklen;
      uint64_t first = 0;
      for (int l = 31; l >= 1 && good; l--) {
        if (l < 31) first = (uint32_t)((first + b.number[l + 1] + 1) / 2);
        good = b.first[l] == first && first + b.number[l] <= 1ull << l;
      }
      used = (uint32_t)all;
      if (!good) wrong = 1;
    }
    __syncthreads();
    const uint32_t symbols = wrong ? 0 : used;
    __syncthreads();
    for (uint32_t k = tid; k < symbols; k += blockDim.x)
      if (keys(k) >= p.bklen) wrong = 1;
    __syncthreads();
    if (!wrong) {
      for (uint32_t i = tid; i < (1u << FIRST) + SECOND; i += blockDim.x) {
        const bool second = i >= 1u << FIRST;
        const uint32_t found = find_code(b, keys, second ? (i - (1u << FIRST)) << 16 : i << (32 - FIRST), 1);
        to.table[i] = (found & 0xffff) <= (second ? 16 : FIRST) ? found : 0;
      }
      if (tid < 32) { to.first[tid] = b.first[tid]; to.number[tid] = b.number[tid]; to.entry[tid] = b.entry[tid]; }
    }
  }
  __syncthreads();
  if (tid != 0) return;
  if (wrong) { fail(a, CORRUPT); return; }
  to.sole = b.sole;
  to.symbol = b.symbol;
  to.sublen = b.sublen;
  to.cells = b.cells;
  to.sound = 1;
}

template <class T> struct DecodeShared {
  uint32_t table[(1 << FIRST) + SECOND], first[32], number[32], entry[32];
  T rows[DECODE_THREADS / 32][32][ROW];
};

// The words of a partition and the bits that are next.
struct HuffmanBits {
  const uint8_t* at;
  uint32_t left, a, b, next, used;
  FZ_DEV uint32_t word() {
    uint32_t w = HUFFMAN_NONE;  // behind the end ones, which are short codes
    if (left) { w = load<uint32_t>(at); at += 4; left--; }
    return w;
  }
  FZ_DEV void start(const uint8_t* from, uint32_t words) {
    at = from; left = words; used = 0;
    a = word(); b = word(); next = word();
  }
  FZ_DEV uint32_t peek() const { return __funnelshift_l(b, a, used); }
  FZ_DEV void skip(uint32_t bits) {
    const uint32_t before = used;
    used += bits;
    if ((used ^ before) & 32) { a = b; b = next; next = word(); }
  }
};

// A row of each lane into shared memory, rotated against bank conflicts. True: bits that are no code among the first `count`
// symbols. WHOLE: all lanes have a whole row.
template <bool WHOLE, class T> FZ_DEV bool decode_row(DecodeShared<T>& s, HuffmanBits& bits, const HuffmanKeys& keys, uint32_t count) {
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  bool bad = false;
#pragma unroll 4
  for (uint32_t k = 0; k < ROW; k++) {
    const uint32_t peek = bits.peek();
    uint32_t e = s.table[peek >> (32 - FIRST)];
    if (e == 0) {
      if (peek >> 16 < SECOND) e = s.table[(1 << FIRST) + (peek >> 16)];
      if (e == 0) e = find_code(s, keys, peek, FIRST + 1);
      bad |= e == 0 && (WHOLE || k < count);
    }
    if (WHOLE || k < count) bits.skip(e & 31);
    s.rows[warp][lane][(k + lane) % ROW] = (T)(e >> 16);
  }
  return bad;
}

template <class T> FZ_DEV void decode_partitions(const Args& a, DecodeShared<T>& s) {
  if (dead(a)) return;
  const HuffmanOpened& o = opened(a);
  const uint64_t n = wanted(a);
  if (n == 0 || !o.sound) return;
  const HuffmanParams& p = params<HuffmanParams>(a);
  const Operand& out = output(a, 0);
  uint8_t* dst = address(out);
  const uint64_t room = least(n, out.max / sizeof(T));
  const uint32_t tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  if (o.sole) {
    for (uint64_t i = (uint64_t)blockIdx.x * DECODE_THREADS + tid; i < room; i += (uint64_t)gridDim.x * DECODE_THREADS) store<T>(dst + i * sizeof(T), (T)o.symbol);
    return;
  }
  for (uint32_t i = tid; i < (1u << FIRST) + SECOND; i += DECODE_THREADS) s.table[i] = o.table[i];
  if (tid < 32) { s.first[tid] = o.first[tid]; s.number[tid] = o.number[tid]; s.entry[tid] = o.entry[tid]; }
  __syncthreads();
  const uint8_t* src = address(input(a, 0));
  const HuffmanForm f = huffman_form(p, n, o.sublen);
  const HuffmanKeys keys = {src + HUFFMAN_KEYS, p.width};
  bool bad = false;
  for (uint64_t group = ((uint64_t)blockIdx.x * DECODE_THREADS) + warp * 32; group < f.parts; group += (uint64_t)gridDim.x * DECODE_THREADS) {
    const uint64_t part = group + lane, row0 = group * f.sublen;
    HuffmanBits bits;
    uint32_t mine = 0, total = 0;
    bits.start(src, 0);
    if (part < f.parts) {
      total = load<uint32_t>(src + f.bits_at + 4 * part);
      const uint64_t from = load<uint32_t>(src + f.starts_at + 4 * part), words = ((uint64_t)total + 31) / 32;
      mine = (uint32_t)least(n - part * f.sublen, f.sublen);
      if (from + words > o.cells) bad = true;
      else bits.start(src + f.cells_at + 4 * from, (uint32_t)words);
    }
    uint64_t taken = 0;
    for (uint64_t at = 0; at < f.sublen && row0 + at < n; at += ROW) {
      const uint32_t before = bits.used;
      if (__all_sync(ALL, at + ROW <= mine)) bad |= decode_row<true>(s, bits, keys, ROW);
      else bad |= decode_row<false>(s, bits, keys, mine > at ? mine - (uint32_t)at : 0);
      taken += (uint32_t)(bits.used - before);
      __syncwarp();
      for (uint32_t r = 0; r < 32; r++) {
        const uint64_t i = row0 + (uint64_t)r * f.sublen + at + lane;
        if (at + lane < f.sublen && i < room) store<T>(dst + i * sizeof(T), s.rows[warp][r][(lane + r) % ROW]);
      }
      __syncwarp();
    }
    bad |= taken != total;
  }
  if (__syncthreads_or(bad) && tid == 0) fail(a, CORRUPT);
}

extern "C" __global__ void __launch_bounds__(DECODE_THREADS) huffman_decode_u8(FZ_ARGS) {
  __shared__ DecodeShared<uint8_t> s;
  decode_partitions<uint8_t>(a, s);
}
extern "C" __global__ void __launch_bounds__(DECODE_THREADS) huffman_decode_u16(FZ_ARGS) {
  __shared__ DecodeShared<uint16_t> s;
  decode_partitions<uint16_t>(a, s);
}
extern "C" __global__ void __launch_bounds__(DECODE_THREADS) huffman_decode_u32(FZ_ARGS) {
  __shared__ DecodeShared<uint32_t> s;
  decode_partitions<uint32_t>(a, s);
}
