// glim-validate: is this node as good as the others? docs/operations/validate.md
//
// Exit 0: all that was measured is good. 3: something is wrong, or too slow; each such line says what. 2: the command
// line. 1: it could not be measured.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <CLI/CLI.hpp>

#include "nodeagent/programs/validate/json_lines.h"
#include "nodeagent/programs/validate/run.h"
#include "nodeagent/validate/judge.h"
#include "sdk/io/read_file.h"
#include "sdk/task_environment/variables.h"

namespace {

using namespace glim;            // NOLINT(google-build-using-namespace): this file is nothing but its command line
using namespace glim::validate;  // NOLINT(google-build-using-namespace)

constexpr int kGood = 0, kTrouble = 1, kBadNode = 3;
constexpr std::size_t kFileMax = 64 << 20;
constexpr std::int64_t kMiB = 1 << 20;

struct CommandLine {
  Options options;
  bool quick = false;
  bool json = false;
  std::int64_t memory_mib = 0;
  std::string baseline;
  std::vector<std::string> expect, merge;
  bool policy = false;
};

int Trouble(const Status& status) {
  const std::string fix = status.fix().empty() ? "" : "; " + status.fix();
  std::fprintf(stderr, "glim-validate: %s%s\n", status.message().c_str(), fix.c_str());
  return kTrouble;
}

int MergeFiles(const std::vector<std::string>& files, bool policy) {
  std::vector<std::vector<Reading>> nodes;
  for (const std::string& file : files) {
    const Result<std::string> lines = ReadFile(file, kFileMax);
    if (!lines.ok()) return Trouble(lines.status());
    nodes.push_back(ReadingsFrom(*lines));
    if (nodes.back().empty()) return Trouble(Status(StatusCode::kInvalidArgument, file + " has no line of a reading"));
  }
  const Baseline baseline = Merge(nodes);
  std::fputs((policy ? PolicyRowText(baseline) : BaselineText(baseline)).c_str(), stdout);
  return kGood;
}

Result<Baseline> BaselineOf(const std::string& file, const std::vector<std::string>& expect) {
  if (file.empty()) return ParseExpected(expect);
  const Result<std::string> text = ReadFile(file, kFileMax);
  if (!text.ok()) return text.status();
  Result<Baseline> baseline = ParseBaseline(*text);
  if (!baseline.ok()) {
    return Status(baseline.status().code(), file + " " + baseline.status().message()).WithFix(baseline.status().fix());
  }
  return baseline;
}

// Of a job, where its saves lie; else here.
std::string DefaultFolder() {
  const char* const folder = std::getenv(NameOf(TaskVariable::kCheckpointDir));
  return folder == nullptr || *folder == '\0' ? "." : folder;
}

int Validate(const CommandLine& line) {
  const Result<Baseline> baseline = BaselineOf(line.baseline, line.expect);
  if (!baseline.ok()) return Trouble(baseline.status());
  std::size_t seen = 0;
  std::vector<Verdict> bad;
  const Status status = RunParts(line.options, *baseline, [&](const std::vector<Verdict>& verdicts) {
    for (const Verdict& verdict : verdicts) {
      const std::string text =
          line.json ? JsonLineOf(verdict) : (verdict.ok ? "ok    " : "BAD   ") + verdict.text + "\n";
      std::fputs(text.c_str(), stdout);
      if (!verdict.ok) bad.push_back(verdict);
    }
    std::fflush(stdout);
    seen += verdicts.size();
  });
  if (!status.ok()) return Trouble(status);
  if (bad.empty()) return kGood;
  // The last line is the cause of a job that fails.
  std::fprintf(stderr, "glim-validate: %zu of %zu readings are bad: %s\n", bad.size(), seen, bad.front().text.c_str());
  return kBadNode;
}

void AddOptions(CLI::App& app, CommandLine* line) {
  app.add_flag("--quick", line->quick, "a minute or so (the default)");
  app.add_flag("--full", line->options.full, "many minutes: more memory, more bytes, more rounds");
  app.add_option("--part", line->options.parts, "only these; a comma between two")
      ->delimiter(',')
      ->check(CLI::IsMember(PartNames()));
  app.add_option("--folder", line->options.folders,
                 "folders whose disks are measured; $GLIM_CHECKPOINT_DIR, or else the current folder");
  app.add_option("--memory-mib", line->memory_mib,
                 "that patterns are written to; 256, with --full half of what is free")
      ->check(CLI::Range(std::int64_t{32}, std::int64_t{1} << 30));
  app.add_option("--baseline", line->baseline, "what nodes like this one have, as --merge made it")
      ->check(CLI::ExistingFile);
  app.add_option("--expect", line->expect, "the same by words: PART.WHAT=NUMBER; a comma between two")
      ->delimiter(',')
      ->excludes("--baseline");
  app.add_option("--merge", line->merge,
                 "measure nothing: make a baseline of files with the --json lines of a node each")
      ->check(CLI::ExistingFile);
  app.add_flag("--policy", line->policy,
               "with --merge: as a row of health.validate.baselines in the scheduler's policy")
      ->needs("--merge");
  app.add_flag("--json", line->json, "a JSON object a line");
  app.add_option("--rendezvous", line->options.rendezvous,
                 "HOST:PORT of rank 0, where several nodes meet without a job of Glim");
  app.add_option("--rank", line->options.rank, "this node's, with --rendezvous");
  app.add_option("--ranks", line->options.ranks, "how many nodes, with --rendezvous")->check(CLI::Range(1, 10'000));
  app.add_flag("--alone", line->options.alone, "in a job of several nodes: do not measure the network between them")
      ->excludes("--rendezvous");
}

int Main(int argc, char** argv) {
  CLI::App app("Measures this node and compares it: with a baseline if one is given, else with itself");
  CommandLine line;
  AddOptions(app, &line);
  app.footer("The node has to be idle: what others run on it counts as slowness. Exit 0: good, 3: something is not.");
  try {
    app.parse(argc, argv);
    if (line.quick && line.options.full) throw CLI::ExcludesError("--quick", "--full");
    if (line.options.rank >= line.options.ranks) throw CLI::ValidationError("--rank", "is not below --ranks");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kGood : 2;
  }
  if (!line.merge.empty()) return MergeFiles(line.merge, line.policy);
  line.options.memory_bytes = line.memory_mib * kMiB;
  if (line.options.folders.empty()) line.options.folders = {DefaultFolder()};
  return Validate(line);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "glim-validate: %s\n", error.what());
    return kTrouble;
  }
}
