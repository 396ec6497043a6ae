// An operator who lets a link carry fewer jobs keeps nobody waiting for those that stay on it.
#include "scheduler/core/lifecycle/link_review.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Patient;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

using enum PriorityClass;

Policy TwoJobsALink() {
  Policy policy = Patient();
  policy.cross_zone_nodes_min = 2;
  policy.links = {{"z1", "z2", 2, 2}};
  policy.move_gain_permille = 0;
  return policy;
}

// Two jobs cross the link; a gang that is larger than a zone holds all its nodes and waits for one of them to leave.
struct Waiting {
  Waiting() {
    std::vector<JobId> large, small;
    for (const char* zone : {"z1", "z2"}) {
      large.push_back(c.Running(In(zone, 4)));
      small.push_back(c.Running(In(zone, 1)));
    }
    leaves = c.Running(Spec(2, kLow));
    for (const JobId job : small) c.Finish(job);
    stays = c.Running(Spec(2, kExtremeHigh));
    for (const JobId job : large) c.Finish(job);
    c.script(leaves).acks = false;
    gang = c.Submit(Spec(7, kHigh), "bob");
    EXPECT_EQ(c.attempt(leaves).zones.size(), 2u);
    EXPECT_EQ(c.attempt(stays).zones.size(), 2u);
    EXPECT_EQ(c.attempt(gang).state, AttemptState::kClaimed);
    EXPECT_EQ(c.attempt(gang).nodes_held, 7u);
  }
  static JobSpec In(const std::string& zone, std::uint32_t nodes) {
    return SpecWith(nodes, [&](JobSpec& s) { s.placement.zones = {zone}; });
  }
  void Carry(std::uint32_t jobs) { c.SetLinks({{"z1", "z2", jobs, jobs}}, true); }
  Cluster c{Zones{.zones = 2, .leaves = 1, .nodes = 6}, TwoJobsALink()};
  JobId leaves, stays, gang;
};

TEST(ReviewedLinks, NobodyWaitsForAJobThatStays) {
  Waiting w;
  w.Carry(1);
  EXPECT_EQ(w.c.job(w.gang).state, JobState::kQueued);
  EXPECT_EQ(w.c.job(w.leaves).state, JobState::kRunning) << "its interrupt was for nothing, and is withdrawn";
}

TEST(ReviewedLinks, WhoWaitsForAJobThatLeavesWaitsOn) {
  Waiting w;
  w.Carry(2);
  EXPECT_EQ(w.c.attempt(w.gang).state, AttemptState::kClaimed);
}

TEST(ReviewedLinks, WhoeverWaitedBeginsWhereTheyCarryMore) {
  Waiting w;
  w.Carry(3);
  EXPECT_EQ(w.c.attempt(w.gang).state, AttemptState::kStarting);
}

}  // namespace
}  // namespace glim::core
