// How the scheduler decides, in the fake scheduler: what the test says.
#pragma once

#include "cli/testing/fake_state.h"
#include "glim/v1/sched_api.grpc.pb.h"

namespace glim::cli {

class FakeSchedCalls : public glim::v1::SchedApi::Service {
 public:
  explicit FakeSchedCalls(FakeDesk* owner) : owner_(owner) {}

  grpc::Status GetSchedStatus(grpc::ServerContext* context, const glim::v1::GetSchedStatusRequest* request,
                              glim::v1::GetSchedStatusResponse* response) override;
  grpc::Status TraceJob(grpc::ServerContext* context, const glim::v1::TraceJobRequest* request,
                        glim::v1::TraceJobResponse* response) override;
  grpc::Status ExportHistory(grpc::ServerContext* context, const glim::v1::ExportHistoryRequest* request,
                             glim::v1::ExportHistoryResponse* response) override;

 private:
  FakeDesk* owner_;
};

}  // namespace glim::cli
