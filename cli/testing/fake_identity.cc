#include "cli/testing/fake_identity.h"

namespace glim::cli {

namespace {

using grpc::ServerContext;
using grpc::Status;
using namespace glim::v1;  // NOLINT(build/namespaces): a test double made of little else

}  // namespace

Status FakeUserCalls::WhoAmI(ServerContext* context, const WhoAmIRequest*, WhoAmIResponse* response) {
  const auto state = owner_of_user_calls_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  *response = state->identity.who;
  return Status::OK;
}

Status FakeUserCalls::GetLogin(ServerContext* context, const GetLoginRequest*, GetLoginResponse* response) {
  const auto state = owner_of_user_calls_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  *response = state->identity.login;
  return Status::OK;
}

Status FakeUserCalls::LoginOidc(ServerContext* context, const LoginOidcRequest* request, LoginOidcResponse* response) {
  const auto state = owner_of_user_calls_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->identity.id_tokens.push_back(request->id_token());
  *response = state->identity.oidc;
  return Status::OK;
}

Status FakeUserCalls::CreateWebCode(ServerContext* context, const CreateWebCodeRequest*,
                                    CreateWebCodeResponse* response) {
  const auto state = owner_of_user_calls_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  *response = state->identity.web_code;
  return Status::OK;
}

Status FakeUserCalls::SetSecret(ServerContext* context, const SetSecretRequest* request, SetSecretResponse* response) {
  const auto state = owner_of_user_calls_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  response->set_replaced(!state->identity.secrets_set.empty());
  state->identity.secrets_set.push_back(*request);
  return Status::OK;
}

Status FakeUserCalls::ListSecrets(ServerContext* context, const ListSecretsRequest*, ListSecretsResponse* response) {
  const auto state = owner_of_user_calls_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  *response = state->identity.secrets;
  return Status::OK;
}

Status FakeUserCalls::RemoveSecret(ServerContext* context, const RemoveSecretRequest* request, RemoveSecretResponse*) {
  const auto state = owner_of_user_calls_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->identity.secrets_removed.push_back(request->name());
  return Status::OK;
}

Status FakeOperatorCalls::CreateToken(ServerContext* context, const CreateTokenRequest* request,
                                      CreateTokenResponse* response) {
  const auto state = owner_of_operator_calls_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->identity.create_requests.push_back(*request);
  *response = state->identity.created;
  return Status::OK;
}

Status FakeOperatorCalls::ListTokens(ServerContext* context, const ListTokensRequest* request,
                                     ListTokensResponse* response) {
  const auto state = owner_of_operator_calls_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->identity.list_requests.push_back(*request);
  *response = state->identity.tokens;
  return Status::OK;
}

Status FakeOperatorCalls::RevokeToken(ServerContext* context, const RevokeTokenRequest* request,
                                      RevokeTokenResponse* response) {
  const auto state = owner_of_operator_calls_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->identity.revoked.push_back(*request);
  response->set_revoked(1);
  return Status::OK;
}

Status FakeOperatorCalls::InviteNode(ServerContext* context, const InviteNodeRequest* request,
                                     InviteNodeResponse* response) {
  const auto state = owner_of_operator_calls_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->identity.invitations.push_back(*request);
  *response = state->identity.invited;
  return Status::OK;
}

Status FakeOperatorCalls::RevokeNode(ServerContext* context, const RevokeNodeRequest* request, RevokeNodeResponse*) {
  const auto state = owner_of_operator_calls_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->identity.nodes_revoked.push_back(request->node());
  return Status::OK;
}

Status FakeOperatorCalls::LabelNode(ServerContext* context, const LabelNodeRequest* request,
                                    LabelNodeResponse* response) {
  const auto state = owner_of_operator_calls_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->identity.labels.push_back(*request);
  *response = state->identity.labelled;
  return Status::OK;
}

Status FakeOperatorCalls::RotateCa(ServerContext* context, const RotateCaRequest* request, RotateCaResponse* response) {
  const auto state = owner_of_operator_calls_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->identity.rotations.push_back(*request);
  *response = state->identity.rotated;
  return Status::OK;
}

Status FakeOperatorCalls::ListBudgets(ServerContext* context, const ListBudgetsRequest*,
                                      ListBudgetsResponse* response) {
  const auto state = owner_of_operator_calls_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  for (const Budget& row : state->budgets) *response->add_budgets() = row;
  return Status::OK;
}

Status FakeOperatorCalls::SetBudget(ServerContext* context, const SetBudgetRequest* request,
                                    SetBudgetResponse* response) {
  const auto state = owner_of_operator_calls_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->budgets_set.push_back(*request);
  response->set_state("as-seen");
  for (const Budget& row : state->budgets) {
    if (row.team() == request->team()) *response->mutable_before() = row;
  }
  if (request->remove()) return Status::OK;
  *response->mutable_after() = response->before();
  response->mutable_after()->set_team(request->team());
  response->mutable_after()->set_gpu_ms_max(request->gpu_ms_max());
  if (request->restart()) response->mutable_after()->set_used_gpu_ms(0);
  return Status::OK;
}

Status FakeOperatorCalls::ListAudit(ServerContext* context, const ListAuditRequest* request,
                                    ListAuditResponse* response) {
  const auto state = owner_of_operator_calls_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->identity.audit_requests.push_back(*request);
  for (const AuditEntry& entry : state->identity.audit) {
    if (entry.seq() <= request->after()) continue;
    response->set_more(response->entries_size() == 1);
    if (response->more()) break;
    *response->add_entries() = entry;
  }
  return Status::OK;
}

Status FakeOperatorCalls::VerifyAudit(ServerContext* context, const VerifyAuditRequest*,
                                      VerifyAuditResponse* response) {
  const auto state = owner_of_operator_calls_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  *response = state->identity.verified;
  return Status::OK;
}

}  // namespace glim::cli
