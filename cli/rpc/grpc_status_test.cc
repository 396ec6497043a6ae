#include "cli/rpc/grpc_status.h"

#include <gtest/gtest.h>

#include "glim/v1/common.pb.h"

namespace glim::cli {
namespace {

TEST(FromGrpc, TakesTheDetailOver) {
  glim::v1::ErrorDetail detail;
  detail.set_reason("INFEASIBLE");
  detail.set_field("nodes");
  detail.set_fix("use at most 16 nodes");
  const Status status =
      FromGrpc(grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "24 nodes", detail.SerializeAsString()));
  EXPECT_EQ(status.message() + status.reason() + status.field() + status.fix(),
            "24 nodesINFEASIBLEnodesuse at most 16 nodes");
}

TEST(FromGrpc, DoesWithoutOne) {
  const grpc::Status odd(grpc::StatusCode::NOT_FOUND, "x", "\xff not a detail");
  EXPECT_EQ(FromGrpc(odd).code(), StatusCode::kNotFound);
  EXPECT_TRUE(FromGrpc(grpc::Status::OK).ok());
}

}  // namespace
}  // namespace glim::cli
