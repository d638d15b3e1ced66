// Fused decoder of preset fz: rze, bit planes of u16, and lorenzo_quant in three dimensions of f32.
//
// For zigzag codes of fields whose tiles are whole bands of eight rows of one plane. A block
// decodes the tiles that follow each other along z in one layer of Lorenzo blocks. Registers hold
// the sums along z; the sums along y and x are made while the codes are read from shared memory,
// where the tile has the order of the array. Meanwhile the payload of the next tile is copied.
//
// Without outliers no sum rounds, so any order of the sums gives the same result. With outliers the
// differences are stored in the array, and the next launches continue from there.
#pragma once
#include "rze/fused.cuh"
#include "lorenzo_quant/entries.cuh"

namespace fz {
namespace rze {
struct FzShared {
  uint4 buf[2][RZE_BUFFER / 16];
  RzeDecoder z;
};

// Stores the codes of a tile in H layout in the order of the array. Pieces of 16 bytes are XORed
// with the number of their row of 128 bytes, against bank conflicts.
FZ_DEV uint32_t in_order(uint32_t piece) { return (piece ^ (piece >> 3 & 7)) * 16; }
FZ_DEV void put_codes(uint4* s, const uint32_t (&v)[32], int tid) {
#pragma unroll
  for (int j = 0; j < 8; j++) {
    const uint32_t piece = (j >> 2) * 512 + 4 * tid + (j & 3);
    *reinterpret_cast<uint4*>(reinterpret_cast<char*>(s) + in_order(piece)) = make_uint4(v[4 * j], v[4 * j + 1], v[4 * j + 2], v[4 * j + 3]);
  }
}

// The part of a thread in a half of a tile: four columns of eight rows.
struct Patch {
  uint32_t nx, column, row;
  FZ_DEV Patch(uint32_t nx, int tid) : nx(nx), column(tid % (nx / 4) * 4), row(tid / (nx / 4) * 8) {}
  // Index of row `y` in the half.
  FZ_DEV uint32_t at(int y) const { return (row + y) * nx + column; }
  // Loads the differences of four elements.
  FZ_DEV void take(float (&d)[4], const uint4* s, int half, int y) const {
    const uint32_t e = at(y);
    const uint2 w = *reinterpret_cast<const uint2*>(reinterpret_cast<const char*>(s) + in_order(half * 512 + e / 8) + (e & 4) * 2);  // seed: band-order
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const uint32_t pair = k < 2 ? w.x : w.y;
      d[k] = lorenzo_quant::difference_of<uint16_t, float>((uint16_t)(k & 1 ? pair >> 16 : pair), true);
    }
  }
};

// Stores four values from `i` on, except those from `n` on.
FZ_DEV void put_values(float* dst, uint64_t i, uint64_t n, bool whole, const float (&x)[4]) {
  if (whole) {
    *reinterpret_cast<float4*>(dst + i) = make_float4(x[0], x[1], x[2], x[3]);
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; k++)
    if (i + k < n) store<float>(dst + i + k, x[k]);
}

// The tiles of a block, which follow each other along z in one layer.
struct Column {
  uint32_t tiles, first, plane_tiles;  // their number, the first one, and the tiles of a plane
  float step;
  bool listed, whole, old;
  uint64_t n;  // values of the array

