// Huffman, encoding: counts, book, cells of each partition in slots, and the slots moved together. The head is written last.
#include "huffman_book.cuh"

using namespace fz;

// ---------------------------------------------------------------- counts
// Of 16 bytes at once; `put` takes one symbol.
template <class T, class F> FZ_DEV void each_symbol(uint4 q, F put) {
  const uint32_t w[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int k = 0; k < (int)(4 / sizeof(T)); k++) put((uint32_t)(T)(w[i] >> (8 * sizeof(T) * k % 32)));
}

// A table in each block: the hardware merges additions to one address. Symbols from NEAR on are counted in global memory. Goes
// from the end to the front, which is what the encoder reads first.
template <class T, uint32_t NEAR> FZ_DEV void count_symbols(const Args& a, uint32_t* near) {
  if (dead(a)) return;
  const HuffmanParams& p = params<HuffmanParams>(a);
  HuffmanCounts& counts = HuffmanCounts::in(a);
  const Operand& in = input(a, 0);
  const uint64_t n = least(length(in), in.max) / sizeof(T);
  const uint8_t* src = address(in);
  const uint32_t own = min(p.bklen, NEAR);
  for (uint32_t i = threadIdx.x; i < own; i += blockDim.x) near[i] = 0;
  __syncthreads();
  uint32_t largest = 0;
  auto put = [&](uint32_t s) {
    if (s < own) atomicAdd(&near[s], 1u);
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
    if (near[s]) atomicAdd(&counts.of[s], near[s]);
}

template <uint32_t NEAR> FZ_DEV void count_by_width(const Args& a, uint32_t* near) {
  const uint32_t width = params<HuffmanParams>(a).width;
  if (width == 1) count_symbols<uint8_t, NEAR>(a, near);
  else if (width == 2) count_symbols<uint16_t, NEAR>(a, near);
  else count_symbols<uint32_t, NEAR>(a, near);
}
extern "C" __global__ void __launch_bounds__(512) huffman_count(FZ_ARGS) {
  __shared__ uint32_t near[1024];
  count_by_width<1024>(a, near);
}
extern "C" __global__ void __launch_bounds__(512) huffman_count_far(FZ_ARGS) {
  __shared__ uint32_t near[8192];
  count_by_width<8192>(a, near);
}

// ---------------------------------------------------------------- book
// False: there is nothing to make, or symbols without a code.
FZ_DEV bool book_wanted(const Args& a, const HuffmanForm& f) {
  const HuffmanCounts& counts = HuffmanCounts::in(a);
  if (counts.largest && threadIdx.x == 0) fail(a, INVALID_ARGUMENT, counts.largest);
  return f.n != 0 && counts.largest == 0;
}

extern "C" __global__ void __launch_bounds__(1024, 1) huffman_book(FZ_ARGS) {
  constexpr uint32_t CAP = 1024;
  __shared__ uint64_t key[CAP], leaf[CAP], node[CAP];
  __shared__ uint16_t parent[2 * CAP], up[2][CAP], symbol[CAP];
  __shared__ uint8_t depth[2][CAP], lengths[CAP];
  __shared__ BookShared s;
  if (dead(a)) return;
  const HuffmanForm f = huffman_form(a);
  if (!book_wanted(a, f)) return;
  const BookNodes<uint16_t> b = {key, leaf, node, parent, {up[0], up[1]}, symbol, {depth[0], depth[1]}, lengths, CAP};
  book_make(a, b, s, HuffmanCounts::in(a).of, HuffmanScratch(a, f));
}
// Codebooks that are longer than what a block has memory for.
extern "C" __global__ void __launch_bounds__(1024, 1) huffman_book_far(FZ_ARGS) {
  __shared__ BookShared s;
  if (dead(a)) return;
  const HuffmanForm f = huffman_form(a);
  if (!book_wanted(a, f)) return;
  const HuffmanScratch to(a, f);
  uint32_t cap = HUFFMAN_NEAR;
  while (cap < params<HuffmanParams>(a).bklen) cap *= 2;
  uint64_t* key = reinterpret_cast<uint64_t*>(to.work);
  uint32_t* parent = reinterpret_cast<uint32_t*>(key + 3 * cap);
  uint8_t* depth = reinterpret_cast<uint8_t*>(parent + 5 * cap);
  const BookNodes<uint32_t> b = {key, key + cap, key + 2 * cap, parent, {parent + 2 * cap, parent + 3 * cap}, parent + 4 * cap,
                                 {depth, depth + cap}, depth + 2 * cap, cap};
  book_make(a, b, s, HuffmanCounts::in(a).of, to);
}

// ---------------------------------------------------------------- cells
constexpr int CODE_THREADS = CODER_THREADS;
constexpr uint32_t HUFFMAN_TILE = CODER_TILE;
// Words of a warp: 1024 symbols of any width, or as many codes behind the rest of a word.
constexpr int CODE_WORDS = 1028;

// Any lengths and any number of symbols: bit by bit position. `to` holds zeros.
template <class T> FZ_DEV void put_slowly(const uint8_t* src, uint32_t count, const uint32_t* codes, uint32_t pos, uint32_t* to) {
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t code = codes[load<T>(src + i * sizeof(T))], l = code >> 27;
    const uint64_t bits = (uint64_t)(code & 0x7ffffff) << (64 - l) >> (pos & 31);
    atomicOr(to + (pos >> 5), (uint32_t)(bits >> 32));
    if ((uint32_t)bits) atomicOr(to + (pos >> 5) + 1, (uint32_t)bits);
    pos += l;
  }
}
template <class T> FZ_DEV uint32_t length_slowly(const uint8_t* src, uint32_t count, const uint32_t* codes) {
  uint32_t bits = 0;
  for (uint32_t i = 0; i < count; i++) bits += codes[load<T>(src + i * sizeof(T))] >> 27;
  return bits;
}

