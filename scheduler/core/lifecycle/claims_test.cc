// An attempt that waits for nodes and does not get them: what becomes of its job's wait.
#include "scheduler/core/lifecycle/claims.h"

#include <gtest/gtest.h>

#include "scheduler/core/model/waited.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Labels;
using testing::Patient;
using testing::Spec;
using testing::Zones;

using enum PriorityClass;

// Two of three nodes are being emptied for a gang that has waited for minutes.
struct Claiming {
  Claiming() {
    first = c.Running(Spec(1));
    second = c.Running(Spec(1));
    c.Running(Spec(1));
    gang = c.Submit(Spec(2), "bob");
    since = c.now();
    c.Advance(Minutes(3));
    c.Cancel(first);
    c.Cancel(second);
    EXPECT_EQ(c.attempt(gang).state, AttemptState::kClaimed);
  }
  Cluster c{Zones{.nodes = 3}, Patient()};
  JobId first, second, gang;
  TimePoint since;
};

// Else a job that is about to be served would lose its place, and the bound that it was promised, to each fault.
TEST(DroppedClaims, DoNotBeginTheWaitAnew) {
  Claiming w;
  w.c.Exit(w.first, 0, 0);
  w.c.Connect("n1", Labels("z2", "z2-l1"));  // its zones were chosen with the old one
  ASSERT_EQ(w.c.job(w.gang).state, JobState::kQueued);
  EXPECT_EQ(w.c.job(w.gang).queued_at, w.since);
}

TEST(DroppedClaims, OfWhoIsDisplacedDoNotEither) {
  Claiming w;
  w.c.Submit(Spec(2, kHigh), "eve");
  ASSERT_EQ(w.c.attempt(w.gang).outcome, Outcome::kClaimDropped);
  EXPECT_EQ(w.c.job(w.gang).queued_at, w.since);
}

TEST(DroppedClaims, CountTheWaitOnce) {
  Claiming w;
  w.c.Submit(Spec(2, kHigh), "eve");
  const Attempt dropped = w.c.attempt(w.gang, 1);
  EXPECT_EQ(WaitedFor(dropped, w.c.job(w.gang).queued_at), Duration{}) << "it goes on";
  EXPECT_EQ(WaitedFor(dropped, {}), Minutes(3)) << "and was that, if the job ends so";
}

TEST(DroppedClaims, OfWhoIsSuspendedEndTheWait) {
  Claiming w;
  w.c.Suspend(w.gang, "bob");
  w.c.Advance(Minutes(1));
  w.c.Resume(w.gang, "bob");
  EXPECT_EQ(w.c.attempt(w.gang).queued_at, w.c.now()) << "its user took it out of turn";
  EXPECT_EQ(WaitedFor(w.c.attempt(w.gang, 1), w.c.now()), Minutes(3));
}

}  // namespace
}  // namespace glim::core
