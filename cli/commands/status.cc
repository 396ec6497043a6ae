// glim status: one job, attempt by attempt, with the receipts of its interrupts.
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/text/hints.h"
#include "cli/text/render_json.h"
#include "cli/views/receipt.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

constexpr std::size_t kPreemptorsMax = 16;  // asked about, newest first

// The jobs that came in; one that is not kept any more just lacks its part of the receipt.
Result<JobsById> AskPreemptors(Client& client, const glim::v1::Job& job) {
  JobsById jobs;
  for (const std::uint64_t id : PreemptorsOf(job, kPreemptorsMax)) {
    Result<glim::v1::Job> preemptor = client.GetJob(id);
    if (preemptor.ok()) {
      jobs.emplace(id, *std::move(preemptor));
    } else if (preemptor.status().code() != StatusCode::kNotFound &&
               preemptor.status().code() != StatusCode::kPermissionDenied) {
      return preemptor.status();
    }
  }
  return jobs;
}

Status PrintFile(CommandContext& context, std::uint64_t job_id) {
  const Result<std::string> file = context.client.GetJobFile(job_id);
  if (!file.ok()) return file.status();
  if (file->empty()) {
    return Status(StatusCode::kPermissionDenied, fmt::format("job {} is not yours: its file is not shown", job_id))
        .WithFix("ask its owner, or an operator");
  }
  context.output.Data(*file);
  return Status::Ok();
}

Status RunStatus(CommandContext& context, std::uint64_t job_id) {
  if (context.output.format() == OutputFormat::kYaml) return PrintFile(context, job_id);
  Result<glim::v1::Job> job = context.client.GetJob(job_id);
  if (!job.ok()) return job.status();
  Result<JobsById> preemptors = AskPreemptors(context.client, *job);
  if (!preemptors.ok()) return preemptors.status();
  const std::vector<Receipt> receipts = MakeReceipts(*job, *preemptors);
  if (!context.output.json()) {
    context.output.Data(StatusText(*job, receipts, Now(), context.output.colour()));
    return Status::Ok();
  }
  Json document = NewDocument();
  document["job"] = JobJson(*job);
  document["attempts_left_out"] = AttemptsLeftOut(*job);
  document["receipts"] = Json::array();
  for (const Receipt& receipt : receipts) document["receipts"].push_back(ReceiptJson(receipt));
  document["hint"] = HintFor(*job);
  context.output.Data(DumpJson(document));
  return Status::Ok();
}

}  // namespace

void AddStatus(Syntax app, Selection* selection) {
  const auto job_id = std::make_shared<std::uint64_t>(0);
  Syntax command = app.AddCommand("status", "Show a job, attempt by attempt, with its interrupts");
  command.Example("glim status 812");
  AddJobArgument(command, job_id.get());
  command.OnChosen([=] {
    selection->prints_yaml = true;
    selection->run = [job_id](CommandContext& context) { return RunStatus(context, *job_id); };
  });
}

}  // namespace glim::cli
