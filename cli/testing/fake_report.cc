#include "cli/testing/fake_report.h"

namespace glim::cli {

using grpc::ServerContext;
using grpc::Status;
using namespace glim::v1;  // NOLINT(build/namespaces): a test double made of little else

Status FakeReportCalls::GetHistoryReport(ServerContext* context, const GetHistoryReportRequest* request,
                                         GetHistoryReportResponse* response) {
  const FakeHandle state = owner_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->report_requests.push_back(*request);
  *response = state->history_report;
  return Status::OK;
}

Status FakeReportCalls::GetHardwareReport(ServerContext* context, const GetHardwareReportRequest* request,
                                          GetHardwareReportResponse* response) {
  const FakeHandle state = owner_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->hardware_requests.push_back(*request);
  *response = state->hardware;
  return Status::OK;
}

Status FakeReportCalls::GetStorageReport(ServerContext* context, const GetStorageReportRequest* request,
                                         GetStorageReportResponse* response) {
  const FakeHandle state = owner_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->storage_requests.push_back(*request);
  *response = state->storage;
  return Status::OK;
}

}  // namespace glim::cli
