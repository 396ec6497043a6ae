#include "sdk/hfreduce/node/node_reduce.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "sdk/hfreduce/node/testing/forked.h"
#include "sdk/hfreduce/node/testing/values.h"

namespace glim::hfreduce {
namespace {

using testing::Forked;
using testing::kSmallChunks;
using testing::SegmentFilesOf;
using testing::SumOf;
using testing::TestOptions;
using testing::ValueOf;

enum class Place { kPrivate, kSegment };

struct Case {
  std::size_t elements;
  Place in;
  Place out;
  bool in_place = false;
  bool one_result = false;
};

// One rank, with private buffers and two in the segment, of the largest size.
class Rank {
 public:
  static constexpr std::size_t kElementsMax = 300'000;

  Rank(std::uint32_t ranks, std::uint32_t rank, const std::string& test) : ranks_(ranks), rank_(rank) {
    auto segment = Segment::Open(TestOptions(ranks, rank, test));
    if (!segment.ok()) {
      error_ = segment.status().message();
      return;
    }
    segment_ = std::move(segment.value());
    node_ = std::move(NodeReduce::Create(*segment_, kSmallChunks).value());
    for (auto& buffer : shared_) {
      buffer = reinterpret_cast<std::int32_t*>(segment_->Allocate(kElementsMax * 4).value().data());
    }
    for (auto& buffer : private_) buffer.resize(kElementsMax);
  }

  const std::string& error() const { return error_; }
  NodeReduce& node() { return *node_; }
  Segment& segment() { return *segment_; }
  std::int32_t* Buffer(Place place, int which) {
    return place == Place::kSegment ? shared_[which] : private_[which].data();
  }

  std::string AllReduce(const Case& c, int number) {
    std::int32_t* in = Buffer(c.in, 0);
    std::int32_t* out = c.in_place ? in : Buffer(c.out, 1);
    for (std::size_t i = 0; i < c.elements; ++i) in[i] = ValueOf(i, rank_, number);
    const Status status =
        node_->AllReduce(std::as_bytes(std::span(in, c.elements)), std::as_writable_bytes(std::span(out, c.elements)),
                         DType::kI32, ReduceOp::kSum, c.one_result);
    if (!status.ok()) return status.message();
    if (c.one_result && c.elements > 0) {
      const auto offset = node_->exchange().results().Offset();
      if (!offset) return "no result in the segment";
      out = reinterpret_cast<std::int32_t*>(segment_->At(*offset, c.elements * 4));
    }
    for (std::size_t i = 0; i < c.elements; ++i) {
      if (out[i] == SumOf(i, ranks_, number)) continue;
      return "element " + std::to_string(i) + " of " + std::to_string(c.elements) + " is " + std::to_string(out[i]) +
             ", not " + std::to_string(SumOf(i, ranks_, number));
    }
    // The others may still read it.
    return c.one_result ? node_->Barrier().message() : "";
  }

