// Stage huffman, decoder: every thread decodes a partition. The lanes of a warp decode one symbol
// per step in lock step, so that positions in the array are known in advance.
#include "common/shared_memory.cuh"
#include "huffman/tables.cuh"

using namespace fz;
using namespace fz::huffman;

constexpr int DECODE_THREADS = 256;
// Words of a partition that a lane has at hand, the next ones of which come while it decodes.
constexpr uint32_t AHEAD = 16;
// Symbols that are decoded between looking whether there are words enough: not even the longest
// codes take more than NEED.
constexpr int GROUP = 8;
constexpr uint32_t NEED = 8;  // seed: long-need

template <class T> struct DecodeShared {
  // Symbols of a row, which a warp writes as pieces of 16 bytes, PIECES for each lane.
  static constexpr uint32_t ROW = sizeof(T) == 4 ? 16 : 32, PIECES = ROW * sizeof(T) / 16;
  uint4 table[TABLE / 4];
  uint4 ahead[DECODE_THREADS][AHEAD / 4];
  uint4 rows[DECODE_THREADS / 32][32 * PIECES];
  // Piece `k` of a lane, turned so that lanes which write the same one do not meet in a bank.
  static FZ_DEV uint32_t place(uint32_t lane, uint32_t k) { return lane * PIECES + (k ^ (lane * PIECES / 8 & (PIECES - 1))); }
};

// The bits of a partition. Words have the number of their place in the ring, or 16 more, and so on.
struct HuffmanBits {
  const uint8_t* base;  // of word 0
  uint32_t* ring;
  uint32_t at, end;         // the next word, and the end of the words
  uint32_t fetched, there;  // up to where words are on their way, and have come
  uint32_t a, b, next, used;

  FZ_DEV void start(const uint8_t* from, uint32_t words, uint4* mine) {
    ring = reinterpret_cast<uint32_t*>(mine);
    // Lanes that are equally far read from different banks.
    fetched = threadIdx.x * 2 & 12;
    // Pieces that are fetched start at multiples of 16 bytes, if words lie at multiples of four.
    const uint32_t skew = words && aligned(from, 4) ? (uint32_t)((uintptr_t)from & 15) / 4 : 0;
    at = fetched + skew;
    end = at + words;
    base = from - 4 * at;
    used = 0;
    fetch();
    arrive();
    a = ring[at++ % AHEAD];
    b = ring[at++ % AHEAD];
    next = ring[at++ % AHEAD];
    fetch();
  }
  // The number of words for which there is room after those not yet consumed. After the end, ones,
  // which are short codes.
  FZ_DEV void fetch() {
    for (; fetched < (at & ~3u) + AHEAD; fetched += 4) {
      uint32_t* to = ring + fetched % AHEAD;
      const uint8_t* from = base + 4ull * fetched;
      if (fetched + 4 <= end && aligned(from, 16)) fz_copy16(to, from);
      else
        for (uint32_t i = 0; i < 4; i++) to[i] = fetched + i < end ? load<uint32_t>(from + 4 * i) : ALL;
    }
  }
  FZ_DEV void arrive() {
    fz_copies_done();
    there = fetched;
  }
  FZ_DEV void need() {
    if (there - at >= NEED) return;
    arrive();
    if (there - at >= NEED) return;
    fetch();
    arrive();
  }
  FZ_DEV uint32_t peek() const { return __funnelshift_l(b, a, used); }
  // Of `bits` and `used` the low half counts.
  FZ_DEV void skip(uint32_t bits) {
    const uint32_t now = used + bits, over = (used ^ now) & 32;
    used = now;
    a = over ? b : a;
    b = over ? next : b;
    if (over) next = ring[at % AHEAD];
    at += over >> 5;
  }
};

