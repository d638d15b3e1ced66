// RLE: runs of equal integers as value and length. A block has a tile of elements, or one of runs.
#include "common/units.cuh"
#include "rle/params.h"

namespace fz {
namespace rle {
// Where things are in a stream of `n` elements: a count, in chunks also where the runs of each
// begin; values; lengths.
struct Parts {
  uint64_t n, chunks, values;
  FZ_DEV Parts(const RleParams& p, uint64_t bytes) : n(bytes / p.width) {
    chunks = p.chunk ? (n + p.chunk - 1) / p.chunk : 0;
    values = header();
    if (p.width == 8) values = (values + 7) & ~7ull;
  }
  // Bytes that mean something before the values.
  FZ_DEV uint64_t header() const { return chunks ? 8 + 4 * chunks : 4; }
  FZ_DEV uint64_t lengths(uint64_t runs, uint64_t width) const { return values + ((runs * width + 3) & ~3ull); }
};

template <class F> FZ_DEV void with_type(uint64_t width, F f) {
  if (width == 1) f(uint8_t(0));
  else if (width == 2) f(uint16_t(0));
  else if (width == 4) f(uint32_t(0));
  else if (width == 8) f(uint64_t(0));
}

// The largest of the threads before this one; `w`: 32 shared words. Something may still read `w`
// when it ends.
FZ_DEV uint32_t block_most_before(uint32_t v, uint32_t* w) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const uint32_t upto = block_scan_to<Most>(v, w), left = __shfl_up_sync(ALL, upto, 1);
  if (lane == 31) w[warp] = upto;
  __syncthreads();
  return lane ? left : warp ? w[warp - 1] : 0;
}

// ---------------------------------------------------------------- encoder
struct Tile {
  uint32_t runs, last;     // that begin in it, and one more than where the last one does
  uint32_t before, begun;  // the same of all tiles before it
};
struct Runs {
  uint64_t runs;
  FZ_DEV Tile* tiles() { return reinterpret_cast<Tile*>(this + 1); }
};
static_assert(sizeof(Runs) == RUNS_BYTES && sizeof(Tile) == TILE_ENTRY_BYTES, "as in Rust");
FZ_DEV Runs& runs_of(const Args& a) { return *reinterpret_cast<Runs*>(a.scratch); }

struct Shared {
  uint4 tile[TILE / 16];
  uint32_t w[32];
};

// The elements of a tile, in shared memory; each thread has a run of them.
template <class T> struct Elements {
  static constexpr uint32_t COUNT = TILE / sizeof(T), OWN = COUNT / UNIT_THREADS;
  const T* here;
  const uint8_t* src;
  uint64_t first, n, chunk;

  FZ_DEV Elements(Shared& s, const uint8_t* src, uint64_t n, uint64_t chunk, uint64_t tile)
      : here(reinterpret_cast<const T*>(s.tile)), src(src), first(tile * COUNT), n(n), chunk(chunk) {
    uint4 u[UNITS];
    load_tile(u, src + tile * TILE, (n - first) * sizeof(T));
#pragma unroll
    for (int i = 0; i < UNITS; i++) s.tile[unit_at(i) / 16] = u[i];
    __syncthreads();
  }
  FZ_DEV uint64_t own() const { return first + threadIdx.x * OWN; }
  FZ_DEV uint64_t own_end() const { return least(own() + OWN, n); }
  FZ_DEV T at(uint64_t i) const { return i >= first && i - first < COUNT ? here[i - first] : load<T>(src + i * sizeof(T)); }
  FZ_DEV bool opens(uint64_t i) const { return chunk != 0 && i % chunk == 0; }
  FZ_DEV bool begins(uint64_t i) const { return i == 0 || at(i) != at(i - 1) || opens(i); }
};

// Runs that begin among the elements of this thread, and one more than where the last one does.
template <class T> FZ_DEV uint2 count(const Elements<T>& e) {
  uint2 own = make_uint2(0, 0);
  for (uint64_t i = e.own(); i < e.own_end(); i++)
    if (e.begins(i)) {
      own.x++;
      own.y = (uint32_t)(i + 1);
    }
  return own;
}

template <class T> FZ_DEV void encode_count(const Args& a, const RleParams& p, Shared& s) {
  const Operand& in = input(a, 0);
  const uint64_t n = least(length(in), in.max) / sizeof(T);
  if ((uint64_t)blockIdx.x * Elements<T>::COUNT >= n) return;
  const Elements<T> e(s, address(in), n, p.chunk, blockIdx.x);
  const uint2 own = count(e);
  const uint32_t runs = block_sum_to(own.x, s.w), last = block_scan_to<Most>(own.y, s.w);
  Tile& tile = runs_of(a).tiles()[blockIdx.x];
  if (threadIdx.x == UNIT_THREADS - 1) { tile.runs = runs; tile.last = last; }
}

template <class T> FZ_DEV void encode_write(const Args& a, const RleParams& p, Shared& s) {
  const Operand &in = input(a, 0), &out = output(a, 0);
  const Parts parts(p, least(length(in), in.max));
  if ((uint64_t)blockIdx.x * Elements<T>::COUNT >= parts.n) return;
  const Elements<T> e(s, address(in), parts.n, p.chunk, blockIdx.x);
  const uint2 own = count(e);
  const Tile& tile = runs_of(a).tiles()[blockIdx.x];
  uint64_t run = tile.before + block_sum_to(own.x, s.w) - own.x;
  // The last beginning before those of this thread.
  uint32_t begun = max(block_most_before(own.y, s.w), tile.begun);  // seed: rle-begun
  uint8_t* dst = address(out);
  const uint64_t lengths = parts.lengths(runs_of(a).runs, sizeof(T));
  auto put = [&](uint64_t at, auto x) { if (at + sizeof(x) <= out.max) store(dst + at, x); };
  for (uint64_t i = e.own(); i < e.own_end(); i++) {
    if (e.begins(i)) {
      if (e.opens(i)) put(4 + 4 * (i / p.chunk), (uint32_t)run);
      put(parts.values + run++ * sizeof(T), e.at(i));
      begun = (uint32_t)(i + 1);
    }
    if (i + 1 == parts.n || e.begins(i + 1)) put(lengths + 4 * (run - 1), (uint32_t)(i + 2 - begun));
  }
}

// ---------------------------------------------------------------- decoder
constexpr uint32_t OWN_RUNS = TILE_RUNS / UNIT_THREADS;

// How many runs are to be believed; elements before each tile of runs; where each run ends.
struct Index {
  uint64_t* runs;
  FZ_DEV uint64_t* before() const { return runs + 1; }
  FZ_DEV uint32_t* ends(uint64_t tiles) const { return reinterpret_cast<uint32_t*>(before() + tiles); }
};
FZ_DEV Index index_of(const Args& a) { return {reinterpret_cast<uint64_t*>(a.scratch)}; }
// The number of tiles that the index has room for, fixed by the plan.
FZ_DEV uint64_t tiles_of_runs(const Operand& out, uint64_t width) {
  const uint64_t tiles = (out.max / width + TILE_RUNS - 1) / TILE_RUNS;
  return tiles ? tiles : 1;
}

// A stream whose parts are at the places that its numbers state; without runs if they are nowhere.
struct Stream {
  const uint8_t* at;
  Parts parts;
  uint64_t have, runs, lengths;
  bool sound;