// Table entries of the symbols of a lane, of which a warp has 32 EACH in a row, through shared memory.
template <class T, int EACH, class Table> FZ_DEV uint32_t look_up(uint32_t (&v)[EACH], const uint8_t* src, uint4* st, const Table& table, int lane) {
  constexpr int PIECES = EACH * 2 * sizeof(T), UNITS = EACH * sizeof(T) / 8;
  auto place = [](int q) { return EACH == 32 ? q ^ (q >> 3 & 3) : q; };
  for (int q = lane; q < PIECES; q += 32) st[place(q)] = load16(src + 16 * q);
  __syncwarp();
  uint32_t sum = 0;
#pragma unroll
  for (int k = 0; k < UNITS; k++) {
    const int u = lane * UNITS + k;
    const uint2 w = reinterpret_cast<const uint2*>(st)[2 * place(u >> 1) + (u & 1)];
    int i = 0;
    auto take = [&](uint32_t word) {
#pragma unroll
      for (int j = 0; j < (int)(4 / sizeof(T)); j++) {
        const uint32_t e = table((uint32_t)(T)(word >> (8 * sizeof(T) * j % 32)));
        v[k * (8 / sizeof(T)) + i++] = e;
        sum += e;
      }
    };
    take(w.x);
    take(w.y);
  }
  __syncwarp();
  return sum & 0xffff;
}

