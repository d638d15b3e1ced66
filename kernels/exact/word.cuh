// Stage exact: words of 1, 2, 4, and 8 bytes as integers modulo 2^w, by the rules of src/stages/exact/word.rs.
#pragma once
#include "common/launch.cuh"
#include "exact/params.h"

namespace fz {
namespace exact {
// Calls `f` with a word of `width` bytes.
template <class F> FZ_DEV void with_word(uint32_t width, F f) {
  switch (width) {
    case 1: return f(uint8_t());
    case 2: return f(uint16_t());
    case 4: return f(uint32_t());
    case 8: return f(uint64_t());
  }
}
// The type in which words are added up.
template <class W> struct Wide { typedef uint32_t Word; };
template <> struct Wide<uint64_t> { typedef uint64_t Word; };

template <class W> constexpr uint32_t BITS = 8 * sizeof(W);
template <class W> constexpr W LOW = (W)((W)~W(0) >> 1);

// All bits are the highest one.
template <class W> FZ_DEV W sign_of(W o) { return (W)(W(0) - (W)(o >> (BITS<W> - 1))); }
template <class W> FZ_DEV W zigzag(W d) { return (W)((W)(d << 1) ^ sign_of(d)); }
template <class W> FZ_DEV W unzigzag(W u) { return (W)(u >> 1 ^ (W)(W(0) - (W)(u & 1))); }
// The number of bits without leading zeros.
FZ_DEV uint32_t length_of(uint32_t u) { return 32 - __clz((int)u); }
FZ_DEV uint32_t length_of(uint64_t u) { return 64 - __clzll((long long)u); }
FZ_DEV uint32_t length_of(uint8_t u) { return length_of((uint32_t)u); }
FZ_DEV uint32_t length_of(uint16_t u) { return length_of((uint32_t)u); }

// The map between elements and integers.
template <class W> struct Map {
  uint32_t kind;
  W gap, factor;
  FZ_DEV W divided(W d) const { return factor == 1 ? d : (W)(d / factor); }
  FZ_DEV W integer(W x) const {
    if (kind != FLOAT) return divided((W)(x - gap));
    return (W)(divided((W)((W)((x & LOW<W>) - gap) & LOW<W>)) ^ sign_of(x));
  }
  FZ_DEV W element(W o) const {
    if (kind != FLOAT) return (W)((typename Wide<W>::Word)o * factor + gap);
    const W magnitude = (W)(((typename Wide<W>::Word)(W)(o ^ sign_of(o)) * factor + gap) & LOW<W>);
    return (W)(magnitude | (o ^ (o & LOW<W>)));
  }
  // A number of an element whose differences have the factor: for floats the magnitude.
  static FZ_DEV uint64_t place(uint32_t kind, W x) { return kind == FLOAT ? x & LOW<W> : key(x, kind); }
  static FZ_DEV W at(uint32_t kind, uint64_t place) { return kind == FLOAT ? (W)place : (W)key((W)place, kind); }
  // A number whose order is that of signed integers, or of unsigned ones.
  static FZ_DEV uint64_t key(W x, uint32_t kind) { return kind == UNSIGNED ? (uint64_t)x : (uint64_t)x ^ 1ull << (BITS<W> - 1); }
};

FZ_DEV bool is_power(uint64_t of_two) { return (of_two & (of_two - 1)) == 0; }
// An array of integers, or of elements that a map makes integers. Only words of 8 bytes may have a factor, which is a power of 2: f64
// that were f32 have one, and a shift is cheaper than to store integers.
template <class W> struct Integers {
  const W* at;
  // The gap, the bits of magnitudes, and those that become their opposite if the highest bit is set.
  W gap, low, turned;
  uint32_t shift;
  FZ_DEV explicit Integers(const uint8_t* of) : at(reinterpret_cast<const W*>(of)), gap(0), low((W)~W(0)), turned(0), shift(0) {}
  FZ_DEV Integers(const uint8_t* of, const Map<W>& map) : at(reinterpret_cast<const W*>(of)), gap(map.gap), shift(length_of(map.factor) - 1) {
    low = map.kind == FLOAT ? LOW<W> : (W)~W(0);
    turned = map.kind == FLOAT ? (W)~W(0) : (W)0;
  }
  FZ_DEV W integer(W x) const {
    W m = (W)((W)((W)(x & low) - gap) & low);
    if constexpr (sizeof(W) == 8) m >>= shift;
    return (W)(m ^ (W)(sign_of(x) & turned));
  }
  FZ_DEV W operator[](uint64_t i) const { return integer(at[i]); }
};

// The numbers of differences.
template <class W> struct Form {
  W center;
  bool plain;
  FZ_DEV W number(W d) const {
    d = (W)(d - center);
    const W folded = zigzag(d);
    return plain ? d : folded;
  }
  FZ_DEV W difference(W u) const { return (W)(center + (plain ? u : unzigzag(u))); }
};

// In a decoder, in place of codes from this number on, whose value is in the place of the integer.
constexpr uint32_t LONG_CODE = 0xffff;

// The scale of a section.
struct Scale {
  uint32_t least, step;
  FZ_DEV uint32_t class_of(uint32_t length) const {
    const uint32_t above = (length > least ? length - least : 0) >> step;
    return 1 + (above < CLASSES - 1 ? above : CLASSES - 1);
  }
  // The low bits that the numbers of a batch have besides their codes.
  FZ_DEV uint32_t low_bits(uint32_t own, uint32_t bits) const {
    if (own == 0) return 0;
    const uint32_t all = (least + ((own - 1) << step)) / 2;
    return min(all > KEPT ? all - KEPT : 0, bits - KEPT);
  }
};
// Words of the low bits of a batch.
FZ_DEV uint32_t words_of(uint32_t fields, uint32_t bits) { return (fields * bits + 15) / 16; }
}  // namespace exact
}  // namespace fz
