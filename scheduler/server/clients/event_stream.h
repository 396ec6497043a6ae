// EventStream: one client's StreamEvents call: pages from the store until it has caught up, and then, with `follow`,
// what the EventFeed brings.
//
// Events of others' jobs are left out: of jobs that the caller has no right to (door/caller.h).
// One page is in flight at a time: a slow client holds up itself alone.
// Runs on the AgentStrand but for the reactor's callbacks; owns itself until OnDone.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <set>
#include <vector>

#include "glim/v1/client_api.pb.h"
#include "scheduler/server/clients/event_feed.h"
#include "scheduler/server/clients/stream_watch.h"
#include "scheduler/server/door/call.h"

namespace glim::server {

class EventStream : public grpc::ServerWriteReactor<v1::StreamEventsResponse>,
                    public EventFollower,
                    public WatchedStream,
                    public std::enable_shared_from_this<EventStream> {
 public:
  struct Owner {
    EventFeed* feed;
    Door* door;
    StreamWatch* watch;
  };

  // A failed admission ends the call with it at once. `owner` outlives the stream.
  static EventStream* Open(const Owner* owner, grpc::CallbackServerContext* context,
                           const v1::StreamEventsRequest& request, Result<StreamEntry> entry);

  // On the strand, from the feed.
  void Next() override;
  void Fail(const Status& status) override;
  void End(const grpc::Status& status) override;
  // On the strand, from the watch.
  void Evict(const Status& status) override { Fail(status); }
  void Cut() override { context_->TryCancel(); }

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  struct Page {
    std::vector<store::Store::StoredHistory> entries;
    std::uint64_t last = 0;  // of the whole history
    bool theirs = false;     // the job that was asked for, as the store knows it
  };

  EventStream(const Owner* owner, grpc::CallbackServerContext* context, const v1::StreamEventsRequest& request)
      : owner_(owner), feed_(owner->feed), context_(context), request_(request) {}
  Status Check();
  void ReadStore();
  void TakePage(Result<Page> read);
  // Those of the feed's that are asked for.
  void TakeRecent();
  bool Wanted(const core::HistoryEntry& entry) const;
  bool MaySee(const core::HistoryEntry& entry);
  void Add(const store::Store::StoredHistory& stored);
  // Whether there was something to write: the first page of a follower may be empty, it says where the stream stands.
  bool Write();

  const Owner* const owner_;
  EventFeed* const feed_;
  grpc::CallbackServerContext* const context_;  // until OnDone
  v1::StreamEventsRequest request_;
  StreamEntry entry_;
  std::shared_ptr<EventStream> self_;
  store::Store::HistoryQuery query_;  // `after` is how far it has come
  SnapshotPtr snapshot_;              // for the names of the page in the making
  v1::StreamEventsResponse out_;
  std::set<core::JobId> own_forgotten_;  // jobs without rows whose submission by the caller was among the events
  bool told_any_ = false;
  bool greeted_ = false;  // has written anything
  bool reading_ = false;
  bool writing_ = false;
  bool caught_up_ = false;
  bool last_page_ = false;
  bool ended_ = false;
  grpc::Status end_;  // once it has ended
};

}  // namespace glim::server
