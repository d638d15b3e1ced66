// Counters for tests: the number of calls of each kind, and of live allocations.
#include <map>
#include <string>

#include "driver.h"

namespace fzemu {
namespace {
std::map<std::string, long>& counts() {
  static std::map<std::string, long> of;
  return of;
}
}  // namespace

std::recursive_mutex& driver() {
  static std::recursive_mutex lock;
  return lock;
}

void count(const char* what, long n) { counts()[what] += n; }
}  // namespace fzemu

// Calls since the last reset: "sync" (calls that wait or may), "alloc", "free", "launch", "overlap" (launches that may start before the one ahead has ended), "memset", "copy_dtod", "copy_host"
// (copies within a stream that touch memory of the host), "bytes_to_host" (bytes of those that go there), "load" (of libraries), "graph" (launches of graphs).
extern "C" __attribute__((visibility("default"))) long fzemu_count(const char* what) {
  fzemu::Lock lock(fzemu::driver());
  auto found = fzemu::counts().find(what);
  return found == fzemu::counts().end() ? 0 : found->second;
}
extern "C" __attribute__((visibility("default"))) void fzemu_reset() {
  fzemu::Lock lock(fzemu::driver());
  fzemu::counts().clear();
}
