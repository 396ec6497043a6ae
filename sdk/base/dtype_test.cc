#include "sdk/base/dtype.h"

#include <gtest/gtest.h>

#include <set>

namespace glim {
namespace {

TEST(DTypeTable, IsInTheOrderOfTheTypes) {
  for (std::size_t i = 0; i < kDTypeTable.size(); ++i) EXPECT_EQ(kDTypeTable[i].type, static_cast<DType>(i));
}

TEST(DTypeTable, EveryNameMeansOneType) {
  std::set<std::string_view> names, safetensors, torch, numpy;
  std::size_t with_numpy = 0;
  for (const DTypeRow& row : kDTypeTable) {
    EXPECT_EQ(NameOf(row.type), row.name);
    EXPECT_EQ(SafetensorsNameOf(row.type), row.safetensors);
    EXPECT_EQ(SizeOf(row.type), row.bytes);
    EXPECT_EQ(DTypeNamed(row.name), row.type);
    EXPECT_EQ(DTypeOfSafetensors(row.safetensors), row.type);
    names.insert(row.name);
    safetensors.insert(row.safetensors);
    torch.insert(row.torch);
    if (row.numpy.empty()) continue;
    numpy.insert(row.numpy);
    ++with_numpy;
    EXPECT_EQ(row.numpy.substr(2), std::to_string(row.bytes)) << row.name;
  }
  EXPECT_EQ(names.size(), kDTypeTable.size());
  EXPECT_EQ(safetensors.size(), kDTypeTable.size());
  EXPECT_EQ(torch.size(), kDTypeTable.size());
  EXPECT_EQ(numpy.size(), with_numpy);
}

TEST(DTypeTable, HasTheNamesAndSizesOfSafetensors) {
  const std::pair<std::string_view, std::size_t> expected[] = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"U16", 2}, {"I16", 2}, {"F16", 2},
      {"BF16", 2}, {"U32", 4}, {"I32", 4}, {"F32", 4},     {"U64", 8},     {"I64", 8}, {"F64", 8}};
  for (const auto& [name, bytes] : expected) {
    const std::optional<DType> type = DTypeOfSafetensors(name);
    ASSERT_TRUE(type) << name;
    EXPECT_EQ(SizeOf(*type), bytes) << name;
  }
  EXPECT_FALSE(DTypeOfSafetensors("F4"));
  EXPECT_FALSE(DTypeOfSafetensors("f32"));
}

TEST(DTypeTable, KnowsWhatItDoesNotKnow) {
  EXPECT_EQ(NameOf(DType(200)), "unknown");
  EXPECT_EQ(SafetensorsNameOf(DType(200)), "unknown");
  EXPECT_EQ(SizeOf(DType(200)), 1u);
  EXPECT_EQ(DTypeNamed("float"), std::nullopt);
}

TEST(DTypeTable, WhatCanBeReducedComesFirst) {
  for (const char* name : {"fp32", "fp64", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2", "int32", "int64"}) {
    EXPECT_TRUE(IsReducible(*DTypeNamed(name))) << name;
  }
  EXPECT_FALSE(IsReducible(DType::kBool));
  EXPECT_FALSE(IsReducible(DType(200)));
}

}  // namespace
}  // namespace glim
