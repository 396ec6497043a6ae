#include "scheduler/server/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/server/convert/protocol.h"

namespace glim::server {

namespace {

void RefuseOldFlag(CLI::App& app) {
  app.add_flag_callback(
         "--allow-insecure-listen",
         [] {
           throw CLI::ValidationError(
               "--allow-insecure-listen",
               "is no more: listening beyond this machine is fine, with TLS and tokens. Leave it out; without TLS and "
               "tokens, for everybody who reaches the port, say --insecure-without-identity");
         })
      ->group("");  // not in --help
}

constexpr char kOtherOrders[] =
    "glim-scheduler break-glass --config FILE: a new token of an administrator, with the key file alone.\n"
    "glim-scheduler accept-clock --config FILE: a start was refused because of this host's clock, which is right.";

void AddHttp(CLI::App& app, Config* config, std::string* listen) {
  app.add_option("--listen-http", *listen, "Address of the HTTP API [" + HttpAddress(*config) + "], or none");
  app.add_option("--web-root", config->web_root, "Folder of the dashboard's files, which the HTTP port serves");
  app.add_option("--http-port-file", config->http_port_file, "Gets the HTTP port, before --port-file is written");
}

void AddBreakGlass(CLI::App& app, CommandLine* line) {
  BreakGlass* const order = &line->break_glass.emplace();
  app.add_option("--user", order->user, "Whose token it is [an administrator that there is]");
  app.add_option("--token-file", line->token_file, "Gets the token, readable by you alone [standard output]");
  app.add_flag("--take-leadership", order->take_leadership,
               "With PostgreSQL: although a scheduler on another host may lead; it begins anew");
  app.add_flag("--new-keys", order->new_keys,
               "The key file is lost for good: forget what was sealed by it. Tokens stay, nodes have to be invited "
               "again, users' secrets are lost");
}

// The first word, if something else than a scheduler is asked for; it is taken away.
std::string_view TakeOrder(std::vector<const char*>* words) {
  const std::string_view first = words->size() > 1 ? (*words)[1] : "";
  if (first != "break-glass" && first != "settings" && first != "accept-clock") return "";
  words->erase(words->begin() + 1);
  return first;
}

void AddOrder(CLI::App& app, std::string_view order, CommandLine* line) {
  line->settings = order == "settings";
  line->accept_clock = order == "accept-clock";
  if (order == "break-glass") AddBreakGlass(app, line);
  if (line->settings) app.add_flag("--ask-store", line->ask_store, "Also whether a PostgreSQL database answers");
}

}  // namespace

Result<CommandLine> ParseCommandLine(int argc, const char* const* argv) {
  CommandLine line;
  std::vector<const char*> words(argv, argv + argc);
  const std::string_view order = TakeOrder(&words);
  Config& config = line.config;
  std::string config_file, policy_file, listen, listen_agents, state_dir, key_file, metrics, listen_http, store,
      log_level, cluster_id;
  bool insecure = false;
  CLI::App app{"The scheduler of Glim: users' and agents' calls, the planning, and the store.", "glim-scheduler"};
  app.set_version_flag("--version", kVersion);
  app.add_option("--config", config_file, "YAML file: listen, metrics, store, log_level, history_kept, policy");
  app.add_option("--policy", policy_file, "YAML file of the policy alone; `glim admin config reload` reads it again");
  app.add_option("--listen", listen, "Address of the gRPC APIs [" + config.listen + "]; port 0: any");
  app.add_option("--listen-agents", listen_agents, "Address of the agents' API [" + AgentsAddress(config) + "]");
  app.add_option("--state-dir", state_dir, "Keys, and what the operator finds [the folder of SQLite's file]");
  app.add_option("--key-file", key_file,
                 "What is secret in the store is sealed by it; made at the first start [/etc/glim/cluster.key for "
                 "root, for others $XDG_CONFIG_HOME/glim/cluster.key]");
  app.add_option("--metrics", metrics, "Address of /metrics [" + config.metrics + "], or none");
  AddHttp(app, &config, &listen_http);
  app.add_option("--store", store, "Where the state lives [sqlite:$XDG_STATE_HOME/glim/glim.db]");
  const auto* const id_option =
      app.add_option("--cluster-id", cluster_id,
                     "The id that a new, empty store gets, to go on with an existing cluster's agents [a random one]");
  app.add_option("--log-level", log_level, "trace, debug, info, warning, error [" + config.log_level + "]");
  app.add_option("--port-file", config.port_file, "Gets the bound port once calls are served");
  app.add_option("--agents-port-file", config.agents_port_file, "Gets the agents' port, before --port-file is written");
  app.add_flag("--insecure-without-identity", insecure,
               "No TLS and no tokens: whoever reaches a port is who they say they are, and may do everything");
  RefuseOldFlag(app);
  AddOrder(app, order, &line);
  app.footer(kOtherOrders);
  try {
    app.parse(static_cast<int>(words.size()), words.data());
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
  if (!listen_agents.empty()) config.listen_agents = listen_agents;
  if (!state_dir.empty()) config.state_dir = state_dir;
  if (!key_file.empty()) config.key_file = key_file;
  if (insecure) config.insecure_without_identity = true;
  if (!metrics.empty()) config.metrics = metrics;
  if (!listen_http.empty()) config.listen_http = listen_http;
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
  if (config.key_file.empty() && !config.insecure_without_identity) {
    auto path = DefaultKeyFile(::geteuid() == 0, std::getenv("XDG_CONFIG_HOME"), std::getenv("HOME"));
    if (!path.ok()) return path.status();
    config.key_file = std::move(path).value();
  }
  if (Status s = CheckConfig(config); !s.ok()) return s;
  return line;
}

}  // namespace glim::server
