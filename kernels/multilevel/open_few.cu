// Stage multilevel, decoder: opens the sections of an array with few batches. The block of a section then decodes its mask runs and
// finds the starts of its runs. The first block restores the points of the base section.
#include "multilevel/mask_decode.cuh"
#include "multilevel/open.cuh"
#include "multilevel/starts.cuh"

namespace fz {
namespace multilevel {
constexpr uint32_t FEW_WARPS = FEW_THREADS / 32;
// A block first opens a section.
template <class T> union FewRoom {
  OpenMemory open;
  MaskRoom<T, FEW_WARPS> masks;
  uint32_t words[32];
};

// Decodes the masks of a section, and finds the starts of its runs. Returns false in some thread if they are corrupt.
FZ_DEV bool decode_masks_of(const DecoderMemory& memory, const Section& s, const Words& words, RunRing (&rings)[FEW_WARPS], uint32_t* sums) {
  const Coding& c = memory.state->of[blockIdx.x];
  uint8_t* masks = memory.masks + s.first_batch;
  bool good = true;
  for (uint32_t k = threadIdx.x >> 5; k < c.mask_runs; k += FEW_WARPS) {
    const uint32_t number = c.first_mask_run + k;
    good &= decode_mask_run(s, memory.set(blockIdx.x, 1), words.from(memory.places[number], memory.sizes[number]), k, masks, rings[threadIdx.x >> 5]);
  }
  __syncthreads();
  bool bad = false;
  const uint32_t steps = find_starts(s, c, masks, memory.starts + c.first_run, c.runs, sums, bad);
  return good && !bad && steps == c.steps;
}

template <class T> FZ_DEV void open_few(const Args& a, FewRoom<T>& room) {
  Section s;
  Words words;
  if (!open(a, room.open, s, words)) return;
  const MultilevelParams& p = params<MultilevelParams>(a);
  const DecoderMemory memory(a, p);
  __syncthreads();
  bool good = true;
  if (s.kind == BASE) good = decode_base<T>(a, memory, p, room.masks.base, room.masks.ring);
  else if (memory.state->of[blockIdx.x].has_masks) good = decode_masks_of(memory, s, words, room.masks.rings, room.words);
  if (__syncthreads_or(!good) && threadIdx.x == 0) corrupt(a);
}
}  // namespace multilevel
}  // namespace fz

#define MULTILEVEL_OPEN_FEW(NAME, VALUE)                                                                       \
  extern "C" __global__ void __launch_bounds__(fz::multilevel::FEW_THREADS) multilevel_open_few_##NAME(FZ_ARGS) { \
    __shared__ fz::multilevel::FewRoom<VALUE> room;                                                            \
    if (!fz::multilevel::cancelled_late(a)) fz::multilevel::open_few<VALUE>(a, room);                          \
    fz::multilevel::ended_of(a).add_block();                                                                   \
  }
MULTILEVEL_OPEN_FEW(f32, float)
MULTILEVEL_OPEN_FEW(f64, double)
