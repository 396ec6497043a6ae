// Pools, zones and links as rows: what may be set, who keeps a row from going, and what comes of a change at once.
#include "scheduler/core/lifecycle/layout_rules.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::Patient;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

using enum PriorityClass;

Status ChangeRow(Cluster& c, AccountRow row, bool removed = false) {
  return c.Do(ChangeAccounts{{{std::move(row), removed}}, "op"}).status;
}

TEST(LayoutRows, ArePutChangedAndTakenAway) {
  Cluster c;
  EXPECT_TRUE(ChangeRow(c, PoolRow{"a100", "the racks of spring"}).ok());
  EXPECT_TRUE(ChangeRow(c, ZoneRow{"C"}).ok());
  EXPECT_TRUE(ChangeRow(c, ZoneLink{"C", "A", 2, 3}).ok());
  EXPECT_EQ(c.state().accounts().pools.at("a100").note, "the racks of spring");
  EXPECT_EQ(c.state().accounts().links.at({"A", "C"}), (ZoneLink{"A", "C", 2, 3})) << "by name, whoever comes first";
  EXPECT_EQ(c.Noted(HistoryKind::kLayoutChanged), 4) << "each, and what the first link means for the others";

  EXPECT_TRUE(ChangeRow(c, ZoneLink{"A", "C", 2, 3}).ok());
  EXPECT_EQ(c.Noted(HistoryKind::kLayoutChanged), 4) << "what changes nothing is no change";
  EXPECT_TRUE(ChangeRow(c, ZoneLink{"C", "A"}, true).ok());
  EXPECT_TRUE(ChangeRow(c, ZoneRow{"C"}, true).ok());
  EXPECT_TRUE(ChangeRow(c, PoolRow{"a100"}, true).ok());
  EXPECT_TRUE(c.state().accounts().pools.empty() && c.state().accounts().zones.empty());
  EXPECT_TRUE(c.state().accounts().links.empty());
}

TEST(LayoutRows, WhatIsWrongIsRefusedByItsField) {
  struct Row {
    AccountRow row;
    bool removed;
    const char* field;
    StatusCode code;
  };
  const Row rows[] = {
      {PoolRow{"a 100"}, false, "pool", StatusCode::kInvalidArgument},
      {PoolRow{""}, true, "pool", StatusCode::kInvalidArgument},
      {PoolRow{"a100", std::string(257, 'x')}, false, "note", StatusCode::kInvalidArgument},
      {ZoneRow{"A", "two\nlines"}, false, "note", StatusCode::kInvalidArgument},
      {ZoneLink{"A", "A"}, false, "zone_b", StatusCode::kInvalidArgument},
      {ZoneLink{"", "A"}, false, "zone_a", StatusCode::kInvalidArgument},
      {ZoneLink{"A", "B", 1001, 1}, false, "jobs_max", StatusCode::kInvalidArgument},
      {ZoneLink{"A", "B", 1, 1001}, false, "pairs_max", StatusCode::kInvalidArgument},
      {PoolRow{"nowhere"}, true, "pool", StatusCode::kNotFound},
      {ZoneRow{"nowhere"}, true, "zone", StatusCode::kNotFound},
      {ZoneLink{"A", "B"}, true, "link", StatusCode::kNotFound},
  };
  Cluster c;
  for (const Row& row : rows) {
    const Status status = ChangeRow(c, row.row, row.removed);
    EXPECT_EQ(status.code(), row.code) << row.field;
    EXPECT_EQ(status.field(), row.field) << status.message();
    EXPECT_FALSE(status.fix().empty()) << row.field;
  }
}

