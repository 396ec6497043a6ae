// Events: each reader gets those that it may see, each once, in order, after any cuts.
#include "scheduler/gateway/watch/event_ring.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "scheduler/gateway/watch/frames.h"
#include "scheduler/gateway/watch/testing/stream_page.h"
#include "sdk/base/rng.h"

namespace glim::gateway {
namespace {

server::Caller User(const std::string& name, std::vector<std::string> admin_of = {}) {
  server::Caller caller;
  caller.user = name;
  caller.role = core::Role::kUser;
  caller.admin_of = std::move(admin_of);
  return caller;
}

server::Caller Operator() {
  server::Caller caller = User("ops");
  caller.role = core::Role::kOperator;
  return caller;
}

WordedEvent Event(std::uint64_t seq, std::uint64_t job = 0, const std::string& user = "",
                  const std::string& team = "") {
  return {seq, job, job != 0 && user.empty(), user, team, "{\"seq\":" + std::to_string(seq) + "}"};
}

std::vector<std::uint64_t> SeqsOf(const std::string& document) {
  StreamPage page;
  if (!document.empty()) page.Read(EventText("events", document));
  return page.events();
}

TEST(EventRing, EachSeesWhatItHasARightTo) {
  EventRing ring;
  ring.Begin(0);
  WordedEvent account = Event(5);
  account.operators_only = true;
  ring.Add({Event(1), Event(2, 7, "kim", "llm"), Event(3, 8, "bob"), Event(4, 9), account});
  const auto seen_by = [&](const server::Caller& caller) {
    std::uint64_t seen = 0;
    const auto seqs = SeqsOf(ring.Since(caller, &seen));
    EXPECT_EQ(seen, 5U);
    return seqs;
  };
  using Seqs = std::vector<std::uint64_t>;
  EXPECT_EQ(seen_by(Operator()), (Seqs{1, 2, 3, 4, 5}));
  EXPECT_EQ(seen_by(User("kim")), (Seqs{1, 2}));
  EXPECT_EQ(seen_by(User("eve", {"llm"})), (Seqs{1, 2}));
  EXPECT_EQ(seen_by(User("bob")), (Seqs{1, 3}));
  EXPECT_NE(ClassOf(User("kim")), ClassOf(User("kim", {"llm"})));
}

TEST(EventRing, TellsEachEventOnceWhateverIsCut) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Rng rng(seed);
    EventRing ring(64);
    ring.Begin(10);
    std::uint64_t next = 11, seen = 10;
    std::vector<std::uint64_t> told;
    for (int step = 0; step < 200; ++step) {
      std::vector<WordedEvent> events;
      for (auto count = rng.Between(0, 6); count > 0; --count) events.push_back(Event(next++));
      if (rng.OneIn(4) && next > 12) events.insert(events.begin(), Event(next - 2));  // told again by the feed
      std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.seq < b.seq; });
      ring.Add(events);
      if (!ring.Covers(seen)) {  // as a page of the store does
        for (; seen < next - 1; told.push_back(++seen)) {
        }
        continue;
      }
      if (rng.OneIn(5)) continue;  // away for a round
      std::uint64_t at = seen;
      const auto seqs = SeqsOf(ring.Since(Operator(), &at));
      if (rng.OneIn(5)) continue;  // lost before the id behind it: asked for again
      told.insert(told.end(), seqs.begin(), seqs.end());
      seen = at;
    }
    for (std::size_t i = 0; i < told.size(); ++i) EXPECT_EQ(told[i], 11 + i);
  }
}

TEST(EventRing, KeepsTheNewestAndSaysWhatItHasNoMore) {
  EventRing ring(10);
  ring.Begin(0);
  for (std::uint64_t seq = 1; seq <= 25; ++seq) ring.Add({Event(seq)});
  EXPECT_FALSE(ring.Covers(14));
  EXPECT_TRUE(ring.Covers(15));
  EXPECT_EQ(ring.Newest(3), 22U);
  EXPECT_EQ(ring.Newest(100), 15U);
}

}  // namespace
}  // namespace glim::gateway