// The cells of one partition by one warp, EACH symbols of a lane at a time; says how many bits they have. Entries hold the code
// at the top and its length at the bottom, so that sums of entries are sums of lengths, and shifts need no mask. A word is
// stored by the lane that completes it; what is left is put beside it.
template <class T, int EACH, class Table>
FZ_DEV uint32_t code_partition(const uint8_t* src, uint64_t n, uint32_t sublen, uint32_t* st, uint32_t* slot, const Table& table, const uint32_t* codes, int lane) {
  uint32_t done = 0, carry = 0;
  for (uint64_t at = 0; at < least(n, sublen); at += 32 * EACH) {
    uint32_t v[EACH], sum = HUFFMAN_FAR, mine = 0;
    const uint8_t* chunk = src + at * sizeof(T);
    const uint8_t* own = chunk + lane * EACH * sizeof(T);
    if (n - at >= 32 * EACH) sum = look_up<T, EACH>(v, chunk, reinterpret_cast<uint4*>(st), table, lane);
    const bool slow = __any_sync(ALL, sum >= HUFFMAN_FAR);
    if (slow) {
      const uint64_t left = n - at, before = (uint64_t)lane * EACH;
      mine = left > before ? (uint32_t)least(left - before, EACH) : 0;
      sum = length_slowly<T>(own, mine, codes);
    }
    const uint32_t first = done & 31, upto = first + warp_sum_to(sum), end = __shfl_sync(ALL, upto, 31);
    uint32_t pos = upto - sum;
    if (slow) {
      for (uint32_t i = lane; i <= end >> 5; i += 32) st[i] = 0;
      __syncwarp();
      put_slowly<T>(own, mine, codes, pos, st);
    } else {
      if (lane == 0 && (end & 31)) st[end >> 5] = 0;
      uint32_t held = 0;
      uint32_t* to = st + (pos >> 5);
#pragma unroll
      for (int k = 0; k < EACH; k += 2) {
        const uint32_t pair = (v[k] & 0xffff0000u) | __funnelshift_r(v[k + 1] & 0xffff0000u, 0, v[k]), next = pos + v[k] + v[k + 1];
        const uint32_t full = held | __funnelshift_r(pair, 0, pos), rest = __funnelshift_r(0, pair, pos);
        const bool over = (next ^ pos) & 32;
        if (over) *to++ = full;
        held = over ? rest : full;
        pos = next;
      }
      __syncwarp();
      if (pos & 31) atomicOr(to, held);
    }
    __syncwarp();
    if (lane == 0 && first) atomicOr(st, carry);
    __syncwarp();
    uint32_t* to = slot + (done >> 5);
    for (uint32_t i = lane; i < end >> 5; i += 32) to[i] = st[i];
    carry = end & 31 ? st[end >> 5] : 0;
    done += end - first;
    __syncwarp();
  }
  if (lane == 0 && (done & 31)) slot[done >> 5] = carry;
  return done;
}

template <class T, class Table> FZ_DEV uint32_t code_one(const Args& a, const HuffmanForm& f, const HuffmanScratch& sc, uint32_t part, uint32_t* st, const Table& table, int lane) {
  const uint64_t at = (uint64_t)part * f.sublen;
  const uint8_t* src = address(input(a, 0)) + at * sizeof(T);
  uint32_t* slot = sc.slots + (uint64_t)part * sc.stride;
  if (f.sublen == 768) return code_partition<T, 24>(src, f.n - at, f.sublen, st, slot, table, sc.codes, lane);
  return code_partition<T, 32>(src, f.n - at, f.sublen, st, slot, table, sc.codes, lane);
}

template <class Table> FZ_DEV void code_tile(const Args& a, const HuffmanForm& f, const HuffmanScratch& sc, uint32_t* st, const Table& table) {
  const int lane = threadIdx.x & 31;
  const uint32_t part = blockIdx.x * HUFFMAN_TILE + (threadIdx.x >> 5), width = params<HuffmanParams>(a).width;
  uint32_t bits = 0;
  if (part < f.parts) {
    if (width == 1) bits = code_one<uint8_t>(a, f, sc, part, st, table, lane);
    else if (width == 2) bits = code_one<uint16_t>(a, f, sc, part, st, table, lane);
    else bits = code_one<uint32_t>(a, f, sc, part, st, table, lane);
    if (lane == 0) sc.sizes[part] = bits;
  }
  note_tile(sc.tiles, (bits + 31) >> 5);
}

