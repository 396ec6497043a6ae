// glim logs: what a rank wrote. With -f it goes on through interrupts and restarts until the job has ended, and through
// short absences of the scheduler.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/commands/log_search.h"
#include "cli/text/errors.h"
#include "cli/text/log_printer.h"
#include "cli/text/words.h"

namespace glim::cli {
namespace {

constexpr Duration kLogPause = Milliseconds(500);
constexpr int kLooksBeforeNote = 3;      // with kLogPause: a second
constexpr int kLogOutageTriesMax = 120;  // with kLogPause: a minute

constexpr std::uint32_t kAnyRank = 0xffffffff;  // none was asked for

struct LogsOptions {
  std::uint64_t job_id = 0;
  bool follow = false;
  bool raw = false;
  std::uint32_t rank = kAnyRank;
  std::uint32_t attempt = 0;
  std::optional<std::string> word;  // --grep
  LogSearchOptions search;
};

class LogReader {
 public:
  LogReader(CommandContext& context, const LogsOptions& options)
      : context_(context), options_(options), printer_(&context.output, options.raw) {}

  Status Run() {
    if (Status status = ChooseRank(); !status.ok()) return status;
    Status status = options_.follow ? Follow() : ReadOnce();
    Status written = printer_.Finish();
    return status.ok() ? written : status;
  }

 private:
  glim::v1::StreamLogRequest Request() const {
    glim::v1::StreamLogRequest request;
    request.set_job_id(options_.job_id);
    request.set_rank(rank_);
    request.set_attempt(printer_.attempt() != 0 ? printer_.attempt() : options_.attempt);
    request.set_follow(options_.follow);
    request.set_offset(printer_.offset());
    return request;
  }

  Status Stream() {
    return context_.client.StreamLog(Request(), [this](const auto& part) { printer_.Take(part); });
  }

  // Where none was asked for: of an attempt that failed the rank that failed first, else rank 0.
  Status ChooseRank() {
    rank_ = options_.rank == kAnyRank ? 0 : options_.rank;
    if (options_.rank != kAnyRank) return Status::Ok();
    Result<glim::v1::Job> job = context_.client.GetJob(options_.job_id);
    // The ends of its logs may outlive what the scheduler knows of a job.
    if (job.status().code() == StatusCode::kNotFound) return Status::Ok();
    if (!job.ok()) return job.status();
    const std::uint32_t number = options_.attempt != 0 ? options_.attempt : NextWithLog(*job, 0);
    for (const auto& attempt : job->attempts()) {
      if (attempt.ref().number() != number || attempt.outcome() != "failed" || attempt.failed_rank() < 0) continue;
      rank_ = static_cast<std::uint32_t>(attempt.failed_rank());
      context_.output.Note(
          fmt::format("attempt {}: rank {} failed first, this is its log; --rank shows another's", number, rank_));
    }
    return Status::Ok();
  }

  // A long log may take longer than one call's deadline: as long as it gets on, it is asked for from where it stands.
  Status ReadOnce() {
    while (true) {
      const std::int64_t before = printer_.offset();
      Status status = Stream();
      if (status.code() != StatusCode::kDeadlineExceeded || printer_.offset() == before) return status;
    }
  }

  Status Follow() {
    if (options_.attempt != 0) return FollowAttempt();
    for (bool first = true;; first = false) {
      Result<std::uint32_t> attempt = AwaitAttempt(printer_.attempt());
      if (!attempt.ok() || *attempt == 0) return attempt.status();
      printer_.NextAttempt(*attempt);
      Status status = FollowAttempt();
      if (status.code() == StatusCode::kNotFound && !first) {
        context_.output.Note(status.message());  // it never got so far as to write one
      } else if (!status.ok()) {
        return status;
      }
    }
  }

  // Streams one attempt to its end, across absences of the scheduler.
  Status FollowAttempt() {
    for (int tries = 0;;) {
      const std::int64_t before = printer_.offset();
      Status status = Stream();
      if (status.code() != StatusCode::kUnavailable) return status;
      tries = printer_.offset() == before ? tries + 1 : 1;
      if (printer_.attempt() == 0 || tries > kLogOutageTriesMax) return status;
      if (tries == 1) context_.output.Note("the scheduler is away; waiting for it to come back");
      if (context_.interruption.WaitFor(kLogPause)) return Interruption::Cancelled();
    }
  }

