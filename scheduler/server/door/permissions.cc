#include "scheduler/server/door/permissions.h"

#include <cstdio>
#include <cstdlib>
#include <map>

#include "glim/v1/options.pb.h"
#include "proto/methods/methods.h"

namespace glim::server {
namespace {

using v1::Rights;

constexpr std::string_view kPackage = "/glim.v1.";

Callers CallersOf(const Rights& rights) {
  switch (rights.callers()) {
    case Rights::USERS: return Callers::kUsers;
    case Rights::ANYBODY: return Callers::kAnybody;
    case Rights::NODES: return Callers::kNodes;
    default: return Callers::kAgents;
  }
}

core::Role LeastOf(const Rights& rights) {
  if (rights.callers() != Rights::USERS) return core::Role::kNone;
  switch (rights.role()) {
    case Rights::OPERATOR: return core::Role::kOperator;
    case Rights::USER: return core::Role::kUser;
    case Rights::VIEWER: return core::Role::kViewer;
    default: return core::Role::kAdmin;
  }
}

Ownership OwnershipOf(const Rights& rights) {
  switch (rights.whose()) {
    case Rights::PARTLY: return Ownership::kPartly;
    case Rights::OWN: return Ownership::kOwn;
    case Rights::JOB: return Ownership::kTeam;
    default: return Ownership::kNone;
  }
}

core::Scope ScopeOf(const Rights& rights) {
  switch (rights.scope()) {
    case Rights::READ: return core::Scope::kRead;
    case Rights::SUBMIT: return core::Scope::kSubmit;
    default: return core::Scope::kAll;
  }
}

}  // namespace

const std::vector<Permission>& Permissions() {
  static const auto* const kRows = [] {
    auto* const rows = new std::vector<Permission>;
    for (const google::protobuf::MethodDescriptor* const method : proto::Methods()) {
      if (!method->options().HasExtension(v1::rights)) continue;
      const Rights& rights = method->options().GetExtension(v1::rights);
      rows->push_back({std::string(kPackage) + proto::ShortName(*method), CallersOf(rights), LeastOf(rights),
                       OwnershipOf(rights), ScopeOf(rights), rights.jobs(), rights.audited()});
    }
    return rows;
  }();
  return *kRows;
}

const Permission* FindPermission(std::string_view method) {
  static const auto* const kByName = [] {
    auto* const by_name = new std::map<std::string_view, const Permission*>;
    for (const Permission& row : Permissions()) by_name->emplace(row.method, &row);
    return by_name;
  }();
  const auto found = kByName->find(method);
  return found == kByName->end() ? nullptr : found->second;
}

Method::Method(const char* name) : row_(FindPermission(std::string(kPackage) + name)) {
  if (row_ != nullptr) return;
  std::fprintf(stderr, "the protocol says of no method %s who may call it\n", name);
  std::abort();
}

}  // namespace glim::server
