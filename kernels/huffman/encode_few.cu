// Stage huffman, encoder of few partitions: one launch after that of the code book. All blocks run at the same
// time. Each one codes its partitions in shared memory, and finds their place by look-back.
#include "common/lookback.cuh"
#include "huffman/cells.cuh"

using namespace fz;
using namespace fz::huffman;

struct FewCells {
  uint4 stage[HUFFMAN_TILE][CODE_WORDS / 4], table[SHARED_SYMBOLS / 4];
  uint32_t counts[HUFFMAN_TILE], before;  // cells of the partitions of this block, and of the blocks before
};

// Partitions have MIN_PARTITION symbols.
template <class T> FZ_DEV void code_few(const Args& a, FewCells& s) {
  if (cancelled(a)) return;
  const HuffmanForm f = huffman_form(a);
  const uint32_t tid = threadIdx.x, warp = tid >> 5, part = blockIdx.x * HUFFMAN_TILE + warp;
  const int lane = tid & 31;
  if (f.n == 0 && blockIdx.x == 0 && tid == 0) publish(output(a, 0), 0);
  if (blockIdx.x * HUFFMAN_TILE >= f.parts) return;
  const HuffmanParams& p = params<HuffmanParams>(a);
  const HuffmanScratch sc(a, f);
  const uint32_t symbols = (min(p.bklen, SHARED_SYMBOLS) + 3) / 4;
  for (uint32_t i = tid; i < symbols; i += CODE_THREADS) s.table[i] = reinterpret_cast<const uint4*>(sc.table)[i];
  __syncthreads();
  uint32_t* st = reinterpret_cast<uint32_t*>(s.stage[warp]);
  uint32_t bits = 0;
  if (part < f.parts) {
    const uint64_t at = (uint64_t)part * MIN_PARTITION;
    bits = code_symbols<T, MIN_PARTITION / 32>(address(input(a, 0)) + at * sizeof(T), f.n - at, 0, st, [&](uint32_t k) { return reinterpret_cast<const uint32_t*>(s.table)[k]; }, sc.codes, lane);
  }
  const uint32_t count = (bits + 31) >> 5;
  if (lane == 0) s.counts[warp] = count;
  __syncthreads();
  uint64_t* states = reinterpret_cast<uint64_t*>(a.zeroed);
  if (warp == 0) {
    const uint32_t all = __reduce_add_sync(ALL, lane < (int)HUFFMAN_TILE ? s.counts[lane] : 0);
    if (lane == 0) poke(states + blockIdx.x, OWN | all);
    const uint32_t before = (uint32_t)exclusive_prefix_small(states, blockIdx.x, lane);
    if (lane == 0) s.before = before;
  }
  __syncthreads();
  uint32_t start = s.before;
  for (uint32_t k = 0; k < warp; k++) start += s.counts[k];
  const Out out(a);
  // The unused words of the header: zeros, or those of the reference.
  if (part == 0 && lane < 16) {
    const uint32_t k = 16 + lane, codes = k < p.bklen ? sc.codes[k] : 0;
    out.put<uint32_t>(64 + 4 * lane, p.exact == 0 ? 0 : k < count ? st[k] : codes);
  }
  if (part >= f.parts) return;
  if (lane == 0) {
    out.put<uint32_t>(f.bits_at + 4ull * part, bits);
    out.put<uint32_t>(f.starts_at + 4ull * part, start);
    if (part + 1 == f.parts) end_stream(a, f, *sc.bits, start + count);
  }
  const Cells to(out, f.cells_at + 4ull * start, count);
  for (uint32_t i = lane; i < count; i += 32) to.put(i, st[i]);
}

#define HUFFMAN_CODE_FEW(NAME, T)                                                               \
  extern "C" __global__ void __launch_bounds__(CODE_THREADS) huffman_code_few_##NAME(FZ_ARGS) { \
    __shared__ FewCells s;                                                                      \
    code_few<T>(a, s);                                                                          \
  }

HUFFMAN_CODE_FEW(u8, uint8_t)
HUFFMAN_CODE_FEW(u16, uint16_t)
HUFFMAN_CODE_FEW(u32, uint32_t)
