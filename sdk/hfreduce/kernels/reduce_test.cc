// What holds for every type and operation, on every SIMD target of this processor: see reduce_values_test.cc for single
// numbers.
#include "sdk/hfreduce/kernels/reduce.h"

#include "sdk/hfreduce/kernels/simd_targets.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hwy/highway.h"
#include "sdk/base/rng.h"
#include "sdk/hfreduce/kernels/testing/reduce_reference.h"

namespace glim::hfreduce {
namespace {

constexpr std::uint8_t kUntouched = 0xA5;

using Bytes = std::vector<std::uint8_t>;

// Any bits are a number, an infinity or a NaN: all of them occur in 8- and 16-bit types. Wider ones get every exponent
// and, now and then, what is special.
Bytes RandomBytes(Rng& rng, DType type, std::size_t count) {
  Bytes bytes(count * SizeOf(type));
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(rng.Next());
  const auto special = [&](auto element, auto... specials) {
    const std::vector<decltype(element)> values{specials...};
    for (std::size_t i = 0; i < count; ++i) {
      if (rng.Next() % 8 != 0) continue;
      const auto value = values[rng.Next() % values.size()];
      std::memcpy(bytes.data() + i * sizeof(value), &value, sizeof(value));
    }
  };
  if (type == DType::kF32) special(0.0f, 0.0f, -0.0f, INFINITY, -INFINITY, NAN, -NAN, 1e-42f, -1e-45f, 1.0f);
  if (type == DType::kF64) special(0.0, 0.0, -0.0, HUGE_VAL, -HUGE_VAL, double{NAN}, 5e-324, -1e-310, 1.0);
  return bytes;
}

// Sources in memory of their own, at any alignment.
class Sources {
 public:
  Sources(Rng& rng, DType type, std::size_t sources, std::size_t count, std::size_t misalignment = 0) {
    for (std::size_t s = 0; s < sources; ++s) {
      const std::size_t skip = misalignment == 0 ? 0 : (misalignment + 7 * s) % 64;
      Bytes bytes(skip);
      const Bytes random = RandomBytes(rng, type, count);
      bytes.insert(bytes.end(), random.begin(), random.end());
      memory_.push_back(std::move(bytes));
      addresses_.push_back(memory_.back().data() + skip);
    }
  }
  std::span<const void* const> addresses() const { return addresses_; }
  std::vector<const void*> From(std::size_t offset) const {
    std::vector<const void*> moved;
    for (const void* address : addresses_) moved.push_back(static_cast<const std::uint8_t*>(address) + offset);
    return moved;
  }

 private:
  std::vector<Bytes> memory_;
  std::vector<const void*> addresses_;
};

ReduceArgs ArgsOf(DType type, ReduceOp op, std::size_t sources) {
  return {.type = type, .op = op, .divisor = op == ReduceOp::kAverage ? sources : 1, .stream = false};
}

std::string Label(const ReduceArgs& args, std::size_t sources, std::size_t count) {
  return std::string(SimdTarget()) + " " + std::string(NameOf(args.type)) + " " + std::string(NameOf(args.op)) +
         " of " + std::to_string(sources) + " sources, " + std::to_string(count) + " elements" +
         (args.stream ? ", streamed" : "");
}

// A case for each type and operation.
class EveryReduction : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  DType type() const { return static_cast<DType>(std::get<0>(GetParam())); }
  ReduceOp op() const { return static_cast<ReduceOp>(std::get<1>(GetParam())); }
  Rng rng_{2408};

  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }

  template <class Body>
  void OnEveryTarget(Body body) {
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      ASSERT_STREQ(SimdTarget(), hwy::TargetName(target));
      body();
      if (HasFatalFailure()) return;
      hwy::SetSupportedTargetsForTest(0);
    }
  }

  // Into a destination `misalignment` bytes after a cache line's begin, and nowhere else.
  void ExpectReduced(const ReduceArgs& args, std::span<const void* const> sources, std::size_t count,
                     std::size_t misalignment = 0) {
    const Bytes expected = ReduceReference(args, sources, count);
    Bytes memory(misalignment + expected.size() + 192, kUntouched);
    const std::size_t to_line = (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64;
    std::uint8_t* destination = memory.data() + to_line + misalignment;
    Reduce(args, destination, sources, count);
    const Bytes result(destination, destination + expected.size());
    ASSERT_EQ(result, expected) << Label(args, sources.size(), count);
    std::fill(destination, destination + expected.size(), kUntouched);
    ASSERT_EQ(memory, Bytes(memory.size(), kUntouched)) << "wrote beyond: " << Label(args, sources.size(), count);
  }
};

INSTANTIATE_TEST_SUITE_P(Reduce, EveryReduction,
                         testing::Combine(testing::Range(0, kReducibleDTypes), testing::Range(0, kReduceOps)),
                         [](const testing::TestParamInfo<std::tuple<int, int>>& info) {
                           return std::string(NameOf(static_cast<DType>(std::get<0>(info.param)))) + "_" +
                                  std::string(NameOf(static_cast<ReduceOp>(std::get<1>(info.param))));
                         });

