// What glim-health keeps from one run to the next.
#include "nodeagent/health/wire/health_state.h"

#include <gtest/gtest.h>

#include "sdk/io/testing/temp_folder.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent::health {
namespace {

HealthState Full() {
  HealthState state;
  state.boot = "b-1";
  state.kernel_seq = 4711;
  HealthLine event;
  event.kind = HealthLine::Kind::kEvent;
  event.finding.check = "xid";
  event.seq = 9;
  event.boot = "b-1";
  state.events = {event};
  state.memory = {{"ports", {{"mlx5_0/1 downed", 3}}}};
  return state;
}

TEST(HealthStateFile, OutlivesTheProgramButNotTheBoot) {
  const TempFolder folder;
  const std::string path = folder.path() + "/health.json";
  HealthState nothing;
  nothing.boot = "b-1";
  EXPECT_EQ(ReadHealthState(path, "b-1"), nothing);
  ASSERT_TRUE(WriteHealthState(path, Full()).ok());
  EXPECT_EQ(ReadHealthState(path, "b-1"), Full());
  nothing.boot = "b-2";
  EXPECT_EQ(ReadHealthState(path, "b-2"), nothing);
}

TEST(HealthStateFile, WhatIsBrokenIsNothing) {
  const std::string whole = ToText(Full());
  HealthState nothing;
  nothing.boot = "b-1";
  for (std::size_t size = 0; size + 2 < whole.size(); ++size) {
    EXPECT_EQ(ParseHealthState(whole.substr(0, size), "b-1"), nothing) << size;
  }
  EXPECT_EQ(ParseHealthState(R"({"boot":"b-1","memory":[],"events":{}})", "b-1"), nothing);
}

}  // namespace
}  // namespace glim::nodeagent::health
