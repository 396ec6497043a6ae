// Buffers on a device (a stand-in's, sdk/device/testing): every collective gives what it gives from the host's memory,
// waits for what the compute stream had, and holds that up for nothing.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <vector>

#include "sdk/device/testing/device_buffer.h"
#include "sdk/device/testing/gate.h"
#include "sdk/hfreduce/communicator/testing/ranks.h"

namespace glim::hfreduce {
namespace {

using device::testing::DeviceBuffer;
using device::testing::GatedKernel;
using testing::Ranks;
using testing::TestCommunicator;

CommunicatorOptions OnStandIn(const std::string& transport, const std::string& gdrcopy = "none") {
  CommunicatorOptions options = TestCommunicator(transport);
  options.cuda_runtime = GLIM_STANDIN_CUDA;
  options.gdrcopy = gdrcopy;
  return options;
}

float ValueOf(std::uint32_t rank, std::size_t i) { return static_cast<float>((i * 7 + rank * 13) % 1001); }

std::vector<float> PartOf(std::uint32_t rank, std::size_t count) {
  std::vector<float> part(count);
  for (std::size_t i = 0; i < count; ++i) part[i] = ValueOf(rank, i);
  return part;
}

std::vector<float> SumOf(std::uint32_t ranks, std::size_t count) {
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
    if (device_) standin_read(host_.data(), device_->data(), host_.size() * 4);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (host_[i] == wanted[i]) continue;
      return std::string(what) + " of " + std::to_string(wanted.size()) + ": [" + std::to_string(i) + "] is " +
             std::to_string(host_[i]) + ", not " + std::to_string(wanted[i]);
    }
    return "";
  }

 private:
  std::vector<float> host_;
  std::optional<DeviceBuffer> device_;
};

struct Shape {
  const char* transport;
  std::vector<std::uint32_t> nodes_by_zone;
  std::uint32_t local_ranks;

  Topology topology() const { return EvenTopology(nodes_by_zone, local_ranks); }
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.transport;
  for (const std::uint32_t nodes : shape.nodes_by_zone) *out << "_" << nodes;
  *out << "x" << shape.local_ranks;
}

class OnDevice : public ::testing::TestWithParam<Shape> {
 protected:
  void Run(const Ranks::Body& body, const std::string& gdrcopy = "none") {
    Ranks ranks(GetParam().topology(), OnStandIn(GetParam().transport, gdrcopy), body);
    EXPECT_EQ(ranks.WaitAll(), "");
  }
};

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
    return standin_unpinned_copies() == 0 ? "" : std::to_string(standin_unpinned_copies()) + " were not pinned";
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
      standin_settle();  // its own part is copied on the compute stream
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
    return standin_unpinned_copies() == 0 ? "" : "not pinned";
  });
}

TEST_P(OnDevice, ManyInFlightReadWhatTheComputeStreamHadAtTheirCall) {
  Run([](Communicator& all) -> std::string {
    void* compute = nullptr;
    cudaStreamCreateWithFlags(&compute, 1);
    if (Status status = all.SetBufferPlace({.compute_stream = compute}); !status.ok()) return status.message();
    // Kernels are at work on every buffer when its operation is called, and write bytes of ones: -NaN before, 3 after.
    constexpr std::size_t kCount = 100'000;
    std::vector<std::unique_ptr<DeviceBuffer>> buffers;
    std::vector<std::unique_ptr<GatedKernel>> kernels;
    std::vector<Handle> handles;
    for (int i = 0; i < 6; ++i) {
      buffers.push_back(std::make_unique<DeviceBuffer>(kCount * 4));
      buffers.back()->Fill(std::byte{0x7f});
      kernels.push_back(std::make_unique<GatedKernel>(compute, buffers.back()->data(), i + 1, kCount * 4));
      handles.push_back(all.AllReduce(buffers.back()->span(), buffers.back()->span(), DType::kI32, ReduceOp::kSum));
    }
    standin_settle();
    for (Handle& handle : handles) {
      if (handle.Done()) return "done before the kernel";
    }
    for (auto& kernel : kernels) kernel->Open();
    for (int i = 0; i < 6; ++i) {
      if (Status status = handles[i].Wait(); !status.ok()) return status.message();
      const std::int32_t wanted = (i + 1) * 0x01010101 * static_cast<std::int32_t>(all.size());
      std::vector<std::int32_t> got(kCount);
      standin_read(got.data(), buffers[i]->data(), kCount * 4);
      for (const std::int32_t value : got) {
        if (value != wanted) return "operation " + std::to_string(i) + " has read what was there before its kernel";
      }
    }
    kernels.clear();
    cudaStreamDestroy(compute);
    return "";
  });
}

