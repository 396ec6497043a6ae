// Ranks with buffers on a device, the stand-in's or a real one (sdk/device/testing/test_cuda.h). Test code alone.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "sdk/device/testing/device_buffer.h"
#include "sdk/hfreduce/communicator/testing/ranks.h"

namespace glim::hfreduce::testing {

inline CommunicatorOptions WithCuda(const std::string& transport, const std::string& gdrcopy = "none") {
  CommunicatorOptions options = TestCommunicator(transport);
  options.cuda_runtime = device::testing::CudaRuntime();
  options.gdrcopy = gdrcopy;
  return options;
}

inline float ValueOf(std::uint32_t rank, std::size_t i) { return static_cast<float>((i * 7 + rank * 13) % 1001); }

inline std::vector<float> PartOf(std::uint32_t rank, std::size_t count) {
  std::vector<float> part(count);
  for (std::size_t i = 0; i < count; ++i) part[i] = ValueOf(rank, i);
  return part;
}

inline std::vector<float> SumOf(std::uint32_t ranks, std::size_t count) {
  std::vector<float> sum(count);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < count; ++i) sum[i] += ValueOf(rank, i);
  }
  return sum;
}

// Floats on the device or on the host.
class Floats {
 public:
  Floats(bool on_device, const std::vector<float>& values) : host_(values) {
    if (!on_device) return;
    device_.emplace(std::max<std::size_t>(values.size() * 4, 1));
    device_->Write(std::as_bytes(std::span(values)));
  }
  std::span<std::byte> span() {
    if (device_) return device_->span().first(host_.size() * 4);
    return std::as_writable_bytes(std::span(host_));
  }
  std::string Compare(const char* what, const std::vector<float>& wanted) {
    if (device_) device::testing::TestCuda::Get().Read(host_.data(), device_->data(), host_.size() * 4);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (host_[i] == wanted[i]) continue;
      return std::string(what) + " of " + std::to_string(wanted.size()) + ": [" + std::to_string(i) + "] is " +
             std::to_string(host_[i]) + ", not " + std::to_string(wanted[i]);
    }
    return "";
  }

 private:
  std::vector<float> host_;
  std::optional<device::testing::DeviceBuffer> device_;
};

struct Shape {
  const char* transport;
  std::vector<std::uint32_t> nodes_by_zone;
  std::uint32_t local_ranks;

  Topology topology() const { return EvenTopology(nodes_by_zone, local_ranks); }
};

inline void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.transport;
  for (const std::uint32_t nodes : shape.nodes_by_zone) *out << "_" << nodes;
  *out << "x" << shape.local_ranks;
}

class OnDevice : public ::testing::TestWithParam<Shape> {
 protected:
  void Run(const Ranks::Body& body, const std::string& gdrcopy = "none") {
    Ranks ranks(GetParam().topology(), WithCuda(GetParam().transport, gdrcopy), body);
    EXPECT_EQ(ranks.WaitAll(), "");
  }
};

inline std::vector<Shape> DeviceShapes() {
  return {{"tcp", {1}, 1}, {"tcp", {1}, 3},    {"tcp", {1}, 4}, {"tcp", {2}, 1}, {"tcp", {2}, 2},
          {"tcp", {2}, 4}, {"tcp", {2, 1}, 2}, {"ucx", {2}, 1}, {"ucx", {2}, 2}};
}
inline std::string NameOfShape(const ::testing::TestParamInfo<Shape>& info) {
  return ::testing::PrintToString(info.param);
}

}  // namespace glim::hfreduce::testing
