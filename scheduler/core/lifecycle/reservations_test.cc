// Nodes that are a team's, or nobody's, from when to when: who is there has left when it begins, nobody else comes
// while it lasts, and it costs nobody a restart.
#include "scheduler/core/lifecycle/reservations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::Patient;
using testing::Spec;
using testing::Zones;

// A cluster with the teams vision and speech; ann and bob are of none of them.
class Reserved : public ::testing::Test {
 protected:
  explicit Reserved(int nodes = 3) : c(Zones{.nodes = nodes}, Patient()) {
    c.Do(ChangeAccounts{{{Team{"vision"}}, {Team{"speech"}}}, "op"});
  }

  static Reservation Row(const std::string& team, Duration from_now, Duration lasts) {
    Reservation row;
    row.name = "r1";
    row.team = team;
    row.begins_at = TimePoint{from_now.ms};  // made a moment by Set
    row.ends_at = TimePoint{lasts.ms};
    row.reason = "a deadline";
    return row;
  }
  Reply Set(Reservation row, bool dry_run = false) {
    const TimePoint begins = c.now() + Duration{row.begins_at.ms};
    row.ends_at = begins + Duration{row.ends_at.ms};
    row.begins_at = row.begins_at.ms == 0 ? TimePoint{} : begins;
    return c.Do(SetReservation{std::move(row), "op", dry_run});
  }
  Reply SetShare(const std::string& team, std::uint32_t share, Duration from_now, Duration lasts) {
    Reservation row = Row(team, from_now, lasts);
    row.pool = "default";
    row.share = share;
    return Set(row);
  }
  Reply SetNamed(const std::string& team, std::vector<std::string> names, Duration from_now, Duration lasts) {
    Reservation row = Row(team, from_now, lasts);
    row.node_names = std::move(names);
    return Set(row);
  }
  JobId SubmitFor(const std::string& team, JobSpec spec, const std::string& user = "kim") {
    return c.Do(SubmitJobs{user, team, "", {std::move(spec)}}).jobs.at(0);
  }
  std::string NodeOf(JobId job) { return c.node(c.attempt(job).nodes.at(0)).name; }
  const glim::core::Reservation& row() { return *c.state().FindReservation("r1"); }

  Cluster c;
};

class ReservedOne : public Reserved {
 protected:
  ReservedOne() : Reserved(1) {}
};

TEST_F(ReservedOne, IsItsTeamsAloneWhileItIsInForce) {
  ASSERT_TRUE(SetNamed("vision", {"n1"}, {}, Hours(1)).status.ok());
  const JobId other = SubmitFor("speech", Spec(1)), of_none = c.Submit(Spec(1));
  EXPECT_EQ(c.job(other).state, JobState::kQueued);
  EXPECT_EQ(c.job(of_none).state, JobState::kQueued);
  const JobId own = SubmitFor("vision", Spec(1));
  c.Settle();
  EXPECT_EQ(c.job(own).state, JobState::kRunning);
  const std::vector<Blocker> blockers = c.Blockers(other);
  const auto told =
      std::find_if(blockers.begin(), blockers.end(), [](const Blocker& b) { return b.kind == BlockerKind::kReserved; });
  ASSERT_NE(told, blockers.end());
  EXPECT_THAT(told->message, HasSubstr("1 node is not for it: r1: reserved for team vision from 1970-01-01T01:"));
  EXPECT_THAT(told->message, HasSubstr(" by op: a deadline"));
}

TEST_F(ReservedOne, IsOverByItselfAndWhoIsThereStays) {
  SetNamed("vision", {"n1"}, {}, Hours(1));
  const JobId own = SubmitFor("vision", Spec(1));
  c.Settle();
  c.Advance(Hours(1));
  EXPECT_EQ(c.state().FindReservation("r1"), nullptr);
  EXPECT_EQ(c.job(own).state, JobState::kRunning);
  EXPECT_EQ(c.Noted(HistoryKind::kReservationBegan), 1);
  EXPECT_EQ(c.Noted(HistoryKind::kReservationEnded), 1);
}

