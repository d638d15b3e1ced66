// Threads of a block as fibers: a stack each, switched by hand (x86-64, System V). AddressSanitizer
// is told which stack is in use.
#pragma once
#include <stddef.h>

namespace fzemu {
class Fiber {
 public:
  // Starts over: the next resume() calls `body`, which must end with leave().
  void start(void (*body)());
  // Runs it until it pauses or leaves; called from outside all fibers.
  void resume();
  // Back to resume(). Called from inside.
  void pause();
  // Never returns. Not marked as such, because AddressSanitizer would query the system about stacks
  // at every call.
  void leave();

 private:
  static void begin();
  char* stack = nullptr;
  char* begin_at = nullptr;
  void* stack_pointer = nullptr;
  void (*body)() = nullptr;
};
}  // namespace fzemu
