// Pairs of ranks against the reference: first the two of a pair, rounded to the type, then the node.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <map>
#include <vector>

#include "sdk/base/rng.h"
#include "sdk/base/testing/seeds.h"
#include "sdk/hfreduce/kernels/testing/reduce_reference.h"
#include "sdk/hfreduce/node/node_reduce.h"
#include "sdk/hfreduce/node/testing/forked.h"
#include "sdk/hfreduce/node/testing/values.h"

namespace glim::hfreduce {
namespace {

using testing::Forked;
using testing::kSmallChunks;
using testing::TestOptions;
using testing::ValueOf;

constexpr std::size_t kBytesMax = 600'000;

using Bytes = std::vector<std::uint8_t>;

struct Shape {
  std::uint32_t ranks;
  std::vector<LocalPair> pairs;
};

const Shape kShapes[] = {{2, {{0, 1}}}, {4, {{0, 1}, {2, 3}}}, {3, {{0, 2}}}, {5, {{1, 4}, {0, 2}}}};

SegmentOptions OptionsOf(const Shape& shape, std::uint32_t rank, const std::string& test) {
  SegmentOptions options = TestOptions(shape.ranks, rank, test);
  options.pairs = shape.pairs;
  return options;
}

// Any bits: numbers of all sizes, infinities, NaNs.
Bytes InputOf(std::uint32_t rank, std::size_t bytes) {
  Rng rng(rank + 1);
  Bytes input(bytes);
  for (std::uint8_t& byte : input) byte = static_cast<std::uint8_t>(rng.Between(0, 255));
  return input;
}

Bytes ReferenceOf(const Shape& shape, DType type, ReduceOp op, std::size_t count, const std::vector<Bytes>& inputs) {
  std::vector<Bytes> sums;
  std::vector<bool> added(shape.ranks);
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
    if (added[rank]) continue;
    std::vector<const void*> sources = {inputs[rank].data()};
    for (const LocalPair& pair : shape.pairs) {
      if (pair.first != rank) continue;
      sources.push_back(inputs[pair.second].data());
      added[pair.second] = true;
    }
    sums.push_back(ReduceReference({.type = type, .op = op}, sources, count));
  }
  std::vector<const void*> sources;
  for (const Bytes& sum : sums) sources.push_back(sum.data());
  const std::size_t divisor = op == ReduceOp::kAverage ? shape.ranks : 1;
  return ReduceReference({.type = type, .op = op, .divisor = divisor}, sources, count);
}

std::size_t FirstDifference(const std::byte* got, const Bytes& wanted) {
  std::size_t i = 0;
  while (i < wanted.size() && static_cast<std::uint8_t>(got[i]) == wanted[i]) ++i;
  return i;
}

TEST(Pairs, EveryTypeAndOperationHasTheBitsOfPairsFirst) {
  // Bytes: odd parts, chunks' edges, fewer and more chunks than there are slots.
  std::vector<std::size_t> sizes = {16'392, 20'008, 32'776, 150'008};
  sizes.resize(SeedsOf(sizes.size(), 2));
  for (const Shape& shape : kShapes) {
    std::vector<Bytes> inputs;
    for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) inputs.push_back(InputOf(rank, kBytesMax));
    std::map<std::tuple<int, int, std::size_t>, Bytes> wanted;
    for (int type = 0; type < kReducibleDTypes; ++type) {
      for (int op = 0; op < kReduceOps; ++op) {
        // The largest with two operations only: the reference takes its time.
        for (const std::size_t bytes : sizes) {
          if (bytes > 40'000 && op > 1) continue;
          const auto dtype = static_cast<DType>(type);
          wanted[{type, op, bytes}] =
              ReferenceOf(shape, dtype, static_cast<ReduceOp>(op), bytes / SizeOf(dtype), inputs);
        }
      }
    }
    Forked processes(shape.ranks, [&](std::uint32_t rank) -> std::string {
      const auto segment = Segment::Open(OptionsOf(shape, rank, "pairs")).value();
      const auto node = NodeReduce::Create(*segment, kSmallChunks).value();
      const auto* const in = reinterpret_cast<const std::byte*>(inputs[rank].data());
      std::vector<std::byte> out(kBytesMax);
      for (const auto& [what, result] : wanted) {
        const auto& [type, op, bytes] = what;
        const Status status = node->AllReduce(std::span(in, bytes), std::span(out).first(bytes),
                                              static_cast<DType>(type), static_cast<ReduceOp>(op));
        if (!status.ok()) return status.message();
        const std::size_t i = FirstDifference(out.data(), result);
        if (i < result.size()) {
          return std::string(NameOf(static_cast<DType>(type))) + " " + std::string(NameOf(static_cast<ReduceOp>(op))) +
                 " of " + std::to_string(bytes) + " bytes differs at byte " + std::to_string(i);
        }
      }
      return "";
    });
    EXPECT_EQ(processes.WaitAll(), "") << shape.ranks << " ranks";
  }
}

// Integers: the order of adding leaves them alone, so that all that can go wrong is whose part went where.
class PairedRank {
 public:
  static constexpr std::size_t kElementsMax = kBytesMax / 4;

  PairedRank(const Shape& shape, std::uint32_t rank, const std::string& test)
      : ranks_(shape.ranks),
        rank_(rank),
        segment_(Segment::Open(OptionsOf(shape, rank, test)).value()),
        node_(NodeReduce::Create(*segment_, kSmallChunks).value()) {
    for (auto& buffer : shared_) {
      buffer = reinterpret_cast<std::int32_t*>(segment_->Allocate(kElementsMax * 4).value().data());
    }
    for (auto& buffer : private_) buffer.resize(kElementsMax);
  }

