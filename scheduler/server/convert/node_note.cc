#include "scheduler/server/convert/node_note.h"

#include <algorithm>
#include <set>

#include "scheduler/core/model/cordon.h"
#include "scheduler/core/model/health_rules.h"

namespace glim::server {
namespace {

// "pcie slow of 0000:3b:00.0: 8 GT/s". Of those for which no job starts there while they last.
std::string KeepsAway(const core::HealthCondition& condition) {
  if (!core::KeepsJobsAway(condition)) return "";
  std::string words = condition.check;
  std::replace(words.begin(), words.end(), '_', ' ');
  if (!condition.device.empty()) words += " of " + condition.device;
  return condition.text.empty() ? words : words + ": " + condition.text;
}

// "has tasks that are to go: job 12's, job 13's": no job gets the node before they are gone.
std::string TasksToGo(const core::Node& node) {
  std::set<core::JobId> jobs;
  for (const core::TaskId& task : node.stale_tasks) jobs.insert(task.attempt.job);
  std::string words;
  for (const core::JobId job : jobs) {
    words += (words.empty() ? "has tasks that are to go: job " : ", job ") + std::to_string(job.value) + "'s";
  }
  return words;
}

}  // namespace

std::string NodeNote(const core::Node& node) {
  std::string words = node.cordon ? core::CordonInWords(*node.cordon) : "";
  const auto add = [&words](const std::string& what) {
    if (!what.empty()) words += (words.empty() ? "" : "; ") + what;
  };
  add(!node.message.empty() ? node.message : !node.fault.empty() ? node.fault : node.root_error);
  add(TasksToGo(node));
  if (!node.hardware_differs.empty()) add("labels differ: " + node.hardware_differs);
  for (const core::HealthCondition& condition : node.health_conditions) add(KeepsAway(condition));
  return words;
}

}  // namespace glim::server