 private:
  std::uint32_t ranks_;
  std::uint32_t rank_;
  std::string error_;
  std::unique_ptr<Segment> segment_;
  std::unique_ptr<NodeReduce> node_;
  std::int32_t* shared_[2] = {};
  std::vector<std::int32_t> private_[2];
};

// 0, 1, odd; a chunk's edge and beside it; where everybody reduces for itself no more; more than the rings hold; and
// where stores go past the caches.
constexpr std::size_t kSizes[] = {0, 1, 3, 255, 256, 257, 4095, 4096, 4097, 4 * 4096 + 1, 65'537, 299'999};

TEST(NodeReduce, EverySizeFromAndToEverywhere) {
  for (std::uint32_t ranks = 1; ranks <= 8; ++ranks) {
    Forked processes(ranks, [ranks](std::uint32_t rank) -> std::string {
      Rank self(ranks, rank, "allreduce");
      if (!self.error().empty()) return self.error();
      int number = 0;
      for (const std::size_t elements : kSizes) {
        for (const Place in : {Place::kPrivate, Place::kSegment}) {
          for (const Place out : {Place::kPrivate, Place::kSegment}) {
            const std::string wrong = self.AllReduce({elements, in, out}, ++number);
            if (!wrong.empty()) return wrong;
          }
          const std::string wrong =
              self.AllReduce({.elements = elements, .in = in, .out = in, .in_place = true}, ++number);
          if (!wrong.empty()) return "in place: " + wrong;
          const std::string one =
              self.AllReduce({.elements = elements, .in = in, .out = Place::kSegment, .one_result = true}, ++number);
          if (!one.empty()) return "one result: " + one;
        }
      }
      return "";
    });
    EXPECT_EQ(processes.WaitAll(), "") << ranks << " ranks";
  }
  EXPECT_TRUE(SegmentFilesOf("allreduce").empty());
}

TEST(NodeReduce, RanksMayDifferInWhereTheirBuffersAre) {
  Forked processes(4, [](std::uint32_t rank) -> std::string {
    Rank self(4, rank, "mixed");
    if (!self.error().empty()) return self.error();
    for (int number = 0; number < 64; ++number) {
      const auto place = [&](int shift) {
        return ((static_cast<std::uint32_t>(number) >> shift) + rank) % 2 == 0 ? Place::kPrivate : Place::kSegment;
      };
      const auto elements = static_cast<std::size_t>(20'000 + number);
      const std::string wrong = self.AllReduce({.elements = elements, .in = place(0), .out = place(1)}, number);
      if (!wrong.empty()) return wrong;
    }
    return "";
  });
  EXPECT_EQ(processes.WaitAll(), "");
}

TEST(NodeReduce, ReduceAndBroadcastHaveEveryRootInTurn) {
  for (std::uint32_t ranks : {1u, 2u, 3u, 5u, 8u}) {
    Forked processes(ranks, [ranks](std::uint32_t rank) -> std::string {
      Rank self(ranks, rank, "roots");
      if (!self.error().empty()) return self.error();
      int number = 0;
      for (const std::size_t elements : kSizes) {
        for (std::uint32_t root = 0; root < ranks; ++root) {
          for (const Place place : {Place::kPrivate, Place::kSegment}) {
            ++number;
            const std::span in(self.Buffer(place, 0), elements);
            const std::span out(self.Buffer(place, 1), elements);
            for (std::size_t i = 0; i < elements; ++i) in[i] = ValueOf(i, rank, number);
            for (std::int32_t& value : out) value = -1;
            const Status reduced =
                self.node().Reduce(std::as_bytes(in), std::as_writable_bytes(out), DType::kI32, ReduceOp::kSum, root);
            if (!reduced.ok()) return reduced.message();
            for (std::size_t i = 0; i < elements; ++i) {
              if (out[i] != (rank == root ? SumOf(i, ranks, number) : -1)) return "reduce to " + std::to_string(root);
            }
            const Status sent = self.node().Broadcast(std::as_writable_bytes(in), root);
            if (!sent.ok()) return sent.message();
            for (std::size_t i = 0; i < elements; ++i) {
              if (in[i] != ValueOf(i, root, number)) return "broadcast from " + std::to_string(root);
            }
          }
        }
      }
      return "";
    });
    EXPECT_EQ(processes.WaitAll(), "") << ranks << " ranks";
  }
}

TEST(NodeReduce, AnAverageIsDividedByTheRanksAndNarrowTypesRoundOnce) {
  Forked processes(3, [](std::uint32_t rank) -> std::string {
    Rank self(3, rank, "average");
    if (!self.error().empty()) return self.error();
    for (const std::size_t elements : {std::size_t{5}, std::size_t{50'000}}) {
      std::vector<float> in(elements, static_cast<float>(rank * 3));
      std::vector<float> out(elements);
      const Status status = self.node().AllReduce(std::as_bytes(std::span(in)), std::as_writable_bytes(std::span(out)),
                                                  DType::kF32, ReduceOp::kAverage);
      if (!status.ok()) return status.message();
      if (out.front() != 3 || out.back() != 3) return "average";
      // bf16: 256 + 1 + 1 is 258; rounded after each addition it would stay 256.
      std::vector<std::uint16_t> narrow(elements, rank == 0 ? 0x4380 : 0x3f80);
      const Status sum = self.node().AllReduce(std::as_bytes(std::span(narrow)),
                                               std::as_writable_bytes(std::span(narrow)), DType::kBF16, ReduceOp::kSum);
      if (!sum.ok()) return sum.message();
      if (narrow.front() != 0x4381 || narrow.back() != 0x4381) return "bf16 " + std::to_string(narrow.front());
    }
    return "";
  });
  EXPECT_EQ(processes.WaitAll(), "");
}

TEST(NodeReduce, ABarrierHoldsUntilTheLastCame) {
  Forked processes(4, [](std::uint32_t rank) -> std::string {
    Rank self(4, rank, "barrier");
    if (!self.error().empty()) return self.error();
    Counter& turns = self.segment().header().rank[kLocalRanksMax - 1].beat;  // nobody's
    for (std::uint64_t turn = 1; turn <= 500; ++turn) {
      turns.value.fetch_add(1);
      if (Status status = self.node().Barrier(); !status.ok()) return status.message();
      if (turns.Get() < 4 * turn) return "somebody had not come";
      if (Status status = self.node().Barrier(); !status.ok()) return status.message();
    }
    return "";
  });
  EXPECT_EQ(processes.WaitAll(), "");
}

TEST(NodeReduce, ManyOperationsBackToBack) {
  Forked processes(5, [](std::uint32_t rank) -> std::string {
    Rank self(5, rank, "many");
    if (!self.error().empty()) return self.error();
    for (int number = 0; number < 2000; ++number) {
      const auto elements = static_cast<std::size_t>(number * 37 % 9000);
      const auto place = static_cast<Place>(number / 3 % 2);
      const std::string wrong = self.AllReduce({.elements = elements, .in = place, .out = Place::kPrivate}, number);
      if (!wrong.empty()) return std::to_string(number) + ": " + wrong;
    }
    return "";
  });
  EXPECT_EQ(processes.WaitAll(), "");
}

TEST(NodeReduce, SmallAreasAreRefusedWithWhatIsNeeded) {
  auto segment = Segment::Open(TestOptions(1, 0, "areas"));
  ASSERT_TRUE(segment.ok());
  const Status status = NodeReduce::Create(**segment, {.chunk_bytes_max = 128 << 10}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.fix(), "use at least 262144");
}

}  // namespace
}  // namespace glim::hfreduce
