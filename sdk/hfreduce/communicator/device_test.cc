// Over the stand-in for CUDA alone, which holds copies up: what waits for them, and what does not.
// (device_contract_test.cc has what holds over every device.)
#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

#include "sdk/device/testing/device_buffer.h"
#include "sdk/device/testing/gate.h"
#include "sdk/device/testing/standin_cuda.h"
#include "sdk/device/testing/test_cuda.h"
#include "sdk/hfreduce/communicator/testing/device_ranks.h"

namespace glim::hfreduce {
namespace {

using device::testing::DeviceBuffer;
using device::testing::GatedKernel;
using testing::Floats;
using testing::OnDevice;
using testing::PartOf;
using testing::Ranks;
using testing::SumOf;
using testing::TestCommunicator;
using testing::WithCuda;

class OnStandIn : public OnDevice {};

TEST_P(OnStandIn, LittleGoesByGdrCopyWhereThatIsThere) {
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
      device::testing::StandinCuda());
}

INSTANTIATE_TEST_SUITE_P(Shapes, OnStandIn, ::testing::ValuesIn(testing::DeviceShapes()), testing::NameOfShape);

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
    Ranks ranks(topology, WithCuda("tcp"), [](Communicator& all) -> std::string {
      const std::vector<float> sum = SumOf(all.size(), kLarge);
      Floats in(all.rank() == 0, PartOf(all.rank(), kLarge));
      std::vector<float> out(kLarge, -1);
      if (all.rank() == 0) standin_allow_copies(3);
      Handle handle = all.AllReduce(in.span(), std::as_writable_bytes(std::span(out)), DType::kF32, ReduceOp::kSum);
      // Three chunks from the device of rank 0 are enough for the first one's sum to be there. Rank 0 alone can tell:
      // it lets the others go on when it has seen that, whether or not they have looked.
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
  Ranks ranks(EvenTopology({2}, 1), WithCuda("tcp"), [](Communicator& all) -> std::string {
    void* compute = nullptr;
    cudaStreamCreateWithFlags(&compute, 1);
    if (Status status = all.SetBufferPlace({.compute_stream = compute}); !status.ok()) return status.message();
    Floats both(true, PartOf(all.rank(), kLarge));
    standin_allow_copies(0);
    Handle handle = all.AllReduce(both.span(), both.span(), DType::kF32, ReduceOp::kSum);
    const DeviceBuffer other(64);
    {
      GatedKernel later(compute, other.data(), 1, other.size());
      later.Open();
    }
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
    Ranks ranks(topology, WithCuda("tcp"), [](Communicator& all) -> std::string {
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
  CommunicatorOptions options = WithCuda("tcp");
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
