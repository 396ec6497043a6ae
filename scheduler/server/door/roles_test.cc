// Every method, called with a token of each role and each scope, answers as the table says; with a job's own token and
// without any as well. The calls are empty: it counts whether they come in.
#include <grpcpp/generic/generic_stub.h>

#include <set>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/server/door/permissions.h"
#include "scheduler/server/testing/token_server.h"

namespace glim::server {
namespace {

using core::Role;
using core::Scope;

class RolesTest : public TokenServerTest {
 protected:
  // Of any method, streams included: what the call ends with.
  grpc::Status Call(std::string_view method, const std::string& token) {
    grpc::GenericStub stub(channel_);
    grpc::CompletionQueue queue;
    const auto came = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    grpc::ClientContext context;
    SetToken(&context, token);
    const auto call = stub.PrepareCall(&context, std::string(method), &queue);
    call->StartCall(nullptr);
    came();
    const grpc::Slice nothing("", 0);
    call->WriteLast(grpc::ByteBuffer(&nothing, 1), grpc::WriteOptions(), nullptr);
    came();
    grpc::ByteBuffer answer;
    do {
      call->Read(&answer, nullptr);
    } while (came());
    grpc::Status status;
    call->Finish(&status, nullptr);
    came();
    return status;
  }

  // Whether the door let it in; what happened then is the handler's affair.
  static bool CameIn(const grpc::Status& status) {
    static const std::set<std::string> kDoors = {"NO_TOKEN", "BAD_TOKEN", "TOKEN_EXPIRED", "USER_DISABLED",
                                                 "ROLE",     "SCOPE",     "JOB_TOKEN"};
    if (status.ok()) return true;
    return !kDoors.contains(DetailOf(status).reason());
  }
};

TEST_F(RolesTest, EachMethodInEachRoleAndScopeIsAsTheTableSays) {
  const std::pair<const char*, Role> roles[] = {{"vera", Role::kViewer},
                                                {"kim", Role::kUser},
                                                {"tess", Role::kTeamAdmin},
                                                {"ora", Role::kOperator},
                                                {"ada", Role::kAdmin}};
  std::set<Role> tried;
  for (const auto& [user, role] : roles) {
    tried.insert(role);
    for (const Scope scope : {Scope::kRead, Scope::kSubmit, Scope::kAll}) {
      const std::string token = MakeToken(user, core::ToString(scope));
      for (const Permission& row : Permissions()) {
        if (row.callers != Callers::kUsers) continue;
        const grpc::Status status = Call(row.method, token);
        EXPECT_NE(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << row.method;
        const bool may = role >= row.least && scope >= row.scope;
        EXPECT_EQ(CameIn(status), may) << row.method << " by " << user << " with scope " << core::ToString(scope)
                                       << ": " << status.error_code() << " " << status.error_message();
        if (may) continue;
        EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << row.method;
        EXPECT_EQ(DetailOf(status).reason(), role < row.least ? "ROLE" : "SCOPE") << row.method;
        EXPECT_FALSE(DetailOf(status).fix().empty()) << row.method;
      }
    }
  }
  const std::size_t all = core::kEnumWords<Role>.size() - 1;                     // kNone is nobody's
  RecordProperty("roles_without_a_test", static_cast<int>(all - tried.size()));  // tests/bench/run identity tells it
  EXPECT_EQ(tried.size(), all);
}

TEST_F(RolesTest, WithoutATokenOnlyWhatGivesOneAnswers) {
  for (const Permission& row : Permissions()) {
    const grpc::Status status = Call(row.method, "");
    switch (row.callers) {
      case Callers::kUsers:
        EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << row.method;
        EXPECT_EQ(DetailOf(status).reason(), "NO_TOKEN") << row.method;
        break;
      case Callers::kAnybody: EXPECT_TRUE(CameIn(status)) << row.method << ": " << status.error_message(); break;
      default: EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << row.method << " is not on this port";
    }
  }
}

TEST_F(RolesTest, AJobsTokenMayWhatTheTableSays) {
  core::TokenRow row;
  row.user = "ada";  // whatever its owner is
  row.scope = Scope::kSubmit;
  row.origin = core::TokenOrigin::kJob;
  row.attempt = {core::JobId(1), 1};
  const std::string token = PutToken(row);
  for (const Permission& permission : Permissions()) {
    if (permission.callers != Callers::kUsers) continue;
    const grpc::Status status = Call(permission.method, token);
    EXPECT_EQ(CameIn(status), permission.jobs) << permission.method << ": " << status.error_message();
  }
}

}  // namespace
}  // namespace glim::server
