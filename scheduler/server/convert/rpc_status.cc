#include "scheduler/server/convert/rpc_status.h"

#include <algorithm>

#include "glim/v1/common.pb.h"

namespace glim::server {
namespace {

constexpr std::size_t kUserMax = 64;

bool IsUserChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

Status Unauthenticated(const char* message) {
  return Status(StatusCode::kUnauthenticated, message)
      .WithReason("NO_USER")
      .WithField("glim-user")
      .WithFix("send metadata glim-user with 1 to 64 characters of A-Z a-z 0-9 . _ -");
}

}  // namespace

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const auto code = static_cast<grpc::StatusCode>(status.code());
  if (status.reason().empty() && status.field().empty() && status.fix().empty()) return {code, status.message()};
  v1::ErrorDetail detail;
  detail.set_reason(status.reason());
  detail.set_field(status.field());
  detail.set_fix(status.fix());
  return {code, status.message(), detail.SerializeAsString()};
}

Result<std::string> CallerOf(const grpc::CallbackServerContext& context) {
  const auto [begin, end] = context.client_metadata().equal_range("glim-user");
  if (begin == end) return Unauthenticated("the call does not say who asks");
  if (std::next(begin) != end) return Unauthenticated("the call names more than one user");
  const grpc::string_ref user = begin->second;
  if (user.empty() || user.size() > kUserMax || !std::all_of(user.begin(), user.end(), IsUserChar)) {
    return Unauthenticated("the user's name is empty, too long, or has characters that are not allowed");
  }
  return std::string(user.data(), user.size());
}

}  // namespace glim::server
