// glim ckpt convert: from and to PyTorch's formats. The work is the Python package's, which has PyTorch.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands/ckpt.h"
#include "cli/text/errors.h"

namespace glim::cli {
namespace {

struct CkptConvertOptions {
  std::string kind;
  std::string source;
  std::string target;
  std::string step;
  std::string job;
  bool trust = false;
};

std::string CheckKind(const std::string& word) {
  for (const char* kind : {"to-torch", "from-torch", "to-dcp", "from-dcp"}) {
    if (word == kind) return "";
  }
  return "'" + word + "' is none of to-torch, from-torch, to-dcp, from-dcp";
}

// Becomes the converter: its words and its exit code are the command's.
Status RunCkptConvert(CommandContext& context, const CkptConvertOptions& options) {
  if (context.output.json()) return UsageError("'glim ckpt convert' has no JSON to show", "leave -o json out");
  std::vector<std::string> words = {"python3", "-m", "glim.checkpoint_convert", options.kind};
  if (options.trust) words.emplace_back("--trust");
  if (!options.step.empty()) words.push_back("--step=" + options.step);
  if (!options.job.empty()) words.push_back("--job=" + options.job);
  words.insert(words.end(), {"--", options.source, options.target});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);  // what Interruption blocked would stay blocked
  execvp(arguments[0], arguments.data());
  return Status(StatusCode::kNotFound, fmt::format("cannot run python3: {}", std::strerror(errno)))
      .WithFix("install Python with the package glim");
}

}  // namespace

void AddCkptConvert(Syntax ckpt, Selection* selection) {
  const auto options = std::make_shared<CkptConvertOptions>();
  Syntax command = ckpt.AddCommand("convert", "Convert from and to torch.save and torch.distributed.checkpoint");
  command.Example("glim ckpt convert to-torch /data/ckpt/812 model.pt");
  command.CheckedOption("KIND", &options->kind, "to-torch, from-torch, to-dcp or from-dcp", CheckKind);
  command.Option("SOURCE", &options->source, "a checkpoint, or PyTorch's file or folder", Presence::kRequired);
  command.Option("TARGET", &options->target, "PyTorch's file or folder, or a new checkpoint directory",
                 Presence::kRequired);
  command.Option("--step", &options->step, "from-...: the checkpoint's step (0)");
  command.Option("--job", &options->job, "from-...: whose directory it is (local)");
  command.Flag("--trust", &options->trust, "the source is yours: reading it may run what is in it");
  command.OnChosen(
      [=] { selection->run = [options](CommandContext& context) { return RunCkptConvert(context, *options); }; });
}

}  // namespace glim::cli
