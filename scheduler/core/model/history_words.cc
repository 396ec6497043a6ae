#include "scheduler/core/model/history_words.h"

#include <algorithm>

#include "sdk/base/duration_text.h"

namespace glim::core {
namespace {

std::string Took(Duration duration) {
  if (duration.ms < 1000) return std::to_string(std::max<std::int64_t>(0, duration.ms)) + " ms";
  if (duration.ms < 120'000) {
    const std::int64_t tenths = (duration.ms + 50) / 100;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
  }
  return std::to_string(duration.ms / 60'000) + " min " + std::to_string(duration.ms / 1000 % 60) + " s";
}

std::string Count(std::uint64_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

std::string AndMore(std::uint32_t left_out) { return left_out > 0 ? " and " + std::to_string(left_out) + " more" : ""; }

std::string NodeNames(const HistoryFacts& facts) {
  std::string names;
  for (const std::string& name : facts.node_names) names += (names.empty() ? "" : ", ") + name;
  return names + AndMore(facts.node_names_left_out);
}

std::string Claimed(const HistoryFacts& facts) {
  std::string text =
      NodeNames(facts) + ": " + std::to_string(facts.nodes_free) + " of " + std::to_string(facts.nodes) + " nodes free";
  if (facts.jobs.empty()) return text;
  std::string jobs;
  for (const JobId job : facts.jobs) jobs += (jobs.empty() ? "" : ", ") + std::to_string(job.value);
  return text + "; waits for job" + (facts.jobs.size() == 1 ? " " : "s ") + jobs + AndMore(facts.jobs_left_out);
}

std::string OfJob(const HistoryEntry& entry) {
  const HistoryFacts& facts = entry.facts;
  switch (entry.kind) {
    case HistoryKind::kJobSubmitted:
      return facts.name + " by " + facts.user + ": " + Count(facts.nodes, "node") + " x " + Count(facts.gpus, "GPU") +
             ", " + ToString(facts.priority);
    case HistoryKind::kJobResumed: return "by " + facts.user + (facts.before_it_left ? ", before it had left" : "");
    case HistoryKind::kSaveWaitedFor: return NodeNames(facts);
    default: return entry.text;
  }
}

std::string OfAttempt(const HistoryEntry& entry) {
  const HistoryFacts& facts = entry.facts;
  switch (entry.kind) {
    case HistoryKind::kAttemptClaimed: return Claimed(facts);
    case HistoryKind::kAttemptStarting:
      return "on " + NodeNames(facts) +
             (facts.step > 0 ? ", from step " + std::to_string(facts.step) : std::string(", from the beginning"));
    case HistoryKind::kAttemptRunning: return Took(facts.took) + " after it was queued";
    case HistoryKind::kAttemptStalled: return NoSignFor(facts.took, facts.grace);
    case HistoryKind::kAttemptStallOver: return "it gave a sign of life again after " + RoundedDurationText(facts.took);
    case HistoryKind::kAttemptEnded:
      return std::string(ToString(facts.outcome)) + (entry.text.empty() ? "" : ": ") + entry.text;
    default: return entry.text;
  }
}

std::string OfInterrupt(const HistoryEntry& entry) {
  const HistoryFacts& facts = entry.facts;
  switch (entry.kind) {
    case HistoryKind::kInterruptRequested:
      return entry.text + "; " + (facts.signal.empty() ? "" : "SIG" + facts.signal + ", ") + Took(facts.grace) +
             " of grace";
    case HistoryKind::kStepAgreed: return "stop after step " + std::to_string(facts.step);
    case HistoryKind::kNoAgreement: return "not every rank acknowledged in time";
    case HistoryKind::kGraceExtended: return "to " + Took(facts.grace);
    case HistoryKind::kInterruptSaved:
      return "through step " + std::to_string(facts.step) + ", " + Took(facts.took) + " after the request";
    case HistoryKind::kInterruptLeft: return Took(facts.took) + " of " + Took(facts.grace) + " grace used";
    default: return "the job that needed the nodes went away";
  }
}

std::string OfNode(const HistoryEntry& entry) {
  const HistoryFacts& facts = entry.facts;
  switch (entry.kind) {
    case HistoryKind::kNodeRegistered:
      return "pool " + facts.pool + ", zone " + facts.zone + ", " + Count(facts.gpus, "GPU") +
             (facts.simulated_gpus ? " (simulated)" : "");
    case HistoryKind::kNodeRelabelled:
      return "pool " + facts.pool + ", zone " + facts.zone + ", " + Count(facts.gpus, "GPU") +
             (entry.text.empty() ? "" : ", " + entry.text);
    case HistoryKind::kNodeRemoved: return NodeNames(facts) + " by an operator";
    case HistoryKind::kNodeEnrolled:
    case HistoryKind::kNodeRevoked: return NodeNames(facts) + (entry.text.empty() ? "" : " " + entry.text);
    case HistoryKind::kNodeReturned: return entry.text.empty() ? "by an operator" : "by itself: " + entry.text;
    case HistoryKind::kOrphan: return "left running";
    default: return entry.text;
  }
}

// "Xid 79 on GPU 0000:3b:00.0", "fatal SXid 24007 on 0000:c1:00.0", "link flash on mlx5_0/1", "disk read only"
std::string Finding(const HistoryFacts& facts) {
  const bool is_xid = facts.check == "xid";
  const std::string code = std::to_string(facts.code);
  std::string words = is_xid ? "Xid " + code : facts.check;
  if (facts.check == "sxid") words = "SXid " + code;
  if (facts.check == "sxid_fatal") words = "fatal SXid " + code;
  std::replace(words.begin(), words.end(), '_', ' ');
  return facts.device.empty() ? words : words + (is_xid ? " on GPU " : " on ") + facts.device;
}

// What was done about it; empty: nothing but to keep it.
std::string Done(const HistoryEntry& entry) {
  const std::string job = entry.job ? "job " + std::to_string(entry.job.value) : "";
  switch (entry.facts.verdict) {
    case HealthVerdict::kRecorded: return "";
    case HealthVerdict::kJobsFault: return "the fault of " + (job.empty() ? "a program" : job + "'s program");
    case HealthVerdict::kRestarted: return job.empty() ? "the node is suspect" : job + " goes on elsewhere";
    case HealthVerdict::kDrained: return "drained" + (job.empty() ? "" : ", " + job + " saves and leaves");
    case HealthVerdict::kCordoned: return "no job starts there";
    case HealthVerdict::kOut: return "taken out" + (job.empty() ? "" : ", " + job + " goes on elsewhere");
  }
  return "";
}

std::string OfHealth(const HistoryEntry& entry) {
  const HistoryFacts& facts = entry.facts;
  std::string words = Finding(facts);
  if (!facts.unit.empty()) {
    words += ", " + std::to_string(facts.value) + " " + facts.unit;
    if (facts.expected != 0) words += " of " + std::to_string(facts.expected);
  }
  if (entry.kind == HistoryKind::kHealthConditionOver) return words + ": over";
  if (const std::string done = Done(entry); !done.empty()) words += ": " + done;
  return entry.text.empty() ? words : words + "; " + entry.text;
}

std::string Words(const HistoryEntry& entry) {
  switch (entry.kind) {
    case HistoryKind::kSchedulerStarted:
      return "epoch " + std::to_string(entry.facts.epoch) + ", version " + entry.facts.version;
    case HistoryKind::kStatesChanged: return "";  // for programs alone
    case HistoryKind::kOutageBegan:
    case HistoryKind::kOutageEnded:
      return Count(entry.facts.nodes, "node") + " silent" + (entry.text.empty() ? "" : "; " + entry.text);
    case HistoryKind::kJobSubmitted:
    case HistoryKind::kJobResumed:
    case HistoryKind::kSaveWaitedFor: return OfJob(entry);
    case HistoryKind::kAttemptClaimed:
    case HistoryKind::kAttemptStarting:
    case HistoryKind::kAttemptRunning:
    case HistoryKind::kAttemptStalled:
    case HistoryKind::kAttemptStallOver:
    case HistoryKind::kAttemptEnded: return OfAttempt(entry);
    case HistoryKind::kInterruptRequested:
    case HistoryKind::kStepAgreed:
    case HistoryKind::kNoAgreement:
    case HistoryKind::kGraceExtended:
    case HistoryKind::kInterruptSaved:
    case HistoryKind::kInterruptLeft:
    case HistoryKind::kInterruptWithdrawn:
    case HistoryKind::kSwapAborted: return OfInterrupt(entry);
    case HistoryKind::kNodeRegistered:
    case HistoryKind::kNodeRelabelled:
    case HistoryKind::kNodeRemoved:
    case HistoryKind::kNodeEnrolled:
    case HistoryKind::kNodeRevoked:
    case HistoryKind::kNodeReturned:
    case HistoryKind::kOrphan: return OfNode(entry);
    case HistoryKind::kHealthEvent:
    case HistoryKind::kHealthCondition:
    case HistoryKind::kHealthConditionOver: return OfHealth(entry);
    default: return entry.text;  // of whoever did it
  }
}

}  // namespace

std::string NoSignFor(Duration silent, Duration longest) {
  std::string text = "no step, save or output for " + RoundedDurationText(silent);
  if (longest.ms > 0) text += " (its longest gap before was " + RoundedDurationText(longest) + ")";
  return text;
}

std::string HistoryWords(const HistoryEntry& entry) {
  std::string text = Words(entry);
  if (text.size() > kHistoryTextBytesMax) {
    text.resize(kHistoryTextBytesMax - 3);
    text += "...";
  }
  return text;
}

}  // namespace glim::core