extern "C" __global__ void __launch_bounds__(CODE_THREADS, 3) huffman_code(FZ_ARGS) {
  __shared__ uint4 stage[HUFFMAN_TILE][CODE_WORDS / 4];
  __shared__ uint32_t near[HUFFMAN_NEAR];
  if (dead(a)) return;
  const HuffmanForm f = huffman_form(a);
  if ((uint64_t)blockIdx.x * HUFFMAN_TILE >= f.parts || HuffmanCounts::in(a).largest) return;
  const HuffmanScratch sc(a, f);
  const uint32_t symbols = min(params<HuffmanParams>(a).bklen, HUFFMAN_NEAR);
  for (uint32_t i = threadIdx.x; i < symbols; i += CODE_THREADS) near[i] = sc.table[i];
  __syncthreads();
  code_tile(a, f, sc, reinterpret_cast<uint32_t*>(stage[threadIdx.x >> 5]), [&](uint32_t s) { return near[s]; });
}
extern "C" __global__ void __launch_bounds__(CODE_THREADS, 3) huffman_code_far(FZ_ARGS) {
  __shared__ uint4 stage[HUFFMAN_TILE][CODE_WORDS / 4];
  if (dead(a)) return;
  const HuffmanForm f = huffman_form(a);
  if ((uint64_t)blockIdx.x * HUFFMAN_TILE >= f.parts || HuffmanCounts::in(a).largest) return;
  const HuffmanScratch sc(a, f);
  code_tile(a, f, sc, reinterpret_cast<uint32_t*>(stage[threadIdx.x >> 5]), [&](uint32_t s) { return __ldg(sc.table + s); });
}

// ---------------------------------------------------------------- the stream
extern "C" __global__ void __launch_bounds__(CODE_THREADS) huffman_gather(FZ_ARGS) {
  __shared__ Places places;
  if (dead(a)) return;
  const HuffmanForm f = huffman_form(a);
  const HuffmanParams& p = params<HuffmanParams>(a);
  const uint32_t tid = threadIdx.x, lane = tid & 31, first = blockIdx.x * CODE_THREADS;
  if (f.n == 0 && blockIdx.x == 0 && tid == 0) publish(output(a, 0), 0);
  if (first >= f.parts || HuffmanCounts::in(a).largest) return;
  const HuffmanScratch sc(a, f);
  const Out out(a);
  const uint32_t part = first + tid, bits = part < f.parts ? sc.sizes[part] : 0;
  places.find(sc.tiles, (bits + 31) >> 5);
  if (part < f.parts) {
    out.put<uint32_t>(f.bits_at + 4ull * part, bits);
    out.put<uint32_t>(f.starts_at + 4ull * part, (uint32_t)(places.before + places.starts[tid]));
  }
  for (uint32_t k = tid >> 5; k < (uint32_t)CODE_THREADS && first + k < f.parts; k += HUFFMAN_TILE) {
    const uint32_t* from = sc.slots + (uint64_t)(first + k) * sc.stride;
    const uint32_t count = places.starts[k + 1] - places.starts[k];
    const uint64_t at = f.cells_at + 4 * (places.before + places.starts[k]);
    for (uint32_t i = lane; i < count; i += 32) out.put<uint32_t>(at + 4ull * i, __ldcs(from + i));
  }
  // The unused words of the head: zeros, or what the reference leaves there.
  if (blockIdx.x == 0 && tid < 16) {
    const uint32_t k = 16 + tid, codes = k < p.bklen ? sc.codes[k] : 0;
    out.put<uint32_t>(64 + 4 * tid, p.exact == 0 ? 0 : k < places.starts[1] ? sc.slots[k] : codes);
  }
  if (first + CODE_THREADS < f.parts || tid != 0) return;
  const uint64_t cells = places.before + places.starts[CODE_THREADS], end = f.cells_at + 4 * cells;
  const uint64_t words[] = {p.bklen & 0xffff, f.sublen, f.parts, 0, f.n, f.n >> 32, *sc.bits, *sc.bits >> 32, cells, cells >> 32,
                            0, HUFFMAN_HEAD, f.bits_at, f.starts_at, f.cells_at, end};
  put_words(out, 0, words);
  publish(output(a, 0), end);
}
