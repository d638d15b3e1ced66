// Stage multilevel, encoder: the passes of a level. A warp codes a batch, or a segment of a line.
#include "multilevel/pass_encode.cuh"
#include "multilevel/stencil.cuh"

namespace fz {
namespace multilevel {
// The tag of a launch: level and axis.
template <class T, bool LINES> FZ_DEV void encode_pass(const Args& a, BlockCounts& counts) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const EncoderMemory memory(a, p);
  const MultilevelMetadata& m = *reinterpret_cast<const MultilevelMetadata*>(address(input(a, 1)));
  const Plan& plan = *memory.plan;
  const uint32_t level = a.tag / 4, axis = a.tag % 4;
  if (elements(p) == 0 || m.differences > 0 || level > plan.base_ends) return;
  const Shape& shape = plan.shape;
  const bool has = shape.has_pass(level, axis);
  const Buffers<T> buffers(memory.pool, p);
  if (!LINES && !has && level > 1) {
    copy_known(shape, Known<T>(buffers, shape, level), Known<T>(buffers, shape, level - 1), shape.grid(2, level - 1));
  }
  if (!has) return;
  counts.clear();
  const Section& s = plan.of[plan.number[level][axis]];
  const PassEncoder<T> encoder(a, p, memory, s, m, counts);
  WarpCounts own;
  const uint32_t stencil = stencil_of(memory.sums[level]);
  if constexpr (LINES) {
    if (stencil == 8) encoder.template lines<8>(own);
    else if (stencil == 6) encoder.template lines<6>(own);
    else if (stencil == 4) encoder.template lines<4>(own);
    else encoder.template lines<2>(own);
  } else {
    Known<T> finer = encoder.known;
    if (level > 1) finer = Known<T>(buffers, shape, level - 1);
    else finer.at = nullptr;
    if (stencil == 8) encoder.template rows<8>(own, finer);
    else if (stencil == 6) encoder.template rows<6>(own, finer);
    else if (stencil == 4) encoder.template rows<4>(own, finer);
    else encoder.template rows<2>(own, finer);
  }
  own.finish(counts);
  counts.flush(memory.counts[plan.number[level][axis]]);
}
}  // namespace multilevel
}  // namespace fz

// At least `BLOCKS` on a multiprocessor: warps wait for memory and for their own results.
#define MULTILEVEL_PASS_ENCODE(NAME, VALUE, LINES, BLOCKS)                                                    \
  extern "C" __global__ void __launch_bounds__(256, BLOCKS) multilevel_##NAME(FZ_ARGS) {                      \
    __shared__ fz::multilevel::BlockCounts counts;                                                    \
    if (fz::cancelled(a)) return;                                                                     \
    fz::multilevel::encode_pass<VALUE, LINES>(a, counts);                                             \
  }
MULTILEVEL_PASS_ENCODE(encode_lines_f32, float, true, 4)
MULTILEVEL_PASS_ENCODE(encode_lines_f64, double, true, 2)
MULTILEVEL_PASS_ENCODE(encode_rows_f32, float, false, 4)
MULTILEVEL_PASS_ENCODE(encode_rows_f64, double, false, 2)
