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
  FZ_DEV Line(const Shape& shape, const Section& s, const Known<T>& known, uint32_t line) {
    const uint32_t lane = threadIdx.x & 31, strip = line % s.strips, other = line / s.strips;
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
  FZ_DEV T tap(int i, uint32_t count) const { return even[(uint64_t)max(0, min(i, (int)count - 1)) * apart]; }
};

// An iterator over the steps of a pass over x.
template <class T> struct RowStep {
  uint32_t strip, y, z, number;
  FZ_DEV RowStep(const Section& s, uint32_t step) {
    number = step / s.strips;
    strip = step - number * s.strips;
    z = number / s.points[1];
    y = number - z * s.points[1];
  }
  FZ_DEV void next(const Section& s) {
    strip++;
    if (strip < s.strips) return;
    strip = 0;
    number++;
    y++;
    if (y < s.points[1]) return;
    y = 0;
    z++;
  }
  // The point of this lane in its row.
  FZ_DEV uint32_t i() const { return strip * STEP + (threadIdx.x & 31); }
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
// The places of rows in an array.
struct RowMap {
  uint32_t per_y, per_z;
  template <class T> FZ_DEV uint32_t at(const RowStep<T>& step) const { return step.y * per_y + step.z * per_z; }
};

// The known values of a step of a pass over x. In `beside`, lanes 0 to 3 have the values after the step, and lanes 29 to 31 those
// before it.
template <class T> struct RowTaps {
  T own, beside;
  FZ_DEV void load(const T* row, uint32_t point, uint32_t known) {
    const uint32_t lane = threadIdx.x & 31;
    const int last = (int)known - 1, i = (int)point;
    own = row[min(i, last)];
    const int other = lane < 4 ? i + 32 : i - 32;
    beside = own;
    if (lane < 4 || lane >= 29) beside = row[max(0, min(other, last))];
  }
  // The value `BY` points after that of the lane. All lanes must call the function.
  template <int BY> FZ_DEV T at() const {
    const uint32_t lane = threadIdx.x & 31;
    const bool other = BY > 0 ? lane < (uint32_t)(BY > 0 ? BY : 0) : lane >= (uint32_t)(BY > 0 ? 32 : 32 + BY);
    return __shfl_sync(ALL, other ? beside : own, (int)lane + BY);
  }
  template <int STENCIL> FZ_DEV Predicted<T> predict(const Predictor<T>& of, uint32_t i, uint32_t known) const {
    const T a = at<-1>(), c = at<1>(), d = at<2>();
    T t0 = own, a5 = own, d5 = own, t7 = own;
    if constexpr (STENCIL >= 6) {
      a5 = at<-2>();
      d5 = at<3>();
    }
    if constexpr (STENCIL == 8) {
      t0 = at<-3>();
      t7 = at<4>();
    }
    Guess<T> g = inside<STENCIL>(t0, a5, a, own, c, d, d5, t7);
    const bool end = i < 3 || i + 5 > known;
    if (end) {
      const uint32_t left = i + 1, right = known > left ? known - left : 0;
      g = anywhere(STENCIL, left, right, t0, a5, a, own, c, d, d5, t7, of.step);
    }
    return of.resolve(g, own, c, i + 1 < known);
  }
};

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
