// Stage multilevel, decoder: the passes of a level. A warp restores a run, then quiet steps.
#include "multilevel/pass_decode.cuh"

namespace fz {
namespace multilevel {
// Shared memory of a block, which has fewer warps for wide values.
template <class T> struct __align__(16) PassRoom {
  static constexpr uint32_t WARPS = PASS_BYTES / 32 / sizeof(T);
  DecoderSet set;
  T quotients[SYMBOLS];
  RunRing rings[WARPS];
  StagedTaps<T> taps[WARPS][2];
};

template <class T, bool LINES> FZ_DEV void decode_pass(const Args& a, PassRoom<T>& of_block) {
  const Shared<PassRoom<T>> shared(of_block);
  PassRoom<T>& room = *shared;
  const MultilevelParams& p = params<MultilevelParams>(a);
  const DecoderMemory memory(a, p);
  if (!uniform(is_open(a, memory, p))) return;
  const MultilevelMetadata& m = metadata_of(a);
  const Plan& plan = *memory.plan;
  const uint32_t level = (a.tag & 255) / 4, axis = a.tag % 4;
  if (uniform(m.differences > 0 || level > plan.base_ends)) return;
  const Shape& shape = plan.shape;
  const bool has = uniform(shape.has_pass(level, axis));
  const Buffers<T> buffers(memory.values, p);
  if (!has) {
    if (!LINES && level > 1) copy_known(shape, Known<T>(buffers, shape, level), Known<T>(buffers, shape, level - 1), shape.grid(2, level - 1));
    return;
  }
  const uint32_t number = plan.number[level][axis];
  copy_set(room.set, memory.set(number, 0));
  fill_quotients(room.quotients);
  __syncthreads();
  const PassDecoder<T> decoder(a, p, memory, number, room.set, room.quotients);
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
    if (fz::multilevel::uniform(fz::cancelled(a))) return; \
    fz::multilevel::decode_pass<VALUE, LINES>(a, room); \
  }
MULTILEVEL_PASS_DECODE(decode_lines_f32, float, true, 4)
MULTILEVEL_PASS_DECODE(decode_lines_f64, double, true, 2)
MULTILEVEL_PASS_DECODE(decode_rows_f32, float, false, 4)
MULTILEVEL_PASS_DECODE(decode_rows_f64, double, false, 2)
