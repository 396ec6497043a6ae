// glim-task: the task socket for shell scripts. docs/protocols/task-socket.md has the words and an example.
#include <CLI/CLI.hpp>

#include "nodeagent/programs/task/commands.h"

namespace {

using namespace glim::nodeagent;  // NOLINT(google-build-using-namespace): this file is nothing but its commands

// The parser's own check names the largest number that there is.
CLI::Validator FromZero() {
  return {[](std::string& word) { return word.front() == '-' ? word + " is below 0" : std::string(); }, ""};
}

int Main(int argc, char** argv) {
  CLI::App app("Tells Glim how a job's script is getting on, and asks whether it is to stop");
  app.require_subcommand(1);
  app.footer("Outside a Glim job every command says so on stderr and does nothing; `interrupted` is then false.");
  double timeout_s = 10;
  app.add_option("--timeout", timeout_s, "seconds to wait for an agent that is away")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();

  bool wait = false;
  auto* interrupted = app.add_subcommand("interrupted", "exit 0 when it is time to save and leave, 1 to go on");
  interrupted->add_flag("--wait", wait, "return only when it is");

  std::int64_t step = -1;
  double seconds = 0;
  auto* progress = app.add_subcommand("progress", "step N is complete");
  progress->add_option("step", step, "the last complete step, from 0")->required()->check(FromZero());
  progress->add_option("--step-seconds", seconds, "how long a step takes")->check(FromZero());

  SavedArguments save;
  auto* saved = app.add_subcommand("saved", "a save is durable: the job can go on from it");
  saved->add_option("--step", save.step, "the last step in it")->required()->check(FromZero());
  saved->add_option("--path", save.path, "where it is")->required();
  saved->add_option("--bytes", save.bytes, "its size (a file's own)")->check(FromZero());
  saved->add_option("--shard", save.shard, "which part of it, from 0");
  saved->add_option("--shards", save.shards, "of how many")->check(CLI::PositiveNumber);
  saved->add_option("--seconds", save.seconds, "how long it took")->check(FromZero());

  std::string path, error;
  auto* save_failed = app.add_subcommand("save-failed", "a save could not be made: glim status says so until the next");
  save_failed->add_option("--step", step, "the last step in it (the last one reported)")->check(FromZero());
  save_failed->add_option("message", error, "why")->required();

  auto* restored = app.add_subcommand("restored", "the job went on from step N");
  restored->add_option("step", step)->required()->check(FromZero());
  restored->add_option("--seconds", seconds, "how long that took")->check(FromZero());

  auto* restore_failed =
      app.add_subcommand("restore-failed",
                         "the save that the job was to go on from cannot be had: exit with an error after this, and "
                         "the job is tried elsewhere");
  restore_failed->add_option("--step", step, "the save's ($GLIM_RESUME_STEP)")->check(FromZero());
  restore_failed->add_option("--path", path, "the save ($GLIM_RESUME_PATH)");
  restore_failed->add_option("message", error, "what is wrong with it")->required();

  auto* needs = app.add_subcommand("needs", "this much grace is needed in all, from the request on");
  needs->add_option("seconds", seconds)->required()->check(FromZero());

  auto* leave = app.add_subcommand("leave", "the script exits now; without an interrupt: it gives its nodes up");
  CLI11_PARSE(app, argc, argv);

  if (*interrupted) return Interrupted(wait, timeout_s);
  if (*progress) return Progress(step, seconds, timeout_s);
  if (*saved) return Saved(save, timeout_s);
  if (*save_failed) return SaveFailed(step, error, timeout_s);
  if (*restored) return Restored(step, seconds, timeout_s);
  if (*restore_failed) return RestoreFailed(step, path, error, timeout_s);
  if (*needs) return Needs(seconds, timeout_s);
  return *leave ? Leave(timeout_s) : 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "glim-task: %s\n", error.what());
    return kTrouble;
  }
}
