// Nodes that operators reserve: what was said crosses the network, what will change and whom it hits is shown, and
// nothing is done unasked.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "cli/testing/cli_fixture.h"

namespace glim::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kEight = 1'796'112'000'000;  // 2026-12-01T08:00Z

class ReserveTest : public CliTest {
 protected:
  glim::v1::Reservation Release() {
    glim::v1::Reservation row;
    row.set_name("release");
    row.set_team("vision");
    row.set_pool("a100");
    row.set_share(4);
    row.set_begins_at_ms(kEight);
    row.set_ends_at_ms(kEight + 4 * 3'600'000);
    row.set_reason("a deadline");
    row.set_made_by("ora");
    row.set_state("planned");
    return row;
  }
};

TEST_F(ReserveTest, AShareIsShownWithWhoLeavesAndThenMade) {
  glim::v1::Victim victim;
  victim.set_job_id(812);
  victim.set_name("sft");
  victim.set_user("kim");
  victim.set_priority("normal");
  server_.Lock()->on_node.push_back(victim);
  const GlimResult result = Glim({"admin", "reserve", "set", "release", "--team", "vision", "--pool", "a100", "--nodes",
                                  "4", "--from", "2026-12-01T08:00Z", "--for", "4h", "--reason", "a deadline", "-y"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("reservation release\n  + 4 nodes of pool a100 for team vision from "
                                    "2026-12-01T08:00:00.000Z until 2026-12-01T12:00:00.000Z: a deadline\n"));
  EXPECT_THAT(result.out, HasSubstr("there now, on nodes that it would get now; asked to save and leave"));
  EXPECT_THAT(result.out, HasSubstr("812  sft   kim   normal"));
  const auto state = server_.Lock();
  ASSERT_EQ(state->reservations_set.size(), 2u);
  EXPECT_TRUE(state->reservations_set[0].dry_run());
  EXPECT_FALSE(state->reservations_set[1].dry_run());
  const glim::v1::Reservation& row = state->reservations_set[1].reservation();
  EXPECT_EQ(row.begins_at_ms(), kEight);
  EXPECT_EQ(row.ends_at_ms(), kEight + 4 * 3'600'000);
  EXPECT_EQ(row.share(), 4u);
}

TEST_F(ReserveTest, OneOfThatNameIsShownAsItWasAndAsItWillBe) {
  server_.Lock()->reservations.push_back(Release());
  const GlimResult result =
      Glim({"admin", "reserve", "set", "release", "--node", "n1,n2", "--from", "2026-12-01T08:00Z", "--until",
            "2026-12-01T09:00Z", "--reason", "new firmware", "--dry-run"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("  - 4 nodes of pool a100 for team vision from"));
  EXPECT_THAT(result.out, HasSubstr("  + nodes n1, n2 for team vision from"));
  EXPECT_THAT(result.out, HasSubstr("no job of others is there now\n"));
  EXPECT_EQ(result.err, "nothing was changed\n");
  const auto state = server_.Lock();
  ASSERT_EQ(state->reservations_set.size(), 1u);
  EXPECT_THAT(state->reservations_set[0].reservation().node_names(), ElementsAre("n1", "n2"));
}

TEST_F(ReserveTest, ItBeginsNowUnlessSaidOtherwise) {
  const std::vector<std::string> words = {"admin", "reserve", "set", "m",        "--node", "n1",
                                          "--for", "1h",      "-y",  "--reason", "x"};
  std::vector<std::string> in_two_hours = words;
  in_two_hours.insert(in_two_hours.end(), {"--from", "in 2h"});
  EXPECT_EQ(Glim(words).exit_code, 0);
  EXPECT_EQ(Glim(in_two_hours).exit_code, 0);
  const auto state = server_.Lock();
  ASSERT_EQ(state->reservations_set.size(), 4u);
  EXPECT_EQ(state->reservations_set[1].reservation().begins_at_ms(), 0);
  const glim::v1::Reservation& later = state->reservations_set[3].reservation();
  EXPECT_EQ(later.ends_at_ms() - later.begins_at_ms(), 3'600'000);
  EXPECT_GT(later.begins_at_ms(), state->reservations_set[1].reservation().ends_at_ms());
}

TEST_F(ReserveTest, WhatCannotBeMeantIsAFaultOfTheCommandLine) {
  const std::vector<std::string> begin = {"admin", "reserve", "set", "m", "--reason", "x", "-y"};
  const std::vector<std::pair<std::vector<std::string>, const char*>> kFaults = {
      {{"--for", "1h"}, "say --pool POOL --nodes 4, or --node n1,n2"},
      {{"--for", "1h", "--nodes", "2"}, "--pool"},
      {{"--node", "n1"}, "neither --for nor --until"},
      {{"--node", "n1", "--for", "1h", "--until", "in 2h"}, "or both"},
      {{"--node", "n1", "--for", "1h", "--from", "soon"}, "'soon' is no moment"},
      {{"--node", "n1", "--pool", "a100", "--for", "1h"}, "field: --pool"},
      {{"--node", "n1", "--nodes", "2", "--for", "1h"}, "field: --nodes"},
      {{"--pool", "a100", "--nodes", "-1", "--for", "1h"}, "'-1' is no whole number from 1 to"},
  };
  for (const auto& [more, says] : kFaults) {
    std::vector<std::string> words = begin;
    words.insert(words.end(), more.begin(), more.end());
    const GlimResult result = Glim(words);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(says));
  }
  EXPECT_THAT(Glim({"admin", "reserve", "set", "m", "--node", "n1", "--for", "1h", "-y"}).err,
              HasSubstr("field: --reason"));
  EXPECT_TRUE(server_.Lock()->reservations_set.empty());
}

TEST_F(ReserveTest, WhatIsNotSaidOfOneThatIsThereStays) {
  server_.Lock()->reservations.push_back(Release());
  const GlimResult longer = Glim({"admin", "reserve", "set", "release", "--for", "6h", "-y"});
  EXPECT_EQ(longer.exit_code, 0) << longer.err;
  EXPECT_THAT(longer.out, HasSubstr("  - 4 nodes of pool a100 for team vision from 2026-12-01T08:00:00.000Z until "
                                    "2026-12-01T12:00:00.000Z: a deadline\n"));
  EXPECT_THAT(longer.out, HasSubstr("  + 4 nodes of pool a100 for team vision from 2026-12-01T08:00:00.000Z until "
                                    "2026-12-01T14:00:00.000Z: a deadline\n"));
  EXPECT_EQ(
      Glim({"admin", "reserve", "set", "release", "--team", "speech", "--node", "n2", "--reason", "x", "-y"}).exit_code,
      0);
  const auto state = server_.Lock();
  const glim::v1::Reservation& last = state->reservations_set.back().reservation();
  EXPECT_EQ(last.team(), "speech");
  EXPECT_EQ(last.pool(), "");
  EXPECT_EQ(last.share(), 0u);
  EXPECT_THAT(last.node_names(), ElementsAre("n2"));
  EXPECT_EQ(last.begins_at_ms(), kEight);
  EXPECT_EQ(last.ends_at_ms(), kEight + 4 * 3'600'000);
}

TEST_F(ReserveTest, ARefusalNamesTheOption) {
  const std::vector<std::string> words = {"admin", "reserve", "set",      "m", "--node", "n1",
                                          "--for", "1h",      "--reason", "x", "-y"};
  for (const auto& [field, option] : {std::pair<const char*, const char*>{"ends_at_ms", "--until"},
                                      {"begins_at_ms", "--from"},
                                      {"node_names", "--node"},
                                      {"nodes", "--nodes"},
                                      {"team", "--team"}}) {
    server_.Lock()->reservation_refusal = Refusal(grpc::StatusCode::INVALID_ARGUMENT, "it is wrong", "", field, "mend");
    EXPECT_THAT(Glim(words).err, HasSubstr(std::string("field: ") + option + "\n"));
  }
}

TEST_F(ReserveTest, AMomentMayHaveAnotherZone) {
  EXPECT_EQ(Glim({"admin", "reserve", "set", "m", "--node", "n1", "--from", "2026-12-01T10:00+02:00", "--for", "1h",
                  "--reason", "x", "-y"})
                .exit_code,
            0);
  EXPECT_EQ(server_.Lock()->reservations_set.back().reservation().begins_at_ms(), kEight);
}

TEST_F(ReserveTest, WithoutATerminalAndWithoutYesNothingIsDone) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"admin", "reserve", "set", "m", "--node", "n1", "--for", "1h", "--reason", "x"},
        {"admin", "reserve", "rm", "release"}}) {
    const GlimResult result = Glim(words, "y\n");
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("nothing was changed: there is no terminal to ask on"));
  }
  const auto state = server_.Lock();
  for (const auto& request : state->reservations_set) EXPECT_TRUE(request.dry_run());
  for (const auto& request : state->reservations_removed) EXPECT_TRUE(request.dry_run());
}

TEST_F(ReserveTest, TheyAreListedAndTakenBack) {
  EXPECT_EQ(Glim({"admin", "reserve", "ls"}).out, "nothing is reserved\n");
  glim::v1::Reservation row = Release();
  row.set_state("in_force");
  row.add_nodes("n3");
  server_.Lock()->reservations.push_back(row);
  const GlimResult list = Glim({"admin", "reserve", "ls"});
  EXPECT_THAT(list.out, HasSubstr("release  in force  team vision  4 nodes of pool a100"));
  const json document = json::parse(Glim({"admin", "reserve", "ls", "-o", "json"}).out);
  EXPECT_EQ(document.at("reservations").at(0).at("nodes").at(0), "n3");
  const GlimResult gone = Glim({"admin", "reserve", "rm", "release", "-y"});
  EXPECT_EQ(gone.exit_code, 0) << gone.err;
  EXPECT_THAT(gone.out, HasSubstr("  - 4 nodes of pool a100 for team vision"));
  ASSERT_EQ(server_.Lock()->reservations_removed.size(), 2u);
}

}  // namespace
}  // namespace glim::cli
