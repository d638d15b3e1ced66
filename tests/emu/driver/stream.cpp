// Streams and events. Operations run at once, or with FZ_EMU_DEFER=1 only when a call waits for
// them, and then only the necessary ones. This exposes results that are read too early, memory that
// is freed too early, and events without a waiting stream.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <chrono>

#include "driver.h"

using namespace fzemu;
using Clock = std::chrono::steady_clock;

namespace fzemu {
namespace {
uint64_t next_number = 1;

struct Event {
  Stream* stream;  // nullptr: not recorded
  uint64_t number;
  Clock::time_point reached;
  std::shared_ptr<Capture> capture;  // in which it was recorded
};

std::vector<Stream*>& streams() {
  static std::vector<Stream*> all;
  return all;
}
Stream& legacy() {
  static Stream* stream = [] {
    auto* s = new Stream{nullptr, true, nullptr, {}};
    streams().push_back(s);
    return s;
  }();
  return *stream;
}
Stream& per_thread() {
  thread_local Stream* stream = [] {
    auto* s = new Stream{nullptr, true, nullptr, {}};
    streams().push_back(s);
    return s;
  }();
  return *stream;
}

bool deferred() {
  const char* wish = getenv("FZ_EMU_DEFER");
  return wish && *wish == '1';
}

long live_events;

// True also for destroyed streams: an event may outlive its stream.
bool exists(Stream* stream) { return std::find(streams().begin(), streams().end(), stream) != streams().end(); }

// Deletes destroyed streams without pending operations.
void bury() {
  auto& all = streams();
  for (size_t i = all.size(); i-- > 0;) {
    if (!all[i]->destroyed || !all[i]->pending.empty()) continue;
    delete all[i];
    all.erase(all.begin() + long(i));
  }
}

bool done(const Event& e) { return !e.stream || e.stream->pending.empty() || e.stream->pending.front().number > e.number; }
}  // namespace

const std::vector<Stream*>& all_streams() { return streams(); }

Stream* stream_of(void* handle) {
  const auto n = reinterpret_cast<uintptr_t>(handle);
  if (n <= 1) return &legacy();
  if (n == 2) return &per_thread();
  const auto& all = streams();
  auto found = std::find(all.begin(), all.end(), static_cast<Stream*>(handle));
  return found == all.end() || (*found)->destroyed ? nullptr : *found;
}

Result enqueue(void* handle, Operation operation) {
  Stream* stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  if (!stream->context && !current_context()) return INVALID_CONTEXT;
  if (stream->capture) {
    if (!stream->capture->valid) return CAPTURE_INVALIDATED;
    stream->capture->graph->operations.push_back(std::move(operation));
    return SUCCESS;
  }
  if (stream == &legacy()) {
    // It would wait for the stream that captures.
    for (Stream* other : streams()) {
      if (!other->blocking || !other->capture) continue;
      other->capture->valid = false;
      return CAPTURE_IMPLICIT;
    }
  }
  stream->pending.push_back({next_number++, std::move(operation)});
  if (!deferred()) finish(*stream);
  return SUCCESS;
}

void finish(Stream& stream, uint64_t number) {
  while (!stream.pending.empty() && stream.pending.front().number < number) {
    Pending next = std::move(stream.pending.front());
    stream.pending.pop_front();
    // The legacy stream and the blocking ones wait for each other.
    if (&stream == &legacy()) {
      for (size_t i = 0; i < streams().size(); i++) if (streams()[i]->blocking && streams()[i] != &stream) finish(*streams()[i], next.number);
    } else if (stream.blocking) {
      finish(legacy(), next.number);
    }
    next.run();
  }
}

void finish_all() {
  for (size_t i = 0; i < streams().size(); i++) finish(*streams()[i]);
}

void forget_streams(const Context* context) {
  for (Stream* s : streams()) {
    if (s->context != context || !context) continue;
    s->destroyed = true;
    s->capture = nullptr;
  }
  bury();
}
}  // namespace fzemu

// Counts live objects: "streams", "events", or pending "operations".
extern "C" __attribute__((visibility("default"))) long fzemu_live(const char* what) {
  Lock lock(driver());
  if (!strcmp(what, "events")) return live_events;
  long streams_alive = 0, operations = 0;
  for (const Stream* s : all_streams()) {
    streams_alive += !s->destroyed;
    operations += long(s->pending.size());
  }
  return strcmp(what, "streams") ? operations : streams_alive;
}

namespace {
// Waiting for a stream that captures, or asking how far it is, spoils the capture.
Result refuse_if_capturing(Stream& stream) {
  if (!stream.capture) return SUCCESS;
  stream.capture->valid = false;
  return CAPTURE_UNSUPPORTED;
}
}  // namespace

