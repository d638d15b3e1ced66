// Stage adm: a warp has a group of 512 elements, a lane 16 consecutive ones.
#include "adm/params.h"
#include "common/coder.cuh"

using namespace fz;
using namespace fz::adm;

// Largest distance to the mean that a code can have; marks groups that are not coded.
constexpr uint32_t FARTHEST = 256 * STEP, PLAIN = 1u << 31;

// Where the parts of a stream are.
struct AdmForm {
  uint64_t n, centers_at, flags_at, codes_at, bits_at;
  uint32_t groups;
  FZ_DEV AdmForm(uint64_t elements, uint32_t width) : n(elements), groups((uint32_t)((elements + GROUP - 1) / GROUP)) {
    centers_at = 4ull * groups;
    flags_at = centers_at + (uint64_t)width * groups;
    codes_at = flags_at + (groups + 7) / 8;
    bits_at = codes_at + n;
  }
  // Elements of this lane.
  FZ_DEV uint32_t mine(uint32_t group, uint32_t lane) const {
    const uint64_t at = (uint64_t)group * GROUP + lane * LANE;
    return n > at ? (uint32_t)least(n - at, LANE) : 0;
  }
};
FZ_DEV AdmForm adm_form(const Args& a) {
  const uint32_t width = params<AdmParams>(a).width;
  return AdmForm(least(length(input(a, 0)), input(a, 0).max) / width, width);
}

// Scratch of the encoder; `encode` in src/stages/adm/device.rs allocates it.
struct AdmScratch {
  uint32_t *tiles, *lanes;  // bytes of a lane of each group, and PLAIN
  uint8_t* slots;
  uint32_t stride;
  FZ_DEV AdmScratch(const Args& a, const AdmForm& f) {
    tiles = reinterpret_cast<uint32_t*>(a.scratch);
    lanes = tiles + (((f.groups + CODER_TILE - 1) / CODER_TILE + 3) & ~3u);
    slots = reinterpret_cast<uint8_t*>(lanes + ((f.groups + 3) & ~3u));
    stride = GROUP * params<AdmParams>(a).width;
  }
};

// The elements of a lane; zeros behind the last one.
template <class T> FZ_DEV void load_lane(uint32_t (&v)[LANE], const uint8_t* src, uint32_t count) {
  uint32_t w[LANE * sizeof(T) / 4];
#pragma unroll
  for (uint32_t i = 0; i < LANE * sizeof(T); i += 16) {
    const uint32_t left = part(count * sizeof(T), i);
    const uint4 q = left >= 16 ? load16(src + i) : load_part(src + i, left);
    w[i / 4] = q.x; w[i / 4 + 1] = q.y; w[i / 4 + 2] = q.z; w[i / 4 + 3] = q.w;
  }
#pragma unroll
  for (uint32_t k = 0; k < LANE; k++) v[k] = sizeof(T) == 4 ? w[k * sizeof(T) / 4] : w[k / 2] >> (16 * (k % 2)) & 0xffff;
}

// The bits of a lane of `bytes` bytes: for each element a one and as many zeros as there are steps;
// then ones in the rest of the last byte, or in all of the next byte, followed by zeros.
FZ_DEV void put_bits(uint8_t* to, uint32_t bytes, const uint32_t (&far)[LANE], uint32_t count, bool ones) {
  uint32_t at = 0, done = 0, byte = 0;
#pragma unroll
  for (uint32_t k = 0; k < LANE; k++) {
    if (k >= count) continue;
    for (; done < at / 8; done++) { to[done] = (uint8_t)byte; byte = 0; }
    byte |= 0x80u >> (at % 8);
    at += 1 + (far[k] ? (far[k] - 1) / STEP : 0);
  }
  for (; done < at / 8; done++) { to[done] = (uint8_t)byte; byte = 0; }
  if (done < bytes) to[done++] = (uint8_t)(byte | 0xffu >> (at % 8));
  for (; done < bytes; done++) to[done] = ones ? 0xff : 0;  // seed: adm-ones
}

