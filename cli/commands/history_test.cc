// glim events and glim history against a fake scheduler: what is asked, what is shown, and what an outage does.
#include <algorithm>
#include <csignal>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/testing/cli_fixture.h"

namespace glim::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

class HistoryTest : public CliTest {
 protected:
  void AddEvent(std::uint64_t seq, const std::string& kind, std::uint64_t job, std::uint32_t attempt,
                const std::string& node, const std::string& message) {
    const auto state = server_.Lock();
    auto& event = state->events.emplace_back();
    event.set_seq(seq);
    event.set_happened_at_ms(1'763'640'547'125);
    event.set_kind(kind);
    event.set_job_id(job);
    event.set_attempt(attempt);
    event.set_node(node);
    event.set_message(message);
  }
  void AddStory() {
    AddEvent(1, "job_submitted", 7, 0, "", "sft by kim");
    AddEvent(2, "step_agreed", 7, 1, "", "stop after step 500");
    AddEvent(3, "node_lost", 0, 0, "n3", "\x1b[31mnothing heard");
    AddEvent(4, "outage_began", 0, 0, "", "");
  }
  static std::vector<json> Lines(const std::string& text) {
    std::vector<json> lines;
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
      lines.push_back(json::parse(text.substr(at, text.find('\n', at) - at)));
    }
    return lines;
  }
};

constexpr char kStory[] =
    "2025-11-20T12:09:07.125Z  job 7       job submitted: sft by kim\n"
    "2025-11-20T12:09:07.125Z  job 7.1     step agreed: stop after step 500\n"
    "2025-11-20T12:09:07.125Z  node n3     node lost: \\x1b[31mnothing heard\n"
    "2025-11-20T12:09:07.125Z  cluster     outage began\n";

TEST_F(HistoryTest, EventsAreALineEach) {
  AddStory();
  const GlimResult result = Glim({"events"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, kStory);
  const auto documents = Lines(Glim({"events", "-o", "json"}).out);
  ASSERT_EQ(documents.size(), 4u);
  EXPECT_EQ(documents[1]["version"], 2);
  EXPECT_EQ(documents[1]["kind"], "step_agreed");
  EXPECT_EQ(documents[1]["attempt"], 1);
  EXPECT_EQ(documents[2]["node"], "n3");
  EXPECT_EQ(documents[0]["happened_at"], "2025-11-20T12:09:07.125Z");
}

TEST_F(HistoryTest, WhatIsAskedForIsAskedOfTheScheduler) {
  EXPECT_THAT(Glim({"events"}).err, HasSubstr("no events in the last hour; --since 7d"));
  EXPECT_EQ(Glim({"events", "7"}).err, "no events\n");
  Glim({"events", "--node", "n3", "--since", "10m"});
  Glim({"events", "7", "--since", "0s"});
  const auto requests = server_.Lock()->event_requests;
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_EQ(requests[0].max_age_ms(), 3'600'000);
  EXPECT_EQ(requests[1].max_age_ms(), 0) << "of one job all";
  EXPECT_EQ(requests[1].job_id(), 7u);
  EXPECT_EQ(requests[2].node(), "n3");
  EXPECT_EQ(requests[2].max_age_ms(), 600'000);
  EXPECT_FALSE(requests[2].follow());
  EXPECT_EQ(requests[3].max_age_ms(), 1);
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"events", "abc"}, {"events", "0"}, {"events", "--since", "soon"}}) {
    EXPECT_EQ(Glim(line).exit_code, 2) << testing::PrintToString(line);
  }
  Refuse(Refusal(grpc::StatusCode::NOT_FOUND, "no node n9", "NO_SUCH_NODE", "node", "glim nodes lists the nodes"));
  EXPECT_EQ(Glim({"events", "--node", "n9"}).exit_code, 3);
}