TEST_P(OnDevice, LittleGoesByGdrCopyWhereThatIsThere) {
  Run(
      [](Communicator& all) -> std::string {
        for (const std::size_t count : {1ul, 256ul, 4096ul, 4097ul, 50'000ul}) {
          Floats both(true, PartOf(all.rank(), count));
          const Status status = all.AllReduce(both.span(), both.span(), DType::kF32, ReduceOp::kSum).Wait();
          if (!status.ok()) return status.message();
          if (std::string wrong = both.Compare("sum", SumOf(all.size(), count)); !wrong.empty()) return wrong;
        }
        return standin_gdr_copies() >= 6 ? "" : std::to_string(standin_gdr_copies()) + " by GDRCopy";
      },
      GLIM_STANDIN_CUDA);
}

INSTANTIATE_TEST_SUITE_P(Shapes, OnDevice,
                         ::testing::Values(Shape{"tcp", {1}, 1}, Shape{"tcp", {1}, 3}, Shape{"tcp", {1}, 4},
                                           Shape{"tcp", {2}, 1}, Shape{"tcp", {2}, 2}, Shape{"tcp", {2}, 4},
                                           Shape{"tcp", {2, 1}, 2}, Shape{"ucx", {2}, 1}, Shape{"ucx", {2}, 2}),
                         [](const auto& info) { return ::testing::PrintToString(info.param); });

constexpr std::size_t kLarge = 1'000'000;

std::string UntilRight(const Handle& handle, const volatile float* value, float wanted) {
  while (*value != wanted) {  // the process' alarm ends it
    if (handle.Done()) return "all at once";
    ::usleep(200);
  }
  return handle.Done() ? "all at once" : "";
}

TEST(DevicePipeline, EarlyChunksAreReducedWhileLaterOnesAreStillOnTheDevice) {
  for (const Topology& topology : {EvenTopology({1}, 2), EvenTopology({2}, 1), EvenTopology({2}, 2)}) {
    Ranks ranks(topology, OnStandIn("tcp"), [](Communicator& all) -> std::string {
      const std::vector<float> sum = SumOf(all.size(), kLarge);
      Floats in(all.rank() == 0, PartOf(all.rank(), kLarge));
      std::vector<float> out(kLarge, -1);
      if (all.rank() == 0) standin_allow_copies(3);
      Handle handle = all.AllReduce(in.span(), std::as_writable_bytes(std::span(out)), DType::kF32, ReduceOp::kSum);
      // Three chunks from the device of rank 0 are enough for the first one's sum to be there. Rank 0 alone can tell: it
      // lets the others go on when it has seen that, whether or not they have looked.
      if (all.rank() == 0) {
        const std::string wrong = UntilRight(handle, out.data(), sum[0]);
        if (!wrong.empty()) return wrong;
        if (out[kLarge - 1] != -1) return "the last chunk's result before it left the device";
        standin_allow_copies(-1);
      }
      if (Status status = handle.Wait(); !status.ok()) return status.message();
      return out == sum ? "" : "the sum";
    });
    EXPECT_EQ(ranks.WaitAll(), "");
  }
}

TEST(DevicePipeline, TheComputeStreamGoesOnWhileCopiesStandStill) {
  Ranks ranks(EvenTopology({2}, 1), OnStandIn("tcp"), [](Communicator& all) -> std::string {
    void* compute = nullptr;
    cudaStreamCreateWithFlags(&compute, 1);
    if (Status status = all.SetBufferPlace({.compute_stream = compute}); !status.ok()) return status.message();
    Floats both(true, PartOf(all.rank(), kLarge));
    standin_allow_copies(0);
    Handle handle = all.AllReduce(both.span(), both.span(), DType::kF32, ReduceOp::kSum);
    const DeviceBuffer other(64);
    GatedKernel later(compute, other.data(), 1, other.size());
    later.Open();
    cudaStreamSynchronize(compute);  // would hang
    if (handle.Done()) return "done without a copy";
    standin_allow_copies(-1);
    if (Status status = handle.Wait(); !status.ok()) return status.message();
    cudaStreamDestroy(compute);
    return both.Compare("sum", SumOf(all.size(), kLarge));
  });
  EXPECT_EQ(ranks.WaitAll(), "");
}

TEST(DeviceFailure, AFailedOperationKeepsItsBuffersUntilTheCopiesAreDone) {
  for (const Topology& topology : {EvenTopology({1}, 2), EvenTopology({2}, 1), EvenTopology({2}, 2)}) {
    Ranks ranks(topology, OnStandIn("tcp"), [](Communicator& all) -> std::string {
      Floats both(true, PartOf(all.rank(), kLarge));
      standin_allow_copies(0);
      Handle handle = all.AllReduce(both.span(), both.span(), DType::kF32, ReduceOp::kSum);
      if (all.rank() == 0) all.Abort("the loss is NaN");
      // (The others' operation may not have begun when they hear of it.)
      if (all.rank() == 0 && handle.Done()) return "its copies are under way";
      standin_allow_copies(-1);
      return handle.Wait().message();
    });
    for (std::uint32_t rank = 0; rank < topology.ranks(); ++rank) {
      EXPECT_EQ(ranks.forked().Wait(rank), "the loss is NaN");
    }
  }
}

TEST(DeviceFailure, ALibraryThatIsNotThereIsAnErrorOfCreate) {
  CommunicatorOptions options = OnStandIn("tcp");
  options.cuda_runtime = "/nowhere/libcudart.so";
  const auto store = TcpStore::Create({.serve = true}).value();
  const auto all = Communicator::Create(EvenTopology({1}, 1), 0, *store, options);
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.status().code(), StatusCode::kUnavailable);
}

TEST(DeviceFailure, ADeviceIsRefusedWhereThereIsNoRuntime) {
  const auto store = TcpStore::Create({.serve = true}).value();
  const auto all = Communicator::Create(EvenTopology({1}, 1), 0, *store, TestCommunicator("tcp")).value().release();
  const std::unique_ptr<Communicator> owner(all);
  EXPECT_EQ(all->SetBufferPlace({.kind = BufferPlace::Kind::kDevice}).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(all->SetBufferPlace({.kind = BufferPlace::Kind::kHost}).ok());
}

}  // namespace
}  // namespace glim::hfreduce
