// RZE and RRE of chunks of any size with words of any width, layout 2026-08: a block per chunk, in
// shared memory. Threads own ranges of the bitmaps in a row and learn from a sum over the block
// where theirs begins.
#pragma once
#include "rze/stream.cuh"
#include "rze/tile_decode.cuh"

namespace fz {
namespace rze {
// Bitmap j has (first >> 3 j) bytes, at MAP_AT[j].
struct WordsForm {
  uint32_t chunk, word, len, count, tail, first;
  bool repeats;
  int last;

  FZ_DEV uint32_t bytes(int j) const { return first >> 3 * j; }
  static FZ_DEV uint32_t at(int j) { return j == 0 ? 0 : j == 1 ? 2048 : j == 2 ? 2304 : 2336; }
  // The three pairs that have no last level.
  FZ_DEV bool levels() const { return !((chunk == 4096 && (word == 2 || word == 4)) || (chunk == 8192 && word == 4)); }
};
constexpr int WORDS_MAPS = 2048 + 256 + 32 + 8;

FZ_DEV WordsForm words_form(const RzeParams& p, uint32_t len) {
  WordsForm f = {p.chunk, p.word, len, len / p.word, len % p.word, p.chunk / (8 * p.word), p.repeats != 0, 0};
  while (f.bytes(f.last) >= 8) f.last++;
  return f;
}

// The range of `n` items that a thread owns.
struct Range {
  uint32_t from, to;
};
FZ_DEV Range share(uint32_t n, int tid) {
  const uint32_t each = (n + THREADS - 1) / THREADS;
  return {min(tid * each, n), min((tid + 1) * each, n)};
}

struct WordsShared {
  uint4 chunk[16384 / 16];
  uint4 payload[(RZE_STAGE + 16) / 16];
  uint8_t maps[WORDS_MAPS];
  uint32_t w[32];
  uint32_t entry, bad;
  uint64_t before;
};

// ---------------------------------------------------------------- encoder
// Level 0, and the words that it marks to the front of the payload; returns their bytes.
template <class T> FZ_DEV uint32_t words_keep(WordsShared& s, const WordsForm& f, int tid) {
  const T* words = reinterpret_cast<const T*>(s.chunk);
  T* to = reinterpret_cast<T*>(s.payload);
  auto keeps = [&](uint32_t i) { return words[i] != (f.repeats && i ? words[i - 1] : T(0)); };  // seed: rre-unit
  const Range r = share(f.first, tid);
  uint32_t own = 0;
  for (uint32_t i = r.from; i < r.to; i++) {
    uint32_t m = 0;
    for (int j = 0; j < 8; j++)
      if (8 * i + j < f.count && keeps(8 * i + j)) m |= 1u << j;
    s.maps[i] = uint8_t(m);
    own += __popc(m);
  }
  const uint32_t upto = block_sum_to(own, s.w);
  uint32_t n = upto - own;
  for (uint32_t k = 8 * r.from; k < min(8 * r.to, f.count); k++)
    if (keeps(k)) to[n++] = words[k];
  if (tid == THREADS - 1) s.entry = upto;
  __syncthreads();
  return s.entry * f.word;
}

// Bytes of level j that differ from the one before, to the payload; marks them in level j + 1.
// Returns how many.
FZ_DEV uint32_t words_repeat_out(WordsShared& s, const WordsForm& f, int j, uint8_t* to, int tid) {
  const uint8_t* map = s.maps + f.at(j);
  uint8_t* marks = s.maps + f.at(j + 1);
  const Range r = share(f.bytes(j + 1), tid);
  uint32_t own = 0;
  for (uint32_t i = r.from; i < r.to; i++) {
    uint32_t m = 0;
    for (uint32_t k = 8 * i; k < 8 * i + 8; k++)
      if (map[k] != (k ? map[k - 1] : 0)) m |= 1u << (k & 7);
    marks[i] = uint8_t(m);
    own += __popc(m);
  }
  const uint32_t upto = block_sum_to(own, s.w);
  uint32_t n = upto - own;
  for (uint32_t k = 8 * r.from; k < 8 * r.to; k++)
    if (marks[k >> 3] >> (k & 7) & 1) to[n++] = map[k];
  if (tid == THREADS - 1) s.entry = upto;
  __syncthreads();
  const uint32_t all = s.entry;
  __syncthreads();
  return all;
}

// The entry of the chunk, whose payload is then in s.payload unless it is raw.
FZ_DEV uint32_t words_encode(WordsShared& s, const WordsForm& f, int tid) {
  const uint32_t kept = f.word == 1 ? words_keep<uint8_t>(s, f, tid) : f.word == 2 ? words_keep<uint16_t>(s, f, tid)
                      : f.word == 4 ? words_keep<uint32_t>(s, f, tid) : words_keep<uint64_t>(s, f, tid);
  __syncthreads();
  uint8_t* payload = reinterpret_cast<uint8_t*>(s.payload);
  const uint32_t limit = f.chunk - 2 - f.tail;
  uint32_t n = kept;
  if (kept >= limit) return f.len | RAW;
  if (kept > 0) {
    for (int j = 0; j < f.last; j++) n += words_repeat_out(s, f, j, payload + n, tid);
    const uint32_t last = f.bytes(f.last);
    if (n + last >= limit) return f.len | RAW;
    if (tid < (int)last) payload[n + tid] = s.maps[f.at(f.last) + tid];
    n += last;
  }
  if (n + f.tail + 2 >= f.len) return f.len | RAW;
  if (tid < (int)f.tail) payload[n + tid] = reinterpret_cast<const uint8_t*>(s.chunk)[f.count * f.word + tid];
  n += f.tail;
  if (tid < 2) payload[n + tid] = uint8_t(f.len >> 8 * tid);
  return n + 2;
}

// ---------------------------------------------------------------- decoder Level j from level j + 1
// and the list that ends at `cursor`; returns where the list starts, or sets s.bad.
FZ_DEV uint32_t words_repeat_in(WordsShared& s, const WordsForm& f, int j, uint32_t cursor, int tid) {
  const uint8_t *marks = s.maps + f.at(j + 1), *payload = reinterpret_cast<const uint8_t*>(s.payload);
  uint8_t* map = s.maps + f.at(j);
  const Range r = share(f.bytes(j + 1), tid);
  uint32_t own = 0;
  for (uint32_t i = r.from; i < r.to; i++) own += __popc(marks[i]);
  const uint32_t upto = block_sum_to(own, s.w);
  if (tid == THREADS - 1) s.entry = upto;
  __syncthreads();
  const uint32_t all = s.entry;
  __syncthreads();
  if (all > cursor) return ALL;
  const uint8_t* list = payload + cursor - all;
  uint32_t n = upto - own;
  uint8_t byte = n ? list[n - 1] : 0;
  for (uint32_t k = 8 * r.from; k < 8 * r.to; k++) {
    if (marks[k >> 3] >> (k & 7) & 1) byte = list[n++];
    map[k] = byte;
  }
  __syncthreads();
  return cursor - all;
}

template <class T> FZ_DEV bool words_restore(WordsShared& s, const WordsForm& f, uint32_t kept, int tid) {
  const T* from = reinterpret_cast<const T*>(s.payload);
  T* words = reinterpret_cast<T*>(s.chunk);
  const Range r = share(f.first, tid);
  uint32_t own = 0;
  bool beyond = false;
  for (uint32_t i = r.from; i < r.to; i++) {
    own += __popc(s.maps[i]);
    beyond = beyond || rze_below(s.maps[i], 8 * i, f.count) != s.maps[i];
  }
  const uint32_t upto = block_sum_to(own, s.w);
  const bool wrong = beyond || (tid == THREADS - 1 && upto * sizeof(T) != kept);
  if (__syncthreads_or(wrong)) return false;
  uint32_t n = upto - own;
  for (uint32_t k = 8 * r.from; k < min(8 * r.to, f.count); k++) words[k] = s.maps[k >> 3] >> (k & 7) & 1 ? from[n++] : f.repeats && n ? from[n - 1] : T(0);  // seed: rre-zeros
  return true;
}

// The chunk whose payload of `size` bytes is in s.payload, to s.chunk. Returns true if it is sound;
// equal in all threads.
FZ_DEV bool words_decode(WordsShared& s, const WordsForm& f, uint32_t size, int tid) {
  const uint8_t* payload = reinterpret_cast<const uint8_t*>(s.payload);
  uint8_t* chunk = reinterpret_cast<uint8_t*>(s.chunk);
  if (size < 2 + f.tail || (payload[size - 2] | (uint32_t)payload[size - 1] << 8) != (f.len & 0xffff)) return false;
  uint32_t rest = size - 2 - f.tail;
  if (tid < (int)f.tail) chunk[f.count * f.word + tid] = payload[rest + tid];
  if (rest == 0) {
    for (uint32_t k = tid; k < f.count * f.word; k += THREADS) chunk[k] = 0;
    return true;
  }
  const uint32_t last = f.bytes(f.last);
  if (!f.levels() || rest < last) return false;
  rest -= last;
  if (tid < (int)last) s.maps[f.at(f.last) + tid] = payload[rest + tid];
  __syncthreads();
  for (int j = f.last - 1; j >= 0; j--) {
    rest = words_repeat_in(s, f, j, rest, tid);
    if (rest == ALL) return false;
  }
  return f.word == 1 ? words_restore<uint8_t>(s, f, rest, tid) : f.word == 2 ? words_restore<uint16_t>(s, f, rest, tid)
       : f.word == 4 ? words_restore<uint32_t>(s, f, rest, tid) : words_restore<uint64_t>(s, f, rest, tid);
}
}  // namespace rze
}  // namespace fz
