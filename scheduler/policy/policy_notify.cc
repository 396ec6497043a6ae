#include "scheduler/policy/policy_notify.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <utility>

#include "sdk/base/printable.h"
#include "sdk/https/safe_url.h"

namespace glim::server {
namespace {

constexpr std::size_t kTargetsMax = 32;
constexpr std::size_t kPathBytesMax = 1024;

yaml::Field IntoUrl(std::string* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    if (!value.IsScalar() || !https::IsSafeUrl(value.scalar)) {
      return yaml::RefuseAt(value, path, "'" + EscapedStart(ShortUrl(value.scalar), 128) + "' is not safe to send to",
                            "write an https address without a user or a fragment in it, with a port of 1 to 65535 "
                            "(http on loopback alone)");
    }
    *out = value.scalar;
    return Status::Ok();
  };
}

yaml::Field IntoFile(std::string* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    const std::string text = value.IsScalar() ? value.scalar : "";
    const bool plain = text.size() > 1 && text.size() <= kPathBytesMax && text.front() == '/' && text.back() != '/' &&
                       std::filesystem::path(text).lexically_normal() == text && Printable(text) == text;
    if (!plain) {
      return yaml::RefuseAt(value, path, "'" + EscapedStart(text, 128) + "' is no file's absolute path",
                            "write it from / on, without '.' or '..'");
    }
    *out = text;
    return Status::Ok();
  };
}

yaml::Field IntoUser(std::string* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    std::string user;
    if (Status s = yaml::IntoName(&user)(value, path); !s.ok()) return s;
    if (user == "root" || user.find_first_not_of('0') == std::string::npos) {
      return yaml::RefuseAt(value, path, "a command does not run as root", "name a user of its own, or a uid");
    }
    *out = std::move(user);
    return Status::Ok();
  };
}

Status Missing(const yaml::Node& value, const std::string& path, const char* key, const char* fix) {
  return yaml::RefuseAt(value, yaml::JoinPath(path, key), "is missing", fix);
}

Status ReadWebhook(const yaml::Node& value, const std::string& path, core::NotifyWebhook* out) {
  Status s = yaml::ReadMap(value, path, {{"url", IntoUrl(&out->url)}, {"secret_file", IntoFile(&out->secret_file)}});
  if (!s.ok()) return s;
  if (out->url.empty()) return Missing(value, path, "url", "say where to send to");
  if (out->secret_file.empty()) {
    return Missing(value, path, "secret_file", "name a file of mode 0600 that holds what the receiver checks by");
  }
  return s;
}

Status ReadCommand(const yaml::Node& value, const std::string& path, core::NotifyCommand* out) {
  Status s = yaml::ReadMap(value, path, {{"path", IntoFile(&out->path)}, {"user", IntoUser(&out->user)}});
  if (!s.ok()) return s;
  if (out->path.empty()) return Missing(value, path, "path", "name the program");
  if (out->user.empty()) return Missing(value, path, "user", "name a user of its own, or a uid");
  return s;
}

template <typename Target, typename Read>
yaml::Field IntoTargets(std::map<std::string, Target>* out, const char* example, Read read) {
  return [=](const yaml::Node& value, const std::string& path) {
    return yaml::ReadEntries(value, path, example, [&](const yaml::Entry& entry, const std::string& at) {
      return read(*entry.value, at, &(*out)[entry.key]);
    });
  };
}

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

}  // namespace

std::string ShortUrl(const std::string& url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos || scheme > 8) return "...";
  const std::size_t begin = scheme + 3, end = std::min(url.find_first_of("/?#\\", begin), url.size());
  std::string host = url.substr(begin, end - begin);
  if (const std::size_t user = host.rfind('@'); user != std::string::npos) host.erase(0, user + 1);
  const bool all = end == url.size() && host.size() == end - begin;
  return url.substr(0, begin) + host + (all ? "" : "/...");
}

yaml::Field IntoNotify(core::NotifyPolicy* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    core::NotifyPolicy read;
    Status s = yaml::ReadMap(
        value, path,
        {{"webhooks",
          IntoTargets(&read.webhooks, "{team-chat: {url: https://..., secret_file: /etc/glim/...}}", ReadWebhook)},
         {"commands", IntoTargets(&read.commands, "{pager: {path: /usr/local/bin/page, user: pager}}", ReadCommand)}});
    if (!s.ok()) return s;
    if (read.webhooks.size() + read.commands.size() > kTargetsMax) {
      return yaml::RefuseAt(value, path, "has too many names", "give at most 32");
    }
    for (const auto& [name, webhook] : read.webhooks) {
      if (!read.commands.contains(name)) continue;
      return yaml::RefuseAt(value, path, "'" + name + "' is a webhook and a command", "rename one of them");
    }
    *out = std::move(read);
    return s;
  };
}

std::string NotifyYaml(const core::NotifyPolicy& notify) {
  std::string webhooks, commands;
  for (const auto& [name, webhook] : notify.webhooks) {
    webhooks += (webhooks.empty() ? "" : ", ") + Quoted(name) + ": {url: " + Quoted(webhook.url) +
                ", secret_file: " + Quoted(webhook.secret_file) + "}";
  }
  for (const auto& [name, command] : notify.commands) {
    commands += (commands.empty() ? "" : ", ") + Quoted(name) + ": {path: " + Quoted(command.path) +
                ", user: " + Quoted(command.user) + "}";
  }
  return "{webhooks: {" + webhooks + "}, commands: {" + commands + "}}";
}

}  // namespace glim::server