// Each of these alone keeps the pool from going, and is named.
TEST(LayoutRows, APoolThatSomebodyRefersToStays) {
  struct Row {
    std::function<void(Cluster&)> refer;
    const char* who;
  };
  const Row rows[] = {
      {[](Cluster& c) { c.AddNode(testing::Labels("z1", "l1")); }, "pool default is in use: node n1"},
      {[](Cluster& c) {
         for (int i = 0; i < 5; ++i) c.AddNode(testing::Labels("z1", "l1"));
       },
       "nodes n1, n2, n3 and 2 more"},
      {[](Cluster& c) {
         ASSERT_TRUE(ChangeRow(c, QuotaRow{{QuotaOf::kUser, "kim", "default"}, kHigh, 1}).ok());
       },
       "the quota of user:kim"},
      {[](Cluster& c) {
         ASSERT_TRUE(ChangeRow(c, Team{"vision", 100, {"default"}}).ok());
       },
       "team vision"},
      {[](Cluster& c) {
         ASSERT_TRUE(ChangeRow(c, Team{"speech", 100, {}, "default"}).ok());
       },
       "team speech"},
      {[](Cluster& c) {
         c.AddNode(testing::Labels("z1", "l1"));
         Reservation reserved;
         reserved.name = "release";
         reserved.pool = "default";
         reserved.share = 1;
         reserved.ends_at = c.now() + Hours(1);
         reserved.reason = "a deadline";
         ASSERT_TRUE(c.Do(SetReservation{reserved, "op"}).status.ok());
       },
       "; reservation release"},
  };
  for (const Row& row : rows) {
    Cluster c(Zones{.nodes = 0});
    ASSERT_TRUE(ChangeRow(c, PoolRow{"default"}).ok());
    row.refer(c);
    const Status status = ChangeRow(c, PoolRow{"default"}, true);
    EXPECT_EQ(status.reason(), "IN_USE") << row.who;
    EXPECT_THAT(status.message(), HasSubstr(row.who));
    EXPECT_TRUE(c.state().accounts().pools.contains("default"));
  }
}

TEST(LayoutRows, JobsThatHaveNotEndedKeepTheirPoolAndZones) {
  Cluster c(Zones{.zones = 1, .leaves = 1, .nodes = 1}, Patient());
  ASSERT_TRUE(ChangeRow(c, PoolRow{"default"}).ok());
  ASSERT_TRUE(ChangeRow(c, ZoneRow{"z1"}).ok());
  const JobId job = c.Running(SpecWith(1, [](JobSpec& s) { s.placement.zones = {"z1"}; }));
  const std::string words = "job " + std::to_string(job.value);
  EXPECT_THAT(ChangeRow(c, PoolRow{"default"}, true).message(), HasSubstr("node n1; " + words));
  EXPECT_THAT(ChangeRow(c, ZoneRow{"z1"}, true).message(), HasSubstr("node n1; " + words));
  c.Finish(job);
  EXPECT_THAT(ChangeRow(c, PoolRow{"default"}, true).message(), ::testing::EndsWith("node n1"));
}

TEST(LayoutRows, AZoneWithALinkStaysUntilTheLinkHasGone) {
  Cluster c(Zones{.nodes = 0});
  ASSERT_TRUE(c.Do(ChangeAccounts{{{ZoneRow{"A"}}, {ZoneLink{"A", "B", 1, 1}}}, "op"}).status.ok());
  EXPECT_THAT(ChangeRow(c, ZoneRow{"A"}, true).message(), HasSubstr("link A-B"));
  // In one event: each change is looked at as those before it leave the rows.
  const ChangeAccounts both{{{ZoneLink{"B", "A"}, true}, {ZoneRow{"A"}, true}}, "op"};
  EXPECT_TRUE(c.Do(both).status.ok());
}

TEST(LayoutRows, ADryRunIsCheckedAndChangesNothing) {
  Cluster c;
  ChangeAccounts event{{{PoolRow{"a100"}}}, "op", true};
  EXPECT_TRUE(c.Do(event).status.ok());
  EXPECT_FALSE(c.state().accounts().pools.contains("a100"));
  EXPECT_EQ(c.Noted(HistoryKind::kLayoutChanged), 0);
  event.changes = {{PoolRow{"a100"}, true}};
  EXPECT_EQ(c.Do(event).status.reason(), "NO_SUCH_LAYOUT");
}

TEST(LayoutRows, TheFirstLinkAndTheLastSayWhatTheyMeanForTheOthers) {
  const Links none, one = {{{"A", "B"}, {"A", "B", 1, 1}}};
  Links two = one;
  two[{"A", "C"}] = {"A", "C", 1, 1};
  EXPECT_THAT(MeaningOfLinks(none, one), HasSubstr("zones without a link are not crossed any more"));
  EXPECT_THAT(MeaningOfLinks(one, none), HasSubstr("one job, one pair between any two zones"));
  EXPECT_EQ(MeaningOfLinks(one, two), "");
  EXPECT_EQ(MeaningOfLinks(none, none), "");
}

TEST(LinkRows, SayHowManyJobsMayCross) {
  const Links none, links = {{{"A", "B"}, {"A", "B", 3, 2}}};
  EXPECT_EQ(LinkJobsMax(none, "A", "B"), 1u);
  EXPECT_EQ(LinkJobsMax(links, "B", "A"), 2u) << "each job takes a pair";
  EXPECT_EQ(LinkJobsMax(links, "A", "C"), 0u);
}

}  // namespace
}  // namespace glim::core