  FZ_DEV Stream(const Args& a, const RleParams& p)
      : at(address(input(a, 0))), parts(p, least(length(output(a, 0)), output(a, 0).max)), have(length(input(a, 0))), runs(0), lengths(0), sound(false) {
    if (parts.n == 0) {
      sound = have == 4 && load<uint32_t>(at) == 0;
      return;
    }
    if (have < parts.values) return;
    const uint64_t stated = load<uint32_t>(at + (parts.chunks ? 4 + 4 * parts.chunks : 0));
    lengths = parts.lengths(stated, p.width);
    sound = stated <= parts.n && have == lengths + 4 * stated && (!parts.chunks || load<uint32_t>(at) == parts.chunks);
    if (sound) runs = stated;
  }
  FZ_DEV uint32_t length_of(uint64_t run) const { return load<uint32_t>(at + lengths + 4 * run); }
  FZ_DEV bool zeros(uint64_t from, uint64_t to) const {
    uint32_t any = 0;
    for (; from < to; from++) any |= at[from];
    return any == 0;
  }
};

template <class T> FZ_DEV void fill(const Args& a, const RleParams& p) {
  const Stream s(a, p);
  const Operand& out = output(a, 0);
  const Index index = index_of(a);
  const uint64_t runs = *index.runs, bytes = s.parts.n * sizeof(T);
  const uint32_t* ends = index.ends(tiles_of_runs(out, sizeof(T)));
  uint8_t* dst = address(out);
  if (runs == 0) return;
  constexpr uint32_t EACH = 16 / sizeof(T);
  for (int i = 0; i < UNITS; i++) {
    const uint64_t at = (uint64_t)blockIdx.x * TILE + unit_at(i);
    if (at >= bytes) return;
    uint64_t e = at / sizeof(T), low = 0, high = runs - 1;
    // The first run that ends behind the element.
    while (low < high) {
      const uint64_t mid = (low + high) / 2;
      if (ends[mid] > e) high = mid;
      else low = mid + 1;
    }
    union { T t[EACH]; uint4 u; } unit;
    uint64_t end = ends[low];
    T x = load<T>(s.at + s.parts.values + low * sizeof(T));
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++, e++) {
      if (e >= end && e < s.parts.n) {
        do low++;
        while (low < runs - 1 && ends[low] <= e);
        end = ends[low];
        x = load<T>(s.at + s.parts.values + low * sizeof(T));
      }
      unit.t[k] = x;
    }
    if (bytes - at >= 16) store16(dst + at, unit.u);
    else store_part(dst + at, unit.u, (uint32_t)(bytes - at));
  }
}
}  // namespace rle
}  // namespace fz

