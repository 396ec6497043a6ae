#include "scheduler/server/convert/desired_fit.h"

#include <algorithm>
#include <string>

namespace glim::server {
namespace {

constexpr std::size_t kFramingBytes = 64;  // of the message around the set

core::ObservedTask TooLarge(const v1::DesiredTask& task, std::size_t bytes_max) {
  core::ObservedTask failed;
  failed.id = {{core::JobId(task.attempt().job_id()), task.attempt().number()}, task.index()};
  failed.phase = core::TaskPhase::kReleased;
  failed.start_failed = true;
  failed.job_fault = true;
  failed.message = "its order is " + std::to_string(task.ByteSizeLong()) + " bytes, and the node's agent takes " +
                   std::to_string(bytes_max) +
                   ": shorten env and run, or put them into files; an agent of this release takes more";
  return failed;
}

}  // namespace

std::size_t DesiredBytesMax(std::uint32_t told) {
  return told == 0 ? kAgentTakesBytes : std::clamp<std::size_t>(told, kDesiredBytesLeast, kDesiredBytesMax);
}

std::vector<core::ObservedTask> FitDesired(std::size_t bytes_max, v1::DesiredState* set) {
  std::vector<core::ObservedTask> failed;
  while (set->ByteSizeLong() + kFramingBytes > bytes_max) {
    auto& tasks = *set->mutable_tasks();
    const auto size = [](const v1::DesiredTask& task) { return task.launch().ByteSizeLong(); };
    const auto largest =
        std::max_element(tasks.begin(), tasks.end(), [&](const auto& a, const auto& b) { return size(a) < size(b); });
    if (largest == tasks.end() || !largest->has_launch()) break;  // stops and interrupts are small, and always told
    failed.push_back(TooLarge(*largest, bytes_max));
    tasks.erase(largest);
  }
  return failed;
}

}  // namespace glim::server
