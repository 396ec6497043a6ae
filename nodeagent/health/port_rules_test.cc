// Network ports: a link that goes for a moment, one that stays away, one that is bad.
#include "nodeagent/health/port_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glim::nodeagent::health {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Checks(const std::vector<Finding>& findings) {
  std::vector<std::string> checks;
  for (const Finding& f : findings) checks.push_back(f.check + " " + f.device);
  return checks;
}

PortReading Port(bool active, std::int64_t downed, std::int64_t rate = 200'000) {
  return {"mlx5_0/1", active, active ? "ACTIVE, LinkUp" : "DOWN, Polling", rate, downed, 0, 0};
}

class PortRules : public testing::Test {
 protected:
  Looks Look(const PortReading& port) { return LookAtPort(port, now_ += 1000, memory_); }

  Memory memory_;
  std::int64_t now_ = 0;
};

TEST_F(PortRules, AFlashThatTheKernelCounts) {
  EXPECT_THAT(Checks(Look(Port(true, 3)).events), IsEmpty()) << "of before";
  const Looks looks = Look(Port(true, 5));
  ASSERT_THAT(Checks(looks.events), ElementsAre("link_flash mlx5_0/1"));
  EXPECT_EQ(looks.events[0].value, 2);
  EXPECT_THAT(Checks(Look(Port(true, 5)).events), IsEmpty());
}

TEST_F(PortRules, AFlashThatIsSeenAndCountedIsOne) {
  Look(Port(true, 0));
  const Looks down = Look(Port(false, 1));
  EXPECT_THAT(Checks(down.events), ElementsAre("link_flash mlx5_0/1"));
  EXPECT_THAT(Checks(down.conditions), ElementsAre("link_down mlx5_0/1"));
  const Looks back = Look(Port(true, 1));
  EXPECT_THAT(Checks(back.events), IsEmpty());
  EXPECT_THAT(Checks(back.conditions), IsEmpty());
}

TEST_F(PortRules, AFlashThatNobodyCountsIsToldWhenItComesBack) {
  Look(Port(true, 0));
  EXPECT_THAT(Checks(Look(Port(false, 0)).events), IsEmpty());
  EXPECT_THAT(Checks(Look(Port(true, 0)).events), ElementsAre("link_flash mlx5_0/1"));
}

TEST_F(PortRules, APortThatNobodyUsesIsNotDown) {
  EXPECT_THAT(Look(Port(false, 0)).conditions, IsEmpty());
  EXPECT_THAT(Look(Port(false, 0)).conditions, IsEmpty());
}

TEST_F(PortRules, ALinkThatHasBecomeSlower) {
  Look(Port(true, 0, 200'000));
  const Looks looks = Look(Port(true, 0, 100'000));
  ASSERT_THAT(Checks(looks.conditions), ElementsAre("link_slow mlx5_0/1"));
  EXPECT_EQ(looks.conditions[0].value, 100'000);
  EXPECT_EQ(looks.conditions[0].expected, 200'000);
  EXPECT_THAT(Look(Port(true, 0, 400'000)).conditions, IsEmpty());
}

TEST_F(PortRules, ErrorsBeyondWhatASoundCableMakes) {
  PortReading port = Port(true, 0);
  port.symbol_errors = 1'000'000;  // of before
  Look(port);
  *port.symbol_errors += kSymbolErrorsAllowed.amount;
  EXPECT_THAT(Look(port).events, IsEmpty());
  *port.symbol_errors += 1;
  EXPECT_THAT(Checks(Look(port).events), ElementsAre("link_errors mlx5_0/1"));
  *port.recoveries += kRecoveriesAllowed.amount + 1;
  EXPECT_THAT(Checks(Look(port).events), ElementsAre("link_errors mlx5_0/1"));
}

TEST(InterfaceRules, OneThatWasUpAndIsNoMore) {
  Memory memory;
  EXPECT_THAT(LookAtInterface({"eth1", false, "down"}, memory).conditions, IsEmpty());
  EXPECT_THAT(LookAtInterface({"eth0", true, "up"}, memory).conditions, IsEmpty());
  EXPECT_THAT(Checks(LookAtInterface({"eth0", false, "down"}, memory).conditions), ElementsAre("link_down eth0"));
}

TEST(PortRate, IsReadFromTheKernelsWords) {
  EXPECT_EQ(RateOf("200 Gb/sec (4X HDR)"), 200'000);
  EXPECT_EQ(RateOf("2.5 Gb/sec (1X SDR)"), 2'500);
  for (const char* none : {"", "fast", "200", "200 Mb/sec", "2.x Gb/sec"})
    EXPECT_EQ(RateOf(none), std::nullopt) << none;
}

}  // namespace
}  // namespace glim::nodeagent::health
