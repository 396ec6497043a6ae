#include "sdk/hfreduce/node/segment_side.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <vector>

#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/kernels/reduce.h"
#include "sdk/hfreduce/node/testing/forked.h"
#include "sdk/hfreduce/node/testing/values.h"

namespace glim::hfreduce {
namespace {

using testing::Forked;
using testing::SegmentFilesOf;
using testing::TestOptions;
using testing::ValueOf;

constexpr std::size_t kElementsMax = 200'000;
constexpr std::size_t kSlotBytes = 16 << 10;

// As ChunkingOf, but in many small chunks.
Chunking TwoHalves(std::size_t elements) {
  return {.split = (elements + 1) / 2, .elements = elements, .chunk_elements = kSlotBytes / sizeof(std::int32_t)};
}

// What the engine does between nodes: chunks of both halves in turn, and their results only later. "The network" adds
// 1000 to every element.
void Lead(SegmentSide& side, Exchange& exchange, const Chunking& chunking, bool tells_sources_read) {
  constexpr std::uint32_t kInFlight = 3;
  std::uint32_t reduced[2] = {};
  std::uint32_t done[2] = {};
  const auto step = [&] {
    bool any = false;
    for (int half = 0; half < 2; ++half) {
      const std::uint32_t chunks = chunking.ChunksOf(half);
      if (reduced[half] < chunks && reduced[half] < done[half] + kInFlight && side.Delivered(half, reduced[half])) {
        if (std::byte* to = side.Destination(half, reduced[half])) {
          const std::size_t count = chunking.RangeOf(half, reduced[half]).count;
          Reduce({.type = DType::kI32}, to, side.Sources(half, reduced[half]), count);
          for (std::size_t i = 0; i < count; ++i) reinterpret_cast<std::int32_t*>(to)[i] += 1000;
          if (tells_sources_read) side.SourcesRead(half, reduced[half]);
          ++reduced[half];
          any = true;
        }
      }
      const bool flush = reduced[half] == chunks || reduced[half] == done[half] + kInFlight || !any;
      if (done[half] < reduced[half] && flush) {
        side.Done(half, done[half]++);
        any = true;
      }
    }
    return any;
  };
  (void)exchange.Drive(
      step, [&] { return exchange.Ended(); }, LongWaitDuration());
}

Signature SumOf(std::size_t elements) {
  return {.kind = Collective::kAllReduce, .type = DType::kI32, .count = elements};
}

struct Case {
  std::size_t elements;
  bool in_segment;
  bool out_segment;
  bool one_result = false;
  std::uint64_t takes = kAllLocalRanks;
};

class Process {
 public:
  Process(std::uint32_t ranks, std::uint32_t rank, const std::string& test)
      : ranks_(ranks),
        rank_(rank),
        segment_(std::move(Segment::Open(TestOptions(ranks, rank, test)).value())),
        exchange_(Exchange::Create(*segment_, Reducer::kLeader, 2, kSlotBytes).value()) {
    for (int i = 0; i < 2; ++i) {
      shared_[i] = reinterpret_cast<std::int32_t*>(segment_->Allocate(kElementsMax * 4).value().data());
      private_[i].resize(kElementsMax);
    }
  }

