#include "nodeagent/launch/launch_user.h"

#include <unistd.h>

#include <string>

#include "nodeagent/options/task_user_option.h"

namespace glim::nodeagent {
namespace {

TaskUser FromOrder(const v1::TaskUser& user) {
  return {user.uid(), user.gid(), {user.groups().begin(), user.groups().end()}};
}

// Whatever the registry holds: nobody's job is root on a node.
Status CheckUser(const std::string& name, const TaskUser& user) {
  const std::string whose = "user " + name.substr(0, 64);
  if (const std::string wrong = WhyNoTaskUser(user); !wrong.empty()) {
    return InvalidArgument("user", whose + " " + wrong + " in the registry: no job has root's rights",
                           "correct it with `glim admin user set`");
  }
  return Status::Ok();
}

}  // namespace

Result<std::optional<TaskUser>> UserOf(const AgentOptions& options, const v1::TaskLaunch& launch) {
  std::optional<TaskUser> user;
  if (launch.has_task_user()) {
    user = FromOrder(launch.task_user());
    if (Status status = CheckUser(launch.user(), *user); !status.ok()) return status;
  }
  if (options.in_containers()) {
    if (!user) user = options.task_user;
    if (user) return user;
    return Status(StatusCode::kFailedPrecondition,
                  "user " + launch.user().substr(0, 64) +
                      " has no uid in the registry, and this node has no --task-user to run such jobs as")
        .WithField("user")
        .WithFix("give the user one with `glim admin user set NAME --uid UID --gid GID`");
  }
  if (options.any_user || (user && user->uid == ::geteuid())) return std::optional<TaskUser>();
  return Status(StatusCode::kFailedPrecondition, "this node runs plain processes, and so jobs of the user with uid " +
                                                     std::to_string(::geteuid()) + " alone; user " +
                                                     launch.user().substr(0, 64) + " has " +
                                                     (user ? "uid " + std::to_string(user->uid) : "no uid"))
      .WithField("user")
      .WithFix("run the node's agent as root with containers, or for development with --any-user");
}

}  // namespace glim::nodeagent
