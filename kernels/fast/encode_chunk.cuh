// Stage fast, encoder. A block encodes a chunk, a warp a unit, in three steps: it counts the words
// of the unit in all modes and chooses one; makes the bit planes in registers; and writes the
// words. How a block learns the position of its words differs between small and large arrays
// (encode_small.cuh, encode.cu).
#pragma once
#include "fast/lookback.cuh"
#include "fast/exact.cuh"

namespace fz {
namespace fast {
// A unit whose words are counted.
struct Coded {
  Widths w;
  uint64_t reference;
  uint32_t k, kind, most, descriptor;
};
// The outcome of coding a chunk: an earlier launch failed; its words are counted; its codes are
// beyond HALF2_REACH; its codes are equal.
enum Outcome { CANCELLED, COUNTED_WORDS, OUT_OF_REACH, ONE_CODE };

// A unit of the array: the first value of this lane in a unit of whole rows, and the stride of its
// rows. EDGES: units at the edge have rows too if they end with groups of four values; those beyond
// the edge are repeated.
template <class T, int DIM, bool EDGES> struct Source {
  const T* src;
  Chunk chunk;
  Unit<DIM> u;
  bool rows, beyond;
  const T* at;
  uint64_t row;
  uint32_t last;  // row of this lane
  FZ_DEV Source(const Args& a, const Params& p, uint32_t number, uint32_t k)
      : src(reinterpret_cast<const T*>(address(input(a, 0)))), chunk(chunk_at<DIM>(p, number)), u(p, chunk, k), rows(u.whole & in_pieces<T, DIM>(p, src)),
        beyond(false), at(DIM == 1 ? src + u.first + 4 * (threadIdx.x & 31) : src + u.lane_first(p)), row(DIM == 1 ? 128 : Unit<DIM>::row(p)), last(7) {
    if constexpr (EDGES && DIM > 1) {
      const uint32_t lane = threadIdx.x & 31, i = u.x + 4 * (lane & 7), j = u.y + 8 * (lane >> 3);
      rows = u.exists & in_quads<T>(p, src);
      if (!rows) return;
      beyond = i >= p.x();
      last = j >= p.y() ? 0 : min(p.y() - 1 - j, 7u);  // seed: edge-row
      at = src + ((uint64_t)u.z * p.y() + min(j, p.y() - 1)) * p.x() + (beyond ? p.x() - 4 : i);
    }
  }
  // Row `j` of this lane in a unit of rows.
  FZ_DEV void load(T (&x)[4], uint32_t j) const {
    if constexpr (EDGES && DIM > 1) {
      load_row(x, at + min(j, last) * row);
      x[0] = beyond ? x[3] : x[0]; x[1] = beyond ? x[3] : x[1]; x[2] = beyond ? x[3] : x[2];
    } else load_row(x, at + j * row);
  }
  // One of four values of the chunk on its diagonal.
  FZ_DEV const T* some(const Params& p, uint32_t i) const {
    if constexpr (EDGES) return src + ((uint64_t)(chunk.z * 8) * p.y() + min(u.y + 8 * i, p.y() - 1)) * p.x() + min(u.x + 8 * i, p.x() - 1);
    else return first(p) + 8 * i * (1 + row);
  }
  // The first value of the chunk.
  FZ_DEV const T* first(const Params& p) const { return src + Unit<DIM>(p, chunk, 0).first; }
};

// The codes of a unit with values that have none, or that are not loaded yet; returns the kind of
// its exceptions. `t`: its values, if they are loaded as rows and the block has registers for them.
template <class T, int DIM, bool IS_SMALL, bool EDGES, int N>
FZ_DEV uint32_t code_with_exceptions(const Args& a, uint32_t number, uint32_t k, Shared& s, const Grid<T>& grid, const Source<T, DIM, EDGES>& from, const T (&t)[N], typename Grid<T>::Code (&q)[32]) {
  uint4* const mine = s.codes[k];
  uint32_t kind;
  if constexpr (IS_SMALL && sizeof(T) == 4) {
    T rows[32];
#pragma unroll
    for (int e = 0; e < 32; e++) rows[e] = t[e];
    if (DIM == 1 && from.rows) {
      __syncwarp();
      put_groups(mine, rows);
      __syncwarp();
      get_rows(mine, rows);
    }
    const auto values = [&](uint32_t row, T (&x)[16]) {
      if (from.rows) {
#pragma unroll
        for (int e = 0; e < 16; e++) x[e] = rows[4 * row + e];
      } else load_rows<T, DIM>(x, params<Params>(a), from.u, from.src, row, false);
    };
    kind = note_exceptions<T>(exceptions(grid, values, q), k, s);
    if (DIM == 1) put_rows(mine, q);
  } else {
    kind = note_exceptions<T>(exceptions_apart<T, DIM>(a, number, mine), k, s);
    if (DIM == 1) get_rows(mine, q); else get(mine, q);
  }
  return kind;
}

// Notes the code of a unit of equal codes, by one of its threads. All threads may read it behind
// the next barrier.
FZ_DEV void note_code(Shared& s, const Coded& c, bool exists, bool single) {
  const int32_t code = single ? s.least[c.k] : SEVERAL;
  s.code[c.k] = code;
  const int32_t only = c.kind == NONE ? code : SEVERAL;  // seed: one-code-exact
  s.only[c.k] = !exists ? ABSENT : only;  // seed: one-code-absent
}
// True if a chunk is constant. Its first unit exists.
FZ_DEV bool constant(const Shared& s) {
  const int32_t own = s.only[threadIdx.x & 7], first = s.only[0];
  return __all_sync(ALL, (own == first || own == ABSENT) && first != SEVERAL);
}

// Words of the header of a unit.
FZ_DEV uint32_t header_words(uint32_t desc) { return ((desc & 3) != INTER) + (desc >> 8 & 7) * (desc >> 13 & 1 ? 1 : 2); }

// Chooses the cheapest mode of a unit that exists. `offsets`, `intra`, `inter()`: the widths in
// each mode. Writes number of words and descriptor to `s`; all threads may read them behind the
// next barrier. A unit of equal codes has no planes: mode INTER if the unit before has the same
// code, otherwise OFFSETS, since any other difference costs more than a base.
template <int DIM, class Inter>
FZ_DEV void settle(Shared& s, Coded& c, bool exists, bool single, const Widths& offsets, const Widths& intra, const Inter& inter) {
  const uint32_t lane = threadIdx.x & 31;
  Widths w = offsets;
  uint32_t words = 0;
  c.most = c.descriptor = 0;
  if (exists && single) {
    const bool same = DIM == 3 && c.k && s.code[c.k - 1] == s.code[c.k];  // seed: one-code-same
    c.descriptor = descriptor(same ? INTER : OFFSETS, 0, 0, c.kind, true);
    words = header_words(c.descriptor);
  } else if (exists) {
    uint32_t best = cost(w) + 2, mode = OFFSETS;
    if (DIM == 3 && c.k) {
      const Widths v = inter();
      if (cost(v) <= best) { best = cost(v); w = v; mode = INTER; }
    }
    if (cost(intra) + 2 < best) { w = intra; mode = INTRA; }
    const uint32_t wide = max(w.low, w.high);
    c.most = __reduce_max_sync(ALL, wide);
    uint32_t lean = __reduce_min_sync(ALL, min(w.low, w.high)), planes = bit_length(c.most - lean), parts = w.sums & 0xffff;
    // Joint widths, if they cost less than two for each lane.
    const uint32_t lean_lanes = __reduce_min_sync(ALL, wide), planes_lanes = bit_length(c.most - lean_lanes), lanes_cost = 2 * (w.sums >> 16);
    const bool joint = lanes_cost + 2 * planes_lanes <= parts + 4 * planes;
    if (joint) { w.low = w.high = wide; lean = lean_lanes; planes = planes_lanes; parts = lanes_cost; }
    c.descriptor = descriptor(mode, lean, planes, c.kind, joint);
    words = header_words(c.descriptor) + (parts + 1) / 2;
  }
  if (c.kind != NONE) words += s.exact_words[c.k];
  if (lane == 0) { s.words[c.k] = words; s.descriptors[c.k] = c.descriptor; }
  c.w = w;
}

// The header of a unit: its base and the planes of its widths. Stored in `s` for its own warp.
FZ_DEV void make_header(Shared& s, const Coded& c) {
  const uint32_t lane = threadIdx.x & 31, k = c.k, desc = c.descriptor, mode = desc & 3, lean = desc >> 2 & 63, planes = desc >> 8 & 7;
  uint32_t header = 0;
  if (mode != INTER) {
    // Lane 0 has the first value.
    if (lane == 0) s.header[k][0] = mode == OFFSETS ? s.least[k] : s.firsts[k];
    header = 1;
  }
  for (uint32_t i = 0; i < planes; i++) {
    const uint32_t x = __ballot_sync(ALL, (c.w.low - lean) >> i & 1), y = __ballot_sync(ALL, (c.w.high - lean) >> i & 1);
    if (lane == 0) s.header[k][header] = x;
    header++;
    if (desc >> 13 & 1) continue;
    if (lane == 0) s.header[k][header] = y;
    header++;
  }
  __syncwarp();
}

// The two lower bytes of the codes of a unit as bit planes.
struct Planes { uint32_t low[8], high[8]; };

// A chunk whose words are counted: its state, the words in front of its units, and the first word
// of this unit.
struct Total { uint32_t state, header, start; };
template <class T, int DIM> FZ_DEV Total total(const Params& p, uint32_t number, const Shared& s, uint32_t k, uint64_t reference) {
  const uint32_t lane = threadIdx.x & 31;
  const Box box = box_of<DIM>(p, chunk_at<DIM>(p, number));
  const uint32_t of_unit = lane < 8 ? s.words[lane] : 0, reference_words = reference ? 2 : 0;
  const uint32_t before = __reduce_add_sync(ALL, lane < k ? of_unit : 0), sum = __reduce_add_sync(ALL, of_unit);
  Total t;
  t.header = reference_words + (box.units + 1) / 2;
  t.start = t.header + before;
  const uint32_t size = t.header + sum, raw = box.values * (uint32_t)(sizeof(T) / 4);
  t.state = constant(s) ? (uint32_t)IS_CONSTANT : size > raw ? IS_RAW | raw : size | (reference_words ? (uint32_t)IS_REFERENCED : 0);
  return t;
}

// Writes the entry of a chunk with words, or of a constant chunk, by one thread.
FZ_DEV void put_entry(uint8_t* stream, uint32_t number, uint64_t first, uint32_t state) {
  const uint64_t entry = first | (uint64_t)(state & WORDS) << SIZE_AT;
  store<uint64_t>(stream + 8ull * number, entry | (state & IS_RAW ? RAW : state & IS_REFERENCED ? HAS_REFERENCE : 0));
}
FZ_DEV void put_constant(const Args& a, uint32_t number, const Shared& s, uint64_t reference) {
  const Operand& out = output(a, 0);
  const uint64_t code = (uint64_t)((int64_t)s.least[0] + (int64_t)reference);  // seed: fast-reference
  if (8ull * number + 8 <= out.max) store<uint64_t>(address(out) + 8ull * number, CONSTANT | (code & (CONSTANT - 1) >> 1));  // seed: fast-constant-room
}

// Writes the words of the unit to the chunk at `o`. The first unit also writes the header of the
// chunk.
template <class T, int DIM, bool ANYWHERE, class U>
FZ_DEV void put_words(const Args& a, uint32_t number, const Shared& s, const U& c, Planes& b, const Total& t, uint8_t* o) {
  const uint32_t lane = threadIdx.x & 31, k = c.k, reference_words = c.reference ? 2 : 0;
  if (k == 0) {
    if (lane < reference_words) put_at<ANYWHERE>(o + 4 * lane, (uint32_t)(c.reference >> 32 * lane));
    const uint32_t d = s.descriptors[2 * lane & 7] | s.descriptors[(2 * lane + 1) & 7] << 16;
    if (lane < t.header - reference_words) put_at<ANYWHERE>(o + 4 * (reference_words + lane), d);
  }
  // A unit that does not exist has no base either.
  if (s.words[k] == 0) return;  // seed: fast-few-unit
  o += 4 * t.start;
  const uint32_t lean = c.descriptor >> 2 & 63, header = header_words(c.descriptor);
  if (lane < header) put_at<ANYWHERE>(o + 4 * lane, s.header[k][lane]);
  o += 4 * header;
  if (c.kind != NONE) o += 4 * put_exceptions<T, DIM, ANYWHERE>(a, number, k, s, c.kind, o);
  if (!c.most) return;
  uint8_t* to = o;
  put_planes<ANYWHERE>(to, b.low, 0, c.w, lean, c.most);
  if (c.most > 8) put_planes<ANYWHERE>(to, b.high, 8, c.w, lean, c.most);
  if constexpr (U::FULL_WIDTH) {
    if (c.most > 16) {
      typename U::C r[32];
      recompute<DIM>(s, k, c.descriptor & 3, r);
      to_integers(r);
#pragma unroll 1
      for (uint32_t byte = 2; byte < 4; byte++) {
        planes_of(r, byte, b.low);
        put_planes<ANYWHERE>(to, b.low, 8 * byte, c.w, lean, c.most);
      }
    }
  }
  // The unused half of the last word.
  if (lane == 0 && (to - o & 2)) put_at<ANYWHERE>(to, (uint16_t)0);  // seed: fast-few-anywhere
}

// Writes the values of a raw chunk, by `n` warps of which this one is number `k`, in rows of 32
// values or of the width of the chunk.
template <class T, int DIM> FZ_DEV void put_values(const Args& a, uint32_t number, uint32_t k, uint32_t n, uint8_t* to) {
  const Params& p = params<Params>(a);
  const Chunk chunk = chunk_at<DIM>(p, number);
  const Box b = box_of<DIM>(p, chunk);
  const T* src = reinterpret_cast<const T*>(address(input(a, 0)));
  const uint32_t lane = threadIdx.x & 31, width = DIM == 1 ? 32 : b.x, rows = DIM == 1 ? (b.x + 31) / 32 : b.y * b.z;
  constexpr uint32_t TOGETHER = 8;
  if (lane >= width) return;
  for (uint32_t first = k; first < rows; first += TOGETHER * n) {
    T x[TOGETHER];
#pragma unroll
    for (uint32_t i = 0; i < TOGETHER; i++) {
      const uint32_t r = first + i * n, at = r * width + lane;
      if (r < rows && at < b.values) x[i] = load<T>(src + box_row<DIM>(p, chunk, b, r) + (DIM == 1 ? at : lane));
    }
#pragma unroll
    for (uint32_t i = 0; i < TOGETHER; i++) {
      const uint32_t r = first + i * n, at = r * width + lane;
      if (r < rows && at < b.values) store<T>(to + sizeof(T) * at, x[i]);
    }
  }
}
}  // namespace fast
}  // namespace fz
