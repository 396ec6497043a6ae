#include "scheduler/gateway/watch/state_ring.h"

#include <gtest/gtest.h>

namespace glim::gateway {
namespace {

Frame Sized(std::size_t bytes) { return MakeFrame(std::string(bytes, 'x')); }

std::vector<Frame> From(const StateRing& ring, std::uint64_t seen) {
  std::vector<Frame> frames;
  ring.From(seen, &frames);
  return frames;
}

TEST(StateRing, ANewReaderGetsTheStateAndWhatChangedSince) {
  StateRing ring(1);
  EXPECT_TRUE(ring.NeedsState(0));
  const Frame state = Sized(10), change = Sized(1);
  ring.SetState(1, {state});
  EXPECT_FALSE(ring.NeedsState(0));
  ring.Add(2, change);
  EXPECT_FALSE(ring.NeedsState(0));
  EXPECT_EQ(From(ring, 0), (std::vector<Frame>{state, change}));
  EXPECT_EQ(From(ring, 1), std::vector<Frame>{change});
  EXPECT_TRUE(From(ring, 2).empty());
}

TEST(StateRing, WhoIsBehindWhatIsKeptGetsANewState) {
  StateRing ring(1, 1'000, 3);
  for (std::uint64_t round = 2; round <= 6; ++round) ring.Add(round, Sized(10));
  EXPECT_TRUE(ring.NeedsState(2));
  EXPECT_FALSE(ring.NeedsState(3));
  EXPECT_EQ(From(ring, 3).size(), 3U);
}

// Conflated: a slow reader is not sent what has been overtaken.
TEST(StateRing, ManyChangesAreReplacedByTheStateThatTheyComeTo) {
  constexpr std::size_t kMuch = std::size_t{100} << 10;
  StateRing ring(1);
  const Frame old_state = Sized(100);
  ring.SetState(1, {old_state});
  ring.Add(2, Sized(kMuch));
  EXPECT_TRUE(ring.NeedsState(1));
  const Frame state = Sized(100);
  ring.SetState(2, {state});
  EXPECT_EQ(From(ring, 1), std::vector<Frame>{state});
  EXPECT_TRUE(From(ring, 2).empty());
}

}  // namespace
}  // namespace glim::gateway
