// How a kernel is found and called: build.sh writes a table of entries behind every file of kernels.
#pragma once

namespace fzemu {
struct Entry {
  const char* name;
  void (*call)(const void* argument);
  size_t argument_bytes;
  unsigned max_threads;
  // Static shared memory of all kernels of the file.
  unsigned char *shared, *shared_end;
  const Entry* next;
};
extern const Entry* entries;

template <auto function> struct Call;
template <class A, void (*function)(A)> struct Call<function> {
  static constexpr size_t argument_bytes = sizeof(A);
  static void with(const void* argument) { function(*static_cast<const A*>(argument)); }
};
// The threads of __launch_bounds__(threads, blocks); 1024 without one.
constexpr unsigned bound(unsigned threads = 1024, unsigned = 0, unsigned = 0) { return threads; }

template <size_t n> void enrol(Entry (&table)[n], unsigned char* shared, unsigned char* shared_end) {
  for (Entry& entry : table) {
    entry.shared = shared;
    entry.shared_end = shared_end;
    entry.next = entries;
    entries = &entry;
  }
}
}  // namespace fzemu

// name, then the arguments of its __launch_bounds__
#define FZ_ENTRY(name, ...) {#name, fzemu::Call<&name>::with, fzemu::Call<&name>::argument_bytes, fzemu::bound(__VA_ARGS__), nullptr, nullptr, nullptr}
