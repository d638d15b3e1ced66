// Shared by the parts of the emulated driver. Types of the driver are written as plain integers and
// pointers, because a caller only sees the binary interface.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#define API extern "C" __attribute__((visibility("default"))) fzemu::Result

namespace fzemu {
using Result = int;
using Address = uint64_t;

enum : Result {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_INITIALIZED = 3,
  INVALID_DEVICE = 101,
  INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500,
  NOT_READY = 600,
  ALREADY_REGISTERED = 712,
  CAPTURE_UNSUPPORTED = 900,
  CAPTURE_INVALIDATED = 901,
  CAPTURE_UNMATCHED = 903,
  CAPTURE_IMPLICIT = 906,
  CAPTURE_WRONG_THREAD = 908,
};

// One lock over the whole driver; kernels run under it. Recursive, since operations of a stream may wait for others.
using Lock = std::lock_guard<std::recursive_mutex>;
std::recursive_mutex& driver();

// ---- device.cpp
struct Context {
  uint64_t id;
};
Context* current_context();
bool initialized();

// ---- memory.cpp
enum class Kind { device, pooled, pinned, registered, managed };
struct Block {
  Address start;
  size_t bytes;
  Kind kind;
  Context* context;
  bool on_device() const { return kind != Kind::pinned && kind != Kind::registered; }
};
// The live block that holds the address, or nullptr.
const Block* block_at(Address address);
// Memory of a context ends with it.
void forget(const Context* context);
// Ends the process where the bytes are not within one live block of the device: on a GPU this would be memory of another.
void check_device(Address address, size_t bytes, const char* operation);

// Memory of a graph: its address is fixed when it is captured, and it lives from its allocation to its release in each replay.
struct GraphMemory {
  explicit GraphMemory(size_t bytes);
  ~GraphMemory();
  void allocate();
  void release();
  Address start;
  size_t bytes;
};

// ---- graph.cpp
using Operation = std::function<void()>;
struct Graph {
  std::vector<Operation> operations;
  std::vector<std::shared_ptr<GraphMemory>> memory;
};
struct Capture {
  std::shared_ptr<Graph> graph;
  int mode;
  uint64_t thread;
  bool valid;
};
// A call that is no operation of a stream: not while this thread captures, nor while any does in the global mode, save in
// the relaxed mode of the caller. A refused call spoils the captures it disturbs.
Result refuse_in_capture();

// ---- stream.cpp
struct Pending {
  uint64_t number;  // of all operations of all streams
  Operation run;
};
struct Stream {
  Context* context;
  bool blocking;
  std::shared_ptr<Capture> capture;
  std::deque<Pending> pending;
  bool destroyed = false;  // the handle is invalid; pending operations still run
};
const std::vector<Stream*>& all_streams();
// The stream of a handle, special ones included; nullptr: no such stream.
Stream* stream_of(void* handle);
// Puts an operation at the end of the stream, or into the graph that it captures.
Result enqueue(void* stream, Operation operation);
// Streams of a context end with it.
void forget_streams(const Context* context);
// Runs what was asked of the stream before operation `number`, or everything.
void finish(Stream& stream, uint64_t number = UINT64_MAX);
void finish_all();

// ---- counters.cpp
void count(const char* what, long n = 1);

// ---- faults.cpp
// Returns the injected error of this call, or SUCCESS.
Result called(const char* call);
}  // namespace fzemu

// The first statement of every driver call.
#define CALLED if (fzemu::Result fault = fzemu::called(__func__)) return fault

// The call waits for the device, or may: a caller that promises not to block must not make it.
#define SYNCHRONIZES                                               \
  fzemu::Lock lock(fzemu::driver());                               \
  fzemu::count("sync");                                            \
  if (fzemu::Result refused = fzemu::refuse_in_capture()) return refused
