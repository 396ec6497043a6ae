#include "cli/commands/own_jobs.h"

#include <fmt/format.h>

#include "cli/rpc/list_jobs.h"
#include "cli/text/errors.h"
#include "cli/text/text.h"
#include "cli/views/views.h"

namespace glim::cli {

Result<std::vector<std::uint64_t>> FindOwnJobs(CommandContext& context, const OwnJobs& which,
                                               const ChangeOptions& options) {
  const auto who = context.client.Call(&glim::v1::ClientApi::Stub::WhoAmI, glim::v1::WhoAmIRequest());
  if (!who.ok()) return who.status();
  glim::v1::ListJobsRequest request;
  request.set_user(who->user());
  request.set_name(which.name);
  Result<std::vector<glim::v1::Job>> jobs = ListAllJobs(context.client, std::move(request));
  if (!jobs.ok()) return jobs.status();
  std::erase_if(*jobs, [&](const glim::v1::Job& job) { return !which.any && (job.state() == "held") != which.held; });
  if (jobs->empty()) {
    return Status(StatusCode::kNotFound, fmt::format("no such job of {} has '{}' in its name", who->user(), which.name))
        .WithReason("NO_SUCH_JOB")
        .WithField("--name")
        .WithFix(fmt::format("'glim queue --user {}' lists them", who->user()));
  }
  const std::string table = QueueTable(*jobs, Now(), context.output.colour());
  if (options.dry_run) {
    if (!context.output.json()) context.output.Data(table);
    context.output.Note("nothing was changed");
    return std::vector<std::uint64_t>();
  }
  const std::string question = jobs->size() == 1 ? fmt::format("{} this job?", which.verb)
                                                 : fmt::format("{} these {} jobs?", which.verb, jobs->size());
  if (Status sure = Confirm(context, options, table, question); !sure.ok()) return sure;
  std::vector<std::uint64_t> ids;
  for (const glim::v1::Job& job : *jobs) ids.push_back(job.id());
  return ids;
}

}  // namespace glim::cli
