#include "scheduler/server/door/testing/permissions_page.h"

#include <map>
#include <string>
#include <string_view>

#include "proto/methods/methods.h"
#include "scheduler/server/door/permissions.h"

namespace glim::server {
namespace {

constexpr char kHead[] =
    R"(# Who may call what

*Reference, for everybody.*

Made from the `rights` of the methods in `proto/glim/v1/` by a test (`GLIM_GOLDEN_UPDATE=1` writes it again). A method
without rights is refused to everybody.

| column | what it says |
| --- | --- |
| least role | viewer, user, team admin, operator, admin; each may what those before it may |
| whose: *own* | the caller's own things; the method's words in the protocol say what operators may of others |
| whose: *job* | the job's owner, an admin of its team, operators |
| whose: *partly* | everybody, without the private parts of others |
| scope | the least that the token must have: read, submit, all |
| jobs | a job's own token may, too (`api: true`): of that job and of those that it submitted |
| audited | done calls are in the audit trail; denied calls always are |
| by HTTP | the verbs and paths of the gateway ([http.md](http.md)) |

Private parts are: of jobs what runs, environment, mounts, paths, secrets' names and messages; of accounts role and uid;
of nodes what went wrong there last.

| method | least role | whose | scope | jobs | audited | by HTTP |
| --- | --- | --- | --- | --- | --- | --- |
)";

std::string_view RoleWord(const Permission& row) {
  switch (row.callers) {
    case Callers::kAnybody: return "anybody";
    case Callers::kNodes: return "nodes, by certificate";
    case Callers::kAgents: return "agents among each other";
    case Callers::kUsers: break;
  }
  return core::ToString(row.least);
}

std::string_view WhoseWord(Ownership ownership) {
  switch (ownership) {
    case Ownership::kNone: return "";
    case Ownership::kPartly: return "partly";
    case Ownership::kOwn: return "own";
    case Ownership::kTeam: return "job";
  }
  return "";
}

// "`GET /v1/jobs`"
std::map<std::string, std::string> PathsByMethod() {
  std::map<std::string, std::string> by_method;
  for (const google::protobuf::MethodDescriptor* const method : proto::Methods()) {
    std::string& words = by_method["/glim.v1." + proto::ShortName(*method)];
    for (const auto& [verb, path] : proto::PathsOf(*method)) {
      words.append(words.empty() ? "`" : ", `").append(verb).append(" ").append(path).append("`");
    }
  }
  return by_method;
}

}  // namespace

std::string PermissionsPage() {
  const std::map<std::string, std::string> paths = PathsByMethod();
  std::string page = kHead;
  for (const Permission& row : Permissions()) {
    const bool users = row.callers == Callers::kUsers;
    page += "| " + row.method.substr(std::string_view("/glim.v1.").size());
    for (const std::string_view cell :
         {RoleWord(row), WhoseWord(row.ownership), std::string_view(users ? core::ToString(row.scope) : ""),
          std::string_view(row.jobs ? "yes" : ""), std::string_view(row.audited ? "yes" : ""),
          std::string_view(paths.at(row.method))}) {
      page += cell.empty() ? " |" : " | " + std::string(cell);
    }
    page += " |\n";
  }
  return page;
}

}  // namespace glim::server