// A row of each lane into shared memory, two codes at a time, of which both mostly are in the first
// table, and nearly always in the first two. True: bits that are no code.
template <class T> FZ_DEV bool decode_row(DecodeShared<T>& s, HuffmanBits& bits, const HuffmanTables& tables) {
  typedef DecodeShared<T> S;
  constexpr int WORDS = GROUP * sizeof(T) / 4;
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  bool bad = false;
#pragma unroll 1
  for (uint32_t g = 0; g < S::ROW / GROUP; g++) {
    uint32_t w[WORDS] = {};
    bits.need();
#pragma unroll
    for (int i = 0; i < GROUP / 2; i++) {
      const uint32_t peek = bits.peek();
      uint32_t e0 = tables.first_of(peek), e1 = tables.first_of(__funnelshift_l(0, peek, e0)), both = e0 + e1;
      if (e0 == 0 || e1 == 0) {
        e0 = tables.most_of(peek);
        e1 = tables.most_of(__funnelshift_l(0, peek, e0));
        both = e0 + e1;
        // Of `peek` nothing is left behind 32 bits.
        if (e0 == 0 || e1 == 0 || (both & 0xffff) > 32) {
          const uint2 e = two_codes(tables, bits.a, bits.b, bits.next, bits.used);
          e0 = e.x;
          both = e1 = e.y;
          bad |= e0 == 0 || e1 == 0;
          bits.skip(e0);
        }
      }
      bits.skip(both);
      if constexpr (sizeof(T) == 1) w[i / 2] |= (__byte_perm(e0, e1, 0x62) & 0xffff) << 16 * (i % 2);
      else if constexpr (sizeof(T) == 2) w[i] = __byte_perm(e0, e1, 0x7632);
      else { w[2 * i] = e0 >> 16; w[2 * i + 1] = e1 >> 16; }
    }
    uint4* to = &s.rows[warp][0];
    if constexpr (sizeof(T) == 1) reinterpret_cast<uint2*>(&to[S::place(lane, g / 2)])[g % 2] = make_uint2(w[0], w[1]);
    else
#pragma unroll
      for (uint32_t k = 0; k < WORDS / 4; k++) to[S::place(lane, g * (WORDS / 4) + k)] = make_uint4(w[4 * k], w[4 * k + 1], w[4 * k + 2], w[4 * k + 3]);
  }
  return bad;
}
// The first `count` symbols of a row: a partition ends within it.
template <class T> FZ_DEV bool decode_part(DecodeShared<T>& s, HuffmanBits& bits, const HuffmanTables& tables, uint32_t count) {
  typedef DecodeShared<T> S;
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  bool bad = false;
#pragma unroll 1
  for (uint32_t k = 0; k < count; k++) {
    bits.need();
    const uint32_t e = tables.any_of(bits.peek()), at = k * sizeof(T);
    bad |= e == 0;
    bits.skip(e);
    reinterpret_cast<T*>(&s.rows[warp][S::place(lane, at / 16)])[at % 16 / sizeof(T)] = (T)(e >> 16);
  }
  return bad;
}
// The rows of a warp to the array: that of lane r goes to element row0 + r sublen, of which there
// are `room` in all.
template <class T> FZ_DEV void put_rows(const DecodeShared<T>& s, uint8_t* dst, uint64_t row0, uint32_t sublen, uint32_t left, uint64_t room) {
  typedef DecodeShared<T> S;
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  if (left >= S::ROW && row0 + 31ull * sublen + S::ROW <= room && aligned(dst, 16) && (row0 | sublen) * sizeof(T) % 16 == 0) {
#pragma unroll
    for (uint32_t q = 0; q < S::PIECES; q++) {
      const uint32_t r = (q * 32 + lane) / S::PIECES, k = lane % S::PIECES;
      *reinterpret_cast<uint4*>(dst + (row0 + (uint64_t)r * sublen) * sizeof(T) + 16 * k) = s.rows[warp][S::place(r, k)];
    }
    return;
  }
  for (uint32_t r = 0; r < 32; r++)
    for (uint32_t k = lane; k < min(left, S::ROW); k += 32) {
      const uint64_t i = row0 + (uint64_t)r * sublen + k;
      const uint32_t at = k * sizeof(T);
      if (i < room) store<T>(dst + i * sizeof(T), reinterpret_cast<const T*>(&s.rows[warp][S::place(r, at / 16)])[at % 16 / sizeof(T)]);
    }
}

