// StreamHub: all streams of events over HTTP (docs/protocols/stream.md). One thread of its own compares snapshots, puts
// what changed into words once, and hands the same text to all who may read it; the scheduler's strand does nothing
// for it. Without readers the thread sleeps, and no snapshot is held.
//
// Sources: stream_hub.cc (who comes and goes), stream_hub_rounds.cc (what its thread does every now and then)
//
// Open and Stop: any thread. All parts outlive the hub's Stop, the hub outlives the gateway.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "scheduler/gateway/sse_sink.h"
#include "scheduler/gateway/watch/event_source.h"
#include "scheduler/gateway/watch/state_board.h"
#include "scheduler/gateway/watch/stream_reader.h"
#include "scheduler/server/door/door.h"

namespace glim::gateway {

class StreamHub final : public StreamRoutes {
 public:
  struct Parts {
    server::SchedulerLoop* loop = nullptr;
    server::Door* door = nullptr;
    server::CallerLimits* limits = nullptr;
    server::EventFeed* feed = nullptr;
  };
  struct Pace {
    Duration look{50};    // at the newest snapshot, while anybody reads
    Duration round{250};  // between two frames of a topic
    Duration heartbeat = Seconds(15);
    Duration behind = Seconds(20);  // who takes nothing for so long is let go
  };

  explicit StreamHub(Parts parts) : StreamHub(parts, Pace{}) {}
  StreamHub(Parts parts, Pace pace);
  ~StreamHub() override { Stop(); }

  // INVALID_ARGUMENT, PERMISSION_DENIED (JOB_TOKEN), RESOURCE_EXHAUSTED of the limits, UNAUTHENTICATED.
  Status Open(const StreamRequest& request, const StreamCaller& caller, std::shared_ptr<SseSink> sink) override;
  // Says `bye` to all; idempotent.
  void Stop();

 private:
  const server::Method rights_ = "ClientApi/ListNodes";  // what a reader of all that is public needs
  using ReaderPtr = std::shared_ptr<StreamReader>;
  struct Bundle {
    std::vector<Frame> frames;
    std::uint64_t seq = 0;
  };

  Result<server::Caller> CallerNow(const StreamRequest& request, const StreamCaller& caller) const;
  void Resume(const StreamRequest& request, const LogTopic::Open& read_log, StreamReader* reader);
  void Add(const ReaderPtr& reader);
  void Remove(std::uint64_t id);
  void LookLater();
  void Look();
  void CheckRights();
  void Pump(StreamReader* reader, TimePoint now);
  bool KeepsUp(StreamReader* reader, TimePoint now);
  const Bundle& BundleFor(StreamReader* reader, TimePoint now);
  void TellStale(const server::Snapshot& snapshot);
  void Heartbeat();
  void Bye(StreamReader* reader, const Status& why);
  // Events: the source lives while anybody reads them, and a while after.
  void FollowEvents();
  void TakeEvents(Result<EventSource::Page> page);
  void AskPage(StreamReader* reader);
  void TakePage(std::uint64_t id, Result<EventSource::Page> page);

  const Parts parts_;
  const Pace pace_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{io_.get_executor()};
  boost::asio::steady_timer timer_{io_};

  // On the hub's thread.
  std::map<std::uint64_t, ReaderPtr> readers_;
  StateBoard board_;
  EventRing ring_;
  std::shared_ptr<EventSource> source_;  // null: nobody reads events
  bool ring_begun_ = false;
  std::size_t event_readers_ = 0;
  std::size_t pages_asked_ = 0;
  TimePoint events_left_at_;
  TimePoint source_retry_at_;
  std::map<std::string, Bundle> bundles_;  // of the present round
  TimePoint round_at_;
  TimePoint heartbeat_at_;
  std::shared_ptr<const core::Accounts> accounts_;  // by which rights were looked at last
  std::shared_ptr<const core::Identity> identity_;
  bool looking_ = false;
  bool stopped_ = false;
  std::atomic<std::uint64_t> next_id_{1};
  std::thread thread_;
};

}  // namespace glim::gateway
