// Stage ans, encoder: counts; weights; the words of each block, in slots; the slots moved together.
#include "ans/stream.cuh"

using namespace fz;
using namespace fz::ans;

// Scratch of the encoder; `encode` in src/stages/ans/device.rs allocates it.
struct AnsScratch {
  // By byte: weight | sum of those before << 16, and the two numbers that divide by the weight.
  uint4* table;
  uint32_t *tiles, *counts;
  uint16_t* slots;
  FZ_DEV AnsScratch(const Args& a, const AnsForm& f) {
    static_assert(256 * sizeof(uint4) == ENCODER_TABLE_BYTES, "as in Rust");
    table = reinterpret_cast<uint4*>(a.scratch);
    tiles = reinterpret_cast<uint32_t*>(table + 256);
    counts = tiles + (((f.blocks + CODER_TILE - 1) / CODER_TILE + 3) & ~3u);
    slots = reinterpret_cast<uint16_t*>(counts + ((f.blocks + 3) & ~3u));
  }
};
FZ_DEV AnsForm ans_form(const Args& a) { return AnsForm(least(length(input(a, 0)), input(a, 0).max)); }

extern "C" __global__ void __launch_bounds__(512) ans_count(FZ_ARGS) {
  // Neighboring lanes count in different tables, to avoid atomic additions to one address.
  constexpr uint32_t COPIES = 4;
  __shared__ uint32_t counts[COPIES * 256];
  if (cancelled(a)) return;
  const AnsForm f = ans_form(a);
  const uint8_t* src = address(input(a, 0));
  const uint32_t tid = threadIdx.x;
  for (uint32_t i = tid; i < COPIES * 256; i += blockDim.x) counts[i] = 0;
  __syncthreads();
  uint32_t* own = counts + tid % COPIES * 256;
  const uint64_t units = f.bytes / 16, step = (uint64_t)gridDim.x * blockDim.x, me = (uint64_t)blockIdx.x * blockDim.x + tid;
  for (uint64_t i = me; i < units; i += step) {
    const uint4 q = load16(src + 16 * i);
    const uint32_t w[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
    for (int k = 0; k < 16; k++) atomicAdd(&own[w[k / 4] >> (8 * (k % 4)) & 255], 1u);
  }
  if (units * 16 + me < f.bytes) atomicAdd(&own[src[units * 16 + me]], 1u);
  __syncthreads();
  uint32_t* all = reinterpret_cast<uint32_t*>(a.zeroed);
  for (uint32_t i = tid; i < 256; i += blockDim.x) {
    uint32_t sum = 0;
    for (uint32_t k = 0; k < COPIES; k++) sum += counts[k * 256 + i];
    if (sum) atomicAdd(&all[i], sum);
  }
}

// One block, a thread for each byte: `Weights::new` of src/stages/ans/weights.rs.
extern "C" __global__ void __launch_bounds__(256) ans_weights(FZ_ARGS) {
  __shared__ uint32_t w[32], keys[256], weights[256], order[256], total;
  if (cancelled(a)) return;
  const AnsForm f = ans_form(a);
  if (f.bytes == 0) return;
  const uint32_t s = threadIdx.x, count = reinterpret_cast<const uint32_t*>(a.zeroed)[s];
  uint32_t weight = (uint32_t)(1024.0f * ((float)count / (float)(uint32_t)f.bytes));
  if (count && weight == 0) weight = 1;
  keys[s] = weight << 8 | s;
  weights[s] = weight;
  uint32_t sum = block_sum_to(weight, w);
  if (s == 255) total = sum;
  __syncthreads();
  uint32_t rank = 0;
  for (uint32_t k = 0; k < 256; k++) rank += keys[k] > keys[s];
  order[rank] = s;
  __syncthreads();
  // Missing weight goes to the smallest bytes.
  for (sum = total; sum < ONE;) {
    const uint32_t some = min(ONE - sum, 256u);
    if (s < some) weights[s]++;
    sum += some;
  }
  // Excess weight is subtracted from the smallest weights above one, by rank.
  while (sum > ONE) {
    const uint32_t above = __syncthreads_count(weights[order[s]] > 1), some = min(sum - ONE, above);
    if (s < above && s + some >= above) weights[order[s]]--;  // seed: ans-taken
    sum -= some;
  }
  __syncthreads();
  weight = weights[s];
  const uint32_t before = block_sum_to(weight, w) - weight;
  Out(a).put<uint16_t>(HEADER_BYTES + 2 * s, (uint16_t)weight);
  // x / weight = (high half of x m + x) >> shift.
  const uint32_t shift = weight ? 32 - __clz(weight - 1) : 0;
  const uint32_t m = weight ? (uint32_t)(((1ull << 32) * ((1ull << shift) - weight)) / weight + 1) : 0;
  AnsScratch(a, f).table[s] = make_uint4(weight | before << 16, m, shift, 0);
}

extern "C" __global__ void __launch_bounds__(CODER_THREADS) ans_code(FZ_ARGS) {
  __shared__ uint4 table[256];
  if (cancelled(a)) return;
  const AnsForm f = ans_form(a);
  if ((uint64_t)blockIdx.x * CODER_TILE >= f.blocks) return;
  const AnsScratch sc(a, f);
  table[threadIdx.x] = sc.table[threadIdx.x];
  __syncthreads();
  const uint32_t lane = threadIdx.x & 31, block = blockIdx.x * CODER_TILE + (threadIdx.x >> 5);
  uint32_t count = 0;
  if (block < f.blocks) {
    const uint8_t* src = address(input(a, 0)) + (uint64_t)block * BLOCK;
    const uint32_t size = f.size(block);
    uint16_t* words = sc.slots + (uint64_t)block * BLOCK_WORDS;
    uint32_t x = FIRST_STATE;
    // Bytes of several rows are on their way at a time: a state waits for the one before it anyway.
    constexpr uint32_t ROWS = 8;
    for (uint32_t from = 0; from < size; from += 32 * ROWS) {
      uint32_t bytes[ROWS];
#pragma unroll
      for (uint32_t r = 0; r < ROWS; r++) bytes[r] = from + 32 * r + lane < size ? src[from + 32 * r + lane] : 0;
#pragma unroll
      for (uint32_t r = 0; r < ROWS; r++) {
        const bool live = from + 32 * r + lane < size;
        const uint4 t = table[bytes[r]];
        const uint32_t weight = t.x & 0xffff;
        // A weight of one whole makes a limit of 2^31, which no state reaches.
        const bool full = live && x >= weight << 21;
        const uint32_t who = __ballot_sync(ALL, full);
        if (full) {
          words[count + __popc(who & ((1u << lane) - 1))] = (uint16_t)x;
          x >>= 16;
        }
        count += __popc(who);
        if (live) {
          const uint32_t q = (__umulhi(x, t.y) + x) >> t.z;
          x = q * ONE + (x - q * weight) + (t.x >> 16);
        }
      }
    }
    Out(a).put<uint32_t>(STATES_AT + 128ull * block + 4 * lane, x);
    if (lane == 0) sc.counts[block] = count;
  }
  note_tile(sc.tiles[blockIdx.x], ans_room(count));
}

extern "C" __global__ void __launch_bounds__(CODER_THREADS) ans_gather(FZ_ARGS) {
  __shared__ Places places;
  if (cancelled(a)) return;
  const AnsForm f = ans_form(a);
  const uint32_t tid = threadIdx.x, lane = tid & 31, first = blockIdx.x * CODER_THREADS, block = first + tid;
  if (f.bytes == 0 && blockIdx.x == 0 && tid == 0) publish(output(a, 0), 0);
  if (first >= f.blocks) return;
  const AnsScratch sc(a, f);
  const Out out(a);
  const uint32_t count = block < f.blocks ? sc.counts[block] : 0;
  places.find(sc.tiles, ans_room(count));
  if (block < f.blocks) {
    out.put<uint32_t>(f.sizes_at + 8ull * block, f.size(block) << 16 | count);
    out.put<uint32_t>(f.sizes_at + 8ull * block + 4, (uint32_t)(places.before + places.starts[tid]));
  }
  for (uint32_t k = tid >> 5; k < (uint32_t)CODER_THREADS && first + k < f.blocks; k += CODER_TILE) {
    const uint8_t* from = reinterpret_cast<const uint8_t*>(sc.slots + (uint64_t)(first + k) * BLOCK_WORDS);
    const uint32_t bytes = 2 * sc.counts[first + k];
    const uint64_t at = f.words_at + 2 * (places.before + places.starts[k]);
    for (uint32_t i = 16 * lane; i < bytes; i += 512) out.put16(at + i, i + 16 <= bytes ? load16(from + i) : load_part(from + i, bytes - i));
  }
  if (first + CODER_THREADS < f.blocks || tid != 0) return;
  if (f.blocks & 1) out.put<uint64_t>(f.words_at - 8, 0);
  const uint64_t total = places.before + places.starts[CODER_THREADS];
  const uint64_t words[] = {MAGIC, f.blocks, f.bytes, total, PROBABILITY_BITS, 0, 0, 0};
  put_words(out, 0, words);
  publish(output(a, 0), f.words_at + 2 * total);
}
