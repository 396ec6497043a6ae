// What the CLI is told about its surroundings: flags, then environment, then ./.glim.yaml, then
// $XDG_CONFIG_HOME/glim/config.yaml, then /etc/glim/config.yaml, then the defaults. Main thread only.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/text/output.h"
#include "sdk/base/result.h"
#include "sdk/base/time.h"

namespace glim::cli {

inline constexpr char kDefaultServer[] = "127.0.0.1:7601";
inline constexpr Duration kDefaultCallTimeout = Seconds(10);

// One source's settings; what it does not say is empty.
struct ConfigLayer {
  std::optional<std::string> server;
  std::optional<std::string> user;
  std::optional<std::string> output;
};

struct Settings {
  std::string server;
  std::string user;
  OutputFormat format = OutputFormat::kTable;
  Duration call_timeout = kDefaultCallTimeout;
};

// A YAML file with the keys server, user and output. Unknown keys are refused.
Result<ConfigLayer> ParseConfig(const std::string& text, const std::string& source);

// Where the files are and who asks; injectable for tests.
struct ConfigPaths {
  std::string local = ".glim.yaml";
  std::string user;  // empty: none
  std::string system = "/etc/glim/config.yaml";
};
ConfigPaths DefaultConfigPaths();

// GLIM_SERVER, GLIM_USER, GLIM_OUTPUT.
ConfigLayer EnvironmentLayer();

// Merges all sources. A file that is not there is no fault, one that cannot be read or understood is. A local file that
// somebody else owns or may write is left out, with a `warn`ing: it could point at a server of theirs.
Result<Settings> LoadSettings(const ConfigLayer& flags, const ConfigPaths& paths,
                              const std::function<void(const std::string&)>& warn);

// The login name of the process's user, from the user database; its number if it has none.
std::string LoginName();

}  // namespace glim::cli
