// What the host hands to device functions. Generated from src/device.rs; tests/header.rs compares.
#pragma once
#include <stdint.h>

namespace fz {
constexpr uint32_t MAX_OPERANDS = 8, PARAM_BYTES = 64, MAX_LINKS = 4;

struct Operand { uint64_t base, offset, bytes, max; };
struct Args {
  uint8_t params[PARAM_BYTES];
  Operand operands[MAX_OPERANDS];
  uint8_t links[MAX_LINKS][PARAM_BYTES];
  Operand passed;
  uint64_t zeroed, scratch, status;
  uint32_t inputs, chained, step, stage;
};

struct Image { uint32_t values, values_at, heads, heads_at, rules, rules_at; uint64_t array_bytes; };
struct ValueRow { uint32_t place, kind, word, pad; uint64_t offset, max; };
constexpr uint32_t KIND_STATIC = 0, KIND_DYNAMIC = 1, KIND_FACTS = 2;
constexpr uint32_t PLACE_NONE = 0, PLACE_ARRAY = 1, PLACE_ARENA = 2, PLACE_SEGMENT = 3;
struct HeadRow { uint32_t blank, blank_at, mask_at, stored, fields, fields_at, varints, varints_at, crcs, crcs_at, segments, segments_at; };
struct FieldRow { uint32_t at, width, what, index; uint64_t detail; };
constexpr uint32_t FIELD_STORED = 0, FIELD_COUNT = 1, FIELD_SEGMENT_BYTES = 2, FIELD_SEGMENT_OFFSET = 3, FIELD_PAYLOAD_BYTES = 4;
constexpr uint32_t CRC_DATA = 5, CRC_HEAD = 6, CRC_REST = 7;
struct SegmentRow { uint32_t value, unit, field, at; };
constexpr uint32_t FACT = 0xffffffffu;
constexpr uint32_t VARINT = 1u << 31, NO_FIELD = 0x7fffffffu;
struct RuleRow { uint32_t input, output, field, unit; };
constexpr uint64_t STATUS_AT = 0, CALL_AT = 64, WORDS_AT = 192;
struct Border { uint64_t result, stored_limit; uint32_t own, stored; uint64_t array_bytes; };
}  // namespace fz
