#include "cli/views/sched_view.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/text/render_table.h"
#include "cli/text/text.h"
#include "cli/text/time_text.h"
#include "sdk/base/duration_text.h"

namespace glim::cli {
namespace {

constexpr int kStepNodesSaid = 4;

std::string MsOfUs(std::int64_t us) { return fmt::format("{}.{:03} ms", us / 1000, us % 1000); }

std::string TimingInWords(const glim::v1::Timing& timing) {
  if (timing.over() == 0) return "none yet";
  return fmt::format("last {}, p50 {}, p99 {}, max {}", MsOfUs(timing.last_us()), MsOfUs(timing.p50_us()),
                     MsOfUs(timing.p99_us()), MsOfUs(timing.max_us()));
}

std::string HowOftenInWords(const glim::v1::Timing& timing) {
  std::string text = fmt::format("{} since it leads", timing.count());
  if (timing.over() < 2) return text;
  return text + fmt::format("; the figures are over the newest {}, which came in {}", timing.over(),
                            RoundedDurationText(Milliseconds(timing.over_ms())));
}

std::string SinceText(std::int64_t ms, TimePoint now) {
  return fmt::format("{} ({})", FormatRfc3339(TimePoint{ms}), FormatAgo(TimePoint{ms}, now));
}

std::string NodesOfStep(const glim::v1::TraceStep& step) {
  std::string text;
  for (int i = 0; i < std::min(step.nodes_size(), kStepNodesSaid); ++i) text += (i ? ", " : "") + step.nodes(i);
  if (step.nodes_size() > kStepNodesSaid) text += fmt::format(" and {} more", step.nodes_size() - kStepNodesSaid);
  return text;
}

}  // namespace

std::string SchedStatusLines(const glim::v1::GetSchedStatusResponse& status) {
  const TimePoint now{status.now_ms()};
  std::string text;
  text += fmt::format("leader      epoch {}, since {}\n", status.epoch(), SinceText(status.leads_since_ms(), now));
  text += fmt::format("policy      {}, since {}\n",
                      status.policy_source().empty() ? "the defaults" : Escaped(status.policy_source()),
                      SinceText(status.policy_since_ms(), now));
  text +=
      fmt::format("passes      {}\n            {}\n", TimingInWords(status.passes()), HowOftenInWords(status.passes()));
  if (status.last_pass_at_ms() > 0) {
    text += fmt::format("last pass   {}, woken by: {}\n", SinceText(status.last_pass_at_ms(), now),
                        Escaped(status.last_pass_woken_by()));
  }
  std::string wakes;
  for (const auto& one : status.wakes()) {
    wakes += fmt::format("{}{} {}", wakes.empty() ? "" : ", ", Escaped(one.by()), one.count());
  }
  if (!wakes.empty()) text += fmt::format("woken by    {}\n", wakes);
  text += fmt::format("starts      {} decided by these passes\n", status.starts());
  text += fmt::format("jobs        {} queued, {} live\n", status.jobs_queued(), status.jobs_live());
  text += fmt::format("inbox       {} events wait for the next batch\n", status.inbox());
  const std::int64_t due = status.next_deadline_at_ms();
  text +=
      fmt::format("deadline    {}\n",
                  due == 0 ? "none: only an event wakes the planner"
                           : fmt::format("in {}: {}", RoundedDurationText(std::max(Duration{}, TimePoint{due} - now)),
                                         Escaped(status.next_deadline())));
  text += fmt::format("store       {}, commits {}\n            {}\n", Escaped(status.store()),
                      TimingInWords(status.commits()), HowOftenInWords(status.commits()));
  if (status.store_away_since_ms() > 0) {
    text += fmt::format("            nothing can be changed since {}:\n            {}\n",
                        SinceText(status.store_away_since_ms(), now), Escaped(status.store_away_why()));
  }
  return text;
}

std::string TraceText(const glim::v1::TraceJobResponse& trace, bool colour) {
  Table table({{"STAGE"}, {"WHAT WAS TRIED"}, {"NODES"}});
  std::string before;
  for (const glim::v1::TraceStep& step : trace.steps()) {
    table.AddRow({step.stage() == before ? "" : step.stage(), step.message(), NodesOfStep(step)});
    before = step.stage();
  }
  std::string text = table.Render(colour);
  if (trace.steps_left_out() > 0) text += fmt::format("and {} more steps\n", trace.steps_left_out());
  return text;
}

}  // namespace glim::cli
