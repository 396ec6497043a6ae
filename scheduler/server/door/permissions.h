// Permissions: who may call what, as the protocol's files say of each method (options.proto). A method that says
// nothing is refused to everybody. docs/permissions.md is made from this.
//
// Constant data; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/core/model/roles.h"

namespace glim::server {

// As in options.proto, where each is explained.
enum class Callers : std::uint8_t { kUsers, kAnybody, kNodes, kAgents };
enum class Ownership : std::uint8_t { kNone, kPartly, kOwn, kTeam };

struct Permission {
  std::string method;  // "/glim.v1.ClientApi/Cancel"
  Callers callers = Callers::kUsers;
  core::Role least = core::Role::kAdmin;  // kNone where no users call
  Ownership ownership = Ownership::kNone;
  core::Scope scope = core::Scope::kAll;
  bool jobs = false;     // a job's own token may, too
  bool audited = false;  // also where it succeeds; what is denied always is
};

// In the order of the protocol's files.
const std::vector<Permission>& Permissions();

// Null: there is no such row, and nobody may.
const Permission* FindPermission(std::string_view method);

// The row that a handler names, "ClientApi/Cancel". One that is not there ends the program: each method is called by
// roles_test.cc.
class Method {
 public:
  Method(const char* name);  // NOLINT(google-explicit-constructor): a name is one
  const Permission* operator->() const { return row_; }
  const Permission& operator*() const { return *row_; }

 private:
  const Permission* row_;
};

}  // namespace glim::server
