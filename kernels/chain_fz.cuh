// RZE, bit planes of u16 and LorenzoQuant in three dimensions of f32, from the stream to the array in one launch.
//
// For zigzag codes of fields whose tiles are whole bands of eight rows of one plane. A block walks through the tiles that lie behind each
// other in one layer of Lorenzo blocks: sums along z stand in registers, those along y and x are made as the codes are taken
// out of shared memory, where the tile stands in the order of the array. The payload of the next tile is on its way meanwhile.
//
// Without outliers no sum rounds, so the order in which it is made does not show. With any, the differences are written to
// the array instead, and the launches behind this one go on from there.
#pragma once
#include "chain.cuh"
#include "lorenzo_decode.cuh"

namespace fz {
struct FzShared {
  uint4 buf[2][RZE_BUFFER / 16];
  RzeDecoder z;
};

// Codes of a tile in H layout to the order of the array; pieces of 16 bytes are XORed with the number of their row of 128.
FZ_DEV uint32_t in_order(uint32_t piece) { return (piece ^ (piece >> 3 & 7)) * 16; }
FZ_DEV void put_codes(uint4* s, const uint32_t (&v)[32], int tid) {
#pragma unroll
  for (int j = 0; j < 8; j++) {
    const uint32_t piece = (j >> 2) * 512 + 4 * tid + (j & 3);
    *reinterpret_cast<uint4*>(reinterpret_cast<char*>(s) + in_order(piece)) = make_uint4(v[4 * j], v[4 * j + 1], v[4 * j + 2], v[4 * j + 3]);
  }
}

// Where a thread stands in a half of a tile: four columns of eight rows.
struct Patch {
  uint32_t nx, column, row;
  FZ_DEV Patch(uint32_t nx, int tid) : nx(nx), column(tid % (nx / 4) * 4), row(tid / (nx / 4) * 8) {}
  // Element of row `y`, in the half.
  FZ_DEV uint32_t at(int y) const { return (row + y) * nx + column; }
  // Differences of four elements.
  FZ_DEV void take(float (&d)[4], const uint4* s, int half, int y) const {
    const uint32_t e = at(y);
    const uint2 w = *reinterpret_cast<const uint2*>(reinterpret_cast<const char*>(s) + in_order(half * 512 + e / 8) + (e & 4) * 2);
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const uint32_t pair = k < 2 ? w.x : w.y;
      d[k] = lorenzo::difference_of<uint16_t, float>((uint16_t)(k & 1 ? pair >> 16 : pair), true);
    }
  }
};

// Four values from `i` on, of which the array has those below `n`.
FZ_DEV void put_values(float* dst, uint64_t i, uint64_t n, bool whole, const float (&x)[4]) {
  if (whole) {
    *reinterpret_cast<float4*>(dst + i) = make_float4(x[0], x[1], x[2], x[3]);
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; k++)
    if (i + k < n) store<float>(dst + i + k, x[k]);
}

// The tiles that lie behind each other in one layer.
struct Column {
  uint32_t tiles, first, across;  // how many, the first one, and how far the next one is
  float step;
  bool listed, whole, old;
  uint64_t n;  // values of the array

  FZ_DEV Column(const Args& a, const lorenzo::Params& p, const lorenzo::Entries& entries, bool old)
      : tiles(0), across(p.dims[0] * p.dims[1] / 8192), step(2.0f * (float)entries.bound),
        listed(entries.outliers.count > 0), old(old), n(lorenzo::wanted<float>(a, p)) {
    const uint32_t layer = blockIdx.x / across * 8;
    first = layer * across + blockIdx.x % across;
    // The array may end before its padding does.
    while (tiles < min(8u, p.dims[2] - layer) && (uint64_t)(first + tiles * across) * 8192 < n) tiles++;
    whole = aligned(address(output(a, 0)), 16) && n == p.count;
  }
  // Values can be written in pieces as they are: nothing is missing, and no sum makes what is no number.
  FZ_DEV bool plain() const { return whole && !listed && fabsf(step) < quantizer::Real<float>::infinity(); }
  FZ_DEV uint32_t tile(uint32_t z) const { return first + min(z, tiles - 1) * across; }
};

template <bool PLAIN> FZ_DEV void walk(const Args& a, FzShared& sm, const Column& column, const Bytes& stream) {
  const int tid = threadIdx.x;
  const uint64_t* index = reinterpret_cast<const uint64_t*>(a.scratch) + 1;
  float* dst = reinterpret_cast<float*>(address(output(a, 0)));
  const Patch patch(lorenzo::own_params(a).dims[0], tid);
  // Where the payload stands in its buffer; 0: there cannot be one like that.
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
    // The same in all threads: the index says it.
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
      __syncthreads();  // nobody reads the payload any more
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
        const float other = __shfl_xor_sync(ALL, t3, 1), left = tid & 1 ? other : 0.0f;
        float(&sum)[4] = sums[half][y];
        sum[0] += down[0] + left;
        sum[1] += t1 + left;
        sum[2] += t2 + left;
        sum[3] += t3 + left;
#pragma unroll
        for (int k = 0; k < 4; k++) x[k] = PLAIN ? sum[k] * column.step : lorenzo::canonical(sum[k] * column.step);
        if (PLAIN) *reinterpret_cast<float4*>(row) = make_float4(x[0], x[1], x[2], x[3]);
        else put_values(dst, first + half * 4096 + patch.at(y), column.n, column.whole, x);
      }
    }
    here = next;
    next = after;
    at = next_at;
  }
}
// A function of its own, so that its code does not stand between that of the other.
__device__ __attribute__((noinline)) inline void walk_any(const Args& a, FzShared& sm, const Column column, const Bytes stream) {
  walk<false>(a, sm, column, stream);
}

FZ_DEV void chain_fz_decode(const Args& a, FzShared& sm) {
  const unsigned long long failed = failure(a);
  const RzeIndex index = {reinterpret_cast<const uint64_t*>(a.scratch)};
  const lorenzo::Params& p = lorenzo::own_params(a);
  const StreamIn in = stream_in(a, output(a, 0), TILE);
  const bool old = index.layout(a) == LAYOUT_2026_05;
  if (dead(a, failed)) return;
  const Column column(a, p, lorenzo::Entries(a, p), old);
  if (column.tiles == 0) return;
  if (column.plain()) walk<true>(a, sm, column, in.bytes);
  else walk_any(a, sm, column, in.bytes);
}
}  // namespace fz
