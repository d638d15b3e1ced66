// LorenzoQuant: the outliers of large volumes of f32.
#include "lorenzo_quant/decode_bricks.cuh"
#include "lorenzo_quant/decode_columns.cuh"

namespace fz {
namespace lorenzo_quant {
// The differences of outliers to their places. Without an order, those of one index are added one after the other.
template <class C> FZ_DEV void mark_entries(const Args& a, const LorenzoQuantParams& p, const Lists& lists, bool mixed) {
  const uint8_t* codes = address(input(a, 0));
  uint8_t* dst = address(output(a, 0));
  const Marks marks(a, Brick<float>(p));
  const bool zigzag = (p.switches & ZIGZAG) != 0;
  const uint64_t n = wanted<float>(a, p);
  const auto one = [&](float error, C code, uint32_t i, bool in_turn) {
    const uint32_t x = i % marks.nx, row = i / marks.nx, y = row % marks.ny, z = row / marks.ny;
    uint8_t* to = dst + (uint64_t)i * 4;
    float before = difference_of<C, float>(code, zigzag);
    // Without its result, no thread waits for the atomic operation.
    if (in_turn) before = marks.set(x, y, z) ? load<float>(to) : before;  // seed: mark-again
    else marks.set(x, y, z);
    const float d = error + before;
    store<float>(to, d);
    if (!Marks::is_short(d)) marks.rounds(x, y, z);
  };
  const auto error_of = [&](uint64_t j) { return load<float>(lists.values + j * 4); };
  const auto code_at = [&](uint32_t i) { return load<C>(codes + (uint64_t)i * sizeof(C)); };
  if (mixed) {
    const uint32_t lane = threadIdx.x & 31;
    const auto each = [&](uint64_t j, uint32_t i) { one(error_of(j), code_at(i), i, true); };
    each_entry(lists, n, true, each, [&](uint64_t j, uint32_t i, uint32_t alike) {
      // The lowest of several lanes with equal data does the work for all of them.
      if (alike & ((1u << lane) - 1)) return;
      for (; alike; alike &= alike - 1) each(j - lane + (__ffs(alike) - 1), i);
    });
    return;
  }
  // Several steps are fetched at once, because fetching dominates the time.
  constexpr int STEPS = 4;
  const uint64_t stride = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t from = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; from < lists.count; from += stride * STEPS) {
    uint32_t index[STEPS];
    float error[STEPS];
    C code[STEPS];
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
      const uint64_t j = from + stride * s;
      index[s] = j < lists.count ? lists.index(j) : ~0u;
      error[s] = j < lists.count ? error_of(j) : 0.0f;
    }
#pragma unroll
    for (int s = 0; s < STEPS; s++) code[s] = index[s] < n ? code_at(index[s]) : C(0);
#pragma unroll
    for (int s = 0; s < STEPS; s++)
      if (index[s] < n) one(error[s], code[s], index[s], false);
  }
}
// Where the sums of a brick may round, their order is that of the format.
template <class C> FZ_DEV void decode_marked(const Args& a, const LorenzoQuantParams& p, uint2* ahead) {
  const Flow<float, C> f(a, p);
  if (!f.listed) return;
  const Brick<float> all(p);
  const Marks marks(a, all);
  const bool pieces = sizeof(C) == 2 && f.zigzag && in_pieces<float, C>(f.codes, f.dst, f.n, f.step, p);
  over_bricks(all, [&](const Brick<float>& b, uint64_t brick) {
    if constexpr (sizeof(C) == 2) {
      if (pieces && !marks.bricks[brick]) return decode_brick<float, C, true, true>(b, f.codes, f.dst, f.n, f.step, ahead, marks);
    }
    const uint32_t lane = threadIdx.x & 31;
#pragma unroll 1
    for (uint64_t x = b.x - lane * 4 + lane; x < b.x - lane * 4 + Brick<float>::WIDTH; x += 32)
      decode_columns(f, p, x, b.y, b.z, [&](uint32_t k) { return (uint32_t)marks.rows[marks.row(b.y, b.z + k) + x]; });
  });
}
}  // namespace lorenzo_quant
}  // namespace fz

// Checks the lists. If there are outliers, clears the marks.
extern "C" __global__ void __launch_bounds__(256) lorenzo_quant_decode_open_marks(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  using namespace fz::lorenzo_quant;
  const LorenzoQuantParams& p = fz::params<LorenzoQuantParams>(a);
  const Entries e(a, p);
  open_entries(a, e);
  if (e.outliers.count == 0) return;
  const Marks marks(a, Brick<float>(p));
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < (marks.bytes + 15) / 16; i += (uint64_t)gridDim.x * blockDim.x)
    reinterpret_cast<uint4*>(marks.rows)[i] = make_uint4(0, 0, 0, 0);
}

extern "C" __global__ void __launch_bounds__(256) lorenzo_quant_decode_lists_marks(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  using namespace fz::lorenzo_quant;
  const LorenzoQuantParams& p = fz::params<LorenzoQuantParams>(a);
  const Entries e(a, p);
  const bool unordered = mixed(a)->outliers != 0;
  if (p.code == 1) mark_entries<uint8_t>(a, p, e.outliers, unordered);
  else if (p.code == 2) mark_entries<uint16_t>(a, p, e.outliers, unordered);
  else mark_entries<uint32_t>(a, p, e.outliers, unordered);
}

// Values from codes and marked differences. If there are no outliers, `lorenzo_quant_decode_3d_f32` makes the values.
extern "C" __global__ void __launch_bounds__(256, 2) lorenzo_quant_decode_marked(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  using namespace fz::lorenzo_quant;
  __shared__ double shared[AHEAD_WORDS];
  const LorenzoQuantParams& p = fz::params<LorenzoQuantParams>(a);
  uint2* ahead = reinterpret_cast<uint2*>(shared);
  if (p.code == 1) decode_marked<uint8_t>(a, p, ahead);
  else if (p.code == 2) decode_marked<uint16_t>(a, p, ahead);
  else decode_marked<uint32_t>(a, p, ahead);
}
