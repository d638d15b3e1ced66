// Stage multilevel, encoder: a warp codes batches of a pass.
#pragma once
#include "multilevel/group.cuh"
#include "multilevel/keep.cuh"
#include "multilevel/source.cuh"

namespace fz {
namespace multilevel {
// Counters of token 0 of a warp, in shared memory: by contexts, those of quiet steps in the high half. Four lanes share one.
constexpr uint32_t ZERO_LANES = 8;
struct ZeroCounts {
  uint32_t of[CONTEXTS * ZERO_LANES];
};
// The counters of a warp: most points have token 0.
struct WarpCounts {
  BlockCounts& block;
  ZeroCounts& zero;
  uint32_t busy, raw, batches;
  FZ_DEV WarpCounts(BlockCounts& of, ZeroCounts& own) : block(of), zero(own), busy(0), raw(0), batches(0) {
    for (uint32_t i = threadIdx.x & 31; i < CONTEXTS * ZERO_LANES; i += 32) zero.of[i] = 0;
    __syncwarp();
  }
  // Returns whether the step has a token other than 0.
  FZ_DEV bool add(uint32_t context, uint32_t token, bool live) {
    const bool some = live && token != 0, is_busy = __any_sync(ALL, some);
    if (some) atomicAdd(&block.of[context * SYMBOLS + token], 1u);
    else if (live) atomicAdd(&zero.of[context * ZERO_LANES + threadIdx.x % ZERO_LANES], is_busy ? 1u : 1u << 16);
    return is_busy;
  }
  FZ_DEV void empty() {
    const uint32_t lane = threadIdx.x & 31;
    __syncwarp();
#pragma unroll 1
    for (uint32_t i = lane; i < CONTEXTS * ZERO_LANES; i += 32) {
      const uint32_t n = zero.of[i];
      zero.of[i] = 0;
      if (n & 0xffff) atomicAdd(&block.of[i / ZERO_LANES * SYMBOLS], n & 0xffff);
      if (n >> 16) atomicAdd(&block.quiet[i / ZERO_LANES], n >> 16);
    }
    __syncwarp();
  }
  // Behind a batch. A counter has 16 bits, and four lanes add to it.
  FZ_DEV void note(uint32_t mask) {
    busy += __popc(mask);
    if (++batches % 2047 == 0) empty();
  }
  FZ_DEV void finish() {
    empty();
    block.add_raw(raw);
    if (busy && (threadIdx.x & 31) == 0) atomicAdd(&block.busy, busy);
  }
};
static_assert(2047 * BATCH * (32 / ZERO_LANES) <= 0xffff, "a counter has 16 bits");

// A code, and the value that a decoder restores from it.
template <class T> struct Coded {
  uint32_t u;
  T restored;
};
template <class T> FZ_APART Coded<T> code_apart(const Coder<T>* coder, T x, Predicted<T> p, T left) {
  Coded<T> c;
  c.u = coder->code(x, p, left, c.restored);
  return c;
}

// Shared memory of a warp.
template <class T> struct EncoderRoomOfWarp {
  StagedTaps<T> taps[2];
  ZeroCounts zero;
};

// The other inputs of a pass.
template <class T> struct PassEncoder {
  typedef Num<T> N;
  const Shape& shape;
  const Section& s;
  const Known<T> known;
  const Source<T> source;
  const Coder<T>& coder;
  const Keeper keeper;
  uint8_t* masks;
  FZ_DEV PassEncoder(const Args& a, const MultilevelParams& p, const EncoderMemory& memory, const Section& section, const Coder<T>& of_call)
      : shape(memory.plan->shape), s(section), known(Buffers<T>(memory.pool, p), memory.plan->shape, section.level), source(address(input(a, 0))), coder(of_call),
        keeper(memory, section.first_point), masks(memory.masks + section.first_batch) {}

  // Codes the steps of a group that there are; returns which are busy. Of step j: `left(j)` is the left neighbor, `code(j)` the place
  // of the code, `place(j)` that of the value.
  template <class Left, class Live, class Code, class Place, class Put>
  FZ_DEV uint32_t group(WarpCounts& own, const Predictions<T>& p, const T (&x)[GROUP], uint32_t steps, Left left, Live live, Code code, Place place, Put put) const {
    uint32_t u[GROUP], apart = 0, busy = 0;
    T restored[GROUP];
#pragma unroll
    for (uint32_t j = 0; j < GROUP; j++) {
      const T sum = (x[j] - p.p[j]) * coder.of.rate + N::MAGIC, q = sum - N::MAGIC;
      restored[j] = N::fma(q, coder.of.step, p.p[j]);
      u[j] = zigzag(magic_integer(sum));
      const bool usual = N::abs(x[j] - restored[j]) < coder.bound && coder.of.is_bounded(x[j]) && N::abs(q) < T(MOST_QUOTIENT) && p.context[j] != FILL2;
      if (!usual) apart |= 1u << j;
      if (u[j] >= 16) apart |= 16u << j;
    }
    if (__any_sync(ALL, apart & 15)) {
#pragma unroll
      for (uint32_t j = 0; j < GROUP; j++) {
        if (!(apart >> j & 1)) continue;
        const Coded<T> c = code_apart(&coder, x[j], Predicted<T>{p.p[j], p.context[j]}, left(j));
        u[j] = c.u;
        restored[j] = c.restored;
      }
    }
    const bool long_codes = __any_sync(ALL, apart);
#pragma unroll
    for (uint32_t j = 0; j < GROUP; j++) {
      if (!(steps >> j & 1)) break;
      const bool alive = live(j);
      const uint32_t at = code(j), to = place(j);
      uint32_t token = u[j];
      if (long_codes) {
        if (alive) {
          const Token t = keeper.put(at, p.context[j], u[j]);
          token = t.token;
          own.raw += token == EXACT ? N::BITS : t.bits;
        }
      } else if (alive) {
        keeper.kept[at] = (uint16_t)(token | p.context[j] << 6);
      }
      if (alive) put(j, to, restored[j]);
      busy |= own.add(p.context[j], token, alive) ? 1u << j : 0;
    }
    return busy;
  }
  FZ_DEV void end_batch(WarpCounts& own, uint32_t batch, uint32_t mask) const {
    if ((threadIdx.x & 31) == 0) masks[batch] = (uint8_t)mask;
    own.note(mask);
  }
  // Values of a group; `at(j)`: their elements.
  template <class At> FZ_DEV void load(T (&x)[GROUP], At at) const {
    if (source.whole) {
#pragma unroll
      for (uint32_t j = 0; j < GROUP; j++) x[j] = source.at[at(j)];
    } else {
#pragma unroll
      for (uint32_t j = 0; j < GROUP; j++) x[j] = load_bytes(source.at + at(j));
    }
  }

  // Segments of lines, for warps to have enough of them.
  template <int STENCIL> FZ_DEV void lines(WarpCounts& own, EncoderRoomOfWarp<T>& room) const {
    const uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = gridDim.x * (blockDim.x >> 5);
    const uint32_t count = s.batches / s.per_line, wanted = (warps + count - 1) / count, points = s.known, along = s.along;
    const uint32_t each = max(1u, s.per_line / wanted), segments = (s.per_line + each - 1) / each;
#pragma unroll 1
    for (uint32_t task = warp; task < count * segments; task += warps) {
      const uint32_t number = task / segments, first = task % segments * each, end = min(first + each, s.per_line);
      const Line<T> line(shape, s, known, number);
      T ahead[GROUP];
      auto load_group = [&](uint32_t i) {
        load(ahead, [&](uint32_t j) { return line.element + min(i + j, along - 1) * line.next_element; });
      };
      stage_line<STENCIL>(room.taps[0], line, first * BATCH, 255, points);
      load_group(first * BATCH);
      fz_copies_close();
#pragma unroll 1
      for (uint32_t batch = first, which = 0; batch < end; batch++, which ^= 1) {
        if (batch + 1 < end) stage_line<STENCIL>(room.taps[which ^ 1], line, (batch + 1) * BATCH, 255, points);
        fz_copies_close();
        fz_copies_but<1>();
        __syncwarp();
        const T* taps = &room.taps[which].at[threadIdx.x & 31];
        const uint32_t i = batch * BATCH, steps = along - i, all = steps >= BATCH ? 255 : (1u << steps) - 1, ends = i < 3 || i + BATCH + 4 > points ? 255 : 0;
        uint32_t mask = 0;
#pragma unroll 1
        for (uint32_t g = 0; g < BATCH && all >> g; g += GROUP) {
          T x[GROUP];
#pragma unroll
          for (uint32_t j = 0; j < GROUP; j++) x[j] = ahead[j];
          load_group(i + g + GROUP);
          Predictions<T> p;
          predict_group<STENCIL, STEP, STEP>(p, coder.of, taps, ends, points, [&](uint32_t j) { return i + g + j; });
          mask |= group(own, p, x, all >> g, [&](uint32_t j) { return taps[(j + 3) * STEP]; }, [&](uint32_t) { return line.live; },
                        [&](uint32_t j) { return line.code + (i + g + j) * line.next_code; }, [&](uint32_t j) { return i + g + j; },
                        [&](uint32_t, uint32_t to, T value) { line.odd[(uint64_t)to * line.apart] = value; })
                  << g;
          taps += GROUP * STEP;
        }
        end_batch(own, number * s.per_line + batch, mask);
        __syncwarp();
      }
    }
  }

  // A warp codes batches that follow each other. `finer`: the known points of the level below, or null.
  template <int STENCIL> FZ_DEV void rows(WarpCounts& own, const Known<T>& finer, EncoderRoomOfWarp<T>& room) const {
    const uint32_t lane = threadIdx.x & 31, warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = gridDim.x * (blockDim.x >> 5);
    const uint32_t each = (s.batches + warps - 1) / warps, begin = warp * each, end = min(begin + each, s.batches);
    if (begin >= end) return;
    const uint32_t spacing = 1u << (s.level - 1), width = s.points[0], points = s.known;
    const uint32_t per_y = (shape.has(1) ? spacing : 1) * shape.n[0], per_z = (shape.has(2) ? spacing : 1) * shape.n[0] * shape.n[1];
    const uint32_t to_y = (shape.has(1) ? 2 : 1) * finer.length, to_z = (shape.has(2) ? 2 : 1) * finer.length * finer.rows;
    const bool pairs = finer.length % 2 == 0, full = width % STEP == 0;
    RowPack pack_ahead;
    // Where the values of the steps are.
    uint32_t from_ahead;
    T ahead[GROUP];
    auto stage = [&](StagedTaps<T>& to, uint32_t batch) {
      pack_ahead = RowPack(s, known.length, batch);
      stage_pack(to, known.at, pack_ahead, points, known.wide);
      from_ahead = pack_ahead.in(s, per_y, per_z) + (2 * pack_ahead.x + 1) * spacing;
    };
    auto load_group = [&](const RowPack& pack, uint32_t from, uint32_t g) {
      load(ahead, [&](uint32_t j) {
        const uint32_t i = full ? lane : min(lane, width - 1 - __shfl_sync(ALL, pack.x, g + j));
        return __shfl_sync(ALL, from, g + j) + 2 * spacing * i;
      });
    };
    stage(room.taps[0], begin);
    load_group(pack_ahead, from_ahead, 0);
    fz_copies_close();
#pragma unroll 1
    for (uint32_t batch = begin, which = 0; batch < end; batch++, which ^= 1) {
      const RowPack pack = pack_ahead;
      const uint32_t from = from_ahead;
      if (batch + 1 < end) stage(room.taps[which ^ 1], batch + 1);
      fz_copies_close();
      fz_copies_but<1>();
      __syncwarp();
      const T* taps = &room.taps[which].at[lane + 1];
      const uint32_t steps = s.steps - batch * BATCH, all = steps >= BATCH ? 255 : (1u << steps) - 1, ends = pack.ends(points);
      const uint32_t codes = pack.number * width + pack.x, to = finer.at == nullptr ? 0 : pack.in(s, to_y, to_z) + 2 * pack.x;
      uint32_t mask = 0;
#pragma unroll 1
      for (uint32_t g = 0; g < BATCH && all >> g; g += GROUP) {
        T x[GROUP];
#pragma unroll
        for (uint32_t j = 0; j < GROUP; j++) x[j] = ahead[j];
        if (g == 0) load_group(pack, from, GROUP);
        else load_group(pack_ahead, from_ahead, 0);
        Predictions<T> p;
        predict_group<STENCIL, 1, ROW_TAPS>(p, coder.of, taps, ends >> g, points, [&](uint32_t j) { return __shfl_sync(ALL, pack.x, g + j) + lane; });
        mask |= group(own, p, x, all >> g, [&](uint32_t j) { return taps[j * ROW_TAPS + 3]; }, [&](uint32_t j) { return full || __shfl_sync(ALL, pack.x, g + j) + lane < width; },
                      [&](uint32_t j) { return __shfl_sync(ALL, codes, g + j) + lane; }, [&](uint32_t j) { return finer.at == nullptr ? 0 : __shfl_sync(ALL, to, g + j) + 2 * lane; },
                      [&](uint32_t j, uint32_t to, T value) {
                        if (finer.at != nullptr) put_pair(finer.at + to, pairs, taps[j * ROW_TAPS + 3], value);
                      })
                << g;
        taps += GROUP * ROW_TAPS;
      }
      // The known point behind the last one of the pass, which each row has.
      if (finer.at != nullptr && points > width && lane < min(steps, BATCH) && pack.x + STEP >= width) finer.at[to + 2 * (width - pack.x)] = known.at[pack.row + width];
      end_batch(own, batch, mask);
      __syncwarp();
    }
  }
};
}  // namespace multilevel
}  // namespace fz
