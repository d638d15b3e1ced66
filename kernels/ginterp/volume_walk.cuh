// Stage ginterp, strict volumes with the default flags: the passes over a tile, coarse to fine.
//
// Levels 3 and 2 go along z, y and x in turn, which one warp does. Levels 1 and 0 predict along all
// axes at once: points between two others first, then those of faces, then those of cubes. At level 1
// a thread has a point, at level 0 a row of eight, or half of one.
#pragma once
#include "ginterp/volume_codes.cuh"
#include "ginterp/volume_lines.cuh"
#include "ginterp/volume_passes.cuh"

namespace fz {
namespace ginterp {
template <class T, class C, bool ENCODE, bool FULL> struct Walk {
  typedef Real<T> R;
  typedef TileLayout<T> L;
  // The codes of a row of a decoder, fetched ahead, and that of its point on the far face.
  struct Ahead {
    RowCodes<C> row;
    uint32_t far;
  };

  const Args& a;
  VolumeShared<T>& shared;
  const VolumeTile& tile;
  T* points;
  // FULL: of the tile, a multiple of 32 bytes. Otherwise all of them, any address.
  uint8_t* codes;
  // Codes that there are, or that there is room for.
  uint64_t room;
  // FULL: codes from this tile to the ones behind its far faces.
  uint32_t next_y, next_z;
  // Not FULL: rows of eight codes exist, at multiples of their length.
  bool whole_rows;
  // Not FULL: exact values lie in the tile, where the array has them at no address for whole values.
  bool listed;
  uint32_t radius;
  int warp, lane;

  FZ_DEV Walk(const Args& a, VolumeShared<T>& shared, const VolumeTile& tile, uint8_t* codes, uint64_t room, bool listed, uint32_t radius)
      : a(a), shared(shared), tile(tile), points(shared.points), codes(codes), room(room), listed(listed), radius(radius) {
    warp = threadIdx.x >> 5;
    lane = threadIdx.x & 31;
    if (FULL) this->codes += (uint64_t)tile.first_code * sizeof(C);
    next_y = BODY * BODY * tile.dims[0];
    next_z = BODY * tile.dims[0] * tile.dims[1];
    constexpr int ROW = 8 * sizeof(C) < 16 ? 8 * sizeof(C) : 16;
    const bool fits = room >= (uint64_t)tile.first_code + BODY * BODY * BODY;
    whole_rows = !FULL && tile.extent[0] >= (int)BODY && aligned(codes, ROW) && fits;
  }

  // ---- codes
  FZ_DEV uint32_t code_at(uint32_t place) const {
    const uint8_t* p = codes + (uint64_t)place * sizeof(C);
    if (FULL) return *reinterpret_cast<const C*>(p);
    return place < room ? fz::load<C>(p) : 0;
  }
  FZ_DEV void put_code(uint32_t place, uint32_t word) const {
    uint8_t* p = codes + (uint64_t)place * sizeof(C);
    const C code = (C)(word & R::MASK);
    if (FULL) *reinterpret_cast<C*>(p) = code;
    else if (place < room) fz::store<C>(p, code);
  }
  // Of point i, j, k of a class at level 1, or of the points with coordinates that are multiples of 4.
  FZ_DEV uint32_t place1(int c, int i, int j, int k) const {
    if (!FULL) return shared.codes.place(c == 0 ? 2 : 1, c, i, j, k);
    const uint32_t next = (i == 4 ? BODY * BODY * BODY : 0) + (j == 4 ? next_y : 0) + (k == 4 ? next_z : 0);
    return next + c * 64 + ((k & 3) * 4 + (j & 3)) * 4 + (i & 3);
  }
  // The place of the first point of a row at level 0.
  FZ_DEV uint32_t place0(int c, int j, int k) const {
    if (!FULL) return shared.codes.place(0, c, 0, j, k);
    return (j == 8 ? next_y : 0) + (k == 8 ? next_z : 0) + c * 512 + ((k & 7) * 8 + (j & 7)) * 8;
  }
  // The number of existing points among four, from `x` on.
  FZ_DEV int there(int x) const { return FULL ? 4 : max(0, min(4, (tile.extent[0] - x + 1) / 2)); }

  // ---- points
  // One point: `code` is an input of the decoder and an output of the encoder.
  FZ_DEV T one(const Scale<T>& n, int level, const T* own, T p, uint32_t& code, bool owned, int px, int py, int pz) const {
    p = R::clamp(p, n.low, n.high);
    if (ENCODE) {
      const T x = *own;
      Coded1<T> made;
      if (!quantize(n, x, p, made.v, made.word)) made = repair1(shared, level, owned, x, made);
      code = made.word;
      return made.v;
    }
    T v[1] = {restore<C>(n, radius, code, p)};
    if (code == 0) {
      const T predicted[1] = {p};
      exact<1>(v, predicted, own, 1, px, py, pz);
    }
    return v[0];
  }
  // Four points of a row, of which `have` exist.
  FZ_DEV void four(const Scale<T>& n, const T* own, T (&p)[4], T (&v)[4], CodeWords<C>& codes, bool owned, int have, int px, int py, int pz) const {
#pragma unroll
    for (int i = 0; i < 4; i++) p[i] = R::clamp(p[i], n.low, n.high);
    if (ENCODE) {
      T x[4];
      load4(x, own);
      Coded4<T> made;
      bool all = true;
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const bool hit = quantize(n, x[i], p[i], made.v[i], made.word[i]);
        all &= hit || (!FULL && i >= have);
      }
      if (!all) made = repair4(shared, 0, owned ? (uint32_t)have : 0, x[0], x[1], x[2], x[3], made);
#pragma unroll
      for (int i = 0; i < 4; i++) v[i] = made.v[i];
      codes.set(made.word, R::MASK);
      return;
    }
    const bool zero = codes.has_zero();
#pragma unroll
    for (int i = 0; i < 4; i++) v[i] = restore<C>(n, radius, codes.get(i), p[i]);
    if (zero) {
      uint32_t zeros = 0;
#pragma unroll
      for (int i = 0; i < 4; i++) zeros |= codes.get(i) == 0 && i < have ? 1u << i : 0;
      if (FULL || zeros) exact<4>(v, p, own, zeros, px, py, pz);
    }
  }
  // The words in the tile for the points x, x + 2, ... that `zeros` marks, which have no code.
  template <int N> FZ_DEV void exact(T (&v)[N], const T (&p)[N], const T* own, uint32_t zeros, int x, int y, int z) const {
    const T* kept = reinterpret_cast<const T*>(address(output(a, 0))) + tile.at(x, y, z);
    bool bounded = true;
#pragma unroll
    for (int i = 0; i < N; i++) {
      if (!(zeros >> i & 1)) continue;
      const T value = FULL || !listed ? __ldcg(kept + 2 * i) : own[i];
      const bool is = shared.numbers.is_bounded(value);
      v[i] = is ? value : R::is_finite(p[i]) ? p[i] : T(0);  // seed: ginterp-volume-exact
      bounded &= is;
    }
    if (!bounded) shared.keeps = 1;
    if (max(max(x, y), z) < (int)BODY) atomicAdd(&shared.zeros, (uint32_t)__popc(zeros));
  }

