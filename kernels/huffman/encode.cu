// Stage huffman, encoder: counts; the code book; the cells of each partition, in slots; the slots
// moved together. The header is written last.
#include "common/shared_memory.cuh"
#include "huffman/book.cuh"

using namespace fz;
using namespace fz::huffman;

// ---------------------------------------------------------------- counts
// Of 16 bytes at once; `put` takes one symbol.
template <class T, class F> FZ_DEV void each_symbol(uint4 q, F put) {
  const uint32_t w[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int k = 0; k < (int)(4 / sizeof(T)); k++) put((uint32_t)(T)(w[i] >> (8 * sizeof(T) * k % 32)));
}

// A table in each block: the hardware merges additions to one address. Symbols from SHARED on are
// counted in global memory. Runs from the end to the front, which the encoder reads first.
template <class T, uint32_t SHARED> FZ_DEV void count_symbols(const Args& a, uint32_t* shared) {
  if (cancelled(a)) return;
  const HuffmanParams& p = params<HuffmanParams>(a);
  HuffmanCounts& counts = *reinterpret_cast<HuffmanCounts*>(a.zeroed);
  const Operand& in = input(a, 0);
  const uint64_t n = least(length(in), in.max) / sizeof(T);
  const uint8_t* src = address(in);
  const uint32_t own = min(p.bklen, SHARED);
  for (uint32_t i = threadIdx.x; i < own; i += blockDim.x) shared[i] = 0;
  __syncthreads();
  uint32_t largest = 0;
  auto put = [&](uint32_t s) {
    if (s < own) atomicAdd(&shared[s], 1u);
    else if (s < p.bklen) atomicAdd(&counts.of[s], 1u);
    else largest = max(largest, s);
  };
  const uint64_t units = n * sizeof(T) / 16, step = (uint64_t)gridDim.x * blockDim.x, me = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  uint64_t i = me;
  for (; i + 3 * step < units; i += 4 * step) {
    uint4 q[4];
#pragma unroll
    for (int k = 0; k < 4; k++) q[k] = load16(src + 16 * (units - 1 - i - k * step));
#pragma unroll
    for (int k = 0; k < 4; k++) each_symbol<T>(q[k], put);
  }
  for (; i < units; i += step) each_symbol<T>(load16(src + 16 * (units - 1 - i)), put);
  const uint64_t tail = units * 16 / sizeof(T) + me;
  if (tail < n) put(load<T>(src + tail * sizeof(T)));
  if (largest) atomicMax(&counts.largest, largest);
  __syncthreads();
  for (uint32_t s = threadIdx.x; s < own; s += blockDim.x)
    if (shared[s]) atomicAdd(&counts.of[s], shared[s]);
  // The last block to arrive here sees all counts: those of its own threads precede the barrier.
  __threadfence();
  __syncthreads();
  if (!__syncthreads_or(threadIdx.x == 0 && atomicAdd(&counts.done, 1u) + 1 == gridDim.x)) return;
  __threadfence();
  const volatile HuffmanCounts& all = counts;
  uint32_t* to = reinterpret_cast<uint32_t*>(address(output(a, 0)) + offsetof(HuffmanCounts, of));
  for (uint32_t s = threadIdx.x; s < p.bklen; s += blockDim.x) to[s] = all.of[s];  // seed: counts-last
  if (threadIdx.x == 0 && all.largest) fail(a, INVALID_ARGUMENT, all.largest);
}

template <uint32_t SHARED> FZ_DEV void count_by_width(const Args& a, uint32_t* shared) {
  const uint32_t width = params<HuffmanParams>(a).width;
  if (width == 1) count_symbols<uint8_t, SHARED>(a, shared);
  else if (width == 2) count_symbols<uint16_t, SHARED>(a, shared);
  else count_symbols<uint32_t, SHARED>(a, shared);
}
extern "C" __global__ void __launch_bounds__(512) huffman_count(FZ_ARGS) {
  __shared__ uint32_t shared[SHARED_SYMBOLS];
  count_by_width<SHARED_SYMBOLS>(a, shared);
}
extern "C" __global__ void __launch_bounds__(512) huffman_count_large(FZ_ARGS) {
  __shared__ uint32_t shared[8192];
  count_by_width<8192>(a, shared);
}

