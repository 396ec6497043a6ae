#include "cli/commands/syntax.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "cli/text/errors.h"
#include "sdk/base/suggest.h"

namespace glim::cli {
namespace {

constexpr std::size_t kWordShown = 64;

void Take(const std::string& names, const WordCheck& take, const std::string& word) {
  const std::string wrong = take(word);
  if (!wrong.empty()) throw CLI::ValidationError(names, wrong);
}

// A WordCheck: what is wrong with the word, else `number` is set. The parser's own words name no range.
template <typename Number>
std::string ReadInto(const std::string& word, Number low, Number high, Number* number) {
  const char* const end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, *number);
  if (error == std::errc() && rest == end && *number >= low && *number <= high) return "";
  const bool bound = high != std::numeric_limits<Number>::max();
  return "'" + word.substr(0, kWordShown) + "' is no whole number from " + std::to_string(low) +
         (bound ? " to " + std::to_string(high) : " on");
}

// A word where a command should be is what is wrong, whatever else the parser found missing.
Status ParseError(const CLI::App& app, const CLI::Error& error) {
  const CLI::App* at = &app;
  std::string program = app.get_name();
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
  return UsageError(
      "'" + *word + "' is no command of '" + program + "'",
      near.empty() ? "'" + program + " --help' lists them" : "did you mean '" + program + " " + near + "'?");
}

}  // namespace

Syntax Syntax::AddCommand(const std::string& name, const std::string& help) {
  CLI::App* const command = app_->add_subcommand(name, help);
  command->footer("");  // no group's examples
  return Syntax(command);
}

Syntax Syntax::AddGroup(const std::string& name, const std::string& help) {
  CLI::App* const group = app_->add_subcommand(name, help);
  group->footer("");
  group->require_subcommand(1);
  group->fallthrough();
  return Syntax(group);
}

void Syntax::Alias(const std::string& name) { app_->alias(name); }

void Syntax::Example(const std::string& line) {
  const std::string before = app_->get_footer();
  app_->footer((before.empty() ? "Example:" : before) + "\n  " + line);
}

void Syntax::OnChosen(std::function<void()> chosen) { app_->callback(std::move(chosen)); }

void Syntax::Flag(const std::string& names, bool* target, const std::string& help) {
  app_->add_flag(names, *target, help);
}

void Syntax::Option(const std::string& names, std::string* target, const std::string& help, Presence presence) {
  app_->add_option(names, *target, help)->required(presence == Presence::kRequired);
}

void Syntax::Option(const std::string& names, std::optional<std::string>* target, const std::string& help) {
  app_->add_option(names, *target, help);
}

void Syntax::Option(const std::string& names, std::optional<std::int64_t>* target, const std::string& help) {
  ParsedOption(names, help, [target](const std::string& word) {
    return ReadInto(word, std::int64_t{0}, std::numeric_limits<std::int64_t>::max(), &target->emplace());
  });
}

void Syntax::Option(const std::string& names, std::uint32_t* target, const std::string& help) {
  BoundedOption(names, target, help, 0, UINT32_MAX);
}

void Syntax::CheckedOption(const std::string& names, std::string* target, const std::string& help, WordCheck check) {
  app_->add_option(names, *target, help)->check(std::move(check));
}

void Syntax::BoundedOption(const std::string& names, std::uint32_t* target, const std::string& help, std::uint32_t min,
                           std::uint32_t max) {
  ParsedOption(names, help, [target, min, max](const std::string& word) { return ReadInto(word, min, max, target); });
}

void Syntax::ParsedOption(const std::string& names, const std::string& help, WordCheck take, Presence presence) {
  app_->add_option_function<std::string>(
          names, [names, take = std::move(take)](const std::string& word) { Take(names, take, word); }, help)
      ->required(presence == Presence::kRequired);
}

void Syntax::ParsedOptions(const std::string& names, const std::string& help, WordCheck take, Presence presence) {
  app_->add_option_function<std::vector<std::string>>(
          names,
          [names, take = std::move(take)](const std::vector<std::string>& words) {
            for (const std::string& word : words) Take(names, take, word);
          },
          help)
      ->required(presence == Presence::kRequired);
}

Parser::Parser(const std::string& name, const std::string& description, const std::string& version)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->set_version_flag("--version", version);
  app_->require_subcommand(1);
}

Parser::~Parser() = default;

Syntax Parser::root() { return Syntax(app_.get()); }

Status Parser::Parse(const std::vector<std::string>& words, bool* done) {
  for (CLI::App* command : app_->get_subcommands([](CLI::App*) { return true; })) command->fallthrough();
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // CLI11's order
  try {
    app_->parse(reversed);
  } catch (const CLI::Success& help) {
    *done = true;
    app_->exit(help);
  } catch (const CLI::Error& error) {
    return ParseError(*app_, error);
  }
  return Status::Ok();
}

}  // namespace glim::cli
