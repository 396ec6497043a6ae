// Every command of the program, found by walking its help: each has an example that it would take, a JSON form, and an
// exit code that is tried here. A command that is added without a row fails.
#include <algorithm>
#include <functional>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "cli/testing/cli_fixture.h"

namespace glim::cli {
namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;

enum class Prints {
  kJson,     // with -o json nothing else on standard output
  kLines,    // a document a line, and none of nothing
  kNothing,  // what it did is a word on standard error
  kBytes,    // what a rank wrote, whatever the format
};
enum class Asks { kScheduler, kNobody };  // the latter works where no scheduler does

struct Row {
  const char* command;
  std::vector<std::string> arguments;
  int exit_code;  // against the fake scheduler, which has job 7, running, and no checkpoints
  Prints prints = Prints::kJson;
  Asks asks = Asks::kScheduler;
};

// Rows that operators set: of the layout, and files of them all.
std::vector<Row> LayoutRows() {
  return {
      {"admin pool ls", {}, 0},
      {"admin pool get", {}, 0},
      {"admin pool diff", {"--file", "rows.yaml"}, 1},
      {"admin pool set", {"a100", "-y"}, 0},
      {"admin pool rm", {"a100", "-y"}, 0},
      {"admin zone ls", {}, 0},
      {"admin zone get", {}, 0},
      {"admin zone diff", {"--file", "rows.yaml"}, 1},
      {"admin zone set", {"A", "-y"}, 0},
      {"admin zone rm", {"A", "-y"}, 0},
      {"admin link ls", {}, 0},
      {"admin link get", {}, 0},
      {"admin link diff", {"--file", "rows.yaml"}, 1},
      {"admin link set", {"A", "B", "-y"}, 0},
      {"admin link rm", {"A", "B", "-y"}, 0},
      {"admin team get", {}, 0},
      {"admin team diff", {"--file", "rows.yaml"}, 1},
      {"admin quota get", {}, 0},
      {"admin quota diff", {"--file", "rows.yaml"}, 1},
      {"admin user get", {}, 0},
      {"admin user diff", {"--file", "rows.yaml"}, 1},
  };
}

std::vector<Row> ReserveRows() {
  return {
      {"admin reserve set", {"r1", "--node", "n1", "--for", "1h", "--reason", "x", "-y"}, 0},
      {"admin reserve rm", {"r1", "-y"}, 0},
      {"admin reserve ls", {}, 0},
      {"admin budget set", {"vision", "--gpu-hours", "5", "-y"}, 0},
      {"admin budget rm", {"vision", "-y"}, 0},
      {"admin budget ls", {}, 0},
  };
}

std::vector<Row> SchedRows() {
  return {
      {"admin sched status", {}, 0},
      {"admin sched trace", {"7"}, 0},
      {"admin sched simulate", {"--policy", "policy.yaml"}, 6, Prints::kNothing},  // no job to play
  };
}

std::vector<Row> OwnJobsRows() {
  return {
      {"cancel", {"7"}, 0},
      {"suspend", {"7"}, 0},
      {"resume", {"7"}, 0},
      {"update", {"7", "--time", "4h"}, 0},
  };
}

std::vector<Row> MostRows() {
  return {
      {"submit", {"job.yaml"}, 0},
      {"plan", {"job.yaml"}, 0},
      {"queue", {}, 0},
      {"status", {"7"}, 0},
      {"why", {"7"}, 0},
      {"logs", {"7"}, 0, Prints::kBytes},
      {"events", {}, 0, Prints::kLines},
      {"history", {}, 0},
      {"nodes", {}, 0},
      {"wait", {"8"}, 1},  // it failed
      {"ckpt ls", {"."}, 0, Prints::kJson, Asks::kNobody},
      {"ckpt show", {"."}, 3, Prints::kNothing, Asks::kNobody},
      {"ckpt verify", {"."}, 3, Prints::kNothing, Asks::kNobody},
      {"ckpt diff", {".", "."}, 3, Prints::kNothing, Asks::kNobody},
      {"ckpt convert", {"to-torch", ".", "model.pt"}, 2, Prints::kNothing, Asks::kNobody},  // it has no JSON
      {"login", {"--token"}, 2, Prints::kNothing},
      {"logout", {}, 0, Prints::kNothing, Asks::kNobody},  // there was no login
      {"whoami", {}, 0},
      {"secret set", {"key"}, 0},
      {"secret list", {}, 0},
      {"secret rm", {"key"}, 0},
      {"doctor", {"client"}, 0, Prints::kJson, Asks::kNobody},
      {"version", {}, 0},
      {"admin status", {}, 0},
      {"admin config show", {}, 0},
      {"admin config reload", {}, 0},
      {"admin config check", {"policy.yaml"}, 0, Prints::kJson, Asks::kNobody},
      {"admin report", {}, 0},
      {"admin team ls", {}, 0},
      {"admin team add", {"vision"}, 0},
      {"admin team set", {"vision", "-y"}, 0},
      {"admin team rm", {"vision", "-y"}, 0},
      {"admin quota ls", {}, 0},
      {"admin quota set", {"user:kim", "high", "16", "-y"}, 0},
      {"admin quota rm", {"user:kim", "high", "-y"}, 0},
      {"admin user ls", {}, 0},
      {"admin user add", {"kim"}, 0},
      {"admin user set", {"kim", "-y"}, 0},
      {"admin user rm", {"kim", "-y"}, 0},
      {"admin user import", {"--file", "users.yaml"}, 0},
      {"admin token create", {}, 0},
      {"admin token list", {}, 0},
      {"admin token revoke", {"abc", "-y"}, 0},
      {"admin node ls", {}, 0},
      {"admin node show", {"n1"}, 0},
      {"admin node cordon", {"n1", "--reason", "x", "-y"}, 0},
      {"admin node drain", {"n1", "--reason", "x", "-y"}, 0},
      {"admin node uncordon", {"n1", "-y"}, 0},
      {"admin node return", {"n1", "-y"}, 0},
      {"admin node remove", {"n1", "-y"}, 0},
      {"admin node invite", {"n1", "-y"}, 0},
      {"admin node revoke", {"n1", "-y"}, 0},
      {"admin node label", {"n1", "--zone", "B", "-y"}, 0},
      {"admin job suspend", {"7", "--reason", "x", "-y"}, 0},
      {"admin job resume", {"9", "-y"}, 0},
      {"admin job priority", {"7", "high", "--reason", "x", "-y"}, 0},
      {"admin job move", {"7", "--reason", "x", "-y"}, 0},
      {"admin job kill", {"7", "--reason", "x", "-y"}, 0},
      {"admin kill", {"--user", "kim", "--reason", "x", "-y"}, 0},
      {"admin audit", {}, 0, Prints::kLines},
      {"admin audit verify", {}, 0},
      {"admin ca rotate", {}, 0},
      {"admin outage resolve", {"-y"}, 0},
  };
}

const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all = MostRows();
    for (const Row& row : LayoutRows()) all.push_back(row);
    for (const Row& row : ReserveRows()) all.push_back(row);
    for (const Row& row : SchedRows()) all.push_back(row);
    for (const Row& row : OwnJobsRows()) all.push_back(row);
    all.push_back({"admin node validate", {"n2", "-y"}, 0});
    return all;
  }();
  return rows;
}

