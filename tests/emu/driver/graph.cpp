// Captures and graphs. A graph is the list of its operations, in the order in which they were captured.
#include <algorithm>
#include <utility>

#include "driver.h"

using namespace fzemu;

namespace {
enum Mode { GLOBAL = 0, THREAD_LOCAL = 1, RELAXED = 2 };
thread_local int mode_of_calls = GLOBAL;

struct GraphHandle {
  std::shared_ptr<Graph> graph;
};

// Never used again, unlike the ids of the system.
uint64_t this_thread() {
  static uint64_t next = 1;
  thread_local const uint64_t mine = next++;
  return mine;
}
}  // namespace

namespace fzemu {
Result refuse_in_capture() {
  if (mode_of_calls == RELAXED) return SUCCESS;
  Result result = SUCCESS;
  for (Stream* stream : all_streams()) {
    if (!stream->capture) continue;
    Capture& capture = *stream->capture;
    const bool mine = capture.mode != RELAXED && capture.thread == this_thread();
    const bool everybodys = capture.mode == GLOBAL && mode_of_calls == GLOBAL;
    if (!mine && !everybodys) continue;
    capture.valid = false;
    result = CAPTURE_UNSUPPORTED;
  }
  return result;
}
}  // namespace fzemu

API cuThreadExchangeStreamCaptureMode(int* mode) {
  CALLED;
  if (*mode < GLOBAL || *mode > RELAXED) return INVALID_VALUE;
  std::swap(*mode, mode_of_calls);
  return SUCCESS;
}
API cuStreamBeginCapture_v2(void* handle, int mode) {
  CALLED;
  Lock lock(driver());
  Stream* stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  if (mode < GLOBAL || mode > RELAXED || stream->capture) return INVALID_VALUE;
  if (reinterpret_cast<uintptr_t>(handle) <= 1) return CAPTURE_UNSUPPORTED;
  stream->capture = std::make_shared<Capture>(Capture{std::make_shared<Graph>(), mode, this_thread(), true});
  return SUCCESS;
}
API cuStreamEndCapture(void* handle, GraphHandle** graph) {
  CALLED;
  Lock lock(driver());
  Stream* stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  std::shared_ptr<Capture> capture = stream->capture;
  *graph = nullptr;
  if (!capture) return CAPTURE_UNMATCHED;
  if (capture->mode != RELAXED && capture->thread != this_thread()) return CAPTURE_WRONG_THREAD;
  for (Stream* s : all_streams()) if (s->capture == capture) s->capture = nullptr;
  const bool valid = std::exchange(capture->valid, false);
  if (!valid) return CAPTURE_INVALIDATED;
  *graph = new GraphHandle{capture->graph};
  return SUCCESS;
}
API cuStreamIsCapturing(void* handle, int* status) {
  CALLED;
  Lock lock(driver());
  Stream* stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  *status = !stream->capture ? 0 : stream->capture->valid ? 1 : 2;
  return SUCCESS;
}
API cuGraphInstantiateWithFlags(GraphHandle** executable, GraphHandle* graph, unsigned long long) {
  CALLED;
  if (!graph) return INVALID_VALUE;
  *executable = new GraphHandle{graph->graph};
  return SUCCESS;
}
API cuGraphLaunch(GraphHandle* executable, void* stream) {
  CALLED;
  Lock lock(driver());
  if (!executable) return INVALID_VALUE;
  count("graph");
  std::shared_ptr<Graph> graph = executable->graph;
  return enqueue(stream, [graph] { for (const Operation& operation : graph->operations) operation(); });
}
API cuGraphGetNodes(GraphHandle* graph, void**, size_t* n) {
  CALLED;
  if (!graph || !n) return INVALID_VALUE;
  *n = graph->graph->operations.size();
  return SUCCESS;
}
API cuGraphExecDestroy(GraphHandle* executable) {
  CALLED;
  delete executable;
  return SUCCESS;
}
API cuGraphDestroy(GraphHandle* graph) {
  CALLED;
  delete graph;
  return SUCCESS;
}
