// The codebook of Huffman by one block of 1024 threads: lengths from counts, canonical codes from
// lengths.
#pragma once
#include "huffman/book_small.cuh"

namespace fz {
namespace huffman {
// From the numbers of codes of each length: first codes, and the numbers of codes before them.
FZ_DEV void book_tables(BookShared& s) {
  const uint32_t tid = threadIdx.x;
  if (tid < 32) {
    const uint32_t own = s.number[tid];
    s.entry[tid] = warp_sum_to(own) - own;
    // Half of the codes that longer ones take, rounded up, and half of that and the codes of this length, and so on: the sum of all
    // longer codes, each as a part of 2^31, rounded up once.
    const uint32_t part = own << (31 - tid), all = warp_sum_to(__shfl_sync(ALL, part, 31 - tid)), longer = __shfl_sync(ALL, all, 31 - tid) - part;
    const uint32_t mine = (longer + ((1u << (31 - tid)) - 1)) >> (31 - tid);
    s.first[tid] = tid == 0 ? 255 : mine;
    s.base[tid] = 0;
  }
  __syncthreads();
}

// The whole book, into the stream and into scratch. `counts` has one that is not zero. `few`: they add up to less than FEW_COUNTED.
template <class I> FZ_DEV void book_make(const Args& a, const BookNodes<I>& b, BookShared& s, const uint32_t* counts, bool few, const HuffmanScratch& to) {
  const uint32_t tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  const HuffmanParams& p = params<HuffmanParams>(a);
  const uint32_t n = p.bklen, allowed = p.exact ? 28 : 27;
  const auto lengths = [&](uint32_t floor) {
    if constexpr (sizeof(I) == 2) {
      if (few && !p.exact) return small_lengths(b, s, counts, n, floor);
    }
    return book_lengths(b, s, counts, n, floor, p.exact != 0);
  };
  uint32_t longest = lengths(0);
  if (longest > allowed) {
    if (tid == 0) s.most = 0;
    __syncthreads();
    for (uint32_t i = tid; i < n; i += BOOK_THREADS) atomicMax(&s.most, counts[i]);
    __syncthreads();
    for (uint32_t shift = 24; longest > allowed; shift /= 2) longest = lengths(max(s.most >> shift, 1u));
  }
  if (tid < 33) s.number[tid] = 0;
  __syncthreads();
  uint64_t bits = 0;
  for (uint32_t i = tid; i < n; i += BOOK_THREADS) {
    const uint32_t l = b.length[i];
    bits += (uint64_t)counts[i] * l;
    if (l) atomicAdd(&s.number[l], 1u);
  }
  bits = block_sum_to(bits, s.sums);
  if (tid == BOOK_THREADS - 1) *to.bits = bits;
  book_tables(s);
  const Out out(a);
  if (tid < 32) {
    out.put<uint32_t>(HEADER_BYTES + 4 * tid, s.first[tid]);
    out.put<uint32_t>(HEADER_BYTES + 128 + 4 * tid, s.entry[tid]);
  }
  auto key = [&](uint32_t k, uint32_t symbol) {
    const uint64_t at = SYMBOLS_AT + (uint64_t)k * p.width;
    if (p.width == 1) out.put<uint8_t>(at, (uint8_t)symbol);
    else if (p.width == 2) out.put<uint16_t>(at, (uint16_t)symbol);
    else out.put<uint32_t>(at, symbol);
  };
  const uint32_t used = s.entry[31] + s.number[31];
  for (uint32_t k = used + tid; k < n; k += BOOK_THREADS) key(k, 0);
  // Ranks among codes of one length: within a warp, before it, and before these 1024 symbols. Warp
  // w adds up length w.
  for (uint32_t at = 0; at < n; at += BOOK_THREADS) {
    const uint32_t symbol = at + tid, l = symbol < n ? b.length[symbol] : 0;
    s.ranks[warp][lane] = 0;
    __syncwarp();
    const uint32_t same = __match_any_sync(ALL, l), before = __popc(same & ((1u << lane) - 1));
    if (before == 0) s.ranks[warp][l] = __popc(same);
    __syncthreads();
    const uint32_t own = s.ranks[lane][warp], upto = warp_sum_to(own), base = s.base[warp];
    __syncwarp();
    s.ranks[lane][warp] = base + upto - own;
    if (lane == 31) s.base[warp] = base + upto;
    __syncthreads();
    if (symbol < n) {
      uint32_t code = NO_CODE, entry = LONG_CODE;
      if (l) {
        const uint32_t rank = s.ranks[warp][l] + before, bits = s.first[l] + rank;
        key(s.entry[l] + rank, symbol);
        code = l << 27 | bits;
        entry = l <= 16 ? bits << (32 - l) | l : symbol << 16 | LONG_CODE | l;
      }
      to.codes[symbol] = code;
      to.table[symbol] = entry;
    } else if (symbol < ((n + 3) & ~3u)) to.table[symbol] = LONG_CODE;  // it is read in pieces of 16 bytes
    __syncthreads();
  }
}
}  // namespace huffman
}  // namespace fz
