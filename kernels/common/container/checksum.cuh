// Checksums of containers (CRC-32/ISO-HDLC), written or compared. Without its two complements the
// checksum is linear: the checksum of the whole is the sum of the checksums of its pieces, each
// times x to the power of the number of bits behind it. So pieces are summed in any order.
#pragma once
#include "common/container/container.cuh"

namespace fz {
constexpr uint32_t POLYNOMIAL = 0xedb88320u;  // bit 31 is the coefficient of x^0
constexpr uint32_t ONE = 1u << 31;
// x^(8 2^k). The powers of x repeat after 2^32 - 1. Not const: nvcc adds a hash of the folder to the name of a constant, and a
// build in another folder would have other bytes.
__constant__ uint32_t POWERS[32] = {
    0x00800000u, 0x00008000u, 0xedb88320u, 0xb1e6b092u, 0xa06a2517u, 0xed627daeu, 0x88d14467u, 0xd7bbfe6au,
    0xec447f11u, 0x8e7ea170u, 0x6427800eu, 0x4d47bae0u, 0x09fe548fu, 0x83852d0fu, 0x30362f1au, 0x7b5a9cc3u,
    0x31fec169u, 0x9fec022au, 0x6c8dedc4u, 0x15d6874du, 0x5fde7a4eu, 0xbad90e37u, 0x2e4e5eefu, 0x4eaba214u,
    0xa8a472c0u, 0x429a969eu, 0x148d302au, 0xc40ba6d0u, 0xc4e22c3cu, 0x40000000u, 0x20000000u, 0x08000000u,
};

// The product of a polynomial with x.
constexpr uint32_t times_x(uint32_t a) { return a >> 1 ^ (a & 1 ? POLYNOMIAL : 0); }
// Products of the bits of a word with powers of x: x^32 for the next word, and x^4096 for the next row of 32 units of 16 bytes.
struct Basis { uint32_t word[32], row[32]; };
constexpr Basis basis() {
  Basis b = {};
  b.word[31] = 0xedb88320u;
  b.row[31] = 0x8e7ea170u;
  for (int i = 31; i > 0; i--) {
    b.word[i - 1] = times_x(b.word[i]);
    b.row[i - 1] = times_x(b.row[i]);
  }
  return b;
}
__constant__ Basis BASIS = basis();
// The same for each byte of a word.
typedef uint32_t Products[4][256];
struct SumTables {
  Products word, row;
  uint8_t header[1024];
  uint32_t parts[5];
  int good;
};
FZ_DEV void fill_tables(SumTables& t) {
  for (uint32_t at = threadIdx.x; at < 2048; at += blockDim.x) {
    const uint32_t byte = at >> 8 & 3, value = at & 255;
    const uint32_t* basis = at >> 10 ? BASIS.row : BASIS.word;
    uint32_t x = 0;
#pragma unroll
    for (int b = 0; b < 8; b++) x ^= value >> b & 1 ? basis[8 * byte + b] : 0;
    (at >> 10 ? t.row : t.word)[byte][value] = x;
  }
  __syncthreads();
}
FZ_DEV uint32_t product(const Products& t, uint32_t c) { return t[0][c & 255] ^ t[1][c >> 8 & 255] ^ t[2][c >> 16 & 255] ^ t[3][c >> 24]; }
// The product of two numbers without carries. In each factor one of four bits is kept, so that sums of up to 8 products of bits
// leave the lowest of four bits right.
FZ_DEV uint64_t carryless_product(uint32_t a, uint32_t b) {
  constexpr uint64_t KEPT = 0x1111111111111111u;
  uint64_t product = 0;
#pragma unroll
  for (int k = 0; k < 4; k++) {
    uint64_t x = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) x ^= (uint64_t)(a & (uint32_t)(KEPT << i)) * (b & (uint32_t)(KEPT << (k - i & 3)));
    product |= x & KEPT << k;
  }
  return product;
}
// The product of two polynomials: twice the number, because bit 31 is the coefficient of x^0; its low word is that of the
// coefficients from x^32 on.
FZ_DEV uint32_t times(const SumTables& t, uint32_t a, uint32_t b) {
  const uint64_t p = carryless_product(a, b) << 1;
  return (uint32_t)(p >> 32) ^ product(t.word, (uint32_t)p);
}
// x^(8n), by a warp: each lane has a factor.
FZ_DEV uint32_t x_to(const SumTables& t, uint64_t n) {
  const uint32_t lane = threadIdx.x & 31;
  while (n >> 32) n = (n >> 32) + (uint32_t)n;
  uint32_t factor = n >> lane & 1 ? POWERS[lane] : ONE;
#pragma unroll 1
  for (int d = 16; d; d >>= 1) factor = times(t, factor, __shfl_xor_sync(ALL, factor, d));
  return factor;
}
// The sum of some bytes, by a thread.
FZ_DEV uint32_t sum(const SumTables& t, const uint8_t* p, uint64_t n) {
  uint32_t c = 0;
  uint64_t i = 0;
  for (; i + 4 <= n; i += 4) c = product(t.word, c ^ load<uint32_t>(p + i));
  for (; i < n; i++) c = c >> 8 ^ t.word[3][(c ^ p[i]) & 255];
  return c;
}
// Joins the sums of equal parts, those of lower lanes first, by a warp. `behind`: the power of x for
// a part.
FZ_DEV uint32_t join_sums(const SumTables& t, uint32_t c, uint32_t behind) {
#pragma unroll 1
  for (int d = 1; d < 32; d <<= 1) {
    const uint32_t other = __shfl_xor_sync(ALL, c, d);
    const bool second = threadIdx.x & d;
    c = times(t, second ? other : c, behind) ^ (second ? c : other);
    behind = times(t, behind, behind);
  }
  return c;
}
// The sum of `n` bytes, by a warp. Zeros in front do not change it, so that parts are counted from the
// end.
FZ_DEV uint32_t warp_sum(const SumTables& t, const uint8_t* p, uint64_t n) {
  const uint64_t part = (n + 31) / 32, behind = part * (31 - (threadIdx.x & 31)), to = n > behind ? n - behind : 0, from = to > part ? to - part : 0;
  return join_sums(t, sum(t, p + from, to - from), x_to(t, part));
}
// The sum of the units of warp `w` of `warps`, by the warp: coalesced loads, a lane for each unit of a
// row, and four sums in each lane. Bytes behind its units: `behind`.
FZ_DEV uint32_t units_sum(const SumTables& t, const uint4* from, uint64_t units, uint64_t warps, uint64_t w, uint64_t& behind) {
  constexpr int AHEAD = 4;
  const uint64_t rows = (units + 32 * warps - 1) / (32 * warps), each = 32 * rows, front = each * warps - units;
  behind = (warps - 1 - w) * each * 16;
  if ((w + 1) * each <= front) return 0;
  uint32_t c[4] = {0, 0, 0, 0};
  for (uint64_t row = 0; row < rows; row += AHEAD) {
    uint4 x[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      const uint64_t at = w * each + 32 * (row + k) + (threadIdx.x & 31);
      x[k] = row + k < rows && at >= front ? from[at - front] : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      if (row + k >= rows) break;
      c[0] = product(t.row, c[0]) ^ x[k].x;
      c[1] = product(t.row, c[1]) ^ x[k].y;
      c[2] = product(t.row, c[2]) ^ x[k].z;
      c[3] = product(t.row, c[3]) ^ x[k].w;
    }
  }
  uint32_t unit = 0;
#pragma unroll
  for (int k = 0; k < 4; k++) unit = product(t.word, unit ^ c[k]);
  return join_sums(t, unit, POWERS[4]);
}
// The sum of the payload as far as this warp computes it, in lane 0.
FZ_DEV uint32_t payload_sum(const SumTables& t, const uint8_t* p, uint64_t n) {
  const uint64_t warps = (uint64_t)gridDim.x * (blockDim.x / 32), w = (uint64_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const uint64_t lead = min((uint64_t)(-(intptr_t)p & 15), n), units = (n - lead) / 16, tail = (n - lead) % 16;
  uint64_t behind = 0;
  uint32_t c = units_sum(t, reinterpret_cast<const uint4*>(p + lead), units, warps, w, behind);
  c = times(t, c, x_to(t, behind + tail));
  if (w == 0) {
    const uint32_t ends = times(t, sum(t, p, lead), x_to(t, n - lead)) ^ sum(t, p + n - tail, tail);
    c ^= ends;
  }
  return c;
}
// Writes the checksums of a container of a form, or compares them with `check`, by all threads of the
// grid. `call`: a ticket and a sum, which are zero. All threads of the block that ends last return the
// verdict, other blocks NO_VERDICT.
enum Verdict { NO_VERDICT, GOOD, WRONG };
FZ_DEV Verdict checksums(const Frame& f, const HeaderRow& h, uint64_t header, uint64_t payload, Call* call, SumTables& t, bool check) {
  const uint8_t* c = f.container;
  const uint32_t warp = threadIdx.x / 32;
  fill_tables(t);
  const uint32_t mine = payload_sum(t, c + header, payload);
  if ((threadIdx.x & 31) == 0 && mine) atomicXor(&call->crc_payload, mine);
  if (threadIdx.x == 0) t.good = 1;
  if (!last_block(&call->crc_ticket, true)) return NO_VERDICT;
  // Headers that are longer than this room are read from memory, byte by byte.
  const uint8_t* front = c;
  if (header <= sizeof t.header) {
    for (uint32_t i = threadIdx.x; i < header; i += blockDim.x) t.header[i] = c[i];
    front = t.header;
    __syncthreads();
  }
  const uint32_t data = *reinterpret_cast<volatile unsigned int*>(&call->crc_payload);
  const FieldRow* rows = f.table<FieldRow>(h.crcs_at);
  for (uint32_t i = 0; i < h.crcs; i++) {
    const uint64_t at = rows[i].at + shift(f, h, rows[i].at), behind = header - at - 4;
    const bool whole = rows[i].what != CRC_DATA;
    // The field counts as zeros, or is left out.
    const uint64_t gap = rows[i].what == CRC_HEADER ? 4 : 0, rest = rows[i].what == CRC_HEADER ? 0 : payload, bytes = (whole ? header - 4 + gap : 0) + rest;
    for (uint32_t k = whole ? warp : warp + 4; k < 5; k += blockDim.x / 32) {
      const uint32_t part = k == 0 ? warp_sum(t, front, at) : k == 1 ? warp_sum(t, front + at + 4, behind) : x_to(t, k == 2 ? gap + behind : k == 3 ? rest : bytes);
      if ((threadIdx.x & 31) == 0) t.parts[k] = part;
    }
    __syncthreads();
    if (warp == 0) {
      uint32_t linear = whole ? times(t, t.parts[0], t.parts[2]) ^ t.parts[1] : 0;
      if (rest) linear = (whole ? times(t, linear, t.parts[3]) : 0) ^ data;
      const uint32_t crc = ~(linear ^ times(t, ~0u, t.parts[4]));
      if (threadIdx.x == 0) {
        if (check) t.good &= load<uint32_t>(front + at) == crc;
        else store<uint32_t>(f.container + at, crc);
        if (!check && front != c) store<uint32_t>(t.header + at, crc);
      }
    }
    // The next checksum covers this one.
    __syncthreads();
  }
  return t.good ? GOOD : WRONG;
}
// The same for the container that the call has opened or written.
FZ_DEV Verdict checksums(const Frame& f, bool check) {
  __shared__ SumTables t;
  Call* call = f.call();
  return checksums(f, f.form(call->form), call->header, call->total - call->header, call, t, check);
}
}  // namespace fz
