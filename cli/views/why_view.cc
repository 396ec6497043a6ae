#include <fmt/format.h>

#include "cli/render_table.h"
#include "cli/text.h"
#include "cli/views/views.h"
#include "cli/words.h"

namespace glim::cli {

std::string WhyText(const glim::v1::Job& job, bool colour) {
  std::string text = fmt::format("job {} {} is {}", job.id(), EscapeForTerminal(job.spec().name()),
                                 Tint(EscapeForTerminal(job.state()), StateStyle(job.state()), colour));
  const std::string note = job.state() == "queued" ? "" : JobNote(job);
  text += note.empty() ? "\n" : fmt::format(": {}\n", EscapeForTerminal(note));
  if (job.blockers_size() == 0) return text;
  Table table({{"REASON"}, {"HAVE", true}, {"NEED", true}, {"HELD BY", false, 40}, {"WHY"}});
  for (const auto& blocker : job.blockers()) {
    std::string holders;
    for (const std::uint64_t id : blocker.job_ids()) holders += (holders.empty() ? "" : ", ") + std::to_string(id);
    const bool amounts = blocker.have() != 0 || blocker.need() != 0;
    table.AddRow({blocker.kind(), amounts ? std::to_string(blocker.have()) : "-",
                  amounts ? std::to_string(blocker.need()) : "-", holders.empty() ? "-" : holders, blocker.message()});
  }
  return text + table.Render(colour);
}

}  // namespace glim::cli
