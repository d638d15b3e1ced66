/* The element types of ADIOS2 as fzgm sees them. SPDX-License-Identifier: BSD-3-Clause */
#ifndef FZGM_ADIOS2_ELEMENT_HPP
#define FZGM_ADIOS2_ELEMENT_HPP

#include <adios2/common/ADIOSBaseTypes.h>
#include <fzgm.h>

#include <cstddef>
#include <cstdint>

namespace fzgm_adios2 {

/**
 * An element: one value of a type of fzgm, or two side by side, which compress much better apart: neighbors of a value are then values of the
 * same part.
 */
struct element {
  /** The number in the header of a block: an fz_dtype, or another number for what is none. Numbers never change. */
  std::uint8_t number;
  std::int32_t dtype;
  /** Values of one element. */
  std::size_t values;

  /** True for types that may be rounded. */
  bool is_float() const { return dtype == FZ_F32 || dtype == FZ_F64; }
};

/** Values of 0: ADIOS2 has no arrays of the type, or their elements have no fixed length. */
inline element element_of(adios2::DataType type) {
  using adios2::DataType;
  switch (type) {
  case DataType::UInt8: return {0, FZ_U8, 1};
  case DataType::UInt16: return {1, FZ_U16, 1};
  case DataType::UInt32: return {2, FZ_U32, 1};
  case DataType::UInt64: return {3, FZ_U64, 1};
  case DataType::Int8: return {4, FZ_I8, 1};
  case DataType::Int16: return {5, FZ_I16, 1};
  case DataType::Int32: return {6, FZ_I32, 1};
  case DataType::Int64: return {7, FZ_I64, 1};
  case DataType::Float: return {8, FZ_F32, 1};
  case DataType::Double: return {9, FZ_F64, 1};
  case DataType::Char: return {16, FZ_U8, 1};
  // No bound: fzgm has no arithmetic of this type. As words of 8 bytes.
  case DataType::LongDouble: return {17, FZ_U64, sizeof(long double) / 8};
  case DataType::FloatComplex: return {24, FZ_F32, 2};
  case DataType::DoubleComplex: return {25, FZ_F64, 2};
  default: return {255, FZ_U8, 0};
  }
}

/** The element of a number in a header; without values for a number that there is not. */
inline element element_of_number(std::uint8_t number) {
  using adios2::DataType;
  for (const DataType type :
       {DataType::UInt8, DataType::UInt16, DataType::UInt32, DataType::UInt64, DataType::Int8, DataType::Int16, DataType::Int32, DataType::Int64,
        DataType::Float, DataType::Double, DataType::Char, DataType::LongDouble, DataType::FloatComplex, DataType::DoubleComplex}) {
    if (element_of(type).number == number) return element_of(type);
  }
  return element_of(DataType::None);
}

} // namespace fzgm_adios2

#endif
