// Stage multilevel, encoder: the passes of a level. A warp codes a batch, or a segment of a line.
#include "multilevel/pass_encode.cuh"
#include "multilevel/pass_pair.cuh"
#include "multilevel/pass_small.cuh"
#include "multilevel/pass_wide.cuh"
#include "multilevel/stencil.cuh"

namespace fz {
namespace multilevel {
struct NoRoom {};
template <class T, bool LINES> struct PairRoomOf {
  typedef NoRoom Of;
};
template <> struct PairRoomOf<float, false> {
  typedef PairRoom<float> Of;
};
// Shared memory of a block, which has fewer warps for wide values.
template <class T, bool LINES> struct EncoderRoom {
  static constexpr uint32_t WARPS = ENCODER_PASS_BYTES / 32 / sizeof(T);
  union {
    typename PairRoomOf<T, LINES>::Of pair;
    EncoderRoomOfWarp<T> warps[WARPS];
    Columns<T> columns;
  };
  BlockCounts counts;
  Coder<T> coder;
  // The mask of the batch of this block, in a pass of few batches.
  uint32_t mask;
};

template <int STENCIL, bool PLAIN, bool LINES, class T> FZ_DEV void encode_stencil(const WideEncoder<T>& wide, WideCounts& own, const Known<T>& finer) {
  if constexpr (LINES) wide.template lines<STENCIL, PLAIN>(own);
  else wide.template rows<STENCIL, PLAIN>(own, finer);
}
template <bool PLAIN, bool LINES, class T> FZ_DEV void encode_wide(const WideEncoder<T>& wide, uint32_t stencil, WideCounts& own, const Known<T>& finer) {
  if (stencil == 8) encode_stencil<8, PLAIN, LINES>(wide, own, finer);
  else if (stencil == 6) encode_stencil<6, PLAIN, LINES>(wide, own, finer);
  else if (stencil == 4) encode_stencil<4, PLAIN, LINES>(wide, own, finer);
  else encode_stencil<2, PLAIN, LINES>(wide, own, finer);
}

template <bool PLAIN, class T> FZ_DEV void encode_pairs_with(const PairEncoder<T>& pairs, uint32_t stencil, WideCounts& y, WideCounts& x) {
  if (stencil == 8) pairs.template encode<8, PLAIN>(y, x);
  else if (stencil == 6) pairs.template encode<6, PLAIN>(y, x);
  else if (stencil == 4) pairs.template encode<4, PLAIN>(y, x);
  else pairs.template encode<2, PLAIN>(y, x);
}
template <class T> FZ_DEV void encode_pairs(const PairEncoder<T>& pairs, uint32_t stencil, bool plain, WideCounts& y, WideCounts& x) {
  if (plain) encode_pairs_with<true>(pairs, stencil, y, x);
  else encode_pairs_with<false>(pairs, stencil, y, x);
}

// The tag of a launch: level and axis.
template <class T, bool LINES> FZ_DEV void encode_pass(const Args& a, EncoderRoom<T, LINES>& of_block) {
  const Shared<EncoderRoom<T, LINES>> shared(of_block);
  EncoderRoom<T, LINES>& room = *shared;
  BlockCounts& counts = room.counts;
  const MultilevelParams& p = params<MultilevelParams>(a);
  const EncoderMemory memory(a, p);
  const Plan& plan = *memory.plan;
  const uint32_t level = a.tag / 4, axis = a.tag % 4;
  if (!is_level(a, p, memory, level, false)) return;
  const MultilevelMetadata& m = *reinterpret_cast<const MultilevelMetadata*>(address(input(a, 1)));
  const Shape& shape = plan.shape;
  const bool has = shape.has_pass(level, axis);
  const Buffers<T> buffers(memory.pool, p);
  if (!LINES && !has && level > 1) {
    copy_known(shape, Known<T>(buffers, shape, level), Known<T>(buffers, shape, level - 1), shape.grid(2, level - 1));
  }
  if (!has) return;
  const Section& s = plan.of[plan.number[level][axis]];
  if constexpr (sizeof(T) == sizeof(float)) {
    const uint8_t* source = address(input(a, 0));
    if (level == 1 && axis < 2 && shape.has_pass(1, 1)) {
      const Section &of_y = plan.of[plan.number[1][1]], &of_x = plan.of[plan.number[1][0]];
      if (PairEncoder<T>::fits(shape, of_y, of_x, source)) {
        if constexpr (!LINES) {
          if (threadIdx.x == 0) room.coder = Coder<T>(p.threshold, m);
          counts.clear();
          room.pair.counts.clear();
          const Known<T> known(buffers, shape, level);
          const T* values = reinterpret_cast<const T*>(source);
          const WideEncoder<T> y = {shape, of_y, known, values, room.coder, Keeper(memory, of_y.first_point), memory.masks + of_y.first_batch};
          const WideEncoder<T> x = {shape, of_x, known, values, room.coder, Keeper(memory, of_x.first_point), memory.masks + of_x.first_batch};
          WideCounts y_counts(room.pair.counts, room.pair.y), x_counts(counts, room.pair.x);
          const PairEncoder<T> pairs = {y, x, room.pair};
          const bool plain = is_plain(room.coder.of);
          encode_pairs(pairs, stencil_of(memory.sums[level]), plain, y_counts, x_counts);
          y_counts.finish();
          x_counts.finish();
          room.pair.counts.flush(memory.counts[plan.number[1][1]]);
          counts.flush(memory.counts[plan.number[1][0]]);
        }
        return;
      }
    }
  }
  const bool is_small = SmallEncoder<T>::fits(s);
  if (is_small && blockIdx.x >= s.batches) return;
  if (threadIdx.x == 0) {
    room.coder = Coder<T>(p.threshold, m);
    room.mask = 0;
  }
  counts.clear();
  const uint32_t stencil = stencil_of(memory.sums[level]);
  Known<T> finer(buffers, shape, max(level, 2u) - 1);
  if (level == 1) finer.at = nullptr;
  if (is_small) {
    const SmallEncoder<T> small = {shape, s, Known<T>(buffers, shape, level), Source<T>(address(input(a, 0))), room.coder, Keeper(memory, s.first_point), counts};
    small.template batches<LINES>(stencil, finer, memory.masks + s.first_batch, room.mask);
    counts.flush(memory.counts[plan.number[level][axis]]);
    return;
  }
  if constexpr (sizeof(T) == sizeof(float)) {
    const uint8_t* source = address(input(a, 0));
    if (WideEncoder<T>::fits(shape, s, source)) {
      const WideEncoder<T> wide = {shape, s, Known<T>(buffers, shape, level), reinterpret_cast<const T*>(source), room.coder, Keeper(memory, s.first_point), memory.masks + s.first_batch};
      WideCounts own(counts, room.columns);
      const bool plain = is_plain(room.coder.of);
      if (plain) encode_wide<true, LINES>(wide, stencil, own, finer);
      else encode_wide<false, LINES>(wide, stencil, own, finer);
      own.finish();
      counts.flush(memory.counts[plan.number[level][axis]]);
      return;
    }
  }
  const PassEncoder<T> encoder(a, p, memory, s, room.coder);
  EncoderRoomOfWarp<T>& warp = room.warps[threadIdx.x >> 5];
  WarpCounts own(counts, warp.zero);
  if constexpr (LINES) {
    if (stencil == 8) encoder.template lines<8>(own, warp);
    else if (stencil == 6) encoder.template lines<6>(own, warp);
    else if (stencil == 4) encoder.template lines<4>(own, warp);
    else encoder.template lines<2>(own, warp);
  } else {
    if (stencil == 8) encoder.template rows<8>(own, finer, warp);
    else if (stencil == 6) encoder.template rows<6>(own, finer, warp);
    else if (stencil == 4) encoder.template rows<4>(own, finer, warp);
    else encoder.template rows<2>(own, finer, warp);
  }
  own.finish();
  counts.flush(memory.counts[plan.number[level][axis]]);
}
}  // namespace multilevel
}  // namespace fz

// At least `BLOCKS` on a multiprocessor: more would leave too few registers.
#define MULTILEVEL_PASS_ENCODE(NAME, VALUE, LINES, BLOCKS) \
  extern "C" __global__ void __launch_bounds__(fz::multilevel::EncoderRoom<VALUE, LINES>::WARPS * 32, BLOCKS) multilevel_##NAME(FZ_ARGS) { \
    __shared__ fz::multilevel::EncoderRoom<VALUE, LINES> room; \
    fz::multilevel::encode_pass<VALUE, LINES>(a, room); \
  }
MULTILEVEL_PASS_ENCODE(encode_lines_f32, float, true, 5)
MULTILEVEL_PASS_ENCODE(encode_lines_f64, double, true, 8)
MULTILEVEL_PASS_ENCODE(encode_rows_f32, float, false, 4)
MULTILEVEL_PASS_ENCODE(encode_rows_f64, double, false, 8)
