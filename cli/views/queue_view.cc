#include <algorithm>

#include "cli/text/gpus.h"
#include "cli/text/render_table.h"
#include "cli/text/time_text.h"
#include "cli/text/words.h"
#include "cli/views/views.h"

namespace glim::cli {

std::string QueueTable(const std::vector<glim::v1::Job>& jobs, TimePoint now, bool colour) {
  Table table({{"JOB", true},
               {"NAME", false, 32},
               {"USER", false, 16},
               {"POOL", false, 16},
               {"PRIORITY"},
               {"STATE"},
               {"NODES", true},
               {"GPUS", true},
               {"STEP", true},
               {"SUBMITTED"},
               {"NOTE", false, 100}});
  for (const auto& job : jobs) {
    std::int64_t step = job.durable_step();
    if (job.attempts_size() > 0) step = std::max(step, job.attempts(job.attempts_size() - 1).last_step());
    table.AddRow({std::to_string(job.id()), job.spec().name(), job.user(), job.spec().pool(), job.priority(),
                  Cell(job.state(), StateStyle(job.state())), std::to_string(job.spec().nodes()),
                  GpuText(GpusOf(job), HasSimulatedGpus(job)), step >= 0 ? std::to_string(step) : "-",
                  FormatAgo({job.submitted_at_ms()}, now), JobNote(job)});
  }
  return table.Render(colour);
}

}  // namespace glim::cli
