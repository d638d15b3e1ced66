// Stage fast, encoders: of large arrays here, of small ones in encode_small.cuh.
//
// A block writes the words of a chunk to a slot of a ring. LAG chunks later another block, whose
// warps copy some chunks each, copies them to their place: by then the sizes of all chunks before
// are known, and the words are still in the L2 cache.
#include "fast/encode_half2.cuh"
#include "fast/encode_small.cuh"
#include "fast/encode_unit.cuh"

namespace fz {
namespace fast {
template <class T> FZ_DEV uint8_t* slot(const Args& a, uint32_t number) {
  return reinterpret_cast<uint8_t*>(a.scratch) + (uint64_t)(number % RING) * (CHUNK * sizeof(T));
}

// Ends a constant chunk, by one thread. It takes no slot and does not wait for one.
FZ_DEV void end_constant(const Args& a, const LookbackState& lookback, uint32_t number, const Shared& s, uint64_t reference) {
  lookback.count(number, IS_CONSTANT);
  put_constant(a, number, s, reference);
  lookback.publish_inline(number, IS_CONSTANT);
}

// Encodes a chunk by a block, a unit by a warp, and writes its words to a slot.
template <class T, int DIM, class U> FZ_DEV Outcome encode_as(const Args& a, uint32_t number, Shared& s) {
  const Params& p = params<Params>(a);
  const LookbackState lookback(a, p);
  U c;
  Planes b;
  const Outcome outcome = c.count(a, number, s);
  if (outcome == ONE_CODE && threadIdx.x == 0) end_constant(a, lookback, number, s, 0);
  if (outcome != COUNTED_WORDS) return outcome;
  // The slot may still hold the words of another chunk.
  uint32_t former = threadIdx.x == 0 && number >= RING ? lookback.state(number - RING) : (uint32_t)COPIED;
  make_header(s, c);
  c.planes(s, b);
  if (threadIdx.x == 0) {
    while (!(former & COPIED)) former = lookback.state(number - RING);
  }
  __syncthreads();
  const Total t = total<T, DIM>(p, number, s, c.k, c.reference);
  if (t.state & IS_CONSTANT) {
    if (threadIdx.x == 0) end_constant(a, lookback, number, s, c.reference);
    return outcome;
  }
  if (threadIdx.x == 0) lookback.count(number, t.state);
  if (t.state & IS_RAW) {
    if (threadIdx.x == 0) lookback.publish_inline(number, t.state);
    return outcome;
  }
  put_words<T, DIM, false>(a, number, s, c, b, t, slot<T>(a, number));
  __syncthreads();
  if (threadIdx.x == 0) lookback.publish(number, t.state);
  return outcome;
}
// Encoders for properties that are known before the call: HALF2, codes within HALF2_REACH; MASKED,
// fill values.
enum Path { GENERAL, HALF2, MASKED };
// Encodes a chunk once more whose codes were beyond HALF2_REACH.
template <class T, int DIM> FZ_RARE void encode_again(const Args& a, uint32_t number, Shared& s) { encode_as<T, DIM, UnitEncoder<T, DIM, false, false>>(a, number, s); }
template <class T, int DIM, Path PATH, bool MEASURES> FZ_DEV void encode_chunk(const Args& a, uint32_t number, Shared& s) {
  if constexpr (PATH == HALF2) {
    static_assert(DIM == 3 && sizeof(T) == 4, "encode_half2.cuh has no others");
    if (encode_as<T, DIM, Half2Encoder<false, MEASURES>>(a, number, s) == OUT_OF_REACH) encode_again<T, DIM>(a, number, s);  // seed: near-again
  } else {
    encode_as<T, DIM, UnitEncoder<T, DIM, false, PATH == MASKED, false, MEASURES>>(a, number, s);
  }
}

// Loads of a lane that are under way at a time.
constexpr int MANY = 16;
// Copies words to any address, by a warp.
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

// Copies a group of chunks: each warp computes their positions and copies some of them.
template <class T, int DIM> FZ_DEV void copy_group(const Args& a, uint32_t group, uint32_t size) {
  const Params& p = params<Params>(a);
  const uint32_t lane = threadIdx.x & 31, begin = group * size, own = begin + lane;
  const bool mine = lane < size && own < p.chunks;
  const LookbackState lookback(a, p);
  uint32_t state = READY;
  do if (mine) state = lookback.state(own); while (!__all_sync(ALL, state & READY));
  const uint64_t base = lookback.exclusive_prefix(begin);
  __threadfence();
  const uint32_t to = warp_sum_to(state & WORDS);
  const uint64_t first = base + to - (state & WORDS);  // seed: fast-place
  const bool last = own == p.chunks - 1 || (blockIdx.x == gridDim.x - 1 && lane == size - 1);
  if (last && mine && threadIdx.x < 32) publish(output(a, 0), 8ull * p.chunks + 4 * (base + to));
  for (uint32_t i = warp_of(); i < size && begin + i < p.chunks; i += 8)
    copy_chunk<T, DIM>(a, begin + i, __shfl_sync(ALL, state, i), __shfl_sync(ALL, first, i));
  // Frees all slots at once: a fence takes as long as a copy.
  __threadfence();
  __syncwarp();
  const uint32_t i = warp_of() + 8 * lane, copied = begin + i;
  state = __shfl_sync(ALL, state, i & 31);
  if (i < size && (uint64_t)copied + RING < p.chunks) {
    // A chunk without a slot has not waited for it to be free, so that its flag has to wait for the
    // chunk before in this slot.
    if ((state & IS_CONSTANT) && copied >= RING) while (!(lookback.state(copied - RING) & COPIED)) {}
    atomicOr(lookback.states + copied, (uint32_t)COPIED);
  }
}

// The grid: for each group of chunks a block per chunk, which encodes it, and a block that copies
// an earlier group; then blocks that copy the last groups. src/stages/fast/device.rs computes its
// size, and src/stages/fast/division.rs divides it: the tag is the number of the first block of a part, counted
// from 1. In a part, a block copies the group before it, so that the words of a part are complete when it ends.
// MEASURES: for two tries, of which the first one records the extremes of the array.
template <class T, int DIM, Path PATH, bool MEASURES> FZ_DEV void encode(const Args& a, Shared& s) {
  if constexpr (MEASURES) {
    if (!quantizer::begin_try(a)) return;
  }
  const Params& p = params<Params>(a);
  if (p.chunks == 0) {
    if (!cancelled(a) && blockIdx.x == 0 && threadIdx.x == 0) publish(output(a, 0), 0);
    return;
  }
  const bool small = p.chunks <= SMALL_GROUPS;
  const uint32_t size = small ? SMALL_GROUP : LARGE_GROUP, groups = (p.chunks + size - 1) / size, part = MEASURES ? 0 : a.tag, block = (part ? part - 1 : 0) + blockIdx.x, group = small ? block / (SMALL_GROUP + 1) : block / (LARGE_GROUP + 1), number = block - group;
  const uint32_t lag = part ? 0 : min(groups, LAG / size), at = group < groups ? group : block - groups * size;
  if (group >= groups || number - group * size == size) {
    if (!warp_cancelled(a) && at >= lag) copy_group<T, DIM>(a, at - lag, size);
  } else if (number < p.chunks) encode_chunk<T, DIM, PATH, MEASURES>(a, number, s);
  else wait_prerequisites();
}
}  // namespace fast
}  // namespace fz

