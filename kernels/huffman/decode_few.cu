// Stage huffman, decoder of few partitions, which do not fill the device, so that the latency of a
// partition counts. A warp decodes a partition. Each lane has as many of its bits, and at first assumes
// that a code starts there; then it decodes again from where the lane before has ended, until all lanes
// agree. That takes a few rounds, because a decoder that starts within a code soon meets the right ones.
// Where codes are short, lanes only mark where they start, several of which they find at once, and decode
// again no further than to a code that is marked. The symbols are looked up at the end.
#include "common/shared_memory.cuh"
#include "huffman/tables.cuh"

using namespace fz;
using namespace fz::huffman;

constexpr uint32_t FEW_WARPS = 4, FEW_SYMBOLS = 1024;
// Longer partitions are read from global memory and written there.
constexpr uint32_t BEHIND = 3, FEW_WORDS = FEW_SYMBOLS / 2 + BEHIND;
// Words of the marks of a lane; it has no more bits. Codes are marked if they have MARKED bits or fewer on average: of longer ones
// few are found at once, and many are not in the first table.
constexpr uint32_t MARKED = 6, MARKS = FEW_SYMBOLS / 32 * MARKED / 32;

template <class T> struct FewShared {
  uint4 table[TABLE / 4], steps[(1 << FIRST) / 8];
  uint32_t marks[FEW_WARPS][32][MARKS];
  uint32_t words[FEW_WARPS][FEW_WORDS];
  T symbols[FEW_WARPS][FEW_SYMBOLS];
};

// The words of a partition, in shared memory or not; behind them, ones.
template <bool STAGED> struct PartitionBits {
  const uint8_t* from;
  const uint32_t* staged;
  uint32_t words;
  FZ_DEV uint32_t word(uint32_t i) const {
    if (STAGED) return staged[i];
    return i < words ? load<uint32_t>(from + 4ull * i) : ALL;
  }
};

// The codes of a lane that start before `end`. `put(k, symbol)` receives them. Returns where the next code
// starts. `bad`: some bits are no code. Registers hold the words of the next bits, so that a code depends on
// one load.
template <class Bits, class F> FZ_DEV uint32_t decode_codes(const Bits& bits, const HuffmanTables& tables, uint32_t at, uint32_t end, uint32_t& count, bool& bad, F put) {
  count = 0;
  bad = false;
  if (at >= end) return at;
  uint32_t i = at >> 5, w0 = bits.word(i), w1 = bits.word(i + 1), w2 = bits.word(i + 2);
#pragma unroll 1
  do {
    const uint32_t peek = __funnelshift_l(w1, w0, at & 31);
    uint32_t e = tables.first_of(peek);
    if (e == 0) e = tables.any_of(peek);
    if (e == 0) {
      bad = true;
      return end;
    }
    put(count++, e >> 16);
    at += e & 0xffff;
    // No code is longer than a word.
    if (at >> 5 != i) {
      i++;
      w0 = w1;
      w1 = w2;
      w2 = bits.word(i + 2);  // seed: few-words
    }
  } while (at < end);
  return at;
}

// The bits of a lane, and where its codes start.
struct Walk {
  uint32_t first, end, start, next;  // its bits; where its first code starts, and the one after its codes
  bool bad;                          // some bits are no code
  uint32_t* marks;

  FZ_DEV uint32_t words() const { return (end - first + 31) / 32; }
  // From `start` on. AGAIN: there are marks, and those behind a marked code stay.
  template <bool AGAIN> FZ_DEV void go(const PartitionBits<true>& bits, const HuffmanTables& tables, const uint16_t* steps) {
    uint32_t at = start, k = 0, own = 0;
    bool wrong = false;
    if (at < end) {
      uint32_t i = at >> 5, w0 = bits.word(i), w1 = bits.word(i + 1), w2 = bits.word(i + 2);
#pragma unroll 1
      do {
        const uint32_t peek = __funnelshift_l(w1, w0, at & 31), found = steps[peek >> (32 - FIRST)], left = end - at, from = (at - first) & 31;
        uint32_t starts = found & ((1 << FIRST) - 1), length = found >> FIRST;
        if (found == 0) {
          starts = 1;
          length = tables.any_of(peek) & 0xffff;
          if (length == 0) {
            wrong = true;
            at = end;
            break;
          }
        }
        // The codes of the next lane begin among these.
        if (left < FIRST && starts >> left) {  // seed: walk-end
          length = left + __ffs((int)(starts >> left)) - 1;
          starts &= (1u << left) - 1;
        }
        own |= starts << from;
        at += length;
        // No code is longer than a word.
        if ((at - first) >> 5 != k) {
          marks[k++] = own;
          own = __funnelshift_l(starts, 0, from);
        }
        if (AGAIN && at < end) {
          const uint32_t before = marks[k], bit = (at - first) & 31;
          if (before >> bit & 1) {
            marks[k] = own | (before & (ALL << bit));  // seed: walk-known
            return;
          }
        }
        if (at >> 5 != i) {
          i++;
          w0 = w1;
          w1 = w2;
          w2 = bits.word(i + 2);
        }
      } while (at < end);
    }
    for (; k < words(); k++, own = 0) marks[k] = own;
    next = at;
    bad = wrong;
  }
};

