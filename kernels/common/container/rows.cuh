// Container kernels for batches of small arrays: a warp for each array does the usual case, whose
// header has a fixed length. A block stages the tables once for its arrays, and then does the rest
// of its arrays one after the other, each as a grid of one block.
#pragma once
#include "common/container/fixed_header.cuh"

namespace fz {
constexpr uint32_t BLOCK_ROWS = CONTAINER_BLOCK / 32;
// The longest header of the usual case: a piece for each lane.
constexpr uint32_t ROW_HEADER = 512;
struct RowsShared {
  Args common, args[BLOCK_ROWS];
  uint4 headers[BLOCK_ROWS][ROW_HEADER / 16];
  uint32_t rest;
};

// Calls `usual(a, f, header)` by a warp for each array, with memory for a header; if it returns
// false, `rest(a)` by the block. Operand 5 has the number of arrays.
template <class Usual, class Rest> FZ_DEV void over_rows(const BatchArgs& b, RowsShared& s, Staged& staged, Usual usual, Rest rest) {
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x & 31, row = blockIdx.y * BLOCK_ROWS + warp;
  const bool exists = row < b.args.operands[5].max;
  Args& a = s.args[warp];
  const BatchItem item(b, exists ? row : 0);
  const int32_t status = item.status(b);
  if (threadIdx.x == 0) s.rest = 0;
  copy_args(b.args, s.common);
  Frame tables(b.args);
  tables.stage_tables(b.args, staged);
  __syncthreads();
  if (exists && status == OK)
    for (uint32_t i = lane; i < ARGS_WORDS; i += 32) words_of(a)[i] = item.word(b, words_of(s.common), i);
  __syncwarp();
  wait_prerequisites();
  if (exists && status != OK) {
    if (b.last && lane == 0) item.report(b, status);
  } else if (exists) {
    Frame f(a);
    f.local = tables.local;
    f.staged = tables.staged;
    const bool fixed = f.staged && f.plan().fixed_header && f.form(0).blank <= ROW_HEADER;
    const bool done = fixed && usual(a, f, reinterpret_cast<uint8_t*>(s.headers[warp]));  // seed: rows-rest
    if (!done && lane == 0) atomicOr(&s.rest, 1u << warp);
  }
  __syncthreads();
  for (uint32_t left = s.rest; left; left &= left - 1) {
    rest(s.args[__ffs(left) - 1]);
    __syncthreads();
  }
}

// Stores a number of `width` bytes in shared memory.
FZ_DEV void store_le(uint8_t* to, uint64_t x, uint32_t width) {
  if (width == 8 && aligned(to, 8)) *reinterpret_cast<uint64_t*>(to) = x;
  else if (width == 4 && aligned(to, 4)) *reinterpret_cast<uint32_t*>(to) = (uint32_t)x;
  else
    for (uint32_t k = 0; k < width; k++) to[k] = (uint8_t)(x >> 8 * k);
}
}  // namespace fz
