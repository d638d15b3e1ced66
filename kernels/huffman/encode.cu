// Stage huffman, encoder: counts; the code book; the cells of each partition, in slots; the slots
// moved together. The header is written last.
#include "common/shared_memory.cuh"
#include "huffman/book.cuh"
#include "huffman/cells.cuh"

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
  alignas(16) __shared__ uint64_t key[CAP];
  __shared__ uint64_t leaf[CAP], node[CAP];
  __shared__ uint16_t parent[2 * CAP], up[2 * CAP], symbol[CAP];
  __shared__ uint8_t depth[2 * CAP], lengths[CAP];
  __shared__ BookShared s;
  if (cancelled(a)) return;
  const HuffmanForm f = huffman_form(a);
  if (f.n == 0) return;
  const BookNodes<uint16_t> b = {key, leaf, node, parent, up, symbol, depth, lengths, CAP};
  book_make(a, b, s, huffman_counts(a), f.n < FEW_COUNTED, HuffmanScratch(a, f));
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
  book_make(a, b, s, huffman_counts(a), false, to);
}

// ---------------------------------------------------------------- cells
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
  const uint64_t cells = places.before + places.starts[CODE_THREADS];
  end_stream(a, f, *sc.bits, cells);
}
