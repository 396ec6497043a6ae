#include "cli/text/words.h"

#include <algorithm>

#include <fmt/format.h>

#include "sdk/base/size_text.h"

namespace glim::cli {

namespace {

// "1a2b3c4-dirty" of "1a2b3c4d...-dirty".
std::string ShortRevision(const std::string& revision) {
  const std::string bare = revision.substr(0, revision.find('-'));
  return bare.substr(0, 7) + (revision.ends_with("-dirty") ? "-dirty" : "");
}

}  // namespace

bool HasEnded(const glim::v1::Job& job) {
  return job.state() == "succeeded" || job.state() == "failed" || job.state() == "cancelled";
}

Style StateStyle(const std::string& state) {
  if (state == "running" || state == "succeeded" || state == "ready") return Style::kGood;
  if (state == "failed" || state == "lost" || state == "quarantined") return Style::kBad;
  if (state == "interrupting" || state == "suspending" || state == "held" || state == "silent" || state == "refused") {
    return Style::kWarn;
  }
  if (state == "cancelled" || state == "cancelling") return Style::kDim;
  return Style::kPlain;
}

// Glim knows of no save of a program that never speaks with it: it may have made one.
std::string LeftUnsavedWords(const glim::v1::Attempt& attempt) {
  return ReportsSteps(attempt) ? "left without saving" : "left, and reported no save";
}

std::string AttemptVerdict(const glim::v1::Attempt& attempt) {
  if (attempt.outcome().empty()) return attempt.state();
  if (attempt.outcome() == "interrupted") {
    if (attempt.save() == "saved") return "interrupted, saved";
    if (attempt.save() == "left_unsaved") return "interrupted, " + LeftUnsavedWords(attempt);
    if (attempt.save() == "killed") return "interrupted, killed at the end of its grace";
    return "interrupted";
  }
  if (attempt.outcome() == "timeout") {
    if (attempt.save() == "saved") return "time limit, saved";
    return attempt.save() == "killed" ? "time limit, killed at the end of its grace"
                                      : "time limit, " + LeftUnsavedWords(attempt);
  }
  if (attempt.outcome() == "gpu_failure") return "GPU failure";
  if (attempt.outcome() == "network") return "network failure";
  if (attempt.outcome() == "hang") return "stood still";
  std::string words = attempt.outcome();
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

bool ReportsSteps(const glim::v1::Attempt& attempt) {
  return attempt.base_step() >= 0 || attempt.last_step() >= 0 || attempt.durable_step() >= 0;
}

Style AttemptStyle(const glim::v1::Attempt& attempt) {
  if (attempt.outcome().empty()) return StateStyle(attempt.state());
  if (attempt.outcome() == "interrupted" || attempt.outcome() == "timeout") return Style::kWarn;
  if (attempt.outcome() == "failed") return Style::kBad;
  return StateStyle(attempt.outcome());
}

bool LeavesGpusIdle(const glim::v1::Attempt& attempt) {
  return attempt.gpus_idle_since_ms() != 0 && attempt.state() == "running";
}

std::string JobNote(const glim::v1::Job& job) {
  std::string note;
  const auto add = [&note](const std::string& part) { note += (note.empty() ? "" : "; ") + part; };
  if (job.state() == "queued" && job.interrupts() > 0) {
    add(job.durable_step() >= 0 ? fmt::format("interrupted, goes on after step {}", job.durable_step())
                                : std::string("interrupted, will start again"));
  }
  if (job.state() == "queued" && job.blockers_size() > 0) add(job.blockers(0).message());
  if (job.state() == "held") add("suspended: 'glim resume' puts it back");
  if (job.attempts_size() > 0 && LeavesGpusIdle(*job.attempts().rbegin())) add("none of its GPUs is busy");
  if (!HasEnded(job) && job.attempts_size() > 0 && job.attempts().rbegin()->has_save_failure()) {
    add("its newest save failed");
  }
  // What happened to an earlier attempt, not to this one.
  const bool runs_again = job.state() == "starting" || job.state() == "running";
  if (!job.message().empty() && job.state() != "queued") add((runs_again ? "before: " : "") + job.message());
  return note;
}

std::string StepRange(const glim::v1::Attempt& attempt) {
  const auto first = attempt.base_step() + 1;
  if (attempt.last_step() < first) return "no step";
  return fmt::format("steps {}-{}", first, attempt.last_step());
}

std::string SnapshotText(const glim::v1::Snapshot& snapshot) {
  const std::string& revision = snapshot.revision();
  const std::string git = revision.empty() ? "" : fmt::format(" (git {})", ShortRevision(revision));
  return fmt::format("snapshot {}{}, {}", snapshot.sha256().substr(0, 6), git,
                     RoundedSizeText(static_cast<std::uint64_t>(std::max<std::int64_t>(0, snapshot.bytes()))));
}

std::string PreemptorText(const glim::v1::Agreement& agreement) {
  if (agreement.preemptor().job_id() == 0) return "";
  std::string text = fmt::format("job {}", agreement.preemptor().job_id());
  if (!agreement.preemptor_name().empty()) text += " " + agreement.preemptor_name();
  if (!agreement.preemptor_user().empty()) text += fmt::format(" (user {})", agreement.preemptor_user());
  return text;
}

}  // namespace glim::cli