#define FZ_FAST_LARGE(NAME, T, DIM, BLOCKS, PATH)                                                \
  extern "C" __global__ void __launch_bounds__(256, BLOCKS) fast_encode_##NAME(FZ_ARGS) {        \
    __shared__ fz::fast::Shared shared;                                                          \
    fz::fast::encode<T, DIM, fz::fast::PATH, false>(a, shared);                                  \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(256, BLOCKS) fast_encode_measuring_##NAME(FZ_ARGS) { \
    __shared__ fz::fast::Shared shared;                                                          \
    fz::fast::encode<T, DIM, fz::fast::PATH, true>(a, shared);                                   \
  }
#define FZ_FAST(NAME, T, DIM, BLOCKS)                                                            \
  FZ_FAST_LARGE(NAME, T, DIM, BLOCKS, GENERAL)                                                   \
  extern "C" __global__ void __launch_bounds__(256, 2) fast_encode_small_##NAME(FZ_ARGS) {       \
    __shared__ fz::fast::Shared shared;                                                          \
    fz::fast::encode_small<T, DIM, fz::fast::UnitEncoder<T, DIM, true, false>>(a, shared);                                                   \
  }

FZ_FAST(f32_1d, float, 1, 4)
FZ_FAST(f32_2d, float, 2, 4)
FZ_FAST(f32_3d, float, 3, 4)
FZ_FAST(f64_1d, double, 1, 3)
FZ_FAST(f64_2d, double, 2, 3)
FZ_FAST(f64_3d, double, 3, 3)
// One and two dimensions gain nothing from HALF2.
FZ_FAST_LARGE(half2_f32_3d, float, 3, 4, HALF2)
FZ_FAST_LARGE(masked_f32_2d, float, 2, 4, MASKED)
FZ_FAST_LARGE(masked_f32_3d, float, 3, 4, MASKED)
