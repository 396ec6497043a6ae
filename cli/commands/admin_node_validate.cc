// glim admin node validate: a job that measures one node, and with --wait what came of it; one that fails is cordoned.
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/commands/account_change.h"
#include "cli/commands/admin_operate.h"
#include "cli/commands/asked_change.h"
#include "cli/commands/node_list.h"
#include "cli/rpc/wait_for_job.h"
#include "cli/text/errors.h"
#include "cli/text/file.h"
#include "cli/text/option_names.h"
#include "cli/text/text.h"
#include "cli/views/operate_view.h"
#include "cli/views/validate_view.h"
#include "sdk/io/random_bytes.h"

namespace glim::cli {
namespace {

constexpr int kBadNode = 3;                     // glim-validate's exit code
constexpr std::size_t kBaselineMax = 12 << 10;  // it travels as a variable of the job
constexpr std::size_t kReasonMax = 300;
constexpr Duration kLongest = Seconds(8 * 3600);
constexpr char kBaselineVariable[] = "VALIDATE_BASELINE";

struct ValidateOptions {
  std::string node;
  bool quick = false, full = false, wait = false;
  std::vector<std::string> folders;
  std::string baseline;
  ChangeOptions change;
};

std::string CommandOf(const ValidateOptions& options) {
  std::string command = options.baseline.empty() ? "exec " : fmt::format("printf %s \"${}\" | ", kBaselineVariable);
  command += options.full ? "glim-validate --full --json" : "glim-validate --quick --json";
  for (const std::string& folder : options.folders) command += " --folder " + ShellQuote(folder);
  if (!options.baseline.empty()) command += " --baseline /dev/stdin";
  return command;
}

Result<glim::v1::JobSpec> SpecOf(const ValidateOptions& options, const glim::v1::Node& node) {
  glim::v1::JobSpec spec;
  spec.set_name("validate-" + node.name());
  spec.set_pool(node.labels().pool());
  spec.set_priority("low");
  spec.set_nodes(1);
  spec.set_gpus_per_node(node.labels().gpu_count());  // all of them, or none is tested
  spec.mutable_placement()->set_node(node.name());
  spec.set_workdir("/tmp");
  spec.set_run(CommandOf(options));
  // It has nothing to save: who is more urgent gets the node at once, and it begins again later.
  spec.mutable_interrupt()->set_mode("signal");
  spec.mutable_interrupt()->set_grace_ms(0);
  spec.mutable_interrupt()->set_max_grace_ms(0);
  spec.mutable_restart()->add_on("node_failure");
  spec.mutable_restart()->set_max(1);
  spec.set_time_limit_ms(kLongest.ms);
  for (const std::string& folder : options.folders) {
    glim::v1::Mount* mount = spec.add_mounts();
    mount->set_source(folder);
    mount->set_target(folder);
  }
  if (options.baseline.empty()) return spec;
  Result<std::string> baseline = ReadFile(options.baseline, kBaselineMax);
  if (!baseline.ok()) return baseline.status();
  glim::v1::EnvVar* variable = spec.add_env();
  variable->set_name(kBaselineVariable);
  variable->set_value(*baseline);
  return spec;
}

// Of a node that takes no job, the job would wait for ever.
Result<glim::v1::Node> NodeToValidate(CommandContext& context, const std::string& name) {
  const auto list = context.client.Call(&glim::v1::ClientApi::Stub::ListNodes, ListRequestFor(name));
  if (!list.ok()) return list.status();
  glim::v1::Node node = NodeOf(*list, name);
  if (node.name().empty()) return NoSuchNode(name);
  const bool waits = node.validation().need() == "join" || node.validation().need() == "repair";
  if (node.state() == "ready" && !node.has_cordon() && !waits) return node;
  const std::string is = node.state() != "ready" ? node.state() : waits ? "measured by itself" : "cordoned";
  return Status(StatusCode::kFailedPrecondition, fmt::format("node {} is {} and takes no job", name, is))
      .WithReason("NODE_OUT")
      .WithField("NODE")
      .WithFix(fmt::format(
          "run glim-validate on it by hand, or give it back first ('glim nodes {}' says why it is out)", name));
}

Result<std::string> WholeLog(CommandContext& context, std::uint64_t job_id) {
  glim::v1::StreamLogRequest request;
  request.set_job_id(job_id);
  std::string log;
  const Status read = context.client.StreamLog(request, [&log](const auto& part) { log += part.data(); });
  if (!read.ok()) return read;
  return log;
}

int ExitCodeOfNewest(const glim::v1::Job& job) {
  if (job.attempts().empty() || job.attempts().rbegin()->tasks().empty()) return -1;
  return job.attempts().rbegin()->tasks(0).exit_code();
}

Status CordonFor(CommandContext& context, const std::string& node, std::uint64_t job_id, const std::string& fault) {
  glim::v1::CordonNodeRequest request;
  request.set_node(node);
  request.set_reason(fmt::format("job {}, glim-validate: {}", job_id, fault).substr(0, kReasonMax));
  const auto answer = context.client.Call(&glim::v1::OperateApi::Stub::CordonNode, request);
  return answer.ok() ? Status::Ok() : WithOptionNames(answer.status());
}

// Ok: the node is good. A node that is bad is cordoned, and that is an error, too.
Status Await(CommandContext& context, const ValidateOptions& options, std::uint64_t job_id, Json* document) {
  const Result<glim::v1::Job> job = WaitForJob(context.client, context.interruption, context.output, job_id, {});
  if (!job.ok()) return job.status();
  const Result<std::string> log = WholeLog(context, job_id);
  if (!log.ok()) return log.status();
  const Validation validation = ReadValidation(*log);
  if (!context.output.json()) context.output.Data(ValidationText(validation, context.output.colour()));
  const std::string fault = FirstFault(validation);
  const bool bad = job->state() == "failed" && ExitCodeOfNewest(*job) == kBadNode;
  (*document)["state"] = job->state();
  (*document)["ok"] = job->state() == "succeeded";
  (*document)["fault"] = fault;
  (*document)["cordoned"] = bad;
  if (!bad) {
    if (job->state() == "succeeded") context.output.Note(fmt::format("node {} is good", options.node));
    return VerdictOf(*job);
  }
  const std::string why = fault.empty() ? "something is bad" : fault;
  if (Status cordoned = CordonFor(context, options.node, job_id, why); !cordoned.ok()) return cordoned;
  return Status(StatusCode::kUnknown, fmt::format("node {} is cordoned: {}", options.node, why))
      .WithReason("NODE_BAD")
      .WithFix(fmt::format("repair it; then 'glim admin node uncordon {}' and validate it again", options.node));
}

Status RunNodeValidate(CommandContext& context, const ValidateOptions& options) {
  if (options.quick && options.full) return UsageError("--quick and --full exclude each other");
  const Result<glim::v1::Node> node = NodeToValidate(context, options.node);
  if (!node.ok()) return node.status();
  const Result<glim::v1::JobSpec> spec = SpecOf(options, *node);
  if (!spec.ok()) return spec.status();
  Status verdict;
  AskedChange change;
  change.in_words = [&]() -> Result<std::string> {
    return fmt::format("node {}: a job of class low waits until the node is free, and measures it{}\n", options.node,
                       options.wait ? "; if something is bad, the node is cordoned" : "");
  };
  change.question = fmt::format("validate node {}?", options.node);
  change.document["node"] = options.node;
  change.make = [&](Json* document) -> Status {
    glim::v1::SubmitRequest request;
    *request.add_specs() = *spec;
    request.set_request_id(RandomHex(16));
    const auto response = context.client.Call(&glim::v1::ClientApi::Stub::Submit, request);
    if (!response.ok()) return response.status();
    if (response->job_ids_size() != 1) return Status(StatusCode::kInternal, "the scheduler answered without a job");
    const std::uint64_t job_id = response->job_ids(0);
    (*document)["job_id"] = job_id;
    context.output.Note(
        fmt::format("job {} measures node {}; 'glim logs {}' has its lines", job_id, options.node, job_id));
    if (options.wait) verdict = Await(context, options, job_id, document);
    return Status::Ok();
  };
  const Status made = MakeAfterAsking(context, options.change, change);
  return made.ok() ? verdict : made;
}

}  // namespace

void AddNodeValidate(Syntax node, Selection* selection) {
  const auto options = std::make_shared<ValidateOptions>();
  Syntax command = node.AddCommand("validate", "Measure a node by a job: is it as good as the others?");
  command.Example("glim admin node validate n7 --wait");
  command.Example("glim admin node validate n7 --full --baseline a100.json --folder /ckpt --wait");
  command.Option("NODE", &options->node, "the node's name", Presence::kRequired);
  command.Flag("--quick", &options->quick, "about a minute; so it is without --full");
  command.Flag("--full", &options->full, "many minutes: more memory, more bytes, more rounds");
  command.Flag("--wait", &options->wait, "until it has been measured; a node that is bad is cordoned");
  command.ParsedOption("--folder", "folders of the node whose disks are measured; a comma between two",
                       [options](const std::string& words) {
                         for (std::string& word : WordsOf(words)) options->folders.push_back(std::move(word));
                         return std::string();
                       });
  command.Option("--baseline", &options->baseline, "what nodes like it have: a file by glim-validate --merge, here");
  AddAskOptions(command, &options->change);
  command.OnChosen(
      [=] { selection->run = [options](CommandContext& context) { return RunNodeValidate(context, *options); }; });
}

}  // namespace glim::cli
