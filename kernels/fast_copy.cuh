// Stage Fast: chunks from their slots to their place in the stream, and which block does what.
#pragma once
#include "fast_encode.cuh"

namespace fz {
namespace fast {
// Words to any address, by a warp.
// So many loads of a lane are under way.
constexpr int MANY = 16;
FZ_DEV void copy_words(uint8_t* to, const uint32_t* from, uint32_t n) {
  const uint32_t lane = threadIdx.x & 31;
  if (aligned(to, 4)) {
    uint32_t* o = reinterpret_cast<uint32_t*>(to);
    for (uint32_t i = lane; i < n; i += 32 * MANY) {
      uint32_t r[MANY];
#pragma unroll
      for (int j = 0; j < MANY; j++) if (i + 32 * j < n) r[j] = __ldcg(from + i + 32 * j);
#pragma unroll
      for (int j = 0; j < MANY; j++) if (i + 32 * j < n) __stcs(o + i + 32 * j, r[j]);
    }
    return;
  }
  for (uint32_t i = lane; i < n; i += 32) store<uint32_t>(to + 4ull * i, __ldcg(from + i));
}

template <class T, int DIM> FZ_DEV void copy_chunk(const Args& a, const Board& board, uint32_t number, uint32_t state, uint64_t first) {
  const Params& p = params<Params>(a);
  const uint32_t lane = threadIdx.x & 31, words = state & WORDS;
  const uint64_t table = 8ull * p.chunks;
  const Operand& out = output(a, 0);
  if (!(state & IS_CONSTANT) && table + 4 * (first + words) <= out.max) {
    uint8_t* stream = address(out);
    uint8_t* to = stream + table + 4 * first;
    const uint64_t entry = first | (uint64_t)words << SIZE_AT;
    if (lane == 0) store<uint64_t>(stream + 8ull * number, entry | (state & IS_RAW ? RAW : state & ANCHORED ? ANCHOR : 0));
    if (!(state & IS_RAW)) {
      copy_words(to, reinterpret_cast<const uint32_t*>(a.scratch) + (uint64_t)(number % RING) * (CHUNK * (sizeof(T) / 4)), words);
    } else {
      const Chunk chunk = chunk_at<DIM>(p, number);
      const Box b = box_of<DIM>(p, chunk);
      const T* src = reinterpret_cast<const T*>(address(input(a, 0)));
      for (uint32_t r = 0; r < b.y * b.z; r++) {
        const T* row = src + box_row<DIM>(p, chunk, b, r);
        for (uint32_t i = lane; i < b.x; i += 32) store<T>(to + sizeof(T) * (r * b.x + i), load<T>(row + i));
      }
    }
  }
  __syncwarp();
  if (lane == 0 && (uint64_t)number + RING < p.chunks) {
    __threadfence();
    atomicOr(board.chunks + number, (uint32_t)COPIED);
  }
}

// A group of 8 or 32 chunks: each warp finds where they go, and copies some of them.
template <class T, int DIM> FZ_DEV void copy_group(const Args& a, uint32_t group, uint32_t size) {
  const Params& p = params<Params>(a);
  const uint32_t lane = threadIdx.x & 31, begin = group * size, own = begin + lane;
  const bool mine = lane < size && own < p.chunks;
  const Board board(a, p);
  uint32_t state = READY;
  do if (mine) state = board.state(own); while (!__all_sync(ALL, state & READY));
  const uint64_t base = board.before(begin);
  __threadfence();
  const uint32_t to = warp_sum_to(state & WORDS);
  const uint64_t first = base + to - (state & WORDS);
  if (own == p.chunks - 1 && mine && threadIdx.x < 32) publish(output(a, 0), 8ull * p.chunks + 4 * (base + to));
  for (uint32_t i = warp_of(); i < size && begin + i < p.chunks; i += 8)
    copy_chunk<T, DIM>(a, board, begin + i, __shfl_sync(ALL, state, i), __shfl_sync(ALL, first, i));
}

// Behind the blocks of a group, which make a chunk each, stands one that copies a group before them.
template <class T, int DIM> FZ_DEV void encode(const Args& a, Shared& s) {
  const Params& p = params<Params>(a);
  if (p.chunks == 0) {
    if (!dead(a) && blockIdx.x == 0 && threadIdx.x == 0) publish(output(a, 0), 0);
    return;
  }
  // As in src/stages/fast/device.rs.
  const uint32_t size = p.chunks <= FEW ? 8 : 32, groups = (p.chunks + size - 1) / size, lag = min(groups, LAG / size);
  uint32_t group = size == 8 ? blockIdx.x / 9 : blockIdx.x / 33, part = blockIdx.x - group * (size + 1);
  if (blockIdx.x >= groups * (size + 1)) {
    group = groups + (blockIdx.x - groups * (size + 1));
    part = size;
  }
  if (part == size) {
    if (!warp_dead(a) && group >= lag) copy_group<T, DIM>(a, group - lag, size);
  } else if (group * size + part < p.chunks) encode_chunk<T, DIM>(a, group * size + part, s);
  else await_former();
}
}  // namespace fast
}  // namespace fz
