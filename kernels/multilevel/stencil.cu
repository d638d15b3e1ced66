// Stage multilevel, encoder: the cost of a sample of the points of a level, for each stencil.
#include "multilevel/any_stencil.cuh"
#include "multilevel/source.cuh"
#include "multilevel/stencil.cuh"
#include "multilevel/walk.cuh"

namespace fz {
namespace multilevel {
// The sampled points are odd multiples of the spacing along one axis, and their taps are in coarser levels.
template <class T> FZ_DEV void sum_costs(const Args& a) {
  const MultilevelParams& p = params<MultilevelParams>(a);
  const EncoderMemory memory(a, p);
  const Plan& plan = *memory.plan;
  const uint32_t level = a.tag / 4;
  if (!is_level(a, p, memory, level, true)) return;
  const MultilevelMetadata& m = *reinterpret_cast<const MultilevelMetadata*>(address(input(a, 1)));
  const Shape& shape = plan.shape;
  const Known<T> known(Buffers<T>(memory.pool, p), shape, level);
  const Source<T> source(address(input(a, 0)));
  const Predictor<T> of(p.threshold, m);
  const uint32_t spacing = 1u << (level - 1), plane = known.rows * known.length;
  uint32_t sums[4] = {0, 0, 0, 0};
  // A third of the blocks has an axis.
  const int axis = (int)(blockIdx.x % 3);
  const uint32_t first = blockIdx.x / 3 * blockDim.x + threadIdx.x, threads = gridDim.x / 3 * blockDim.x;
  if (shape.has_pass(level, axis)) {
    uint32_t points[3];
    for (int d = 0; d < 3; d++) points[d] = d == axis ? shape.points(level, axis, d) : shape.grid(d, level);
    const uint32_t count = points[0] * points[1] * points[2], stride = sample_stride(count, SAMPLE);
    // Taps along x are contiguous; those along y and z are in even rows.
    const uint32_t apart = axis == 0 ? 1 : axis == 1 ? 2 * known.length : 2 * plane, all = halved(shape.n[axis], level);
    for (uint64_t n = (uint64_t)first * stride; n < count; n += (uint64_t)threads * stride) {
      const uint32_t i = (uint32_t)n, at[3] = {i % points[0], i / points[0] % points[1], i / points[0] / points[1]};
      uint64_t element = 0, place = 0;
      const uint32_t strides[3] = {1, shape.n[0], shape.n[0] * shape.n[1]}, known_strides[3] = {1, known.length, plane};
      for (int d = 0; d < 3; d++) {
        const uint32_t scale = shape.has(d) ? 2 * spacing : 1;
        element += (uint64_t)(at[d] * scale + (d == axis ? spacing : 0)) * strides[d];
        // The place of the left neighbor, which is known.
        place += (uint64_t)at[d] * (d > 0 && shape.has(d) ? 2 : 1) * known_strides[d];
      }
      const T x = source[element];
      if (!of.is_bounded(x)) continue;
      T t[8];
      for (int j = 0; j < 8; j++) {
        const int tap = (int)at[axis] + j - 3;
        t[j] = tap >= 0 && tap < (int)all ? known.at[(int64_t)place + (int64_t)(j - 3) * apart] : T(0);
      }
      add_costs(sums, of, x, at[axis] + 1, all - at[axis] - 1, t);
    }
  }
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const uint32_t sum = __reduce_add_sync(ALL, sums[k]);
    if ((threadIdx.x & 31) == 0 && sum) atomicAdd(&memory.sums[level].of[k], (unsigned long long)sum);
  }
}
}  // namespace multilevel
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256) multilevel_stencil_f32(FZ_ARGS) {
  fz::multilevel::sum_costs<float>(a);
}
extern "C" __global__ void __launch_bounds__(256) multilevel_stencil_f64(FZ_ARGS) {
  fz::multilevel::sum_costs<double>(a);
}
