#include "cli/rpc/grpc_status.h"

#include <utility>

#include "glim/v1/common.pb.h"

namespace glim::cli {

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return Status::Ok();
  const int code = static_cast<int>(status.error_code());
  const bool known = code >= 1 && code <= 16;
  Status out(known ? static_cast<StatusCode>(code) : StatusCode::kUnknown, status.error_message());
  glim::v1::ErrorDetail detail;
  if (status.error_details().empty() || !detail.ParseFromString(status.error_details())) return out;
  return std::move(out).WithReason(detail.reason()).WithField(detail.field()).WithFix(detail.fix());
}

}  // namespace glim::cli