using namespace fz;

extern "C" __global__ void __launch_bounds__(256) rle_encode_count(FZ_ARGS) {
  __shared__ rle::Shared s;
  if (cancelled(a)) return;
  const auto& p = params<rle::RleParams>(a);
  rle::with_type(p.width, [&](auto t) { rle::encode_count<decltype(t)>(a, p, s); });
}

// One block: the number of runs that begin before each tile, and the last of them; the fields
// around values and lengths.
extern "C" __global__ void __launch_bounds__(1024) rle_encode_place(FZ_ARGS) {
  __shared__ uint32_t w[32];
  __shared__ uint32_t all;
  if (cancelled(a)) return;
  const auto& p = params<rle::RleParams>(a);
  const Operand &in = input(a, 0), &out = output(a, 0);
  const rle::Parts parts(p, least(length(in), in.max));
  const uint64_t each = TILE / p.width, tiles = (parts.n + each - 1) / each;
  rle::Tile* tile = rle::runs_of(a).tiles();
  const uint64_t share = (tiles + blockDim.x - 1) / blockDim.x;
  const uint64_t from = least(tiles, threadIdx.x * share), to = least(tiles, from + share);
  uint32_t runs = 0, last = 0;
  for (uint64_t i = from; i < to; i++) {
    runs += tile[i].runs;
    last = max(last, tile[i].last);
  }
  const uint32_t upto = block_sum_to(runs, w);
  if (threadIdx.x == blockDim.x - 1) all = upto;
  uint32_t begun = rle::block_most_before(last, w), before = upto - runs;
  for (uint64_t i = from; i < to; i++) {
    tile[i].before = before;
    tile[i].begun = begun;
    before += tile[i].runs;
    begun = max(begun, tile[i].last);
  }
  if (threadIdx.x != 0) return;
  uint8_t* dst = address(out);
  auto put = [&](uint64_t at, uint32_t x) { if (at + 4 <= out.max) store(dst + at, x); };
  auto clear = [&](uint64_t at, uint64_t to) { for (; at < to && at < out.max; at++) dst[at] = 0; };
  rle::runs_of(a).runs = all;
  put(0, parts.chunks ? (uint32_t)parts.chunks : all);
  if (parts.n == 0) {
    publish(out, 4);
    return;
  }
  if (parts.chunks) put(4 + 4 * parts.chunks, all);
  clear(parts.header(), parts.values);
  const uint64_t lengths = parts.lengths(all, p.width);
  clear(parts.values + all * p.width, lengths);
  publish(out, lengths + 4 * (uint64_t)all);
}

