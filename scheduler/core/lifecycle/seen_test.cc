// What was decided by what somebody saw is refused where somebody else has changed it since.
#include "scheduler/core/lifecycle/seen.h"

#include <gtest/gtest.h>

#include <memory>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Patient;
using testing::Zones;

CordonNode By(const char* who, std::optional<Seen<Cordon>> expected) {
  CordonNode event{"n1", who, "a new fan"};
  event.expected = std::move(expected);
  return event;
}

TEST(SeenTest, ACordonAnothersIsNotOverwritten) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const Seen<Cordon> in_use{c.node(NodeId(1)).cordon};
  ASSERT_TRUE(c.Do(By("ann", in_use)).status.ok());
  const Status late = c.Do(By("bob", in_use)).status;
  EXPECT_EQ(late.code(), StatusCode::kAborted);
  EXPECT_EQ(late.reason(), "CHANGED_MEANWHILE");
  EXPECT_EQ(c.node(NodeId(1)).cordon->by, "ann");

  UncordonNode back{"n1", "bob"};
  back.expected = in_use;
  EXPECT_EQ(c.Do(back).status.reason(), "CHANGED_MEANWHILE");
  back.expected = Seen<Cordon>{c.node(NodeId(1)).cordon};
  EXPECT_TRUE(c.Do(back).status.ok());
}

TEST(SeenTest, ThatADrainIsThroughIsNoChangeOfAnybodys) {
  Cluster c(Zones{.nodes = 1}, Patient());
  c.Do(CordonNode{"n1", "ann", "a new fan", {}, true});
  const Cordon drained = *c.node(NodeId(1)).cordon;
  ASSERT_TRUE(drained.drained);
  Cordon before = drained;
  before.drained = false;
  EXPECT_TRUE(IsAsSeen(drained, Seen<Cordon>{before}));
}

TEST(SeenTest, AReservationIsChangedAndTakenBackAsItWasSeen) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const auto row = [&](const char* node) {
    Reservation row;
    row.name = "r1";
    row.node_names = {node};
    row.begins_at = c.now() + Hours(1);
    row.ends_at = c.now() + Hours(2);
    row.reason = "firmware";
    return row;
  };
  const auto set = [&](const char* node, const Reservation* seen) {
    SetReservation event{row(node), "op", false};
    event.expected = seen == nullptr ? Seen<Reservation>{} : Seen<Reservation>{*seen};
    return c.Do(event).status;
  };
  ASSERT_TRUE(set("n1", nullptr).ok());
  const Reservation first = *c.state().FindReservation("r1");
  EXPECT_EQ(set("n2", nullptr).reason(), "CHANGED_MEANWHILE") << "there was none when it was looked at";
  ASSERT_TRUE(set("n2", &first).ok());

  RemoveReservation back{"r1", "op"};
  back.expected = Seen<Reservation>{first};
  EXPECT_EQ(c.Do(back).status.reason(), "CHANGED_MEANWHILE");
  back.expected = Seen<Reservation>{*c.state().FindReservation("r1")};
  EXPECT_TRUE(c.Do(back).status.ok());
  EXPECT_EQ(c.Do(back).status.reason(), "CHANGED_MEANWHILE") << "it is gone";
}

TEST(SeenTest, RowsOfAccountsAndTheLayoutAreAllAsTheyWereSeen) {
  Cluster c(Zones{.nodes = 1}, Patient());
  ChangeAccounts event{{{Team{"vision"}}}, "ann"};
  event.expected = c.state().tables().accounts;
  ASSERT_TRUE(c.Do(event).status.ok());
  event.changes = {{Team{"speech"}}};
  EXPECT_EQ(c.Do(event).status.reason(), "CHANGED_MEANWHILE");
  EXPECT_FALSE(c.state().accounts().teams.contains("speech"));
}

}  // namespace
}  // namespace glim::core
