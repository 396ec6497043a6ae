#include "cli/rpc/wait_for_job.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "cli/text/hints.h"
#include "cli/text/render_json.h"
#include "cli/text/words.h"

namespace glim::cli {
namespace {

constexpr Duration kPauseMin = Milliseconds(100);
constexpr Duration kPauseMax = Seconds(2);
constexpr Duration kOutageMax = Seconds(60);

// A clock that nobody sets.
TimePoint SteadyNow() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

Status TimedOut(std::uint64_t job_id, const std::string& state) {
  return Status(StatusCode::kDeadlineExceeded, fmt::format("job {} is still {}", job_id, state))
      .WithReason("WAIT_TIMEOUT")
      .WithFix("wait longer with --timeout; the job is not affected");
}

}  // namespace

Result<glim::v1::Job> WaitForJob(Client& client, Interruption& interruption, Output& output, std::uint64_t job_id,
                                 std::optional<Duration> timeout) {
  const TimePoint begin = SteadyNow();
  std::optional<TimePoint> heard;
  bool told = false;
  std::string state = "not known";
  Duration pause = kPauseMin;
  while (true) {
    Result<glim::v1::Job> job = client.GetJob(job_id);
    const TimePoint now = SteadyNow();
    if (job.ok()) {
      heard = now;
      told = false;
      if (job->state() != state) pause = kPauseMin;
      state = job->state();
      if (HasEnded(*job)) return job;
    } else {
      const StatusCode code = job.status().code();
      const bool away = code == StatusCode::kUnavailable || code == StatusCode::kDeadlineExceeded;
      const bool busy = job.status().reason() == "OVERLOADED";  // many of this user's wait at the same time
      if (!(away || busy) || !heard || now - *heard > kOutageMax) return job.status();
      if (!std::exchange(told, true)) {
        output.Note(busy ? "the scheduler has too many requests of ours: asking again more slowly"
                         : "the scheduler is away; waiting for it to come back");
      }
      if (busy) pause = kPauseMax;
    }
    if (timeout && now - begin >= *timeout) return TimedOut(job_id, state);
    const Duration left = timeout ? *timeout - (now - begin) : pause;
    if (interruption.WaitFor(std::min(pause, left))) return Interruption::Cancelled();
    pause = std::min(pause * 2, kPauseMax);
  }
}

Status VerdictOf(const glim::v1::Job& job) {
  if (job.state() == "succeeded") return Status::Ok();
  const std::string why = job.message().empty() ? "" : ": " + job.message();
  const std::string hint = HintFor(job);
  return Status(StatusCode::kUnknown,
                fmt::format("job {} {}{}", job.id(), job.state() == "cancelled" ? "was cancelled" : job.state(), why))
      .WithReason(job.state() == "cancelled" ? "JOB_CANCELLED" : "JOB_FAILED")
      .WithFix(fmt::format("{}{}'glim status {}' and 'glim logs {}' tell more", hint, hint.empty() ? "" : "; ",
                           job.id(), job.id()));
}

Status ReportEnd(const glim::v1::Job& job, Output& output) {
  if (output.json()) {
    Json document = NewDocument();
    document["job_id"] = job.id();
    document["state"] = job.state();
    document["message"] = job.message();
    output.Data(DumpJson(document));
  } else if (job.state() == "succeeded") {
    output.Note(fmt::format("job {} succeeded", job.id()));
  }
  return VerdictOf(job);
}

}  // namespace glim::cli
