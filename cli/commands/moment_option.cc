#include "cli/commands/moment_option.h"

#include <string>

#include "cli/commands/command.h"
#include "cli/text/time_text.h"
#include "sdk/base/duration_text.h"

namespace glim::cli {

WordCheck IntoMoment(std::optional<TimePoint>* target) {
  return [target](const std::string& word) -> std::string {
    if (const auto age = ParseDuration(word)) {
      *target = Now() - *age;
    } else if (const auto moment = ParseMoment(word)) {
      *target = *moment;
    } else {
      return "'" + word + "' is neither a duration nor a moment; write it like 7d, 2026-11-01 or 2026-11-01T08:30Z";
    }
    return "";
  };
}

WordCheck IntoComingMoment(std::optional<TimePoint>* target) {
  return [target](const std::string& word) -> std::string {
    const auto ahead = ParseDuration(word.starts_with("in ") ? word.substr(3) : word);
    *target = ahead ? Now() + *ahead : ParseMoment(word);
    if (*target) return "";
    return "'" + word + "' is no moment; write it like 'in 2h', 2026-12-01T08:00Z or 2026-12-01T10:00+02:00";
  };
}

}  // namespace glim::cli
