// Config: what the scheduler is started with: defaults, then --config FILE, then flags.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/model/policy.h"
#include "scheduler/oidc/claims.h"
#include "scheduler/policy/policy_file.h"
#include "scheduler/server/limits/bounds.h"
#include "sdk/base/result.h"

namespace glim::server {

// Where the policy stands, to be read again: a file of its own, or the map `policy:` of the configuration file.
struct PolicySource {
  std::string path;        // empty: nowhere, it is what the defaults are
  bool in_config = false;  // `path` is the configuration, not a file of the policy alone
};

struct Config {
  std::string listen = "127.0.0.1:7601";   // port 0: the system chooses
  std::string listen_agents;               // empty: AgentsAddress
  std::string metrics = "127.0.0.1:7602";  // "none": not served
  std::string listen_http;                 // empty: HttpAddress; "none": not served
  bool http_plaintext = false;             // HTTP without TLS, although there is identity: on loopback alone
  std::string web_root;                    // the dashboard's files; empty: no pages
  std::string store;                       // sqlite:/path or a PostgreSQL URL; never a password in argv: use the file
  std::string log_level = "info";
  std::string port_file;           // gets the bound port, once calls are served
  std::string agents_port_file;    // gets the agents' port, before that
  std::string http_port_file;      // gets the HTTP port, likewise
  std::string state_dir;           // keys, and what the operator finds (docs/protocols/identity.md); empty: StateFolder
  std::string key_file;            // what is secret in the store is sealed by it; ParseCommandLine fills it in
  std::vector<std::string> names;  // by which the scheduler is reached; the first is told to invited nodes
  // No TLS and no tokens: callers and agents are who they say they are, and everybody is an admin.
  bool insecure_without_identity = false;
  bool open_metrics = false;  // `metrics` may be reached from other machines, by anybody
  Duration history_kept = Hours(24 * 30);
  Duration audit_kept = Hours(24 * 400);
  std::string cluster_id;                  // of a store that is new; empty: a random one
  std::uint32_t history_max = 1'000'000;   // events kept at most
  std::uint32_t history_mib_max = 1024;    // likewise, in all
  std::uint32_t ended_jobs_max = 200'000;  // jobs that `glim history` shows at most
  std::uint32_t log_tails_mib_max = 1024;  // ends of logs that outlive their nodes, in all
  std::string policy_file;                 // a file of its own; then the configuration has no `policy:`
  core::Policy policy;                     // as ReadPolicy found it
  PolicyNames policy_names;
  bool policy_in_config = false;  // it has a map `policy:`
  PolicySource policy_source;
  Bounds limits;        // of what callers may take
  oidc::Issuer issuer;  // with whom users sign in; without an issuer nobody does
};

// Reads a file over `config`. Unknown keys, wrong types and amounts out of range are refused with line, column and path
// ("scheduler.yaml:7:3: policy.agree_max: ..."). Does no I/O but reading the file.
Status ReadConfigFile(const std::string& path, Config* config);
// The same from text; `source` is for messages.
Status ReadConfigText(const std::string& text, const std::string& source, Config* config);

// If the policy has a file of its own, reads that. After it, policy, policy_names and policy_source are what counts.
Status ReadOwnPolicy(Config* config);

// Reads the policy once more from where it came: a new value, whatever the caller has. FAILED_PRECONDITION if there is
// no such place, or it cannot be read.
Result<PolicyFile> ReadPolicyAgain(const PolicySource& source);

// What only the whole can tell: addresses that parse, nothing without identity beyond this machine unless it was asked
// for, a place for the keys, levels.
Status CheckConfig(const Config& config);

// Where agents are listened to: what the configuration says, or 127.0.0.1:7603; a free port if `listen` has one.
std::string AgentsAddress(const Config& config);
// Where HTTP is served: as configured, or 127.0.0.1:7604; a free port if `listen` has one. Empty: nowhere.
std::string HttpAddress(const Config& config);
// The folder of what is kept beside the store: what the configuration says, or SQLite's own folder. Empty: neither.
std::string StateFolder(const Config& config);
// Where the key file is when nobody says so: cluster.key in /etc/glim for root, for others in $XDG_CONFIG_HOME/glim or
// ~/.config/glim. Not beside the store: one backup of that folder would have the seals and what opens them.
// FAILED_PRECONDITION (NO_KEY_FILE) if neither variable is set.
Result<std::string> DefaultKeyFile(bool root, const char* xdg_config_home, const char* home);
// Whether a copy of the folder of SQLite's file has the key file, too.
bool KeyFileIsBesideStore(const Config& config);
// HOST:PORT for another machine: `bound` (an address of this configuration, whose port 0 `port` stands for) with the
// first of `names` as its host; without names the host that it listens on, or `host_name` where it listens on all.
std::string ReachedAt(const Config& config, const std::string& bound, int port, const std::string& host_name);

// sqlite:$XDG_STATE_HOME/glim/glim.db, or under ~/.local/state. FAILED_PRECONDITION if neither variable is set.
Result<std::string> DefaultStoreUrl(const char* xdg_state_home, const char* home);

}  // namespace glim::server
