/* Floating-point environments that callers have, by the register of the processor: MXCSR on x86-64, FPCR and FPSR on AArch64. */
#ifndef ENVIRONMENTS_H
#define ENVIRONMENTS_H

#include <stdint.h>

typedef struct {
  const char *name;
  uint64_t bits;
} environment;

#if defined(__x86_64__)
enum {
  DEFAULT_ENVIRONMENT = 0x1f80,
  DAZ = 0x40,
  FTZ = 0x8000,
  DOWN = 0x2000,
  UP = 0x4000,
  ZERO = 0x6000,
  MASKS = 0x1f80,
  INVALID_ZERO_OVERFLOW = 0x680
};
#define ENVIRONMENT_FLAGS 0x3fu
/* No traps for subnormal operands, underflow and inexact results, which other libraries have too. */
#define ENVIRONMENT_USUAL 0x1900u
static const environment environments[] = {
  {"flush to zero", MASKS | FTZ},
  {"subnormal operands as zero", MASKS | DAZ},
  {"-ffast-math", MASKS | FTZ | DAZ},
  {"upward", MASKS | UP},
  {"downward", MASKS | DOWN},
  {"toward zero", MASKS | ZERO},
  {"traps of gfortran", MASKS & ~INVALID_ZERO_OVERFLOW},
  {"all traps", 0},
  {"raised flags", MASKS | 0x3f},
  {"all traps, upward, flush to zero", UP | FTZ | DAZ},
};
static inline uint64_t environment_now(void) { return __builtin_ia32_stmxcsr(); }
static inline void environment_set(uint64_t bits) { __builtin_ia32_ldmxcsr((unsigned)bits); }
#elif defined(__aarch64__)
/* FPCR in the low half, FPSR in the high one. Most processors have no traps; their bits read as 0 there. */
#define ENVIRONMENT_FLAGS ((uint64_t)0x9f << 32)
#define ENVIRONMENT_USUAL 0u
enum { DEFAULT_ENVIRONMENT = 0, UP = 1 << 22, DOWN = 2 << 22, ZERO = 3 << 22, FTZ = 1 << 24 };
static const environment environments[] = {
  {"flush to zero", FTZ}, {"upward", UP}, {"downward", DOWN}, {"toward zero", ZERO}, {"raised flags", (uint64_t)0x1f << 32},
  {"upward, flush to zero", UP | FTZ},
};
static inline uint64_t environment_now(void) {
  uint64_t control, flags;
  __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control), "=r"(flags));
  return control | flags << 32;
}
static inline void environment_set(uint64_t bits) {
  __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" ::"r"(bits & 0xffffffffu), "r"(bits >> 32));
}
#else
#define ENVIRONMENT_FLAGS 0u
#define ENVIRONMENT_USUAL 0u
enum { DEFAULT_ENVIRONMENT = 0 };
static const environment environments[] = {{"default", 0}};
static inline uint64_t environment_now(void) { return 0; }
static inline void environment_set(uint64_t bits) { (void)bits; }
#endif

enum { ENVIRONMENTS = sizeof environments / sizeof environments[0] };

#endif
