// Stage ans, decoder: one block reads the header and builds a table of all slots; then a warp
// decodes a block of bytes.
#include "ans/stream.cuh"

using namespace fz;
using namespace fz::ans;

// Results of `ans_open`, in scratch memory.
struct AnsOpened {
  uint32_t sound, words;    // 0: nothing can be decoded; words of all blocks
  uint32_t slots[ONE];  // byte | weight << 8 | place in the weight << 20
};
static_assert(sizeof(AnsOpened) <= DECODER_TABLE_BYTES, "as in Rust");
FZ_DEV AnsOpened& opened(const Args& a) { return *reinterpret_cast<AnsOpened*>(a.scratch); }
FZ_DEV AnsForm wanted(const Args& a) { return AnsForm(length(output(a, 0))); }

extern "C" __global__ void __launch_bounds__(1024) ans_open(FZ_ARGS) {
  __shared__ uint32_t w[32], before[256], total;
  if (cancelled(a)) return;
  const uint32_t tid = threadIdx.x;
  const Operand& in = input(a, 0);
  const AnsForm f = wanted(a);
  const uint8_t* src = address(in);
  const uint64_t have = least(length(in), in.max);
  AnsOpened& o = opened(a);
  if (tid == 0) o.sound = 0;
  if (have == 0 && f.bytes == 0) return;
  const bool room = have >= STATES_AT && f.bytes != 0;
  const uint32_t weight = room && tid < 256 ? load<uint16_t>(src + HEADER_BYTES + 2 * tid) : 0;
  const uint32_t upto = block_sum_to(weight, w);
  if (tid < 256) before[tid] = upto - weight;
  if (tid == 1023) total = upto;
  __syncthreads();
  bool good = room && total == ONE;
  if (good) {
    auto word = [&](uint32_t at) { return load<uint32_t>(src + at); };
    good = word(0) == MAGIC && word(4) == f.blocks && word(8) == f.bytes && word(16) % 32 == PROBABILITY_BITS && f.words_at + 2ull * word(12) == have;
    if (good && tid == 0) o.words = word(12);
  }
  if (good) {
    // The last byte whose weights start at or before this slot: bytes without a weight precede it.
    uint32_t low = 0, high = 256;
    while (high - low > 1) {
      const uint32_t m = (low + high) / 2;
      if (before[m] <= tid) low = m;
      else high = m;
    }
    o.slots[tid] = low | (uint32_t)load<uint16_t>(src + HEADER_BYTES + 2 * low) << 8 | (tid - before[low]) << 20;
  }
  if (tid != 0) return;
  if (good) o.sound = 1;
  else fail(a, CORRUPT);
}

extern "C" __global__ void __launch_bounds__(CODER_THREADS) ans_decode(FZ_ARGS) {
  __shared__ uint32_t slots[ONE];
  if (cancelled(a)) return;
  const AnsOpened& o = opened(a);
  const AnsForm f = wanted(a);
  if ((uint64_t)blockIdx.x * CODER_TILE >= f.blocks || !o.sound) return;
  for (uint32_t i = threadIdx.x; i < ONE; i += CODER_THREADS) slots[i] = o.slots[i];
  __syncthreads();
  const uint32_t lane = threadIdx.x & 31, block = blockIdx.x * CODER_TILE + (threadIdx.x >> 5);
  bool bad = false;
  if (block < f.blocks) {
    const uint8_t* src = address(input(a, 0));
    const Operand& out = output(a, 0);
    const uint64_t at = (uint64_t)block * BLOCK;
    const uint32_t size = f.size(block), room = (uint32_t)least(out.max > at ? out.max - at : 0, size);
    uint8_t* dst = address(out) + at;
    auto entry = [&](uint32_t i, uint32_t half) { return load<uint32_t>(src + f.sizes_at + 8ull * i + 4 * half); };
    const uint32_t have = entry(block, 0), start = entry(block, 1);
    uint32_t left = have & 0xffff;
    const uint64_t end = (uint64_t)start + ans_room(left), due = block ? (uint64_t)entry(block - 1, 1) + ans_room(entry(block - 1, 0) & 0xffff) : 0;
    bad = have >> 16 != size || left > BLOCK_WORDS || start != due || end > o.words || (block + 1 == f.blocks && end != o.words);  // seed: ans-due
    const uint8_t* words = src + f.words_at + 2ull * start;
    uint32_t x = load<uint32_t>(src + STATES_AT + 128ull * block + 4 * lane);
    uint32_t rows = bad ? 0 : (size + 31) / 32;
    // While there are enough words for any number of reads, rows of whole blocks need no individual
    // checks.
    constexpr uint32_t ROWS = 4;
    const uint32_t below = (1u << lane) - 1;
    if (room == BLOCK && aligned(words, 2))
      for (; rows >= ROWS && left >= 32 * ROWS; rows -= ROWS) {
        uint8_t* to = dst + (rows - 1) * 32 + lane;
#pragma unroll
        for (uint32_t r = 0; r < ROWS; r++) {
          const uint32_t slot = slots[x % ONE];
          to[-32 * (int)r] = (uint8_t)slot;
          x = (slot >> 8 & 0xfff) * (x >> PROBABILITY_BITS) + (slot >> 20);
          const bool empty = x < FIRST_STATE;
          const uint32_t who = __ballot_sync(ALL, empty);
          left -= __popc(who);
          if (empty) x = x << 16 | reinterpret_cast<const uint16_t*>(words)[left + __popc(who & below)];
        }
      }
    for (; rows > 0; rows--) {
      const uint32_t place = (rows - 1) * 32 + lane;
      const bool live = place < size;
      if (live) {
        const uint32_t slot = slots[x % ONE];
        if (place < room) dst[place] = (uint8_t)slot;
        x = (slot >> 8 & 0xfff) * (x >> PROBABILITY_BITS) + (slot >> 20);
      }
      const bool empty = live && x < FIRST_STATE;
      const uint32_t who = __ballot_sync(ALL, empty), count = __popc(who);
      if (count > left) { bad = true; break; }
      left -= count;
      if (empty) x = x << 16 | load<uint16_t>(words + 2 * (left + __popc(who & below)));
    }
    bad |= left != 0 || x != FIRST_STATE;
  }
  if (__syncthreads_or(bad) && threadIdx.x == 0) fail(a, CORRUPT);
}
