#include "scheduler/server/settings_text.h"

#include <utility>

#include "scheduler/store/open_store.h"
#include "sdk/base/printable.h"

namespace glim::server {
namespace {

// Where a database is may be said with words that are nobody's business.
std::string ShownStore(const std::string& store) { return store.starts_with("postgres") ? "postgres" : store; }

const char* YesOrNo(bool value) { return value ? "yes" : "no"; }

}  // namespace

std::string SettingsText(const Config& config) {
  const std::pair<const char*, std::string> settings[] = {
      {"listen", config.listen},
      {"listen_agents", AgentsAddress(config)},
      {"listen_http", HttpAddress(config)},
      {"metrics", config.metrics},
      {"store", ShownStore(config.store)},
      {"state_dir", StateFolder(config)},
      {"key_file", config.key_file},
      {"key_file_beside_store", YesOrNo(KeyFileIsBesideStore(config))},
      {"insecure_without_identity", YesOrNo(config.insecure_without_identity)},
      {"policy_file", config.policy_file},
      {"checkpoint_root", config.policy.checkpoint_root},
  };
  std::string text;
  for (const auto& [key, value] : settings) text.append(key).append(": ").append(Escaped(value)).append("\n");
  return text;
}

std::string StoreAnswerText(const Config& config) {
  if (!config.store.starts_with("postgres")) return "";
  const Result<std::string> version = store::AskStoreVersion(config.store);
  return version.ok() ? "store_version: " + Escaped(*version) + "\n"
                      : "store_fault: " + Escaped(version.status().message()) + "\n";
}

}  // namespace glim::server
