#include "nodeagent/options/health_option.h"

#include <fcntl.h>
#include <unistd.h>

#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {

Status CompleteHealth(const std::string& kmsg, const std::string& root, std::string* health) {
  if (*health != "auto" && *health != "yes" && *health != "no") {
    return InvalidArgument("--health", "--health \"" + *health + "\" is unknown", "use auto, yes or no");
  }
  for (const auto& [option, path] : {std::pair("--health-kmsg", kmsg), std::pair("--health-root", root)}) {
    if (path.empty() || path[0] != '/') {
      return InvalidArgument(option, std::string(option) + " \"" + path + "\" is no absolute path",
                             "leave it out: it is for tests");
    }
  }
  if (*health != "auto") return Status::Ok();
  // The kernel may refuse what the file's mode allows (sysctl kernel.dmesg_restrict).
  const UniqueFd log(::open(kmsg.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  *health = ::geteuid() == 0 || log ? "yes" : "no";
  return Status::Ok();
}

}  // namespace glim::nodeagent
