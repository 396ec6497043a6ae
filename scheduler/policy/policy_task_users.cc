#include "scheduler/policy/policy_task_users.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/core/model/task_ids.h"

namespace glim::server {
namespace {

constexpr std::size_t kIdsMax = 1000;

Status ReadIds(const yaml::Node& value, const std::string& path, std::vector<std::uint32_t>* out) {
  if (!value.IsSequence()) return yaml::RefuseAt(value, path, "must be a list of ids", "write it like [44, 109]");
  if (value.items.size() > kIdsMax) return yaml::RefuseAt(value, path, "is too long", "give at most 1000 ids");
  std::vector<std::uint32_t> ids;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const yaml::Node& item = *value.items[i];
    const std::string at = path + "[" + std::to_string(i) + "]";
    std::uint32_t id = 0;
    const auto into = yaml::IntoNumber(&id, 0, std::numeric_limits<std::uint32_t>::max());
    if (Status s = into(item, at); !s.ok()) return s;
    if (core::IsNeverATasks(id)) {
      const std::string_view why = id == 0 ? " is root's, which no task has" : core::NoUsersId(id);
      return yaml::RefuseAt(item, at, std::to_string(id) + std::string(why),
                            "take it out: a task has its user's rights and no more");
    }
    if (std::find(ids.begin(), ids.end(), id) != ids.end()) {
      return yaml::RefuseAt(item, at, std::to_string(id) + " is given twice", "keep one");
    }
    ids.push_back(id);
  }
  *out = std::move(ids);
  return Status::Ok();
}

std::string IdsYaml(const std::vector<std::uint32_t>& ids) {
  std::string text = "[";
  for (const std::uint32_t id : ids) text += (text.size() == 1 ? "" : ", ") + std::to_string(id);
  return text + "]";
}

}  // namespace

yaml::Field IntoTaskUsers(core::TaskUsersPolicy* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    core::TaskUsersPolicy read;
    const auto into = [](std::vector<std::uint32_t>* ids) {
      return [ids](const yaml::Node& list, const std::string& at) { return ReadIds(list, at, ids); };
    };
    Status status =
        yaml::ReadMap(value, path, {{"allow_uids", into(&read.allow_uids)}, {"allow_gids", into(&read.allow_gids)}});
    if (status.ok()) *out = std::move(read);
    return status;
  };
}

std::string TaskUsersYaml(const core::TaskUsersPolicy& task_users) {
  return "{allow_uids: " + IdsYaml(task_users.allow_uids) + ", allow_gids: " + IdsYaml(task_users.allow_gids) + "}";
}

}  // namespace glim::server
