// Stage ginterp: the lists beside the codes.
//
// Encoder: the block of a tile adds the number of its entries to sums (common/sums.cuh). The next
// launch (list.cu) writes the entries of all tiles in the order of their codes.
//
// Strict decoder: `ginterp_open` has put the exact values into the array. Tiles read them there
// where a code is 0, and do not change them.
#pragma once
#include "common/sums.cuh"
#include "common/units.cuh"
#include "ginterp/geometry.cuh"

namespace fz {
namespace ginterp {
// Results of the run; they lie in the arena, aligned.
FZ_DEV const GinterpMetadata& metadata_of(const Operand& o) { return *reinterpret_cast<const GinterpMetadata*>(address(o)); }

// True if levels 0 and 1 are predicted along all axes at once, and no other flag is set: volumes
// have separate functions for these flags.
FZ_DEV bool has_default_flags(const GinterpMetadata& m) { return *reinterpret_cast<const uint64_t*>(m.flags) == 0x0101; }
static_assert(MD == 1 && offsetof(GinterpMetadata, flags) % 8 == 0, "a word of flags");

FZ_DEV uint32_t load_code(const uint8_t* codes, uint64_t place, uint32_t width) {
  return width == 1 ? codes[place] : width == 2 ? load<uint16_t>(codes + place * 2) : load<uint32_t>(codes + place * 4);
}
FZ_DEV void store_code(uint8_t* codes, uint64_t place, uint32_t width, uint32_t code) {
  if (width == 1) codes[place] = (uint8_t)code;
  else if (width == 2) store<uint16_t>(codes + place * 2, (uint16_t)code);
  else store<uint32_t>(codes + place * 4, code);
}

// How many of `n` elements of `width` bytes from element `first` on have room in an output.
FZ_DEV uint32_t fitting(const Operand& o, uint32_t width, uint64_t first, uint32_t n) {
  const uint64_t room = o.max / width;
  return room > first ? (uint32_t)least(room - first, n) : 0;
}

// ---- encoder
// Entries of the lists, of values of `width` bytes, for which there is room.
FZ_DEV uint64_t room_in_lists(const Args& a, uint32_t width) { return least(output(a, 3).max / width, output(a, 4).max / 4); }

// Lengths of the lists, and the results of the run with the number of entries, by a warp.
FZ_DEV void end_lists(const Args& a, const GinterpParams& p, uint64_t total) {
  constexpr uint32_t WORDS = sizeof(GinterpMetadata) / 8;
  static_assert(WORDS <= 32, "a lane has a word");
  const uint64_t room = room_in_lists(a, p.value), kept = least(total, room);
  const uint64_t* from = reinterpret_cast<const uint64_t*>(&metadata_of(input(a, 1)));
  uint8_t* to = address(output(a, 1));
  const uint32_t lane = threadIdx.x & 31;
  if (lane < WORDS) store<uint64_t>(to + 8 * lane, from[lane]);
  __syncwarp();
  if (lane > 0) return;
  store<uint64_t>(to + offsetof(GinterpMetadata, exact), total);
  store<uint32_t>(to + offsetof(GinterpMetadata, outliers), (uint32_t)total);
  publish(output(a, 1), sizeof(GinterpMetadata));
  publish(output(a, 3), kept * p.value);
  publish(output(a, 4), kept * 4);
  if (total > room) fail(a, OUTLIER_CAPACITY, total);
}

// Adds the entries of a tile to those of the call. One thread of the block of each tile calls it.
FZ_DEV void count_entries(const Args& a, const Grid& g, uint32_t number, uint32_t count) {
  const BlockSums sums(a.zeroed, g.count());
  sums.count(number, count);
  sums.publish_inline(number, count);
}

// A float as bits, which no copy changes.
template <int W> struct BitsOf { typedef uint32_t Type; };
template <> struct BitsOf<8> { typedef uint64_t Type; };

// ---- strict decoder
// Entries of both lists, or of the shorter one.
FZ_DEV uint64_t listed_entries(const Args& a, uint32_t width) { return least(length(input(a, 2)) / width, length(input(a, 3)) / 4); }

// The exact value of an element whose code, at `place` among all codes, is 0. The array contains
// it, except for elements of the padding after the array.
template <class T> FZ_DEV T exact_value(const Args& a, const Grid& g, uint32_t place, uint32_t element) {
  const Operand& out = output(a, 0);
  if (element < out.max / sizeof(T)) return load<T>(address(out) + (uint64_t)element * sizeof(T));
  const uint8_t *values = address(input(a, 2)), *indices = address(input(a, 3));
  uint64_t low = 0, high = listed_entries(a, sizeof(T));
  while (low < high) {
    const uint64_t middle = (low + high) / 2;
    const uint32_t i = load<uint32_t>(indices + middle * 4);
    if (i == element) return load<T>(values + middle * sizeof(T));
    if (i < g.elements() && g.place(i) < place) low = middle + 1;
    else high = middle;
  }
  return T(0);
}

// Adds the codes 0 of a tile to those of the call; the last tile compares them with the number of
// exact values. One thread of the block of each tile calls it.
FZ_DEV void count_zeros(const Args& a, const Grid& g, uint32_t n) {
  // Sum and number of its terms: a tile has less than 2^13 codes, and there are less than 2^29 tiles.
  constexpr unsigned long long TILES = 1ull << 34;
  const unsigned long long sum = atomicAdd(reinterpret_cast<unsigned long long*>(a.zeroed), TILES | n) + (TILES | n);
  if (sum / TILES == g.count() && sum % TILES != metadata_of(input(a, 4)).exact) fail(a, CORRUPT);
}
}  // namespace ginterp
}  // namespace fz
