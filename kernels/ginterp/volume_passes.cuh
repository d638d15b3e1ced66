// Stage ginterp, strict volumes: which thread has which points of levels 1 and 0.
#pragma once
#include "ginterp/volume.cuh"

namespace fz {
namespace ginterp {
// A point of level 1: its class and its number in each dimension.
struct Spot { int c, i, j, k; };
// Points of a pass at level 1, far faces included.
template <int PASS> constexpr int PASS_POINTS = PASS == 1 ? 3 * 100 : PASS == 2 ? 3 * 80 : 64;
template <int PASS> constexpr int POINT_ROUNDS = (PASS_POINTS<PASS> + VOLUME_THREADS - 1) / VOLUME_THREADS;
template <int PASS> FZ_DEV Spot spot_of(int n) {
  constexpr int EACH = PASS_POINTS<PASS> / (PASS == 3 ? 1 : 3);
  const int which = PASS == 3 ? 0 : (n >= EACH) + (n >= 2 * EACH);
  const int c = PASS == 1 ? 1 << which : PASS == 2 ? (which == 0 ? 3 : 4 + which) : 7;
  n -= which * EACH;
  const int row = c & 1 ? n / 4 : n / 5, k = c & 2 ? row / 4 : row / 5;
  return {c, n - row * (c & 1 ? 4 : 5), row - k * (c & 2 ? 4 : 5), k};
}

// Rows of level 0 in groups of a warp. `ACROSS`: how many of y and z are odd.
template <int ACROSS> constexpr int ROW_COUNT = ACROSS == 0 ? 9 * 9 : ACROSS == 1 ? 2 * 8 * 9 : 8 * 8;
template <int ACROSS> constexpr int ROW_GROUPS = (ROW_COUNT<ACROSS> + 31) / 32;
// The groups of a pass: rows with odd x, then those with even x. The last pass has half rows.
template <int PASS> constexpr int ODD_GROUPS = PASS == 3 ? 2 * ROW_GROUPS<2> : ROW_GROUPS<PASS - 1>;
template <int PASS> constexpr int PASS_GROUPS = ODD_GROUPS<PASS> + (PASS == 3 ? 0 : ROW_GROUPS<PASS == 3 ? 2 : PASS>);
template <int PASS> constexpr int GROUP_ROUNDS = (PASS_GROUPS<PASS> + VOLUME_THREADS / 32 - 1) / (VOLUME_THREADS / 32);
// A row by its numbers; of rows with one odd coordinate, whether it is z.
struct RowAt { int j, k; bool along_z; };
template <int ACROSS> FZ_DEV RowAt row_at(int n) {
  if (ACROSS == 0) return {n % 9, n / 9, false};
  if (ACROSS == 2) return {n % 8, n / 8, false};
  if (n < 72) return {n % 8, n / 8, false};
  return {(n - 72) % 9, (n - 72) / 9, true};
}
}  // namespace ginterp
}  // namespace fz