TEST_F(HistoryTest, FollowingGoesOnAfterAnAbsenceWithoutRepeating) {
  AddStory();
  {
    const auto state = server_.Lock();
    state->events_error = "the scheduler is stopping";
    state->hold_events = true;
  }
  GlimProcess process({"events", "-f", "--since", "1d"}, Options());
  ASSERT_TRUE(process.AwaitOutput("outage began"));
  process.Signal(SIGINT);
  const GlimResult result = process.Finish();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(result.out, kStory);
  EXPECT_THAT(result.err, HasSubstr("the scheduler is away"));
  const auto requests = server_.Lock()->event_requests;
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_TRUE(requests[0].follow());
  EXPECT_EQ(requests[1].after(), 2u);
  EXPECT_EQ(requests[1].max_age_ms(), 0) << "what happened meanwhile is not too old";
}

TEST_F(HistoryTest, ASchedulerThatWasNeverThereIsNotWaitedFor) {
  EXPECT_EQ(Glim({"--server", "127.0.0.1:1", "events", "-f"}).exit_code, 8);
  EXPECT_EQ(Glim({"--server", "127.0.0.1:1", "history"}).exit_code, 8);
}

TEST_F(HistoryTest, EndedJobsAreATableNewestFirst) {
  EXPECT_THAT(Glim({"history"}).err, HasSubstr("no jobs that have ended"));
  {
    const auto state = server_.Lock();
    for (std::uint64_t id = 9; id >= 5; --id) {
      auto& job = state->ended_jobs.emplace_back();
      job.set_id(id);
      job.set_name("sft");
      job.set_user("kim");
      job.set_state(id == 6 ? "failed" : "succeeded");
      job.set_message(id == 6 ? "exited with code 7" : "");
      job.set_nodes(2);
      job.set_attempts(3);
      job.set_interrupts(2);
      job.set_steps_lost(17);
      job.set_gpu_ms(5'400'000);
      job.set_simulated_gpus(true);
      job.set_waited_ms(61'000);
      job.set_submitted_at_ms(1'000);
      job.set_ended_at_ms(3'601'000);
    }
  }
  const GlimResult all = Glim({"history"});
  EXPECT_THAT(all.out, StartsWith("JOB  NAME  USER  STATE      NODES  ATTEMPTS  INTERRUPTS  STEPS LOST"));
  EXPECT_EQ(std::count(all.out.begin(), all.out.end(), '\n'), 6);
  EXPECT_THAT(all.out, HasSubstr("1.50 (simulated)  1 min 1 s   1 h"));
  EXPECT_THAT(all.out, HasSubstr("exited with code 7"));
  EXPECT_EQ(all.err, "");
  const GlimResult three = Glim({"history", "--limit", "3"});
  EXPECT_EQ(std::count(three.out.begin(), three.out.end(), '\n'), 4);
  EXPECT_EQ(three.err, "there are older ones; --limit shows more\n");
  const json document = json::parse(Glim({"history", "-o", "json", "--limit", "4"}).out);
  ASSERT_EQ(document["jobs"].size(), 4u);
  EXPECT_EQ(document["more"], true);
  EXPECT_EQ(document["jobs"][3]["message"], "exited with code 7");
  EXPECT_EQ(document["jobs"][0]["gpu_ms"], 5'400'000);
  EXPECT_EQ(document["jobs"][0]["ended_at"], "1970-01-01T01:00:01.000Z");
}

TEST_F(HistoryTest, HistorysFlagsAreCheckedAndPassedOn) {
  Glim({"history", "--user", "lee", "--state", "failed", "--since", "7d", "--limit", "700"});
  const auto requests = server_.Lock()->history_requests;
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].user(), "lee");
  EXPECT_EQ(requests[0].state(), "failed");
  EXPECT_EQ(requests[0].max_age_ms(), 7 * 86'400'000LL);
  EXPECT_EQ(requests[0].page_size(), 500u);
  EXPECT_THAT(Glim({"history", "--state", "fialed"}).err, HasSubstr("did you mean 'failed'?"));
  for (const std::vector<std::string>& line : {std::vector<std::string>{"history", "--state", "running"},
                                               {"history", "--limit", "0"},
                                               {"history", "--limit", "many"},
                                               {"history", "--since", "ever"},
                                               {"history", "7"}}) {
    EXPECT_EQ(Glim(line).exit_code, 2) << testing::PrintToString(line);
  }
}

}  // namespace
}  // namespace glim::cli
