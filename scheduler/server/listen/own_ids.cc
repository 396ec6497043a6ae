#include "scheduler/server/listen/own_ids.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace glim::server {
namespace {

constexpr int kGroupsMax = 1 << 16;

std::vector<gid_t> GroupsOf(const passwd& entry) {
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (::getgrouplist(entry.pw_name, entry.pw_gid, groups.data(), &count) < 0 && count < kGroupsMax) {
    count = std::max(count, static_cast<int>(groups.size()) * 2);
    groups.resize(static_cast<std::size_t>(count));
  }
  groups.resize(static_cast<std::size_t>(std::max(0, count)));
  std::sort(groups.begin(), groups.end());
  return groups;
}

}  // namespace

std::optional<core::TaskUser> IdsOf(std::uint32_t uid) {
  if (uid < core::kOwnIdsFrom || core::IsNeverATasks(uid)) return std::nullopt;
  const passwd* const entry = ::getpwuid(uid);
  core::TaskUser ids{uid, entry == nullptr ? ::getegid() : entry->pw_gid};
  if (core::IsNeverATasks(ids.gid)) return std::nullopt;
  if (entry == nullptr) return ids;
  for (const gid_t group : GroupsOf(*entry)) {
    if (group >= core::kOwnIdsFrom && group != ids.gid && !core::IsNeverATasks(group)) ids.groups.push_back(group);
  }
  return ids;
}

}  // namespace glim::server
