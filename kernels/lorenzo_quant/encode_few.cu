// LorenzoQuant: values of a small volume to codes.
#include "lorenzo_quant/encode_planes.cuh"

namespace fz {
namespace lorenzo_quant {
template <int VALUE> FZ_DEV void encode_few(const Args& a) {
  const LorenzoQuantParams& p = params<LorenzoQuantParams>(a);
  by_types(p, [&](auto value, auto code) {
    typedef decltype(value) T;
    if constexpr (sizeof(T) == VALUE) {
      if (!encode_planes<T, decltype(code)>(a, p, NoCounts())) return;
      if (blockIdx.x == 0 && threadIdx.x == 0) publish(output(a, 0), output(a, 0).max);
      clear(address(output(a, 0)), p.count, output(a, 0).max / p.code, p.code);
    }
  });
}
// As encode_and_count, of few bricks.
FZ_DEV void encode_and_count_few(const Args& a, uint32_t* shared) {
  const LorenzoQuantParams& p = params<LorenzoQuantParams>(a);
  const uint32_t symbols = (uint32_t)((output(a, 4).max - huffman::COUNTS_AT) / 4);
  for (uint32_t i = threadIdx.x; i < symbols; i += blockDim.x) shared[i] = 0;
  __syncthreads();
  if (!encode_planes<float, uint16_t>(a, p, CodeCounts{shared})) return;
  if (blockIdx.x == 0 && threadIdx.x == 0) publish(output(a, 0), output(a, 0).max);
  clear(address(output(a, 0)), p.count, output(a, 0).max / p.code, p.code);
  add_counts(a, p, shared, symbols);
}
}  // namespace lorenzo_quant
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256, 2) lorenzo_quant_encode_3d_f32_few(FZ_ARGS) { fz::lorenzo_quant::encode_few<4>(a); }
extern "C" __global__ void __launch_bounds__(256, 2) lorenzo_quant_encode_3d_f64_few(FZ_ARGS) { fz::lorenzo_quant::encode_few<8>(a); }
extern "C" __global__ void __launch_bounds__(256, 2) lorenzo_quant_encode_3d_f32_counts_few(FZ_ARGS) {
  __shared__ uint32_t shared[fz::huffman::SHARED_SYMBOLS];
  fz::lorenzo_quant::encode_and_count_few(a, shared);
}
