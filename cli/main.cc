// glim, the command line: wiring only. What commands do is in cli/commands/, one file each.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/commands/command.h"
#include "cli/commands/syntax.h"
#include "cli/rpc/client.h"
#include "cli/rpc/config.h"
#include "cli/rpc/interruption.h"
#include "cli/text/errors.h"
#include "cli/text/output.h"
#include "cli/text/style.h"
#include "sdk/base/rfc3339.h"

namespace glim::cli {
namespace {

struct CommandLine {
  std::vector<std::string> head;  // for the parser
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
  bool insecure = false;
  Duration call_timeout = kDefaultCallTimeout;
};

void AddGlobals(Syntax program, GlobalFlags* flags) {
  ConfigLayer& layer = flags->layer;
  program.Option("--server", &layer.server, "the scheduler's HOST:PORT (GLIM_SERVER; 127.0.0.1:7601)");
  program.Option("--ca", &layer.ca, "the file with its authority's certificate (GLIM_CA; what 'glim login' kept)");
  program.Option("--token-file", &layer.token_file,
                 "the file with your token (GLIM_TOKEN_FILE; what 'glim login' kept)");
  program.Flag("--insecure-without-identity", &flags->insecure,
               "without TLS and tokens, as the scheduler has to be started, too");
  program.Option("--as", &layer.user, "with it alone: the user who asks (GLIM_USER; your login name)");
  program.Option("-o,--output", &layer.output, "table or json, of status also yaml (GLIM_OUTPUT; table)");
  AddDurationOption(program, "--timeout", &flags->call_timeout, "how long one call may take (10s)");
}

void AddCommands(Syntax program, Selection* selection) {
  for (const auto add : {AddSubmit, AddPlan,   AddQueue,  AddStatus,  AddWhy,     AddLogs, AddCancel, AddSuspend,
                         AddResume, AddUpdate, AddEvents, AddHistory, AddNodes,   AddWait, AddCkpt,   AddLogin,
                         AddLogout, AddWhoami, AddSecret, AddDoctor,  AddVersion, AddAdmin}) {
    add(program, selection);
  }
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

// Ends the program once all is said (Output::Finish has flushed and checked it). gRPC would take milliseconds to end
// its threads one by one, of no use to anybody: the kernel closes the connection. The sanitizers report at a program's
// ordinary end, so their builds have that.
int Leave(int code) {
#ifndef GLIM_SANITIZED
  std::fflush(nullptr);
  _exit(code);
#endif
  return code;
}

int Main(int argc, char** argv) {
  const CommandLine line = Split(argc, argv);
  Output early(stdout, stderr, GuessFormat(line), false);
  Parser parser("glim", "glim: jobs that make room and come back", "glim " GLIM_VERSION);
  GlobalFlags flags;
  Selection selection;
  AddGlobals(parser.root(), &flags);
  AddCommands(parser.root(), &selection);
  bool done = false;
  if (Status parsed = parser.Parse(line.head, &done); !parsed.ok()) return Fail(early, parsed);
  if (done) return kExitOk;
  if (line.has_tail && !selection.takes_tail) {
    return Fail(early, UsageError("only 'glim submit' and 'glim plan' take a command after '--'"));
  }

  if (flags.insecure) flags.layer.insecure = true;
  std::vector<std::string> warnings;
  ConfigPaths paths = DefaultConfigPaths();
  paths.user_named = !selection.config.empty();
  if (paths.user_named) paths.user = selection.config;
  Result<Settings> settings = LoadSettings(flags.layer, paths, [&](const std::string& warning) {
    early.Note(warning);
    warnings.push_back(warning);
  });
  const Status configuration = settings.status();
  if (!settings.ok()) {
    if (!selection.bears_bad_settings) return Fail(early, configuration);
    settings = Settings();
    settings->format = early.format();
  }
  if (settings->format == OutputFormat::kYaml && !selection.prints_yaml) {
    return Fail(early, UsageError("only 'glim status' prints yaml: use -o table or -o json"));
  }
  settings->call_timeout = flags.call_timeout;

  Interruption interruption;  // before gRPC starts threads: they inherit the blocked signals
  Output output(stdout, stderr, settings->format, WantsColour(stdout));
  Client client(*settings, &interruption);
  CommandContext context{client, output, interruption, line.tail, configuration, std::move(warnings)};
  const Status status = selection.run(context);
  const Status written = output.Finish();
  if (client.stale_since()) {
    output.Note("the scheduler's database takes no changes (see glim admin status): this is as of " +
                FormatRfc3339(client.stale_since()));
  }
  if (!status.ok()) return Leave(Fail(output, status));
  if (!written.ok()) return Leave(Fail(output, written));
  return Leave(kExitOk);
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
