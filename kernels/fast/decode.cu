// Stage fast, decoders: of large arrays here, of small ones in decode_small.cuh.
//
// A warp restores a chunk. Its words are copied to shared memory, all at once or as many as fit,
// and the codes of the unit before stay in registers.
#include "fast/decode_small.cuh"

namespace fz {
namespace fast {
// Shared memory of a warp. Lines also pass through it on their way to the array.
template <int DIM> struct Room {
  // Padding behind the words for the header of a unit, which is read before its length is checked.
  static constexpr uint32_t WORDS = DIM == 1 ? 1536 : 2560;
  uint4 words[WORDS / 4 + 16], turn[DIM == 1 ? 256 : 1];
};

// Prefetches the words of a chunk AHEAD chunks later to the L2 cache.
constexpr uint32_t AHEAD = 256;
FZ_DEV void prefetch(const Args& a, const Params& p, uint64_t entry) {
  const Operand& in = input(a, 0);
  Words w;
  if ((entry & CONSTANT) || !find(address(in), length(in), p.chunks, entry, 0, w)) return;
  // Whole pieces of 16 bytes, which may start before the words but do not reach beyond the stream.
  const uint32_t phase = (uint32_t)(reinterpret_cast<uintptr_t>(w.from) & 15), bytes = (4 * w.size + phase) & ~15u;
  if (bytes && (threadIdx.x & 31) == 0) fz_prefetch(w.from - phase, bytes);
}

// Restores a chunk; false if no encoder writes such a chunk.
template <class T, int DIM> FZ_DEV bool decode_chunk(const Args& a, const Params& p, uint32_t number, uint64_t entry, uint64_t later, Room<DIM>& room, T step) {
  constexpr uint32_t ROOM = Room<DIM>::WORDS;
  constexpr uint32_t EACH = sizeof(T) / 4;
  const uint32_t lane = threadIdx.x & 31;
  const Chunk chunk = chunk_at<DIM>(p, number);
  T* dst = reinterpret_cast<T*>(address(output(a, 0)));
  const bool pieces = in_pieces<T, DIM>(p, dst);
  const Box box = box_of<DIM>(p, chunk);
  if (entry & CONSTANT) {
    if (entry & RAW) return false;  // seed: fast-both-marks
    for (uint32_t k = 0; k < box.units; k++) put_constant<T, DIM>(p, chunk, k, dst, pieces, constant_of(entry, step));
    return true;
  }
  Words in;
  if (!find(address(input(a, 0)), length(input(a, 0)), p.chunks, entry, 2 * CHUNK * EACH, in)) return false;
  prefetch(a, p, later);
  if (entry & RAW) {
    if (in.size != box.values * EACH || (entry & HAS_REFERENCE)) return false;
    put_raw<T, DIM>(p, chunk, box, dst, in.from, 0, 1);
    return true;
  }
  const uint32_t reference_words = entry & HAS_REFERENCE ? 2 : 0, header = reference_words + (box.units + 1) / 2;
  if ((reference_words && EACH == 1) || header > in.size) return false;
  in.shared = reinterpret_cast<uint32_t*>(room.words);
  const uint32_t* front = in.template need<ROOM>(0, header);
  const Back<T> back(step, reference_words ? (int64_t)((uint64_t)front[1] << 32 | front[0]) : 0);
  const uint32_t descriptors = lane < header - reference_words ? front[reference_words + lane] : 0;
  const bool whole = pieces && box.values == CHUNK;
  T* to = dst + Unit<DIM>(p, chunk, 0).first;
  const uint32_t units = box.units;
  uint32_t at = header, q[32];
#pragma unroll
  for (int e = 0; e < 32; e++) q[e] = 0;
#pragma unroll 1
  for (uint32_t k = 0; k < units; k++) {
    UnitHeader<T> f;
    if (!read_header<T, DIM, ROOM>(in, descriptor_of(descriptors, k), k, at, f)) return false;
    add_unit<T, DIM>(f, q);
    put_values<T, DIM>(p, dst, to, number, k, whole, q, back, room.turn, f, in.from);
    to += DIM == 1 ? UNIT : DIM == 2 ? 32ull * p.x() : (uint64_t)p.x() * p.y();
  }
  return at == in.size;
}

template <class T, int DIM> FZ_DEV void decode(const Args& a, Room<DIM>* rooms) {
  if (warp_cancelled(a)) return;
  const Params& p = params<Params>(a);
  const uint32_t warp = warp_of(), number = ((a.tag ? a.tag - 1 : 0) + blockIdx.x) * (blockDim.x / 32) + warp;
  const Operand& in = input(a, 0);
  const uint64_t bytes = length(in), values = p.dims[0] * p.dims[1] * p.dims[2] * sizeof(T), all = length(output(a, 0));
  clear_behind(output(a, 0), values, all);
  if (number >= p.chunks) return;
  bool good = bytes >= 8ull * p.chunks && bytes % 4 == 0 && values <= all;
  if (good) {
    const uint8_t* table = address(in);
    const uint64_t later = p.chunks - number > AHEAD ? load<uint64_t>(table + 8ull * (number + AHEAD)) : CONSTANT;
    const uint64_t entry = __shfl_sync(ALL, load<uint64_t>(table + 8ull * number), 0);
    good = decode_chunk<T, DIM>(a, p, number, entry, later, rooms[warp], step_back<T>(quantizer::load_metadata(input(a, 1))));
  }
  if (!good && (threadIdx.x & 31) == 0) fail(a, CORRUPT);
}
}  // namespace fast
}  // namespace fz

#define FZ_FAST(NAME, T, DIM)                                                                    \
  extern "C" __global__ void __launch_bounds__(64, 8) fast_decode_##NAME(FZ_ARGS) {              \
    __shared__ fz::fast::Room<DIM> rooms[2];                                                     \
    fz::fast::decode<T, DIM>(a, rooms);                                                          \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(256, 2) fast_decode_small_##NAME(FZ_ARGS) {       \
    __shared__ fz::fast::Shares shares;                                                          \
    fz::fast::decode_small<T, DIM>(a, shares);                                                   \
  }

FZ_FAST(f32_1d, float, 1)
FZ_FAST(f32_2d, float, 2)
FZ_FAST(f32_3d, float, 3)
FZ_FAST(f64_1d, double, 1)
FZ_FAST(f64_2d, double, 2)
FZ_FAST(f64_3d, double, 3)
