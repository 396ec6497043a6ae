#include "cli/rpc/config.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/rpc/login_file.h"
#include "cli/text/file.h"
#include "cli/text/text.h"
#include "sdk/base/host_port.h"
#include "sdk/yaml/fields.h"

namespace glim::cli {
namespace {

constexpr std::size_t kConfigBytesMax = 64 * 1024;
constexpr std::size_t kValueBytesMax = 512;

std::optional<std::string> Environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

// Metadata and targets go over the wire as printable ASCII without blanks.
bool IsWord(const std::string& value) {
  return !value.empty() && value.size() <= kValueBytesMax &&
         std::all_of(value.begin(), value.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

Status CheckUser(const std::string& user) {
  if (IsWord(user)) return Status::Ok();
  return InvalidArgument("user", fmt::format("'{}' is no user name", Shorten(Escaped(user), 60)),
                         "use printable ASCII without blanks");
}

Result<OutputFormat> ParseFormat(const std::string& word) {
  if (word == "table") return OutputFormat::kTable;
  if (word == "json") return OutputFormat::kJson;
  if (word == "yaml") return OutputFormat::kYaml;
  return InvalidArgument("output", fmt::format("'{}' is no output format", Shorten(Escaped(word), 60)),
                         "use table, json, or for glim status yaml");
}

// Only the user's own (or root's) file, that nobody else may write.
bool IsTrusted(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return true;  // reading it will say why
  const bool own = info.st_uid == geteuid() || info.st_uid == 0;
  return own && (info.st_mode & S_IWOTH) == 0;
}

Result<ConfigLayer> ReadLayer(const std::string& path, ConfigPlace place) {
  if (path.empty()) return ConfigLayer{};
  if (access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) return ConfigLayer{};
  Result<std::string> text = ReadFile(path, kConfigBytesMax);
  if (!text.ok()) return text.status();
  return ParseConfig(*text, path, place);
}

yaml::Field Into(std::optional<std::string>* out) {
  return
      [out](const yaml::Node& value, const std::string& path) { return yaml::IntoText(&out->emplace())(value, path); };
}

// The file's own folder is not where the command runs: only a whole path means the same everywhere.
yaml::Field IntoPath(std::optional<std::string>* out) {
  return [out](const yaml::Node& value, const std::string& path) -> Status {
    std::string text;
    if (Status taken = yaml::IntoText(&text)(value, path); !taken.ok()) return taken;
    if (text.front() != '/') return yaml::RefuseAt(value, path, "is no absolute path", "write a path from / on");
    *out = text;
    return Status::Ok();
  };
}

Status NotOfAFolder(const yaml::Node& value, const std::string& path) {
  return yaml::RefuseAt(value, path, "the file of a folder does not say whom to trust, nor which token to send",
                        "write it into ~/.config/glim/config.yaml");
}

void Merge(const ConfigLayer& lower, ConfigLayer* upper) {
  if (!upper->server) upper->server = lower.server;
  if (!upper->ca) upper->ca = lower.ca;
  if (!upper->token_file) upper->token_file = lower.token_file;
  if (!upper->user) upper->user = lower.user;
  if (!upper->output) upper->output = lower.output;
  if (!upper->insecure) upper->insecure = lower.insecure;
}

}  // namespace

Result<ConfigLayer> ParseConfig(const std::string& text, const std::string& source, ConfigPlace place) {
  ConfigLayer layer;
  bool insecure = false;
  yaml::Fields fields = {{"server", Into(&layer.server)}, {"user", Into(&layer.user)}, {"output", Into(&layer.output)}};
  if (place == ConfigPlace::kFolder) {
    for (const char* key : {"ca", "token_file", "insecure_without_identity"}) fields[key] = NotOfAFolder;
  } else {
    fields["ca"] = IntoPath(&layer.ca);
    fields["token_file"] = IntoPath(&layer.token_file);
    fields["insecure_without_identity"] = [&](const yaml::Node& value, const std::string& path) {
      Status taken = yaml::IntoBool(&insecure)(value, path);
      if (taken.ok()) layer.insecure = insecure;
      return taken;
    };
  }
  if (Status s = yaml::ReadText(text, source, fields); !s.ok()) return s;
  return layer;
}

ConfigPaths DefaultConfigPaths() {
  ConfigPaths paths;
  std::string folder;
  if (const auto xdg = Environment("XDG_CONFIG_HOME"); xdg && xdg->front() == '/') {
    folder = *xdg + "/glim";
  } else if (const auto home = Environment("HOME")) {
    folder = *home + "/.config/glim";
  }
  if (folder.empty()) return paths;
  paths.user = folder + "/config.yaml";
  paths.login = folder + "/token";
  return paths;
}

ConfigLayer EnvironmentLayer() {
  ConfigLayer layer;
  layer.server = Environment("GLIM_SERVER");
  layer.ca = Environment("GLIM_CA");
  layer.token_file = Environment("GLIM_TOKEN_FILE");
  layer.user = Environment("GLIM_USER");
  layer.output = Environment("GLIM_OUTPUT");
  if (const auto word = Environment("GLIM_INSECURE_WITHOUT_IDENTITY")) layer.insecure = *word == "true";
  return layer;
}

namespace {

Status MergeFiles(const ConfigPaths& paths, const std::function<void(const std::string&)>& warn, ConfigLayer* merged) {
  if (IsTrusted(paths.local)) {
    Result<ConfigLayer> layer = ReadLayer(paths.local, ConfigPlace::kFolder);
    if (!layer.ok()) return layer.status();
    Merge(*layer, merged);
  } else {
    warn(fmt::format("{} is left out: another user owns it or may write it", paths.local));
  }
  if (paths.user_named && access(paths.user.c_str(), R_OK) != 0) {
    return Status(StatusCode::kNotFound, fmt::format("cannot read {}: {}", paths.user, std::strerror(errno)))
        .WithReason("BAD_CONFIG")
        .WithField("--config")
        .WithFix("name a file that can be read");
  }
  Result<ConfigLayer> user = ReadLayer(paths.user, ConfigPlace::kOwn);
  if (!user.ok()) return user.status();
  Merge(*user, merged);
  // One that cannot be used says so when it is needed.
  const Result<Login> login = ReadLogin(merged->token_file.value_or(paths.login));
  if (login.ok() && !login->server.empty() && !merged->server) merged->server = login->server;
  Result<ConfigLayer> machine = ReadLayer(paths.system, ConfigPlace::kOwn);
  if (!machine.ok()) return machine.status();
  Merge(*machine, merged);
  return Status::Ok();
}

}  // namespace

Result<Settings> LoadSettings(const ConfigLayer& flags, const ConfigPaths& paths,
                              const std::function<void(const std::string&)>& warn) {
  ConfigLayer merged = flags;
  Merge(EnvironmentLayer(), &merged);
  if (Status files = MergeFiles(paths, warn, &merged); !files.ok()) return files;
  Settings settings;
  settings.server = merged.server.value_or(kDefaultServer);
  settings.server_named = merged.server.has_value();
  settings.ca = merged.ca.value_or("");
  settings.token_file = merged.token_file.value_or("");
  settings.login_file = paths.login;
  settings.insecure = merged.insecure.value_or(false);
  settings.user = merged.user ? *merged.user : LoginName();
  if (flags.user && !settings.insecure) {
    return Status(StatusCode::kInvalidArgument, "who asks is told by the token, not by --as")
        .WithReason("USAGE")
        .WithField("--as")
        .WithFix("leave it out; another user's token is named by --token-file");
  }
  if (Status server = CheckTarget("server", settings.server); !server.ok()) return server;
  if (Status user = CheckUser(settings.user); !user.ok()) return user;
  Result<OutputFormat> format = ParseFormat(merged.output.value_or("table"));
  if (!format.ok()) return format.status();
  settings.format = *format;
  return settings;
}

std::string LoginName() {
  std::vector<char> buffer(16 * 1024);
  struct passwd entry {};
  struct passwd* found = nullptr;
  const uid_t uid = geteuid();
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) return found->pw_name;
  return std::to_string(uid);
}

}  // namespace glim::cli
