// What commands need of CLI11, without its header: a source that includes that compiles all of it anew, ten seconds.
// Main thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sdk/base/status.h"

namespace CLI {
class App;
}

namespace glim::cli {

enum class Presence { kOptional, kRequired };

// Says what is wrong with a word of the command line; empty: nothing.
using WordCheck = std::function<std::string(const std::string& word)>;

// The syntax of the program or of one of its commands: a handle to what the Parser owns. Options whose names have no
// dash are positional. What targets and functions refer to must live until the parse is over.
class Syntax {
 public:
  explicit Syntax(CLI::App* app) : app_(app) {}

  Syntax AddCommand(const std::string& name, const std::string& help);
  // A command that has commands, one of which must follow.
  Syntax AddGroup(const std::string& name, const std::string& help);
  void Alias(const std::string& name);
  // A line to copy, at the end of --help. Each command has one or more (commands_test.cc).
  void Example(const std::string& line);
  // Called in the parse if this is the command of the line.
  void OnChosen(std::function<void()> chosen);

  void Flag(const std::string& names, bool* target, const std::string& help);
  void Option(const std::string& names, std::string* target, const std::string& help,
              Presence presence = Presence::kOptional);
  void Option(const std::string& names, std::optional<std::string>* target, const std::string& help);
  void Option(const std::string& names, std::optional<std::int64_t>* target, const std::string& help);
  void Option(const std::string& names, std::uint32_t* target, const std::string& help);
  void CheckedOption(const std::string& names, std::string* target, const std::string& help, WordCheck check);
  void BoundedOption(const std::string& names, std::uint32_t* target, const std::string& help, std::uint32_t min,
                     std::uint32_t max);
  // `take` keeps what the word says.
  void ParsedOption(const std::string& names, const std::string& help, WordCheck take,
                    Presence presence = Presence::kOptional);
  // One word or more, each taken by `take`; optional: or none.
  void ParsedOptions(const std::string& names, const std::string& help, WordCheck take,
                     Presence presence = Presence::kRequired);

 private:
  CLI::App* app_;
};

class Parser {
 public:
  // `version` is what --version prints.
  Parser(const std::string& name, const std::string& description, const std::string& version);
  ~Parser();

  Syntax root();

  // Of what follows the program's name. `done` is set if that was answered already, as --help is. Global options may
  // stand behind a command too. A usage error otherwise; it names a command that is near to one that does not exist.
  Status Parse(const std::vector<std::string>& words, bool* done);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace glim::cli
