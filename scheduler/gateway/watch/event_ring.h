// EventRing: the newest events, each put into words once, and who may see which: a reader gets those behind what it has
// seen, of the jobs that it has a right to, and of the cluster and its nodes; operators get all.
//
// Readers of the same rights get the same text. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "scheduler/server/door/caller.h"

namespace glim::gateway {

struct WordedEvent {
  std::uint64_t seq = 0;
  std::uint64_t job = 0;        // 0: of the cluster, of a node or of an account
  bool operators_only = false;  // an account's, or of a job whose owner nobody knows any more
  std::string user, team;       // the job's
  std::string json;
};

class EventRing {
 public:
  explicit EventRing(std::size_t events_max = 8'192, std::size_t bytes_max = std::size_t{8} << 20)
      : events_max_(events_max), bytes_max_(bytes_max) {}

  // It is known of nothing up to there; forgets what was there.
  void Begin(std::uint64_t seq);
  // Those that are not newer than the newest are left out.
  void Add(std::vector<WordedEvent> events);
  // Up to there everything has been told, also what nobody may see.
  void Reach(std::uint64_t seq);

  // Whether all events behind this one are here.
  bool Covers(std::uint64_t seen) const { return seen >= floor_; }
  std::uint64_t newest() const { return newest_; }
  // Behind which so many of the newest are, or as many as there are.
  std::uint64_t Newest(std::size_t events) const;
  // A document for what the reader may see of those behind `seen`; empty: nothing. Moves `seen` to the last one that
  // was looked at: not to the newest where the text is long enough.
  std::string Since(const server::Caller& reader, std::uint64_t* seen) const;

 private:
  const std::size_t events_max_;
  const std::size_t bytes_max_;
  std::deque<WordedEvent> events_;
  std::size_t bytes_ = 0;
  std::uint64_t floor_ = 0;
  std::uint64_t newest_ = 0;
};

bool MaySee(const server::Caller& reader, const WordedEvent& event);
// {"version":2,"events":[...]} of those that the reader may see; empty: none.
std::string EventsDocument(const server::Caller& reader, const std::vector<WordedEvent>& events);
// {"version":2,"reset":true,"events":[]}: what comes next does not follow on what came before.
std::string EventsReset();
// Readers with the same one see the same events.
std::string ClassOf(const server::Caller& reader);

}  // namespace glim::gateway
