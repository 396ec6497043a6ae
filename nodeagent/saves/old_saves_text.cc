// What glim-paths tells the agent of jobs' saves, and is told: a line each, and "end" where nothing is missing.
#include <sstream>

#include "nodeagent/saves/old_saves.h"

namespace glim::nodeagent {
namespace {

constexpr const char* kEnd = "end\n";

std::string ErrorLine(const Status& status) {
  std::string words = status.message();
  for (char& c : words) {
    if (c == '\n') c = ' ';
  }
  return status.ok() ? "" : "error " + words + "\n";
}

Status CutOff() { return Status(StatusCode::kDataLoss, "the answer about jobs' saves is not whole"); }

// Hands each line's words to `take`, up to "end". An "error" line is the status.
template <typename Take>
Status ReadLines(const std::string& text, Take take) {
  std::istringstream lines(text);
  Status status;
  for (std::string line; std::getline(lines, line);) {
    if (line == "end") return status;
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (verb == "error") {
      status = Status(StatusCode::kInternal, line.substr(std::min<std::size_t>(6, line.size())));
    } else if (!take(verb, words)) {
      return CutOff();
    }
  }
  return CutOff();
}

}  // namespace

std::string ToText(const Result<std::vector<FoundSaves>>& found) {
  if (!found.ok()) return ErrorLine(found.status()) + kEnd;
  std::string text;
  for (const FoundSaves& one : *found) {
    text += "saves " + std::to_string(one.job) + " " + std::to_string(one.bytes) + " " +
            std::to_string(one.changed_at_ms) + (one.noted ? " 1 " : " 0 ") + std::to_string(one.saves) + "\n";
  }
  return text + kEnd;
}

Result<std::vector<FoundSaves>> ParseFound(const std::string& text) {
  std::vector<FoundSaves> found;
  const Status status = ReadLines(text, [&](const std::string& verb, std::istream& words) {
    FoundSaves one;
    if (verb != "saves" || !(words >> one.job >> one.bytes >> one.changed_at_ms >> one.noted >> one.saves))
      return false;
    found.push_back(one);
    return true;
  });
  if (!status.ok()) return status;
  return found;
}

std::string ToText(const SavesOrder& order) {
  std::string text;
  for (const std::uint64_t job : order.note) text += "note " + std::to_string(job) + "\n";
  for (const std::uint64_t job : order.remove) text += "remove " + std::to_string(job) + "\n";
  return text + kEnd;
}

Result<SavesOrder> ParseOrder(const std::string& text) {
  SavesOrder order;
  const Status status = ReadLines(text, [&](const std::string& verb, std::istream& words) {
    std::uint64_t job = 0;
    if ((verb != "note" && verb != "remove") || !(words >> job)) return false;
    (verb == "note" ? order.note : order.remove).push_back(job);
    return true;
  });
  if (!status.ok()) return status;
  return order;
}

std::string ToText(const RemovedSaves& removed) {
  std::string text;
  for (const std::uint64_t job : removed.jobs) text += "removed " + std::to_string(job) + "\n";
  return text + ErrorLine(removed.status) + kEnd;
}

RemovedSaves ParseRemoved(const std::string& text) {
  RemovedSaves removed;
  removed.status = ReadLines(text, [&](const std::string& verb, std::istream& words) {
    std::uint64_t job = 0;
    if (verb != "removed" || !(words >> job)) return false;
    removed.jobs.push_back(job);
    return true;
  });
  return removed;
}

}  // namespace glim::nodeagent