  // ---- levels 3 and 2
  // A point of the coarse grid, whose points are 4 apart. The passes of these levels, the last one in
  // two rounds.
  struct Coarse { bool is; int x, y, z; };
  static constexpr int COARSE_ROUNDS = 7;
  template <int ROUND> FZ_DEV Coarse coarse_point() const {
    const int n = ROUND == 6 ? lane + 32 : lane;
    if (ROUND == 0) return {n < 4, (n & 1) * 4, (n >> 1 & 1) * 4, 2};
    if (ROUND == 1) return {n < 6, (n & 1) * 4, 2, (n >> 1) * 2};
    if (ROUND == 2) return {n < 9, 2, n % 3 * 2, n / 3 * 2};
    if (ROUND == 3) return {n < 18, n % 3 * 2, n / 3 % 3 * 2, 1 + 2 * (n / 9)};
    if (ROUND == 4) return {n < 30, n % 3 * 2, 1 + 2 * (n / 3 & 1), n / 6};
    return {n < 50, 1 + 2 * (n & 1), (n >> 1) % 5, (n >> 1) / 5};
  }
  FZ_DEV bool is_there(const Coarse& at) const { return at.is && (FULL || tile.has(4 * at.x, 4 * at.y, 4 * at.z)); }
  template <int ROUND> FZ_DEV void fetch_coarse(uint32_t (&codes)[COARSE_ROUNDS]) const {
    const Coarse at = coarse_point<ROUND>();
    codes[ROUND] = !ENCODE && is_there(at) ? code_at(place1(0, at.x, at.y, at.z)) : radius;
  }
  template <int ROUND> FZ_DEV void coarse_pass(uint32_t code) const {
    // Points of level 3 are two points of the grid apart from their neighbors.
    constexpr int LEVEL = ROUND < 3 ? 3 : 2, U = ROUND < 3 ? 2 : 1, AXIS = ROUND == 6 ? 0 : 2 - ROUND % 3;
    constexpr int APART = U * (AXIS == 0 ? 2 : AXIS == 1 ? 2 * L::PITCH : 2 * L::PLANE);
    const Coarse at = coarse_point<ROUND>();
    if (is_there(at)) {
      T* v = points + 2 * at.x + 2 * at.y * L::PITCH + 2 * at.z * L::PLANE;
      const int along = AXIS == 0 ? at.x : AXIS == 1 ? at.y : at.z;
      T p;
      if (FULL && LEVEL == 3) p = (v[-APART] + v[APART]) * T(0.5);
      else p = line_of<T, FULL>(along / (2 * U), 2, LEVEL, tile.extent[AXIS]).at(v, APART);
      const bool owned = at.x < 4 && at.y < 4 && at.z < 4;
      const Scale<T> n(shared.numbers, LEVEL);
      *v = one(n, LEVEL, v, p, code, owned, 4 * at.x, 4 * at.y, 4 * at.z);
      if (ENCODE && owned) put_code(place1(0, at.x, at.y, at.z), code);
    }
    __syncwarp();
  }
  // By one warp.
  FZ_DEV void coarse() const {
    uint32_t codes[COARSE_ROUNDS];
    fetch_coarse<0>(codes);
    fetch_coarse<1>(codes);
    fetch_coarse<2>(codes);
    fetch_coarse<3>(codes);
    fetch_coarse<4>(codes);
    fetch_coarse<5>(codes);
    fetch_coarse<6>(codes);
    coarse_pass<0>(codes[0]);
    coarse_pass<1>(codes[1]);
    coarse_pass<2>(codes[2]);
    coarse_pass<3>(codes[3]);
    coarse_pass<4>(codes[4]);
    coarse_pass<5>(codes[5]);
    coarse_pass<6>(codes[6]);
  }

