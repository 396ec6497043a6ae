// glim admin sched status, trace and simulate: how the scheduler decides, and would decide under another policy.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands/admin_operate.h"
#include "cli/commands/moment_option.h"
#include "cli/simulate/compare.h"
#include "cli/simulate/past.h"
#include "cli/simulate/play.h"
#include "cli/text/errors.h"
#include "cli/text/render_json.h"
#include "cli/text/time_text.h"
#include "cli/views/sched_view.h"
#include "scheduler/policy/policy_file.h"
#include "sdk/yaml/fields.h"

namespace glim::cli {
namespace {

using glim::v1::AdminApi;
using glim::v1::SchedApi;

constexpr Duration kSimulatedDefault = Hours(24 * 7);
constexpr std::uint32_t kResamplesMax = 10'000;
constexpr std::size_t kJobsMin = 2;
constexpr std::uint32_t kExportPage = 1000;

struct SimulateOptions {
  std::optional<TimePoint> since, until;
  std::string policy;
  std::uint32_t resamples = 200;
  std::uint32_t seed = 1;
};

Status RunSchedStatus(CommandContext& context) {
  const auto status = context.client.Call(&SchedApi::Stub::GetSchedStatus, glim::v1::GetSchedStatusRequest());
  if (!status.ok()) return status.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document["sched"] = MessageJson(*status);
    context.output.Data(DumpJson(document));
  } else {
    context.output.Data(SchedStatusLines(*status));
  }
  return Status::Ok();
}

Status RunSchedTrace(CommandContext& context, std::uint64_t job) {
  glim::v1::TraceJobRequest request;
  request.set_job_id(job);
  const auto trace = context.client.Call(&SchedApi::Stub::TraceJob, request);
  if (!trace.ok()) return trace.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document["trace"] = MessageJson(*trace);
    context.output.Data(DumpJson(document));
    return Status::Ok();
  }
  context.output.Data(TraceText(*trace, context.output.colour()));
  context.output.Note(trace->verdict() == "starts"
                          ? fmt::format("job {} starts with the next pass that sees the state as it was then", job)
                          : fmt::format("job {} waits; nothing was changed", job));
  return Status::Ok();
}

struct PastOfCluster {
  std::vector<glim::v1::PastJob> jobs;
  std::vector<glim::v1::PastNode> nodes;
  std::uint32_t live_left_out = 0;
  TimePoint until;
};

Result<PastOfCluster> ExportPast(CommandContext& context, TimePoint since, std::optional<TimePoint> until) {
  PastOfCluster exported;
  glim::v1::ExportHistoryRequest request;
  request.set_since_ms(std::max<std::int64_t>(0, since.ms));
  request.set_until_ms(until ? until->ms : 0);
  request.set_page_size(kExportPage);
  while (true) {
    auto page = context.client.Call(&SchedApi::Stub::ExportHistory, request);
    if (!page.ok()) return page.status();
    for (auto& job : *page->mutable_jobs()) exported.jobs.push_back(std::move(job));
    for (auto& node : *page->mutable_nodes()) exported.nodes.push_back(std::move(node));
    exported.live_left_out += page->live_left_out();
    exported.until = TimePoint{page->until_ms()};
    const bool more = !page->next_page_token().empty() && page->next_page_token() != request.page_token();
    if (!more) return exported;
    request.set_page_token(page->next_page_token());
  }
}

// The files before anything else: what is wrong in the new one is refused with its line and column.
Result<std::array<Contender, 2>> ReadPolicies(CommandContext& context, const SimulateOptions& options) {
  std::array<Contender, 2> policies;
  const auto text = yaml::ReadTextFile(options.policy, "--policy");
  if (!text.ok()) {
    return InvalidArgument("--policy", text.status().message(), "name a file that can be read")
        .WithReason("CANNOT_READ");
  }
  const auto file = server::ReadPolicyText(*text, options.policy);
  if (!file.ok()) return file.status();
  policies[1].policy_yaml = *text;
  const auto changes = server::DiffPolicies({}, *file);
  policies[1].own_quotas = std::any_of(changes.begin(), changes.end(),
                                       [](const auto& change) { return change.field.starts_with("quotas."); });
  const auto present = context.client.Call(&AdminApi::Stub::GetPolicy, glim::v1::GetPolicyRequest());
  if (!present.ok()) return present.status();
  policies[0].policy_yaml = present->yaml();
  return policies;
}

Status TooLittle(const Past& past) {
  return Status(StatusCode::kFailedPrecondition,
                fmt::format("the history has {} {} that were submitted and ended in that time: too few to compare "
                            "policies by",
                            past.counted, past.counted == 1 ? "job" : "jobs"))
      .WithReason("TOO_LITTLE_HISTORY")
      .WithField("--since")
      .WithFix(
          "look further back (--since 30d), or wait until more jobs have ended; history_kept of the scheduler "
          "says how far back it goes");
}

