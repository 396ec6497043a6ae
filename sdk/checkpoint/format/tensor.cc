#include "sdk/checkpoint/format/tensor.h"

#include "sdk/base/printable.h"
#include "sdk/base/utf8.h"

namespace glim::checkpoint {

std::optional<std::uint64_t> BytesOf(DType dtype, std::span<const std::uint64_t> shape) {
  std::uint64_t bytes = SizeOf(dtype);
  for (const std::uint64_t dimension : shape) {
    if (bytes != 0 && dimension > kTensorBytesMax / bytes) return std::nullopt;
    bytes *= dimension;
  }
  return bytes;
}

Result<std::uint64_t> TensorInfo::bytes() const {
  if (const auto bytes = BytesOf(dtype, shape)) return *bytes;
  return Status(StatusCode::kOutOfRange, "the tensor \"" + Printable(name) + "\" would have more than 2^62 bytes")
      .WithReason("BAD_TENSOR")
      .WithField("shape");
}

Status TensorInfo::Check() const {
  const auto refuse = [&](const char* field, std::string what) {
    return Status(StatusCode::kInvalidArgument, "the tensor \"" + Printable(name) + "\": " + std::move(what))
        .WithReason("BAD_TENSOR")
        .WithField(field);
  };
  if (name.empty() || name.size() > kTensorNameBytesMax) {
    return refuse("name", "a name has 1 to " + std::to_string(kTensorNameBytesMax) + " bytes");
  }
  if (!IsUtf8(name) || HasControl(name)) {
    return refuse("name", "a name is UTF-8 without control characters");
  }
  if (name == "__metadata__") return refuse("name", "this name is taken by the format");
  if (shape.size() > kDimensionsMax) {
    return refuse("shape",
                  "at most " + std::to_string(kDimensionsMax) + " dimensions, here " + std::to_string(shape.size()));
  }
  if (!BytesOf(dtype, shape)) return refuse("shape", "more than 2^62 bytes");
  return Status::Ok();
}

}  // namespace glim::checkpoint
