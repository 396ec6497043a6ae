#include "sdk/task_environment/variable_reader.h"

#include <algorithm>
#include <utility>

namespace glim {

Status WrongVariable(TaskVariable variable, const std::string& what, const std::string& fix) {
  const std::string name = NameOf(variable);
  return InvalidArgument(name, name + ": " + what, fix);
}

Result<std::string> VariableReader::Text(TaskVariable variable) const {
  std::optional<std::string> text = lookup_(NameOf(variable));
  if (text && !text->empty()) return *std::move(text);
  return WrongVariable(variable, "it is not set", "run under Glim or torchrun, or give the arguments explicitly");
}

Result<std::uint32_t> VariableReader::Number(TaskVariable variable, std::uint32_t least, std::uint32_t most) const {
  const Result<std::string> text = Text(variable);
  if (!text.ok()) return text.status();
  return ParseNumber(variable, *text, least, most);
}

Result<std::uint32_t> VariableReader::ParseNumber(TaskVariable variable, const std::string& text, std::uint32_t least,
                                                  std::uint32_t most) {
  constexpr std::size_t kDigitsMax = 10;
  std::uint64_t value = 0;
  for (const char c : text.substr(0, kDigitsMax)) value = value * 10 + static_cast<std::uint64_t>(c - '0');
  const bool whole = !text.empty() && text.size() <= kDigitsMax &&
                     std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (whole && value >= least && value <= most) return static_cast<std::uint32_t>(value);
  return WrongVariable(variable,
                       "'" + text + "' is not a number from " + std::to_string(least) + " to " + std::to_string(most),
                       "leave it as Glim sets it");
}

std::vector<std::string> SplitVariable(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace glim
