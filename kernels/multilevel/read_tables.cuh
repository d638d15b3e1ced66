// Stage multilevel, decoder: reads sets of tables, by the rules of src/stages/multilevel/tables.rs.
#pragma once
#include "multilevel/quantize.cuh"
#include "multilevel/stream.cuh"
#include "multilevel/table.cuh"

namespace fz {
namespace multilevel {
// Reads sets of tables from bits in shared memory, which 32 bits of 0 follow. The threads of a block read a number at every place, and
// the length of four numbers, so that the thread that reads a set only adds lengths.
struct TableBits {
  static constexpr uint32_t BAD = 255;
  const uint32_t* words;
  const uint8_t *numbers, *fours;
  uint32_t place, end;
  bool bad;
  FZ_DEV uint32_t take(uint32_t n) {
    bad |= place >= end;
    const uint32_t i = bad ? 0 : place / 32;
    const uint64_t two = (uint64_t)words[i + 1] << 32 | words[i];
    const uint32_t value = (uint32_t)(two >> place % 32) & ((1u << n) - 1);
    place += n;
    return value;
  }
  // Passes over `count` numbers of table k, of which every fourth place is kept.
  template <class Set> FZ_DEV void read(Set& set, uint32_t k, uint32_t count) {
    uint32_t i = 0;
#pragma unroll 1
    for (; i + 4 <= count; i += 4) {
      set.places[k][i / 4] = (uint16_t)place;
      pass(fours[min(place, end - 1)]);
    }
    set.places[k][i / 4] = (uint16_t)place;
    for (; i < count; i++) pass(length(numbers[min(place, end - 1)]));
  }
  FZ_DEV void pass(uint32_t bits) {
    bad |= place >= end || bits == BAD;
    place += bits;
  }
  FZ_DEV uint64_t at() const { return place; }
  FZ_DEV static uint32_t length(uint32_t number) { return number == BAD ? BAD : number / 4 + 3; }
  // The number at a place, or BAD, as `BitReader::number` reads it.
  FZ_DEV static uint8_t number_at(const uint32_t* words, uint32_t place) {
    const uint64_t two = (uint64_t)words[place / 32 + 1] << 32 | words[place / 32];
    const uint32_t w = (uint32_t)(two >> place % 32), ones = (uint32_t)__ffs((int)~w) - 1;
    return (uint8_t)(ones > 28 ? BAD : 4 * ones + (w >> (ones + 1) & 3));
  }
  // The bits of four numbers, or BAD if one of them is bad.
  FZ_DEV static uint8_t four_at(const uint8_t* numbers, uint32_t place, uint32_t end) {
    uint32_t at = place;
    bool good = true;
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
      const uint32_t bits = length(numbers[min(at, end - 1)]);
      good &= at < end && bits != BAD;
      at += bits;
    }
    return (uint8_t)(good ? at - place : BAD);
  }
};
// The same for bits in global memory.
template <class Pairs> struct FarBits : BitReader<Pairs> {
  FZ_DEV explicit FarBits(const Pairs& of) : BitReader<Pairs>(of) {}
  template <class Set> FZ_DEV void read(Set& set, uint32_t k, uint32_t count) {
#pragma unroll 1
    for (uint32_t i = 0; i < count; i++) set.v[k][i] = (uint8_t)this->number();
  }
};

// A set before its tables by slots are filled. First one thread reads the numbers of all entries, whose lengths in bits vary, and then
// a warp computes the frequencies of a table.
struct ReadSet {
  uint16_t of[TABLES][SYMBOLS];
  // The numbers v of entries except the rest; the numbers of entries and of the rest.
  uint8_t v[TABLES][SYMBOLS], entries[TABLES], rest[TABLES];
  // The places of numbers 0, 4, 8, … of a table.
  uint16_t places[TABLES][SYMBOLS / 4];
  // The slots behind entries.
  uint16_t ends[TABLES][SYMBOLS];
  uint32_t begins, tables;
  // One thread must call the function, which returns false if the bits are no set.
  template <class Bits> FZ_DEV bool read(Bits& bits) {
    begins = bits.take(CONTEXTS - 1);
    tables = __popc(begins) + 1;
    if (tables > TABLES) return false;
#pragma unroll 1
    for (uint32_t k = 0; k < tables; k++) {
      const uint32_t head = bits.take(12), count = (head & 63) + 1, own = head >> 6;
      entries[k] = (uint8_t)count;
      rest[k] = (uint8_t)own;
      if (own >= count) return false;
      bits.read(*this, k, count - 1);
    }
    return !bits.bad;
  }
  // The threads of a block find the numbers at the places.
  FZ_DEV void find(const uint8_t* numbers) {
    for (uint32_t i = threadIdx.x; i < tables * (SYMBOLS / 4); i += blockDim.x) {
      const uint32_t k = i / (SYMBOLS / 4), first = i % (SYMBOLS / 4) * 4, count = entries[k] - 1u;
      if (first >= count) continue;
      uint32_t place = places[k][first / 4];
      for (uint32_t j = first; j < min(count, first + 4); j++) {
        v[k][j] = numbers[place];
        place += TableBits::length(numbers[place]);
      }
    }
  }
  // A warp must call the function, which returns false if the numbers are no table. A lane has entries 2 · lane and 2 · lane + 1.
  FZ_DEV bool decide(uint32_t k) {
    const uint32_t lane = threadIdx.x & 31, count = entries[k], own = rest[k];
    uint32_t number[2], difference[2], f[2];
#pragma unroll
    for (uint32_t j = 0; j < 2; j++) {
      const uint32_t i = 2 * lane + j;
      number[j] = i < count && i != own ? v[k][i - (i > own)] : 0;
      const uint32_t z = number[j] - 1;
      difference[j] = number[j] ? (uint32_t)((int32_t)(z >> 1) ^ -(int32_t)(z & 1)) : 0;
    }
    // Odd entries are relative to the first entry, if there is one.
    const uint32_t even = FIRST_NUMBER + warp_sum_to(difference[0]), start = __shfl_sync(ALL, number[0] ? even : FIRST_NUMBER, 0);
    const uint32_t numbers[2] = {even, start + warp_sum_to(difference[1])};
    bool good = true;
#pragma unroll
    for (uint32_t j = 0; j < 2; j++) {
      good &= number[j] == 0 || (numbers[j] > 0 && numbers[j] < NUMBERS);
      f[j] = number[j] && good ? frequency_of(numbers[j]) : 0;
    }
    const uint32_t sum = __reduce_add_sync(ALL, f[0] + f[1]);
#pragma unroll
    for (uint32_t j = 0; j < 2; j++) of[k][2 * lane + j] = (uint16_t)(2 * lane + j == own ? ONE - sum : f[j]);
    __syncwarp();
    return __all_sync(ALL, good) && sum < ONE;
  }
  // All threads of a block must call the function, which returns false in some warp if a table is bad.
  FZ_DEV bool decide() {
    bool good = true;
    for (uint32_t k = threadIdx.x >> 5; k < tables; k += blockDim.x >> 5) good = decide(k) && good;
    return good;
  }
  // All threads of a block must call the function. Warp `first` has the first table, so that warps may fill two sets at the same time.
  FZ_DEV void fill(DecoderSet& set, uint32_t first = 0) {
    const uint32_t lane = threadIdx.x & 31, warps = blockDim.x >> 5, warp = ((threadIdx.x >> 5) + warps - first) % warps;
    if (threadIdx.x < CONTEXTS) set.place[threadIdx.x] = (uint16_t)(sizeof(DecoderTable) * __popc(begins & ((1u << threadIdx.x) - 1)));
    if (threadIdx.x == 0) set.tables = tables;
    for (uint32_t k = warp; k < tables; k += warps) {
      const Entries e = with_sums(of[k][lane], of[k][32 + lane]);
      for (uint32_t half = 0; half < 2; half++) {
        const uint32_t f = e.f[half], before = e.before[half], s = 32 * half + lane;
        set.of[k].entries[s] = decoder_entry(f, before, s < PATTERN ? raw_bits(s, 0) : LONG);
        ends[k][s] = (uint16_t)(before + f);
      }
      __syncwarp();
      fill_units(set.of[k], ends[k]);
    }
  }
  // A warp finds the symbols of the units of 32 slots. ends[s] is the slot behind symbol s.
  FZ_DEV static void fill_units(DecoderTable& table, const uint16_t* ends) {
#pragma unroll 4
    for (uint32_t unit = threadIdx.x & 31; unit < ONE_SLOT / 32; unit += 32) {
      uint32_t s = 0;
#pragma unroll
      for (uint32_t step = SYMBOLS / 2; step > 0; step /= 2) s += ends[s + step - 1] <= unit * 32 ? step : 0;
      const uint32_t end = ends[s];
      uint32_t next = s + 1;
      while (unit * 32 + 32 > end && next < SYMBOLS - 1 && ends[next] <= end) next++;
      table.units[unit] = (uint16_t)(unit * 32 + 32 > end && next - s < 32 ? s | (next - s) << 6 | end % 32 << 11 : s);
    }
  }
};
}  // namespace multilevel
}  // namespace fz
