// StateBoard: the topics that are states (nodes, the queue, single jobs) for all streams together. It is handed
// snapshots; each that changed something that is watched is a round, and each change is put into words once, whoever
// reads it. What is shown of private things comes in two texts: for those with the right to them, and for all others.
//
// What nobody watches costs nothing: it is forgotten a while after its last reader has gone, so that one who comes
// again goes on where it was. One thread.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduler/gateway/watch/frames.h"
#include "scheduler/gateway/watch/state_ring.h"
#include "scheduler/gateway/watch/topics.h"
#include "scheduler/server/loop/snapshot.h"

namespace glim::gateway {

class StateBoard {
 public:
  // Forgotten so long after the last reader.
  static constexpr Duration kKept = Seconds(30);

  struct Key {
    Topic topic;         // kNodes, kQueue or kJob
    bool whole = false;  // with what is private; of the queue nothing is
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  // A reader more, or one less, of this.
  void Join(const Key& key);
  void Leave(const Key& key, TimePoint now);

  // The newest snapshot: makes a round of what it changed. Returns whether there was anything.
  bool Take(const server::SnapshotPtr& snapshot, TimePoint now);

  // Of the newest; 0: there was none yet.
  std::uint64_t round() const { return round_; }
  // Null: nobody watches.
  const server::SnapshotPtr& snapshot() const { return snapshot_; }
  // Appends what leads one who has seen this round to the newest; 0: has seen nothing. Of what has been joined.
  void Bring(const Key& key, std::uint64_t seen, TimePoint now, std::vector<Frame>* out);

  std::size_t size() const { return channels_.size(); }

 private:
  struct Channel {
    explicit Channel(std::uint64_t round) : ring(round) {}
    StateRing ring;
    std::uint64_t changed = 0;  // of a job: the round of `document`; 0: there is none yet
    Frame document;             // of a job: the whole of it
    std::size_t readers = 0;
    TimePoint left_at;
  };
  void Forget(TimePoint now);
  std::set<core::JobId> ChangedJobs(const server::Snapshot& before, const server::Snapshot& after) const;
  std::string ChangesOf(const Key& key, const server::Snapshot& before, const server::Snapshot& after) const;
  bool TakeJob(const Key& key, Channel* channel, std::uint64_t round, TimePoint now);

  std::map<Key, Channel> channels_;
  server::SnapshotPtr snapshot_;
  std::uint64_t round_ = 0;
};

// One job with all its attempts, {"version":2,"job":{...}} as GET /v1/jobs/ID answers; {"version":2,"job":null}: it is
// not there.
std::string JobDocument(const server::Snapshot& snapshot, core::JobId id, bool whole, TimePoint now);

}  // namespace glim::gateway