// ---------------------------------------------------------------- book
extern "C" __global__ void __launch_bounds__(1024, 1) huffman_book(FZ_ARGS) {
  constexpr uint32_t CAP = 1024;
  __shared__ uint64_t key[CAP], leaf[CAP], node[CAP];
  __shared__ uint16_t parent[2 * CAP], up[2 * CAP], symbol[CAP];
  __shared__ uint8_t depth[2 * CAP], lengths[CAP];
  __shared__ BookShared s;
  if (cancelled(a)) return;
  const HuffmanForm f = huffman_form(a);
  if (f.n == 0) return;
  const BookNodes<uint16_t> b = {key, leaf, node, parent, up, symbol, depth, lengths, CAP};
  book_make(a, b, s, huffman_counts(a), HuffmanScratch(a, f));
}
// Code books that do not fit into shared memory.
extern "C" __global__ void __launch_bounds__(1024, 1) huffman_book_large(FZ_ARGS) {
  __shared__ BookShared s;
  if (cancelled(a)) return;
  const HuffmanForm f = huffman_form(a);
  if (f.n == 0) return;
  const HuffmanScratch to(a, f);
  uint32_t cap = SHARED_SYMBOLS;
  while (cap < params<HuffmanParams>(a).bklen) cap *= 2;
  static_assert(3 * sizeof(uint64_t) + 5 * sizeof(uint32_t) + 3 == BOOK_NODE_BYTES, "as in Rust");
  uint64_t* key = reinterpret_cast<uint64_t*>(to.work);
  uint32_t* parent = reinterpret_cast<uint32_t*>(key + 3 * cap);
  uint8_t* depth = reinterpret_cast<uint8_t*>(parent + 5 * cap);
  const BookNodes<uint32_t> b = {key, key + cap, key + 2 * cap, parent, parent + 2 * cap, parent + 4 * cap, depth, depth + 2 * cap, cap};
  book_make(a, b, s, huffman_counts(a), to);
}

// ---------------------------------------------------------------- cells
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
template <int EACH> FZ_DEV void put_codes(const uint32_t (&v)[EACH], uint32_t pos, uint32_t* st) {
  uint32_t held = 0;
  fz_words to(st + (pos >> 5));
#pragma unroll
  for (int k = 0; k < EACH; k += 2) {
    const uint32_t pair = (v[k] & 0xffff0000u) | __funnelshift_r(v[k + 1] & 0xffff0000u, 0, v[k]), next = pos + v[k] + v[k + 1];
    const uint32_t full = held | __funnelshift_r(pair, 0, pos), rest = __funnelshift_r(0, pair, pos);
    const uint32_t over = (next ^ pos) & 32;
    to.put(over, full);
    held = over ? rest : full;
    pos = next;
  }
  __syncwarp();
  if (pos & 31) to.join(held);
}
// As put_codes, with longer codes among them: one by one.
template <int EACH> FZ_DEV void put_long_codes(const uint32_t (&v)[EACH], uint32_t pos, uint32_t* st, const uint32_t* codes) {
  uint32_t held = 0;
  fz_words to(st + (pos >> 5));
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    uint32_t code = v[k] & 0xffff0000u;
    const uint32_t length = v[k] & LENGTHS;
    if (v[k] & LONG_CODE) code = codes[v[k] >> 16] << (32 - length);
    const uint32_t next = pos + length, full = held | __funnelshift_r(code, 0, pos), rest = __funnelshift_r(0, code, pos);
    const uint32_t over = (next ^ pos) & 32;
    to.put(over, full);
    held = over ? rest : full;
    pos = next;
  }
  __syncwarp();
  if (pos & 31) to.join(held);
}

