// glim admin node validate: the scheduler measures a node before its next job, and cordons one that is bad; with --wait
// what came of it.
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/commands/account_change.h"
#include "cli/commands/admin_operate.h"
#include "cli/commands/asked_change.h"
#include "cli/commands/node_list.h"
#include "cli/rpc/wait_for_job.h"
#include "cli/text/errors.h"
#include "cli/text/option_names.h"
#include "cli/text/text.h"
#include "cli/views/operate_view.h"
#include "cli/views/validate_view.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

constexpr Duration kLookEvery = Milliseconds(500);

struct ValidateOptions {
  std::string node;
  bool full = false, wait = false;
  std::vector<std::string> folders;
  ChangeOptions change;
};

Result<glim::v1::Node> FindNode(CommandContext& context, const std::string& name) {
  const auto list = context.client.Call(&glim::v1::ClientApi::Stub::ListNodes, ListRequestFor(name));
  if (!list.ok()) return list.status();
  glim::v1::Node node = NodeOf(*list, name);
  if (node.name().empty()) return NoSuchNode(name);
  return node;
}

// What is out is measured when it is back, and nobody knows when that is.
Status CheckIsIn(const glim::v1::Node& node) {
  if (node.state() == "ready" && !node.has_cordon()) return Status::Ok();
  return Status(StatusCode::kFailedPrecondition,
                fmt::format("node {} is {}: it is measured when it is back", node.name(),
                            node.state() != "ready" ? node.state() : "cordoned"))
      .WithReason("NODE_OUT")
      .WithField("NODE")
      .WithFix(
          fmt::format("leave out --wait, or give it back first ('glim nodes {}' says why it is out)", node.name()));
}

Result<glim::v1::ValidateNodeResponse> Ask(CommandContext& context, const ValidateOptions& options, bool dry_run) {
  glim::v1::ValidateNodeRequest request;
  request.set_node(options.node);
  request.set_full(options.full);
  for (const std::string& folder : options.folders) request.add_folders(folder);
  request.set_dry_run(dry_run);
  auto answer = context.client.Call(&glim::v1::OperateApi::Stub::ValidateNode, request);
  if (!answer.ok()) return WithOptionNames(answer.status());
  return answer;
}

std::string MeasuredInWords(const ValidateOptions& options, const glim::v1::ValidateNodeResponse& answer) {
  std::string words =
      fmt::format("node {} is measured before its next job; if it is bad, it is cordoned\n", options.node);
  for (const glim::v1::Victim& job : answer.jobs()) {
    words += fmt::format("job {} ({}, {}) has it now, and is not disturbed\n", job.job_id(), job.name(), job.user());
  }
  return words;
}

// A job that measures it and has ended since it was asked for; nobody is asked to wait for the next try.
Result<glim::v1::Node> AwaitMeasured(CommandContext& context, const ValidateOptions& options, std::uint64_t before) {
  for (std::uint64_t told = 0;;) {
    Result<glim::v1::Node> node = FindNode(context, options.node);
    if (!node.ok()) return node;
    const glim::v1::NodeValidation& now = node->validation();
    if (now.job_id() > 0 && now.job_id() != told) {
      told = now.job_id();
      context.output.Note(
          fmt::format("job {} measures node {}; 'glim logs {}' has its lines", told, options.node, told));
      const Result<glim::v1::Job> job = WaitForJob(context.client, context.interruption, context.output, told, {});
      if (!job.ok()) return job.status();
      continue;
    }
    const bool ended = now.job_id() == 0 && now.last_job_id() != before;
    if (ended && (!WaitsToBeMeasured(*node) || now.again_at_ms() > 0 || node->has_cordon())) return node;
    if (before == now.last_job_id() && !WaitsToBeMeasured(*node)) {
      return Status(StatusCode::kUnknown, fmt::format("node {} is not to be measured any more", options.node))
          .WithReason("NOT_MEASURED")
          .WithFix(fmt::format("'glim events --node {}' says why", options.node));
    }
    if (context.interruption.WaitFor(kLookEvery)) return Interruption::Cancelled();
  }
}

