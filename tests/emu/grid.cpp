#include "grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <vector>

#include "fiber.h"

namespace fzemu {
Thread* current;
uint3 block_index;
dim3 block_size, grid_size;
const Entry* entries;

namespace {
enum class State { ready, at_barrier, in_warp, left };
struct EmulatedThread : Thread {
  State state;
  bool awaited;  // the launch ahead
  Fiber* fiber;
  // Where it waits.
  const char* file;
  int line;
};

std::vector<EmulatedThread> threads;  // of the block, in the order of their index
std::vector<Fiber> fibers;            // as many as any block so far had: they keep their stacks
std::vector<Warp> warps;
std::vector<unsigned char> dynamic_memory;
unsigned alive, waiting;  // at the barrier
int ayes, noes, count_of_ayes, count_of_noes;  // of this barrier, and of the last one
const Entry* kernel;
const void* argument;
bool follows;

EmulatedThread& me() { return *static_cast<EmulatedThread*>(current); }

void wait(State why, const char* file, int line) {
  me().state = why;
  me().file = file;
  me().line = line;
  me().fiber->pause();
}

void open_barrier() {
  count_of_ayes = ayes;
  count_of_noes = noes;
  ayes = noes = 0;
  waiting = 0;
  for (auto& t : threads) if (t.state == State::at_barrier) t.state = State::ready;
}

// Most names of a file are one literal.
bool same_file(const char* a, const char* b) { return a == b || !strcmp(a, b); }

void arrive(const char* file, int line) {
  static const char* first_file;
  static int first_line;
  if (waiting == 0) {
    first_file = file;
    first_line = line;
  } else if (first_line != line || !same_file(first_file, file)) {
    fail(file, line, "divergent __syncthreads: another thread of the block waits at a different one");
  }
  if (++waiting == alive) open_barrier();
  else wait(State::at_barrier, file, line);
}

void body() {
  kernel->call(argument);
  if (follows && !me().awaited) fail("grid", 0, "a thread ends that has not waited for the launch ahead");
  me().state = State::left;
  me().warp->alive &= ~(1u << me().lane);
  if (--alive && waiting == alive) open_barrier();
  me().fiber->leave();
}

[[noreturn]] void deadlock() {
  for (auto& t : threads) {
    if (t.state == State::left) continue;
    current = &t;
    fail(t.file, t.line, t.state == State::at_barrier ? "deadlock: __syncthreads that not all threads reach"
                                                      : "deadlock: warp operation that not all lanes of the mask reach");
  }
  abort();
}

// FZ_EMU_ORDER: fwd, rev, or a number for a different order at every step. A missing barrier shows in one of them.
class Order {
 public:
  explicit Order(unsigned n) : turns(n) {
    const char* wish = getenv("FZ_EMU_ORDER");
    const bool reverse = wish && !strcmp(wish, "rev");
    random = wish && *wish >= '0' && *wish <= '9';
    if (random && !state) state = strtoull(wish, nullptr, 10) * 2 + 1;
    for (unsigned i = 0; i < n; i++) turns[i] = reverse ? n - 1 - i : i;
  }
  const std::vector<unsigned>& next() {
    for (unsigned i = unsigned(turns.size()) - 1; random && i; i--) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      std::swap(turns[i], turns[(state >> 33) % (i + 1)]);
    }
    return turns;
  }

 private:
  static inline uint64_t state = 0;
  bool random;
  std::vector<unsigned> turns;
};

void start_threads(unsigned n) {
  threads.assign(n, EmulatedThread{});
  if (fibers.size() < n) fibers.resize(n);
  warps.resize((n + 31) / 32);
  for (Warp& warp : warps) warp.exists = warp.alive = warp.meeting_count = 0;
  alive = n;
  waiting = 0;
  ayes = noes = 0;
  for (unsigned i = 0; i < n; i++) {
    EmulatedThread& t = threads[i];
    t.index = {i % block_size.x, i / block_size.x % block_size.y, i / (block_size.x * block_size.y)};
    t.lane = i & 31;
    t.warp = &warps[i / 32];
    t.warp->exists |= 1u << t.lane;
    t.warp->alive |= 1u << t.lane;
    t.state = State::ready;
    t.fiber = &fibers[i];
    t.fiber->start(body);
  }
}

void run_block(Order& order) {
  for (unsigned left = unsigned(threads.size()); left;) {
    bool moved = false;
    for (unsigned i : order.next()) {
      EmulatedThread& t = threads[i];
      if (t.state != State::ready) continue;
      moved = true;
      current = &t;
      t.fiber->resume();
      if (t.state == State::left) left--;
    }
    if (!moved) deadlock();
  }
}

// Not by memset: AddressSanitizer would object to the redzones between the arrays, which it does not hurt.
void poison_static_shared() {
  void* to = kernel->shared;
  size_t bytes = size_t(kernel->shared_end - kernel->shared);
  asm volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(0xcd) : "memory");
}
}  // namespace

