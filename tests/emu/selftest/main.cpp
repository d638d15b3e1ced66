// One case by its name. Prints what is wrong and ends with 1; a bug that the emulator sees ends the process there.
//
//   selftest <case>         a kernel of bugs.cu over four blocks, or a case of the host from the table at the end
#include "cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/args.h"

namespace {
constexpr unsigned BLOCKS = 4, THREADS = 256, N = BLOCKS * THREADS;

void expect(int line, const char* what, long long got, long long wanted) {
  if (got == wanted) return;
  printf("line %d: %s is %lld in place of %lld\n", line, what, got, wanted);
  exit(1);
}
#define EXPECT(what, wanted) expect(__LINE__, #what, (long long)(what), (long long)(wanted))
#define OK(call) EXPECT(call, 0)

// Looked up once, because a capture forbids the query.
void* function(const char* name) {
  static std::map<std::string, void*> known;
  void*& function = known[name];
  if (function) return function;
  alignas(8) static const uint32_t image[2] = {0xBA55ED50u};
  static void* library = nullptr;
  void* kernel;
  if (!library) OK(cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0));
  OK(cuLibraryGetKernel(&kernel, library, name));
  OK(cuKernelGetFunction(&function, kernel));
  return function;
}

int try_launch(const char* name, unsigned blocks, unsigned threads, fz::Args args, void* stream, unsigned shared = 0) {
  void* parameters[] = {&args};
  void* f = function(name);
  const int result = cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, shared, stream, parameters, nullptr);
  memset(&args, 0xee, sizeof args);  // the launch has read them
  return result;
}

Address device(size_t bytes) {
  Address a;
  OK(cuMemAlloc_v2(&a, bytes));
  return a;
}
fz::Args writes(Address to, Address from = 0) {
  fz::Args args{};
  args.operands[0].base = to;
  args.operands[1].base = from;
  return args;
}
void* stream() {
  void* s;
  OK(cuStreamCreate(&s, 1));
  return s;
}

void run_kernel(const char* name) {
  const std::map<std::string, std::function<uint32_t(unsigned)>> rights = {
      {"neighbors", [](unsigned i) { return i % THREADS ? i % THREADS - 1 : 0; }},
      {"missing_barrier", [](unsigned i) { return i % THREADS ? i % THREADS - 1 : 0; }},
      {"missing_second_barrier", [](unsigned i) { return i % THREADS ? i % THREADS - 1 : 0; }},
      {"look_back", [](unsigned i) { return i; }},
      {"functions", [](unsigned) { return 1; }},
      {"unset_shared", [](unsigned) { return THREADS; }},
      {"unset_dynamic_shared", [](unsigned) { return THREADS; }},
  };
  const Address array = device(N * 4), words = device(BLOCKS * 8);
  OK(cuMemsetD8Async(words, 0, BLOCKS * 8, nullptr));
  fz::Args args = writes(array);
  args.zeroed = words;
  OK(try_launch(name, BLOCKS, THREADS, args, nullptr, THREADS * 4));
  std::vector<uint32_t> got(N);
  OK(cuMemcpyDtoH_v2(got.data(), array, N * 4));
  auto right = rights.find(name);
  for (unsigned i = 0; right != rights.end() && i < N; i++) EXPECT(got[i], right->second(i));
}

// ---- cases of the host: errors of a caller

void result_read_early() {
  const Address array = device(THREADS * 4);
  void *pinned, *s = stream();
  OK(cuMemHostAlloc(&pinned, THREADS * 4, 0));
  OK(try_launch("neighbors", 1, THREADS, writes(array), s));
  OK(cuMemcpyDtoHAsync_v2(pinned, array, THREADS * 4, s));
  EXPECT(static_cast<uint32_t*>(pinned)[9], 8);
}

