// Buffers on a device, the stand-in's or a real one: every collective gives what it gives from the host's memory, and
// waits for what the compute stream had.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "sdk/device/testing/device_buffer.h"
#include "sdk/device/testing/gate.h"
#include "sdk/hfreduce/communicator/testing/device_ranks.h"

namespace glim::hfreduce {
namespace {

using device::testing::DeviceBuffer;
using device::testing::GatedKernel;
using device::testing::TestCuda;
using testing::Floats;
using testing::OnDevice;
using testing::PartOf;
using testing::SumOf;

// In which of the two buffers lie on the device; on every second rank it is the other way round.
struct Mix {
  bool in;
  bool out;
};
constexpr Mix kMixes[] = {{true, true}, {true, false}, {false, true}};

TEST_P(OnDevice, AllReduceSumsWhereverTheBuffersAre) {
  Run([](Communicator& all) -> std::string {
    for (const std::size_t count : {0ul, 1ul, 17ul, 4096ul, 4097ul, 16'385ul, 100'003ul, 1'200'000ul}) {
      const std::vector<float> sum = SumOf(all.size(), count);
      for (const Mix& mix : kMixes) {
        const bool swap = all.rank() % 2 == 1;
        Floats in(swap ? mix.out : mix.in, PartOf(all.rank(), count));
        Floats out(swap ? mix.in : mix.out, std::vector<float>(count, -1));
        Status status = all.AllReduce(in.span(), out.span(), DType::kF32, ReduceOp::kSum).Wait();
        if (!status.ok()) return status.message();
        if (std::string wrong = out.Compare("sum", sum); !wrong.empty()) return wrong;
      }
      Floats both(true, PartOf(all.rank(), count));
      const Status status = all.AllReduce(both.span(), both.span(), DType::kF32, ReduceOp::kSum).Wait();
      if (!status.ok()) return status.message();
      if (std::string wrong = both.Compare("in place", sum); !wrong.empty()) return wrong;
    }
    return TestCuda::Get().UnpinnedCopies() == 0
               ? ""
               : std::to_string(TestCuda::Get().UnpinnedCopies()) + " were not pinned";
  });
}

TEST_P(OnDevice, OtherCollectivesToo) {
  Run([](Communicator& all) -> std::string {
    for (const std::size_t count : {3ul, 50'001ul}) {
      for (std::uint32_t root = 0; root < all.size(); ++root) {
        Floats in(true, PartOf(all.rank(), count));
        Floats out(true, std::vector<float>(count));
        Status status = all.Reduce(in.span(), out.span(), DType::kF32, ReduceOp::kSum, root).Wait();
        if (!status.ok()) return status.message();
        if (all.rank() == root) {
          if (std::string wrong = out.Compare("reduce", SumOf(all.size(), count)); !wrong.empty()) return wrong;
        }
        Floats buffer(true, PartOf(all.rank(), count));
        if (status = all.Broadcast(buffer.span(), root).Wait(); !status.ok()) return status.message();
        if (std::string wrong = buffer.Compare("broadcast", PartOf(root, count)); !wrong.empty()) return wrong;
      }
      Floats in(true, PartOf(all.rank(), count));
      Floats everyone(true, std::vector<float>(count * all.size()));
      if (Status status = all.AllGather(in.span(), everyone.span()).Wait(); !status.ok()) return status.message();
      TestCuda::Get().Synchronize(nullptr);  // its own part is copied on the compute stream
      std::vector<float> gathered;
      for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
        const std::vector<float> part = PartOf(rank, count);
        gathered.insert(gathered.end(), part.begin(), part.end());
      }
      if (std::string wrong = everyone.Compare("gathered", gathered); !wrong.empty()) return wrong;
      Floats parts(true, PartOf(all.rank(), count * all.size()));
      Floats own(true, std::vector<float>(count));
      const Status status = all.ReduceScatter(parts.span(), own.span(), DType::kF32, ReduceOp::kSum).Wait();
      if (!status.ok()) return status.message();
      const std::vector<float> sum = SumOf(all.size(), count * all.size());
      const auto first = sum.begin() + static_cast<std::ptrdiff_t>(all.rank() * count);
      const std::vector<float> wanted(first, first + static_cast<std::ptrdiff_t>(count));
      if (std::string wrong = own.Compare("scattered", wanted); !wrong.empty()) return wrong;
    }
    return TestCuda::Get().UnpinnedCopies() == 0 ? "" : "not pinned";
  });
}

TEST_P(OnDevice, ManyInFlightReadWhatTheComputeStreamHadAtTheirCall) {
  Run([](Communicator& all) -> std::string {
    const TestCuda& cuda = TestCuda::Get();
    const device::StreamHandle compute = cuda.MakeStream();
    if (Status status = all.SetBufferPlace({.compute_stream = compute}); !status.ok()) return status.message();
    // Kernels are at work on every buffer when its operation is called, and write bytes of ones: -NaN before, 3 after.
    // All memory is taken before: a real device may wait for its kernels with that.
    constexpr std::size_t kCount = 100'000;
    std::vector<std::unique_ptr<DeviceBuffer>> buffers;
    for (int i = 0; i < 6; ++i) {
      buffers.push_back(std::make_unique<DeviceBuffer>(kCount * 4));
      buffers.back()->Fill(std::byte{0x7f});
    }
    const auto begin = [&](int i) {
      return all.AllReduce(buffers[i]->span(), buffers[i]->span(), DType::kI32, ReduceOp::kSum);
    };
    if (Status status = begin(0).Wait(); !status.ok()) return status.message();  // takes what it needs, once
    std::vector<std::unique_ptr<GatedKernel>> kernels;
    std::vector<Handle> handles;
    for (int i = 0; i < 6; ++i) {
      kernels.push_back(std::make_unique<GatedKernel>(compute, buffers[i]->data(), i + 1, kCount * 4));
      handles.push_back(begin(i));
    }
    cuda.Settle();
    for (Handle& handle : handles) {
      if (handle.Done()) return "done before the kernel";
    }
    for (auto& kernel : kernels) kernel->Open();
    for (int i = 0; i < 6; ++i) {
      if (Status status = handles[i].Wait(); !status.ok()) return status.message();
      const std::int32_t wanted = (i + 1) * 0x01010101 * static_cast<std::int32_t>(all.size());
      std::vector<std::int32_t> got(kCount);
      cuda.Read(got.data(), buffers[i]->data(), kCount * 4);
      for (const std::int32_t value : got) {
        if (value != wanted) return "operation " + std::to_string(i) + " has read what was there before its kernel";
      }
    }
    kernels.clear();
    cuda.DestroyStream(compute);
    return "";
  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, OnDevice, ::testing::ValuesIn(testing::DeviceShapes()), testing::NameOfShape);

}  // namespace
}  // namespace glim::hfreduce
