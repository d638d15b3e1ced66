// Stage huffman, encoder: codes of the symbols of a warp, in shared memory, and the stream.
#pragma once
#include "common/shared_memory.cuh"
#include "huffman/stream.cuh"

namespace fz {
namespace huffman {
constexpr int CODE_THREADS = CODER_THREADS;
constexpr uint32_t HUFFMAN_TILE = CODER_TILE;
// Words of a warp: 1024 symbols of any width, or as many codes behind the rest of a word.
constexpr int CODE_WORDS = 1028;

// Entries hold the code at the top and its length at the bottom, so that sums of entries are sums
// of lengths, and shifts need no mask. Entries of longer codes have the symbol at the top, and
// LONG_CODE beside the length.
constexpr uint32_t LENGTHS = LONG_CODE - 1;

// Table entries of the symbols of a lane, of which a warp has 32 EACH in a row, through shared
// memory; zeros after the last of `left`. Returns their sum.
template <class T, int EACH, class Table> FZ_DEV uint32_t look_up(uint32_t (&v)[EACH], const uint8_t* src, uint64_t left, uint4* st, const Table& table, int lane) {
  constexpr int PIECES = EACH * 2 * sizeof(T), BYTES = EACH * sizeof(T), UNIT = BYTES % 16 ? 8 : 16, PER = UNIT / sizeof(T);
  auto place = [](int q) { return EACH == 32 ? q ^ (q >> 3 & 3) : q; };
  const bool whole = left >= 32 * EACH;
  if (whole && aligned(src, 16)) {
#pragma unroll
    for (int q = lane; q < PIECES; q += 32) fz_copy16(&st[place(q)], src + 16 * q);
    fz_copies_done();
  } else {
    const uint32_t have = (uint32_t)least(left * sizeof(T), 16 * PIECES);
    for (uint32_t q = lane; q < (uint32_t)PIECES; q += 32) {
      const uint32_t some = part(have, 16 * q);
      st[place(q)] = some >= 16 ? load16(src + 16 * q) : load_part(src + 16 * q, some);
    }
  }
  __syncwarp();
  uint32_t sum = 0;
#pragma unroll
  for (int k = 0; k < BYTES / UNIT; k++) {
    const int at = lane * BYTES + k * UNIT;
    typedef typename Whole<UNIT>::Word Word;
    const Word unit = *reinterpret_cast<const Word*>(reinterpret_cast<const uint8_t*>(&st[place(at / 16)]) + at % 16);
    uint32_t w[UNIT / 4];
    memcpy(w, &unit, UNIT);
#pragma unroll
    for (int j = 0; j < PER; j++) v[k * PER + j] = table((uint32_t)(T)(w[j * sizeof(T) / 4] >> (8 * sizeof(T) * j % 32)));
  }
  if (!whole) {
#pragma unroll
    for (int k = 0; k < EACH; k++)
      if (lane * EACH + k >= (int)left) v[k] = 0;
  }
#pragma unroll
  for (int k = 0; k < EACH; k++) sum += v[k];
  __syncwarp();
  return sum & 0xffff;
}

// The codes of a lane from bit `pos` of `st` on. A word is stored by the lane that completes it;
// the rest is added beside it.
struct CodeWriter {
  fz_words to;
  uint32_t pos, held;
  FZ_DEV CodeWriter(uint32_t* st, uint32_t pos) : to(st + (pos >> 5)), pos(pos), held(0) {}
  // Up to 32 bits, from the highest one on. Only the low bits of the length count.
  FZ_DEV void put(uint32_t bits, uint32_t length) {
    const uint32_t next = pos + length, full = held | __funnelshift_r(bits, 0, pos), rest = __funnelshift_r(0, bits, pos);
    const uint32_t over = (next ^ pos) & 32;
    to.put(over, full);
    held = over ? rest : full;
    pos = next;
  }
  // All lanes call it.
  FZ_DEV void close() {
    __syncwarp();
    if (pos & 31) to.join(held);
  }
};
template <int EACH> FZ_DEV void put_codes(const uint32_t (&v)[EACH], uint32_t pos, uint32_t* st) {
  CodeWriter to(st, pos);
#pragma unroll
  for (int k = 0; k < EACH; k += 2) to.put((v[k] & 0xffff0000u) | __funnelshift_r(v[k + 1] & 0xffff0000u, 0, v[k]), v[k] + v[k + 1]);
  to.close();
}
// As put_codes, with longer codes among them: one by one.
template <int EACH> FZ_DEV void put_long_codes(const uint32_t (&v)[EACH], uint32_t pos, uint32_t* st, const uint32_t* codes) {
  CodeWriter to(st, pos);
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    uint32_t code = v[k] & 0xffff0000u;
    const uint32_t length = v[k] & LENGTHS;
    if (v[k] & LONG_CODE) code = codes[v[k] >> 16] << (32 - length);
    to.put(code, length);
  }
  to.close();
}

// The codes of 32 EACH symbols, of which `left` exist, from bit `first` of `st` on, by one warp. Returns the
// bit after them.
template <class T, int EACH, class Table>
FZ_DEV uint32_t code_symbols(const uint8_t* src, uint64_t left, uint32_t first, uint32_t* st, const Table& table, const uint32_t* codes, int lane) {
  uint32_t v[EACH];
  const uint32_t entries = look_up<T, EACH>(v, src, left, reinterpret_cast<uint4*>(st), table, lane), sum = entries & LENGTHS;
  const uint32_t upto = first + warp_sum_to(sum), end = __shfl_sync(ALL, upto, 31);
  if (lane == 0 && (end & 31)) st[end >> 5] = 0;
  if (__any_sync(ALL, entries >= LONG_CODE)) put_long_codes<EACH>(v, upto - sum, st, codes);
  else put_codes<EACH>(v, upto - sum, st);
  __syncwarp();
  return end;
}

// The cells of one partition by one warp, EACH symbols of a lane at a time; returns the number of
// their bits.
template <class T, int EACH, class Table>
FZ_DEV uint32_t code_partition(const uint8_t* src, uint64_t n, uint32_t sublen, uint32_t* st, uint32_t* slot, const Table& table, const uint32_t* codes, int lane) {
  uint32_t done = 0, carry = 0;
  const uint32_t symbols = (uint32_t)least(n, sublen);
  for (uint32_t at = 0; at < symbols; at += 32 * EACH) {
    const uint32_t first = done & 31, end = code_symbols<T, EACH>(src + at * sizeof(T), symbols - at, first, st, table, codes, lane), last = end >> 5;
    if (first) {
      if (lane == 0) atomicOr(st, carry);
      __syncwarp();
    }
    uint32_t* to = slot + (done >> 5);
    for (uint32_t i = lane; i < last; i += 32) to[i] = st[i];
    carry = end & 31 ? st[last] : 0;
    done += end - first;
    __syncwarp();
  }
  if (lane == 0 && (done & 31)) slot[done >> 5] = carry;
  return done;
}

// Words to a place that is aligned, or is not, with room for all of them or not.
struct Cells {
  Out out;
  uint64_t at;
  bool plain;
  FZ_DEV Cells(const Out& out, uint64_t at, uint32_t count) : out(out), at(at), plain(aligned(out.at + at, 4) && at + 4ull * count <= out.max) {}
  FZ_DEV void put(uint32_t i, uint32_t w) const {
    if (plain) reinterpret_cast<uint32_t*>(out.at + at)[i] = w;
    else out.put<uint32_t>(at + 4ull * i, w);
  }
};

// The header, without its unused words, and the length of the stream.
FZ_DEV void end_stream(const Args& a, const HuffmanForm& f, uint64_t bits, uint64_t cells) {
  const uint64_t end = f.cells_at + 4 * cells;
  const uint64_t words[] = {params<HuffmanParams>(a).bklen & 0xffff, f.sublen, f.parts, 0, f.n, f.n >> 32, bits, bits >> 32, cells, cells >> 32,
                            0, HEADER_BYTES, f.bits_at, f.starts_at, f.cells_at, end};
  put_words(Out(a), 0, words);
  publish(output(a, 0), end);
}
}  // namespace huffman
}  // namespace fz
