// Bitpack: the low bits of each integer, side by side, the first element lowest. Widths of 1, 2 and
// 4 bytes; 1, 2, 4, … bits.
#include "bitpack/params.h"
#include "common/units.cuh"

namespace fz {
namespace bitpack {
struct Params : BitpackParams {
  FZ_DEV uint32_t mask() const { return ALL >> (32 - 8 * width); }
  // The code of an element; the bits that the shift drops are at its top, where kept codes have
  // zeros.
  FZ_DEV uint32_t code(uint32_t x) const {
    x = (x - base) & mask();
    return (x >> shift | (uint32_t)((uint64_t)x << (8 * width - shift))) & mask();
  }
  FZ_DEV uint32_t element(uint32_t code) const { return ((code << shift | (uint32_t)((uint64_t)code >> (8 * width - shift))) + base) & mask(); }
  FZ_DEV bool moves() const { return base | shift; }
};

// The largest code that an encoder has seen.
FZ_DEV unsigned long long* largest(const Args& a) { return reinterpret_cast<unsigned long long*>(a.zeroed); }

FZ_DEV uint32_t bits_for(uint32_t x) {
  uint32_t bits = 1;
  while (bits < 32 && x >> bits) bits *= 2;
  return bits;
}

// Bytes of `n` elements.
FZ_DEV uint64_t packed(uint64_t n, uint32_t bits) { return n / 8 * bits + (n % 8 * bits + 7) / 8; }

FZ_DEV uint32_t element(const uint8_t* p, uint64_t i, uint32_t width) {
  return width == 1 ? p[i] : width == 2 ? load<uint16_t>(p + 2 * i) : load<uint32_t>(p + 4 * i);
}

FZ_DEV uint32_t max_of(uint4 u, uint32_t width) {
  const uint32_t w[4] = {u.x, u.y, u.z, u.w};
  uint32_t most = 0;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    if (width == 4) most = max(most, w[i]);
    else if (width == 2) most = max(most, max(w[i] & 0xffff, w[i] >> 16));
    else most = max(most, max(max(w[i] & 0xff, w[i] >> 8 & 0xff), max(w[i] >> 16 & 0xff, w[i] >> 24)));  // seed: bitpack-quarter
  }
  return most;
}
// The largest code among the elements in the first `bytes` of a unit.
FZ_DEV uint32_t max_code(uint4 u, const Params& p, uint32_t bytes) {
  const uint32_t w[4] = {u.x, u.y, u.z, u.w};
  uint32_t most = 0;
#pragma unroll
  for (uint32_t k = 0; k < 16; k++)
    if (k % p.width == 0 && k + p.width <= bytes) most = max(most, p.code(w[k / 4] >> 8 * (k % 4)));
  return most;
}

// True if `bits` bits are too few for the largest code, or the shift drops some of its element.
FZ_DEV bool lost(const Params& p, uint32_t most, uint32_t bits) { return bits_for(most) > bits || (uint64_t)most >> (8 * p.width - p.shift); }
}  // namespace bitpack
}  // namespace fz

using namespace fz;

extern "C" __global__ void __launch_bounds__(256, 4) bitpack_scan(FZ_ARGS) {
  if (cancelled(a)) return;
  const auto& p = params<bitpack::Params>(a);
  const Operand& in = input(a, 0);
  const uint8_t* src = address(in);
  const uint64_t n = least(length(in), in.max);
  uint32_t most = 0;
  for (uint64_t at = (uint64_t)blockIdx.x * TILE; at < n; at += (uint64_t)gridDim.x * TILE) {
    uint4 u[UNITS];
    load_tile(u, src + at, n - at);
#pragma unroll
    for (int i = 0; i < UNITS; i++) {
      // The zeros behind the array have codes too.
      const uint32_t here = part((uint32_t)least(n - at, TILE), unit_at(i));
      if (here > 0) most = max(most, p.moves() ? bitpack::max_code(u[i], p, here) : bitpack::max_of(u[i], p.width));
    }
  }
  most = __reduce_max_sync(ALL, most);
  if ((threadIdx.x & 31) == 0 && most) atomicMax(bitpack::largest(a), (unsigned long long)most);
}