void other_stream_not_awaited() {
  const Address from = device(THREADS * 4), to = device(THREADS * 4);
  void *first = stream(), *second = stream();
  OK(try_launch("neighbors", 1, THREADS, writes(from), first));
  OK(try_launch("copy", 1, THREADS, writes(to, from), second));
  OK(cuStreamSynchronize(second));
  uint32_t got[THREADS];
  OK(cuMemcpyDtoH_v2(got, to, sizeof got));
  EXPECT(got[9], 8);
}

void freed_early() {
  Address from;
  const Address to = device(THREADS * 4);
  void *first = stream(), *second = stream();
  OK(cuMemAllocAsync(&from, THREADS * 4, first));
  OK(cuMemsetD8Async(from, 0, THREADS * 4, first));
  OK(cuStreamSynchronize(first));
  OK(try_launch("copy", 1, THREADS, writes(to, from), second));
  OK(cuMemFreeAsync(from, first));
  OK(cuStreamSynchronize(first));
  OK(cuStreamSynchronize(second));
}

void freed_twice() {
  Address a;
  OK(cuMemAllocAsync(&a, 8, nullptr));
  OK(cuMemFreeAsync(a, nullptr));
  OK(cuMemFreeAsync(a, nullptr));
}

void copy_past_end() {
  char bytes[16] = {};
  OK(cuMemcpyHtoD_v2(device(15), bytes, 16));
}

void graph_memory_used_after_release() {
  void *s = stream(), *graph, *executable;
  Address a;
  const Address to = device(THREADS * 4);
  function("copy");
  OK(cuStreamBeginCapture_v2(s, 1));
  OK(cuMemAllocAsync(&a, THREADS * 4, s));
  OK(cuMemsetD8Async(a, 0, THREADS * 4, s));
  OK(cuMemFreeAsync(a, s));
  OK(try_launch("copy", 1, THREADS, writes(to, a), s));
  OK(cuStreamEndCapture(s, &graph));
  OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
  OK(cuGraphLaunch(executable, s));
  OK(cuStreamSynchronize(s));
}

// ---- cases of the host: the driver as it should be

void event_orders_streams() {
  const Address from = device(THREADS * 4), to = device(THREADS * 4);
  void *first = stream(), *second = stream(), *event, *later;
  OK(cuEventCreate(&event, 0));
  OK(cuEventCreate(&later, 0));
  OK(try_launch("neighbors", 1, THREADS, writes(from), first));
  OK(cuEventRecord(event, first));
  OK(cuStreamWaitEvent(second, event, 0));
  OK(try_launch("copy", 1, THREADS, writes(to, from), second));
  OK(cuEventRecord(later, second));
  OK(cuEventSynchronize(later));
  OK(cuEventQuery(event));
  float ms = -1;
  OK(cuEventElapsedTime(&ms, event, later));
  EXPECT(ms >= 0, true);
  uint32_t got[THREADS];
  OK(cuMemcpyDtoH_v2(got, to, sizeof got));
  EXPECT(got[9], 8);
}

void capture_refuses() {
  void *s = stream(), *graph;
  Address a;
  OK(cuStreamBeginCapture_v2(s, 0));
  EXPECT(cuMemAlloc_v2(&a, 8), 900);
  EXPECT(cuStreamEndCapture(s, &graph), 901);
  OK(cuStreamBeginCapture_v2(s, 1));
  EXPECT(cuStreamSynchronize(s), 900);
  EXPECT(cuStreamEndCapture(s, &graph), 901);
  // The relaxed mode of a call lets it through.
  OK(cuStreamBeginCapture_v2(s, 0));
  int mode = 2;
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  OK(cuMemAlloc_v2(&a, 8));
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  OK(cuStreamEndCapture(s, &graph));
  EXPECT(cuStreamBeginCapture_v2(nullptr, 0), 900);
  EXPECT(cuStreamEndCapture(s, &graph), 903);
}