// Decodes `mine` symbols, at most FEW_SYMBOLS, out of `total` bits, by a warp whose lanes have no more than MARKS words.
// False: no encoder writes them.
template <class T> FZ_DEV bool decode_marked(FewShared<T>& s, const PartitionBits<true>& bits, const HuffmanTables& tables, uint32_t total, uint32_t mine) {
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, each = total / 32 + (total % 32 != 0);
  const uint16_t* steps = reinterpret_cast<const uint16_t*>(s.steps);
  Walk walk;
  walk.first = walk.start = min(lane * each, total);
  walk.end = walk.first + min(each, total - walk.first);
  walk.marks = s.marks[warp][lane];
  walk.go<false>(bits, tables, steps);
  for (;;) {
    const uint32_t before = __shfl_up_sync(ALL, walk.next, 1), right = lane ? before : 0;
    const bool changed = right != walk.start;
    walk.start = right;
    if (!__any_sync(ALL, changed)) break;
    if (changed) walk.go<true>(bits, tables, steps);
  }
  uint32_t count = 0;
  for (uint32_t k = 0; k < walk.words(); k++) count += __popc(walk.marks[k]);
  const uint32_t upto = warp_sum_to(count);
  if (__any_sync(ALL, walk.bad) || __shfl_sync(ALL, upto, 31) != mine || __shfl_sync(ALL, walk.next, 31) != total) return false;
  T* to = s.symbols[warp] + upto - count;
  const auto peek = [&](uint32_t at) { return __funnelshift_l(bits.word((at >> 5) + 1), bits.word(at >> 5), at & 31); };
  for (uint32_t k = 0; k < walk.words(); k++) {
    const uint32_t from = walk.first + 32 * k;
    // Two at a time.
#pragma unroll 1
    for (uint32_t left = walk.marks[k]; left;) {
      const uint32_t one = __ffs((int)left) - 1, rest = left & (left - 1), other = rest ? __ffs((int)rest) - 1 : one;
      const uint32_t peek0 = peek(from + one), peek1 = peek(from + other);
      uint32_t e0 = tables.first_of(peek0), e1 = tables.first_of(peek1);
      if (e0 == 0) e0 = tables.any_of(peek0);
      if (e1 == 0) e1 = tables.any_of(peek1);
      *to++ = (T)(e0 >> 16);
      if (rest) *to++ = (T)(e1 >> 16);
      left = rest & (rest - 1);
    }
  }
  return true;
}

// As decode_marked, of any partition. More than FEW_SYMBOLS symbols go to their places at once.
template <class T, class Bits> FZ_DEV bool decode_partition(FewShared<T>& s, const Bits& bits, const HuffmanTables& tables, uint32_t total, uint32_t mine, uint8_t* to, uint32_t room) {
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, each = total / 32 + (total % 32 != 0);
  const uint32_t first = min(lane * each, total), end = first + min(each, total - first);
  uint32_t start = first, next = 0, count = 0;
  bool bad = false;
  const auto ignore = [](uint32_t, uint32_t) {};
  for (bool changed = true; __any_sync(ALL, changed);) {
    if (changed) next = decode_codes(bits, tables, start, end, count, bad, ignore);
    const uint32_t before = __shfl_up_sync(ALL, next, 1), right = lane ? before : 0;
    changed = right != start;
    start = right;
  }
  const uint32_t upto = warp_sum_to(count), at = upto - count;
  if (__any_sync(ALL, bad) || __shfl_sync(ALL, upto, 31) != mine || __shfl_sync(ALL, next, 31) != total) return false;
  uint32_t again;
  if (mine > FEW_SYMBOLS) {
    decode_codes(bits, tables, start, end, again, bad, [&](uint32_t k, uint32_t symbol) {
      if (at + k < room) store<T>(to + (uint64_t)(at + k) * sizeof(T), (T)symbol);
    });
    return true;
  }
  decode_codes(bits, tables, start, end, again, bad, [&](uint32_t k, uint32_t symbol) { s.symbols[warp][at + k] = (T)symbol; });
  return true;
}

