// Stage huffman, decoder of few partitions, which do not fill the device, so that the latency of a
// partition counts. A warp decodes a partition. Each lane has as many of its bits, and at first assumes
// that a code starts there; then it decodes again from where the lane before has ended, until all lanes
// agree. That takes a few rounds, because a decoder that starts within a code soon meets the right ones.
#include "common/shared_memory.cuh"
#include "huffman/tables.cuh"

using namespace fz;
using namespace fz::huffman;

constexpr uint32_t FEW_WARPS = 4, FEW_SYMBOLS = 1024;
// Longer partitions are read from global memory and written there.
constexpr uint32_t BEHIND = 3, FEW_WORDS = FEW_SYMBOLS * MAX_CODE_BITS / 32 + BEHIND;

template <class T> struct FewShared {
  uint4 table[TABLE / 4];
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

// Decodes `mine` symbols out of `total` bits, by a warp. False: no encoder writes them.
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
  __syncwarp();
  for (uint32_t i = lane; i < min(mine, room); i += 32) store<T>(to + i * sizeof(T), s.symbols[warp][i]);
  return true;
}

template <class T> FZ_DEV void decode_few(const Args& a, FewShared<T>& s) {
  if (cancelled(a)) return;
  const HuffmanOpened& o = opened(a);
  const uint64_t n = wanted(a);
  if (n == 0 || !o.sound) return;
  const HuffmanParams& p = params<HuffmanParams>(a);
  const Operand& out = output(a, 0);
  uint8_t* dst = address(out);
  const uint64_t room = least(n, out.max / sizeof(T)), warps = (uint64_t)gridDim.x * FEW_WARPS;
  const uint32_t tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  if (o.sole) {
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + tid; i < room; i += (uint64_t)gridDim.x * blockDim.x) store<T>(dst + i * sizeof(T), (T)o.symbol);
    return;
  }
  const HuffmanForm f = huffman_form(p, n, o.sublen, (uint32_t)((n + o.sublen - 1) / o.sublen));
  for (uint32_t i = tid; i < TABLE / 4; i += blockDim.x) fz_copy16(&s.table[i], &o.table[i]);
  const uint8_t* src = address(input(a, 0));
  const HuffmanTables tables = {reinterpret_cast<const uint32_t*>(s.table), o.shift[0], o.shift[1], &o, {src + SYMBOLS_AT, p.width}};
  fz_copies_done();
  __syncthreads();
  bool good = true;
  for (uint64_t part = (uint64_t)blockIdx.x * FEW_WARPS + warp; part < f.parts; part += warps) {
    const uint32_t total = load<uint32_t>(src + f.bits_at + 4 * part), words = total / 32 + (total % 32 != 0);
    const uint64_t first = load<uint32_t>(src + f.starts_at + 4 * part), row = part * f.sublen;
    if (first + words > o.cells) {
      good = false;
      continue;
    }
    const uint8_t* from = src + f.cells_at + 4 * first;
    uint32_t* staged = s.words[warp];
    const uint32_t mine = (uint32_t)least(n - row, f.sublen), left = room > row ? (uint32_t)least(room - row, mine) : 0;
    uint8_t* to = dst + row * sizeof(T);
    if (words + BEHIND <= FEW_WORDS) {
      for (uint32_t i = lane; i < words + BEHIND; i += 32) staged[i] = i < words ? load<uint32_t>(from + 4ull * i) : ALL;
      __syncwarp();
      good &= decode_partition<T>(s, PartitionBits<true>{from, staged, words}, tables, total, mine, to, left);
    } else good &= decode_partition<T>(s, PartitionBits<false>{from, nullptr, words}, tables, total, mine, to, left);
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