std::vector<std::string> WordsOf(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// What --help says of a command.
struct Help {
  std::string text;
  std::vector<std::string> commands, examples;
  bool runs = false;  // also without one of `commands`
};

Help ReadHelp(const std::string& text) {
  Help help{text, {}, {}};
  bool listing = false;
  for (const std::string& line : LinesOf(text)) {
    if (line.starts_with("Usage: ")) help.runs = !line.ends_with(" SUBCOMMAND");
    if (line.starts_with("  glim ")) help.examples.push_back(line.substr(2));
    const bool entry = listing && line.size() > 2 && line.starts_with("  ") && line[2] != ' ';
    if (entry) help.commands.push_back(line.substr(2, line.find_first_of(" ,", 2) - 2));
    if (line.empty()) listing = false;
    if (line == "Subcommands:") listing = true;
  }
  return help;
}

class CommandsTest : public CliTest {
 protected:
  CommandsTest() {
    Write("job.yaml", kSpec);
    Write("policy.yaml", "quantum_min: 10m\n");
    Write("rows.yaml",
          "pools: [{name: a100}]\nzones: [{name: A}]\nlinks: [{zone_a: A, zone_b: B}]\nusers: [{name: kim}]\n"
          "teams: [{name: vision}]\nquotas: [{subject: everybody, class: low, nodes: 1}]\n");
    Write("users.yaml", "users: {kim: {uid: 1001}}\n");
    const auto state = server_.Lock();
    AddJob(state.state, 7, "running").add_attempts()->mutable_ref()->set_number(1);
    AddJob(state.state, 8, "failed");
    state->logs[1] = "of a rank\n";
    AddJob(state.state, 9, "held");
    state->nodes.emplace_back().set_name("n2");
    state->nodes.back().set_state("ready");
    state->nodes.emplace_back().set_name("n1");
    state->nodes.back().set_state("quarantined");
    state->identity.tokens.add_tokens()->set_id("abc");
  }

  Help HelpOf(const std::string& command) {
    std::vector<std::string> words = WordsOf(command);
    words.emplace_back("--help");
    const GlimResult result = Glim(words);
    EXPECT_EQ(result.exit_code, 0) << command << result.err;
    return ReadHelp(result.out);
  }

  // All commands that can be run, by their words, with what their help says.
  std::map<std::string, Help> Walk() {
    std::map<std::string, Help> found;
    std::function<void(const std::string&)> walk = [&](const std::string& at) {
      const Help help = HelpOf(at);
      if (help.runs) found.emplace(at, help);
      for (const std::string& name : help.commands) walk(at.empty() ? name : at + " " + name);
    };
    walk("");
    return found;
  }

  // How much was really asked for by commands that ask before.
  std::size_t Changes() {
    const auto state = server_.Lock();
    const auto real = [](const auto& requests) {
      const auto done = [](const auto& request) { return !request.dry_run(); };
      return static_cast<std::size_t>(std::count_if(requests.begin(), requests.end(), done));
    };
    const FakeIdentity& identity = state->identity;
    return real(state->row_changes) + real(state->cordons) + real(state->drains) + real(state->uncordons) +
           real(state->priorities) + real(state->updates) + real(state->moves) + real(state->user_cancels) +
           real(state->reservations_set) + real(state->reservations_removed) + real(state->budgets_set) +
           state->account_changes.size() + state->returned_nodes.size() + state->removed_nodes.size() +
           state->cancels.size() + state->suspends.size() + identity.revoked.size() + identity.invitations.size() +
           identity.nodes_revoked.size() + identity.labels.size();
  }

  GlimResult Run(const Row& row, const std::vector<std::string>& more, const std::string& server = "") {
    std::vector<std::string> words = WordsOf(row.command);
    words.insert(words.end(), row.arguments.begin(), row.arguments.end());
    words.insert(words.end(), more.begin(), more.end());
    GlimOptions options = Options("a value\n");
    if (!server.empty()) options.env["GLIM_SERVER"] = server;
    return GlimProcess(words, options).Finish();
  }
};

TEST_F(CommandsTest, EachIsTriedHereAndNoneIsMissing) {
  std::set<std::string> tried, found;
  for (const Row& row : Rows()) tried.insert(row.command);
  for (const auto& [command, help] : Walk()) found.insert(command);
  std::vector<std::string> missing, gone;
  std::set_difference(found.begin(), found.end(), tried.begin(), tried.end(), std::back_inserter(missing));
  std::set_difference(tried.begin(), tried.end(), found.begin(), found.end(), std::back_inserter(gone));
  EXPECT_THAT(missing, testing::IsEmpty()) << "a new command needs a row in Rows()";
  EXPECT_THAT(gone, testing::IsEmpty());
}

TEST_F(CommandsTest, EachHasAnExampleThatTheParserTakes) {
  for (const auto& [command, help] : Walk()) {
    EXPECT_FALSE(help.examples.empty()) << command << ": Syntax::Example() gives it one";
    for (const std::string& example : help.examples) {
      EXPECT_THAT(example + " ", testing::StartsWith("glim " + command + " "));
      for (const std::string& word : WordsOf(example)) {
        if (word == "--") break;  // what follows is the job's command
        const std::string option = word.substr(0, word.find('='));
        if (!option.starts_with("--")) continue;
        EXPECT_THAT(help.text, HasSubstr(option + " ")) << example;
      }
    }
  }
}

TEST_F(CommandsTest, EachEndsWithItsExitCodeAndSaysWhatItPrintsAsJson) {
  for (const Row& row : Rows()) {
    const GlimResult result = Run(row, {"-o", "json"});
    EXPECT_EQ(result.exit_code, row.exit_code) << row.command << ": " << result.out << result.err;
    if (row.prints == Prints::kBytes) continue;
    if (row.prints != Prints::kLines) {
      EXPECT_EQ(result.out.empty(), row.prints == Prints::kNothing) << row.command << ": " << result.out;
    }
    // One document, or one a line where there is no end to them.
    if (json::accept(result.out)) continue;
    for (const std::string& line : LinesOf(result.out)) EXPECT_TRUE(json::accept(line)) << row.command << ": " << line;
  }
}

// Those that ask before they change something.
std::vector<Row> AskingRows() {
  std::vector<Row> asking;
  for (const Row& row : Rows()) {
    if (!row.arguments.empty() && row.arguments.back() == "-y") asking.push_back(row);
  }
  return asking;
}

TEST_F(CommandsTest, WhatAsksHasADryRunThatAsksNothingAndChangesNothing) {
  for (Row row : AskingRows()) {
    row.arguments.back() = "--dry-run";
    const GlimResult shown = Run(row, {});
    EXPECT_EQ(shown.exit_code, 0) << row.command << ": " << shown.err;
    EXPECT_THAT(shown.err, AnyOf(HasSubstr("nothing was changed"), HasSubstr("nothing differs"))) << row.command;
    EXPECT_NE(shown.out, "") << row.command;
    const json document = json::parse(Run(row, {"-o", "json"}).out, nullptr, false);
    ASSERT_FALSE(document.is_discarded()) << row.command;
    EXPECT_EQ(document["changed"], false) << row.command;
    EXPECT_EQ(Changes(), 0u) << row.command;
  }
}

TEST_F(CommandsTest, WhatAsksChangesNothingWithoutATerminalAndWithoutYes) {
  for (Row row : AskingRows()) {
    row.arguments.pop_back();
    const GlimResult refused = Run(row, {});
    EXPECT_EQ(refused.exit_code, 2) << row.command << ": " << refused.out << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("there is no terminal to ask on")) << row.command;
    EXPECT_EQ(Changes(), 0u) << row.command;
  }
}