TEST_F(ReservedOne, ForNobodyIsMaintenance) {
  SetNamed("", {"n1"}, {}, Hours(1));
  const JobId job = SubmitFor("vision", Spec(1)), of_none = c.Submit(Spec(1));
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  EXPECT_EQ(c.job(of_none).state, JobState::kQueued) << "who is of no team is not nobody";
  c.Advance(Hours(1));
  EXPECT_EQ(c.job(job).state, JobState::kStarting);
}

TEST_F(ReservedOne, HasItsNodeFreeWhenItBeginsAndGivesItBackWithNothingLost) {
  const JobId job = c.Running(Spec(1));
  c.Save(job, 5);
  SetNamed("vision", {"n1"}, Hours(1), Hours(1));
  const TimePoint begins = row().begins_at;
  c.Advance(begins - c.now() - Minutes(2));
  EXPECT_EQ(c.job(job).state, JobState::kRunning) << "its grace is a minute: it is left alone";
  c.Advance(Minutes(1));
  ASSERT_EQ(c.job(job).state, JobState::kInterrupting) << "nothing is known of it: it is asked its grace before";
  EXPECT_THAT(c.agreement(job).reason, HasSubstr("node n1 is reserved for team vision from "));
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).save, SaveResult::kSaved);
  EXPECT_EQ(c.job(job).state, JobState::kQueued) << "not to begin again in the meantime";
  EXPECT_FALSE(c.node(NodeId(1)).holder);
  EXPECT_LT(c.now(), begins);
  c.Advance(begins - c.now());
  EXPECT_TRUE(row().begun_at);
  c.Advance(Hours(1));
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.job(job).restarts, 0u) << "it is not to blame";
  EXPECT_EQ(c.job(job).steps_lost, 0);
}

TEST_F(ReservedOne, AsksWhoIsKnownToLeaveFastLater) {
  const JobId job = c.Running(Spec(1));
  c.Do(MoveJob{job, "op", "a slow switch"});
  c.Settle();
  ASSERT_EQ(c.job(job).state, JobState::kRunning);
  ASSERT_EQ(c.job(job).leaves, 1u) << "and it took no time";
  SetNamed("vision", {"n1"}, Hours(1), Hours(1));
  const TimePoint begins = row().begins_at;
  c.Advance(begins - c.now() - Seconds(6));
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  c.Advance(Seconds(1));
  EXPECT_EQ(c.job(job).state, JobState::kInterrupting);
}

TEST_F(ReservedOne, LetsThoseUseItBeforeWhoCanDoSomethingUsefulThere) {
  SetNamed("vision", {"n1"}, Minutes(10), Hours(1));
  const JobId early = c.Submit(Spec(1));
  c.Settle();
  ASSERT_EQ(c.job(early).state, JobState::kRunning) << "it can be asked to leave";
  c.Finish(early);
  c.Advance(row().begins_at - c.now() - Seconds(61));
  const JobId late = c.Submit(Spec(1));
  EXPECT_EQ(c.job(late).state, JobState::kQueued) << "it would be asked to leave in a second";
  EXPECT_THAT(c.Blockers(late).at(1).message, HasSubstr("; until then it could do nothing useful there"));
  JobSpec brief = Spec(1);
  brief.time_limit = Seconds(30);
  const JobId over_by_then = c.Submit(brief);
  EXPECT_NE(c.job(over_by_then).state, JobState::kQueued) << "it is over by then";
}

// What is borrowed counts as low. Else each pass would give it the node once more, and take it back.
TEST_F(Reserved, WhoBorrowsMayUseThemBeforeIfTheGraceOfLowFits) {
  c.policy().grace_cap.by_class[PriorityClass::kNormal] = Seconds(20);
  c.policy().grace_cap.by_class[PriorityClass::kLow] = Minutes(2);
  c.SetQuota("kim", PriorityClass::kNormal, 1);
  c.Running(Spec(1), "kim");
  const JobId there = c.Running(Spec(2));
  SetNamed("vision", {"n2", "n3"}, Minutes(20), Hours(1));
  c.Advance(row().begins_at - c.now() - Seconds(50));
  ASSERT_EQ(c.job(there).state, JobState::kRunning);
  const JobId borrows = c.Submit(Spec(1), "kim");
  c.Finish(there);
  EXPECT_EQ(c.job(borrows).state, JobState::kQueued) << "it would be asked to leave at once";
  EXPECT_EQ(c.job(borrows).attempts, 0u);
}

