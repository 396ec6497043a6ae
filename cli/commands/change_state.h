// What cancel, suspend and resume share: one call a job, the job's new state as the answer. Every job is tried,
// whatever becomes of the others.
#pragma once

#include <memory>
#include <vector>

#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/text/render_json.h"

namespace glim::cli {

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

template <typename Request, typename Response>
void AddStateCommand(Syntax app, Selection* selection, const char* name, const char* help, const char* failed,
                     Method<glim::v1::ClientApi::Stub, Request, Response> method) {
  const auto job_ids = std::make_shared<std::vector<std::uint64_t>>();
  Syntax command = app.AddCommand(name, help);
  command.Example(fmt::format("glim {} 812 813", name));
  AddJobsArgument(command, job_ids.get());
  command.OnChosen([=] {
    selection->run = [=](CommandContext& context) -> Status {
      std::vector<Status> failures;
      for (const std::uint64_t job_id : *job_ids) {
        Status status = ChangeState(context, job_id, method);
        if (status.code() == StatusCode::kCancelled) return status;
        if (!status.ok()) failures.push_back(std::move(status));
      }
      return Together(failures, job_ids->size(), failed);
    };
  });
}

}  // namespace glim::cli