TEST_P(EveryReduction, IsTheReferenceForAnyNumberOfSourcesAndElements) {
  OnEveryTarget([&] {
    for (const std::size_t sources : {1, 2, 3, 4, 5, 6, 7, 8, 17, 64}) {
      for (const std::size_t count : {0, 1, 3, 15, 16, 17, 63, 64, 65, 127, 256, 259, 777}) {
        const Sources from(rng_, type(), sources, count);
        ExpectReduced(ArgsOf(type(), op(), sources), from.addresses(), count);
        if (HasFatalFailure()) return;
      }
    }
  });
}

TEST_P(EveryReduction, AsksForNoAlignment) {
  OnEveryTarget([&] {
    for (const bool stream : {false, true}) {
      for (const std::size_t misalignment : {1, 2, 4, 8, 12, 32, 60, 63}) {
        for (const std::size_t sources : {1, 3}) {
          ReduceArgs args = ArgsOf(type(), op(), sources);
          args.stream = stream;
          const Sources from(rng_, type(), sources, 701, misalignment);
          ExpectReduced(args, from.addresses(), 701, misalignment);
          if (HasFatalFailure()) return;
        }
      }
    }
  });
}

TEST_P(EveryReduction, WritesIntoAnyOfItsSources) {
  OnEveryTarget([&] {
    constexpr std::size_t kCount = 533;
    for (const std::size_t into : {0, 1, 2}) {
      const Sources from(rng_, type(), 3, kCount, 8);
      const ReduceArgs args = ArgsOf(type(), op(), 3);
      const Bytes expected = ReduceReference(args, from.addresses(), kCount);
      auto* destination = static_cast<std::uint8_t*>(const_cast<void*>(from.addresses()[into]));
      Reduce(args, destination, from.addresses(), kCount);
      ASSERT_EQ(Bytes(destination, destination + expected.size()), expected) << "source " << into;
    }
  });
}

TEST_P(EveryReduction, GivesTheSameBitsWhereverARangeIsCut) {
  constexpr std::size_t kCount = 400;
  const std::size_t size = SizeOf(type());
  OnEveryTarget([&] {
    const Sources from(rng_, type(), 4, kCount);
    const ReduceArgs args = ArgsOf(type(), op(), 4);
    const Bytes expected = ReduceReference(args, from.addresses(), kCount);
    for (const std::size_t cut : {1, 7, 64, 199, 399}) {
      Bytes result(kCount * size);
      Reduce(args, result.data(), from.addresses(), cut);
      Reduce(args, result.data() + cut * size, from.From(cut * size), kCount - cut);
      ASSERT_EQ(result, expected) << "cut at " << cut;
    }
  });
}

TEST_P(EveryReduction, StreamsWhatIsLong) {
  OnEveryTarget([&] {
    constexpr std::size_t kCount = 20'011;
    ReduceArgs args = ArgsOf(type(), op(), 2);
    args.stream = true;
    const Sources from(rng_, type(), 2, kCount);
    ExpectReduced(args, from.addresses(), kCount);
  });
}

TEST(Reduce, CopiesOneSourceBitByBit) {
  Rng rng(1);
  for (int type = 0; type < kReducibleDTypes; ++type) {
    for (const bool stream : {false, true}) {
      const Sources from(rng, static_cast<DType>(type), 1, 5000, 1);
      const ReduceArgs args{.type = static_cast<DType>(type), .op = ReduceOp::kMin, .divisor = 1, .stream = stream};
      Bytes result(5000 * SizeOf(args.type));
      Reduce(args, result.data(), from.addresses(), 5000);
      ASSERT_EQ(std::memcmp(result.data(), from.addresses()[0], result.size()), 0) << NameOf(args.type);
    }
  }
}

TEST(ReduceDeathTest, RefusesWhatNobodyCanMean) {
  float value = 1;
  const std::vector<const void*> one(1, &value);
  const std::vector<const void*> two(2, &value);
  const std::vector<const void*> too_many(kSourcesMax + 1, &value);
  EXPECT_DEATH(Reduce({}, &value, {}, 1), "sources");
  EXPECT_DEATH(Reduce({}, &value, too_many, 1), "sources");
  EXPECT_DEATH(Reduce({.type = DType::kBool}, &value, two, 1), "IsReducible");
  EXPECT_DEATH(Reduce({.op = ReduceOp::kAverage, .divisor = 0}, &value, one, 1), "divided");
  EXPECT_DEATH(Reduce({.op = ReduceOp::kSum, .divisor = 2}, &value, one, 1), "divided");
}

TEST(Names, AreReadBackAndNothingElseIs) {
  for (int type = 0; type < kReducibleDTypes; ++type) {
    EXPECT_EQ(ReducibleDTypeNamed(NameOf(static_cast<DType>(type))), DType(type));
  }
  for (int op = 0; op < kReduceOps; ++op) EXPECT_EQ(ReduceOpNamed(NameOf(static_cast<ReduceOp>(op))), ReduceOp(op));
  EXPECT_EQ(NameOf(ReduceOp::kAverage), "average");
  EXPECT_EQ(NameOf(ReduceOp(200)), "unknown");
  EXPECT_EQ(ReducibleDTypeNamed("float"), std::nullopt);
  EXPECT_EQ(ReducibleDTypeNamed("uint8"), std::nullopt) << "a type that nothing reduces";
  EXPECT_EQ(ReduceOpNamed(""), std::nullopt);
}

}  // namespace
}  // namespace glim::hfreduce