  FZ_DEV Column(const Args& a, const lorenzo_quant::LorenzoQuantParams& p, const lorenzo_quant::Entries& entries, bool old)
      : tiles(0), plane_tiles(p.dims[0] * p.dims[1] / 8192), step(2.0f * (float)entries.bound),
        listed(entries.outliers.count > 0), old(old), n(lorenzo_quant::wanted<float>(a, p)) {
    const uint32_t layer = blockIdx.x / plane_tiles * 8;
    first = layer * plane_tiles + blockIdx.x % plane_tiles;
    // The array may end before its padding.
    while (tiles < min(8u, p.dims[2] - layer) && (uint64_t)(first + tiles * plane_tiles) * 8192 < n) tiles++;  // seed: band-planes
    whole = aligned(address(output(a, 0)), 16) && n == p.count;
  }
  // True if values are stored in pieces and without canonical NaNs: the array is complete, and the
  // step is finite.
  FZ_DEV bool plain() const { return whole && !listed && fabsf(step) < quantizer::Real<float>::infinity(); }
  FZ_DEV uint32_t tile(uint32_t z) const { return first + min(z, tiles - 1) * plane_tiles; }
};

template <bool PLAIN> FZ_DEV void walk(const Args& a, FzShared& sm, const Column& column, const Bytes& stream) {
  const int tid = threadIdx.x;
  const uint64_t* index = reinterpret_cast<const uint64_t*>(a.scratch) + 1;
  float* dst = reinterpret_cast<float*>(address(output(a, 0)));
  const Patch patch(lorenzo_quant::own_params(a).dims[0], tid);
  // Position of the payload in its buffer; 0: its length is invalid.
  const auto bring = [&](const RzeChunk& c, uint32_t z) {
    return rze_plausible(TILE, column.old, c.size(), c.raw()) ? rze_fetch_payload(sm.buf[z & 1], stream, c.start(), c.size(), tid) : 0;
  };
  RzeChunk here = {index[column.tile(0)]}, next = {index[column.tile(1)]};
  uint32_t at = bring(here, 0);
  rze_tables(sm.z, tid);
  float sums[2][8][4];
#pragma unroll
  for (int i = 0; i < 64; i++) sums[i >> 5][i >> 2 & 7][i & 3] = 0.0f;

#pragma unroll 1
  for (uint32_t z = 0; z < column.tiles; z++) {
    uint4* buf = sm.buf[z & 1];
    fz_copies_done();
    __syncthreads();
    const RzeChunk after = {index[column.tile(z + 2)]};
    const uint32_t next_at = z + 1 < column.tiles ? bring(next, z + 1) : 0;
    // Uniform over the block, since it follows from the index.
    if (at == 0) {
      if (tid == 0) fail(a, CORRUPT);
      fz_copies_done();
      return;
    }
    {
      uint32_t v[32], live = 0;
      if (!rze_decode_tile(v, live, rze_form<true>(TILE, column.old), sm.z, buf, at, here.size(), here.raw(), tid)) fail(a, CORRUPT);
      Nothing none;
      HalvesStage::backward(v, live, none, none, Tile<true>{buf, TILE, tid});
      __syncthreads();  // the payload has been read
      put_codes(buf, v, tid);
    }
    __syncthreads();
    const uint64_t first = (uint64_t)column.tile(z) * 8192;
#pragma unroll
    for (int half = 0; half < 2; half++) {
      float down[4];
      float* row = dst + first + half * 4096 + patch.at(0);
#pragma unroll
      for (int y = 0; y < 8; y++, row += patch.nx) {
        float d[4], x[4];
        patch.take(d, buf, half, y);
        if (!PLAIN && column.listed) {
          put_values(dst, first + half * 4096 + patch.at(y), column.n, column.whole, d);
          continue;
        }
#pragma unroll
        for (int k = 0; k < 4; k++) down[k] = y ? down[k] + d[k] : d[k];
        const float t1 = down[0] + down[1], t2 = t1 + down[2], t3 = t2 + down[3];
        const float other = __shfl_xor_sync(ALL, t3, 1), left = tid & 1 ? other : 0.0f;  // seed: band-left
        float(&sum)[4] = sums[half][y];
        sum[0] += down[0] + left;
        sum[1] += t1 + left;
        sum[2] += t2 + left;
        sum[3] += t3 + left;
#pragma unroll
        for (int k = 0; k < 4; k++) x[k] = PLAIN ? sum[k] * column.step : lorenzo_quant::canonical(sum[k] * column.step);
        if (PLAIN) *reinterpret_cast<float4*>(row) = make_float4(x[0], x[1], x[2], x[3]);
        else put_values(dst, first + half * 4096 + patch.at(y), column.n, column.whole, x);
      }
    }
    here = next;
    next = after;
    at = next_at;
  }
}
// Not inlined, to keep its code apart from that of the fast path.
__device__ __attribute__((noinline)) inline void walk_any(const Args& a, FzShared& sm, const Column column, const Bytes stream) {
  walk<false>(a, sm, column, stream);
}

FZ_DEV void fused_fz_decode(const Args& a, FzShared& sm) {
  const unsigned long long failed = failure(a);
  const RzeIndex index = {reinterpret_cast<const uint64_t*>(a.scratch)};
  const lorenzo_quant::LorenzoQuantParams& p = lorenzo_quant::own_params(a);
  const StreamIn in = stream_in(a, output(a, 0), TILE);
  const bool old = index.layout(a) == LAYOUT_2026_05;
  if (cancelled(a, failed)) return;
  const Column column(a, p, lorenzo_quant::Entries(a, p), old);
  if (column.tiles == 0) return;
  if (column.plain()) walk<true>(a, sm, column, in.bytes);
  else walk_any(a, sm, column, in.bytes);
}
}  // namespace rze
}  // namespace fz
