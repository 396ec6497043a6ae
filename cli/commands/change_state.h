// What cancel, suspend and resume share: one call a job, the job's new state as the answer. Every job is tried,
// whatever becomes of the others.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/commands/own_jobs.h"
#include "cli/text/errors.h"
#include "cli/text/render_json.h"

namespace glim::cli {

inline constexpr char kCancelVerb[] = "cancel";

// For a cancel: a job that waits for another one (`after`) has a higher number than that, and must not start because
// that one is cancelled when it is to be cancelled itself.
inline void NewestFirst(std::vector<std::uint64_t>& job_ids) { std::sort(job_ids.rbegin(), job_ids.rend()); }

template <typename Request, typename Response>
Status ChangeState(CommandContext& context, std::uint64_t job_id,
                   Method<glim::v1::ClientApi::Stub, Request, Response> method) {
  Request request;
  request.set_job_id(job_id);
  Result<Response> response = context.client.Call(method, request);
  if (!response.ok()) return response.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document["job_id"] = job_id;
    document["state"] = response->state();
    context.output.Data(DumpJson(document));
  } else {
    context.output.Note(fmt::format("job {} is {}", job_id, response->state()));
  }
  return Status::Ok();
}

struct StateOptions {
  std::vector<std::uint64_t> job_ids;
  OwnJobs own;
  ChangeOptions ask;  // of jobs by name alone: who gives numbers has looked them up
};

template <typename Request, typename Response>
Status ChangeStates(CommandContext& context, const StateOptions& options, const char* failed,
                    Method<glim::v1::ClientApi::Stub, Request, Response> method) {
  if (options.job_ids.empty() == options.own.name.empty()) {
    return UsageError(options.job_ids.empty() ? "no job was named" : "JOB and --name exclude each other",
                      "give the jobs' numbers, or --name TEXT for all of yours with that in their names");
  }
  std::vector<std::uint64_t> job_ids = options.job_ids;
  if (job_ids.empty()) {
    auto found = FindOwnJobs(context, options.own, options.ask);
    if (!found.ok()) return found.status();
    job_ids = std::move(found).value();
  }
  if (options.own.verb == kCancelVerb) NewestFirst(job_ids);
  std::vector<Status> failures;
  for (const std::uint64_t job_id : job_ids) {
    Status status = ChangeState(context, job_id, method);
    if (status.code() == StatusCode::kCancelled) return status;
    if (!status.ok()) failures.push_back(std::move(status));
  }
  return Together(failures, job_ids.size(), failed);
}

// `own`: which of the caller's jobs --name may be about.
template <typename Request, typename Response>
void AddStateCommand(Syntax app, Selection* selection, const char* help, const char* failed, OwnJobs own,
                     Method<glim::v1::ClientApi::Stub, Request, Response> method) {
  const auto options = std::make_shared<StateOptions>();
  options->own = std::move(own);
  const std::string name = options->own.verb;
  Syntax command = app.AddCommand(name, help);
  command.Example(fmt::format("glim {} 812 813", name));
  command.Example(fmt::format("glim {} --name lr-", name));
  AddJobsArgument(command, &options->job_ids, Presence::kOptional);
  command.Option("--name", &options->own.name, "all jobs of yours with this in their names; they are shown first");
  command.Flag("-y,--yes", &options->ask.yes, "with --name: do not ask");
  command.Flag("--dry-run", &options->ask.dry_run, "with --name: show the jobs, and change nothing");
  command.OnChosen([=] {
    selection->run = [=](CommandContext& context) { return ChangeStates(context, *options, failed, method); };
  });
}

}  // namespace glim::cli
