#include "scheduler/server/config.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include "scheduler/server/limits_file.h"
#include "scheduler/server/oidc_file.h"
#include "sdk/base/host_port.h"
#include "sdk/log/log.h"
#include "sdk/yaml/fields.h"

namespace glim::server {
namespace {

constexpr std::string_view kSqlite = "sqlite:";
constexpr std::size_t kNamesMax = 32;

Status Refuse(const std::string& field, const std::string& message, std::string fix = "") {
  return Status(StatusCode::kInvalidArgument, field + ": " + message)
      .WithReason("BAD_CONFIG")
      .WithField(field)
      .WithFix(std::move(fix));
}

constexpr std::string_view kAllHosts = "*";

// Where to listen: HOST:PORT, where the host may be * (all of this machine's addresses) and the port 0.
Result<HostPort> ReadListen(const std::string& field, const std::string& address) {
  if (!address.starts_with(std::string(kAllHosts) + ":")) return ParseHostPort(field, address, PortZero::kTaken);
  auto all = ParseHostPort(field, "localhost" + address.substr(kAllHosts.size()), PortZero::kTaken);
  if (all.ok()) all->host = kAllHosts;
  return all;
}

Status CheckAddress(const char* field, const std::string& address) {
  if (address.starts_with("unix:")) return Status::Ok();
  const auto read = ReadListen(field, address);
  if (read.ok()) return Status::Ok();
  return Status(StatusCode::kInvalidArgument, read.status().message())
      .WithReason("BAD_CONFIG")
      .WithField(field)
      .WithFix(read.status().fix());
}

Status CheckMetrics(const Config& config) {
  if (config.metrics == "none") return Status::Ok();
  if (Status s = CheckAddress("metrics", config.metrics); !s.ok()) return s;
  if (config.metrics.starts_with("unix:")) {
    return Refuse("metrics", "cannot be a unix socket", "use host:port or none");
  }
  if (config.open_metrics || config.insecure_without_identity || IsLoopbackTarget(config.metrics)) return Status::Ok();
  return Refuse("metrics", config.metrics + " can be reached from other machines, and asks for no token",
                "use 127.0.0.1, or open_metrics: true on a network whose every user may see the figures");
}

// Tokens and cookies in plaintext stay on this machine.
Status CheckHttp(const Config& config) {
  const std::string address = HttpAddress(config);
  if (address.empty()) return Status::Ok();
  if (Status s = CheckAddress("listen_http", address); !s.ok()) return s;
  if (address.starts_with("unix:")) return Refuse("listen_http", "cannot be a unix socket", "use host:port or none");
  if (!config.http_plaintext || config.insecure_without_identity || IsLoopbackTarget(address)) return Status::Ok();
  return Refuse("http_plaintext", address + " can be reached from other machines, and tokens would come in plaintext",
                "leave http_plaintext out: the port has TLS, like `listen`; or listen on 127.0.0.1");
}

// A name or an address, without a port.
bool IsServerName(const std::string& name) { return IsHost(name) && !name.starts_with('['); }

std::string SqliteFolder(const Config& config) {
  const std::string folder = std::filesystem::path(config.store.substr(kSqlite.size())).parent_path().string();
  return folder.empty() ? "." : folder;
}

Status CheckIdentity(const Config& config) {
  for (const std::string& name : config.names) {
    if (IsServerName(name)) continue;
    return Refuse("names", "'" + name + "' is no host's name and no address", "write it like [head, 10.0.0.1]");
  }
  if (config.insecure_without_identity) return Status::Ok();
  if (!StateFolder(config).empty()) return Status::Ok();
  return Refuse("state_dir", "is needed with this store: the scheduler's keys and the operator's token have no place",
                "name a folder of this machine, like /var/lib/glim");
}

yaml::Field IntoNames(std::vector<std::string>* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    if (!value.IsSequence() || value.items.size() > kNamesMax) {
      return yaml::RefuseAt(value, path, "must be a list of at most 32 names", "write it like [head, 10.0.0.1]");
    }
    out->clear();
    for (const yaml::NodePtr& item : value.items) {
      if (Status s = yaml::IntoText(&out->emplace_back())(*item, path); !s.ok()) return s;
    }
    return Status::Ok();
  };
}

// What this key was called before there were tokens. Its meaning has gone with it.
yaml::Field Renamed(const std::string& name) {
  return [name](const yaml::Node& value, const std::string& path) {
    return yaml::RefuseAt(value, path, "is no more: listening beyond this machine is fine, with TLS and tokens",
                          "leave it out; without TLS and tokens, for everybody who reaches the port: " + name);
  };
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

Status ReadConfigText(const std::string& text, const std::string& source, Config* config) {
  const yaml::Fields fields = {
      {"listen", yaml::IntoText(&config->listen)},
      {"listen_agents", yaml::IntoText(&config->listen_agents)},
      {"state_dir", yaml::IntoText(&config->state_dir)},
      {"key_file", yaml::IntoText(&config->key_file)},
      {"names", IntoNames(&config->names)},
      {"insecure_without_identity", yaml::IntoBool(&config->insecure_without_identity)},
      {"open_metrics", yaml::IntoBool(&config->open_metrics)},
      {"allow_insecure_listen", Renamed("insecure_without_identity: true")},
      {"metrics", yaml::IntoText(&config->metrics)},
      {"listen_http", yaml::IntoText(&config->listen_http)},
      {"http_plaintext", yaml::IntoBool(&config->http_plaintext)},
      {"web_root", yaml::IntoText(&config->web_root)},
      {"store", yaml::IntoText(&config->store)},
      {"log_level", yaml::IntoChecked(&config->log_level, CheckLogLevel)},
      {"history_kept", yaml::IntoDuration(&config->history_kept, Hours(1), Hours(24 * 3650))},
      {"audit_kept", yaml::IntoDuration(&config->audit_kept, Hours(24 * 30), Hours(24 * 3650))},
      {"cluster_id", yaml::IntoText(&config->cluster_id)},
      {"history_max", yaml::IntoNumber(&config->history_max, 1'000, 100'000'000)},
      {"history_mib_max", yaml::IntoNumber(&config->history_mib_max, 16, 1'000'000)},
      {"ended_jobs_max", yaml::IntoNumber(&config->ended_jobs_max, 1'000, 10'000'000)},
      {"limits", ReadLimitsInto(&config->limits)},
      {"oidc", ReadOidcInto(&config->issuer)},
      {"log_tails_mib_max", yaml::IntoNumber(&config->log_tails_mib_max, 1, 1'000'000)},
      {"policy_file", yaml::IntoText(&config->policy_file)},
      {"policy",
       [config](const yaml::Node& value, const std::string& path) { return ReadPolicyInConfig(value, path, config); }}};
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
  if (Status s = CheckAddress("listen", config.listen); !s.ok()) return s;
  if (Status s = CheckAddress("listen_agents", AgentsAddress(config)); !s.ok()) return s;
  if (Status s = CheckMetrics(config); !s.ok()) return s;
  if (Status s = CheckHttp(config); !s.ok()) return s;
  if (config.store.empty()) return Refuse("store", "is empty", "write it like sqlite:/var/lib/glim/glim.db");
  if (const Status s = CheckLogLevel(config.log_level); !s.ok()) return Refuse("log_level", s.message(), s.fix());
  const bool name = config.cluster_id.size() <= 63 &&
                    std::all_of(config.cluster_id.begin(), config.cluster_id.end(), [](unsigned char c) {
                      return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
                    });
  if (!name) return Refuse("cluster_id", "is not an id", "use at most 63 letters, digits, '-', '_' and '.'");
  if (Status s = CheckIdentity(config); !s.ok()) return s;
  return CheckPolicy(config.policy);
}

std::string AgentsAddress(const Config& config) {
  if (!config.listen_agents.empty()) return config.listen_agents;
  return config.listen.ends_with(":0") ? "127.0.0.1:0" : "127.0.0.1:7603";
}

std::string HttpAddress(const Config& config) {
  if (config.listen_http == "none") return "";
  if (!config.listen_http.empty()) return config.listen_http;
  return config.listen.ends_with(":0") ? "127.0.0.1:0" : "127.0.0.1:7604";
}

std::string StateFolder(const Config& config) {
  if (!config.state_dir.empty()) return config.state_dir;
  return config.store.starts_with(kSqlite) ? SqliteFolder(config) : "";
}

bool KeyFileIsBesideStore(const Config& config) {
  if (!config.store.starts_with(kSqlite)) return false;
  std::error_code error;
  const auto whole = [&](const std::string& path) { return std::filesystem::weakly_canonical(path, error); };
  const std::filesystem::path folder = whole(SqliteFolder(config)), file = whole(config.key_file);
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

std::string ReachedAt(const Config& config, const std::string& bound, int port, const std::string& host_name) {
  if (bound.starts_with("unix:")) return bound;
  HostPort reached = ReadListen("", bound).value();  // CheckConfig has read it
  if (!config.names.empty()) {
    reached.host = config.names[0];
  } else if (reached.host == "0.0.0.0" || reached.host == "::" || reached.host == kAllHosts) {
    reached.host = host_name;
  }
  return JoinHostPort(reached.host, reached.port == 0 ? static_cast<std::uint16_t>(port) : reached.port);
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

Result<std::string> DefaultKeyFile(bool root, const char* xdg_config_home, const char* home) {
  if (root) return std::string("/etc/glim/cluster.key");
  if (xdg_config_home && xdg_config_home[0] == '/') return std::string(xdg_config_home) + "/glim/cluster.key";
  if (home && home[0] == '/') return std::string(home) + "/.config/glim/cluster.key";
  return Status(StatusCode::kFailedPrecondition,
                "there is no place for the key file: neither XDG_CONFIG_HOME nor HOME is set")
      .WithReason("NO_KEY_FILE")
      .WithField("--key-file")
      .WithFix("give --key-file PATH, in a folder that no backup of the store has");
}

}  // namespace glim::server