  // The attempt after `last` (0: the newest) once it has nodes; 0 when the job has ended without one.
  Result<std::uint32_t> AwaitAttempt(std::uint32_t last) {
    int looks = 0;
    int silent = 0;
    while (true) {
      Result<glim::v1::Job> job = context_.client.GetJob(options_.job_id);
      if (job.ok()) {
        silent = 0;
        const std::uint32_t next = NextWithLog(*job, last);
        if (next == 0 && HasEnded(*job) && last != 0) context_.output.Note(EndNote(*job));
        if (next != 0 || HasEnded(*job)) return next;
        // The last line comes a moment before the job's end does.
        if (++looks == kLooksBeforeNote) context_.output.Note(WaitNote(*job, last));
      } else if (job.status().code() != StatusCode::kUnavailable || ++silent > kLogOutageTriesMax || last == 0) {
        return job.status();
      }
      if (context_.interruption.WaitFor(kLogPause)) return Interruption::Cancelled();
    }
  }

  // An attempt that never had its nodes has no log.
  static std::uint32_t NextWithLog(const glim::v1::Job& job, std::uint32_t last) {
    std::uint32_t next = 0;
    for (const auto& attempt : job.attempts()) {
      if (attempt.ref().number() <= last || attempt.started_at_ms() == 0) continue;
      if (last == 0 || next == 0) next = attempt.ref().number();
    }
    return next;
  }

  static std::string EndNote(const glim::v1::Job& job) {
    const std::string why = job.message().empty() ? "" : ": " + job.message();
    return fmt::format("job {} {}{}", job.id(), job.state(), why);
  }

  static std::string WaitNote(const glim::v1::Job& job, std::uint32_t last) {
    std::string before;
    for (const auto& attempt : job.attempts()) {
      if (attempt.ref().number() != last || attempt.outcome().empty()) continue;
      before = fmt::format("attempt {} ended: {}; ", last, AttemptVerdict(attempt));
    }
    if (job.state() == "cancelling") return fmt::format("{}job {} is being cancelled", before, job.id());
    return fmt::format("{}job {} is {}, waiting for its next attempt", before, job.id(), job.state());
  }

  CommandContext& context_;
  const LogsOptions& options_;
  LogPrinter printer_;
  std::uint32_t rank_ = 0;
};

Status RunLogs(CommandContext& context, LogsOptions& options) {
  LogSearchOptions& search = options.search;
  if (!options.word) {
    if (search.ignore_case || search.newest_first || search.context != 0 || search.lines_max != 0) {
      return UsageError("--ignore-case, --newest-first, --context and --max-count are of --grep TEXT");
    }
    return LogReader(context, options).Run();
  }
  if (options.follow) {
    return UsageError("--grep searches what has been written; glim logs -f JOB | grep TEXT follows what comes");
  }
  if (options.word->empty()) return UsageError("--grep: the text is empty");
  search.job_id = options.job_id;
  search.attempt = options.attempt;
  if (options.rank != kAnyRank) search.rank = options.rank;
  search.word = *options.word;
  search.raw = options.raw;
  return SearchLogs(context, search);
}

}  // namespace

void AddLogs(Syntax app, Selection* selection) {
  const auto options = std::make_shared<LogsOptions>();
  Syntax command = app.AddCommand("logs", "Print what a rank of a job wrote");
  command.Example("glim logs 812 -f --rank 3");
  command.Example("glim logs 812 --grep 'loss=nan' --ignore-case --context 2");
  AddJobArgument(command, &options->job_id);
  command.Flag("-f,--follow", &options->follow, "go on while the job lives, through interrupts and restarts");
  command.Option("--rank", &options->rank, "global rank; without it the one that failed first, or 0 where none did");
  command.Option("--attempt", &options->attempt, "an attempt's number; the newest unless given");
  command.Flag("--raw", &options->raw, "as the bytes came, also on a terminal, which may take some for commands");
  command.Option("--grep", &options->word,
                 "print only lines that hold this, as it stands; found on the nodes, of all ranks without --rank");
  command.Flag("-i,--ignore-case", &options->search.ignore_case, "with --grep: letters of both cases are alike");
  command.BoundedOption("-C,--context", &options->search.context, "with --grep: so many lines before and after", 0, 20);
  command.Flag("--newest-first", &options->search.newest_first, "with --grep: from the end of each log");
  command.BoundedOption("-m,--max-count", &options->search.lines_max, "with --grep: only so many lines that hold it", 1,
                        1'000'000);
  command.OnChosen([=] { selection->run = [options](CommandContext& context) { return RunLogs(context, *options); }; });
}

}  // namespace glim::cli
