// Stage multilevel: batches of the passes of a level, and their taps. A warp has a batch. The known
// points of a level are those at even multiples of its spacing along x.
#pragma once
#include "multilevel/memory.cuh"
#include "multilevel/predict.cuh"

namespace fz {
namespace multilevel {
// The known points of a level, in rows at all multiples of its spacing.
template <class T> struct Known {
  T* at;
  uint32_t rows, length;
  // True if rows are aligned to 16 bytes.
  bool wide;
  FZ_DEV Known(const Buffers<T>& buffers, const Shape& s, uint32_t level)
      : at(buffers.level(level)), rows(s.grid(1, level - 1)), length(halved(s.n[0], level)), wide(length % (16 / sizeof(T)) == 0) {}
};

// The part of a line of steps of a pass over z or y that belongs to one lane.
template <class T> struct Line {
  // The first known point and the first point of the pass. The next ones of each are `apart` elements away.
  const T* even;
  T* odd;
  uint32_t apart;
  // The place of the first code and the distance to the next one, and the same for elements of the array.
  uint32_t code, next_code, element, next_element;
  bool live;
  FZ_DEV Line() : even(nullptr), odd(nullptr), apart(0), code(0), next_code(0), element(0), next_element(0), live(false) {}
  // `lane` is the place in the strip.
  FZ_DEV Line(const Shape& shape, const Section& s, const Known<T>& known, uint32_t line, uint32_t lane = threadIdx.x & 31) {
    const uint32_t strip = line % s.strips, other = line / s.strips;
    const uint32_t width = s.points[0], spacing = 1u << (s.level - 1);
    uint32_t x = strip * STEP + lane;
    live = x < width;
    x = live ? x : width - 1;
    const uint32_t plane = known.rows * known.length, whole = shape.n[0] * shape.n[1];
    if (s.axis == 2) {
      const uint32_t y = shape.has(1) ? 2 * other : other;
      T* first = known.at + (uint64_t)y * known.length + x;
      even = first;
      odd = first + plane;
      apart = 2 * plane;
      code = other * width + x;
      next_code = width * s.points[1];
      element = spacing * whole + y * (shape.has(1) ? spacing : 1) * shape.n[0];
      next_element = 2 * spacing * whole;
    } else {
      T* first = known.at + (uint64_t)other * plane + x;
      even = first;
      odd = first + known.length;
      apart = 2 * known.length;
      code = other * s.points[1] * width + x;
      next_code = width;
      element = (other * (shape.has(2) ? spacing : 1)) * whole + spacing * shape.n[0];
      next_element = 2 * spacing * shape.n[0];
    }
    element += x * 2 * spacing;
  }
};

// Writes a known point and the point after it; if `pairs`, in one store.
template <class T> FZ_DEV void put_pair(T* to, bool pairs, T even, T odd) {
  typedef typename Num<T>::Pair Pair;
  if (pairs) {
    Pair pair;
    pair.x = even;
    pair.y = odd;
    *reinterpret_cast<Pair*>(to) = pair;
  } else {
    to[0] = even;
    to[1] = odd;
  }
}

// In a level without points of the pass over x, copies the known points, which are those of the next level too.
template <class T> FZ_DEV void copy_known(const Shape& shape, const Known<T>& from, const Known<T>& to, uint32_t planes) {
  const uint32_t step = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < from.rows * planes; i += step) {
    const uint32_t y = i % from.rows, z = i / from.rows;
    to.at[((uint64_t)(shape.has(2) ? 2 * z : z) * to.rows + (shape.has(1) ? 2 * y : y)) * to.length] = from.at[(uint64_t)i * from.length];
  }
}
}  // namespace multilevel
}  // namespace fz
