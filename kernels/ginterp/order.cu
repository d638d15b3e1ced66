// Stage ginterp: codes of the reference, which are stored level by level in the whole array, from
// and to the order of tiles, as src/stages/ginterp/order.rs.
#include "ginterp/lists.cuh"

namespace fz {
namespace ginterp {
// The place of an element among the codes of the reference: anchors, then the points of each level
// that no coarser one has, x fastest.
FZ_DEV uint32_t level_place(const Grid& g, uint32_t x, uint32_t y, uint32_t z) {
  uint32_t nx = g.dims[0], ny = g.dims[1], nz = g.dims[2], level = 0;
  for (; level < LEVELS && ((x | y | z) & 1) == 0; level++) {
    x /= 2; y /= 2; z /= 2;
    nx -= nx / 2; ny -= ny / 2; nz -= nz / 2;
  }
  const uint32_t place = x + nx * (y + ny * z);
  if (level == LEVELS) return place;
  const uint32_t ex = nx - nx / 2, ey = ny - ny / 2, ez = nz - nz / 2;
  // Points before it that are also points of the next level.
  uint32_t before = (z - z / 2) * ex * ey;
  if (z % 2 == 0) {
    before += (y - y / 2) * ex;
    if (y % 2 == 0) before += x - x / 2;
  }
  return ex * ey * ez + place - before;
}

// Moves each code from its place in tiles to that in levels, or back.
template <bool TO_LEVELS> FZ_DEV void permute(const Args& a) {
  const GinterpParams& p = params<GinterpParams>(a);
  const Operand& out = output(a, 0);
  const Grid g(p);
  const uint64_t me = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, step = (uint64_t)gridDim.x * blockDim.x;
  const uint64_t room = out.max / p.code, n = g.elements();
  if (me == 0) publish(out, out.max);
  if (length(input(a, 0)) / p.code < n) {
    if (me == 0) fail(a, CORRUPT);
    return;
  }
  const uint8_t* src = address(input(a, 0));
  uint8_t* dst = address(out);
  for (uint64_t i = me; i < n; i += step) {
    const uint32_t element = (uint32_t)i, row = element / g.dims[0], x = element - row * g.dims[0];
    const uint32_t tiles = g.place(element), levels = level_place(g, x, row % g.dims[1], row / g.dims[1]);
    const uint32_t from = TO_LEVELS ? tiles : levels, to = TO_LEVELS ? levels : tiles;
    if (to < room) store_code(dst, to, p.code, load_code(src, from, p.code));
  }
  for (uint64_t i = n * p.code + me; i < out.max; i += step) dst[i] = 0;
}
}  // namespace ginterp
}  // namespace fz

extern "C" __global__ void __launch_bounds__(256) ginterp_level_order(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  fz::ginterp::permute<true>(a);
}

extern "C" __global__ void __launch_bounds__(256) ginterp_tile_order(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  fz::ginterp::permute<false>(a);
}
