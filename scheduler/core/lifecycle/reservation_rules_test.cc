// What a reservation may be, and what a change of one leaves as it was.
#include "scheduler/core/lifecycle/reservation_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::Patient;
using testing::Zones;

class ReservationRules : public ::testing::Test {
 protected:
  ReservationRules() : c(Zones{.nodes = 3}, Patient()) {
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
  Reply Set(Reservation row) {
    const TimePoint begins = c.now() + Duration{row.begins_at.ms};
    row.ends_at = begins + Duration{row.ends_at.ms};
    row.begins_at = row.begins_at.ms == 0 ? TimePoint{} : begins;
    return c.Do(SetReservation{std::move(row), "op"});
  }
  const Reservation& row() { return *c.state().FindReservation("r1"); }

  Cluster c;
};

// `reserve set r1 --until ...` says nothing of all the rest.
TEST_F(ReservationRules, WhatAChangeLeavesOutIsAsItWas) {
  Reservation planned = Row("vision", Minutes(30), Hours(1));
  planned.node_names = {"n1", "n2"};
  ASSERT_TRUE(Set(planned).status.ok());
  planned = row();
  Reservation change;
  change.name = "r1";
  change.team = "vision";
  change.ends_at = planned.ends_at + Hours(1);
  ASSERT_TRUE(c.Do(SetReservation{change, "op"}).status.ok());
  EXPECT_EQ(row().begins_at, planned.begins_at) << "it does not begin now";
  EXPECT_EQ(row().node_names, planned.node_names);
  EXPECT_EQ(row().reason, planned.reason);
  EXPECT_EQ(row().ends_at, change.ends_at);

  Reservation share = change;
  share.ends_at = {};
  share.pool = "default";
  share.share = 1;
  ASSERT_TRUE(c.Do(SetReservation{share, "op"}).status.ok());
  EXPECT_TRUE(row().node_names.empty()) << "one of the two";
  EXPECT_EQ(row().ends_at, change.ends_at);
  share.pool = "";
  share.share = 2;
  ASSERT_TRUE(c.Do(SetReservation{share, "op"}).status.ok());
  EXPECT_EQ(row().pool, "default");
  share.share = 0;
  share.reason = "another";
  ASSERT_TRUE(c.Do(SetReservation{share, "op"}).status.ok());
  EXPECT_EQ(row().share, 2u);
  EXPECT_EQ(row().reason, "another");

  Reservation of_nobody = change;
  of_nobody.team = "";
  const Status unclear = c.Do(SetReservation{of_nobody, "op"}).status;
  EXPECT_EQ(unclear.field(), "team");
  EXPECT_THAT(unclear.message(), HasSubstr("r1 is of team vision"));
  EXPECT_THAT(unclear.fix(), HasSubstr("glim admin reserve rm r1"));
  EXPECT_EQ(row().team, "vision");

  Reservation now = change;
  now.begins_at = c.now() - Seconds(1);
  ASSERT_TRUE(c.Do(SetReservation{now, "op"}).status.ok()) << "who says now says a moment ago";
  EXPECT_TRUE(row().begun_at);
}

struct Refusal {
  const char* field;
  const char* says;
  std::function<void(Reservation&)> with;
};

TEST_F(ReservationRules, OnesThatCannotBeAreRefusedWithFieldAndFault) {
  Reservation other = Row("speech", Hours(1), Hours(1));
  other.name = "other";
  other.node_names = {"n3"};
  ASSERT_TRUE(Set(other).status.ok());
  const Refusal kRefusals[] = {
      {"name", "is no name", [](Reservation& r) { r.name = "a name"; }},
      {"reason", "is missing", [](Reservation& r) { r.reason = ""; }},
      {"team", "there is no team art", [](Reservation& r) { r.team = "art"; }},
      {"nodes", "is neither", [](Reservation& r) { r.node_names = {}; }},
      {"nodes", "or both", [](Reservation& r) { r.share = 1; }},
      {"node", "no node n9", [](Reservation& r) { r.node_names = {"n9"}; }},
      {"pool", "there are no nodes in pool 'a100'",
       [](Reservation& r) {
         r.node_names = {};
         r.pool = "a100";
         r.share = 1;
       }},
      {"nodes", "pool default has 3 nodes, and 1 are reserved then already; 3 are asked for",
       [](Reservation& r) {
         r.node_names = {};
         r.pool = "default";
         r.share = 3;
       }},
      {"node_names", "node n3 is reserved then already, by other: reserved for team speech",
       [](Reservation& r) { r.node_names = {"n3"}; }},
      {"pool", "is given beside names of nodes", [](Reservation& r) { r.pool = "nope"; }},
      {"reason", "has nothing but spaces", [](Reservation& r) { r.reason = "  "; }},
      {"ends_at_ms", "it ends before it begins", [](Reservation& r) { r.ends_at = TimePoint{-1}; }},
      {"ends_at_ms", "it lasts more than 92 days", [](Reservation& r) { r.ends_at = TimePoint{Hours(24 * 93).ms}; }},
      {"begins_at_ms", "it lies in the past", [](Reservation& r) { r.begins_at = TimePoint{-Minutes(1).ms}; }},
      {"ends_at_ms", "it lies in the past",
       [](Reservation& r) {
         r.begins_at = TimePoint{-Minutes(2).ms};
         r.ends_at = TimePoint{Minutes(1).ms};
       }},
      {"begins_at_ms", "in more than 366 days", [](Reservation& r) { r.begins_at = TimePoint{Hours(24 * 367).ms}; }},
  };
  for (const Refusal& refusal : kRefusals) {
    Reservation row = Row("vision", Minutes(30), Hours(2));
    row.node_names = {"n1"};
    refusal.with(row);
    const Status status = Set(row).status;
    EXPECT_FALSE(status.ok()) << refusal.says;
    EXPECT_EQ(status.field(), refusal.field) << refusal.says;
    EXPECT_THAT(status.message(), HasSubstr(refusal.says));
    EXPECT_FALSE(status.fix().empty()) << refusal.says;
  }
  EXPECT_EQ(c.state().tables().reservations.size(), 1u);
  Reservation behind = Row("vision", Hours(2), Hours(1));
  behind.node_names = {"n3"};
  EXPECT_TRUE(Set(behind).status.ok()) << "one may follow another";
}

}  // namespace
}  // namespace glim::core
