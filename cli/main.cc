// glim, the command line: wiring only. What commands do is in cli/commands/, one file each.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/client.h"
#include "cli/commands/command.h"
#include "cli/config.h"
#include "cli/errors.h"
#include "cli/interruption.h"
#include "cli/output.h"
#include "sdk/base/suggest.h"

namespace glim::cli {
namespace {

struct CommandLine {
  std::vector<std::string> head;  // for CLI11
  std::vector<std::string> tail;  // after "--"
  bool has_tail = false;
};

CommandLine Split(int argc, char** argv) {
  CommandLine line;
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const auto dashes = std::find(words.begin(), words.end(), "--");
  line.head.assign(words.begin(), dashes);
  line.has_tail = dashes != words.end();
  if (line.has_tail) line.tail.assign(dashes + 1, words.end());
  return line;
}

struct GlobalFlags {
  ConfigLayer layer;
  Duration call_timeout = kDefaultCallTimeout;
};

void AddGlobals(CLI::App* app, GlobalFlags* flags) {
  app->set_version_flag("--version", "glim " GLIM_VERSION);
  app->add_option("--server", flags->layer.server, "the scheduler's HOST:PORT (GLIM_SERVER; 127.0.0.1:7601)");
  app->add_option("--as", flags->layer.user, "the user who asks (GLIM_USER; your login name)");
  app->add_option("-o,--output", flags->layer.output, "table or json (GLIM_OUTPUT; table)");
  AddDurationOption(app, "--timeout", &flags->call_timeout, "how long one call may take (10s)");
}

void AddCommands(CLI::App* app, Selection* selection) {
  app->require_subcommand(1);
  for (const auto add : {AddSubmit, AddPlan, AddQueue, AddStatus, AddWhy, AddLogs, AddCancel, AddSuspend, AddResume,
                         AddEvents, AddHistory, AddNodes, AddWait, AddVersion, AddAdmin}) {
    add(app, selection);
  }
  // Global flags may stand behind the command too.
  for (CLI::App* command : app->get_subcommands([](CLI::App*) { return true; })) command->fallthrough();
}

// A word where a command should be is what is wrong, whatever else the parser found missing.
Status ParseError(const CLI::App& app, const CLI::Error& error) {
  const CLI::App* at = &app;
  std::string program = "glim";
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    program += " " + at->get_name();
  }
  std::vector<std::string> names;
  for (const CLI::App* command : at->get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
    for (const std::string& alias : command->get_aliases()) names.push_back(alias);
  }
  const std::vector<std::string> rest = app.remaining(/*recurse=*/true);
  const auto word = std::find_if(rest.begin(), rest.end(), [](const auto& w) { return !w.starts_with("-"); });
  if (!names.empty() && rest.empty() && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    return UsageError("no command was given after '" + program + "'", "'" + program + " --help' lists them");
  }
  if (names.empty() || word == rest.end()) {
    return UsageError(error.what(), "'glim --help' and 'glim COMMAND --help' list what there is");
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string near = Nearest(*word, known);
  return UsageError("'" + *word + "' is no command of '" + program + "'",
                    near.empty() ? "'" + program + " --help' lists them"
                                 : "did you mean '" + program + " " + near + "'?");
}

Status Parse(CLI::App* app, const CommandLine& line, const Selection& selection, bool* done) {
  std::vector<std::string> reversed(line.head.rbegin(), line.head.rend());  // CLI11's order
  try {
    app->parse(reversed);
  } catch (const CLI::Success& help) {
    *done = true;
    app->exit(help);
    return Status::Ok();
  } catch (const CLI::Error& error) {
    return ParseError(*app, error);
  }
  if (line.has_tail && !selection.takes_tail) {
    return UsageError("only 'glim submit' and 'glim plan' take a command after '--'");
  }
  return Status::Ok();
}

// When the command line itself is at fault its flags are not known yet: the errors' format is guessed from its words.
OutputFormat GuessFormat(const CommandLine& line) {
  std::string word = EnvironmentLayer().output.value_or("table");
  for (std::size_t i = 0; i < line.head.size(); ++i) {
    const std::string& flag = line.head[i];
    const bool split = (flag == "-o" || flag == "--output") && i + 1 < line.head.size();
    if (split) word = line.head[i + 1];
    if (flag == "-ojson" || flag == "--output=json") word = "json";
  }
  return word == "json" ? OutputFormat::kJson : OutputFormat::kTable;
}

int Fail(Output& output, const Status& status) {
  // Who pressed Ctrl-C knows it.
  if (status.code() != StatusCode::kCancelled) output.Error(status);
  return ExitCodeOf(status);
}

int Main(int argc, char** argv) {
  const CommandLine line = Split(argc, argv);
  Output early(stdout, stderr, GuessFormat(line), false);
  CLI::App app("glim: jobs that make room and come back", "glim");
  GlobalFlags flags;
  Selection selection;
  AddGlobals(&app, &flags);
  AddCommands(&app, &selection);
  bool done = false;
  if (Status parsed = Parse(&app, line, selection, &done); !parsed.ok()) return Fail(early, parsed);
  if (done) return kExitOk;

  Result<Settings> settings = LoadSettings(flags.layer, DefaultConfigPaths(),
                                           [&early](const std::string& warning) { early.Note(warning); });
  if (!settings.ok()) return Fail(early, settings.status());
  settings->call_timeout = flags.call_timeout;

  Interruption interruption;  // before gRPC starts threads: they inherit the blocked signals
  Output output(stdout, stderr, settings->format, WantsColour(stdout));
  Client client(*settings, &interruption);
  CommandContext context{client, output, interruption, line.tail};
  const Status status = selection.run(context);
  const Status written = output.Finish();
  if (!status.ok()) return Fail(output, status);
  if (!written.ok()) return Fail(output, written);
  return kExitOk;
}

}  // namespace
}  // namespace glim::cli

int main(int argc, char** argv) {
  try {
    return glim::cli::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s  [INTERNAL]\n", error.what());
    return glim::cli::kExitFailed;
  }
}
