#include "nodeagent/options/settings_text.h"

#include <utility>

#include "sdk/base/printable.h"

namespace glim::nodeagent {
namespace {

const char* YesOrNo(bool value) { return value ? "yes" : "no"; }

std::string InWords(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

std::string SettingsText(const AgentOptions& o) {
  const std::pair<const char*, std::string> settings[] = {
      {"config", o.config_file},
      {"scheduler", o.scheduler},
      {"insecure_without_identity", YesOrNo(o.insecure_without_identity)},
      {"login_socket", o.login_socket},
      {"state_dir", o.state_dir},
      {"address", o.address},
      {"saves_listen", o.saves_listen},
      {"metrics", o.metrics},
      {"nic", o.nic},
      {"gpus", o.gpus_text},
      {"simulated_gpus", YesOrNo(o.simulated_gpus)},
      {"runtime", o.runtime},
      {"runc", o.runc},
      {"shim", o.shim},
      {"cgroup_parent", o.cgroup_parent},
      {"user_namespace", o.user_namespace},
      {"task_user", o.task_user_text},
      {"reserve_memory", std::to_string(o.reserve_memory_bytes)},
      {"mount_allow", InWords(o.mount_allow)},
      {"devices", InWords(o.devices)},
      {"infiniband", o.infiniband},
      {"replica_state", o.replica_state},
  };
  std::string text;
  for (const auto& [key, value] : settings) text.append(key).append(": ").append(Escaped(value)).append("\n");
  return text;
}

}  // namespace glim::nodeagent
