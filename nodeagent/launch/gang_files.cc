#include "nodeagent/launch/gang_files.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "nodeagent/launch/task_user_file.h"
#include "sdk/task_environment/task_environment.h"

namespace glim::nodeagent {
namespace {

std::string LinesOf(const v1::TaskLaunch& launch, std::string list, TaskVariable variable) {
  if (list.empty()) {
    const auto it = std::find_if(launch.env().begin(), launch.env().end(),
                                 [&](const v1::EnvVar& var) { return var.name() == NameOf(variable); });
    if (it == launch.env().end()) return "";
    list = it->value();
  }
  std::replace(list.begin(), list.end(), ',', '\n');
  return list + '\n';
}

}  // namespace

Status WriteGangFiles(const std::optional<TaskUser>& user, const v1::TaskLaunch& launch, const TaskPaths& paths) {
  Status status = WriteForTask(user, paths.hosts(), LinesOf(launch, launch.hosts(), TaskVariable::kHosts));
  if (!status.ok()) return status;
  return WriteForTask(user, paths.zones(), LinesOf(launch, launch.zones(), TaskVariable::kZones));
}

Status WriteTurnFiles(const std::optional<TaskUser>& user, const v1::TaskLaunch& launch, const TaskPaths& paths) {
  Status status;
  for (std::uint32_t i = 0; i < launch.ranks() && status.ok(); ++i) {
    status = WriteForTask(user, paths.turns(launch.first_rank() + i), "");
  }
  return status;
}

}  // namespace glim::nodeagent