extern "C" __global__ void __launch_bounds__(256) rle_encode_write(FZ_ARGS) {
  __shared__ rle::Shared s;
  if (cancelled(a)) return;
  const auto& p = params<rle::RleParams>(a);
  rle::with_type(p.width, [&](auto t) { rle::encode_write<decltype(t)>(a, p, s); });
}

extern "C" __global__ void __launch_bounds__(256) rle_decode_sums(FZ_ARGS) {
  __shared__ uint64_t w[32];
  if (cancelled(a)) return;
  const rle::Stream s(a, params<rle::RleParams>(a));
  const uint64_t first = (uint64_t)blockIdx.x * rle::TILE_RUNS;
  uint64_t sum = 0;
  int empty = 0;
  for (uint64_t run = first + threadIdx.x; run < least(first + rle::TILE_RUNS, s.runs); run += blockDim.x) {
    const uint32_t length = s.length_of(run);
    sum += length;
    empty |= length == 0;
  }
  if (empty) fail(a, CORRUPT);
  sum = block_sum_to(sum, w);
  if (threadIdx.x == blockDim.x - 1) rle::index_of(a).before()[blockIdx.x] = sum;
}

// One block: elements before each tile of runs, and whether all of them make up the array.
extern "C" __global__ void __launch_bounds__(1024) rle_decode_place(FZ_ARGS) {
  __shared__ uint64_t w[32];
  if (cancelled(a)) return;
  const auto& p = params<rle::RleParams>(a);
  const rle::Stream s(a, p);
  const rle::Index index = rle::index_of(a);
  const uint64_t tiles = rle::tiles_of_runs(output(a, 0), p.width), share = (tiles + blockDim.x - 1) / blockDim.x;
  const uint64_t from = least(tiles, threadIdx.x * share), to = least(tiles, from + share);
  uint64_t sum = 0;
  for (uint64_t i = from; i < to; i++) sum += index.before()[i];
  const uint64_t upto = block_sum_to(sum, w);
  uint64_t before = upto - sum;
  for (uint64_t i = from; i < to; i++) {
    const uint64_t own = index.before()[i];
    index.before()[i] = before;
    before += own;
  }
  if (threadIdx.x != blockDim.x - 1) return;
  bool good = s.sound && upto == s.parts.n;
  if (good && s.parts.n) good = s.zeros(s.parts.header(), s.parts.values) && s.zeros(s.parts.values + s.runs * p.width, s.lengths);
  *index.runs = good ? s.runs : 0;
  if (!good) fail(a, CORRUPT);
}

extern "C" __global__ void __launch_bounds__(256) rle_decode_ends(FZ_ARGS) {
  __shared__ uint64_t w[32];
  if (cancelled(a)) return;
  const auto& p = params<rle::RleParams>(a);
  const rle::Stream s(a, p);
  const rle::Index index = rle::index_of(a);
  const uint64_t runs = *index.runs, first = (uint64_t)blockIdx.x * rle::TILE_RUNS + threadIdx.x * rle::OWN_RUNS;
  if ((uint64_t)blockIdx.x * rle::TILE_RUNS >= runs) return;
  uint32_t* ends = index.ends(rle::tiles_of_runs(output(a, 0), p.width));
  const uint64_t last = least(first + rle::OWN_RUNS, runs);
  uint64_t sum = 0;
  for (uint64_t run = first; run < last; run++) sum += s.length_of(run);
  uint64_t end = index.before()[blockIdx.x] + block_sum_to(sum, w) - sum;
  int wrong = 0;
  for (uint64_t run = first; run < last; run++) {
    const uint64_t begin = end;
    end += s.length_of(run);
    ends[run] = (uint32_t)end;
    if (p.chunk && end > begin) {
      // No run leaves its chunk, and the table states which run opens it.
      const uint64_t chunk = begin / p.chunk;
      wrong |= chunk != (end - 1) / p.chunk || (begin % p.chunk == 0 && load<uint32_t>(s.at + 4 + 4 * chunk) != run);  // seed: rle-chunk
    }
  }
  if (wrong) fail(a, CORRUPT);
}

extern "C" __global__ void __launch_bounds__(256) rle_decode_fill(FZ_ARGS) {
  if (cancelled(a)) return;
  const auto& p = params<rle::RleParams>(a);
  rle::with_type(p.width, [&](auto t) { rle::fill<decltype(t)>(a, p); });
}
