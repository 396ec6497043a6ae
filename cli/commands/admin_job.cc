// glim admin job suspend, resume, priority, move and kill; glim admin kill --user.
#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/commands/admin_operate.h"
#include "cli/commands/confirm.h"
#include "cli/text/render_json.h"
#include "cli/text/text.h"
#include "cli/views/operate_view.h"
#include "sdk/base/suggest.h"

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

struct JobVerb {
  const char* verb;
  const char* done;                      // "killed"
  const char* failed;                    // "were not killed"
  bool stops;                            // what is not saved is lost
  std::vector<std::string_view> states;  // of jobs that it may be done to
};

// As the scheduler refuses it, and what to do; a dry run says it, too.
Status WrongState(const glim::v1::Job& job, const JobVerb& verb) {
  return Status(StatusCode::kFailedPrecondition,
                fmt::format("job {} is {}: it cannot be {}", job.id(), job.state(), verb.done))
      .WithReason("WRONG_STATE")
      .WithField("JOB");
}

Status WithMend(const Status& refusal, std::uint64_t job) {
  if (refusal.reason() != "WRONG_STATE" || !refusal.fix().empty()) return refusal;
  return Status(refusal.code(), refusal.message())
      .WithReason(refusal.reason())
      .WithField(refusal.field())
      .WithFix(fmt::format("leave it out; 'glim status {}' shows how it stands", job));
}

// The jobs that it may be done to, each once; the others are failures. A job that is not there ends all.
Status JobsToChange(CommandContext& context, const JobOptions& options, const JobVerb& verb,
                    std::vector<glim::v1::Job>* jobs, std::vector<Status>* failures) {
  std::set<std::uint64_t> seen;
  for (const std::uint64_t id : options.jobs) {
    if (!seen.insert(id).second) continue;
    auto job = context.client.GetJob(id);
    if (!job.ok()) return job.status();
    if (std::find(verb.states.begin(), verb.states.end(), job->state()) == verb.states.end()) {
      failures->push_back(WithMend(WrongState(*job, verb), id));
    } else {
      jobs->push_back(std::move(*job));
    }
  }
  return Status::Ok();
}

Result<glim::v1::WeighJobsResponse> LossOf(CommandContext& context, const std::vector<glim::v1::Job>& jobs) {
  glim::v1::WeighJobsRequest of_all;
  for (const glim::v1::Job& job : jobs) of_all.add_job_ids(job.id());
  return Weigh(context, of_all);
}

// Cancel, suspend and resume of several jobs: shown, with what they lose if they are stopped, asked once, each tried
// whatever becomes of the others.
template <typename Request, typename Response>
Status ChangeJobs(CommandContext& context, const JobOptions& options, const JobVerb& verb,
                  const Request& request_of_all, Method<ClientApi::Stub, Request, Response> method) {
  std::vector<glim::v1::Job> jobs;
  std::vector<Status> failures;
  if (Status there = JobsToChange(context, options, verb, &jobs, &failures); !there.ok()) return there;
  const std::size_t named = jobs.size() + failures.size();
  if (jobs.empty()) return Together(failures, named, verb.failed);
  Json rows;
  std::string what;
  if (verb.stops) {
    const auto risk = LossOf(context, jobs);
    if (!risk.ok()) return risk.status();
    what = JobsHitText(jobs, *risk, context.output.colour());
    rows["not_saved"] = RiskJson(*risk);
  } else {
    what = JobsText(jobs, context.output.colour());
  }
  rows["jobs"] = Json::array();
  if (!options.change.dry_run) {
    const Status sure = Confirm(context, options.change, what,
                                fmt::format("{} {} {}?", verb.verb, jobs.size(), jobs.size() == 1 ? "job" : "jobs"));
    if (!sure.ok()) return sure;
  }
  for (const glim::v1::Job& job : jobs) {
    Json row{{"job_id", job.id()}, {"before", job.state()}};
    if (!options.change.dry_run) {
      Request request = request_of_all;
      request.set_job_id(job.id());
      const auto response = context.client.Call(method, request);
      if (!response.ok()) {
        failures.push_back(WithMend(response.status(), job.id()));
        continue;
      }
      row["state"] = response->state();
      context.output.Note(fmt::format("job {} is {}", job.id(), response->state()));
    }
    rows["jobs"].push_back(std::move(row));
  }
  if (!rows["jobs"].empty()) PrintDone(context, options.change, std::move(rows), what);
  return Together(failures, named, verb.failed);
}

Status RunKill(CommandContext& context, const JobOptions& options) {
  glim::v1::CancelRequest request;
  request.set_reason(options.change.reason);
  request.set_now(options.now);
  const JobVerb kill{"kill",
                     "killed",
                     "were not killed",
                     true,
                     {"queued", "starting", "running", "interrupting", "cancelling", "suspending", "held"}};
  return ChangeJobs(context, options, kill, request, &ClientApi::Stub::Cancel);
}

Status RunJobSuspend(CommandContext& context, const JobOptions& options) {
  glim::v1::SuspendRequest request;
  request.set_reason(options.change.reason);
  const JobVerb suspend{"suspend",
                        "suspended",
                        "were not suspended",
                        true,
                        {"queued", "starting", "running", "interrupting", "suspending", "held"}};
  return ChangeJobs(context, options, suspend, request, &ClientApi::Stub::Suspend);
}

Status RunJobResume(CommandContext& context, const JobOptions& options) {
  const JobVerb resume{"resume", "resumed", "were not resumed", false, {"suspending", "held"}};
  return ChangeJobs(context, options, resume, glim::v1::ResumeRequest(), &ClientApi::Stub::Resume);
}

std::uint64_t JobOf(const glim::v1::CancelUserJobsRequest&) { return 0; }
template <typename Request>
std::uint64_t JobOf(const Request& request) {
  return request.job_id();
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
  if (!answer.ok()) return WithMend(answer.status(), JobOf(request));
  const Result<std::string> what = in_words(request, *answer);
  if (!what.ok()) return what.status();
  if (!change.dry_run) {
    if (Status sure = Confirm(context, change, *what, question); !sure.ok()) return sure;
    request.set_dry_run(false);
    answer = context.client.Call(method, request);
    if (!answer.ok()) return WithMend(answer.status(), JobOf(request));
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

// A user without a job whom the registry does not have is a slip of the pen.
Status CheckKnownUser(CommandContext& context, const std::string& name) {
  const auto accounts = context.client.Call(&glim::v1::AdminApi::Stub::ListAccounts, glim::v1::ListAccountsRequest());
  if (!accounts.ok()) return accounts.status();
  std::vector<std::string_view> names;
  for (const auto& user : accounts->users()) names.emplace_back(user.name());
  if (std::find(names.begin(), names.end(), name) != names.end()) return Status::Ok();
  const std::string near = Nearest(name, names);
  return Status(StatusCode::kNotFound, fmt::format("there is no user {}, and no job of theirs", name))
      .WithReason("NO_SUCH_ACCOUNT")
      .WithField("--user")
      .WithFix(near.empty() ? "'glim admin user ls' lists the users" : fmt::format("did you mean '{}'?", near));
}

Status RunKillUser(CommandContext& context, const JobOptions& options) {
  glim::v1::CancelUserJobsRequest request;
  request.set_user(options.user);
  request.set_now(options.now);
  Json risk_rows;
  const auto in_words = [&](const auto& asked, const auto& answer) -> Result<std::string> {
    if (answer.count() == 0) {
      if (Status known = CheckKnownUser(context, options.user); !known.ok()) return known;
    }
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
  AddAskOptions(resume, &options->change);
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