void wait_prerequisites() { me().awaited = true; }

void* dynamic_shared() { return dynamic_memory.data(); }

void fail(const char* file, int line, const char* what) {
  const uint3 t = current->index, b = block_index;
  fprintf(stderr, "\nfzemu: %s:%d: %s (kernel %s, block %u,%u,%u, thread %u,%u,%u)\n", file, line & 0xfffff, what,
          kernel->name, b.x, b.y, b.z, t.x, t.y, t.z);
  abort();
}

void block_barrier(const char* file, int line) { arrive(file, line); }

int block_vote(bool yes, Vote kind, const char* file, int line) {
  (yes ? ayes : noes)++;
  arrive(file, line);
  switch (kind) {
    case Vote::count: return count_of_ayes;
    case Vote::all: return count_of_noes == 0;
    case Vote::any: return count_of_ayes != 0;
  }
  abort();
}

Meeting& meet(uint32_t mask, const void* value, size_t bytes, const char* file, int line) {
  const EmulatedThread& self = me();
  Warp& warp = *self.warp;
  if (!(mask >> self.lane & 1)) fail(file, line, "warp operation: the caller is not in the mask");
  if (mask & ~warp.exists) fail(file, line, "warp operation: the mask names lanes that the block does not have");
  if (mask & ~warp.alive) fail(file, line, "warp operation: the mask names a lane that has left");
  Meeting* meeting = nullptr;
  for (int i = 0; i < warp.meeting_count; i++) {
    // Masks that overlap but differ are allowed: lanes of a branch may meet while the others wait for them behind it.
    // Where they wait for each other it is a deadlock.
    if (warp.meetings[i].mask == mask && warp.meetings[i].arrived) meeting = &warp.meetings[i];
  }
  if (!meeting) {
    // There is one meeting per lane: each lane is expected at a meeting that others have reached,
    // or has one to read, and this lane has neither.
    for (int i = 0; i < warp.meeting_count && !meeting; i++) {
      if (!warp.meetings[i].arrived && !warp.meetings[i].unread) meeting = &warp.meetings[i];
    }
    if (!meeting) meeting = &warp.meetings[warp.meeting_count++];
    meeting->mask = mask;
    meeting->arrived = meeting->unread = 0;
    meeting->file = file;
    meeting->line = line;
  } else if (meeting->line != line || !same_file(meeting->file, file)) {
    fail(file, line, "divergent warp operation: another lane of the mask waits at a different one");
  }
  if (bytes) memcpy(meeting->values[self.lane], value, bytes);
  meeting->arrived |= 1u << self.lane;
  if (meeting->arrived != mask) {
    wait(State::in_warp, file, line);
    return *meeting;
  }
  meeting->arrived = 0;
  meeting->unread = mask;
  EmulatedThread* lanes = &threads[size_t(&warp - warps.data()) * 32];
  for (int i = 0; i < 32; i++) if ((mask >> i & 1) && i != int(self.lane)) lanes[i].state = State::ready;
  return *meeting;
}

void run_grid(const Entry& entry, dim3 grid, dim3 block, size_t shared_bytes, const void* arg, bool may_overlap) {
  kernel = &entry;
  argument = arg;
  follows = may_overlap;
  grid_size = grid;
  block_size = block;
  Order order(block.x * block.y * block.z);
  // Exactly as long as asked, so that AddressSanitizer sees a step past the end.
  dynamic_memory = std::vector<unsigned char>(shared_bytes);
  for (block_index.z = 0; block_index.z < grid.z; block_index.z++)
    for (block_index.y = 0; block_index.y < grid.y; block_index.y++)
      for (block_index.x = 0; block_index.x < grid.x; block_index.x++) {
        std::fill(dynamic_memory.begin(), dynamic_memory.end(), 0xcd);
        poison_static_shared();
        start_threads(block.x * block.y * block.z);
        run_block(order);
      }
}
}  // namespace fzemu
