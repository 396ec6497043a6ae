// The fake scheduler's calls about identity (tokens, secrets, nodes' certificates, the audit trail) and budgets. Parts
// of the services of fake_server.h: they answer what the test has set there, and note what was asked.
#pragma once

#include "cli/testing/fake_state.h"
#include "glim/v1/admin_api.grpc.pb.h"
#include "glim/v1/client_api.grpc.pb.h"

namespace glim::cli {

class FakeUserCalls : public glim::v1::ClientApi::Service {
 public:
  explicit FakeUserCalls(FakeDesk* owner) : owner_of_user_calls_(owner) {}
  grpc::Status WhoAmI(grpc::ServerContext*, const glim::v1::WhoAmIRequest*, glim::v1::WhoAmIResponse*) override;
  grpc::Status GetLogin(grpc::ServerContext*, const glim::v1::GetLoginRequest*, glim::v1::GetLoginResponse*) override;
  grpc::Status LoginOidc(grpc::ServerContext*, const glim::v1::LoginOidcRequest*,
                         glim::v1::LoginOidcResponse*) override;
  grpc::Status CreateWebCode(grpc::ServerContext*, const glim::v1::CreateWebCodeRequest*,
                             glim::v1::CreateWebCodeResponse*) override;
  grpc::Status SetSecret(grpc::ServerContext*, const glim::v1::SetSecretRequest*,
                         glim::v1::SetSecretResponse*) override;
  grpc::Status ListSecrets(grpc::ServerContext*, const glim::v1::ListSecretsRequest*,
                           glim::v1::ListSecretsResponse*) override;
  grpc::Status RemoveSecret(grpc::ServerContext*, const glim::v1::RemoveSecretRequest*,
                            glim::v1::RemoveSecretResponse*) override;

 private:
  FakeDesk* owner_of_user_calls_;
};

class FakeOperatorCalls : public glim::v1::AdminApi::Service {
 public:
  explicit FakeOperatorCalls(FakeDesk* owner) : owner_of_operator_calls_(owner) {}
  grpc::Status CreateToken(grpc::ServerContext*, const glim::v1::CreateTokenRequest*,
                           glim::v1::CreateTokenResponse*) override;
  grpc::Status ListTokens(grpc::ServerContext*, const glim::v1::ListTokensRequest*,
                          glim::v1::ListTokensResponse*) override;
  grpc::Status RevokeToken(grpc::ServerContext*, const glim::v1::RevokeTokenRequest*,
                           glim::v1::RevokeTokenResponse*) override;
  grpc::Status InviteNode(grpc::ServerContext*, const glim::v1::InviteNodeRequest*,
                          glim::v1::InviteNodeResponse*) override;
  grpc::Status RevokeNode(grpc::ServerContext*, const glim::v1::RevokeNodeRequest*,
                          glim::v1::RevokeNodeResponse*) override;
  grpc::Status LabelNode(grpc::ServerContext*, const glim::v1::LabelNodeRequest*,
                         glim::v1::LabelNodeResponse*) override;
  grpc::Status RotateCa(grpc::ServerContext*, const glim::v1::RotateCaRequest*, glim::v1::RotateCaResponse*) override;
  grpc::Status ListBudgets(grpc::ServerContext*, const glim::v1::ListBudgetsRequest*,
                           glim::v1::ListBudgetsResponse*) override;
  grpc::Status SetBudget(grpc::ServerContext*, const glim::v1::SetBudgetRequest*,
                         glim::v1::SetBudgetResponse*) override;
  grpc::Status ListAudit(grpc::ServerContext*, const glim::v1::ListAuditRequest*,
                         glim::v1::ListAuditResponse*) override;
  grpc::Status VerifyAudit(grpc::ServerContext*, const glim::v1::VerifyAuditRequest*,
                           glim::v1::VerifyAuditResponse*) override;

 private:
  FakeDesk* owner_of_operator_calls_;
};

}  // namespace glim::cli