template <class T> FZ_DEV void decode_partitions(const Args& a, DecodeShared<T>& s) {
  if (cancelled(a)) return;
  constexpr uint32_t ROW = DecodeShared<T>::ROW;
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
  const HuffmanForm f = huffman_form(p, n, o.sublen, (uint32_t)((n + o.sublen - 1) / o.sublen));
  if ((uint64_t)blockIdx.x * DECODE_THREADS >= f.parts) return;
  for (uint32_t i = tid; i < TABLE / 4; i += DECODE_THREADS) s.table[i] = o.table[i];
  __syncthreads();
  const uint8_t* src = address(input(a, 0));
  const HuffmanTables tables = {reinterpret_cast<const uint32_t*>(s.table), o.shift[0], o.shift[1], &o, {src + SYMBOLS_AT, p.width}};
  bool bad = false;
  for (uint64_t group = ((uint64_t)blockIdx.x * DECODE_THREADS) + warp * 32; group < f.parts; group += (uint64_t)gridDim.x * DECODE_THREADS) {
    const uint64_t part = group + lane, row0 = group * f.sublen;
    HuffmanBits bits;
    uint32_t mine = 0, total = 0, words = 0;
    const uint8_t* from = src + f.cells_at;
    if (part < f.parts) {
      total = load<uint32_t>(src + f.bits_at + 4 * part);
      const uint64_t first = load<uint32_t>(src + f.starts_at + 4 * part);
      mine = (uint32_t)least(n - part * f.sublen, f.sublen);
      if (first + ((uint64_t)total + 31) / 32 > o.cells) bad = true;
      else {
        words = (uint32_t)(((uint64_t)total + 31) / 32);
        from = src + f.cells_at + 4 * first;
      }
    }
    bits.start(from, words, s.ahead[tid]);
    uint64_t taken = 0;
    for (uint64_t at = 0; at < f.sublen && row0 + at < n; at += ROW) {
      const uint32_t before = bits.used;
      // Lanes that are at their end continue with ones, which is as fast; their results are not
      // used.
      if (!__any_sync(ALL, mine > at && mine - at < ROW)) {
        const bool wrong = decode_row(s, bits, tables);
        if (mine > at) {
          bad |= wrong;
          taken += (uint16_t)(bits.used - before);
        }
      } else if (mine > at) {
        bad |= decode_part(s, bits, tables, min(mine - (uint32_t)at, ROW));
        taken += (uint16_t)(bits.used - before);
      }
      __syncwarp();
      put_rows(s, dst, row0 + at, f.sublen, (uint32_t)least(f.sublen - at, ROW), room);
      bits.arrive();
      __syncwarp();
      bits.fetch();
    }
    bad |= taken != total;
  }
  if (__syncthreads_or(bad) && tid == 0) fail(a, CORRUPT);
}

extern "C" __global__ void __launch_bounds__(DECODE_THREADS, 4) huffman_decode_u8(FZ_ARGS) {
  __shared__ DecodeShared<uint8_t> s;
  decode_partitions<uint8_t>(a, s);
}
extern "C" __global__ void __launch_bounds__(DECODE_THREADS, 4) huffman_decode_u16(FZ_ARGS) {
  __shared__ DecodeShared<uint16_t> s;
  decode_partitions<uint16_t>(a, s);
}
extern "C" __global__ void __launch_bounds__(DECODE_THREADS, 4) huffman_decode_u32(FZ_ARGS) {
  __shared__ DecodeShared<uint32_t> s;
  decode_partitions<uint32_t>(a, s);
}
