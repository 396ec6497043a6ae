// The element types that arrays have, with all their names: one table for hfreduce, checkpoints and Python.
//
// sdk/python/glim/dtypes.py says the same in Python; a test compares the two.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace glim {

// Values are part of hfreduce's wire format: what can be reduced comes first and has room in three bits.
enum class DType : std::uint8_t {
  kF32 = 0,
  kF64 = 1,
  kF16 = 2,
  kBF16 = 3,
  kF8E4M3 = 4,  // OCP FP8: one NaN, no infinity, largest 448
  kF8E5M2 = 5,  // OCP FP8: as IEEE, largest finite 57344
  kI32 = 6,
  kI64 = 7,
  kBool = 8,
  kU8 = 9,
  kI8 = 10,
  kU16 = 11,
  kI16 = 12,
  kU32 = 13,
  kU64 = 14,
};
inline constexpr int kDTypes = 15;
inline constexpr int kReducibleDTypes = 8;  // the first of them

struct DTypeRow {
  DType type;
  std::size_t bytes;             // of one element
  std::string_view name;         // in command lines and messages
  std::string_view safetensors;  // in the header of a safetensors file
  std::string_view torch;        // torch.NAME
  std::string_view numpy;        // array-interface type string; empty: numpy has no such type
};

// In the order of DType.
inline constexpr std::array<DTypeRow, kDTypes> kDTypeTable = {{
    {DType::kF32, 4, "fp32", "F32", "float32", "<f4"},
    {DType::kF64, 8, "fp64", "F64", "float64", "<f8"},
    {DType::kF16, 2, "fp16", "F16", "float16", "<f2"},
    {DType::kBF16, 2, "bf16", "BF16", "bfloat16", ""},
    {DType::kF8E4M3, 1, "fp8_e4m3", "F8_E4M3", "float8_e4m3fn", ""},
    {DType::kF8E5M2, 1, "fp8_e5m2", "F8_E5M2", "float8_e5m2", ""},
    {DType::kI32, 4, "int32", "I32", "int32", "<i4"},
    {DType::kI64, 8, "int64", "I64", "int64", "<i8"},
    {DType::kBool, 1, "bool", "BOOL", "bool", "|b1"},
    {DType::kU8, 1, "uint8", "U8", "uint8", "|u1"},
    {DType::kI8, 1, "int8", "I8", "int8", "|i1"},
    {DType::kU16, 2, "uint16", "U16", "uint16", "<u2"},
    {DType::kI16, 2, "int16", "I16", "int16", "<i2"},
    {DType::kU32, 4, "uint32", "U32", "uint32", "<u4"},
    {DType::kU64, 8, "uint64", "U64", "uint64", "<u8"},
}};

// False: the value came from a file or a peer and is no type.
constexpr bool IsKnown(DType type) { return static_cast<int>(type) < kDTypes; }
constexpr bool IsReducible(DType type) { return static_cast<int>(type) < kReducibleDTypes; }

// 1, 2, 4 or 8; 1 for a value that is not known.
constexpr std::size_t SizeOf(DType type) {
  return IsKnown(type) ? kDTypeTable[static_cast<std::size_t>(type)].bytes : 1;
}

// "fp32"; "unknown" for a value that is not known.
constexpr std::string_view NameOf(DType type) {
  return IsKnown(type) ? kDTypeTable[static_cast<std::size_t>(type)].name : "unknown";
}

// "F32"; "unknown" for a value that is not known.
constexpr std::string_view SafetensorsNameOf(DType type) {
  return IsKnown(type) ? kDTypeTable[static_cast<std::size_t>(type)].safetensors : "unknown";
}

constexpr std::optional<DType> DTypeNamed(std::string_view name) {
  for (const DTypeRow& row : kDTypeTable) {
    if (row.name == name) return row.type;
  }
  return std::nullopt;
}

constexpr std::optional<DType> DTypeOfSafetensors(std::string_view name) {
  for (const DTypeRow& row : kDTypeTable) {
    if (row.safetensors == name) return row.type;
  }
  return std::nullopt;
}

}  // namespace glim
