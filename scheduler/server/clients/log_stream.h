// LogStream: one client's StreamLog call: fetch from the node of the asked rank, write, fetch again.
//
// It ends when the log has ended; without `follow` also where there is nothing more at present. With `follow` it waits
// for a first attempt, for the attempt's start, and for an agent that is away for a while.
// Runs on the AgentStrand but for the reactor's callbacks; owns itself until OnDone.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <memory>

#include "glim/v1/client_api.pb.h"
#include "scheduler/server/agents/log_broker.h"
#include "scheduler/server/loop/scheduler_loop.h"

namespace glim::server {

class LogStream : public grpc::ServerWriteReactor<v1::StreamLogResponse>,
                  public std::enable_shared_from_this<LogStream> {
 public:
  struct Owner {
    AgentStrand* strand;
    LogBroker* broker;
    SchedulerLoop* loop;
    std::atomic<int> open{0};
  };

  // A failed `admitted` ends the call with it at once.
  static LogStream* Open(Owner* owner, const v1::StreamLogRequest& request, const Status& admitted);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  LogStream(Owner* owner, const v1::StreamLogRequest& request);
  struct Source {
    core::NodeId node;
    core::AttemptId attempt;
    bool live = false;
  };
  Result<Source> FindSource() const;
  void FetchNext();
  void Fetched(Result<v1::LogChunk> result);
  void Retry(const Status& status);
  void End(const grpc::Status& status);

  Owner* owner_;
  v1::StreamLogRequest request_;
  std::shared_ptr<LogStream> self_;
  boost::asio::steady_timer timer_;
  Source source_;
  std::int64_t offset_;
  std::uint32_t attempt_;  // fixed once one was found
  int retries_ = 0;
  v1::StreamLogResponse out_;
  bool writing_ = false;
  bool last_write_ = false;
  bool ended_ = false;
};

}  // namespace glim::server
