// Routes: which RPC answers which verb and path. One table; docs/http.md and the tests go by it, and a test holds it to
// the permissions: each method that users may call has a route.
//
// Constant data and pure functions; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace glim::gateway {

// What beside JSON a request may bring, or the answer be.
enum class Form : std::uint8_t {
  kPlain,
  kSpecs,   // the body may be job files in YAML
  kLog,     // the answer is a rank's log as it is, text/plain
  kEvents,  // the answer is one document a line, application/x-ndjson
};

// A path's {name} is a field of the request, {a.b} one of a message in it. Further fields come from the query, for POST
// and PUT from a JSON body, too.
struct Route {
  std::string_view verb;
  std::string_view pattern;
  std::string_view method;  // "ClientApi/ListJobs", as in permissions.h
  Form form = Form::kPlain;
};

inline constexpr auto kRoutes = std::to_array<Route>({
    {"GET", "/v1/version", "ClientApi/GetVersion"},
    {"GET", "/v1/whoami", "ClientApi/WhoAmI"},
    {"GET", "/v1/login", "ClientApi/GetLogin"},
    {"POST", "/v1/login", "ClientApi/LoginOidc"},
    {"POST", "/v1/session/code", "ClientApi/CreateWebCode"},

    {"GET", "/v1/jobs", "ClientApi/ListJobs"},
    {"POST", "/v1/jobs", "ClientApi/Submit", Form::kSpecs},
    {"POST", "/v1/plan", "ClientApi/PlanJob", Form::kSpecs},
    {"GET", "/v1/jobs/{job_id}", "ClientApi/GetJob"},
    {"POST", "/v1/jobs/{job_id}/cancel", "ClientApi/Cancel"},
    {"POST", "/v1/jobs/{job_id}/suspend", "ClientApi/Suspend"},
    {"POST", "/v1/jobs/{job_id}/resume", "ClientApi/Resume"},
    {"POST", "/v1/jobs/{job_id}/priority", "OperateApi/SetJobPriority"},
    {"POST", "/v1/jobs/{job_id}/move", "OperateApi/MoveJob"},
    {"GET", "/v1/jobs/{job_id}/why", "ClientApi/ExplainJob"},
    {"GET", "/v1/jobs/{job_id}/trace", "SchedApi/TraceJob"},
    {"GET", "/v1/jobs/{job_id}/log", "ClientApi/StreamLog", Form::kLog},
    {"GET", "/v1/jobs/{job_id}/log/search", "LogApi/SearchLog"},
    {"GET", "/v1/jobs/{job_id}/events", "ClientApi/StreamEvents", Form::kEvents},
    {"GET", "/v1/weigh", "OperateApi/WeighJobs"},
    {"POST", "/v1/users/{user}/cancel", "OperateApi/CancelUserJobs"},

    {"GET", "/v1/reservations", "ReserveApi/ListReservations"},
    {"POST", "/v1/reservations", "ReserveApi/SetReservation"},
    {"DELETE", "/v1/reservations/{name}", "ReserveApi/RemoveReservation"},

    {"GET", "/v1/nodes", "ClientApi/ListNodes"},
    {"DELETE", "/v1/nodes/{node}", "AdminApi/RemoveNode"},
    {"POST", "/v1/nodes/{node}/cordon", "OperateApi/CordonNode"},
    {"POST", "/v1/nodes/{node}/drain", "OperateApi/DrainNode"},
    {"POST", "/v1/nodes/{node}/uncordon", "OperateApi/UncordonNode"},
    {"POST", "/v1/nodes/{node}/validate", "OperateApi/ValidateNode"},
    {"POST", "/v1/nodes/{node}/return", "AdminApi/ReturnNode"},
    {"POST", "/v1/nodes/{node}/labels", "AdminApi/LabelNode"},
    {"POST", "/v1/nodes/{node}/invite", "AdminApi/InviteNode"},
    {"POST", "/v1/nodes/{node}/revoke", "AdminApi/RevokeNode"},

    {"GET", "/v1/events", "ClientApi/StreamEvents", Form::kEvents},
    {"GET", "/v1/history", "ClientApi/ListHistory"},
    {"GET", "/v1/history/report", "ReportApi/GetHistoryReport"},
    {"GET", "/v1/history/export", "SchedApi/ExportHistory"},
    {"GET", "/v1/hardware", "ReportApi/GetHardwareReport"},
    {"GET", "/v1/storage", "ReportApi/GetStorageReport"},
    {"GET", "/v1/cluster", "ReportApi/GetClusterAt"},
    {"GET", "/v1/report", "AdminApi/GetReport"},
    {"GET", "/v1/status", "AdminApi/GetSchedulerStatus"},
    {"GET", "/v1/sched", "SchedApi/GetSchedStatus"},

    {"GET", "/v1/secrets", "ClientApi/ListSecrets"},
    {"PUT", "/v1/secrets/{name}", "ClientApi/SetSecret"},
    {"DELETE", "/v1/secrets/{name}", "ClientApi/RemoveSecret"},
    {"GET", "/v1/tokens", "AdminApi/ListTokens"},
    {"POST", "/v1/tokens", "AdminApi/CreateToken"},
    {"DELETE", "/v1/tokens/{id}", "AdminApi/RevokeToken"},
    {"POST", "/v1/users/{all_of_user}/revoke", "AdminApi/RevokeToken"},

    {"GET", "/v1/accounts", "AdminApi/ListAccounts"},
    {"POST", "/v1/accounts", "AdminApi/ChangeAccount"},
    {"GET", "/v1/layout", "LayoutApi/ListLayout"},
    {"POST", "/v1/rows", "LayoutApi/ChangeRows"},
    {"GET", "/v1/policy", "AdminApi/GetPolicy"},
    {"POST", "/v1/policy/reload", "AdminApi/ReloadPolicy"},
    {"POST", "/v1/outage/resolve", "AdminApi/ResolveOutage"},
    {"POST", "/v1/ca/rotate", "AdminApi/RotateCa"},
    {"GET", "/v1/audit", "AdminApi/ListAudit"},
    {"GET", "/v1/audit/verify", "AdminApi/VerifyAudit"},
});

struct Match {
  const Route* route = nullptr;                             // null: no such path, or not with that verb
  std::vector<std::pair<std::string, std::string>> fields;  // of the path: its name, decoded
  std::vector<std::string_view> verbs;  // that the path has, HEAD beside GET; empty: there is no such path
};

// `path` is as it came, still encoded. HEAD finds what GET does.
Match FindRoute(std::string_view verb, std::string_view path);

// Whether a path is as a pattern says; its fields then.
bool MatchPath(std::string_view pattern, std::string_view path,
               std::vector<std::pair<std::string, std::string>>* fields);

}  // namespace glim::gateway
