#include "scheduler/server/clients/log_service.h"

namespace glim::server {

LogService::LogService(SchedulerLoop* loop, AgentStrand* strand, LogBroker* broker, Door* door,
                       std::chrono::milliseconds time)
    : door_(door), searches_{strand, broker, loop, time} {}

LogService::~LogService() = default;

grpc::ServerUnaryReactor* LogService::SearchLog(grpc::CallbackServerContext* context,
                                                const v1::SearchLogRequest* request, v1::SearchLogResponse* response) {
  Call* const call = Call::Open(door_, context, "LogApi/SearchLog", *request, {{Bound::kReads, 1}});
  if (!call->admitted()) return call;
  if (const Status wrong = CheckLogSearch(*request); !wrong.ok()) return call->Refuse(wrong);
  const Result<LogPlace> from = ReadLogSearchToken(*request);
  if (!from.ok()) return call->Refuse(from.status());
  searches_.strand->Post(
      [this, call, request, response, from = *from] { LogSearch::Start(&searches_, call, request, response, from); });
  return call;
}

}  // namespace glim::server
