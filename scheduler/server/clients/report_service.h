// ReportApi: what has been, over the kept history. Answered at the history's desk: no pass waits for a report.
#pragma once

#include "glim/v1/report_api.grpc.pb.h"
#include "scheduler/server/agents/held_saves.h"
#include "scheduler/server/clients/history_desk.h"
#include "scheduler/server/door/door.h"
#include "sdk/base/status.h"

namespace glim::server {

class ReportService final : public v1::ReportApi::CallbackService {
 public:
  // All outlive the service.
  ReportService(SchedulerLoop* loop, HistoryDesk* desk, const HeldSaves* held, Door* door);
  ~ReportService() override;

  grpc::ServerUnaryReactor* GetHistoryReport(grpc::CallbackServerContext* context,
                                             const v1::GetHistoryReportRequest* request,
                                             v1::GetHistoryReportResponse* response) override;
  grpc::ServerUnaryReactor* GetHardwareReport(grpc::CallbackServerContext* context,
                                              const v1::GetHardwareReportRequest* request,
                                              v1::GetHardwareReportResponse* response) override;
  grpc::ServerUnaryReactor* GetStorageReport(grpc::CallbackServerContext* context,
                                             const v1::GetStorageReportRequest* request,
                                             v1::GetStorageReportResponse* response) override;
  grpc::ServerUnaryReactor* GetClusterAt(grpc::CallbackServerContext* context, const v1::GetClusterAtRequest* request,
                                         v1::GetClusterAtResponse* response) override;

 private:
  SchedulerLoop* loop_;
  HistoryDesk* desk_;
  const HeldSaves* held_;
  Door* door_;
};

class HardwareReport;
// All that the history has for the report, its times included, and the answer. Runs on the thread that owns the reader.
Status ReadHardware(store::HistoryReader& reader, const core::Tables& tables, HardwareReport* report,
                    v1::GetHardwareReportResponse* response);

// The cluster as the history tells that it was at `response->at_ms()`. Runs on the thread that owns the reader.
Status ClusterAt(store::HistoryReader& reader, v1::GetClusterAtResponse* response);

}  // namespace glim::server
