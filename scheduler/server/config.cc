#include "scheduler/server/config.h"

#include <spdlog/common.h>

#include <charconv>
#include <filesystem>
#include <utility>

#include "sdk/yaml/fields.h"

namespace glim::server {
namespace {

Status Refuse(const std::string& field, const std::string& message, std::string fix = "") {
  return Status(StatusCode::kInvalidArgument, field + ": " + message)
      .WithReason("BAD_CONFIG")
      .WithField(field)
      .WithFix(std::move(fix));
}

// "127.0.0.1:7601" or "[::1]:7601" into host and port; false if it is neither.
bool SplitAddress(const std::string& address, std::string* host) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  *host = address.substr(0, colon);
  if (host->front() == '[' && host->back() == ']') *host = host->substr(1, host->size() - 2);
  unsigned port = 0;
  const char* const end = address.data() + address.size();
  const auto [at, error] = std::from_chars(address.data() + colon + 1, end, port);
  return error == std::errc() && at == end && port <= 65'535 && !host->empty();
}

Status CheckAddress(const char* field, const std::string& address, bool insecure_allowed) {
  std::string host;
  if (!address.starts_with("unix:") && !SplitAddress(address, &host)) {
    return Refuse(field, "'" + address + "' is not host:port", "write it like 127.0.0.1:7601");
  }
  if (!insecure_allowed && !IsLoopback(address)) {
    return Refuse(field, address + " can be reached from other machines, and there are no tokens yet",
                  "use 127.0.0.1, or --allow-insecure-listen on a network that you trust");
  }
  return Status::Ok();
}

// The map `policy:`, over the defaults.
Status ReadPolicyInConfig(const yaml::Node& value, const std::string& path, Config* config) {
  PolicyFile file{config->policy, config->policy_names};
  if (Status s = ReadPolicyMap(value, path, &file); !s.ok()) return s;
  config->policy = std::move(file.policy);
  config->policy_names = std::move(file.names);
  config->policy_in_config = true;
  return Status::Ok();
}

}  // namespace

bool IsLoopback(const std::string& address) {
  if (address.starts_with("unix:")) return true;
  std::string host;
  if (!SplitAddress(address, &host)) return false;
  if (host == "localhost" || host == "::1") return true;
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos;
}

Status ReadConfigText(const std::string& text, const std::string& source, Config* config) {
  const yaml::Fields fields = {{"listen", yaml::IntoText(&config->listen)},
                               {"metrics", yaml::IntoText(&config->metrics)},
                               {"store", yaml::IntoText(&config->store)},
                               {"log_level", yaml::IntoText(&config->log_level)},
                               {"history_kept", yaml::IntoDuration(&config->history_kept, Hours(1), Hours(24 * 3650))},
                               {"cluster_id", yaml::IntoText(&config->cluster_id)},
                               {"history_max", yaml::IntoNumber(&config->history_max, 1'000, 100'000'000)},
                               {"ended_jobs_max", yaml::IntoNumber(&config->ended_jobs_max, 1'000, 10'000'000)},
                               {"policy_file", yaml::IntoText(&config->policy_file)},
                               {"policy", [config](const yaml::Node& value, const std::string& path) {
                                  return ReadPolicyInConfig(value, path, config);
                                }}};
  return yaml::ReadText(text, source, fields);
}

Status ReadConfigFile(const std::string& path, Config* config) {
  const auto text = yaml::ReadTextFile(path, "--config");
  if (!text.ok()) return text.status();
  if (Status s = ReadConfigText(*text, path, config); !s.ok()) return s;
  config->policy_source = {path, true};
  // Beside the file that names it, wherever the scheduler was started.
  const std::filesystem::path own = config->policy_file;
  if (!own.empty() && own.is_relative()) {
    config->policy_file = (std::filesystem::path(path).parent_path() / own).string();
  }
  return Status::Ok();
}

Status ReadOwnPolicy(Config* config) {
  if (config->policy_file.empty()) return Status::Ok();
  if (config->policy_in_config) {
    return Refuse("policy_file", "the policy stands in " + config->policy_source.path + " too",
                  "move what is under `policy:` there into " + config->policy_file);
  }
  auto file = ReadPolicyFile(config->policy_file);
  if (!file.ok()) return file.status();
  config->policy = std::move(file->policy);
  config->policy_names = std::move(file->names);
  config->policy_source = {config->policy_file, false};
  return Status::Ok();
}

Result<PolicyFile> ReadPolicyAgain(const PolicySource& source) {
  if (source.path.empty()) {
    return Status(StatusCode::kFailedPrecondition, "the scheduler was started without a file that could be read again")
        .WithReason("NO_POLICY_FILE")
        .WithFix("start it with --policy FILE");
  }
  Config config;
  Status read;
  if (source.in_config) {
    read = ReadConfigFile(source.path, &config);
  } else {
    config.policy_file = source.path;
  }
  if (read.ok()) read = ReadOwnPolicy(&config);
  if (read.ok()) return PolicyFile{std::move(config.policy), std::move(config.policy_names)};
  if (read.code() != StatusCode::kNotFound) return read;
  return Status(StatusCode::kFailedPrecondition, read.message()).WithReason(read.reason()).WithFix(read.fix());
}

Status CheckConfig(const Config& config) {
  if (Status s = CheckAddress("listen", config.listen, config.allow_insecure_listen); !s.ok()) return s;
  if (config.metrics != "none") {
    if (Status s = CheckAddress("metrics", config.metrics, config.allow_insecure_listen); !s.ok()) return s;
    if (config.metrics.starts_with("unix:")) {
      return Refuse("metrics", "cannot be a unix socket", "use host:port or none");
    }
  }
  if (config.store.empty()) return Refuse("store", "is empty", "write it like sqlite:/var/lib/glim/glim.db");
  if (spdlog::level::from_str(config.log_level) == spdlog::level::off && config.log_level != "off") {
    return Refuse("log_level", "'" + config.log_level + "' is not a level",
                  "use trace, debug, info, warning, error, critical or off");
  }
  const bool name = config.cluster_id.size() <= 63 &&
                    std::all_of(config.cluster_id.begin(), config.cluster_id.end(), [](unsigned char c) {
                      return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
                    });
  if (!name) return Refuse("cluster_id", "is not an id", "use at most 63 letters, digits, '-', '_' and '.'");
  return CheckPolicy(config.policy);
}

Result<std::string> DefaultStoreUrl(const char* xdg_state_home, const char* home) {
  if (xdg_state_home && xdg_state_home[0] == '/') return std::string("sqlite:") + xdg_state_home + "/glim/glim.db";
  if (home && home[0] == '/') return std::string("sqlite:") + home + "/.local/state/glim/glim.db";
  return Status(StatusCode::kFailedPrecondition,
                "there is no place for the store: neither XDG_STATE_HOME nor HOME is set")
      .WithReason("NO_STORE")
      .WithField("--store")
      .WithFix("give --store sqlite:/path/glim.db");
}

}  // namespace glim::server