// The cells of one partition by one warp, EACH symbols of a lane at a time; returns the number of
// their bits.
template <class T, int EACH, class Table>
FZ_DEV uint32_t code_partition(const uint8_t* src, uint64_t n, uint32_t sublen, uint32_t* st, uint32_t* slot, const Table& table, const uint32_t* codes, int lane) {
  uint32_t done = 0, carry = 0;
  const uint32_t symbols = (uint32_t)least(n, sublen);
  for (uint32_t at = 0; at < symbols; at += 32 * EACH) {
    uint32_t v[EACH];
    const uint32_t entries = look_up<T, EACH>(v, src + at * sizeof(T), symbols - at, reinterpret_cast<uint4*>(st), table, lane), sum = entries & LENGTHS;
    const uint32_t first = done & 31, upto = first + warp_sum_to(sum), end = __shfl_sync(ALL, upto, 31), last = end >> 5;
    if (lane == 0 && (end & 31)) st[last] = 0;
    if (__any_sync(ALL, entries >= LONG_CODE)) put_long_codes<EACH>(v, upto - sum, st, codes);
    else put_codes<EACH>(v, upto - sum, st);
    __syncwarp();
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

// All tiles of a block: one has less to do than it takes to begin.
template <class T, class Table> FZ_DEV void code_tiles(const Args& a, const HuffmanForm& f, const HuffmanScratch& sc, uint32_t* st, const Table& table) {
  const int lane = threadIdx.x & 31;
  for (uint32_t first = blockIdx.x * HUFFMAN_TILE; first < f.parts; first += gridDim.x * HUFFMAN_TILE) {
    const uint32_t part = first + (threadIdx.x >> 5);
    uint32_t bits = 0;
    if (part < f.parts) {
      const uint64_t at = (uint64_t)part * f.sublen;
      const uint8_t* src = address(input(a, 0)) + at * sizeof(T);
      uint32_t* slot = sc.slots + (uint64_t)part * sc.stride;
      if (f.sublen == 768) bits = code_partition<T, 24>(src, f.n - at, f.sublen, st, slot, table, sc.codes, lane);
      else bits = code_partition<T, 32>(src, f.n - at, f.sublen, st, slot, table, sc.codes, lane);
      if (lane == 0) sc.sizes[part] = bits;
    }
    note_tile(sc.tiles[first / HUFFMAN_TILE], (bits + 31) >> 5);
  }
}

template <class T> FZ_DEV void code_shared(const Args& a) {
  __shared__ uint4 stage[HUFFMAN_TILE][CODE_WORDS / 4];
  __shared__ uint4 table[SHARED_SYMBOLS / 4];
  if (cancelled(a)) return;
  const HuffmanForm f = huffman_form(a);
  if ((uint64_t)blockIdx.x * HUFFMAN_TILE >= f.parts) return;
  const HuffmanScratch sc(a, f);
  const uint32_t symbols = (min(params<HuffmanParams>(a).bklen, SHARED_SYMBOLS) + 3) / 4;
  for (uint32_t i = threadIdx.x; i < symbols; i += CODE_THREADS) table[i] = reinterpret_cast<const uint4*>(sc.table)[i];
  __syncthreads();
  code_tiles<T>(a, f, sc, reinterpret_cast<uint32_t*>(stage[threadIdx.x >> 5]), [&](uint32_t s) { return reinterpret_cast<const uint32_t*>(table)[s]; });
}
extern "C" __global__ void __launch_bounds__(CODE_THREADS, 4) huffman_code_u8(FZ_ARGS) { code_shared<uint8_t>(a); }
extern "C" __global__ void __launch_bounds__(CODE_THREADS, 4) huffman_code_u16(FZ_ARGS) { code_shared<uint16_t>(a); }
extern "C" __global__ void __launch_bounds__(CODE_THREADS, 4) huffman_code_u32(FZ_ARGS) { code_shared<uint32_t>(a); }
// Code books that do not fit into shared memory.
extern "C" __global__ void __launch_bounds__(CODE_THREADS, 3) huffman_code_large(FZ_ARGS) {
  __shared__ uint4 stage[HUFFMAN_TILE][CODE_WORDS / 4];
  if (cancelled(a)) return;
  const HuffmanForm f = huffman_form(a);
  if ((uint64_t)blockIdx.x * HUFFMAN_TILE >= f.parts) return;
  const HuffmanScratch sc(a, f);
  auto table = [&](uint32_t s) { return __ldg(sc.table + s); };
  uint32_t* st = reinterpret_cast<uint32_t*>(stage[threadIdx.x >> 5]);
  const uint32_t width = params<HuffmanParams>(a).width;
  if (width == 1) code_tiles<uint8_t>(a, f, sc, st, table);
  else if (width == 2) code_tiles<uint16_t>(a, f, sc, st, table);
  else code_tiles<uint32_t>(a, f, sc, st, table);
}

// ---------------------------------------------------------------- the stream
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

// As Places::find, for the partitions of `group` instead of those of this block.
FZ_DEV void find_places(Places& places, const uint32_t* tiles, uint32_t own, uint32_t group) {
  const uint32_t tid = threadIdx.x;
  uint64_t sum = 0;
  for (uint32_t i = tid; i < group * (CODE_THREADS / HUFFMAN_TILE / 4); i += CODE_THREADS) {
    const uint4 q = reinterpret_cast<const uint4*>(tiles)[i];
    sum += (uint64_t)q.x + q.y + q.z + q.w;
  }
  sum = block_sum_to(sum, places.w);
  if (tid == CODE_THREADS - 1) places.before = sum;
  const uint32_t upto = block_sum_to(own, reinterpret_cast<uint32_t*>(places.w));
  places.starts[tid] = upto - own;
  if (tid == CODE_THREADS - 1) places.starts[CODE_THREADS] = upto;
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(CODE_THREADS) huffman_gather(FZ_ARGS) {
  __shared__ Places places;
  if (cancelled(a)) return;
  const HuffmanForm f = huffman_form(a);
  const HuffmanParams& p = params<HuffmanParams>(a);
  // Several blocks have the same partitions: each one moves a share of them, and the first one does the rest.
  const uint32_t shares = a.tag, group = blockIdx.x / shares, share = blockIdx.x % shares;
  const uint32_t tid = threadIdx.x, lane = tid & 31, first = group * CODE_THREADS;
  if (f.n == 0 && blockIdx.x == 0 && tid == 0) publish(output(a, 0), 0);
  if (first >= f.parts) return;
  const HuffmanScratch sc(a, f);
  const Out out(a);
  const uint32_t part = first + tid, bits = part < f.parts ? sc.sizes[part] : 0;
  find_places(places, sc.tiles, (bits + 31) >> 5, group);
  if (share == 0 && part < f.parts) {
    out.put<uint32_t>(f.bits_at + 4ull * part, bits);
    out.put<uint32_t>(f.starts_at + 4ull * part, (uint32_t)(places.before + places.starts[tid]));
  }
  const Cells to(out, f.cells_at + 4 * places.before, places.starts[CODE_THREADS]);
  // Loads of several partitions are under way at a time: most have no more words than that.
  constexpr uint32_t SLOTS = 2, STEPS = 4;
  const uint32_t end_of_share = CODE_THREADS / shares * (share + 1);
  for (uint32_t k = CODE_THREADS / shares * share + (tid >> 5) * SLOTS; k < end_of_share && first + k < f.parts; k += HUFFMAN_TILE * SLOTS) {
    uint32_t w[SLOTS][STEPS];
    const uint32_t* from = sc.slots + (uint64_t)(first + k) * sc.stride;
#pragma unroll
    for (uint32_t j = 0; j < SLOTS; j++) {
      const uint32_t count = places.starts[k + j + 1] - places.starts[k + j];
#pragma unroll
      for (uint32_t i = 0; i < STEPS; i++) w[j][i] = 32 * i + lane < count ? __ldcs(from + j * sc.stride + 32 * i + lane) : 0;
    }
#pragma unroll
    for (uint32_t j = 0; j < SLOTS; j++) {
      const uint32_t start = places.starts[k + j], count = places.starts[k + j + 1] - start;
#pragma unroll
      for (uint32_t i = 0; i < STEPS; i++)
        if (32 * i + lane < count) to.put(start + 32 * i + lane, w[j][i]);
      for (uint32_t i = 32 * STEPS + lane; i < count; i += 32) to.put(start + i, __ldcs(from + j * sc.stride + i));
    }
  }
  // The unused words of the header: zeros, or those of the reference.
  if (blockIdx.x == 0 && tid < 16) {
    const uint32_t k = 16 + tid, codes = k < p.bklen ? sc.codes[k] : 0;
    out.put<uint32_t>(64 + 4 * tid, p.exact == 0 ? 0 : k < places.starts[1] ? sc.slots[k] : codes);
  }
  if (first + CODE_THREADS < f.parts || share > 0 || tid != 0) return;
  const uint64_t cells = places.before + places.starts[CODE_THREADS], end = f.cells_at + 4 * cells;
  const uint64_t words[] = {p.bklen & 0xffff, f.sublen, f.parts, 0, f.n, f.n >> 32, *sc.bits, *sc.bits >> 32, cells, cells >> 32,
                            0, HEADER_BYTES, f.bits_at, f.starts_at, f.cells_at, end};
  put_words(out, 0, words);
  publish(output(a, 0), end);
}
