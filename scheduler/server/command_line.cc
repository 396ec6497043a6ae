#include "scheduler/server/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <utility>

#include "scheduler/server/convert/protocol.h"

namespace glim::server {

Result<CommandLine> ParseCommandLine(int argc, const char* const* argv) {
  CommandLine line;
  Config& config = line.config;
  std::string config_file, policy_file, listen, metrics, store, log_level, cluster_id;
  CLI::App app{"The scheduler of Glim: users' and agents' calls, the planning, and the store.", "glim-scheduler"};
  app.set_version_flag("--version", kVersion);
  app.add_option("--config", config_file, "YAML file: listen, metrics, store, log_level, history_kept, policy");
  app.add_option("--policy", policy_file, "YAML file of the policy alone; `glim admin config reload` reads it again");
  app.add_option("--listen", listen, "Address of the gRPC APIs [" + config.listen + "]; port 0: any");
  app.add_option("--metrics", metrics, "Address of /metrics [" + config.metrics + "], or none");
  app.add_option("--store", store, "Where the state lives [sqlite:$XDG_STATE_HOME/glim/glim.db]");
  const auto* const id_option =
      app.add_option("--cluster-id", cluster_id,
                     "The id that a new, empty store gets, to go on with an existing cluster's agents [a random one]");
  app.add_option("--log-level", log_level, "trace, debug, info, warning, error [" + config.log_level + "]");
  app.add_option("--port-file", config.port_file, "Gets the bound port once calls are served");
  app.add_flag("--allow-insecure-listen", config.allow_insecure_listen,
               "Listen beyond this machine although there are no tokens yet");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    line.exit_code = app.exit(e) == 0 ? 0 : 2;
    return line;
  }
  if (!config_file.empty()) {
    if (Status s = ReadConfigFile(config_file, &config); !s.ok()) return s;
  }
  if (!policy_file.empty()) config.policy_file = policy_file;
  if (Status s = ReadOwnPolicy(&config); !s.ok()) return s;
  if (!listen.empty()) config.listen = listen;
  if (!metrics.empty()) config.metrics = metrics;
  if (!store.empty()) config.store = store;
  if (id_option->count() > 0 && cluster_id.empty()) {
    return InvalidArgument("--cluster-id", "--cluster-id is empty", "give the cluster's id, or leave the option out");
  }
  if (!cluster_id.empty()) config.cluster_id = cluster_id;
  if (!log_level.empty()) config.log_level = log_level;
  if (config.store.empty()) {
    auto url = DefaultStoreUrl(std::getenv("XDG_STATE_HOME"), std::getenv("HOME"));
    if (!url.ok()) return url.status();
    config.store = std::move(url).value();
  }
  if (Status s = CheckConfig(config); !s.ok()) return s;
  return line;
}

}  // namespace glim::server
