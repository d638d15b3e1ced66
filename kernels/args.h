// The argument block of every device function. Generated from src/device.rs; tests/header.rs compares.
#pragma once
#include <stdint.h>

namespace fz {
constexpr int MAX_OPERANDS = 8, MAX_LINKS = 4, PARAM_BYTES = 64;

struct Operand {
  uint64_t base, offset, bytes, max;
};

struct Args {
  uint8_t params[PARAM_BYTES];
  Operand operands[MAX_OPERANDS];
  uint8_t links[MAX_LINKS][PARAM_BYTES];
  Operand passed;
  uint64_t zeroed, scratch, status;
  uint32_t inputs, chained, step, stage;
};
static_assert(sizeof(Args) == 64 + 8 * 32 + 4 * 64 + 32 + 3 * 8 + 4 * 4, "as in src/device.rs");
}  // namespace fz
