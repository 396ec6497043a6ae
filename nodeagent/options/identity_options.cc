#include "nodeagent/options/identity_options.h"

#include <filesystem>

#include "sdk/base/host_port.h"

namespace glim::nodeagent {

Status CheckIdentityOptions(const AgentOptions& o) {
  if (!o.insecure_without_identity || !o.in_containers() || IsLoopbackTarget(o.scheduler)) return Status::Ok();
  return InvalidArgument("--insecure-without-identity",
                         "--insecure-without-identity with --runtime " + o.runtime + ": whoever answers at " +
                             o.scheduler + ", or reaches the scheduler there, would be root on this node",
                         "enrol this node (glim admin node invite), or use --runtime process");
}

Status CompleteLoginOptions(AgentOptions* options) {
  std::error_code error;
  if (options->state_dir.empty()) {
    return InvalidArgument("--state-dir", "--state-dir is missing", "name the folder that the host was enrolled with");
  }
  options->state_dir = std::filesystem::absolute(options->state_dir, error).string();
  if (options->insecure_without_identity) {
    return InvalidArgument("--insecure-without-identity", "without identity there are no tokens to log in with",
                           "leave it out");
  }
  if (options->scheduler.empty()) options->scheduler = kSchedulerByDefault;
  return CheckTarget("--scheduler", options->scheduler);
}

}  // namespace glim::nodeagent