  std::string Run(const Case& c, int number) {
    std::int32_t* in = c.in_segment ? shared_[0] : private_[0].data();
    std::int32_t* out = c.out_segment ? shared_[1] : private_[1].data();
    for (std::size_t i = 0; i < c.elements; ++i) {
      in[i] = ValueOf(i, rank_, number);
      out[i] = -1;
    }
    const Chunking chunking = TwoHalves(c.elements);
    const NodeOperation operation{.signature = SumOf(c.elements),
                                  .takes = c.takes,
                                  .in = reinterpret_cast<std::byte*>(in),
                                  .out = reinterpret_cast<std::byte*>(out),
                                  .one_result = c.one_result};
    if (rank_ == 0) {
      exchange_->Begin(operation, chunking, false);
      SegmentSide side(*exchange_);
      Lead(side, *exchange_, chunking, number % 2 == 0);
      if (segment_->failed()) return segment_->failure().message();
    } else {
      SegmentFollower follower(*exchange_);
      follower.Start(operation, chunking);
      if (Status status = follower.Wait(LongWaitDuration()); !status.ok()) return status.message();
    }
    if (c.one_result && c.elements > 0) {
      out = reinterpret_cast<std::int32_t*>(segment_->At(exchange_->results().Offset().value(), c.elements * 4));
    }
    const bool takes = (c.takes >> rank_ & 1) != 0;
    for (std::size_t i = 0; i < c.elements; ++i) {
      std::int32_t expected = 1000;
      for (std::uint32_t rank = 0; rank < ranks_; ++rank) expected += ValueOf(i, rank, number);
      if (takes && out[i] != expected) return "element " + std::to_string(i) + " of " + std::to_string(c.elements);
      if (!takes && rank_ != 0 && out[i] != -1) return "written although it wanted nothing";
    }
    return "";
  }

  // Begins an operation, of which one who `stops` delivers nothing; says what the others find.
  std::string BeginAndStop(bool stops, Duration timeout) {
    constexpr std::size_t kElements = 20'000;
    auto* const buffer = reinterpret_cast<std::byte*>(private_[0].data());
    exchange_->Begin({.signature = SumOf(kElements), .in = buffer, .out = buffer}, TwoHalves(kElements), false);
    if (stops) ::raise(SIGSTOP);
    return exchange_->Drive([this] { return exchange_->delivery().DeliverOne(); }, [] { return false; }, timeout)
        .message();
  }

  // Until all have looked at what the others may write next.
  std::string Meet(int number) { return Run({.elements = 0, .in_segment = false, .out_segment = false}, number); }

 private:
  std::uint32_t ranks_;
  std::uint32_t rank_;
  std::unique_ptr<Segment> segment_;
  std::unique_ptr<Exchange> exchange_;
  std::int32_t* shared_[2] = {};
  std::vector<std::int32_t> private_[2];
};

TEST(SegmentSide, ResultsReachAllProcessesWhateverTheirBuffers) {
  for (std::uint32_t ranks = 1; ranks <= 8; ++ranks) {
    Forked processes(ranks, [ranks](std::uint32_t rank) -> std::string {
      Process self(ranks, rank, "side");
      int number = 0;
      for (const std::size_t elements : {0ul, 1ul, 2ul, 4095ul, 4096ul, 8192ul, 8193ul, 50'001ul, 200'000ul}) {
        for (int place = 0; place < 8; ++place) {
          const Case c{elements, (place & 1) != 0, (place & 2) != 0, place == 6};
          const std::string wrong = self.Run(c, ++number);
          if (!wrong.empty()) return "place " + std::to_string(place) + ": " + wrong;
          if (const std::string met = self.Meet(++number); !met.empty()) return "barrier: " + met;
        }
        for (std::uint32_t root = 0; root < ranks; ++root) {
          const std::string wrong = self.Run({elements, false, false, false, std::uint64_t{1} << root}, ++number);
          if (!wrong.empty()) return "root " + std::to_string(root) + ": " + wrong;
        }
      }
      return "";
    });
    EXPECT_EQ(processes.WaitAll(), "") << ranks << " ranks";
  }
  EXPECT_TRUE(SegmentFilesOf("side").empty());
}

TEST(SegmentSide, WhoDeliversNothingIsAccusedAndNotTheLeader) {
  Forked processes(3, [](std::uint32_t rank) -> std::string {
    // Some operations first: counters of chunks go on from one to the next.
    Process self(3, rank, "accused");
    for (int number = 1; number <= 3; ++number) {
      if (const std::string wrong = self.Run({50'001, false, false}, number); !wrong.empty()) return wrong;
    }
    return self.BeginAndStop(rank == 2, rank == 1 ? Slower(Milliseconds(1500)) : LongWaitDuration());
  });
  EXPECT_EQ(processes.Wait(1), "rank 2 has stalled in AllReduce of 20000 int32 (sum) (operation 4)");
}

}  // namespace
}  // namespace glim::hfreduce
