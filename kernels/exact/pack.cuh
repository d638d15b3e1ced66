// Stage exact, encoder: the low bits of the numbers of a batch, and the bits of long codes, without gaps. A warp has a batch.
#pragma once
#include "common/scan.cuh"
#include "exact/numbers.cuh"

namespace fz {
namespace exact {
// Consecutive fields of a batch, in shared memory of a warp.
template <class W> struct __align__(16) FieldRoom {
  typedef typename Wide<W>::Word T;
  T of[POINTS];
  // Writes `count` fields of `bits` bits each without gaps.
  FZ_DEV void pack(uint32_t* to, uint32_t count, uint32_t bits) const {
    // The quotients of all numbers of bits of a batch are exact.
    const uint32_t factor = (1u << 20) / bits + 1, words = (count * bits + 31) / 32;
    __syncwarp();
    for (uint32_t k = threadIdx.x & 31; k < words; k += 32) {
      uint32_t f = 32 * k * factor >> 20, have = f * bits + bits - 32 * k, word = (uint32_t)(of[f] >> (bits - have));
      while (have < 32 && ++f < count) {
        word |= (uint32_t)(of[f] << have);
        have += bits;
      }
      to[k] = word;
    }
    __syncwarp();
  }
};
// Fields of equal bits of a whole batch, at least four of each: a lane has consecutive ones, from the last word of the lane before on.
struct Packer {
  uint32_t *at, have, word;
  FZ_DEV Packer(uint32_t* room, uint32_t bits) : word(0) {
    const uint32_t bytes = (threadIdx.x & 31) * bits;
    at = room + bytes / 4;
    have = bytes % 4 * 8;
  }
  FZ_DEV void put(uint32_t field, uint32_t bits) {
    word |= field << have;
    const uint32_t rest = __funnelshift_l(field, 0, have);
    have += bits;
    if (have < 32) return;
    *at++ = word;
    word = rest;
    have -= 32;
  }
  FZ_DEV void finish() {
    __syncwarp();
    if (have) *at |= word;
    __syncwarp();
  }
};
// The low bits of the numbers.
template <class W> FZ_DEV void pack_all(uint32_t* room, const Numbers<W>& n, uint32_t shift) {
  const uint32_t mask = (1u << shift) - 1;
  Packer packer(room, shift);
#pragma unroll
  for (uint32_t k = 0; k < EACH; k++) packer.put((uint32_t)n.u[k] & mask, shift);
  packer.finish();
}
// The bits above them.
template <class W> FZ_DEV void pack_high(uint32_t* room, const Numbers<W>& n, uint32_t shift) {
  typedef typename Wide<W>::Word T;
  const uint32_t bits = BITS<W> - shift;
  Packer packer(room, bits);
#pragma unroll
  for (uint32_t k = 0; k < EACH; k++) {
    const T high = (T)n.u[k] >> shift;
    packer.put((uint32_t)high, min(bits, 32u));
    if (bits > 32) packer.put((uint32_t)((uint64_t)high >> 32), bits - 32);
  }
  packer.finish();
}
// The same for any number of fields and bits.
template <class W> FZ_DEV void pack_some(uint32_t* room, const Numbers<W>& n, uint32_t shift, uint32_t fields) {
  const uint32_t lane = threadIdx.x & 31, words = (fields * shift + 31) / 32, mask = (1u << shift) - 1;
  uint32_t place = lane * EACH;
  if (fields != POINTS) place = warp_sum_to(__popc(n.filled)) - __popc(n.filled);
  for (uint32_t k = lane; k < words; k += 32) room[k] = 0;
  __syncwarp();
  uint32_t *at = room + place * shift / 32, have = place * shift % 32;
  uint64_t bits = 0;
#pragma unroll
  for (uint32_t k = 0; k < EACH; k++) {
    bits |= (uint64_t)((uint32_t)n.u[k] & mask) << have;
    have += n.filled >> k & 1 ? shift : 0;
    if (have >= 32) {
      atomicOr(at++, (uint32_t)bits);
      bits >>= 32;
      have -= 32;
    }
  }
  if ((uint32_t)bits) atomicOr(at, (uint32_t)bits);
  __syncwarp();
}
// Writes the low bits of the numbers of a batch, at most 31 of each.
template <class W> FZ_DEV void put_low_bits(uint32_t* room, const Numbers<W>& n, uint32_t* to, uint32_t shift, uint32_t fields) {
  if (fields == POINTS && shift >= 4) pack_all(room, n, shift);
  else pack_some(room, n, shift, fields);
  // There is room for 16 bytes more.
  for (uint32_t k = threadIdx.x & 31; 128 * k < fields * shift; k += 32) reinterpret_cast<uint4*>(to)[k] = reinterpret_cast<const uint4*>(room)[k];
  __syncwarp();
}
// The low bits of the numbers of a batch, and the bits above them if some code is long.
template <class W> FZ_DEV void put_numbers(FieldRoom<W>& room, const Numbers<W>& n, uint8_t* at, uint32_t shift, uint32_t fields, bool has_long) {
  typedef typename Wide<W>::Word T;
  const uint32_t lane = threadIdx.x & 31;
  uint32_t* to = reinterpret_cast<uint32_t*>(at);
  if (sizeof(W) < 8 || shift < 32) {
    if (shift) put_low_bits(reinterpret_cast<uint32_t*>(room.of), n, to, shift, fields);
  } else {
    uint32_t place = warp_sum_to(__popc(n.filled)) - __popc(n.filled);
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++)
      if (n.filled >> k & 1) room.of[place++] = n.u[k] & (((T)1 << shift) - 1);
    room.pack(to, fields, shift);
  }
  if (!has_long) return;
  pack_high(reinterpret_cast<uint32_t*>(room.of), n, shift);
  uint4* above = reinterpret_cast<uint4*>(to + POINTS / 32 * shift);
  for (uint32_t k = lane; k < 2 * (BITS<W> - shift); k += 32) above[k] = reinterpret_cast<const uint4*>(room.of)[k];
  __syncwarp();
}
}  // namespace exact
}  // namespace fz
