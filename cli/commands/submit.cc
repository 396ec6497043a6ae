// glim submit: a spec from a file, standard input or the command line becomes one or more jobs, all or none.
#include <memory>

#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/commands/snapshot_specs.h"
#include "cli/commands/spec_arguments.h"
#include "cli/rpc/wait_for_job.h"
#include "cli/text/errors.h"
#include "cli/text/render_json.h"
#include "cli/text/text.h"
#include "sdk/io/random_bytes.h"

namespace glim::cli {
namespace {

constexpr int kTries = 3;
constexpr Duration kRetryPause = Milliseconds(200);

struct SubmitOptions {
  SpecArguments specs;
  bool dry_run = false;
  bool wait = false;
  std::string request_id;
};

// A lost answer is asked for again under the same request_id.
Result<glim::v1::SubmitResponse> Send(CommandContext& context, const glim::v1::SubmitRequest& request) {
  for (int tries = 1;; ++tries) {
    Result<glim::v1::SubmitResponse> response = context.client.Call(&glim::v1::ClientApi::Stub::Submit, request);
    if (response.ok()) return response;
    const Status& status = response.status();
    if (status.code() == StatusCode::kDeadlineExceeded) {
      return Status(status.code(), status.message())
          .WithReason(status.reason())
          .WithFix(
              fmt::format("whether it was taken is not known: repeat it with --request-id {}, and it is taken once",
                          request.request_id()));
    }
    if (status.code() != StatusCode::kUnavailable || tries == kTries) return response;
    if (context.interruption.WaitFor(kRetryPause)) return Interruption::Cancelled();
  }
}

void ReportDryRun(const glim::v1::SubmitRequest& request, Output& output) {
  if (output.json()) {
    Json document = NewDocument();
    document["valid"] = true;
    document["specs"] = Json::array();
    for (const auto& spec : request.specs()) document["specs"].push_back(MessageJson(spec));
    output.Data(DumpJson(document));
    return;
  }
  for (const auto& spec : request.specs()) output.Note("valid: " + DescribeSpec(spec));
  output.Note("nothing was submitted");
}

void ReportSubmitted(const glim::v1::SubmitRequest& request, const glim::v1::SubmitResponse& response, Output& output) {
  if (output.json()) {
    Json document = NewDocument();
    document["job_ids"] = Json::array();
    for (const std::uint64_t id : response.job_ids()) document["job_ids"].push_back(id);
    document["request_id"] = request.request_id();
    document["saves"] = Json::array();
    for (const std::string& words : response.saves()) document["saves"].push_back(words);
    document["notes"] = Json::array();
    for (const std::string& words : response.notes()) document["notes"].push_back(words);
    output.Data(DumpJson(document));
    return;
  }
  for (int i = 0; i < response.job_ids_size(); ++i) {
    output.Note(fmt::format("submitted {}", DescribeSpec(request.specs(i))));
    output.Data(fmt::format("{}\n", response.job_ids(i)));
  }
  for (const std::string& words : response.saves()) output.Note(Escaped(words));
  for (const std::string& words : response.notes()) output.Note(Escaped(words));
}

// The first job that did not succeed is the verdict on all.
Status WaitForAll(CommandContext& context, const glim::v1::SubmitResponse& response) {
  Status verdict;
  for (const std::uint64_t id : response.job_ids()) {
    Result<glim::v1::Job> job = WaitForJob(context.client, context.interruption, context.output, id, std::nullopt);
    if (!job.ok()) return job.status();
    Status end = ReportEnd(*job, context.output);
    if (verdict.ok()) verdict = std::move(end);
  }
  return verdict;
}

Status RunSubmit(CommandContext& context, const SubmitOptions& options) {
  Result<std::vector<glim::v1::JobSpec>> specs = CollectSpecs(options.specs, context.tail);
  if (!specs.ok()) return specs.status();
  if (Status status = AddSnapshots(context, /*write=*/!options.dry_run, &*specs); !status.ok()) return status;
  glim::v1::SubmitRequest request;
  for (auto& spec : *specs) *request.add_specs() = std::move(spec);
  request.set_request_id(options.request_id.empty() ? RandomHex(16) : options.request_id);
  request.set_validate_only(options.dry_run);
  Result<glim::v1::SubmitResponse> response = Send(context, request);
  if (!response.ok()) return response.status();
  if (options.dry_run) {
    ReportDryRun(request, context.output);
    return Status::Ok();
  }
  if (response->job_ids_size() != request.specs_size()) {
    return Status(StatusCode::kInternal, fmt::format("the scheduler answered {} jobs with {} ids", request.specs_size(),
                                                     response->job_ids_size()));
  }
  ReportSubmitted(request, *response, context.output);
  if (!options.wait) return Status::Ok();
  if (Status written = context.output.Finish(); !written.ok()) return written;  // the ids, before a long wait
  return WaitForAll(context, *response);
}

}  // namespace

void AddSubmit(Syntax app, Selection* selection) {
  const auto options = std::make_shared<SubmitOptions>();
  Syntax command = app.AddCommand("submit", "Submit the jobs of a file, or a command: submit [FILE|-] [-- CMD...]");
  command.Example("glim submit train.yaml");
  command.Example("glim submit --nodes 4 -- python3 train.py");
  AddSpecArguments(command, &options->specs);
  command.Flag("--dry-run", &options->dry_run, "have it checked, submit nothing");
  command.Flag("--wait", &options->wait, "wait until it has ended; the exit code is its verdict");
  command.Option("--request-id", &options->request_id, "repeat a submission safely: the same id is taken once");
  command.OnChosen([=] {
    selection->takes_tail = true;
    selection->run = [options](CommandContext& context) { return RunSubmit(context, *options); };
  });
}

}  // namespace glim::cli
