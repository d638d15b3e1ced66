// Words of two's complement and the codes that turn small magnitudes into small numbers.
//
// All functions take a register of words of `W` bytes: four, two or one in 32 bits, and one of 8
// bytes in 64. Narrow words stay packed, because 64 bytes a thread as single bytes would take 64
// registers.
#pragma once
#include "common/memory.cuh"

namespace fz {
template <int W> struct Packed {
  typedef uint32_t T;
  static constexpr uint32_t ONES = W == 1 ? 0x01010101u : W == 2 ? 0x00010001u : 1u;
};
template <> struct Packed<8> {
  typedef uint64_t T;
  static constexpr uint64_t ONES = 1;
};
template <int W> using Pack = typename Packed<W>::T;

// The lowest and the highest bit of every word, and the odd digits of base -2, which are the same
// for all widths.
template <int W> FZ_DEV Pack<W> low_bits() { return Packed<W>::ONES; }
template <int W> FZ_DEV Pack<W> high_bits() { return Packed<W>::ONES << (8 * W - 1); }
template <int W> FZ_DEV Pack<W> odd_digits() { return ~Pack<W>(0) / 3 * 2; }

template <int W> FZ_DEV Pack<W> add(Pack<W> x, Pack<W> y) {
  if constexpr (W == sizeof(Pack<W>)) return x + y;
  const Pack<W> h = high_bits<W>();
  return ((x & ~h) + (y & ~h)) ^ ((x ^ y) & h);
}
template <int W> FZ_DEV Pack<W> sub(Pack<W> x, Pack<W> y) {
  if constexpr (W == sizeof(Pack<W>)) return x - y;
  const Pack<W> h = high_bits<W>();
  return ((x | h) - (y & ~h)) ^ ((x ^ ~y) & h);
}
// Words of ones where the lowest bit is set; nothing but lowest bits may be.
template <int W> FZ_DEV Pack<W> spread(Pack<W> bits) { return (bits << (8 * W - 1) << 1) - bits; }

// 0, -1, 1, -2, ... to 0, 1, 2, 3, ...
template <int W> FZ_DEV Pack<W> zigzag(Pack<W> x) {
  return ((x << 1) & ~low_bits<W>()) ^ spread<W>((x & high_bits<W>()) >> (8 * W - 1));
}
template <int W> FZ_DEV Pack<W> unzigzag(Pack<W> x) { return ((x >> 1) & ~high_bits<W>()) ^ spread<W>(x & low_bits<W>()); }

// Digits of base -2.
template <int W> FZ_DEV Pack<W> negabinary(Pack<W> x) { return add<W>(x, odd_digits<W>()) ^ odd_digits<W>(); }
template <int W> FZ_DEV Pack<W> unnegabinary(Pack<W> x) { return sub<W>(x ^ odd_digits<W>(), odd_digits<W>()); }

// Codes as types, for functions that take one as a parameter.
struct Plain {
  template <int W> static FZ_DEV Pack<W> of(Pack<W> x) { return x; }
  template <int W> static FZ_DEV Pack<W> back(Pack<W> x) { return x; }
};
struct Zigzag {
  template <int W> static FZ_DEV Pack<W> of(Pack<W> x) { return zigzag<W>(x); }
  template <int W> static FZ_DEV Pack<W> back(Pack<W> x) { return unzigzag<W>(x); }
};
struct Negabinary {
  template <int W> static FZ_DEV Pack<W> of(Pack<W> x) { return negabinary<W>(x); }
  template <int W> static FZ_DEV Pack<W> back(Pack<W> x) { return unnegabinary<W>(x); }
};

// A width as a type.
template <int W> struct Width { static constexpr int BYTES = W; };
// Calls `f(Width<W>())` for a width of 1, 2, 4 or 8 bytes. No plan has another.
template <class F> FZ_DEV void by_width(uint64_t width, F f) {
  if (width == 1) f(Width<1>());
  else if (width == 2) f(Width<2>());
  else if (width == 4) f(Width<4>());
  else if (width == 8) f(Width<8>());
}
}  // namespace fz
