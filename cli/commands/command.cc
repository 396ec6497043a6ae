#include "cli/commands/command.h"

#include <charconv>
#include <chrono>

#include <fmt/format.h>

#include "sdk/base/duration_text.h"

namespace glim::cli {

namespace {

// A WordCheck: what is wrong with the word, else `number` is set.
std::string ReadJobNumber(const std::string& word, std::uint64_t* number) {
  const char* const end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, *number);
  if (error == std::errc() && rest == end && *number != 0) return "";
  return "'" + word + "' is no job number; 'glim queue' lists them";
}

}  // namespace

void AddJobArgument(Syntax command, std::uint64_t* job_id, Presence presence) {
  command.ParsedOption(
      "JOB", "the job's number, as 'glim submit' printed it",
      [job_id](const std::string& word) { return ReadJobNumber(word, job_id); }, presence);
}

void AddJobsArgument(Syntax command, std::vector<std::uint64_t>* job_ids, Presence presence) {
  command.ParsedOptions(
      "JOB", "the jobs' numbers, as 'glim submit' printed them",
      [job_ids](const std::string& word) { return ReadJobNumber(word, &job_ids->emplace_back()); }, presence);
}

Status Together(const std::vector<Status>& failures, std::size_t of, const char* what) {
  if (failures.empty()) return Status::Ok();
  if (failures.size() == 1) return failures.front();
  std::string message = fmt::format("{} of {} jobs {}", failures.size(), of, what);
  for (const Status& failure : failures) message += "\n" + failure.message();
  return Status(failures.front().code(), message).WithReason(failures.front().reason());
}

void AddDurationOption(Syntax command, const std::string& names, Duration* target, const std::string& help) {
  command.ParsedOption(names, help, [target](const std::string& word) -> std::string {
    const bool bare = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
    const auto duration = ParseDuration(bare ? word + "s" : word);
    if (!duration) return "'" + word + "' is no duration; write it like 30s or 5m";
    *target = *duration;
    return "";
  });
}

TimePoint Now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

}  // namespace glim::cli
