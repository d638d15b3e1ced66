// Injected failures: one call fails, or the device is lost from that call on.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>

#include "driver.h"

namespace fzemu {
namespace {
enum : Result { SYSTEM = 304, LAUNCH_OUT_OF_RESOURCES = 701 };

struct Fault {
  std::string call;  // empty: any
  long left = 0;     // 0: none
  Result code = SUCCESS;
  bool lost = false;
};
Fault wanted;
Result lost = SUCCESS;
std::string failed;
thread_local bool exempt;

// A transient error that suits the call.
Result passing(const std::string& call) {
  for (const char* takes : {"Alloc", "Create", "Retain", "Load", "Instantiate"})
    if (call.find(takes) != std::string::npos) return OUT_OF_MEMORY;
  return call.find("Launch") != std::string::npos ? Result(LAUNCH_OUT_OF_RESOURCES) : Result(SYSTEM);
}

// Reads FZ_EMU_FAIL=call:nth:code:lost, for programs that cannot call fzemu_fail().
void read_wish() {
  static bool read;
  const char* wish = read ? nullptr : getenv("FZ_EMU_FAIL");
  read = true;
  if (!wish) return;
  char call[64] = "";
  int gone = 0;
  if (sscanf(wish, "%63[^:]:%ld:%d:%d", call, &wanted.left, &wanted.code, &gone) < 2) {
    fprintf(stderr, "fzemu: FZ_EMU_FAIL is %s; expected call:nth:code:lost\n", wish);
    abort();
  }
  wanted.call = strcmp(call, "any") ? call : "";
  wanted.lost = gone != 0;
}
}  // namespace

Result called(const char* call) {
  Lock lock(driver());
  read_wish();
  if (exempt) return SUCCESS;
  if (lost) return lost;
  if (wanted.left == 0 || (!wanted.call.empty() && wanted.call != call) || --wanted.left) return SUCCESS;
  failed = call;
  const Result code = wanted.code ? wanted.code : passing(failed);
  if (wanted.lost) lost = code;
  return code;
}
}  // namespace fzemu

// Fails the nth call from now on, of this name or, with NULL, of any name. Code 0 selects one that suits the call. gone: every later call returns
// the same code.
extern "C" __attribute__((visibility("default"))) void fzemu_fail(const char* call, long nth, int code, int gone) {
  fzemu::Lock lock(fzemu::driver());
  fzemu::failed.clear();
  fzemu::wanted.call = call ? call : "";
  fzemu::wanted.left = nth;
  fzemu::wanted.code = code;
  fzemu::wanted.lost = gone != 0;
}

// Returns the call that failed, or NULL. Ends the injection and restores a lost device.
extern "C" __attribute__((visibility("default"))) const char* fzemu_failed() {
  fzemu::Lock lock(fzemu::driver());
  fzemu::wanted.left = 0;
  fzemu::lost = fzemu::SUCCESS;
  return fzemu::failed.empty() ? nullptr : fzemu::failed.c_str();
}

// Exempts the calls of this thread, which are those of a test.
extern "C" __attribute__((visibility("default"))) void fzemu_exempt(int on) { fzemu::exempt = on != 0; }
