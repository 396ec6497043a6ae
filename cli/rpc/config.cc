#include "cli/rpc/config.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/text/file.h"
#include "cli/text/text.h"
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

Status CheckServer(const std::string& server) {
  if (!IsWord(server)) return InvalidArgument("server", "not an address", "write HOST:PORT");
  if (server.find("://") != std::string::npos) {
    return InvalidArgument("server", fmt::format("'{}' is a URL", server), "write HOST:PORT, without a scheme");
  }
  const bool has_port = server.find(':') != std::string::npos;
  if (!has_port) return InvalidArgument("server", fmt::format("'{}' has no port", server), "write HOST:PORT");
  return Status::Ok();
}

Status CheckUser(const std::string& user) {
  if (IsWord(user)) return Status::Ok();
  return InvalidArgument("user", fmt::format("'{}' is no user name", Shorten(Escaped(user), 60)),
                         "use printable ASCII without blanks");
}

Result<OutputFormat> ParseFormat(const std::string& word) {
  if (word == "table") return OutputFormat::kTable;
  if (word == "json") return OutputFormat::kJson;
  return InvalidArgument("output", fmt::format("'{}' is no output format", Shorten(Escaped(word), 60)),
                         "use table or json");
}

// Only the user's own (or root's) file, that nobody else may write.
bool IsTrusted(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return true;  // reading it will say why
  const bool own = info.st_uid == geteuid() || info.st_uid == 0;
  return own && (info.st_mode & S_IWOTH) == 0;
}

Result<ConfigLayer> ReadLayer(const std::string& path) {
  if (path.empty()) return ConfigLayer{};
  if (access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) return ConfigLayer{};
  Result<std::string> text = ReadFile(path, kConfigBytesMax);
  if (!text.ok()) return text.status();
  return ParseConfig(*text, path);
}

yaml::Field Into(std::optional<std::string>* out) {
  return
      [out](const yaml::Node& value, const std::string& path) { return yaml::IntoText(&out->emplace())(value, path); };
}

void Merge(const ConfigLayer& lower, ConfigLayer* upper) {
  if (!upper->server) upper->server = lower.server;
  if (!upper->user) upper->user = lower.user;
  if (!upper->output) upper->output = lower.output;
}

}  // namespace

Result<ConfigLayer> ParseConfig(const std::string& text, const std::string& source) {
  ConfigLayer layer;
  const yaml::Fields fields = {
      {"server", Into(&layer.server)}, {"user", Into(&layer.user)}, {"output", Into(&layer.output)}};
  if (Status s = yaml::ReadText(text, source, fields); !s.ok()) return s;
  return layer;
}

ConfigPaths DefaultConfigPaths() {
  ConfigPaths paths;
  if (const auto xdg = Environment("XDG_CONFIG_HOME"); xdg && xdg->front() == '/') {
    paths.user = *xdg + "/glim/config.yaml";
  } else if (const auto home = Environment("HOME")) {
    paths.user = *home + "/.config/glim/config.yaml";
  }
  return paths;
}

ConfigLayer EnvironmentLayer() {
  return {Environment("GLIM_SERVER"), Environment("GLIM_USER"), Environment("GLIM_OUTPUT")};
}

Result<Settings> LoadSettings(const ConfigLayer& flags, const ConfigPaths& paths,
                              const std::function<void(const std::string&)>& warn) {
  ConfigLayer merged = flags;
  Merge(EnvironmentLayer(), &merged);
  std::vector<std::string> files = {paths.user, paths.system};
  if (IsTrusted(paths.local)) {
    files.insert(files.begin(), paths.local);
  } else {
    warn(fmt::format("{} is left out: another user owns it or may write it", paths.local));
  }
  for (const std::string& file : files) {
    Result<ConfigLayer> layer = ReadLayer(file);
    if (!layer.ok()) return layer.status();
    Merge(*layer, &merged);
  }
  Settings settings;
  settings.server = merged.server.value_or(kDefaultServer);
  settings.user = merged.user ? *merged.user : LoginName();
  if (Status server = CheckServer(settings.server); !server.ok()) return server;
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
