// glim update: another name, time limit or first moment of a job that has not ended.
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/commands/confirm.h"
#include "cli/commands/moment_option.h"
#include "cli/text/errors.h"
#include "cli/text/render_json.h"
#include "cli/text/text.h"
#include "sdk/base/duration_text.h"

namespace glim::cli {
namespace {

struct UpdateOptions {
  std::uint64_t job = 0;
  std::optional<std::string> name;
  std::optional<Duration> time_limit;
  std::optional<TimePoint> start_after;
  ChangeOptions change;
};

std::string ReadLimit(const std::string& word, std::optional<Duration>* limit) {
  *limit = word == "none" ? Duration{} : ParseDuration(word);
  return *limit ? "" : "'" + word + "' is no duration; write it like 90m or 4h, or none";
}

Status RunUpdate(CommandContext& context, const UpdateOptions& options) {
  glim::v1::UpdateJobRequest request;
  request.set_job_id(options.job);
  if (options.name) request.set_name(*options.name);
  if (options.time_limit) request.set_time_limit_ms(options.time_limit->ms);
  if (options.start_after) request.set_start_after_ms(options.start_after->ms);
  if (!options.name && !options.time_limit && !options.start_after) {
    return UsageError("nothing is to be changed", "give --name, --time or --start-after");
  }
  request.set_reason(options.change.reason);
  request.set_dry_run(options.change.dry_run);
  const auto answer = context.client.Call(&glim::v1::OperateApi::Stub::UpdateJob, request);
  if (!answer.ok()) return answer.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document["changed"] = !options.change.dry_run && !answer->changes().empty();
    document.update(MessageJson(*answer));
    context.output.Data(DumpJson(document));
    return Status::Ok();
  }
  if (answer->changes().empty()) context.output.Note(fmt::format("job {} is so already", options.job));
  for (const std::string& change : answer->changes()) {
    context.output.Note(fmt::format("job {}: {}", options.job, Escaped(change)));
  }
  if (options.change.dry_run) context.output.Note("nothing was changed");
  return Status::Ok();
}

}  // namespace

void AddUpdate(Syntax app, Selection* selection) {
  const auto options = std::make_shared<UpdateOptions>();
  Syntax command =
      app.AddCommand("update", "Change a job that has not ended: its name, its time limit, its first start");
  command.Example("glim update 812 --time 8h");
  command.Example("glim update 812 --start-after 'in 2h'");
  AddJobArgument(command, &options->job);
  command.Option("--name", &options->name, "another name");
  command.ParsedOption("--time", "limits.time: 4h, or none; of a job with nodes only less than it is",
                       [options](const std::string& word) { return ReadLimit(word, &options->time_limit); });
  command.ParsedOption("--start-after", "it does not start before that: 'in 8h', 2026-12-01T20:00Z, 0s: at once",
                       IntoComingMoment(&options->start_after));
  command.Option("--reason", &options->change.reason, "why, for the history and the audit trail");
  command.Flag("--dry-run", &options->change.dry_run, "say what would change, and change nothing");
  command.OnChosen([=] { selection->run = [=](CommandContext& context) { return RunUpdate(context, *options); }; });
}

}  // namespace glim::cli