// A requested number of bits must suffice. Only launches after this one see that it does not.
extern "C" __global__ void __launch_bounds__(32) bitpack_judge(FZ_ARGS) {
  if (cancelled(a)) return;
  const auto most = (uint32_t)*bitpack::largest(a);
  const auto& p = params<bitpack::Params>(a);
  if (threadIdx.x == 0 && bitpack::lost(p, most, p.bits ? p.bits : 32)) fail(a, INVALID_ARGUMENT, p.element(most));
}

extern "C" __global__ void __launch_bounds__(256, 4) bitpack_encode(FZ_ARGS) {
  if (cancelled(a)) return;
  const auto& p = params<bitpack::Params>(a);
  const Operand &in = input(a, 0), &out = output(a, 0);
  const uint32_t bits = p.bits ? p.bits : bitpack::bits_for((uint32_t)*bitpack::largest(a));
  const uint64_t n = least(length(in), in.max) / p.width, bytes = bitpack::packed(n, bits);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    publish(out, bytes);
    store<uint64_t>(address(output(a, 1)), bits);
  }
  const uint8_t* src = address(in);
  uint8_t* dst = address(out);
  const uint64_t room = least(bytes, out.max);
  const uint32_t each = 32 / bits, mask = bits == 32 ? ALL : (1u << bits) - 1;
  for (uint64_t w = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; 4 * w < room; w += (uint64_t)gridDim.x * blockDim.x) {
    const uint64_t first = w * each;
    uint32_t word = 0;
    for (uint32_t k = 0; k < each && first + k < n; k++) word |= (p.code(bitpack::element(src, first + k, p.width)) & mask) << k * bits;
    if (4 * w + 4 <= room) store<uint32_t>(dst + 4 * w, word);
    else
      for (uint32_t k = 0; 4 * w + k < room; k++) dst[4 * w + k] = (uint8_t)(word >> 8 * k);
  }
}

extern "C" __global__ void __launch_bounds__(256, 4) bitpack_decode(FZ_ARGS) {
  if (cancelled(a)) return;
  const auto& p = params<bitpack::Params>(a);
  const Operand &in = input(a, 0), &out = output(a, 0);
  const uint8_t* src = address(in);
  const uint32_t bits = *address(input(a, 1));
  const uint64_t bytes = least(length(out), out.max), n = bytes / p.width, have = length(in);
  bool good = bits != 0 && (bits & (bits - 1)) == 0 && bits <= 8 * p.width && bytes % p.width == 0;
  good = good && have == bitpack::packed(n, bits);
  // Bits behind the last element are zero.
  const uint32_t used = good ? (uint32_t)(n % 8 * bits % 8) : 0;
  good = good && (used == 0 || src[have - 1] >> used == 0);  // seed: bitpack-last
  if (!good) {
    if (blockIdx.x == 0 && threadIdx.x == 0) fail(a, CORRUPT);
    return;
  }
  uint8_t* dst = address(out);
  const uint32_t mask = bits == 32 ? ALL : (1u << bits) - 1;
  // A word of the result: one, two or four elements.
  const uint32_t each = 4 / p.width;
  for (uint64_t w = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; 4 * w < bytes; w += (uint64_t)gridDim.x * blockDim.x) {
    uint32_t word = 0;
    for (uint32_t k = 0; k < each && w * each + k < n; k++) {
      const uint64_t i = w * each + k, at = i * bits;
      const uint32_t x = bits <= 8 ? src[at / 8] >> at % 8 : bits == 16 ? load<uint16_t>(src + at / 8) : load<uint32_t>(src + at / 8);
      word |= (((x & mask) << p.shift) + p.base & p.mask()) << 8 * p.width * k;
    }
    if (4 * w + 4 <= bytes) store<uint32_t>(dst + 4 * w, word);
    else
      for (uint32_t k = 0; 4 * w + k < bytes; k++) dst[4 * w + k] = (uint8_t)(word >> 8 * k);
  }
}
