// Stage ginterp, strict volumes with the default flags: code that encoder and decoder share.
//
// A block has a tile and its far faces: 17 x 17 x 17 points in shared memory. Points are separated
// by parity, so that each pass reads and writes dense vectors: a row has its even points first, a
// plane its even rows, a tile its even planes.
#pragma once
#include "ginterp/lists.cuh"

// Functions that ordinary data do not call: kept out of the code around the call. Values that live on
// behind a call have few registers, so only the encoder, which has nothing under way, has such calls.
#ifdef FZ_EMULATED
#define FZ_RARE inline
#else
#define FZ_RARE __device__ __noinline__
#endif

namespace fz {
namespace ginterp {
// One warp of a block does the coarse levels.
constexpr int VOLUME_THREADS = 128, COARSE_WARP = 3, EXTENT = BODY + 1;

// f32 and f64: adding SHIFT to an integer leaves the integer in the low bits.
template <class T> struct Real;
template <> struct Real<float> {
  typedef uint32_t Bits;
  static constexpr float SHIFT = 8388608.0f;
  // The word of a value without a code, in place of `word`.
  static constexpr uint32_t NO_CODE = 0x4b000000u;
  static constexpr uint32_t MASK = 0x7fffffu;
  static FZ_DEV float from(double x) { return __double2float_rn(x); }
  static FZ_DEV float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
  static FZ_DEV float add_toward_zero(float a, float b) { return __fadd_rz(a, b); }
  static FZ_DEV bool is_finite(float x) { return (__float_as_uint(x) & 0x7f800000u) != 0x7f800000u; }
  static FZ_DEV float not_a_number() { return __uint_as_float(0x7fffffffu); }
  static FZ_DEV float infinity() { return __uint_as_float(0x7f800000u); }
  // A code in the low bits.
  static FZ_DEV uint32_t word(float shifted) { return __float_as_uint(shifted); }
  // NaN becomes `low`. Of two zeros `low` is the positive one and `high` the negative one, as
  // maxima and minima of the device order them.
  static FZ_DEV float clamp(float p, float low, float high) {
#ifdef FZ_EMULATED
    p = p > low ? p : low;
    return p < high ? p : high;
#else
    return fminf(fmaxf(p, low), high);
#endif
  }
};
template <> struct Real<double> {
  typedef uint64_t Bits;
  static constexpr double SHIFT = 4503599627370496.0;
  static constexpr uint32_t NO_CODE = 0;
  static constexpr uint32_t MASK = 0xffffffffu;
  static FZ_DEV double from(double x) { return x; }
  static FZ_DEV double fma(double a, double b, double c) { return __fma_rn(a, b, c); }
  static FZ_DEV double add_toward_zero(double a, double b) { return __dadd_rz(a, b); }
  static FZ_DEV bool is_finite(double x) {
    return ((uint64_t)__double_as_longlong(x) >> 52 & 0x7ff) != 0x7ff;
  }
  static FZ_DEV double not_a_number() { return __longlong_as_double(0x7fffffffffffffffll); }
  static FZ_DEV double infinity() { return __longlong_as_double(0x7ff0000000000000ll); }
  static FZ_DEV uint32_t word(double shifted) { return (uint32_t)__double_as_longlong(shifted); }
  static FZ_DEV double clamp(double p, double low, double high) {
    p = p > low ? p : low;
    return p < high ? p : high;
  }
};

// Where points are. A row starts at a multiple of 16 bytes, and rows and planes are so far apart
// that the lanes of a warp meet in few banks.
template <class T> struct Layout;
template <> struct Layout<float> { static constexpr int ODD = 12, PITCH = 20, ODD_ROW = 200, PLANE = 372; };
template <> struct Layout<double> { static constexpr int ODD = 10, PITCH = 18, ODD_ROW = 168, PLANE = 314; };
template <class T> struct TileLayout : Layout<T> {
  typedef Layout<T> L;
  static constexpr int ODD_PLANE = 9 * L::PLANE, POINTS = 17 * L::PLANE;
  static FZ_DEV int row(int y, int z) {
    return (z >> 1) * L::PLANE + (z & 1 ? ODD_PLANE : 0) + (y >> 1) * L::PITCH + (y & 1 ? L::ODD_ROW : 0);
  }
  static FZ_DEV int at(int x, int y, int z) { return row(y, z) + (x >> 1) + (x & 1 ? L::ODD : 0); }
};

// The numbers of the call in the type of the values.
template <class T> struct Numbers {
  enum : uint32_t { STEP, HALF_RCP = STEP + LEVELS, BOUND = HALF_RCP + LEVELS, LOW, HIGH, THRESHOLD, LIMIT, SHIFT, COUNT };
  T all[COUNT];
  uint32_t radius;
  // Thread `t` sets one of them. A barrier follows.
  FZ_DEV void load(const GinterpParams& p, const GinterpMetadata& m, uint32_t t) {
    typedef Real<T> R;
    if (t >= COUNT) return;
    const double* from = t < HALF_RCP ? m.step + t : t < BOUND ? m.rcp + (t - HALF_RCP) : t == BOUND ? &m.bound : t == LOW ? &m.low : &m.high;
    T v = R::from(t < THRESHOLD ? *from : t == THRESHOLD ? p.threshold_or_base : (double)(t == LIMIT ? m.limit : m.radius));
    if (t >= HALF_RCP && t < BOUND) v *= T(0.5);
    // A number that is not 0 may become a zero of the other sign in the type of the values.
    if (v == T(0) && t == LOW) v = T(0);
    if (v == T(0) && t == HIGH) v = T(-0.0);
    if (t == SHIFT) {
      v += R::SHIFT;
      radius = m.radius;
    }
    all[t] = v;
  }
  FZ_DEV T step(int level) const { return all[STEP + level]; }
  FZ_DEV T half_rcp(int level) const { return all[HALF_RCP + level]; }
  FZ_DEV bool is_bounded(T x) const { return fabs(x) < all[THRESHOLD] && Real<T>::is_finite(x); }
  // 0, or the bound of predictions that is closest to it.
  FZ_DEV T nearest_to_zero() const { return Real<T>::clamp(T(0), all[LOW], all[HIGH]); }
};

// The steps of one level, in registers.
template <class T> struct Scale {
  T half_rcp, step, limit, bound, shift, low, high;
  FZ_DEV Scale(const Numbers<T>& n, int level)
      : half_rcp(n.half_rcp(level)), step(n.step(level)), limit(n.all[n.LIMIT]), bound(n.all[n.BOUND]), shift(n.all[n.SHIFT]), low(n.all[n.LOW]), high(n.all[n.HIGH]) {}
};

// The tile of a block.
struct VolumeTile {
  uint32_t tile[3], dims[2];
  uint32_t element, first_code;  // the first ones
  int extent[3];                 // points, those of far faces included
  FZ_DEV VolumeTile(const Grid& g, uint32_t number) : dims{g.dims[0], g.dims[1]} {
    g.tile_of(number, tile);
    element = g.element(tile[0] * BODY, tile[1] * BODY, tile[2] * BODY);
    first_code = g.first_code(tile);
#pragma unroll
    for (int d = 0; d < 3; d++) extent[d] = (int)min((uint32_t)EXTENT, g.dims[d] - tile[d] * BODY);
  }
  // For a dimension that is not a constant at compile time: an array with such an index would be in
  // local memory.
  FZ_DEV int extent_along(int d) const { return d == 0 ? extent[0] : d == 1 ? extent[1] : extent[2]; }
  FZ_DEV bool has_far_faces() const { return extent[0] == EXTENT && extent[1] == EXTENT && extent[2] == EXTENT; }
  FZ_DEV bool owns_all() const { return min(min(extent[0], extent[1]), extent[2]) >= (int)BODY; }
  // Tiles behind the far faces own as much as this one.
  FZ_DEV bool has_whole_neighbors(const Grid& g) const {
    bool whole = true;
#pragma unroll
    for (int d = 0; d < 3; d++) whole = whole && g.dims[d] - tile[d] * BODY >= 2 * BODY;
    return whole;
  }
  FZ_DEV bool has(int x, int y, int z) const { return x < extent[0] && y < extent[1] && z < extent[2]; }
  // The number of an element of the array.
  FZ_DEV uint32_t at(int x, int y, int z) const { return element + ((uint32_t)z * dims[1] + y) * dims[0] + x; }
};

// Where the codes of a tile are, and those of the tiles behind its far faces.
struct VolumeCodes {
  // By x + 2 y + 4 z, each 1 after the far face, and the points that this tile and the next one
  // own.
  uint32_t first[8], owned[2][3];
  // Some thread of the block sets each; a barrier follows.
  FZ_DEV void load(const Grid& g, const VolumeTile& t) {
    const uint32_t n = threadIdx.x;
    if (n < 8) {
      const uint32_t tile[3] = {t.tile[0] + (n & 1), t.tile[1] + (n >> 1 & 1), t.tile[2] + (n >> 2)};
      first[n] = g.first_code(tile);
    }
#pragma unroll
    for (uint32_t d = 0; d < 3; d++) {
      const uint32_t rest = g.dims[d] - t.tile[d] * BODY;
      if (n == 8 + d) owned[0][d] = min(rest, BODY);
      if (n == 11 + d) owned[1][d] = rest > BODY ? min(rest - BODY, BODY) : 0;
    }
  }
  // The place among all codes of point i, j, k of class `c`, which the array has. Levels 0 and 1
  // have classes; 2 means the points whose coordinates are multiples of 4. The first points of the
  // next tiles are those with an index of 8, or 4 at levels 1 and 2.
  FZ_DEV uint32_t place(int level, int c, int i, int j, int k) const {
    const int edge = level == 0 ? 8 : 4;
    const bool x = i == edge, y = j == edge, z = k == edge;
    const uint32_t start = first[(x ? 1 : 0) + (y ? 2 : 0) + (z ? 4 : 0)];
    const TileOrder order = {{owned[x][0], owned[y][1], owned[z][2]}};
    const uint32_t p = x ? 0 : i, q = y ? 0 : j, r = z ? 0 : k;
    if (level == 2) return start + order.coarse(4 * q, 4 * r) + p;
    return start + Classes(order.owned, level).place(c, p, q, r);
  }
};

template <class T> struct __align__(16) VolumeShared {
  // After the points, a row of zeros, which is used in place of missing rows.
  T points[TileLayout<T>::POINTS + Layout<T>::PITCH];
  Numbers<T> numbers;
  VolumeCodes codes;
  // Codes 0 that the tile owns; 1 if the array keeps some values of the tile.
  uint32_t zeros, keeps;
  // By the lanes of a warp.
  FZ_DEV void start(int lane) {
    if (lane < Layout<T>::PITCH) points[TileLayout<T>::POINTS + lane] = T(0);
    if (lane == 30) zeros = 0;
    if (lane == 31) keeps = 0;
  }
};

}  // namespace ginterp
}  // namespace fz
