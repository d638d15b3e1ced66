#include "fiber.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#if !defined(__x86_64__)
#error "The emulator switches stacks by hand, and knows only how x86-64 does it: see fzemu_switch"
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

// Saves what a callee has to keep, changes the stack, and takes the same from there.
extern "C" void fzemu_switch(void** save_stack_pointer, void* to_stack_pointer);
asm(R"(
.text
.globl fzemu_switch
.hidden fzemu_switch
.type fzemu_switch,@function
fzemu_switch:
  pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp
  ret
)");

namespace fzemu {
namespace {
// Frames under the sanitizers are several times as large as those of a GPU.
constexpr size_t STACK = 128 * 1024, GUARD = 4096, PAGE = 4096, LINE = 64;
void* outside;
Fiber* running;
#if defined(__SANITIZE_ADDRESS__)
const void* outside_bottom;
size_t outside_size;
#endif

char* new_stack() {
  void* p = mmap(nullptr, GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED || mprotect(p, GUARD, PROT_NONE)) {
    perror("fzemu: no memory for the stack of a thread");
    abort();
  }
  return static_cast<char*>(p) + GUARD;
}
}  // namespace

void Fiber::start(void (*what)()) {
  body = what;
  if (!stack) {
    // Not all at the same place of a page: those that take turns would push each other out of the first cache.
    static unsigned color;
    stack = new_stack();
    begin_at = stack + STACK - LINE * (color++ % (PAGE / LINE));
  }
  // A body that has left has left no redzones: its calls had returned.
  void** top = reinterpret_cast<void**>(begin_at);
  *--top = nullptr;  // keeps the stack aligned as behind a call
  *--top = reinterpret_cast<void*>(&Fiber::begin);
  for (int saved = 0; saved < 6; saved++) *--top = nullptr;
  stack_pointer = top;
}

void Fiber::begin() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &outside_bottom, &outside_size);
#endif
  running->body();
  abort();  // a body leaves
}

void Fiber::resume() {
  running = this;
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, stack, STACK);
#endif
  fzemu_switch(&outside, stack_pointer);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}

void Fiber::pause() {
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, outside_bottom, outside_size);
#endif
  fzemu_switch(&stack_pointer, outside);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake, &outside_bottom, &outside_size);
#endif
}

void Fiber::leave() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(nullptr, outside_bottom, outside_size);
#endif
  fzemu_switch(&stack_pointer, outside);
}
}  // namespace fzemu
