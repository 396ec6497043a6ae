// EventStream: one client's StreamEvents call: pages from the store until it has caught up, and then, with `follow`,
// what the EventFeed brings.
//
// One page is in flight at a time: a slow client holds up itself alone.
// Runs on the AgentStrand but for the reactor's callbacks; owns itself until OnDone.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <vector>

#include "glim/v1/client_api.pb.h"
#include "scheduler/server/clients/event_feed.h"

namespace glim::server {

class EventStream : public grpc::ServerWriteReactor<v1::StreamEventsResponse>,
                    public EventFollower,
                    public std::enable_shared_from_this<EventStream> {
 public:
  // A failed `admitted` ends the call with it at once.
  static EventStream* Open(EventFeed* feed, const v1::StreamEventsRequest& request, const Status& admitted);

  // On the strand, from the feed.
  void Next() override;
  void Fail(const Status& status) override;
  void End(const grpc::Status& status) override;

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  struct Page {
    std::vector<store::Store::StoredHistory> entries;
    std::uint64_t last = 0;  // of the whole history
  };

  EventStream(EventFeed* feed, const v1::StreamEventsRequest& request) : feed_(feed), request_(request) {}
  Status Check();
  void ReadStore();
  void TakePage(Result<Page> read);
  // Those of the feed's that are asked for.
  void TakeRecent();
  bool Wanted(const core::HistoryEntry& entry) const;
  void Add(const store::Store::StoredHistory& stored);
  // Whether there was something to write: the first page of a follower may be empty, it says where the stream stands.
  bool Write();

  EventFeed* feed_;
  v1::StreamEventsRequest request_;
  std::shared_ptr<EventStream> self_;
  store::Store::HistoryQuery query_;  // `after` is how far it has come
  SnapshotPtr snapshot_;              // for the names of the page in the making
  v1::StreamEventsResponse out_;
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
