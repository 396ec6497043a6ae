// LogApi: what is done with logs where they lie. Answered by log_search.h, on the agents' strand.
#pragma once

#include "glim/v1/log_api.grpc.pb.h"
#include "scheduler/server/clients/log_search.h"
#include "scheduler/server/door/door.h"

namespace glim::server {

inline constexpr std::chrono::milliseconds kLogSearchTime{3'000};  // of a page

class LogService final : public v1::LogApi::CallbackService {
 public:
  // All outlive the service.
  LogService(SchedulerLoop* loop, AgentStrand* strand, LogBroker* broker, Door* door,
             std::chrono::milliseconds time = kLogSearchTime);
  ~LogService() override;

  grpc::ServerUnaryReactor* SearchLog(grpc::CallbackServerContext* context, const v1::SearchLogRequest* request,
                                      v1::SearchLogResponse* response) override;

 private:
  Door* const door_;
  const LogSearch::Owner searches_;
};

}  // namespace glim::server