// Else each pass gave it the node once more, and took it back.
TEST_F(ReservedOne, WhoIsOverByThenMayWaitForItsNodeAsLongAsItsLimitFits) {
  const JobId there = c.Running(Spec(1));
  SetNamed("vision", {"n1"}, Seconds(55), Hours(1));
  ASSERT_EQ(c.job(there).state, JobState::kInterrupting);
  JobSpec brief = Spec(1);
  brief.priority = PriorityClass::kExtremeHigh;
  brief.time_limit = Seconds(30);
  const JobId job = c.Submit(brief);
  ASSERT_EQ(c.node(NodeId(1)).claim.job, job);
  c.Advance(Seconds(25));
  EXPECT_EQ(c.node(NodeId(1)).claim, c.attempt(job).id);
  EXPECT_EQ(c.job(job).attempts, 1u);
  c.Advance(Seconds(1));
  EXPECT_FALSE(c.node(NodeId(1)).claim) << "its limit does not fit any more";
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
}

TEST_F(ReservedOne, ATimeLimitOfSecondsCountsToTheSecond) {
  for (const auto& [limit, starts] : {std::pair(Seconds(50), false), std::pair(Seconds(20), true)}) {
    SetNamed("vision", {"n1"}, Seconds(45), Hours(1));
    JobSpec brief = Spec(1);
    brief.time_limit = limit;
    const JobId job = c.Submit(brief);
    EXPECT_EQ(c.job(job).state != JobState::kQueued, starts) << limit.ms;
    c.Do(CancelJob{job, "ann"});
    c.Settle();
  }
}

TEST_F(Reserved, TakesOtherNodesFirstForWhoeverMayStillBeThere) {
  SetNamed("", {"n1", "n2"}, Hours(2), Hours(1));
  const JobId job = c.Submit(Spec(1));
  EXPECT_EQ(NodeOf(job), "n3");
  const JobId two = c.Submit(Spec(2));
  EXPECT_NE(c.job(two).state, JobState::kQueued) << "better than to wait";
}

class ReservedFour : public Reserved {
 protected:
  ReservedFour() : Reserved(4) {}
};

TEST_F(ReservedFour, AShareTakesWhatIsFreeAndThenTheCheapest) {
  const JobId gang = c.Running(Spec(2)), single = c.Running(Spec(1));
  ASSERT_TRUE(SetShare("vision", 2, Hours(1), Hours(1)).status.ok());
  EXPECT_TRUE(row().nodes.empty()) << "nobody knows yet who will be there then";
  c.Advance(row().begins_at - c.now() - Minutes(5));
  ASSERT_EQ(row().nodes.size(), 2u);
  EXPECT_TRUE(HasNode(row(), c.attempt(single).nodes[0]));
  c.Advance(Minutes(4));
  c.Settle();
  EXPECT_EQ(c.job(gang).state, JobState::kRunning);
  EXPECT_EQ(c.job(single).state, JobState::kQueued);
  c.Advance(row().begins_at - c.now());
  const JobId own = SubmitFor("vision", Spec(2));
  c.Settle();
  EXPECT_EQ(c.job(own).state, JobState::kRunning);
}

TEST_F(Reserved, AShareCountsTheNodesThatItsTeamHas) {
  const JobId own = SubmitFor("vision", Spec(1)), other = c.Submit(Spec(2));
  c.Settle();
  SetShare("vision", 1, {}, Hours(1));
  c.Settle();
  EXPECT_TRUE(HasNode(row(), c.attempt(own).nodes[0]));
  EXPECT_EQ(c.job(other).state, JobState::kRunning);
}

TEST_F(Reserved, ANodeOfAShareThatGoesOutIsReplacedWhileThereAreOthers) {
  SetShare("vision", 2, {}, Hours(1));
  ASSERT_EQ(row().nodes.size(), 2u);
  const NodeId out = row().nodes[0].id;
  c.Do(CordonNode{c.node(out).name, "op", "a new fan"});
  ASSERT_EQ(row().nodes.size(), 2u);
  EXPECT_FALSE(HasNode(row(), out));
  c.Do(CordonNode{c.node(row().nodes[0].id).name, "op", "a new fan"});
  EXPECT_EQ(row().nodes.size(), 2u) << "there are no others: it comes back to the team's";
}

