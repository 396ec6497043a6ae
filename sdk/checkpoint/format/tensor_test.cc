#include "sdk/checkpoint/format/tensor.h"

#include <gtest/gtest.h>

namespace glim::checkpoint {
namespace {

TEST(TensorBytes, AreShapeTimesType) {
  const std::uint64_t half = std::uint64_t{1} << 31;
  EXPECT_EQ(BytesOf(DType::kF64, {}), 8u);
  EXPECT_EQ(BytesOf(DType::kBF16, std::vector<std::uint64_t>{3, 5}), 30u);
  EXPECT_EQ(BytesOf(DType::kF32, std::vector<std::uint64_t>{0, kTensorBytesMax, kTensorBytesMax}), 0u);
  EXPECT_EQ(BytesOf(DType::kU8, std::vector<std::uint64_t>{half, half}), kTensorBytesMax);
  EXPECT_FALSE(BytesOf(DType::kU16, std::vector<std::uint64_t>{half, half}));
  EXPECT_FALSE(BytesOf(DType::kU8, std::vector<std::uint64_t>{~std::uint64_t{0}, 2}));
  const TensorInfo large{.name = "w", .dtype = DType::kF32, .shape = {half, half}};
  EXPECT_EQ(large.bytes().status().code(), StatusCode::kOutOfRange);
}

TEST(TensorInfo, CheckNamesTheFault) {
  EXPECT_TRUE((TensorInfo{.name = "a/b.c d \xc3\xb6", .shape = std::vector<std::uint64_t>(16, 1)}).Check().ok());
  EXPECT_TRUE((TensorInfo{.name = std::string(1024, 'x'), .shape = {}}).Check().ok());
  for (const std::string& name : {std::string(), std::string(1025, 'x'), std::string("a\nb"), std::string("\xff"),
                                  std::string("__metadata__"), std::string(1, '\0')}) {
    EXPECT_EQ((TensorInfo{.name = name, .shape = {}}).Check().field(), "name") << name;
  }
  for (const std::vector<std::uint64_t>& shape :
       {std::vector<std::uint64_t>(17, 1), std::vector<std::uint64_t>{kTensorBytesMax, 2}}) {
    const Status status = TensorInfo{.name = "w", .shape = shape}.Check();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.field(), "shape");
  }
}

}  // namespace
}  // namespace glim::checkpoint
