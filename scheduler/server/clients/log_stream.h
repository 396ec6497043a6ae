// LogStream: one client's StreamLog call: fetch from the node of the asked rank, write, fetch again.
//
// The first message says where the log begins and ends. It ends when the log has ended; without `follow` also where
// there is nothing more at present. With `follow` it waits for a first attempt, for the attempt's start, and for an
// agent that is away for a while. Where the node of an attempt that has ended has the log no more, or is gone, the
// answer is the log's end as the scheduler has kept it.
// The door has let it in. Whose a job is that has no row any more only the store knows: it is asked before that end.
// Runs on the AgentStrand but for the reactor's callbacks; owns itself until OnDone.
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>

#include "glim/v1/client_api.pb.h"
#include "scheduler/server/agents/log_broker.h"
#include "scheduler/server/clients/stream_watch.h"
#include "scheduler/server/door/call.h"
#include "scheduler/server/loop/scheduler_loop.h"

namespace glim::server {

class LogStream : public grpc::ServerWriteReactor<v1::StreamLogResponse>,
                  public WatchedStream,
                  public std::enable_shared_from_this<LogStream> {
 public:
  struct Owner {
    AgentStrand* strand;
    LogBroker* broker;
    SchedulerLoop* loop;
    Door* door;
    StreamWatch* watch;
  };

  // A failed admission ends the call with it at once. `owner` outlives the stream.
  static LogStream* Open(const Owner* owner, grpc::CallbackServerContext* context, const v1::StreamLogRequest& request,
                         Result<StreamEntry> entry);

  // On the strand, from the watch.
  void Evict(const Status& status) override;
  void Cut() override { context_->TryCancel(); }

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  LogStream(const Owner* owner, grpc::CallbackServerContext* context, const v1::StreamLogRequest& request);
  struct Source {
    core::NodeId node;
    core::AttemptId attempt;
    bool live = false;
  };
  void FetchNext();
  void Fetched(Result<v1::LogChunk> result);
  void Retry(const Status& status);
  void ReadKept(const Status& instead);
  void TakeKept(Result<std::optional<store::LogTail>> kept, bool theirs, const Status& instead);
  void End(const grpc::Status& status);

  const Owner* owner_;
  grpc::CallbackServerContext* const context_;  // until OnDone
  StreamEntry entry_;
  v1::StreamLogRequest request_;
  std::shared_ptr<LogStream> self_;
  boost::asio::steady_timer timer_;
  Source source_;
  std::int64_t offset_;    // below 0: before the end, until that is known
  std::int64_t left_;      // bytes that are still wanted
  bool told_ = false;      // where the log begins and ends
  std::uint32_t attempt_;  // fixed once one was found
  int retries_ = 0;
  v1::StreamLogResponse out_;
  bool writing_ = false;
  bool last_write_ = false;
  bool ended_ = false;
  grpc::Status end_ = grpc::Status::CANCELLED;  // once it has ended
};

}  // namespace glim::server
