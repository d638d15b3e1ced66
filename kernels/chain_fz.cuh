// RZE, bit planes of u16 and LorenzoQuant in three dimensions of f32, from the stream to the array in one launch.
//
// For fields whose tiles of codes are whole bands of eight rows of one plane. A block walks through the tiles that lie behind each
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
  FZ_DEV void take(float (&d)[4], const uint4* s, int half, int y, bool zigzag) const {
    const uint32_t e = at(y);
    const uint2 w = *reinterpret_cast<const uint2*>(reinterpret_cast<const char*>(s) + in_order(half * 512 + e / 8) + (e & 4) * 2);
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const uint32_t pair = k < 2 ? w.x : w.y;
      d[k] = lorenzo::difference_of<uint16_t, float>((uint16_t)(k & 1 ? pair >> 16 : pair), zigzag);
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

FZ_DEV void chain_fz_decode(const Args& a, FzShared& sm) {
  const int tid = threadIdx.x;
  const unsigned long long failed = failure(a);
  const RzeIndex index = {reinterpret_cast<const uint64_t*>(a.scratch)};
  const lorenzo::Params& p = lorenzo::own_params(a);
  const StreamIn in = stream_in(a, output(a, 0), TILE);
  const bool old = index.layout(a) == LAYOUT_2026_05;
  if (dead(a, failed)) return;
  const lorenzo::Entries entries(a, p);
  const bool listed = entries.outliers.count > 0, zigzag = (p.switches & lorenzo::ZIGZAG) != 0;
  const float step = 2.0f * (float)entries.bound;
  const uint64_t n = lorenzo::wanted<float>(a, p);
  float* dst = reinterpret_cast<float*>(address(output(a, 0)));
  const bool whole = aligned(dst, 16) && n == p.count;
  const uint32_t across = p.dims[0] * p.dims[1] / 8192, layer = blockIdx.x / across * 8, column = blockIdx.x % across;
  const Patch patch(p.dims[0], tid);

  const auto chunk = [&](uint32_t z) { return (uint64_t)(layer + z) * across + column; };
  // The array may end before its padding does.
  uint32_t planes = 0;
  while (planes < min(8u, p.dims[2] - layer) && chunk(planes) * 8192 < n) planes++;
  if (planes == 0) return;
  const auto bring = [&](const RzeChunk& c, uint32_t z) {
    return rze_plausible(TILE, old, c.size(), c.raw()) ? rze_fetch_payload(sm.buf[z & 1], in.bytes, c.start(), c.size(), tid) : 0;
  };
  RzeChunk here = {index.words[1 + chunk(0)]}, next = {index.words[1 + chunk(planes > 1 ? 1 : 0)]};
  uint32_t at = bring(here, 0);
  rze_tables(sm.z, tid);
  float sums[2][8][4];
#pragma unroll
  for (int i = 0; i < 64; i++) sums[i >> 5][i >> 2 & 7][i & 3] = 0.0f;

#pragma unroll 1
  for (uint32_t z = 0; z < planes; z++) {
    uint4* buf = sm.buf[z & 1];
    fz_copies_done();
    __syncthreads();
    const RzeChunk after = {index.words[1 + chunk(z + 2 < planes ? z + 2 : z)]};
    const uint32_t next_at = z + 1 < planes ? bring(next, z + 1) : 0;
    // The same in all threads: the index says it.
    if (at == 0) {
      if (tid == 0) fail(a, CORRUPT);
      fz_copies_done();
      return;
    }
    {
      uint32_t v[32], live = 0;
      if (!rze_decode_tile(v, live, rze_form<true>(TILE, old), sm.z, buf, at, here.size(), here.raw(), tid)) fail(a, CORRUPT);
      Nothing none;
      HalvesStage::backward(v, live, none, none, Tile<true>{buf, TILE, tid});
      __syncthreads();  // nobody reads the payload any more
      put_codes(buf, v, tid);
    }
    __syncthreads();
    const uint64_t first = chunk(z) * 8192;
#pragma unroll
    for (int half = 0; half < 2; half++) {
      float down[4];
#pragma unroll
      for (int y = 0; y < 8; y++) {
        float d[4], x[4];
        patch.take(d, buf, half, y, zigzag);
        if (listed) {
          put_values(dst, first + half * 4096 + patch.at(y), n, whole, d);
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
        for (int k = 0; k < 4; k++) x[k] = lorenzo::canonical(sum[k] * step);
        put_values(dst, first + half * 4096 + patch.at(y), n, whole, x);
      }
    }
    here = next;
    next = after;
    at = next_at;
  }
}
}  // namespace fz
