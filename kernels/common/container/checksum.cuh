// Checksums of containers (CRC-32/ISO-HDLC), written or compared. Without its two complements the
// checksum is linear: the checksum of the whole is the sum of the checksums of its pieces, each
// times x to the power of the number of bits behind it. So pieces are summed in any order.
#pragma once
#include "common/container/container.cuh"

namespace fz {
constexpr uint32_t POLYNOMIAL = 0xedb88320u;  // bit 31 is the coefficient of x^0
constexpr uint32_t PIECE = 2048;

FZ_DEV uint32_t times(uint32_t a, uint32_t b) {
  uint32_t p = 0;
  for (int i = 31; i >= 0; i--) {
    if (a >> i & 1) p ^= b;
    b = b & 1 ? b >> 1 ^ POLYNOMIAL : b >> 1;
  }
  return p;
}
// x^(8n)
FZ_DEV uint32_t x_to(uint64_t n) {
  uint32_t power = 1u << 31, square = 1u << 23;  // 1 and x^8
  for (; n; n >>= 1) {
    if (n & 1) power = times(power, square);
    square = times(square, square);
  }
  return power;
}
FZ_DEV void fill_table(uint32_t (&t)[4][256]) {
  for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x) {
    uint32_t c = i;
    for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ POLYNOMIAL : c >> 1;
    t[0][i] = c;
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x)
    for (int k = 1; k < 4; k++) t[k][i] = t[k - 1][i] >> 8 ^ t[0][t[k - 1][i] & 255];
  __syncthreads();
}
FZ_DEV uint32_t sum(const uint32_t (&t)[4][256], const uint8_t* p, uint64_t n) {
  uint32_t c = 0;
  uint64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    c ^= load<uint32_t>(p + i);
    c = t[3][c & 255] ^ t[2][c >> 8 & 255] ^ t[1][c >> 16 & 255] ^ t[0][c >> 24];
  }
  for (; i < n; i++) c = c >> 8 ^ t[0][(c ^ p[i]) & 255];
  return c;
}
FZ_DEV uint32_t warp_xor(uint32_t v) {
#pragma unroll
  for (int d = 16; d; d >>= 1) v ^= __shfl_xor_sync(ALL, v, d);
  return v;
}
// The sum of `n` bytes by one block, in all threads; `shared` is one word.
FZ_DEV uint32_t block_sum(const uint32_t (&t)[4][256], const uint8_t* p, uint64_t n, unsigned int* shared) {
  if (threadIdx.x == 0) *shared = 0;
  __syncthreads();
  const uint64_t piece = (n + blockDim.x - 1) / blockDim.x, from = piece * threadIdx.x;
  uint32_t c = 0;
  if (from < n) {
    const uint64_t to = from + piece < n ? from + piece : n;
    c = times(sum(t, p + from, to - from), x_to(n - to));
  }
  c = warp_xor(c);
  if ((threadIdx.x & 31) == 0) atomicXor(shared, c);
  __syncthreads();
  c = *shared;
  __syncthreads();
  return c;
}
FZ_DEV uint32_t finish(uint32_t linear, uint64_t bytes) { return ~(linear ^ times(~0u, x_to(bytes))); }

// Writes the checksums of a container, or compares them with `check`, by all threads of the grid.
// All threads of the block that ends last return the verdict, other blocks NO_VERDICT.
enum Verdict { NO_VERDICT, GOOD, WRONG };
FZ_DEV Verdict checksums(const Frame& f, bool check) {
  __shared__ uint32_t table[4][256];
  __shared__ unsigned int word;
  const Call* call = f.call();
  const HeaderRow& h = f.form(call->form);
  const uint64_t header = call->header, payload = call->total - call->header;
  const uint8_t* c = f.container;
  fill_table(table);
  const uint64_t threads = (uint64_t)gridDim.x * blockDim.x, first = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  const uint64_t pieces = (payload + PIECE - 1) / PIECE;
  uint32_t mine = 0;
  for (uint64_t k = first; k < pieces; k += threads) {
    const uint64_t from = k * PIECE, to = from + PIECE < payload ? from + PIECE : payload;
    mine ^= times(sum(table, c + header + from, to - from), x_to(payload - to));
  }
  mine = warp_xor(mine);
  if ((threadIdx.x & 31) == 0) atomicXor(&f.call()->crc_payload, mine);
  if (!last_block(&f.call()->crc_ticket, true)) return NO_VERDICT;
  const uint32_t data = *reinterpret_cast<volatile unsigned int*>(&f.call()->crc_payload);
  const FieldRow* rows = f.table<FieldRow>(h.crcs_at);
  bool good = true;
  for (uint32_t i = 0; i < h.crcs; i++) {
    const uint64_t at = rows[i].at + shift(f, h, rows[i].at), behind = header - at - 4;
    uint32_t linear = data;
    uint64_t bytes = payload;
    if (rows[i].what != CRC_DATA) {
      // The field counts as zeros, or is left out.
      const uint32_t before = block_sum(table, c, at, &word), after = block_sum(table, c + at + 4, behind, &word);
      const uint64_t gap = rows[i].what == CRC_HEADER ? 4 : 0;
      linear = times(before, x_to(gap + behind)) ^ after;
      bytes = header - 4 + gap;
      if (rows[i].what == CRC_REST) {
        linear = times(linear, x_to(payload)) ^ data;
        bytes += payload;
      }
    }
    const uint32_t crc = finish(linear, bytes);
    if (check) {
      good &= load<uint32_t>(c + at) == crc;
    } else if (threadIdx.x == 0) {
      store<uint32_t>(f.container + at, crc);
    }
    // The next checksum covers this one.
    __syncthreads();
  }
  return good ? GOOD : WRONG;
}
}  // namespace fz
