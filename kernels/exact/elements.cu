// Stage exact, decoder: elements in place of integers, or the elements that are stored bit for bit.
#include "exact/decoder.cuh"
#include "common/stored.cuh"

namespace fz {
namespace exact {
template <class W> FZ_DEV void put_elements(const Args& a, const DecoderMemory& memory, const ExactParams& p) {
  const Head& head = memory.state->head;
  const Map<W> map = head.map<W>(p.kind);
  const uint8_t* classes = memory.classes + memory.state->of[OF_ARRAY].s.first_batch;
  const W *o = memory.of<W>(OF_ARRAY), *values = memory.of<W>(OF_TABLE);
  const uint16_t* codes = memory.codes[OF_ARRAY];
  const uint32_t n = (uint32_t)elements(p);
  const multilevel::Target<W> target(output(a, 0), n);
  const uint32_t table = head.table;
  const bool holes = head.holes;
  bool bad = false;
#pragma unroll 1
  for (uint32_t i = EACH * (blockIdx.x * blockDim.x + threadIdx.x); i < n; i += EACH * gridDim.x * blockDim.x) {
    Each<W> own = Each<W>::load(o, i, n);
    Each<uint16_t> code = {};
    // There is room for whole batches of codes.
    if (holes && classes[i / POINTS]) code = *reinterpret_cast<const Each<uint16_t>*>(codes + i);
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
      W x = holes && code.of[k] == 0 ? (W)head.hole : own.of[k];
      if (table && i + k < n) {
        bad |= x >= table;
        x = x < table ? values[x] : 0;
      }
      own.of[k] = map.element(x);
    }
    put_each(target, own, i, n);
  }
  if (bad) corrupt(a);
}

FZ_DEV void finish(const Args& a) {
  const ExactParams& p = params<ExactParams>(a);
  const DecoderMemory memory(a, p);
  const Out out(output(a, 0));
  const uint64_t bytes = elements(p) * p.width;
  put_zeros_after(out, bytes);
  if (bytes == 0 || !is_sound(a)) return;
  if (!memory.state->head.stored) {
    if (writer(memory.state->head) == BY_ALL) with_word(p.width, [&](auto w) { put_elements<decltype(w)>(a, memory, p); });
    return;
  }
  copy_stored(out, 0, address(input(a, 0)) + HEAD_BYTES, bytes);
}
}  // namespace exact
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256) exact_elements(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  fz::exact::finish(a);
}
