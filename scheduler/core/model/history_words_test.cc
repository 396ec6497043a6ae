// What people read of the history: one sentence a kind, with its amounts.
#include "scheduler/core/model/history_words.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/core/model/enum_words.h"

namespace glim::core {
namespace {

HistoryEntry Of(HistoryKind kind, std::string text = "", HistoryFacts facts = {}) {
  HistoryEntry entry;
  entry.kind = kind;
  entry.text = std::move(text);
  entry.facts = std::move(facts);
  return entry;
}

TEST(HistoryWords, SayWhatHappenedWithItsAmounts) {
  const std::vector<std::pair<HistoryEntry, std::string>> kRows = {
      {Of(HistoryKind::kSchedulerStarted, "", {.epoch = 3, .version = "1.2"}), "epoch 3, version 1.2"},
      {Of(HistoryKind::kPolicyReloaded, "quantum_min 10m -> 5m"), "quantum_min 10m -> 5m"},
      {Of(HistoryKind::kJobSubmitted, "",
          {.name = "sft", .user = "kim", .priority = PriorityClass::kHigh, .nodes = 1, .gpus = 8}),
       "sft by kim: 1 node x 8 GPUs, high"},
      {Of(HistoryKind::kJobHeld), ""},
      {Of(HistoryKind::kJobResumed, "", {.user = "kim"}), "by kim"},
      {Of(HistoryKind::kJobResumed, "", {.user = "kim", .before_it_left = true}), "by kim, before it had left"},
      {Of(HistoryKind::kJobFailed, "exited with code 7"), "exited with code 7"},
      {Of(HistoryKind::kAttemptClaimed, "",
          {.nodes = 2, .nodes_free = 1, .node_names = {"a", "b"}, .jobs = {JobId(7)}}),
       "a, b: 1 of 2 nodes free; waits for job 7"},
      {Of(HistoryKind::kAttemptClaimed, "",
          {.nodes = 9,
           .node_names = {"a"},
           .node_names_left_out = 8,
           .jobs = {JobId(7), JobId(9)},
           .jobs_left_out = 3}),
       "a and 8 more: 0 of 9 nodes free; waits for jobs 7, 9 and 3 more"},
      {Of(HistoryKind::kAttemptStarting, "", {.node_names = {"a"}, .step = 0}), "on a, from the beginning"},
      {Of(HistoryKind::kAttemptStarting, "", {.node_names = {"a"}, .step = 8}), "on a, from step 8"},
      {Of(HistoryKind::kAttemptRunning, "", {.took = Milliseconds(1500)}), "1.5 s after it was queued"},
      {Of(HistoryKind::kAttemptStopping, "cancelled by kim", {.stop = StopCause::kCancel}), "cancelled by kim"},
      {Of(HistoryKind::kAttemptEnded, "saved and left", {.outcome = Outcome::kInterrupted}),
       "interrupted: saved and left"},
      {Of(HistoryKind::kAttemptEnded, "", {.outcome = Outcome::kSucceeded}), "succeeded"},
      {Of(HistoryKind::kInterruptRequested, "job 9 needs 1 node", {.grace = Seconds(60)}),
       "job 9 needs 1 node; 60.0 s of grace"},
      {Of(HistoryKind::kInterruptRequested, "job 9 needs 1 node", {.grace = Minutes(5), .signal = "TERM"}),
       "job 9 needs 1 node; SIGTERM, 5 min 0 s of grace"},
      {Of(HistoryKind::kStepAgreed, "", {.step = 41}), "stop after step 41"},
      {Of(HistoryKind::kGraceExtended, "", {.grace = Milliseconds(500)}), "to 500 ms"},
      {Of(HistoryKind::kInterruptSaved, "", {.step = 41, .took = Seconds(2)}),
       "through step 41, 2.0 s after the request"},
      {Of(HistoryKind::kInterruptLeft, "", {.took = Seconds(2), .grace = Seconds(60)}), "2.0 s of 60.0 s grace used"},
      {Of(HistoryKind::kSwapAborted), "the job that needed the nodes went away"},
      {Of(HistoryKind::kSaveWaitedFor, "", {.node_names = {"a"}}), "a"},
      {Of(HistoryKind::kNodeRegistered, "", {.gpus = 1, .simulated_gpus = true, .pool = "default", .zone = "A"}),
       "pool default, zone A, 1 GPU (simulated)"},
      {Of(HistoryKind::kNodeReturned), "by an operator"},
      {Of(HistoryKind::kOutageBegan, "", {.nodes = 3}), "3 nodes silent"},
  };
  for (const auto& [entry, words] : kRows) EXPECT_EQ(HistoryWords(entry), words);
}

TEST(HistoryWords, AreBounded) {
  for (const auto& [kind, word] : kEnumWords<HistoryKind>) {
    SCOPED_TRACE(word);
    HistoryFacts facts;
    facts.name = facts.user = facts.pool = facts.zone = facts.version = std::string(2000, 'x');
    EXPECT_LE(HistoryWords(Of(kind, std::string(100'000, 'x'), facts)).size(), kHistoryTextBytesMax);
  }
}

}  // namespace
}  // namespace glim::core
