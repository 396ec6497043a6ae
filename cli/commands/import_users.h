// Users from elsewhere, as rows of the registry: this machine's user database (NSS: files, LDAP, SSSD), or a file.
// Main thread only: getpwent is one for all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glim/v1/admin_api.pb.h"
#include "sdk/base/result.h"

namespace glim::cli {

struct ImportedUser {
  glim::v1::AccountUser row;
  // What is told of the user; the rest of a row that is there already stays as it is.
  bool has_teams = false, has_admin_of = false, has_role = false, has_groups = false, has_disabled = false;

  std::vector<std::uint32_t> system_groups{};  // below kFirstUid: kept where the registry has them, and not added

  // This user's row over what is there (null: nothing).
  glim::v1::AccountUser Over(const glim::v1::AccountUser* known) const;
};

inline constexpr unsigned kFirstUid = 1000;  // below it are accounts of the system

// uid, gid and groups of `names`; of nobody named: of all accounts from kFirstUid on, but nobody's (65534).
// INVALID_ARGUMENT: a name is not known here, or is root's.
Result<std::vector<ImportedUser>> UsersOfMachine(const std::vector<std::string>& names);

// A YAML file ("-": standard input): `users`, a mapping from names to teams, admin_of, role, uid, gid, groups and
// disabled, all of them optional.
Result<std::vector<ImportedUser>> UsersOfFile(const std::string& path);
Result<std::vector<ImportedUser>> ParseUsers(const std::string& text, const std::string& source);

}  // namespace glim::cli
