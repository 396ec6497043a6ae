// Permissions: who may call what. One row for each method of every service; a method without a row is refused to
// everybody, and does not compile as one that a handler opens. docs/permissions.md is made from this table, and
// permissions_test.cc compares it with the services' descriptors.
//
// Constant data; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "scheduler/core/model/roles.h"

namespace glim::server {

// Who calls a method at all.
enum class Callers : std::uint8_t {
  kAnybody,  // no token is looked at: how users and machines get one
  kUsers,    // with a token; in plaintext mode with a name
  kNodes,    // agents, by their certificates: on the port for agents alone
  kAgents,   // agents among each other: no scheduler answers it
};

// Whose things a call is about. Operators may whatever kOwn and kTeam say; a job's own token counts as an owner of that
// job and of those that it submitted, and of nothing else.
enum class Ownership : std::uint8_t {
  kNone,    // nobody's, or everybody may
  kPartly,  // everybody may; what is private of others is left out (private_parts.h)
  kOwn,     // the caller's own alone: the handler looks among these, and says what operators may
  kTeam,    // the request's `job_id`: the owner, an admin of the job's team, operators; without one, of all these jobs
};

struct Permission {
  std::string_view method;  // "/glim.v1.ClientApi/Cancel"
  Callers callers = Callers::kUsers;
  core::Role least = core::Role::kAdmin;
  Ownership ownership = Ownership::kNone;
  core::Scope scope = core::Scope::kAll;
  bool jobs = false;     // a job's own token may, too
  bool audited = false;  // also where it succeeds; what is denied always is
};

inline constexpr auto kPermissions = [] {
  using enum Callers;
  using enum Ownership;
  using enum core::Scope;
  constexpr auto kNobody = core::Role::kNone, kViewer = core::Role::kViewer, kUser = core::Role::kUser,
                 kOperator = core::Role::kOperator, kAdmin = core::Role::kAdmin;
  constexpr bool kJobs = true, kNoJobs = false, kAudited = true, kPlain = false;
  return std::to_array<Permission>({
      {"/glim.v1.ClientApi/Submit", kUsers, kUser, kNone, kSubmit, kJobs, kAudited},
      {"/glim.v1.ClientApi/Cancel", kUsers, kUser, kTeam, kSubmit, kJobs, kAudited},
      {"/glim.v1.ClientApi/Suspend", kUsers, kUser, kTeam, kSubmit, kJobs, kAudited},
      {"/glim.v1.ClientApi/Resume", kUsers, kUser, kTeam, kSubmit, kJobs, kAudited},
      {"/glim.v1.ClientApi/ListJobs", kUsers, kViewer, kPartly, kRead, kJobs, kPlain},
      {"/glim.v1.ClientApi/GetJob", kUsers, kViewer, kPartly, kRead, kJobs, kPlain},
      {"/glim.v1.ClientApi/ExplainJob", kUsers, kViewer, kPartly, kRead, kJobs, kPlain},
      {"/glim.v1.ClientApi/PlanJob", kUsers, kUser, kNone, kRead, kJobs, kPlain},
      {"/glim.v1.ClientApi/ListNodes", kUsers, kViewer, kPartly, kRead, kNoJobs, kPlain},
      {"/glim.v1.ClientApi/StreamLog", kUsers, kViewer, kTeam, kRead, kJobs, kPlain},
      {"/glim.v1.ClientApi/StreamEvents", kUsers, kViewer, kTeam, kRead, kJobs, kPlain},
      {"/glim.v1.ClientApi/ListHistory", kUsers, kViewer, kPartly, kRead, kNoJobs, kPlain},
      {"/glim.v1.ClientApi/GetVersion", kUsers, kViewer, kNone, kRead, kJobs, kPlain},
      {"/glim.v1.ClientApi/WhoAmI", kUsers, kViewer, kOwn, kRead, kJobs, kPlain},
      {"/glim.v1.ClientApi/GetLogin", kAnybody, kNobody, kNone, kRead, kNoJobs, kPlain},
      {"/glim.v1.ClientApi/LoginOidc", kAnybody, kNobody, kNone, kRead, kNoJobs, kAudited},
      {"/glim.v1.ClientApi/CreateWebCode", kUsers, kViewer, kOwn, kAll, kNoJobs, kPlain},
      {"/glim.v1.ClientApi/RedeemWebCode", kAnybody, kNobody, kNone, kRead, kNoJobs, kAudited},
      {"/glim.v1.ClientApi/SetSecret", kUsers, kUser, kOwn, kAll, kNoJobs, kAudited},
      {"/glim.v1.ClientApi/ListSecrets", kUsers, kUser, kOwn, kRead, kNoJobs, kPlain},
      {"/glim.v1.ClientApi/RemoveSecret", kUsers, kUser, kOwn, kAll, kNoJobs, kAudited},

      {"/glim.v1.AdminApi/GetSchedulerStatus", kUsers, kViewer, kNone, kRead, kNoJobs, kPlain},
      {"/glim.v1.AdminApi/ReturnNode", kUsers, kOperator, kNone, kAll, kNoJobs, kAudited},
      {"/glim.v1.AdminApi/RemoveNode", kUsers, kOperator, kNone, kAll, kNoJobs, kAudited},
      {"/glim.v1.AdminApi/ResolveOutage", kUsers, kOperator, kNone, kAll, kNoJobs, kAudited},
      {"/glim.v1.AdminApi/GetPolicy", kUsers, kViewer, kNone, kRead, kNoJobs, kPlain},
      {"/glim.v1.AdminApi/ReloadPolicy", kUsers, kOperator, kNone, kAll, kNoJobs, kAudited},
      {"/glim.v1.AdminApi/ListAccounts", kUsers, kViewer, kPartly, kRead, kNoJobs, kPlain},
      {"/glim.v1.AdminApi/ChangeAccount", kUsers, kOperator, kNone, kAll, kNoJobs, kAudited},
      {"/glim.v1.AdminApi/GetReport", kUsers, kViewer, kNone, kRead, kNoJobs, kPlain},
      {"/glim.v1.AdminApi/CreateToken", kUsers, kViewer, kOwn, kAll, kNoJobs, kAudited},
      {"/glim.v1.AdminApi/ListTokens", kUsers, kViewer, kOwn, kRead, kNoJobs, kPlain},
      {"/glim.v1.AdminApi/RevokeToken", kUsers, kViewer, kOwn, kRead, kNoJobs, kAudited},
      {"/glim.v1.AdminApi/InviteNode", kUsers, kOperator, kNone, kAll, kNoJobs, kAudited},
      {"/glim.v1.AdminApi/RevokeNode", kUsers, kOperator, kNone, kAll, kNoJobs, kAudited},
      {"/glim.v1.AdminApi/LabelNode", kUsers, kOperator, kNone, kAll, kNoJobs, kAudited},
      {"/glim.v1.AdminApi/RotateCa", kUsers, kAdmin, kNone, kAll, kNoJobs, kAudited},
      {"/glim.v1.AdminApi/ListAudit", kUsers, kOperator, kNone, kRead, kNoJobs, kPlain},
      {"/glim.v1.AdminApi/VerifyAudit", kUsers, kOperator, kNone, kRead, kNoJobs, kPlain},

      {"/glim.v1.OperateApi/CordonNode", kUsers, kOperator, kNone, kAll, kNoJobs, kAudited},
      {"/glim.v1.OperateApi/DrainNode", kUsers, kOperator, kNone, kAll, kNoJobs, kAudited},
      {"/glim.v1.OperateApi/UncordonNode", kUsers, kOperator, kNone, kAll, kNoJobs, kAudited},
      {"/glim.v1.OperateApi/ValidateNode", kUsers, kOperator, kNone, kAll, kNoJobs, kAudited},
      {"/glim.v1.OperateApi/SetJobPriority", kUsers, kUser, kTeam, kSubmit, kNoJobs, kAudited},
      {"/glim.v1.OperateApi/MoveJob", kUsers, kOperator, kTeam, kAll, kNoJobs, kAudited},
      {"/glim.v1.OperateApi/WeighJobs", kUsers, kViewer, kNone, kRead, kNoJobs, kPlain},
      {"/glim.v1.OperateApi/CancelUserJobs", kUsers, kUser, kOwn, kAll, kNoJobs, kAudited},

      {"/glim.v1.LayoutApi/ListLayout", kUsers, kViewer, kNone, kRead, kNoJobs, kPlain},
      {"/glim.v1.LayoutApi/ChangeRows", kUsers, kOperator, kNone, kAll, kNoJobs, kAudited},

      {"/glim.v1.LogApi/SearchLog", kUsers, kViewer, kTeam, kRead, kJobs, kPlain},

      {"/glim.v1.ReportApi/GetHistoryReport", kUsers, kViewer, kNone, kRead, kNoJobs, kPlain},
      {"/glim.v1.ReportApi/GetHardwareReport", kUsers, kViewer, kNone, kRead, kNoJobs, kPlain},
      {"/glim.v1.ReportApi/GetStorageReport", kUsers, kViewer, kNone, kRead, kNoJobs, kPlain},
      {"/glim.v1.ReportApi/GetClusterAt", kUsers, kViewer, kNone, kRead, kNoJobs, kPlain},

      {"/glim.v1.ReserveApi/SetReservation", kUsers, kOperator, kNone, kAll, kNoJobs, kAudited},
      {"/glim.v1.ReserveApi/RemoveReservation", kUsers, kOperator, kNone, kAll, kNoJobs, kAudited},
      {"/glim.v1.ReserveApi/ListReservations", kUsers, kViewer, kNone, kRead, kNoJobs, kPlain},

      {"/glim.v1.SchedApi/GetSchedStatus", kUsers, kOperator, kNone, kRead, kNoJobs, kPlain},
      {"/glim.v1.SchedApi/TraceJob", kUsers, kUser, kTeam, kRead, kNoJobs, kPlain},
      {"/glim.v1.SchedApi/ExportHistory", kUsers, kViewer, kNone, kRead, kNoJobs, kPlain},

      {"/glim.v1.EnrolApi/Enrol", kAnybody, kNobody, kNone, kRead, kNoJobs, kAudited},

      {"/glim.v1.AgentApi/Sync", kNodes, kNobody, kNone, kRead, kNoJobs, kPlain},
      {"/glim.v1.AgentApi/ServeLogs", kNodes, kNobody, kNone, kRead, kNoJobs, kPlain},
      {"/glim.v1.AgentApi/ReviewSaves", kNodes, kNobody, kNone, kRead, kNoJobs, kPlain},
      {"/glim.v1.AgentApi/RenewCertificate", kNodes, kNobody, kNone, kRead, kNoJobs, kAudited},
      {"/glim.v1.AgentApi/LoginUser", kNodes, kNobody, kNone, kRead, kNoJobs, kAudited},

      {"/glim.v1.SaveApi/Fetch", kAgents, kNobody, kNone, kRead, kNoJobs, kPlain},
  });
}();

// Null: there is no such row, and nobody may.
constexpr const Permission* FindPermission(std::string_view method) {
  for (const Permission& row : kPermissions) {
    if (row.method == method) return &row;
  }
  return nullptr;
}

// The row that a handler names, "ClientApi/Cancel": one that is not there does not compile.
class Method {
 public:
  consteval Method(const char* name) : row_(Row(name)) {}  // NOLINT(google-explicit-constructor): a name is one
  constexpr const Permission* operator->() const { return row_; }
  constexpr const Permission& operator*() const { return *row_; }

 private:
  static consteval const Permission* Row(std::string_view name) {
    constexpr std::string_view kPackage = "/glim.v1.";
    for (const Permission& row : kPermissions) {
      if (row.method.substr(kPackage.size()) == name) return &row;
    }
    throw "a method without a row in kPermissions";
  }
  const Permission* row_;
};

}  // namespace glim::server