  // ---- level 1
  FZ_DEV bool is_there(const Spot& s) const {
    return FULL || tile.has(4 * s.i + 2 * (s.c & 1), 4 * s.j + (s.c & 2), 4 * s.k + (s.c >> 1 & 2));
  }
  template <int PASS> FZ_DEV void fetch_points(uint32_t (&codes)[POINT_ROUNDS<PASS>]) const {
#pragma unroll
    for (int r = 0; r < POINT_ROUNDS<PASS>; r++) {
      const int n = r * VOLUME_THREADS + (int)threadIdx.x;
      codes[r] = radius;
      if (n >= PASS_POINTS<PASS>) continue;
      const Spot s = spot_of<PASS>(n);
      if (is_there(s)) codes[r] = code_at(place1(s.c, s.i, s.j, s.k));
    }
  }
  FZ_DEV Line<T> line1(int i, int d) const { return line_of<T, FULL>(i, 4, 1, tile.extent_along(d)); }
  template <int PASS> FZ_DEV T predict1(const Spot& s, const T* v) const {
    constexpr int X = 1, Y = L::PITCH, Z = L::PLANE;
    if (PASS == 1) {
      const int d = s.c >> 1;
      return line1(d == 0 ? s.i : d == 1 ? s.j : s.k, d).at(v, d == 0 ? X : d == 1 ? Y : Z);
    }
    if (PASS == 2) {
      const bool x = s.c & 1, z = s.c & 4;
      const int first = x ? X : Y, second = z ? Z : Y;
      const Line<T> along = line1(x ? s.i : s.j, x ? 0 : 1), other = line1(z ? s.k : s.j, z ? 2 : 1);
      if (!FULL && along.rank == NEAREST && other.rank == NEAREST) return v[-second] + v[-first] - v[-first - second];
      return face(along.at(v, first), along.rank, other.at(v, second), other.rank);
    }
    const Line<T> x = line1(s.i, 0), y = line1(s.j, 1), z = line1(s.k, 2);
    return cube(x.at(v, X), x.rank == CUBIC, y.at(v, Y), y.rank == CUBIC, z.at(v, Z), z.rank == CUBIC);
  }
  template <int PASS> FZ_DEV void point_pass(uint32_t (&codes)[POINT_ROUNDS<PASS>]) const {
    const Scale<T> n(shared.numbers, 1);
#pragma unroll 1
    for (int m = threadIdx.x; m < PASS_POINTS<PASS>; m += VOLUME_THREADS) {
      const Spot s = spot_of<PASS>(m);
      uint32_t code = codes[0];
#pragma unroll
      for (int r = 1; r < POINT_ROUNDS<PASS>; r++) codes[r - 1] = codes[r];
      if (!is_there(s)) continue;
      const int x = 2 * s.i + (s.c & 1), y = 2 * s.j + (s.c >> 1 & 1), z = 2 * s.k + (s.c >> 2);
      T* v = points + x + y * L::PITCH + z * L::PLANE;
      const bool owned = s.i < 4 && s.j < 4 && s.k < 4;
      *v = one(n, 1, v, predict1<PASS>(s, v), code, owned, 2 * x, 2 * y, 2 * z);
      if (ENCODE && owned) put_code(place1(s.c, s.i, s.j, s.k), code);
    }
  }

