// Helpers of the programs of this folder. SPDX-License-Identifier: BSD-3-Clause
#ifndef FZGM_TESTS_ADIOS2_CHECK_HPP
#define FZGM_TESTS_ADIOS2_CHECK_HPP

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#define CHECK(condition)                                                                         \
  do {                                                                                           \
    if (!(condition)) {                                                                          \
      std::fprintf(stderr, "FAILED: %s:%d: %s\n", __FILE__, __LINE__, #condition);               \
      std::exit(1);                                                                              \
    }                                                                                            \
  } while (0)

/** The text of the exception that `f` has to throw, which has to contain `expected`. */
template <class F> std::string thrown(const char *expected, F f) {
  try {
    f();
  } catch (const std::exception &e) {
    if (std::string(e.what()).find(expected) == std::string::npos) {
      std::fprintf(stderr, "FAILED: the text is\n%s\nexpected in it: %s\n", e.what(), expected);
      std::exit(1);
    }
    return e.what();
  }
  std::fprintf(stderr, "FAILED: nothing is thrown; expected: %s\n", expected);
  std::exit(1);
}

/** Random numbers, the same in every run. */
struct random_numbers {
  std::uint64_t state = 1;
  std::uint64_t next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 16;
  }
};

/** A smooth field with some noise. */
template <class T> std::vector<T> field(std::size_t n, double scale = 100.0) {
  std::vector<T> made(n);
  random_numbers random;
  for (std::size_t i = 0; i < n; i++) {
    const double noise = static_cast<double>(random.next() % 1000) / 1000.0;
    made[i] = static_cast<T>(scale * (std::sin(static_cast<double>(i) / 37.0) + 0.01 * noise));
  }
  return made;
}

/** Numbers without any regularity. */
template <class T> std::vector<T> noise(std::size_t n) {
  std::vector<T> made(n);
  random_numbers random;
  auto *bytes = reinterpret_cast<unsigned char *>(made.data());
  for (std::size_t i = 0; i < n * sizeof(T); i++) bytes[i] = static_cast<unsigned char>(random.next());
  return made;
}

template <class T> bool same_bits(const T &a, const T &b) { return std::memcmp(&a, &b, sizeof(T)) == 0; }

#endif
