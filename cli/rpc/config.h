// What the CLI is told about its surroundings: flags, then environment, then ./.glim.yaml, then
// $XDG_CONFIG_HOME/glim/config.yaml, then what 'glim login' noted (the server), then /etc/glim/config.yaml, then the
// defaults. Main thread only.
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
  std::optional<std::string> ca;          // a file
  std::optional<std::string> token_file;  // a token itself is never a setting
  std::optional<std::string> user;
  std::optional<std::string> output;
  std::optional<bool> insecure;
};

struct Settings {
  std::string server;
  bool server_named = false;  // it is not the default
  std::string ca;             // a file; empty: found (identity.h)
  std::string token_file;     // likewise
  std::string login_file;     // where 'glim login' keeps its token; empty: there is no such place
  bool insecure = false;      // plaintext: no authority, no token, and `user` is who asks
  std::string user;
  OutputFormat format = OutputFormat::kTable;
  Duration call_timeout = kDefaultCallTimeout;
};

// Whether a configuration is the user's or the machine's, or that of a folder somebody may have handed over.
enum class ConfigPlace { kOwn, kFolder };

// A YAML file with the keys server, ca, token_file, user, output and insecure_without_identity. Unknown keys are
// refused; of a folder also what says whom to trust, and what token to send: the folder may be somebody else's idea.
Result<ConfigLayer> ParseConfig(const std::string& text, const std::string& source, ConfigPlace place);

// Where the files are and who asks; injectable for tests.
struct ConfigPaths {
  std::string local = ".glim.yaml";
  std::string user;         // empty: none
  bool user_named = false;  // on the command line: it must be there
  std::string login;        // the file of 'glim login'; empty: none
  std::string system = "/etc/glim/config.yaml";
};
ConfigPaths DefaultConfigPaths();

// GLIM_SERVER, GLIM_CA, GLIM_TOKEN_FILE, GLIM_USER, GLIM_OUTPUT, GLIM_INSECURE_WITHOUT_IDENTITY (true or false).
ConfigLayer EnvironmentLayer();

// Merges all sources. A file that is not there is no fault, one that cannot be read or understood is. A local file that
// somebody else owns or may write is left out, with a `warn`ing: it could point at a server of theirs. A user that is
// named by a flag is refused unless the mode is plaintext: there tokens say who asks.
Result<Settings> LoadSettings(const ConfigLayer& flags, const ConfigPaths& paths,
                              const std::function<void(const std::string&)>& warn);

// The login name of the process's user, from the user database; its number if it has none.
std::string LoginName();

}  // namespace glim::cli