template <class T> FZ_DEV void decode_few(const Args& a, FewShared<T>& s) {
  // All loads are issued before the first result is used.
  const unsigned long long failed = failure(a);
  const HuffmanOpened& o = opened(a);
  const uint32_t tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, sound = o.sound, sole = o.sole, sublen = o.sublen;
  const uint64_t n = wanted(a), cells = o.cells;
  for (uint32_t i = tid; i < TABLE / 4; i += blockDim.x) fz_copy16(&s.table[i], &o.table[i]);
  for (uint32_t i = tid; i < (1 << FIRST) / 8; i += blockDim.x) fz_copy16(&s.steps[i], &o.steps[i]);
  if (cancelled(a, failed) || n == 0 || !sound) {
    fz_copies_done();
    return;
  }
  const HuffmanParams& p = params<HuffmanParams>(a);
  const Operand& out = output(a, 0);
  uint8_t* dst = address(out);
  const uint64_t room = least(n, out.max / sizeof(T)), warps = (uint64_t)gridDim.x * FEW_WARPS;
  if (sole) {
    fz_copies_done();
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + tid; i < room; i += (uint64_t)gridDim.x * blockDim.x) store<T>(dst + i * sizeof(T), (T)o.symbol);
    return;
  }
  const HuffmanForm f = huffman_form(p, n, sublen, (uint32_t)((n + sublen - 1) / sublen));
  const uint8_t* src = address(input(a, 0));
  const HuffmanTables tables = {reinterpret_cast<const uint32_t*>(s.table), o.shift[0], o.shift[1], &o, {src + SYMBOLS_AT, p.width}};
  uint32_t* staged = s.words[warp];
  uint64_t part = (uint64_t)blockIdx.x * FEW_WARPS + warp, row = 0;
  uint32_t total = 0;
  PartitionBits<false> bits = {nullptr, nullptr, 0};
  bool good = true;
  // The bits of a partition. Fewer than FEW_WORDS words are staged.
  const auto take = [&] {
    row = part * f.sublen;
    bits.from = nullptr;
    if (part >= f.parts) return;
    total = load<uint32_t>(src + f.bits_at + 4 * part);
    const uint64_t first = load<uint32_t>(src + f.starts_at + 4 * part);
    bits.words = total / 32 + (total % 32 != 0);
    if (first + bits.words > cells) good = false;
    else bits.from = src + f.cells_at + 4 * first;
    if (bits.from && bits.words + BEHIND <= FEW_WORDS)
      for (uint32_t i = lane; i < bits.words + BEHIND; i += 32) staged[i] = bits.word(i);
  };
  // The first one and the tables are on their way at the same time.
  take();
  fz_copies_done();
  __syncthreads();
  while (part < f.parts) {
    const uint32_t mine = (uint32_t)least(n - row, f.sublen), left = room > row ? (uint32_t)least(room - row, mine) : 0;
    uint8_t* to = dst + row * sizeof(T);
    if (bits.from) {
      const PartitionBits<true> fast = {bits.from, staged, bits.words};
      bool done;
      if (bits.words + BEHIND > FEW_WORDS) done = decode_partition<T>(s, bits, tables, total, mine, to, left);
      else if (total > MARKED * mine || mine > FEW_SYMBOLS) done = decode_partition<T>(s, fast, tables, total, mine, to, left);
      else done = decode_marked<T>(s, fast, tables, total, mine);
      __syncwarp();
      if (done && mine <= FEW_SYMBOLS)
        for (uint32_t i = lane; i < left; i += 32) store<T>(to + i * sizeof(T), s.symbols[warp][i]);
      good &= done;
    }
    part += warps;
    __syncwarp();
    take();
    __syncwarp();
  }
  if (!good && lane == 0) fail(a, CORRUPT);
}

#define HUFFMAN_FEW(NAME, T)                                                                     \
  extern "C" __global__ void __launch_bounds__(32 * FEW_WARPS) huffman_decode_few_##NAME(FZ_ARGS) { \
    __shared__ FewShared<T> s;                                                                   \
    decode_few<T>(a, s);                                                                         \
  }

HUFFMAN_FEW(u8, uint8_t)
HUFFMAN_FEW(u16, uint16_t)
HUFFMAN_FEW(u32, uint32_t)
