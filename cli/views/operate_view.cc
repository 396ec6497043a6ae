#include "cli/views/operate_view.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/text/render_table.h"
#include "cli/text/text.h"
#include "cli/text/time_text.h"
#include "cli/views/outlook_text.h"
#include "sdk/base/duration_text.h"
#include "sdk/base/gpu_time_text.h"

namespace glim::cli {
namespace {

constexpr int kJobsShownMax = 20;

using Victims = google::protobuf::RepeatedPtrField<glim::v1::Victim>;

std::string OutText(const glim::v1::Node& node) {
  if (!node.has_cordon()) return "in use";
  const glim::v1::Cordon& cordon = node.cordon();
  std::string text = cordon.drain() ? "drained" : "cordoned";
  text += fmt::format(" by {}: {}", cordon.by().empty() ? "an operator" : cordon.by(), cordon.reason());
  if (cordon.until_ms() > 0) text += fmt::format(", until {}", FormatRfc3339(TimePoint{cordon.until_ms()}));
  if (cordon.deadline_ms() > 0) {
    text += fmt::format(", who is there is stopped at {}", FormatRfc3339(TimePoint{cordon.deadline_ms()}));
  }
  return text;
}

std::string VictimLines(const Victims& jobs, const char* what, bool colour) {
  if (jobs.empty()) return "no job is there\n";
  glim::v1::PlannedStart shown;
  *shown.mutable_victims() = jobs;
  return fmt::format("{}:\n", what) + VictimsTable(shown, colour, 2);
}

// Who is there and is not interrupted: without what an interrupt would cost.
std::string StayingLines(const Victims& jobs, bool colour) {
  if (jobs.empty()) return "no job is there\n";
  Table table({{"JOB", true}, {"NAME", false, 32}, {"USER"}, {"PRIORITY"}});
  for (const glim::v1::Victim& job : jobs) {
    table.AddRow({std::to_string(job.job_id()), job.name(), job.user(), job.priority()});
  }
  return "it stays there:\n" + table.Render(colour, 2);
}

std::string DiffLines(const glim::v1::Node& before, const glim::v1::Node& after) {
  return fmt::format("node {}\n  - {}\n  + {}\n", Escaped(after.name()), Escaped(OutText(before)),
                     Escaped(OutText(after)));
}

std::string AllAtRisk(const glim::v1::WeighJobsResponse& risk) {
  std::int64_t gpu_ms = 0;
  for (const glim::v1::JobAtRisk& job : risk.jobs()) gpu_ms += job.gpu_ms();
  return fmt::format("not saved: {} in all\n", GpuTimeText(gpu_ms));
}

}  // namespace

glim::v1::ListNodesRequest ListRequestFor(const std::string& node) {
  glim::v1::ListNodesRequest request;
  request.set_name(node);
  return request;
}

glim::v1::Node NodeOf(const glim::v1::ListNodesResponse& list, const std::string& name) {
  for (const glim::v1::Node& node : list.nodes()) {
    if (node.name() == name) return node;
  }
  return {};
}

std::string NodeChangeText(const glim::v1::Node& before, const glim::v1::CordonNodeResponse& after, TimePoint,
                           bool colour) {
  return DiffLines(before, after.node()) + StayingLines(after.jobs(), colour);
}

std::string NodeChangeText(const glim::v1::Node& before, const glim::v1::DrainNodeResponse& after, TimePoint,
                           bool colour) {
  return DiffLines(before, after.node()) + VictimLines(after.jobs(), "it is asked to save and leave", colour);
}

std::string NodeChangeText(const glim::v1::Node& before, const glim::v1::UncordonNodeResponse& after, TimePoint, bool) {
  return DiffLines(before, after.node());
}

std::string JobsText(const std::vector<glim::v1::Job>& jobs, bool colour) {
  Table table({{"JOB", true}, {"NAME", false, 40}, {"USER", false, 20}, {"STATE"}, {"NODES", true}});
  for (const glim::v1::Job& job : jobs) {
    table.AddRow(
        {std::to_string(job.id()), job.spec().name(), job.user(), job.state(), std::to_string(job.spec().nodes())});
  }
  return table.Render(colour);
}

std::string JobsHitText(const std::vector<glim::v1::Job>& jobs, const glim::v1::WeighJobsResponse& risk, bool colour) {
  Table table({{"JOB", true},
               {"NAME", false, 40},
               {"USER", false, 20},
               {"STATE"},
               {"NODES", true},
               {"NOT SAVED", true},
               {"SINCE ITS SAVE", true},
               {"STEPS", true}});
  for (const glim::v1::Job& job : jobs) {
    const auto of_job = [&](const glim::v1::JobAtRisk& one) { return one.job_id() == job.id(); };
    const auto found = std::find_if(risk.jobs().begin(), risk.jobs().end(), of_job);
    const bool none = found == risk.jobs().end();
    table.AddRow({std::to_string(job.id()), job.spec().name(), job.user(), job.state(),
                  std::to_string(job.spec().nodes()), none ? "-" : GpuTimeText(found->gpu_ms()),
                  none ? "-" : RoundedDurationText({found->since_save_ms()}),
                  none ? "-" : std::to_string(found->steps_since_save())});
  }
  return table.Render(colour) + (jobs.size() > 1 ? AllAtRisk(risk) : "");
}

std::string PriorityChangeText(const glim::v1::SetJobPriorityRequest& request,
                               const glim::v1::SetJobPriorityResponse& answer, bool) {
  return fmt::format("job {}\n  - priority {}\n  + priority {}\n", request.job_id(), Escaped(answer.before()),
                     Escaped(answer.after()));
}

std::string MoveText(const glim::v1::MoveJobRequest& request, const glim::v1::MoveJobResponse& answer, bool colour) {
  Victims jobs;
  if (answer.has_cost()) *jobs.Add() = answer.cost();
  return VictimLines(jobs, fmt::format("job {} saves, leaves and goes on elsewhere", request.job_id()).c_str(), colour);
}

std::string KillUserText(const glim::v1::CancelUserJobsRequest& request, const glim::v1::CancelUserJobsResponse& answer,
                         const glim::v1::WeighJobsResponse& risk, bool colour) {
  std::string ids;
  const int shown = std::min(answer.job_ids_size(), kJobsShownMax);
  for (int i = 0; i < shown; ++i) ids += fmt::format("{}{}", i > 0 ? ", " : "", answer.job_ids(i));
  const std::uint32_t more = answer.count() - static_cast<std::uint32_t>(shown);
  if (more > 0) ids += fmt::format(" and {} more", more);
  std::string text = fmt::format("{} {} of user {}{}{}\n", answer.count(), answer.count() == 1 ? "job" : "jobs",
                                 Escaped(request.user()), ids.empty() ? "" : ": ", ids);
  if (risk.jobs().empty()) return text;
  Table table({{"JOB", true}, {"NAME", false, 40}, {"NOT SAVED", true}, {"SINCE ITS SAVE", true}, {"STEPS", true}});
  for (int i = 0; i < std::min(risk.jobs_size(), kJobsShownMax); ++i) {
    const glim::v1::JobAtRisk& job = risk.jobs(i);
    table.AddRow({std::to_string(job.job_id()), job.name(), GpuTimeText(job.gpu_ms()),
                  RoundedDurationText({job.since_save_ms()}), std::to_string(job.steps_since_save())});
  }
  return text + table.Render(colour, 2) + AllAtRisk(risk);
}

}  // namespace glim::cli