  // ---- level 0
  // The class of a row.
  template <bool ODD, int ACROSS> static FZ_DEV int class_of(const RowAt& at) {
    return (ODD ? 1 : 0) + (ACROSS == 0 ? 0 : ACROSS == 2 ? 6 : at.along_z ? 4 : 2);
  }
  template <bool ODD, int ACROSS> FZ_DEV void fetch_row(const RowAt& at, Ahead& ahead) const {
    const int c = class_of<ODD, ACROSS>(at), y = 2 * at.j + (c >> 1 & 1), z = 2 * at.k + (c >> 2);
    if (!FULL && !tile.has(0, y, z)) return;
    const uint32_t place = place0(c, at.j, at.k);
    if (FULL || whole_rows) {
      ahead.row.load_whole(codes + (uint64_t)place * sizeof(C));
    } else {
#pragma unroll
      for (int h = 0; h < 2; h++) {
        uint32_t code[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
          const int x = 2 * (4 * h + i) + (ODD ? 1 : 0);
          code[i] = x < tile.extent[0] && x < (int)BODY ? code_at(place + 4 * h + i) : radius;
        }
        ahead.row.half[h].set(code, 0xffffffffu);
      }
    }
    if (!ODD && (FULL || tile.extent[0] == EXTENT)) {
      const uint32_t far = FULL ? place + BODY * BODY * BODY : shared.codes.place(0, c, 8, at.j, at.k);
      ahead.far = code_at(far);
    }
  }
  template <bool ODD, int ACROSS> FZ_DEV void row(const RowAt& at, Ahead& ahead, int half) const {
    constexpr int X = ODD ? 1 : 0;
    const int c = class_of<ODD, ACROSS>(at), y = 2 * at.j + (c >> 1 & 1), z = 2 * at.k + (c >> 2);
    if (!FULL && !tile.has(X, y, z)) return;
    const bool owned = y < (int)BODY && z < (int)BODY;
    T* r = points + at.k * L::PLANE + (c & 4 ? L::ODD_PLANE : 0) + at.j * L::PITCH + (c & 2 ? L::ODD_ROW : 0);
    const T* zeros = points + L::POINTS;
    // Across one axis: y or z. Across both: y and z.
    const bool swapped = ACROSS == 1 && at.along_z;
    const int apart = swapped ? L::PLANE : L::PITCH;
    const T *before = r - (ACROSS == 0 ? 0 : swapped ? L::ODD_PLANE : L::ODD_ROW), *before_z = r - (ACROSS == 2 ? L::ODD_PLANE : 0);
    const Line<T> line = line_of<T, FULL>(swapped ? at.k : at.j, 8, 0, tile.extent_along(swapped ? 2 : 1));
    const Line<T> line_z = line_of<T, FULL>(at.k, 8, 0, tile.extent[2]);
    const Rows<T> rows(before, ACROSS == 0 ? 0 : apart, line, zeros), rows_z(before_z, ACROSS == 2 ? L::PLANE : 0, line_z, zeros);
    const Scale<T> n(shared.numbers, 0);
    // The last pass has half rows. A loop that stays one is less code for the instruction caches.
    constexpr bool IS_HALF = ODD && ACROSS == 2;
#pragma unroll 1
    for (int h = IS_HALF ? half : 0; h < (IS_HALF ? half + 1 : 2); h++) {
      T p[4], v[4], q[4];
      const int o = (ODD ? L::ODD : 0) + 4 * h;
      if (ACROSS > 0) across4(p, rows, line, o);
      if (ACROSS == 2) across4(q, rows_z, line_z, o);
      if (ODD) {
        const RowPart<T, FULL> part(r, h, tile.extent[0]);
#pragma unroll
        for (int i = 0; i < 4; i++) {
          const Line<T> along = part.line(i);
          const T px = part.at(along, i);
          if (ACROSS == 0) p[i] = px;
          else if (ACROSS == 2) p[i] = cube(px, along.rank == CUBIC, p[i], line.rank == CUBIC, q[i], line_z.rank == CUBIC);
          else if (!FULL && along.rank == NEAREST && line.rank == NEAREST) p[i] = before[o + i] + part.e[i + 1] - before[4 * h + i];
          else p[i] = face(px, along.rank, p[i], line.rank);
        }
      } else if (ACROSS == 2) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
          p[i] = face(p[i], line.rank, q[i], line_z.rank);
          if (!FULL && line.rank == NEAREST && line_z.rank == NEAREST)
            p[i] = before_z[o + i] + before[o + i] - before_z[o + i - L::ODD_ROW];
        }
      }
      CodeWords<C> codes;
      if (!ENCODE) codes = ahead.row.pick(h);
      four(n, r + o, p, v, codes, owned, there(X + 8 * h), X + 8 * h, y, z);
      store4(r + o, v);
      if (ENCODE && owned) put_half(place0(c, at.j, at.k), h, codes, X);
    }
    if (!ODD && (FULL || tile.extent[0] == EXTENT)) {
      T p = rows.at(line, 8);
      if (ACROSS == 2) {
        p = face(p, line.rank, rows_z.at(line_z, 8), line_z.rank);
        if (!FULL && line.rank == NEAREST && line_z.rank == NEAREST) p = before_z[8] + before[8] - before_z[8 - L::ODD_ROW];
      }
      r[8] = one(n, 0, r + 8, p, ahead.far, false, BODY, y, z);
    }
  }
  // Four codes of a row that has this place.
  FZ_DEV void put_half(uint32_t place, int half, const CodeWords<C>& some, int x) const {
    place += 4 * half;
    if (FULL || whole_rows) {
      some.store_whole(codes + (uint64_t)place * sizeof(C));
    } else {
#pragma unroll
      for (int i = 0; i < 4; i++)
        if (8 * half + 2 * i + x < min(tile.extent[0], (int)BODY)) put_code(place + i, some.get(i));
    }
  }

  // A group of rows: `f(odd, across, row, half)`, the first two as types.
  template <int N> struct Number { static constexpr int VALUE = N; };
  template <int PASS, class F> FZ_DEV void group(int g, F f) const {
    if constexpr (PASS == 3) {
      f(Number<1>(), Number<2>(), row_at<2>((g >> 1) * 32 + lane), g & 1);
    } else if (g < ODD_GROUPS<PASS>) {
      const int n = g * 32 + lane;
      if (n < ROW_COUNT<PASS - 1>) f(Number<1>(), Number<PASS - 1>(), row_at<PASS - 1>(n), 0);
    } else {
      const int n = (g - ODD_GROUPS<PASS>) * 32 + lane;
      if (n < ROW_COUNT<PASS>) f(Number<0>(), Number<PASS>(), row_at<PASS>(n), 0);
    }
  }
  template <int PASS> FZ_DEV void fetch_rows(Ahead (&ahead)[GROUP_ROUNDS<PASS>]) const {
#pragma unroll
    for (int r = 0; r < GROUP_ROUNDS<PASS>; r++) {
      const int g = warp + r * (VOLUME_THREADS / 32);
      ahead[r].row.half[0].fill(radius);
      ahead[r].row.half[1].fill(radius);
      ahead[r].far = radius;
      if (g < PASS_GROUPS<PASS>)
        group<PASS>(g, [&](auto odd, auto across, const RowAt& at, int) {
          fetch_row<decltype(odd)::VALUE, decltype(across)::VALUE>(at, ahead[r]);
        });
    }
  }
  template <int PASS> FZ_DEV void row_pass(Ahead (&ahead)[GROUP_ROUNDS<PASS>]) const {
#pragma unroll 1
    for (int g = warp; g < PASS_GROUPS<PASS>; g += VOLUME_THREADS / 32) {
      Ahead own = ahead[0];
      if constexpr (!ENCODE) {
#pragma unroll
        for (int r = 1; r < GROUP_ROUNDS<PASS>; r++) ahead[r - 1] = ahead[r];
      }
      group<PASS>(g, [&](auto odd, auto across, const RowAt& at, int half) {
        row<decltype(odd)::VALUE, decltype(across)::VALUE>(at, own, half);
      });
    }
  }

  // Levels 1 and 0. A decoder does the coarse ones before: the corners of the tile are set, and a
  // __syncwarp of the first warp is behind them. An encoder has done them, and a barrier is behind
  // them.
  FZ_DEV void levels() const {
    uint32_t first[POINT_ROUNDS<1>], second[POINT_ROUNDS<2>], third[POINT_ROUNDS<3>];
    Ahead rows1[GROUP_ROUNDS<1>], rows2[GROUP_ROUNDS<2>], rows3[GROUP_ROUNDS<3>];
    if constexpr (!ENCODE) {
      fetch_points<1>(first);
      fetch_points<2>(second);
      fetch_rows<1>(rows1);
      if (warp == 0) coarse();
      __syncthreads();
    }
    point_pass<1>(first);
    if constexpr (!ENCODE) fetch_points<3>(third);
    __syncthreads();
    point_pass<2>(second);
    if constexpr (!ENCODE) fetch_rows<2>(rows2);
    __syncthreads();
    point_pass<3>(third);
    __syncthreads();
    row_pass<1>(rows1);
    if constexpr (!ENCODE) fetch_rows<3>(rows3);
    __syncthreads();
    row_pass<2>(rows2);
    __syncthreads();
    row_pass<3>(rows3);
  }
};
}  // namespace ginterp
}  // namespace fz
