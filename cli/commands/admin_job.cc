// glim admin job suspend, resume, priority, move and kill; glim admin kill --user.
#include <functional>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "cli/commands/admin_operate.h"
#include "cli/commands/confirm.h"
#include "cli/text/render_json.h"
#include "cli/text/text.h"
#include "cli/views/operate_view.h"

namespace glim::cli {
namespace {

using glim::v1::ClientApi;
using glim::v1::OperateApi;

struct JobOptions {
  std::vector<std::uint64_t> jobs;
  std::uint64_t job = 0;
  std::string priority, user;
  bool now = false;
  ChangeOptions change;
};
using JobOptionsPtr = std::shared_ptr<JobOptions>;

void PrintDone(CommandContext& context, const ChangeOptions& change, Json rows, const std::string& what) {
  if (context.output.json()) {
    Json document = NewDocument();
    document["changed"] = !change.dry_run;
    document.update(std::move(rows));
    context.output.Data(DumpJson(document));
    return;
  }
  if (change.dry_run || change.yes) context.output.Data(what);
  if (change.dry_run) context.output.Note("nothing was changed");
}

// What jobs lose if they are stopped without a save.
Result<glim::v1::WeighJobsResponse> Weigh(CommandContext& context, const glim::v1::WeighJobsRequest& request) {
  return context.client.Call(&OperateApi::Stub::WeighJobs, request);
}

Json RiskJson(const glim::v1::WeighJobsResponse& risk) {
  Json rows = Json::array();
  for (const glim::v1::JobAtRisk& job : risk.jobs()) rows.push_back(MessageJson(job));
  return rows;
}

// Cancel, suspend and resume of several jobs: shown with what they lose, asked once, each tried whatever becomes of the
// others.
template <typename Request, typename Response>
Status ChangeJobs(CommandContext& context, const JobOptions& options, const char* verb, const char* failed,
                  const Request& request_of_all, Method<ClientApi::Stub, Request, Response> method) {
  std::vector<glim::v1::Job> jobs;
  glim::v1::WeighJobsRequest of_all;
  for (const std::uint64_t id : options.jobs) {
    auto job = context.client.GetJob(id);
    if (!job.ok()) return job.status();
    jobs.push_back(std::move(*job));
    of_all.add_job_ids(id);
  }
  const auto risk = Weigh(context, of_all);
  if (!risk.ok()) return risk.status();
  const std::string what = JobsHitText(jobs, *risk, context.output.colour());
  Json rows;
  rows["not_saved"] = RiskJson(*risk);
  rows["jobs"] = Json::array();
  std::vector<Status> failures;
  if (!options.change.dry_run) {
    const Status sure = Confirm(context, options.change, what,
                                fmt::format("{} {} {}?", verb, jobs.size(), jobs.size() == 1 ? "job" : "jobs"));
    if (!sure.ok()) return sure;
  }
  for (const glim::v1::Job& job : jobs) {
    Json row{{"job_id", job.id()}, {"before", job.state()}};
    if (!options.change.dry_run) {
      Request request = request_of_all;
      request.set_job_id(job.id());
      const auto response = context.client.Call(method, request);
      if (!response.ok()) {
        failures.push_back(response.status());
        continue;
      }
      row["state"] = response->state();
      context.output.Note(fmt::format("job {} is {}", job.id(), response->state()));
    }
    rows["jobs"].push_back(std::move(row));
  }
  PrintDone(context, options.change, std::move(rows), what);
  return Together(failures, jobs.size(), failed);
}

Status RunKill(CommandContext& context, const JobOptions& options) {
  glim::v1::CancelRequest request;
  request.set_reason(options.change.reason);
  request.set_now(options.now);
  return ChangeJobs(context, options, "kill", "were not killed", request, &ClientApi::Stub::Cancel);
}

Status RunJobSuspend(CommandContext& context, const JobOptions& options) {
  glim::v1::SuspendRequest request;
  request.set_reason(options.change.reason);
  return ChangeJobs(context, options, "suspend", "were not suspended", request, &ClientApi::Stub::Suspend);
}

Status RunJobResume(CommandContext& context, const JobOptions& options) {
  return ChangeJobs(context, options, "resume", "were not resumed", glim::v1::ResumeRequest(),
                    &ClientApi::Stub::Resume);
}

template <typename Request, typename Response>
using InWords = std::function<Result<std::string>(const Request&, const Response&)>;

// A change that the scheduler can try: what would come of it is shown and asked about.
template <typename Request, typename Response>
Status ChangeTried(CommandContext& context, const ChangeOptions& change, Request request,
                   Method<OperateApi::Stub, Request, Response> method, const std::string& question,
                   const InWords<Request, Response>& in_words, const Json* more = nullptr) {
  request.set_reason(change.reason);
  request.set_dry_run(true);
  auto answer = context.client.Call(method, request);
  if (!answer.ok()) return answer.status();
  const Result<std::string> what = in_words(request, *answer);
  if (!what.ok()) return what.status();
  if (!change.dry_run) {
    if (Status sure = Confirm(context, change, *what, question); !sure.ok()) return sure;
    request.set_dry_run(false);
    answer = context.client.Call(method, request);
    if (!answer.ok()) return answer.status();
  }
  Json rows = MessageJson(*answer);
  if (more != nullptr) rows.update(*more);
  PrintDone(context, change, std::move(rows), *what);
  return Status::Ok();
}

Status RunPriority(CommandContext& context, const JobOptions& options) {
  glim::v1::SetJobPriorityRequest request;
  request.set_job_id(options.job);
  request.set_priority(options.priority);
  return ChangeTried<glim::v1::SetJobPriorityRequest, glim::v1::SetJobPriorityResponse>(
      context, options.change, request, &OperateApi::Stub::SetJobPriority,
      fmt::format("give job {} priority {}?", options.job, options.priority),
      [&](const auto& asked, const auto& answer) {
        return PriorityChangeText(asked, answer, context.output.colour());
      });
}

Status RunMove(CommandContext& context, const JobOptions& options) {
  glim::v1::MoveJobRequest request;
  request.set_job_id(options.job);
  return ChangeTried<glim::v1::MoveJobRequest, glim::v1::MoveJobResponse>(
      context, options.change, request, &OperateApi::Stub::MoveJob, fmt::format("move job {}?", options.job),
      [&](const auto& asked, const auto& answer) { return MoveText(asked, answer, context.output.colour()); });
}

Status RunKillUser(CommandContext& context, const JobOptions& options) {
  glim::v1::CancelUserJobsRequest request;
  request.set_user(options.user);
  request.set_now(options.now);
  Json risk_rows;
  const auto in_words = [&](const auto& asked, const auto& answer) -> Result<std::string> {
    glim::v1::WeighJobsRequest of_all;
    *of_all.mutable_job_ids() = answer.job_ids();
    const auto risk = Weigh(context, of_all);
    if (!risk.ok()) return risk.status();
    risk_rows["not_saved"] = RiskJson(*risk);
    return KillUserText(asked, answer, *risk, context.output.colour());
  };
  return ChangeTried<glim::v1::CancelUserJobsRequest, glim::v1::CancelUserJobsResponse>(
      context, options.change, request, &OperateApi::Stub::CancelUserJobs,
      fmt::format("end all of these jobs of user {}?", options.user), in_words, &risk_rows);
}

using JobRun = Status (*)(CommandContext&, const JobOptions&);

Syntax AddJobCommand(Syntax group, Selection* selection, const JobOptionsPtr& options, const char* name,
                     const char* help, JobRun run) {
  Syntax command = group.AddCommand(name, help);
  command.OnChosen([=] { selection->run = [=](CommandContext& context) { return run(context, *options); }; });
  return command;
}

}  // namespace

void AddAdminJob(Syntax admin, Selection* selection) {
  const auto options = std::make_shared<JobOptions>();
  Syntax group = admin.AddGroup("job", "Anybody's jobs");
  Syntax suspend = AddJobCommand(group, selection, options, "suspend", "Stop jobs and hold them until they are resumed",
                                 RunJobSuspend);
  AddJobsArgument(suspend, &options->jobs);
  AddChangeOptions(suspend, &options->change, Presence::kRequired);
  suspend.Example("glim admin job suspend 812 --reason 'it fills the disk'");

  Syntax resume = AddJobCommand(group, selection, options, "resume", "Let held jobs queue again", RunJobResume);
  AddJobsArgument(resume, &options->jobs);
  resume.Flag("-y,--yes", &options->change.yes, "do not ask");
  resume.Flag("--dry-run", &options->change.dry_run, "show what would change, and change nothing");
  resume.Example("glim admin job resume 812");

  Syntax priority =
      AddJobCommand(group, selection, options, "priority", "Give a job another priority class", RunPriority);
  AddJobArgument(priority, &options->job);
  priority.Option("CLASS", &options->priority, "low, normal, high, ..., or auto", Presence::kRequired);
  AddChangeOptions(priority, &options->change, Presence::kRequired);
  priority.Example("glim admin job priority 812 high --reason 'the paper is due'");

  Syntax move = AddJobCommand(group, selection, options, "move",
                              "Let a running job save and go on elsewhere: not where it is, while others fit", RunMove);
  AddJobArgument(move, &options->job);
  AddChangeOptions(move, &options->change, Presence::kRequired);
  move.Example("glim admin job move 812 --reason 'a slow switch'");

  Syntax kill = AddJobCommand(group, selection, options, "kill", "Stop jobs for good", RunKill);
  AddJobsArgument(kill, &options->jobs);
  kill.Flag("--now", &options->now, "without the time to end by themselves");
  AddChangeOptions(kill, &options->change, Presence::kRequired);
  kill.Example("glim admin job kill 812 813 --reason 'they write over each other'");
}

void AddAdminKill(Syntax admin, Selection* selection) {
  const auto options = std::make_shared<JobOptions>();
  Syntax kill = AddJobCommand(admin, selection, options, "kill", "Stop all jobs of a user for good", RunKillUser);
  kill.Option("--user", &options->user, "whose", Presence::kRequired);
  kill.Flag("--now", &options->now, "without the time to end by themselves");
  AddChangeOptions(kill, &options->change, Presence::kRequired);
  kill.Example("glim admin kill --user kim --reason 'left the company'");
}

}  // namespace glim::cli
