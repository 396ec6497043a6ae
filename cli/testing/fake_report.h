// Reports of the fake scheduler: what was asked is noted, and answered with what the test has set.
#pragma once

#include "cli/testing/fake_state.h"
#include "glim/v1/report_api.grpc.pb.h"

namespace glim::cli {

class FakeReportCalls final : public glim::v1::ReportApi::Service {
 public:
  explicit FakeReportCalls(FakeDesk* owner) : owner_(owner) {}

  grpc::Status GetHistoryReport(grpc::ServerContext* context, const glim::v1::GetHistoryReportRequest* request,
                                glim::v1::GetHistoryReportResponse* response) override;
  grpc::Status GetHardwareReport(grpc::ServerContext* context, const glim::v1::GetHardwareReportRequest* request,
                                 glim::v1::GetHardwareReportResponse* response) override;
  grpc::Status GetStorageReport(grpc::ServerContext* context, const glim::v1::GetStorageReportRequest* request,
                                glim::v1::GetStorageReportResponse* response) override;

 private:
  FakeDesk* owner_;
};

}  // namespace glim::cli
