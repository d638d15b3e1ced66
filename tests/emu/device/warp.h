// Operations of a warp: each lane of the mask leaves its value at their meeting, and when all have come, all read.
#pragma once

namespace fzemu {
// Lanes that name the same mask at the same place, and what they brought. It is over when all have come and read; until then
// a lane that is ahead may be at the next one of the same mask.
struct Meeting {
  uint32_t mask, arrived, unread;
  const char* file;
  int line;
  unsigned char values[32][16];

  template <class T> T value(int lane) const {
    T x;
    memcpy(&x, values[lane], sizeof(T));
    return x;
  }
};
struct Warp {
  uint32_t exists, alive;
  int meeting_count;
  Meeting meetings[32];
};
// Brings `bytes` of a value and waits for the lanes of the mask; a mask that cannot be met is an error. The meeting lasts until
// the caller takes its bit out of `unread`.
Meeting& meet(uint32_t mask, const void* value, size_t bytes, const char* file, int line);

// `read` sees the values of all lanes of the mask.
template <class T, class Read> auto share(uint32_t mask, T v, const char* file, int line, Read read) {
  static_assert(sizeof(T) <= 16, "a lane brings up to 16 bytes");
  Meeting& meeting = meet(mask, &v, sizeof(T), file, line);
  auto result = read(meeting);
  meeting.unread &= ~(1u << current->lane);
  return result;
}

// The value of lane `from`; the own one where that is outside the segment of `width` lanes.
template <class T> T shuffle(uint32_t mask, T v, int from, int width, const char* file, int line) {
  const int first = int(current->lane) & ~(width - 1);
  return share(mask, v, file, line, [&](const Meeting& all) {
    if (from < first || from >= first + width) return v;
    if (!(mask >> from & 1)) fail(file, line, "shuffle reads a lane that is not in the mask");
    return all.template value<T>(from);
  });
}
template <class T> T shuffle_to(uint32_t m, T v, int lane, int width, const char* f, int l) {
  return shuffle(m, v, (int(current->lane) & ~(width - 1)) | (lane & (width - 1)), width, f, l);
}
template <class T> T shuffle_up(uint32_t m, T v, unsigned by, int width, const char* f, int l) {
  return shuffle(m, v, int(current->lane) - int(by), width, f, l);
}
template <class T> T shuffle_down(uint32_t m, T v, unsigned by, int width, const char* f, int l) {
  return shuffle(m, v, int(current->lane) + int(by), width, f, l);
}
template <class T> T shuffle_xor(uint32_t m, T v, int by, int width, const char* f, int l) {
  // A lane of an earlier segment may be read, unlike those of shuffle_up; none of a later one.
  const int from = int(current->lane) ^ by, end = (int(current->lane) & ~(width - 1)) + width;
  return shuffle(m, v, from < end ? from : -1, from < end ? 32 : width, f, l);
}

template <class T, class Op> T reduce(uint32_t mask, T v, Op op, const char* file, int line) {
  static_assert(sizeof(T) == 4 && T(1) / T(2) == T(0), "the device reduces int and unsigned");
  return share(mask, v, file, line, [&](const Meeting& all) {
    T total = v;
    bool first = true;
    for (int i = 0; i < 32; i++) {
      if (!(mask >> i & 1)) continue;
      total = first ? all.template value<T>(i) : T(op(total, all.template value<T>(i)));
      first = false;
    }
    return total;
  });
}
inline uint32_t ballot(uint32_t mask, bool yes, const char* f, int l) {
  return reduce<uint32_t>(mask, yes ? 1u << current->lane : 0u, [](uint32_t a, uint32_t b) { return a | b; }, f, l);
}
template <class T> uint32_t match_any(uint32_t mask, T v, const char* file, int line) {
  return share(mask, v, file, line, [&](const Meeting& all) {
    uint32_t same = 0;
    for (int i = 0; i < 32; i++) if ((mask >> i & 1) && !memcmp(all.values[i], &v, sizeof(T))) same |= 1u << i;
    return same;
  });
}
template <class T> uint32_t match_all(uint32_t mask, T v, int* all, const char* file, int line) {
  const uint32_t same = match_any(mask, v, file, line);
  *all = same == mask;
  return *all ? mask : 0;
}
inline void meet_all(const char* file, int line, uint32_t mask = 0xffffffffu) {
  meet(mask, nullptr, 0, file, line).unread &= ~(1u << current->lane);
}
}  // namespace fzemu

// The width of a shuffle may be left out.
#define FZ_SHUFFLE3(how, mask, v, lane) fzemu::how(mask, v, lane, 32, FZ_HERE)
#define FZ_SHUFFLE4(how, mask, v, lane, width) fzemu::how(mask, v, lane, width, FZ_HERE)
#define FZ_FIFTH(a, b, c, d, e, ...) e
#define FZ_SHUFFLE(how, ...) FZ_FIFTH(__VA_ARGS__, FZ_SHUFFLE4, FZ_SHUFFLE3, x, x)(how, __VA_ARGS__)
#define __shfl_sync(...) FZ_SHUFFLE(shuffle_to, __VA_ARGS__)
#define __shfl_up_sync(...) FZ_SHUFFLE(shuffle_up, __VA_ARGS__)
#define __shfl_down_sync(...) FZ_SHUFFLE(shuffle_down, __VA_ARGS__)
#define __shfl_xor_sync(...) FZ_SHUFFLE(shuffle_xor, __VA_ARGS__)

#define __ballot_sync(mask, p) fzemu::ballot(mask, (p) != 0, FZ_HERE)
#define __any_sync(mask, p) int(fzemu::ballot(mask, (p) != 0, FZ_HERE) != 0)
#define __all_sync(mask, p) int(fzemu::ballot(mask, (p) != 0, FZ_HERE) == (mask))
#define __match_any_sync(mask, v) fzemu::match_any(mask, v, FZ_HERE)
#define __match_all_sync(mask, v, all) fzemu::match_all(mask, v, all, FZ_HERE)
#define __reduce_add_sync(mask, v) fzemu::reduce(mask, v, [](auto a, auto b) { return a + b; }, FZ_HERE)
#define __reduce_min_sync(mask, v) fzemu::reduce(mask, v, [](auto a, auto b) { return a < b ? a : b; }, FZ_HERE)
#define __reduce_max_sync(mask, v) fzemu::reduce(mask, v, [](auto a, auto b) { return a > b ? a : b; }, FZ_HERE)
#define __reduce_and_sync(mask, v) fzemu::reduce<uint32_t>(mask, v, [](auto a, auto b) { return a & b; }, FZ_HERE)
#define __reduce_or_sync(mask, v) fzemu::reduce<uint32_t>(mask, v, [](auto a, auto b) { return a | b; }, FZ_HERE)
#define __reduce_xor_sync(mask, v) fzemu::reduce<uint32_t>(mask, v, [](auto a, auto b) { return a ^ b; }, FZ_HERE)
#define __syncwarp(...) fzemu::meet_all(FZ_HERE __VA_OPT__(, ) __VA_ARGS__)
// Lanes that have not left. On the device it may be any part of them that holds the caller.
#define __activemask() (fzemu::current->warp->alive)
