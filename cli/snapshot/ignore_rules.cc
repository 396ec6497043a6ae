#include "cli/snapshot/ignore_rules.h"

namespace glim::cli {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Without the spaces at its end, unless a backslash stands before one.
std::string_view TrimSpaces(std::string_view line) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      if (++i == line.size()) return line;
      end = i + 1;
    } else if (line[i] != ' ') {
      end = i + 1;
    }
  }
  return line.substr(0, end);
}

}  // namespace

IgnoreRules::IgnoreRules(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && line.front() != '#') AddLine(TrimSpaces(line));
  }
}

void IgnoreRules::AddLine(std::string_view line) {
  const bool keep = line.starts_with('!');
  if (keep) line.remove_prefix(1);
  const bool folders_only = line.ends_with('/');
  if (folders_only) line.remove_suffix(1);
  const bool name_only = line.find('/') == std::string_view::npos;
  if (line.starts_with('/')) line.remove_prefix(1);
  if (!line.empty()) rules_.push_back({Glob(line), keep, folders_only, name_only});
}

Verdict IgnoreRules::Decide(std::string_view path, bool is_folder) const {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if (rule->folders_only && !is_folder) continue;
    if (rule->glob.Matches(rule->name_only ? name : path)) return rule->keep ? Verdict::kKeep : Verdict::kIgnore;
  }
  return Verdict::kNone;
}

}  // namespace glim::cli
