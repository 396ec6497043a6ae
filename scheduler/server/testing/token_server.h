// A real server with TLS and tokens, and one user of each role: what may be asked, by whom, and with which token.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "scheduler/server/testing/test_server.h"

namespace glim::server {

// Users: vera (viewer), kim and lee (users, of team vision), tess (its admin), ora (operator), ada (admin).
class TokenServerTest : public ServerTest {
 protected:
  void SetUp() override;
  void Configure() override;
  std::shared_ptr<grpc::ChannelCredentials> Credentials() const override;

  // A new token, with the text that goes into the metadata. Made by an admin unless `by` is another token.
  std::string MakeToken(const std::string& user, const std::string& scope = "all", const std::string& by = "",
                        std::int64_t ttl_ms = 0);
  // The user's token of scope all.
  const std::string& TokenOf(const std::string& user) { return tokens_.at(user); }
  static std::string IdOf(const std::string& token) { return token.substr(5, 16); }

  static void SetToken(grpc::ClientContext* context, const std::string& token);

  // One call of a stub with a token: Ask(admin_.get(), &v1::AdminApi::Stub::ListTokens, token, request, &response).
  template <typename Stub, typename Request, typename Response>
  static grpc::Status Ask(Stub* stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                          const std::string& token, const Request& request, Response* response) {
    grpc::ClientContext context;
    SetToken(&context, token);
    return (stub->*method)(&context, request, response);
  }

  std::uint64_t SubmitBy(const std::string& token, const v1::JobSpec& spec);
  void PutUser(const v1::AccountUser& user);
  // A row as only the scheduler itself makes it (a job's token, one of a login host): put beside the API.
  std::string PutToken(core::TokenRow row);
  // The newest rows of the audit trail, oldest first.
  v1::ListAuditResponse Audit(const std::string& user = "");

  std::string admin_token_;  // of the first start
  std::map<std::string, std::string> tokens_;

 private:
  void PutNode();
};

}  // namespace glim::server
