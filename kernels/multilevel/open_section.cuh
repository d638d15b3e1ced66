// Stage multilevel, decoder: opens a section: reads its fields and tables, and finds its runs.
#pragma once
#include "common/scan.cuh"
#include "multilevel/read_tables.cuh"

namespace fz {
namespace multilevel {
// Words of tables that are copied to shared memory. The tables of an encoder are not longer.
constexpr uint32_t TABLE_ROOM = 1024;

struct SectionRoom {
  ReadSet sets[2];
  uint32_t tables[TABLE_ROOM / 2 + 2];
  uint8_t numbers[16 * TABLE_ROOM], fours[16 * TABLE_ROOM];
  uint64_t sums[32], before;
  uint32_t good, count;
};

// One thread reads the fields of a section, which may have `most` runs and mask runs.
FZ_DEV bool read_fields(uint64_t most, const Words& words, const Section& s, Coding& c, SectionRoom& own) {
  if (words.count < 2) return false;
  const uint32_t head = words[0];
  c.width = head & 31;
  c.has_masks = head >> 5 & 1;
  c.code = head >> 8;
  c.table_words = words[1];
  if (head & 0xc0) return false;
  if (s.kind == BASE && (c.has_masks || c.code)) return false;
  if (s.kind == DIFFERENCES && !c.has_masks) return false;
  uint64_t next = 2;
  c.steps = s.steps;
  if (c.has_masks) {
    if (words.count < 4) return false;
    c.steps = words.two(2);
    next = 4;
    if (c.steps > s.steps) return false;
  }
  const uint64_t per_run = s.kind == BASE ? max(c.steps, 1u) : (uint64_t)(8 + c.code % 8) << c.code / 8;
  c.per_run = (uint32_t)(per_run < 0x7fffffff ? per_run : 0x7fffffff);
  c.mask_runs = c.has_masks ? (s.batches + MASK_RUN - 1) / MASK_RUN : 0;
  c.runs = c.steps / c.per_run + (c.steps % c.per_run != 0);
  own.count = c.mask_runs + c.runs;
  const uint64_t sizes = ((uint64_t)own.count * c.width + 15) / 16;
  if (own.count > most || next + sizes + c.table_words > words.count) return false;
  c.head = (uint32_t)next;
  return true;
}

// One thread reads the sets of tables of a section.
template <class Bits> FZ_DEV bool read_sets(Bits bits, const Coding& c, SectionRoom& own) {
  if (!own.sets[0].read(bits) || (c.has_masks && !own.sets[1].read(bits))) return false;
  return (bits.at() + 15) / 16 == c.table_words;
}
// All threads of a block must call the function.
FZ_DEV void read_tables(const Words& words, const Coding& c, SectionRoom& own) {
  const Words far = words.from(c.head + ((uint64_t)own.count * c.width + 15) / 16, c.table_words);
  const bool fits = c.table_words <= TABLE_ROOM;
  const uint32_t pairs = fits ? (c.table_words + 1) / 2 : 0;
  for (uint32_t i = threadIdx.x; i < pairs + 1; i += blockDim.x) own.tables[i] = i < pairs ? far.two(2 * i) : 0;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < 32 * pairs; i += blockDim.x) own.numbers[i] = TableBits::number_at(own.tables, i);
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < 32 * pairs; i += blockDim.x) own.fours[i] = TableBits::four_at(own.numbers, i, 32 * pairs);
  __syncthreads();
  if (threadIdx.x == 0) {
    const auto pair = [&](uint64_t i) -> uint32_t { return far.two(2 * i); };
    own.good = fits ? read_sets(TableBits{own.tables, own.numbers, own.fours, 0, 32 * pairs, false}, c, own)
                    : read_sets(FarBits<decltype(pair)>(pair), c, own);
  }
  __syncthreads();
  if (!own.good) return;
  if (fits) {
    for (uint32_t k = 0; k < 1 + c.has_masks; k++) own.sets[k].find(own.numbers);
    __syncthreads();
  }
  const bool good = own.sets[0].decide() && (!c.has_masks || own.sets[1].decide());
  if (!__syncthreads_and(good) && threadIdx.x == 0) own.good = 0;
  __syncthreads();
}

// A block finds the runs of a section, and returns the place behind them. A thread has consecutive runs.
FZ_DEV uint64_t find_runs(uint32_t* sizes, uint64_t* places, const Words& words, const Coding& c, SectionRoom& own) {
  const uint32_t each = (own.count + blockDim.x - 1) / blockDim.x, first = min(own.count, threadIdx.x * each), end = min(own.count, first + each);
  auto size = [&](uint32_t i) { return words.bits(16ull * c.head + (uint64_t)i * c.width, c.width); };
  uint64_t sum = 0, before = c.head + ((uint64_t)own.count * c.width + 15) / 16 + c.table_words;
  for (uint32_t i = first; i < end; i++) sum += size(i);
  const uint64_t upto = block_sum_to(sum, own.sums);
  if (threadIdx.x == blockDim.x - 1) own.before = before + upto;
  uint64_t at = before + upto - sum;
  for (uint32_t i = first; i < end; i++) {
    const uint32_t own_size = size(i);
    sizes[c.first_mask_run + i] = own_size;
    places[c.first_mask_run + i] = at;
    at += own_size;
  }
  __syncthreads();
  return own.before;
}
}  // namespace multilevel
}  // namespace fz