template <class T> FZ_DEV uint32_t code_group(const Args& a, const AdmForm& f, const AdmScratch& sc, uint32_t group) {
  const uint32_t lane = threadIdx.x & 31, count = f.mine(group, lane), W = sizeof(T);
  const Out out(a);
  uint32_t v[LANE], sum = 0;
  load_lane<T>(v, address(input(a, 0)) + ((uint64_t)group * GROUP + lane * LANE) * W, count);
#pragma unroll
  for (uint32_t k = 0; k < LANE; k++) sum += v[k];
  const uint32_t center = __reduce_add_sync(ALL, sum) / (uint32_t)least(f.n - (uint64_t)group * GROUP, GROUP);
  if (lane == 0) out.put<T>(f.centers_at + (uint64_t)W * group, (T)center);
  uint32_t far[LANE], bits = 0;
  bool fits = true;
#pragma unroll
  for (uint32_t k = 0; k < LANE; k++) {
    far[k] = v[k] < center ? center - v[k] : v[k] - center;
    if (k >= count) continue;
    bits += 1 + (far[k] ? (far[k] - 1) / STEP : 0);
    // The distance bounds the terms, so the sum of the lane is bounded too.
    fits &= far[k] <= FARTHEST;
  }
  fits &= bits <= 8 * LANE * W;
  const bool plain = !__all_sync(ALL, fits);
  const uint32_t bytes = plain ? LANE * (W - 1) : __reduce_max_sync(ALL, (bits + 7) / 8);
  uint32_t code[4] = {0, 0, 0, 0};
  uint8_t* slot = sc.slots + (uint64_t)group * sc.stride + lane * bytes;
#pragma unroll
  for (uint32_t k = 0; k < LANE; k++) {
    const uint32_t r = far[k] ? 2 * (far[k] - (far[k] - 1) / STEP * STEP) + (v[k] < center) : 1;
    code[k / 4] |= ((plain ? v[k] : r) & 0xff) << (8 * (k % 4));
    if (plain)
      for (uint32_t j = 1; j < W; j++) slot[k * (W - 1) + j - 1] = k < count ? (uint8_t)(v[k] >> (8 * j)) : 0;
  }
  const uint64_t at = f.codes_at + (uint64_t)group * GROUP + lane * LANE;
  const uint32_t room = out.max > at ? (uint32_t)least(out.max - at, count) : 0;
  const uint4 q = make_uint4(code[0], code[1], code[2], code[3]);
  if (room == LANE) store16(out.at + at, q);
  else store_part(out.at + at, q, room);
  if (!plain) put_bits(slot, bytes, far, count, count == 0 && f.groups > MANY);
  if (lane == 0) sc.lanes[group] = bytes | (plain ? PLAIN : 0);
  return bytes;
}

extern "C" __global__ void __launch_bounds__(CODER_THREADS) adm_code(FZ_ARGS) {
  if (cancelled(a)) return;
  const AdmForm f = adm_form(a);
  if ((uint64_t)blockIdx.x * CODER_TILE >= f.groups) return;
  const AdmScratch sc(a, f);
  const uint32_t group = blockIdx.x * CODER_TILE + (threadIdx.x >> 5);
  uint32_t bytes = 0;
  if (group < f.groups) bytes = params<AdmParams>(a).width == 2 ? code_group<uint16_t>(a, f, sc, group) : code_group<uint32_t>(a, f, sc, group);
  note_tile(sc.tiles[blockIdx.x], bytes);
}

extern "C" __global__ void __launch_bounds__(CODER_THREADS) adm_gather(FZ_ARGS) {
  __shared__ Places places;
  __shared__ uint8_t coded[CODER_THREADS];
  if (cancelled(a)) return;
  const AdmForm f = adm_form(a);
  const uint32_t tid = threadIdx.x, lane = tid & 31, first = blockIdx.x * CODER_THREADS, group = first + tid;
  if (f.n == 0 && blockIdx.x == 0 && tid == 0) publish(output(a, 0), 0);
  if (first >= f.groups) return;
  const AdmScratch sc(a, f);
  const Out out(a);
  const uint32_t own = group < f.groups ? sc.lanes[group] : 0;
  coded[tid] = !(own & PLAIN);
  places.find(sc.tiles, own & ~PLAIN);
  if (group < f.groups) out.put<uint32_t>(4ull * group, (uint32_t)(places.before + places.starts[tid]));
  if (tid < CODER_THREADS / 8 && first + 8 * tid < f.groups) {
    uint32_t flags = 0;
    for (uint32_t k = 0; k < 8; k++) flags |= (uint32_t)coded[8 * tid + k] << k;
    out.put<uint8_t>(f.flags_at + first / 8 + tid, (uint8_t)flags);
  }
  for (uint32_t k = tid >> 5; k < (uint32_t)CODER_THREADS && first + k < f.groups; k += CODER_TILE) {
    const uint8_t* from = sc.slots + (uint64_t)(first + k) * sc.stride;
    const uint32_t bytes = 32 * (places.starts[k + 1] - places.starts[k]);
    const uint64_t at = f.bits_at + 32 * (places.before + places.starts[k]);
    for (uint32_t i = 16 * lane; i < bytes; i += 512) out.put16(at + i, load16(from + i));
  }
  if (first + CODER_THREADS >= f.groups && tid == 0) publish(output(a, 0), f.bits_at + 32 * (places.before + places.starts[CODER_THREADS]));
}