void graph_replays() {
  void *s = stream(), *graph, *executable;
  Address temporary;
  const Address from = device(THREADS * 4), to = device(THREADS * 4);
  function("copy");
  const int before = fzemu_live_allocations();
  OK(cuStreamBeginCapture_v2(s, 0));
  OK(cuMemAllocAsync(&temporary, THREADS * 4, s));
  OK(try_launch("copy", 1, THREADS, writes(temporary, from), s));
  OK(try_launch("copy", 1, THREADS, writes(to, temporary), s));
  OK(cuMemFreeAsync(temporary, s));
  OK(cuStreamEndCapture(s, &graph));
  OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
  OK(cuGraphDestroy(graph));
  for (unsigned char value = 1; value < 4; value++) {
    OK(cuMemsetD8Async(from, value, THREADS * 4, s));
    OK(cuGraphLaunch(executable, s));
    OK(cuStreamSynchronize(s));
    uint32_t got[THREADS];
    OK(cuMemcpyDtoH_v2(got, to, sizeof got));
    EXPECT(got[9], value * 0x01010101u);
  }
  OK(cuGraphExecDestroy(executable));
  EXPECT(fzemu_live_allocations(), before);
}

void limits_of_launches() {
  const fz::Args args = writes(device(N * 4));
  OK(try_launch("small_blocks", 1, 64, args, nullptr));
  EXPECT(try_launch("small_blocks", 1, 65, args, nullptr), 1);
  EXPECT(try_launch("copy", 0, 32, args, nullptr), 1);
  EXPECT(try_launch("copy", 1, 1025, args, nullptr), 1);
  void* kernel;
  EXPECT(cuLibraryGetKernel(&kernel, &kernel, "no_such_kernel"), 500);
}

void kinds_of_pointers() {
  Address managed;
  void* pinned;
  int plain = 0, type, is_managed, ordinal;
  OK(cuMemAllocManaged(&managed, 64, 1));
  OK(cuMemHostAlloc(&pinned, 64, 0));
  const int asked[] = {2, 8, 9};
  void* answers[] = {&type, &is_managed, &ordinal};
  const Address any = device(64);
  for (Address inside : {any, any + 63}) {
    OK(cuPointerGetAttribute(&type, 2, inside));
    EXPECT(type, 2);
  }
  EXPECT(cuPointerGetAttribute(&type, 2, any + 64 + (1 << 20)), 1);
  OK(cuPointerGetAttributes(3, asked, answers, managed + 5));
  EXPECT(type, 2);
  EXPECT(is_managed, 1);
  EXPECT(ordinal, 0);
  OK(cuPointerGetAttributes(3, asked, answers, Address(pinned)));
  EXPECT(type, 1);
  EXPECT(cuPointerGetAttribute(&type, 2, Address(&plain)), 1);
  OK(cuPointerGetAttributes(3, asked, answers, Address(&plain)));
  EXPECT(type, 0);
}

// A launch that may start before the one ahead of it has ended.
void follow(const char* name) {
  struct { int id, pad; uint64_t value[8]; } early = {6, 0, {1}};
  fz::Args args = writes(device(THREADS * 4));
  const struct { unsigned grid[3], block[3], shared; void *stream, *attributes; unsigned count; } config = {{1, 1, 1}, {THREADS, 1, 1}, 0, nullptr, &early, 1};
  void* parameters[] = {&args};
  OK(cuLaunchKernelEx(&config, function(name), parameters, nullptr));
  OK(cuStreamSynchronize(nullptr));
  EXPECT(fzemu_count("overlap"), 1);
}
void launch_ahead_awaited() { follow("waits"); }
void launch_ahead_not_awaited() { follow("neighbors"); }

