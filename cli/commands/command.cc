#include "cli/commands/command.h"

#include <charconv>
#include <chrono>

#include "cli/time_text.h"

namespace glim::cli {

void AddJobArgument(CLI::App* command, std::uint64_t* job_id) {
  command
      ->add_option_function<std::string>(
          "JOB",
          [job_id](const std::string& word) {
            const char* const end = word.data() + word.size();
            const auto [rest, error] = std::from_chars(word.data(), end, *job_id);
            if (error != std::errc() || rest != end || *job_id == 0) {
              throw CLI::ValidationError("JOB", "'" + word + "' is no job number; 'glim queue' lists them");
            }
          },
          "the job's number, as 'glim submit' printed it")
      ->required();
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
