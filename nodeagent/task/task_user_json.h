// A TaskUser in the agent's own files and orders.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "nodeagent/task/task_user.h"

namespace glim::nodeagent {

inline nlohmann::json JsonOf(const TaskUser& user) {
  return {{"uid", user.uid}, {"gid", user.gid}, {"groups", user.groups}};
}

// Throws nlohmann::json::exception. Earlier versions knew no groups.
inline TaskUser UserFromJson(const nlohmann::json& value) {
  return {value.at("uid").get<uid_t>(), value.at("gid").get<gid_t>(), value.value("groups", std::vector<gid_t>())};
}

}  // namespace glim::nodeagent