void counts() {
  const Address a = device(64), b = device(64);
  void *pinned, *s = stream();
  OK(cuMemHostAlloc(&pinned, 64, 0));
  fzemu_reset();
  OK(cuMemsetD8Async(a, 1, 64, s));
  OK(cuMemcpyDtoDAsync_v2(b, a, 64, s));
  OK(cuMemcpyDtoHAsync_v2(pinned, b, 64, s));
  OK(try_launch("copy", 1, 16, writes(b, a), s));
  EXPECT(fzemu_count("sync"), 0);
  int plain[16];
  OK(cuMemcpyDtoHAsync_v2(plain, b, 64, s));  // waits, since the memory is not pinned
  EXPECT(fzemu_count("sync"), 1);
  OK(cuStreamSynchronize(s));
  EXPECT(fzemu_count("sync"), 2);
  EXPECT(fzemu_count("memset"), 1);
  EXPECT(fzemu_count("copy_dtod"), 1);
  EXPECT(fzemu_count("copy_host"), 2);
  EXPECT(fzemu_count("launch"), 1);
  EXPECT(fzemu_count("alloc"), 0);
  OK(cuMemFree_v2(a));
  EXPECT(fzemu_live_allocations(), 2);
}

void calls_fail() {
  Address a, b;
  fzemu_fail("cuMemAlloc_v2", 2, 0, 0);
  OK(cuMemAlloc_v2(&a, 64));
  EXPECT(cuMemAlloc_v2(&b, 64), 2);
  OK(cuMemAlloc_v2(&b, 64));
  EXPECT(strcmp(fzemu_failed(), "cuMemAlloc_v2"), 0);
  fzemu_fail(nullptr, 2, 700, 1);
  OK(cuStreamSynchronize(nullptr));
  EXPECT(cuStreamSynchronize(nullptr), 700);
  EXPECT(cuMemFree_v2(a), 700);
  fzemu_exempt(1);
  OK(cuMemFree_v2(a));
  fzemu_exempt(0);
  EXPECT(cuMemFree_v2(b), 700);
  EXPECT(strcmp(fzemu_failed(), "cuStreamSynchronize"), 0);
  OK(cuMemFree_v2(b));
  fzemu_fail(nullptr, 1, 0, 0);
  EXPECT(fzemu_failed() == nullptr, 1);
  OK(cuStreamSynchronize(nullptr));
  EXPECT(fzemu_live_allocations(), 0);
}

void copied_by_a_destroyed_stream(bool waits) {
  void* pinned;
  void* s = stream();
  const Address a = device(64);
  OK(cuMemHostAlloc(&pinned, 64, 0));
  OK(cuMemsetD8Async(a, 7, 64, s));
  OK(cuMemcpyDtoHAsync_v2(pinned, a, 64, s));
  OK(cuStreamDestroy_v2(s));
  EXPECT(cuStreamSynchronize(s), 400);
  if (waits) OK(cuCtxSynchronize());
  EXPECT(*static_cast<unsigned char*>(pinned), 7);
  EXPECT(fzemu_live("operations"), 0);
  EXPECT(fzemu_live("streams"), 1);  // the legacy one
}
void destroyed_stream_awaited() { copied_by_a_destroyed_stream(true); }
void destroyed_stream_not_awaited() { copied_by_a_destroyed_stream(false); }

const std::map<std::string, void (*)()> cases = {
    {"calls_fail", calls_fail},
    {"destroyed_stream_awaited", destroyed_stream_awaited},
    {"destroyed_stream_not_awaited", destroyed_stream_not_awaited},
    {"result_read_early", result_read_early},
    {"other_stream_not_awaited", other_stream_not_awaited},
    {"freed_early", freed_early},
    {"freed_twice", freed_twice},
    {"copy_past_end", copy_past_end},
    {"graph_memory_used_after_release", graph_memory_used_after_release},
    {"event_orders_streams", event_orders_streams},
    {"capture_refuses", capture_refuses},
    {"graph_replays", graph_replays},
    {"limits_of_launches", limits_of_launches},
    {"kinds_of_pointers", kinds_of_pointers},
    {"counts", counts},
    {"launch_ahead_awaited", launch_ahead_awaited},
    {"launch_ahead_not_awaited", launch_ahead_not_awaited},
};
}  // namespace

int main(int, char** arguments) {
  void* context;
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuCtxPushCurrent_v2(context));
  auto found = cases.find(arguments[1]);
  if (found != cases.end()) found->second();
  else run_kernel(arguments[1]);
  OK(cuCtxSynchronize());
}