TEST_F(CommandsTest, ListsAndRemovalsHaveBothTheirWords) {
  for (const char* kind : {"team", "user", "quota", "pool", "zone", "link"}) {
    const Help help = HelpOf(std::string("admin ") + kind);
    EXPECT_THAT(help.commands, testing::IsSupersetOf({"ls", "rm"})) << kind;
    for (const char* word : {"list", "remove"}) {
      EXPECT_EQ(Glim({"admin", kind, word, "--help"}).exit_code, 0) << kind << word;
    }
  }
}

TEST_F(CommandsTest, AWordTooManyIsAFaultOfTheCommandLine) {
  for (const Row& row : Rows()) {
    const GlimResult result = Run(row, {"--no-such-option", "-o", "json"});
    EXPECT_EQ(result.exit_code, 2) << row.command;
    EXPECT_EQ(result.out, "") << row.command;
    EXPECT_TRUE(json::accept(result.err)) << row.command << ": " << result.err;
  }
}

TEST_F(CommandsTest, WithoutASchedulerEachSaysSo) {
  for (const Row& row : Rows()) {
    if (row.asks == Asks::kNobody || std::string(row.command) == "login") continue;
    const GlimResult result = Run(row, {"-o", "json"}, "127.0.0.1:1");
    EXPECT_EQ(result.exit_code, 8) << row.command << ": " << result.out << result.err;
    EXPECT_TRUE(json::accept(result.err)) << row.command << ": " << result.err;
  }
}

}  // namespace
}  // namespace glim::cli
