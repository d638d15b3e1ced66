// Stage Fast, many chunks. A block leaves the words of a chunk in a slot of a ring. Some groups of chunks later another block, in
// which each warp copies some chunks, brings them to their place: by then the sizes of all chunks before are known, and the
// words are still in the cache.
#pragma once
#include "fast_narrow.cuh"
#include "fast_wide.cuh"

namespace fz {
namespace fast {
template <class T> FZ_DEV uint8_t* slot(const Args& a, uint32_t number) {
  return reinterpret_cast<uint8_t*>(a.scratch) + (uint64_t)(number % RING) * (CHUNK * sizeof(T));
}

// By one thread. It takes no slot, and does not wait for one.
FZ_DEV void end_constant(const Args& a, const Board& board, uint32_t number, const Shared& s, uint64_t anchor) {
  board.count(number, IS_CONSTANT);
  put_constant(a, number, s, anchor);
  board.say_alone(number, IS_CONSTANT);
}

// A chunk by a block, a unit by a warp: its words go to a slot.
template <class T, int DIM, class U> FZ_DEV Found encode_as(const Args& a, uint32_t number, Shared& s) {
  const Params& p = params<Params>(a);
  const Board board(a, p);
  U c;
  Planes b;
  const Found found = c.count(a, number, s);
  if (found == ONE_CODE && threadIdx.x == 0) end_constant(a, board, number, s, 0);
  if (found != COUNTED_WORDS) return found;
  // The slot was another chunk's.
  uint32_t former = threadIdx.x == 0 && number >= RING ? board.state(number - RING) : (uint32_t)COPIED;
  make_heads(s, c);
  c.planes(s, b);
  if (threadIdx.x == 0) {
    while (!(former & COPIED)) former = board.state(number - RING);
  }
  __syncthreads();
  const Total t = total<T, DIM>(p, number, s, c.k, c.anchor);
  if (t.state & IS_CONSTANT) {
    if (threadIdx.x == 0) end_constant(a, board, number, s, c.anchor);
    return found;
  }
  if (threadIdx.x == 0) board.count(number, t.state);
  if (t.state & IS_RAW) {
    if (threadIdx.x == 0) board.say_alone(number, t.state);
    return found;
  }
  put_words<T, DIM, false>(a, number, s, c, b, t, slot<T>(a, number));
  __syncthreads();
  if (threadIdx.x == 0) board.say(number, t.state);
  return found;
}
// What of an array is known before the call.
enum How { ANY, NEAR_CODES, FILLS };
// Of a chunk that turned out not to be near, all of it again.
template <class T, int DIM> FZ_RARE void encode_again(const Args& a, uint32_t number, Shared& s) { encode_as<T, DIM, Wide<T, DIM, false, false>>(a, number, s); }
template <class T, int DIM, How HOW> FZ_DEV void encode_chunk(const Args& a, uint32_t number, Shared& s) {
  if constexpr (HOW == NEAR_CODES) {
    static_assert(DIM == 3 && sizeof(T) == 4, "as fast_narrow.cuh has them");
    if (encode_as<T, DIM, Narrow>(a, number, s) == FAR_APART) encode_again<T, DIM>(a, number, s);
  } else {
    encode_as<T, DIM, Wide<T, DIM, false, HOW == FILLS>>(a, number, s);
  }
}

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

template <class T, int DIM> FZ_DEV void copy_chunk(const Args& a, uint32_t number, uint32_t state, uint64_t first) {
  const Params& p = params<Params>(a);
  const uint32_t lane = threadIdx.x & 31, words = state & WORDS;
  const uint64_t table = 8ull * p.chunks;
  const Operand& out = output(a, 0);
  if (!(state & IS_CONSTANT) && table + 4 * (first + words) <= out.max) {
    uint8_t* stream = address(out);
    uint8_t* to = stream + table + 4 * first;
    if (lane == 0) put_entry(stream, number, first, state);
    if (state & IS_RAW) put_values<T, DIM>(a, number, 0, 1, to);
    else copy_words(to, reinterpret_cast<const uint32_t*>(slot<T>(a, number)), words);
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
    copy_chunk<T, DIM>(a, begin + i, __shfl_sync(ALL, state, i), __shfl_sync(ALL, first, i));
  // Slots are free again, which is said of all at once: a fence takes as long as a copy.
  __threadfence();
  __syncwarp();
  const uint32_t i = warp_of() + 8 * lane, copied = begin + i;
  state = __shfl_sync(ALL, state, i & 31);
  if (i < size && (uint64_t)copied + RING < p.chunks) {
    // One that has taken no slot did not wait until it was free; the next one to take it waits for both.
    if ((state & IS_CONSTANT) && copied >= RING) while (!(board.state(copied - RING) & COPIED)) {}
    atomicOr(board.chunks + copied, (uint32_t)COPIED);
  }
}

// Behind the blocks of a group, which make a chunk each, stands one that copies a group before them. NEAR_CODES: codes are expected to be
// near each other; FILLS: values that no code stands for are.
template <class T, int DIM, How HOW> FZ_DEV void encode(const Args& a, Shared& s) {
  const Params& p = params<Params>(a);
  if (p.chunks == 0) {
    if (!dead(a) && blockIdx.x == 0 && threadIdx.x == 0) publish(output(a, 0), 0);
    return;
  }
  // As in src/stages/fast/device.rs. Of the blocks before one that makes a chunk, one in each group makes none; behind the last group are
  // those that copy what is left.
  const bool small = p.chunks <= SMALL_GROUPS;
  const uint32_t size = small ? 8 : 32, groups = (p.chunks + size - 1) / size, group = small ? blockIdx.x / 9 : blockIdx.x / 33, number = blockIdx.x - group;
  const uint32_t lag = min(groups, LAG / size), at = group < groups ? group : blockIdx.x - groups * size;
  if (group >= groups || number - group * size == size) {
    if (!warp_dead(a) && at >= lag) copy_group<T, DIM>(a, at - lag, size);
  } else if (number < p.chunks) encode_chunk<T, DIM, HOW>(a, number, s);
  else await_former();
}
}  // namespace fast
}  // namespace fz