API cuStreamCreateWithPriority(Stream** stream, unsigned flags, int) {
  CALLED;
  Lock lock(driver());
  if (!current_context()) return INVALID_CONTEXT;
  bury();
  *stream = new Stream{current_context(), (flags & 1) == 0, nullptr, {}};
  streams().push_back(*stream);
  return SUCCESS;
}
API cuStreamCreate(Stream** stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }
API cuStreamDestroy_v2(Stream* stream) {
  CALLED;
  Lock lock(driver());
  if (reinterpret_cast<uintptr_t>(stream) <= 2 || !stream_of(stream)) return INVALID_HANDLE;
  // As in the driver, pending operations run on.
  stream->destroyed = true;
  stream->capture = nullptr;
  bury();
  return SUCCESS;
}
API cuStreamGetCtx(void* handle, Context** context) {
  CALLED;
  Lock lock(driver());
  Stream* stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  *context = stream->context ? stream->context : current_context();
  return *context ? SUCCESS : INVALID_CONTEXT;
}
API cuStreamGetFlags(void* handle, unsigned* flags) {
  CALLED;
  Lock lock(driver());
  Stream* stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  *flags = stream->blocking ? 0 : 1;
  return SUCCESS;
}
API cuStreamSynchronize(void* handle) {
  CALLED;
  Lock lock(driver());
  count("sync");
  Stream* stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  if (Result refused = refuse_if_capturing(*stream)) return refused;
  if (stream == &legacy()) finish_all();
  finish(*stream);
  return SUCCESS;
}
API cuStreamQuery(void* handle) {
  CALLED;
  Lock lock(driver());
  Stream* stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  if (Result refused = refuse_if_capturing(*stream)) return refused;
  return stream->pending.empty() ? SUCCESS : NOT_READY;
}
API cuLaunchHostFunc(void* handle, void (*function)(void*), void* data) {
  CALLED;
  Lock lock(driver());
  return enqueue(handle, [=] { function(data); });
}

API cuEventCreate(Event** event, unsigned) {
  CALLED;
  Lock lock(driver());
  live_events++;
  *event = new Event{};
  return SUCCESS;
}
API cuEventDestroy_v2(Event* event) {
  CALLED;
  if (!event) return INVALID_HANDLE;
  Lock lock(driver());
  // Its record may still be to come: then the note of the time finds no event. Run it first.
  if (event->stream && exists(event->stream)) finish(*event->stream, event->number + 1);
  live_events--;
  delete event;
  return SUCCESS;
}
API cuEventRecord(Event* event, void* handle) {
  CALLED;
  Lock lock(driver());
  Stream* stream = stream_of(handle);
  if (!event || !stream) return INVALID_HANDLE;
  event->capture = stream->capture;
  if (stream->capture) return SUCCESS;
  event->stream = stream;
  event->number = next_number;
  return enqueue(handle, [=] { event->reached = Clock::now(); });
}
API cuEventQuery(Event* event) {
  CALLED;
  Lock lock(driver());
  if (!event) return INVALID_HANDLE;
  if (event->capture) return CAPTURE_UNSUPPORTED;
  return done(*event) ? SUCCESS : NOT_READY;
}
API cuEventSynchronize(Event* event) {
  CALLED;
  Lock lock(driver());
  count("sync");
  if (!event) return INVALID_HANDLE;
  if (event->capture) return CAPTURE_UNSUPPORTED;
  if (event->stream && exists(event->stream)) finish(*event->stream, event->number + 1);
  return SUCCESS;
}
// Time of the CPU between the two.
API cuEventElapsedTime(float* milliseconds, Event* from, Event* to) {
  CALLED;
  Lock lock(driver());
  if (!from || !to || !from->stream || !to->stream) return INVALID_HANDLE;
  if (!done(*from) || !done(*to)) return NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(to->reached - from->reached).count();
  return SUCCESS;
}
API cuStreamWaitEvent(void* handle, Event* event, unsigned) {
  CALLED;
  Lock lock(driver());
  Stream* stream = stream_of(handle);
  if (!event || !stream) return INVALID_HANDLE;
  if (event->capture && event->capture->valid) {
    // The stream joins the capture; operations of a graph run in the order in which they were captured.
    stream->capture = event->capture;
    return SUCCESS;
  }
  Stream* other = event->stream;
  const uint64_t number = event->number;
  if (!other) return SUCCESS;
  return enqueue(handle, [=] { if (exists(other)) finish(*other, number + 1); });
}
