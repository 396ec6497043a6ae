#include "nodeagent/options/gone_options.h"

namespace glim::nodeagent {

const std::map<std::string, std::string>& GoneOptions() {
  static const std::map<std::string, std::string> gone = {
      {"--replica-memory",
       "glim-replica is a service of its own now: leave this out, give that one --memory (in /etc/glim/replica.env), "
       "and enable glim-replica.service"},
      {"--replica-listen",
       "glim-replica is a service of its own now: leave this out, and give that one --listen (in "
       "/etc/glim/replica.env)"},
      {"--replica-secret-file", "no secret is needed any more, the scheduler signs tokens: leave this out"},
  };
  return gone;
}

Status RefuseGone(const std::string& word) {
  const auto gone = GoneOptions().find(word.substr(0, word.find('=')));
  if (gone == GoneOptions().end()) return Status::Ok();
  return InvalidArgument(gone->first, gone->first + " is gone", gone->second);
}

}  // namespace glim::nodeagent
