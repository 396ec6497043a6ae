#include "cli/commands/command.h"

#include <charconv>
#include <chrono>

#include <fmt/format.h>

#include "cli/time_text.h"

namespace glim::cli {

namespace {

std::uint64_t JobNumber(const std::string& word) {
  std::uint64_t number = 0;
  const char* const end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc() || rest != end || number == 0) {
    throw CLI::ValidationError("JOB", "'" + word + "' is no job number; 'glim queue' lists them");
  }
  return number;
}

}  // namespace

CLI::Option* AddJobArgument(CLI::App* command, std::uint64_t* job_id) {
  return command
      ->add_option_function<std::string>(
          "JOB", [job_id](const std::string& word) { *job_id = JobNumber(word); },
          "the job's number, as 'glim submit' printed it")
      ->required();
}

void AddJobsArgument(CLI::App* command, std::vector<std::uint64_t>* job_ids) {
  command
      ->add_option_function<std::vector<std::string>>(
          "JOB",
          [job_ids](const std::vector<std::string>& words) {
            for (const std::string& word : words) job_ids->push_back(JobNumber(word));
          },
          "the jobs' numbers, as 'glim submit' printed them")
      ->required();
}

Status Together(const std::vector<Status>& failures, std::size_t of, const char* what) {
  if (failures.empty()) return Status::Ok();
  if (failures.size() == 1) return failures.front();
  std::string message = fmt::format("{} of {} jobs {}", failures.size(), of, what);
  for (const Status& failure : failures) message += "\n" + failure.message();
  return Status(failures.front().code(), message).WithReason(failures.front().reason());
}

CLI::Option* AddDurationOption(CLI::App* command, const std::string& names, Duration* target,
                               const std::string& help) {
  return command->add_option_function<std::string>(
      names,
      [names, target](const std::string& word) {
        const bool bare = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
        const auto duration = ParseDuration(bare ? word + "s" : word);
        if (!duration) throw CLI::ValidationError(names, "'" + word + "' is no duration; write it like 30s or 5m");
        *target = *duration;
      },
      help);
}

TimePoint Now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

}  // namespace glim::cli