// The next one from bit `at` on, or the end.
FZ_DEV uint32_t next_one(const uint8_t* bits, uint32_t at, uint32_t end) {
  uint32_t byte = at < end ? bits[at / 8] & 0xffu >> (at % 8) : 0;
  while (byte == 0) {
    at = at / 8 * 8 + 8;
    if (at >= end) return end;
    byte = bits[at / 8];
  }
  return at / 8 * 8 + __clz(byte) - 24;
}

template <class T> FZ_DEV bool decode_group(const Args& a, const AdmForm& f, uint64_t have, uint32_t group) {
  const uint32_t lane = threadIdx.x & 31, count = f.mine(group, lane), W = sizeof(T);
  const uint8_t* src = address(input(a, 0));
  const uint64_t total = (have - f.bits_at) / 32;
  const uint64_t start = load<uint32_t>(src + 4ull * group), next = group + 1 < f.groups ? load<uint32_t>(src + 4ull * (group + 1)) : total;
  const bool plain = !(src[f.flags_at + group / 8] >> (group % 8) & 1);
  if (next < start || next > total || next - start > LANE * W || (plain && next - start != LANE * (W - 1)) || (group == 0 && start != 0)) return false;  // seed: adm-start
  const uint32_t bytes = (uint32_t)(next - start), end = 8 * bytes;
  const uint8_t* bits = src + f.bits_at + 32 * start + lane * bytes;
  const uint8_t* codes = src + f.codes_at + (uint64_t)group * GROUP + lane * LANE;
  const T center = load<T>(src + f.centers_at + (uint64_t)W * group);
  const Operand& out = output(a, 0);
  const uint64_t at = (uint64_t)group * GROUP + lane * LANE, room = out.max / W;
  uint8_t* dst = address(out) + at * W;
  bool good = true;
  uint32_t one = !plain && count ? next_one(bits, 0, end) : 0;
  good = plain || count == 0 || (one == 0 && end != 0);
  for (uint32_t k = 0; k < count && good; k++) {
    uint32_t v = codes[k];
    if (plain) {
      for (uint32_t j = 1; j < W; j++) v |= (uint32_t)bits[k * (W - 1) + j - 1] << (8 * j);
    } else {
      good = one < end && v >= 1 && v <= 253;
      const uint32_t then = next_one(bits, one + 1, end), steps = then - one - 1, far = v / 2 + STEP * steps;
      v = v & 1 ? center - far : center + far;
      one = then;
    }
    if (at + k < room) store<T>(dst + k * W, (T)v);
  }
  return good;
}

extern "C" __global__ void __launch_bounds__(CODER_THREADS) adm_decode(FZ_ARGS) {
  if (cancelled(a)) return;
  const uint32_t width = params<AdmParams>(a).width, group = blockIdx.x * CODER_TILE + (threadIdx.x >> 5);
  const uint64_t have = least(length(input(a, 0)), input(a, 0).max), bytes = length(output(a, 0));
  const AdmForm f(bytes / width, width);
  bool good = bytes % width == 0;
  if (f.n == 0) good &= have == 0;
  else good &= have >= f.bits_at && (have - f.bits_at) % 32 == 0;
  if (good && group < f.groups) good = width == 2 ? decode_group<uint16_t>(a, f, have, group) : decode_group<uint32_t>(a, f, have, group);
  if (__syncthreads_or(!good) && threadIdx.x == 0) fail(a, CORRUPT);
}