  NodeReduce& node() { return *node_; }
  std::int32_t* Buffer(bool shared, int which) { return shared ? shared_[which] : private_[which].data(); }
  void Fill(std::int32_t* in, std::size_t elements, int number) const {
    for (std::size_t i = 0; i < elements; ++i) in[i] = ValueOf(i, rank_, number);
  }
  std::string Check(const std::int32_t* out, std::size_t elements, int number) const {
    for (std::size_t i = 0; i < elements; ++i) {
      std::int32_t sum = 0;
      for (std::uint32_t rank = 0; rank < ranks_; ++rank) sum += ValueOf(i, rank, number);
      if (out[i] == sum) continue;
      return "element " + std::to_string(i) + " of " + std::to_string(elements) + " is " + std::to_string(out[i]) +
             ", not " + std::to_string(sum);
    }
    return "";
  }
  std::string AllReduce(std::int32_t* in, std::int32_t* out, std::size_t elements, int number, bool one_result) {
    Fill(in, elements, number);
    const Status status =
        node_->AllReduce(std::as_bytes(std::span(in, elements)), std::as_writable_bytes(std::span(out, elements)),
                         DType::kI32, ReduceOp::kSum, one_result);
    if (!status.ok()) return status.message();
    if (!one_result) return Check(out, elements, number);
    const auto offset = node_->exchange().ResultOffset();
    if (!offset) return "no result in the segment";
    const auto* const result = reinterpret_cast<std::int32_t*>(segment_->At(*offset, elements * 4));
    const std::string wrong = Check(result, elements, number);
    return wrong.empty() ? node_->Barrier().message() : wrong;
  }

 private:
  std::uint32_t ranks_;
  std::uint32_t rank_;
  std::unique_ptr<Segment> segment_;
  std::unique_ptr<NodeReduce> node_;
  std::int32_t* shared_[2] = {};
  std::vector<std::int32_t> private_[2];
};

TEST(Pairs, BuffersMayLieAnywhereAndOtherOperationsComeBetween) {
  for (const Shape& shape : kShapes) {
    Forked processes(shape.ranks, [&](std::uint32_t rank) -> std::string {
      PairedRank self(shape, rank, "pairs-places");
      int number = 0;
      // The first two leave the pairs alone.
      for (const std::size_t elements : {1ul, 4096ul, 4097ul, 4099ul, 65'537ul, PairedRank::kElementsMax}) {
        for (int place = 0; place < 4; ++place) {
          std::int32_t* const in = self.Buffer((place & 1) != 0, 0);
          std::int32_t* const out = self.Buffer((place & 2) != 0, 1);
          std::string wrong = self.AllReduce(in, out, elements, ++number, false);
          if (!wrong.empty()) return "place " + std::to_string(place) + ": " + wrong;
          wrong = self.AllReduce(in, in, elements, ++number, false);
          if (!wrong.empty()) return "in place: " + wrong;
          if (wrong = self.AllReduce(in, self.Buffer(true, 1), elements, ++number, true); !wrong.empty()) {
            return "one result: " + wrong;
          }
          const std::uint32_t root = static_cast<std::uint32_t>(number) % shape.ranks;
          self.Fill(in, elements, ++number);
          Status status =
              self.node().Reduce(std::as_bytes(std::span(in, elements)),
                                 std::as_writable_bytes(std::span(out, elements)), DType::kI32, ReduceOp::kSum, root);
          if (!status.ok()) return status.message();
          if (rank == root) {
            if (wrong = self.Check(out, elements, number); !wrong.empty()) return "reduce: " + wrong;
          }
          status = self.node().Broadcast(std::as_writable_bytes(std::span(out, elements)), root);
          if (!status.ok()) return status.message();
          if (wrong = self.Check(out, elements, number); !wrong.empty()) return "broadcast: " + wrong;
        }
      }
      return "";
    });
    EXPECT_EQ(processes.WaitAll(), "") << shape.ranks << " ranks";
  }
}

TEST(Pairs, APartnerThatStopsIsAccusedAndOneThatDiesIsNamed) {
  for (const int signal : {SIGSTOP, SIGKILL}) {
    const Shape shape{4, {{0, 1}, {2, 3}}};
    constexpr std::uint32_t kVictim = 3;
    Forked processes(shape.ranks, [&](std::uint32_t rank) -> std::string {
      SegmentOptions options = OptionsOf(shape, rank, "pairs-stop");
      const auto segment = Segment::Open(options).value();
      NodeReduceOptions reduce = kSmallChunks;
      if (rank != kVictim) reduce.timeout = Milliseconds(300);
      const auto node = NodeReduce::Create(*segment, reduce).value();
      std::vector<float> values(100'000);
      const auto bytes = std::as_writable_bytes(std::span(values));
      for (int i = 0; i < 5; ++i) {
        const Status status = node->AllReduce(bytes, bytes, DType::kF32, ReduceOp::kSum);
        if (!status.ok()) return status.message();
      }
      if (rank == kVictim) {  // it has called the operation, but gives its partner nothing
        node->Start(
            {.kind = Collective::kAllReduce, .elements = values.size(), .in = bytes.data(), .out = bytes.data()});
        ::raise(signal);
      }
      return node->AllReduce(bytes, bytes, DType::kF32, ReduceOp::kSum).message();
    });
    for (std::uint32_t rank = 0; rank < kVictim; ++rank) {
      const std::string said = processes.Wait(rank);
      EXPECT_TRUE(said.starts_with("rank 3")) << "rank " << rank << ": " << said;
    }
  }
}

}  // namespace
}  // namespace glim::hfreduce
