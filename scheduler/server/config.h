// Config: what the scheduler is started with: defaults, then --config FILE, then flags.
#pragma once

#include <string>

#include "scheduler/core/policy.h"
#include "sdk/base/result.h"

namespace glim::server {

struct Config {
  std::string listen = "127.0.0.1:7601";   // port 0: the system chooses
  std::string metrics = "127.0.0.1:7602";  // "none": not served
  std::string store;                       // sqlite:/path or a PostgreSQL URL; never a password in argv: use the file
  std::string log_level = "info";
  std::string port_file;                   // gets the bound port, once calls are served
  bool allow_insecure_listen = false;
  Duration history_kept = Hours(24 * 30);
  std::string cluster_id;                  // of a store that is new; empty: a random one
  std::uint32_t history_max = 1'000'000;   // events kept at most
  std::uint32_t ended_jobs_max = 200'000;  // jobs that `glim history` shows at most
  core::Policy policy;
};

// Reads a file over `config`. Unknown keys, wrong types and amounts out of range are refused with their path
// ("policy.agree_max"). Does no I/O but reading the file.
Status ReadConfigFile(const std::string& path, Config* config);
// The same from text; `source` is for messages.
Status ReadConfigText(const std::string& text, const std::string& source, Config* config);

// What only the whole can tell: addresses that parse, no listening beyond this machine unless it was asked for, levels.
Status CheckConfig(const Config& config);

// sqlite:$XDG_STATE_HOME/glim/glim.db, or under ~/.local/state. FAILED_PRECONDITION if neither variable is set.
Result<std::string> DefaultStoreUrl(const char* xdg_state_home, const char* home);

// 127.0.0.0/8, ::1, localhost, and unix sockets.
bool IsLoopback(const std::string& address);

}  // namespace glim::server
