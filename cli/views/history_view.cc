#include <fmt/format.h>

#include "cli/text/render_table.h"
#include "cli/text/time_text.h"
#include "cli/text/words.h"
#include "cli/views/views.h"
#include "sdk/base/duration_text.h"

namespace glim::cli {
namespace {

std::string GpuHours(const glim::v1::EndedJob& job) {
  constexpr double kMsPerHour = 3'600'000;
  return fmt::format("{:.2f}{}", static_cast<double>(job.gpu_ms()) / kMsPerHour,
                     job.simulated_gpus() ? " (simulated)" : "");
}

}  // namespace

std::string HistoryTable(const std::vector<glim::v1::EndedJob>& jobs, TimePoint now, bool colour) {
  Table table({{"JOB", true},
               {"NAME", false, 32},
               {"USER", false, 16},
               {"STATE"},
               {"NODES", true},
               {"ATTEMPTS", true},
               {"INTERRUPTS", true},
               {"STEPS LOST", true},
               {"GPU-HOURS", true},
               {"WAITED", true},
               {"TOOK", true},
               {"ENDED"},
               {"NOTE", false, 100}});
  for (const auto& job : jobs) {
    table.AddRow({std::to_string(job.id()), job.name(), job.user(), Cell(job.state(), StateStyle(job.state())),
                  std::to_string(job.nodes()), std::to_string(job.attempts()), std::to_string(job.interrupts()),
                  std::to_string(job.steps_lost()), GpuHours(job), RoundedDurationText({job.waited_ms()}),
                  RoundedDurationText({job.ended_at_ms() - job.submitted_at_ms()}), FormatAgo({job.ended_at_ms()}, now),
                  job.message()});
  }
  return table.Render(colour);
}

}  // namespace glim::cli
