// Fused stages of preset pfpl, decoder of small arrays in a single launch.
#include "common/container/single.cuh"
#include "rze/fused.cuh"

namespace fz {
namespace rze {
template <class... S> FZ_DEV void fused_decode_single(const SingleArgs& o, DecodeShared<S...>& sm, Found& found) {
  static_assert(sizeof(SingleRoom) <= sizeof sm, "in place of the buffer");
  static_assert(Stages<S...>::EXTRA == 1, "the metadata");
  wait_prerequisites();
  const HeaderPart early(o, o.forms[0]);
  const Args& a = o.step;
  RzeAhead ahead = look_ahead<S...>(a, sm);
  rze_tables(sm.z, threadIdx.x);
  const int form = find_form(o, early, found);
  if (ahead.fetched) fz_copies_done();
  bool good = true;
  if (form >= 0 && !o.forms[form].stored) {
    const Operand inputs[2] = {input(a, 0), found.operand()};
    const StreamIn in = stream_in(a, output(a, 0), TILE, {container_of(o) + o.forms[form].header, found.bytes});
    good = restore<S...>(a, inputs, sm, in, ahead);
  }
  if (!good) fail(a, CORRUPT);
  // Copies of all threads to the buffer have ended.
  if (form < 0) __syncthreads();
  close_single(o, form, found, good, reinterpret_cast<SingleRoom&>(sm));
}
}  // namespace rze
}  // namespace fz

using namespace fz;
using namespace fz::rze;

extern "C" __global__ void __launch_bounds__(128, 4) fused_pfpl_f32_decode_single(FZ_SINGLE_ARGS) {
  __shared__ DecodeShared<QuantizeStage<4>, DifferenceStage<4>, BitshuffleStage<4>> sm;
  __shared__ Found found;
  fused_decode_single<QuantizeStage<4>, DifferenceStage<4>, BitshuffleStage<4>>(single, sm, found);
}
