// For tests: whether variables are what the table says.
#pragma once

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/task_environment/task_environment.h"
#include "sdk/task_environment/variable_reader.h"

namespace glim::testing {

inline bool IsNumber(const std::string& text, long long least, long long most) {
  long long value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && value >= least && value <= most;
}

inline bool IsAddress(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  return colon != std::string::npos && colon > 0 && IsNumber(text.substr(colon + 1), 1, 65535);
}

inline bool IsPeer(const std::string& text) {
  constexpr std::size_t kKeyDigits = 64;
  return text.find_first_not_of("0123456789abcdef") == kKeyDigits && text[kKeyDigits] == '@' &&
         IsAddress(text.substr(kKeyDigits + 1));
}

inline bool HasForm(VariableForm form, const std::string& text) {
  constexpr long long kMost = 1LL << 62;
  const auto all = [&](VariableForm one) {
    const std::vector<std::string> parts = SplitVariable(text);
    return text.empty() ||
           std::all_of(parts.begin(), parts.end(), [&](const std::string& part) { return HasForm(one, part); });
  };
  switch (form) {
    case VariableForm::kText:
    case VariableForm::kTexts: return true;
    case VariableForm::kCount: return IsNumber(text, 0, kMost);
    case VariableForm::kStep: return IsNumber(text, -1, kMost);
    case VariableForm::kFlag: return text == "0" || text == "1";
    case VariableForm::kPath: return text.starts_with('/');
    case VariableForm::kPort: return IsNumber(text, 1, 65535);
    case VariableForm::kHost: return !text.empty() && text.find_first_of(", ") == std::string::npos;
    case VariableForm::kAddress: return IsAddress(text);
    case VariableForm::kCounts: return all(VariableForm::kCount);
    case VariableForm::kHosts: return all(VariableForm::kHost);
    case VariableForm::kPeer: return IsPeer(text);
    case VariableForm::kPeers: return all(VariableForm::kPeer);
  }
  return false;
}

// What is wrong with the variables that `setters` set in a task of this launcher; empty: nothing. With `all` those that
// are set sometimes have to be there, too.
inline std::vector<std::string> Misfits(const TaskVariables& variables, const std::set<VariableSetter>& setters,
                                        bool per_gpu, bool all) {
  std::vector<std::string> misfits;
  std::set<std::string> known;
  for (const TaskVariableInfo& info : kTaskVariables) {
    if (!setters.contains(info.set_by)) continue;
    known.insert(info.name);
    const auto it = variables.find(info.name);
    const bool other_launcher = info.when == (per_gpu ? VariablePresence::kPerNode : VariablePresence::kPerGpu);
    const bool wanted = !other_launcher && (all || info.when != VariablePresence::kSometimes);
    if (it == variables.end()) {
      if (wanted) misfits.push_back(std::string(info.name) + " is not set");
    } else if (other_launcher) {
      misfits.push_back(std::string(info.name) + " is of the other launcher");
    } else if (!HasForm(info.form, it->second)) {
      misfits.push_back(std::string(info.name) + "=" + it->second + " has another form");
    }
  }
  for (const auto& [name, value] : variables) {
    if (!known.contains(name)) misfits.push_back(name + " is not in the table, or another sets it");
  }
  return misfits;
}

// The names that `reader` reads, as the table has them.
inline std::set<std::string> NamesReadBy(std::string_view reader) {
  std::set<std::string> names;
  for (const TaskVariableInfo& info : kTaskVariables) {
    const std::string words = " " + std::string(info.read_by) + " ";
    if (words.find(" " + std::string(reader) + " ") != std::string::npos) names.insert(info.name);
  }
  return names;
}

}  // namespace glim::testing
