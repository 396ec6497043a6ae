#include "cli/testing/fake_state.h"

#include "glim/v1/common.pb.h"

namespace glim::cli {
namespace {

std::string MetadataOf(const grpc::ServerContext& context, const char* key) {
  const auto found = context.client_metadata().find(key);
  return found == context.client_metadata().end() ? "" : std::string(found->second.data(), found->second.size());
}

}  // namespace

grpc::Status Enter(const grpc::ServerContext& context, FakeState* state) {
  state->user = MetadataOf(context, "glim-user");
  state->authorizations.push_back(MetadataOf(context, "authorization"));
  if (state->refusal.ok() || state->refusals_left == 0) return grpc::Status::OK;
  if (state->refusals_left > 0) --state->refusals_left;
  return state->refusal;
}

grpc::Status Refusal(grpc::StatusCode code, const std::string& message, const std::string& reason,
                     const std::string& field, const std::string& fix) {
  glim::v1::ErrorDetail detail;
  detail.set_reason(reason);
  detail.set_field(field);
  detail.set_fix(fix);
  return grpc::Status(code, message, detail.SerializeAsString());
}

}  // namespace glim::cli