TEST_F(Reserved, TheTeamTakesItsOwnNodesFirstAndOthersToo) {
  SetNamed("vision", {"n3"}, {}, Hours(1));
  const JobId first = SubmitFor("vision", Spec(1));
  EXPECT_EQ(NodeOf(first), "n3");
  const JobId second = SubmitFor("vision", Spec(2));
  EXPECT_NE(c.job(second).state, JobState::kQueued);
}

TEST_F(Reserved, NobodyElseGoesOnWaitingForItsNodes) {
  c.Running(Spec(3));
  const JobId high = c.Submit(Spec(1, PriorityClass::kHigh), "bob");
  ASSERT_EQ(c.attempt(high).state, AttemptState::kClaimed);
  SetNamed("vision", {NodeOf(high)}, {}, Hours(1));
  EXPECT_EQ(c.attempt(high, 1).outcome, Outcome::kClaimDropped);
  c.Settle();
  ASSERT_EQ(c.job(high).state, JobState::kRunning);
  EXPECT_FALSE(HasNode(row(), c.attempt(high).nodes[0]));
}

TEST_F(Reserved, AGangLeavesAsAWholeAndGoesOnWhereItFits) {
  const JobId gang = c.Running(Spec(2));
  const NodeId node = c.attempt(gang).nodes[0];
  SetNamed("vision", {c.node(node).name}, {}, Hours(1));
  c.Settle();
  ASSERT_EQ(c.job(gang).state, JobState::kRunning);
  EXPECT_EQ(c.job(gang).attempts, 2u);
  const std::vector<NodeId>& nodes = c.attempt(gang).nodes;
  EXPECT_EQ(std::count(nodes.begin(), nodes.end(), node), 0);
}

TEST_F(Reserved, OutlivesTheSchedulerAndBeginsOnTime) {
  SetNamed("vision", {"n1"}, Minutes(30), Hours(1));
  const Reservation before = row();
  c.RestartScheduler();
  EXPECT_EQ(row(), before);
  c.Advance(before.begins_at - c.now());
  EXPECT_TRUE(row().begun_at);
}

TEST_F(Reserved, OfTheSameNameIsChanged) {
  SetNamed("vision", {"n1"}, {}, Hours(1));
  const TimePoint begun = row().begun_at;
  Reservation longer = row();
  longer.ends_at = longer.ends_at + Hours(1);
  ASSERT_TRUE(c.Do(SetReservation{longer, "op"}).status.ok()) << "that it began in the past is no fault";
  EXPECT_EQ(row().ends_at, longer.ends_at);
  EXPECT_EQ(row().begun_at, begun);
  longer.begins_at = {};
  ASSERT_TRUE(c.Do(SetReservation{longer, "op"}).status.ok());
  EXPECT_EQ(row().begun_at, begun) << "who says no begin says nothing of it";
  longer.team = "speech";
  const JobId own = SubmitFor("vision", Spec(1));
  c.Settle();
  ASSERT_EQ(NodeOf(own), "n1");
  ASSERT_TRUE(c.Do(SetReservation{longer, "op"}).status.ok());
  c.Settle();
  ASSERT_EQ(c.job(own).state, JobState::kRunning);
  EXPECT_NE(NodeOf(own), "n1") << "it is another team's now";
}

TEST_F(Reserved, IsTakenBack) {
  SetNamed("", {"n1", "n2", "n3"}, {}, Hours(1));
  const JobId job = c.Submit(Spec(1));
  ASSERT_TRUE(c.Do(RemoveReservation{"r1", "op", true}).status.ok());
  EXPECT_NE(c.state().FindReservation("r1"), nullptr) << "it was tried alone";
  ASSERT_TRUE(c.Do(RemoveReservation{"r1", "op"}).status.ok());
  EXPECT_EQ(c.job(job).state, JobState::kStarting);
  EXPECT_EQ(c.Do(RemoveReservation{"r1", "op"}).status.reason(), "NO_SUCH_RESERVATION");
}

TEST_F(Reserved, CanBeTried) {
  Reservation row = Row("vision", {}, Hours(1));
  row.node_names = {"n1"};
  EXPECT_TRUE(Set(row, true).status.ok());
  EXPECT_EQ(c.state().tables().reservations.size(), 0u);
}

}  // namespace
}  // namespace glim::core
