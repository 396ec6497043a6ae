// What cancel, suspend and resume share: one job, one call, the job's new state as the answer.
#pragma once

#include <memory>

#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/render_json.h"

namespace glim::cli {

template <typename Request, typename Response>
void AddStateCommand(CLI::App* app, Selection* selection, const char* name, const char* help,
                     Method<glim::v1::ClientApi::Stub, Request, Response> method) {
  const auto job_id = std::make_shared<std::uint64_t>(0);
  CLI::App* command = app->add_subcommand(name, help);
  AddJobArgument(command, job_id.get());
  command->callback([=] {
    selection->run = [=](CommandContext& context) -> Status {
      Request request;
      request.set_job_id(*job_id);
      Result<Response> response = context.client.Call(method, request);
      if (!response.ok()) return response.status();
      if (context.output.json()) {
        Json document = NewDocument();
        document["job_id"] = *job_id;
        document["state"] = response->state();
        context.output.Data(DumpJson(document));
      } else {
        context.output.Note(fmt::format("job {} is {}", *job_id, response->state()));
      }
      return Status::Ok();
    };
  });
}

}  // namespace glim::cli