Result<std::string> WholeLog(CommandContext& context, std::uint64_t job_id) {
  glim::v1::StreamLogRequest request;
  request.set_job_id(job_id);
  std::string log;
  const Status read = context.client.StreamLog(request, [&log](const auto& part) { log += part.data(); });
  if (!read.ok()) return read;
  return log;
}

// Ok: the node is good.
Status Await(CommandContext& context, const ValidateOptions& options, std::uint64_t before, Json* document) {
  const Result<glim::v1::Node> node = AwaitMeasured(context, options, before);
  if (!node.ok()) return node.status();
  const std::uint64_t job_id = node->validation().last_job_id();
  const Result<glim::v1::Job> job = context.client.GetJob(job_id);
  if (!job.ok()) return job.status();
  const Result<std::string> log = WholeLog(context, job_id);
  if (!log.ok()) return log.status();
  if (!context.output.json()) {
    context.output.Data(ValidationText(ReadValidation(*log), context.output.colour()));
  }
  const bool good = job->state() == "succeeded";
  const bool bad = !good && node->has_cordon();
  const std::string& fault = node->validation().bad();
  document->update(
      Json{{"job_id", job_id}, {"state", job->state()}, {"ok", good}, {"cordoned", bad}, {"fault", fault}});
  if (good) context.output.Note(fmt::format("node {} is good", options.node));
  if (!bad) return VerdictOf(*job);
  return Status(StatusCode::kUnknown, fmt::format("node {} is cordoned: {}", options.node, fault))
      .WithReason("NODE_BAD")
      .WithFix(fmt::format("repair it; then 'glim admin node uncordon {}': it is measured again before its next job",
                           options.node));
}

Status RunNodeValidate(CommandContext& context, const ValidateOptions& options) {
  const Result<glim::v1::Node> node = FindNode(context, options.node);
  if (!node.ok()) return node.status();
  if (Status in = CheckIsIn(*node); options.wait && !in.ok()) return in;
  Status verdict;
  AskedChange change;
  change.in_words = [&]() -> Result<std::string> {
    const auto answer = Ask(context, options, true);
    if (!answer.ok()) return answer.status();
    return MeasuredInWords(options, *answer);
  };
  change.question = fmt::format("validate node {}?", options.node);
  change.document["node"] = options.node;
  change.make = [&](Json* document) -> Status {
    const auto answer = Ask(context, options, false);
    if (!answer.ok()) return answer.status();
    if (!context.output.json() && options.change.yes) context.output.Data(MeasuredInWords(options, *answer));
    if (options.wait) verdict = Await(context, options, node->validation().last_job_id(), document);
    return Status::Ok();
  };
  const Status made = MakeAfterAsking(context, options.change, change);
  return made.ok() ? verdict : made;
}

}  // namespace

void AddNodeValidate(Syntax node, Selection* selection) {
  const auto options = std::make_shared<ValidateOptions>();
  Syntax command = node.AddCommand("validate", "Measure a node before its next job: is it as good as the others?");
  command.Example("glim admin node validate n7 --wait");
  command.Example("glim admin node validate n7 --full --folder /ckpt/validate --wait");
  command.Option("NODE", &options->node, "the node's name", Presence::kRequired);
  command.Flag("--full", &options->full, "many minutes: more memory, more bytes, more rounds");
  command.Flag("--wait", &options->wait, "until it has been measured; exit code 1: it is bad, or could not be");
  command.ParsedOption("--folder", "folders of the node whose disks are measured; a comma between two",
                       [options](const std::string& words) {
                         for (std::string& word : WordsOf(words)) options->folders.push_back(std::move(word));
                         return std::string();
                       });
  AddAskOptions(command, &options->change);
  command.OnChosen(
      [=] { selection->run = [options](CommandContext& context) { return RunNodeValidate(context, *options); }; });
}

}  // namespace glim::cli
