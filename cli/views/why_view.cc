#include <fmt/format.h>

#include "cli/text/render_table.h"
#include "cli/text/text.h"
#include "cli/text/words.h"
#include "cli/views/idle_gpus_text.h"
#include "cli/views/outlook_text.h"
#include "cli/views/save_failure_text.h"
#include "cli/views/stall_text.h"
#include "cli/views/views.h"

namespace glim::cli {

std::string WhyText(const glim::v1::Job& job, bool colour) {
  std::string text = fmt::format("job {} {} is {}", job.id(), Escaped(job.spec().name()),
                                 Tint(Escaped(job.state()), StateStyle(job.state()), colour));
  const std::string note = job.state() == "queued" ? "" : JobNote(job);
  text += note.empty() ? "\n" : fmt::format(": {}\n", Escaped(note));
  const bool lives = job.state() == "starting" || job.state() == "running" || job.state() == "interrupting";
  if (lives && job.attempts_size() > 0 && job.attempts(job.attempts_size() - 1).borrowed()) {
    text += "it is beyond a quota: it counts as class low, and gives its nodes back first\n";
  }
  return text + BlockersTable(job.blockers(), colour, 0);
}

namespace {

// Of the newest attempt that stands still, or ended because it did.
std::string StallIn(const glim::v1::Job& job, TimePoint now) {
  for (int i = job.attempts_size() - 1; i >= 0; --i) {
    const std::string text = StallText(job.attempts(i), now, {.indent = 0, .stacks = true});
    if (!text.empty()) return fmt::format("\nattempt {}: {}", job.attempts(i).ref().number(), text);
  }
  return "";
}

// Of the newest one: GPUs that nobody uses, a save that failed.
std::string ComplaintsIn(const glim::v1::Job& job, TimePoint now) {
  if (job.attempts_size() == 0) return "";
  const glim::v1::Attempt& newest = *job.attempts().rbegin();
  std::string text;
  for (const std::string& line : {IdleGpusText(newest, now, 0), SaveFailureText(newest, 0)}) {
    if (!line.empty()) text += fmt::format("\nattempt {}: {}", newest.ref().number(), line);
  }
  return text;
}

}  // namespace

std::string WhyText(const glim::v1::ExplainJobResponse& why, TimePoint now, bool colour) {
  std::string text = WhyText(why.job(), colour) + StallIn(why.job(), now) + ComplaintsIn(why.job(), now);
  if (!why.has_outlook()) return text;
  text += "\n" + OutlookLines(why.outlook(), now, 0);
  if (why.counterfactuals_size() == 0) {
    return text + "tried        fewer nodes, other zones and higher classes: it would not start now with any of them\n";
  }
  for (int i = 0; i < why.counterfactuals_size(); ++i) {
    text += fmt::format("{:<13}{}\n", i == 0 ? "tried" : "", Escaped(why.counterfactuals(i).message()));
  }
  return text;
}

}  // namespace glim::cli
