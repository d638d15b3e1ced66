// Stage fast, decoder of small arrays in a single launch.
#include "common/container/single.cuh"
#include "fast/decode_small.cuh"

namespace fz {
namespace fast {
static_assert(sizeof(SingleRoom) <= sizeof(Shares), "in place of the shares");

template <class T, int DIM> FZ_DEV void decode_single(const SingleArgs& o, Shares& s, Found& found) {
  wait_prerequisites();
  const HeaderPart early(o, o.forms[0]);
  const Args& a = o.step;
  const Params& p = params<Params>(a);
  Ahead ahead = look_ahead<T>(a, p, s);
  const int form = find_form(o, early, found);
  bool good = true;
  if (form >= 0 && !o.forms[form].stored) good = restore<T, DIM>(a, p, container_of(o) + o.forms[form].header, found.bytes, found.operand(), ahead, s);
  if (!good && (threadIdx.x & 31) == 0) fail(a, CORRUPT);
  close_single(o, form, found, good, reinterpret_cast<SingleRoom&>(s));
}
}  // namespace fast
}  // namespace fz

#define FZ_FAST(NAME, T, DIM)                                                                    \
  extern "C" __global__ void __launch_bounds__(256, 2) fast_decode_single_##NAME(FZ_SINGLE_ARGS) { \
    __shared__ fz::fast::Shares shares;                                                          \
    __shared__ fz::Found found;                                                                  \
    fz::fast::decode_single<T, DIM>(single, shares, found);                                      \
  }

FZ_FAST(f32_1d, float, 1)
FZ_FAST(f32_2d, float, 2)
FZ_FAST(f32_3d, float, 3)
FZ_FAST(f64_1d, double, 1)
FZ_FAST(f64_2d, double, 2)
FZ_FAST(f64_3d, double, 3)
