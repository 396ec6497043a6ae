// Where notifications go, as a policy file says so.
//
//   notify:
//     webhooks: {team-chat: {url: https://chat.example/hooks/1, secret_file: /etc/glim/team-chat.secret}}
//     commands: {pager: {path: /usr/local/bin/page, user: pager}}
#pragma once

#include <string>

#include "scheduler/core/model/policy.h"
#include "sdk/yaml/fields.h"

namespace glim::server {

// A URL is https, or http to loopback; a command's user is a name or a uid and never root.
yaml::Field IntoNotify(core::NotifyPolicy* out);

// A webhook's URL as whoever may not tell in its name sees it: its path may be as good as a password.
// "https://chat.example/..."; of what is no URL nothing.
std::string ShortUrl(const std::string& url);

// As the file would have it.
std::string NotifyYaml(const core::NotifyPolicy& notify);

}  // namespace glim::server
