// What people read of the history: one sentence a kind, with its amounts.
#include "scheduler/core/model/history_words.h"

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/core/model/enum_words.h"

namespace glim::core {
namespace {

HistoryEntry EntryOf(HistoryKind kind, std::string text = "", HistoryFacts facts = {}) {
  HistoryEntry entry;
  entry.kind = kind;
  entry.text = std::move(text);
  entry.facts = std::move(facts);
  return entry;
}

TEST(HistoryWords, SayWhatHappenedWithItsAmounts) {
  const std::vector<std::pair<HistoryEntry, std::string>> kRows = {
      {EntryOf(HistoryKind::kSchedulerStarted, "", {.epoch = 3, .version = "1.2"}), "epoch 3, version 1.2"},
      {EntryOf(HistoryKind::kPolicyReloaded, "quantum_min 10m -> 5m"), "quantum_min 10m -> 5m"},
      {EntryOf(HistoryKind::kJobSubmitted, "",
               {.name = "sft", .user = "kim", .priority = PriorityClass::kHigh, .nodes = 1, .gpus = 8}),
       "sft by kim: 1 node x 8 GPUs, high"},
      {EntryOf(HistoryKind::kNodeEnrolled, "has a certificate, invited by kim", {.node_names = {"n1"}}),
       "n1 has a certificate, invited by kim"},
      {EntryOf(HistoryKind::kJobHeld), ""},
      {EntryOf(HistoryKind::kJobResumed, "", {.user = "kim"}), "by kim"},
      {EntryOf(HistoryKind::kJobResumed, "", {.user = "kim", .before_it_left = true}), "by kim, before it had left"},
      {EntryOf(HistoryKind::kJobFailed, "exited with code 7"), "exited with code 7"},
      {EntryOf(HistoryKind::kAttemptClaimed, "",
               {.nodes = 2, .nodes_free = 1, .node_names = {"a", "b"}, .jobs = {JobId(7)}}),
       "a, b: 1 of 2 nodes free; waits for job 7"},
      {EntryOf(HistoryKind::kAttemptClaimed, "",
               {.nodes = 9,
                .node_names = {"a"},
                .node_names_left_out = 8,
                .jobs = {JobId(7), JobId(9)},
                .jobs_left_out = 3}),
       "a and 8 more: 0 of 9 nodes free; waits for jobs 7, 9 and 3 more"},
      {EntryOf(HistoryKind::kAttemptStarting, "", {.node_names = {"a"}, .step = 0}), "on a, from the beginning"},
      {EntryOf(HistoryKind::kAttemptStarting, "", {.node_names = {"a"}, .step = 8}), "on a, from step 8"},
      {EntryOf(HistoryKind::kAttemptRunning, "", {.took = Milliseconds(1500)}), "1.5 s after it was queued"},
      {EntryOf(HistoryKind::kAttemptStopping, "cancelled by kim", {.stop = StopCause::kCancel}), "cancelled by kim"},
      {EntryOf(HistoryKind::kAttemptEnded, "saved and left", {.outcome = Outcome::kInterrupted}),
       "interrupted: saved and left"},
      {EntryOf(HistoryKind::kAttemptEnded, "", {.outcome = Outcome::kSucceeded}), "succeeded"},
      {EntryOf(HistoryKind::kAttemptStalled, "", {.took = Minutes(41)}), "no step, save or output for 41 min"},
      {EntryOf(HistoryKind::kAttemptStalled, "", {.took = Minutes(41), .grace = Seconds(90)}),
       "no step, save or output for 41 min (its longest gap before was 1 min 30 s)"},
      {EntryOf(HistoryKind::kAttemptStallOver, "", {.took = Minutes(50)}), "it gave a sign of life again after 50 min"},
      {EntryOf(HistoryKind::kInterruptRequested, "job 9 needs 1 node", {.grace = Seconds(60)}),
       "job 9 needs 1 node; 60.0 s of grace"},
      {EntryOf(HistoryKind::kInterruptRequested, "job 9 needs 1 node", {.grace = Minutes(5), .signal = "TERM"}),
       "job 9 needs 1 node; SIGTERM, 5 min 0 s of grace"},
      {EntryOf(HistoryKind::kStepAgreed, "", {.step = 41}), "stop after step 41"},
      {EntryOf(HistoryKind::kGraceExtended, "", {.grace = Milliseconds(500)}), "to 500 ms"},
      {EntryOf(HistoryKind::kInterruptSaved, "", {.step = 41, .took = Seconds(2)}),
       "through step 41, 2.0 s after the request"},
      {EntryOf(HistoryKind::kInterruptLeft, "", {.took = Seconds(2), .grace = Seconds(60)}),
       "2.0 s of 60.0 s grace used"},
      {EntryOf(HistoryKind::kSwapAborted), "the job that needed the nodes went away"},
      {EntryOf(HistoryKind::kSaveWaitedFor, "", {.node_names = {"a"}}), "a"},
      {EntryOf(HistoryKind::kNodeRegistered, "", {.gpus = 1, .simulated_gpus = true, .pool = "default", .zone = "A"}),
       "pool default, zone A, 1 GPU (simulated)"},
      {EntryOf(HistoryKind::kNodeReturned), "by an operator"},
      {EntryOf(HistoryKind::kOutageBegan, "", {.nodes = 3}), "3 nodes silent"},
  };
  for (const auto& [entry, words] : kRows) EXPECT_EQ(HistoryWords(entry), words);
}

HistoryEntry FoundBy(HistoryKind kind, HealthVerdict verdict, std::uint64_t job, std::string text = "") {
  HistoryEntry entry = EntryOf(kind, std::move(text), {.check = "xid", .device = "0000:3b:00.0", .code = 79});
  entry.facts.verdict = verdict;
  entry.job = JobId(job);
  return entry;
}

TEST(HistoryWords, SayWhatHealthChecksFoundAndWhatWasDone) {
  const std::string found = "Xid 79 on GPU 0000:3b:00.0";
  const std::vector<std::tuple<HealthVerdict, std::string, std::string>> kRows = {
      {HealthVerdict::kRecorded, "", ""},
      {HealthVerdict::kJobsFault, ": the fault of a program", ": the fault of job 7's program"},
      {HealthVerdict::kRestarted, ": the node is suspect", ": job 7 goes on elsewhere"},
      {HealthVerdict::kDrained, ": drained", ": drained, job 7 saves and leaves"},
      {HealthVerdict::kCordoned, ": no job starts there", ": no job starts there"},
      {HealthVerdict::kOut, ": taken out", ": taken out, job 7 goes on elsewhere"},
  };
  for (const auto& [verdict, alone, with_job] : kRows) {
    EXPECT_EQ(HistoryWords(FoundBy(HistoryKind::kHealthEvent, verdict, 0)), found + alone);
    EXPECT_EQ(HistoryWords(FoundBy(HistoryKind::kHealthEvent, verdict, 7)), found + with_job);
  }
  EXPECT_EQ(HistoryWords(FoundBy(HistoryKind::kHealthEvent, HealthVerdict::kOut, 0, "it has fallen off the bus")),
            found + ": taken out; it has fallen off the bus");
  for (const auto& [check, words] : {std::pair("sxid", "SXid 24007"), std::pair("sxid_fatal", "fatal SXid 24007")}) {
    const HistoryFacts facts{.check = check, .device = "0000:c1:00.0", .code = 24007};
    EXPECT_EQ(HistoryWords(EntryOf(HistoryKind::kHealthEvent, "", facts)), std::string(words) + " on 0000:c1:00.0");
  }
  HistoryEntry slow =
      EntryOf(HistoryKind::kHealthCondition, "",
              {.check = "link_slow", .device = "mlx5_0/1", .value = 100, .expected = 200, .unit = "Gb/s"});
  EXPECT_EQ(HistoryWords(slow), "link slow on mlx5_0/1, 100 Gb/s of 200");
  slow.facts.verdict = HealthVerdict::kDrained;
  EXPECT_EQ(HistoryWords(slow), "link slow on mlx5_0/1, 100 Gb/s of 200: drained");
  slow.kind = HistoryKind::kHealthConditionOver;
  EXPECT_EQ(HistoryWords(slow), "link slow on mlx5_0/1, 100 Gb/s of 200: over");
  EXPECT_EQ(HistoryWords(EntryOf(HistoryKind::kHealthCondition, "ext4 remounted it", {.check = "disk_read_only"})),
            "disk read only; ext4 remounted it");
}

TEST(HistoryWords, AreBounded) {
  for (const auto& [kind, word] : kEnumWords<HistoryKind>) {
    SCOPED_TRACE(word);
    HistoryFacts facts;
    facts.name = facts.user = facts.pool = facts.zone = facts.version = std::string(2000, 'x');
    EXPECT_LE(HistoryWords(EntryOf(kind, std::string(100'000, 'x'), facts)).size(), kHistoryTextBytesMax);
  }
}

}  // namespace
}  // namespace glim::core
