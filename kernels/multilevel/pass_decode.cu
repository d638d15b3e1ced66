// Stage multilevel, decoder: the passes of a level. A warp restores a run, then quiet steps.
#include "multilevel/pass_decode.cuh"

namespace fz {
namespace multilevel {
// Shared memory of a block, which has fewer warps for wide values.
template <class T> struct PassRoom {
  static constexpr uint32_t WARPS = PASS_BYTES / 32 / sizeof(T);
  RunRing rings[WARPS];
  DecoderSet set;
  Values<T> values;
  // For each context the number of its table; from bit 3 on 1 if it is FILL2.
  uint8_t codes[CONTEXTS];
  StagedTaps<T> taps[WARPS][2];
};

// Until it copies taps, the grid reads no results of the grid before it: both call `cancelled_late`.
template <class T, bool LINES> FZ_DEV void decode_pass(const Args& a, PassRoom<T>& of_block) {
  const Shared<PassRoom<T>> shared(of_block);
  PassRoom<T>& room = *shared;
  const MultilevelParams& p = params<MultilevelParams>(a);
  const DecoderMemory memory(a, p);
  // The grid before this one may fail meanwhile, so the threads of a block agree.
  const bool is_early = __syncthreads_and(!cancelled_early(a) && is_open(a, memory, p));
  const MultilevelMetadata& m = metadata_of(a);
  const Plan& plan = *memory.plan;
  const Shape& shape = plan.shape;
  const uint32_t level = (a.tag & 255) / 4, axis = a.tag % 4;
  const bool known = is_early && uniform(m.differences == 0 && level <= plan.base_ends), has = known && uniform(shape.has_pass(level, axis));
  const uint32_t number = has ? plan.number[level][axis] : 0;
  const Coding& c = memory.state->of[number];
  // Runs are distributed over the blocks.
  const bool works = has && (uniform(c.has_masks) || blockIdx.x < uniform(c.runs));
  if (!works) {
    if (uniform(cancelled_late(a)) || !known || has || LINES || level == 1) return;
    const Buffers<T> buffers(memory.values, p);
    copy_known(shape, Known<T>(buffers, shape, level), Known<T>(buffers, shape, level - 1), shape.grid(2, level - 1));
    return;
  }
  copy_set(room.set, memory.set(number, 0));
  if (threadIdx.x < CONTEXTS) room.codes[threadIdx.x] = (uint8_t)(memory.set(number, 0).place[threadIdx.x] / sizeof(DecoderTable) | (threadIdx.x == FILL2 ? FILL_CODE : 0));
  room.values.fill();
  __syncthreads();
  const Buffers<T> buffers(memory.values, p);
  const PassDecoder<T> decoder(a, p, memory, number, room.set, room.values, room.codes);
  RunRing& ring = room.rings[threadIdx.x >> 5];
  StagedTaps<T>* taps = room.taps[threadIdx.x >> 5];
  const Target<T> array(output(a, 0), elements(p));
  const Known<T> finer(buffers, shape, level > 1 ? level - 1 : 1);
  const RowTarget<T> target(shape, level > 1 ? &finer : nullptr, array);
  const uint32_t stencil = uniform(stencil_at(m, level));
  const bool good = stencil == 8   ? decoder.template all<8, LINES>(&target, ring, taps)
                    : stencil == 6 ? decoder.template all<6, LINES>(&target, ring, taps)
                    : stencil == 4 ? decoder.template all<4, LINES>(&target, ring, taps)
                                   : decoder.template all<2, LINES>(&target, ring, taps);
  if (!good && (threadIdx.x & 31) == 0) corrupt(a);
}
}  // namespace multilevel
}  // namespace fz

// At least `BLOCKS` on a multiprocessor: warps wait for memory and for their own results.
#define MULTILEVEL_PASS_DECODE(NAME, VALUE, LINES, BLOCKS) \
  extern "C" __global__ void __launch_bounds__(fz::multilevel::PassRoom<VALUE>::WARPS * 32, BLOCKS) multilevel_##NAME(FZ_ARGS) { \
    __shared__ fz::multilevel::PassRoom<VALUE> room; \
    fz::multilevel::decode_pass<VALUE, LINES>(a, room); \
  }
MULTILEVEL_PASS_DECODE(decode_lines_f32, float, true, 4)
MULTILEVEL_PASS_DECODE(decode_lines_f64, double, true, 2)
MULTILEVEL_PASS_DECODE(decode_rows_f32, float, false, 4)
MULTILEVEL_PASS_DECODE(decode_rows_f64, double, false, 2)
