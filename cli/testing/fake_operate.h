// What operators ask, in the fake scheduler: a change notes the request and answers as if it had been done.
#pragma once

#include "cli/testing/fake_state.h"
#include "glim/v1/operate_api.grpc.pb.h"

namespace glim::cli {

class FakeOperateCalls : public glim::v1::OperateApi::Service {
 public:
  explicit FakeOperateCalls(FakeDesk* owner) : owner_(owner) {}

  grpc::Status CordonNode(grpc::ServerContext* context, const glim::v1::CordonNodeRequest* request,
                          glim::v1::CordonNodeResponse* response) override;
  grpc::Status DrainNode(grpc::ServerContext* context, const glim::v1::DrainNodeRequest* request,
                         glim::v1::DrainNodeResponse* response) override;
  grpc::Status UncordonNode(grpc::ServerContext* context, const glim::v1::UncordonNodeRequest* request,
                            glim::v1::UncordonNodeResponse* response) override;
  grpc::Status ValidateNode(grpc::ServerContext* context, const glim::v1::ValidateNodeRequest* request,
                            glim::v1::ValidateNodeResponse* response) override;
  grpc::Status SetJobPriority(grpc::ServerContext* context, const glim::v1::SetJobPriorityRequest* request,
                              glim::v1::SetJobPriorityResponse* response) override;
  grpc::Status UpdateJob(grpc::ServerContext* context, const glim::v1::UpdateJobRequest* request,
                         glim::v1::UpdateJobResponse* response) override;
  grpc::Status MoveJob(grpc::ServerContext* context, const glim::v1::MoveJobRequest* request,
                       glim::v1::MoveJobResponse* response) override;
  grpc::Status WeighJobs(grpc::ServerContext* context, const glim::v1::WeighJobsRequest* request,
                         glim::v1::WeighJobsResponse* response) override;
  grpc::Status CancelUserJobs(grpc::ServerContext* context, const glim::v1::CancelUserJobsRequest* request,
                              glim::v1::CancelUserJobsResponse* response) override;

 private:
  FakeDesk* owner_;
};

}  // namespace glim::cli