// What the figures cannot tell.
std::vector<std::string> Caveats(const Past& past, const PastOfCluster& exported, std::uint32_t resamples) {
  std::vector<std::string> notes;
  const auto note = [&notes](std::size_t count, const char* what) {
    if (count > 0) notes.push_back(fmt::format("{}: {}", what, count));
  };
  note(past.carried_in, "jobs that were there before the first moment, load from then on and in no figure");
  note(past.unfinished, "jobs that have not ended, load with what they had so far and in no figure");
  note(past.never_ran, "jobs that never had nodes, left out since nobody knows how long they would have run");
  note(exported.live_left_out, "further jobs that have not ended, left out as too many for one answer");
  note(past.failures, "restarts after failures, which are not played");
  if (!past.restore_known)
    notes.emplace_back("no job came back from an interrupt in that time: 40 s and 60 s are assumed");
  notes.emplace_back(
      "every job is taken to save in time when it is asked, to run as long on other nodes, and to be submitted when it "
      "was; nodes are as they are now; zones, GPU types and dependencies that jobs asked for are not known");
  if (past.days_used < 3 && resamples > 0) {
    notes.push_back(fmt::format("jobs were submitted on {} {} alone: the range says little", past.days_used,
                                past.days_used == 1 ? "day" : "days"));
  }
  return notes;
}

Status RunSimulate(CommandContext& context, const SimulateOptions& options) {
  const auto policies = ReadPolicies(context, options);
  if (!policies.ok()) return policies.status();
  const TimePoint since = options.since.value_or((options.until ? *options.until : Now()) - kSimulatedDefault);
  if (options.until && *options.until <= since) return UsageError("--until is not after --since");
  const auto exported = ExportPast(context, since, options.until);
  if (!exported.ok()) return exported.status();
  const auto accounts = context.client.Call(&AdminApi::Stub::ListAccounts, glim::v1::ListAccountsRequest());
  if (!accounts.ok()) return accounts.status();
  // It may not go back as far as was asked: days without history are no days without jobs.
  TimePoint begin = exported->until;
  for (const auto& job : exported->jobs) {
    if (job.ended_at_ms() > 0) begin = std::min(begin, std::max(since, TimePoint{job.submitted_at_ms()}));
  }
  const Past past = PastOf(exported->jobs, exported->nodes, *accounts, begin, exported->until);
  if (past.counted < kJobsMin) return TooLittle(past);
  context.output.Note(fmt::format("playing {} jobs of {} {} on {} nodes, twice, and {} drawn histories of each",
                                  past.counted, past.days, past.days == 1 ? "day" : "days", exported->nodes.size(),
                                  options.resamples));
  const auto played = PlayBoth(past, *policies, options.resamples, options.seed,
                               [&](Duration wait) { return context.interruption.WaitFor(wait); });
  if (!played.ok()) return played.status();
  const auto figures = Compare((*played)[0], (*played)[1]);
  if (!figures.ok()) return figures.status();
  const bool ranges = options.resamples > 0;
  const auto caveats = Caveats(past, *exported, options.resamples);
  if (context.output.json()) {
    Json document = NewDocument();
    document["since"] = FormatRfc3339(begin);
    document["until"] = FormatRfc3339(exported->until);
    document["jobs"] = past.counted;
    document["days"] = past.days;
    document["resamples"] = options.resamples;
    document["seed"] = options.seed;
    document["figures"] = ComparedJson(*figures, ranges);
    document["notes"] = caveats;
    context.output.Data(DumpJson(document));
    return Status::Ok();
  }
  context.output.Data(ComparedTable(*figures, ranges, context.output.colour()));
  context.output.Note(fmt::format("{} jobs from {} to {}; wait: all the time in which a job did not get on",
                                  past.counted, FormatRfc3339(begin), FormatRfc3339(exported->until)));
  if (ranges) {
    context.output.Note(
        fmt::format("range: nine tenths of {} histories of days that were drawn from these (seed {}); "
                    "that of a change: of the differences on the same days",
                    options.resamples, options.seed));
  }
  for (const std::string& note : caveats) context.output.Note("not told by the history: " + note);
  return Status::Ok();
}

}  // namespace

void AddAdminSched(Syntax admin, Selection* selection) {
  Syntax sched = admin.AddGroup("sched", "How the scheduler decides, and would decide under another policy");
  Syntax status =
      sched.AddCommand("status", "Show the planning passes: how long, how often, what woke them, what is due");
  status.Example("glim admin sched status");
  status.OnChosen([=] { selection->run = RunSchedStatus; });

  const auto job = std::make_shared<std::uint64_t>(0);
  Syntax trace = sched.AddCommand("trace", "Show one decision about a waiting job, with all that was tried");
  AddJobArgument(trace, job.get());
  trace.Example("glim admin sched trace 812");
  trace.OnChosen([=] { selection->run = [job](CommandContext& context) { return RunSchedTrace(context, *job); }; });

  const auto options = std::make_shared<SimulateOptions>();
  Syntax simulate = sched.AddCommand(
      "simulate", "Play this cluster's own history under the present policy and under another, side by side");
  simulate.Option("--policy", &options->policy, "a policy file: the other one", Presence::kRequired);
  simulate.ParsedOption("--since", "from this long ago on (7d), or from this moment (2026-11-01)",
                        IntoMoment(&options->since));
  simulate.ParsedOption("--until", "until this long ago, or this moment (now)", IntoMoment(&options->until));
  simulate.BoundedOption("--resamples", &options->resamples,
                         "histories of drawn days, for the range (200); 0: no range", 0, kResamplesMax);
  simulate.BoundedOption("--seed", &options->seed, "of what is drawn (1): the same seed gives the same figures", 0,
                         UINT32_MAX);
  simulate.Example("glim admin sched simulate --since 7d --policy new.yaml");
  simulate.OnChosen(
      [=] { selection->run = [options](CommandContext& context) { return RunSimulate(context, *options); }; });
}

}  // namespace glim::cli
