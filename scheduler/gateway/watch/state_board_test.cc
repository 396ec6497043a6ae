// Applying what a topic's readers are sent gives the state as it is, after any changes, cuts and resumes.
#include "scheduler/gateway/watch/state_board.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/gateway/watch/table_rows.h"
#include "scheduler/gateway/watch/testing/stream_page.h"
#include "scheduler/server/convert/row_convert.h"
#include "sdk/base/rng.h"

namespace glim::gateway {
namespace {

constexpr Topic kNodes{TopicKind::kNodes, 0, 0};
constexpr Topic kQueue{TopicKind::kQueue, 0, 0};

// Rows that come, change and go.
class Walk {
 public:
  explicit Walk(std::uint64_t seed) : rng_(seed) {}

  void Step() {
    for (auto changes = rng_.Between(0, 5); changes > 0; --changes) {
      if (rng_.OneIn(5)) {
        ChangeReservation();
      } else if (rng_.OneIn(2)) {
        ChangeJob();
      } else {
        ChangeNode();
      }
    }
  }

  server::SnapshotPtr Now() const {
    server::Snapshot snapshot;
    snapshot.tables = state_.tables();
    snapshot.verdicts = verdicts_;
    snapshot.policy = policy_;
    snapshot.counts = std::make_shared<core::StateCounts>();
    snapshot.liveness = std::make_shared<server::LivenessMap>();
    return std::make_shared<const server::Snapshot>(std::move(snapshot));
  }

 private:
  void ChangeJob() {
    core::Job job;
    job.id = core::JobId(static_cast<std::uint64_t>(rng_.Between(1, 300)));
    if (const core::Job* const known = state_.FindJob(job.id)) {
      if (rng_.OneIn(8)) return state_.EraseJob(job.id);
      job = *known;
    } else {
      core::JobSpec spec;
      spec.name = "job \"" + std::to_string(job.id.value) + "\"";
      job.spec = std::make_shared<const core::JobSpec>(spec);
      job.user = "kim";
      job.submitted_at = TimePoint{rng_.Between(1, 1'000'000)};
    }
    constexpr core::JobState kStates[] = {core::JobState::kQueued, core::JobState::kStarting, core::JobState::kRunning,
                                          core::JobState::kSucceeded};
    job.state = kStates[rng_.Between(0, 3)];
    if (core::IsTerminal(job.state)) job.ended_at = TimePoint{2'000'000};
    if (rng_.OneIn(3)) job.message = "shown to few " + std::to_string(rng_.Next());
    if (rng_.OneIn(3)) ++job.restarts;
    state_.Put(job);
  }

  void ChangeReservation() {
    core::Reservation row;
    row.name = "r" + std::to_string(rng_.Between(1, 4));
    if (state_.FindReservation(row.name) != nullptr && rng_.OneIn(3)) return state_.Erase(row.name);
    const auto first = static_cast<std::uint64_t>(rng_.Between(1, 290));
    for (std::uint64_t id = first; id < first + 5; ++id) {
      if (state_.FindNode(core::NodeId(id)) != nullptr) row.nodes.push_back({core::NodeId(id), TimePoint{1}});
    }
    row.begins_at = TimePoint{rng_.Between(1, 1'000)};
    row.ends_at = TimePoint{5'000};
    row.reason = "firmware";
    state_.Put(row);
  }

  void ChangeNode() {
    core::Node node;
    node.id = core::NodeId(static_cast<std::uint64_t>(rng_.Between(1, 300)));
    if (const core::Node* const known = state_.FindNode(node.id)) {
      if (rng_.OneIn(8)) return state_.Erase(node.id);
      node = *known;
    }
    node.name = "n" + std::to_string(node.id.value);
    node.state = rng_.OneIn(4) ? core::NodeState::kSilent : core::NodeState::kReady;
    if (rng_.OneIn(3)) node.suspect_until = TimePoint{rng_.Between(1, 1'000)};
    if (rng_.OneIn(3)) node.suspect_why = "job said " + std::to_string(rng_.Next());
    if (rng_.OneIn(3)) node.copy_bytes_per_s = rng_.Between(1, 1'000);  // no field of the row
    state_.Put(node);
  }

  Rng rng_;
  core::ClusterState state_;
  std::shared_ptr<const core::Verdicts> verdicts_ = std::make_shared<core::Verdicts>();
  std::shared_ptr<const core::Policy> policy_ = std::make_shared<core::Policy>();
};

StreamPage PageOf(const server::Snapshot& snapshot, bool whole) {
  StreamPage page;
  for (const std::string& part : NodesState(snapshot, whole)) page.Read(EventText("nodes", part));
  for (const std::string& part : QueueState(snapshot)) page.Read(EventText("queue", part));
  return page;
}

struct Reader {
  StreamPage page;
  std::uint64_t round = 0;  // of the last id that it has read
  bool whole = false;
  bool away = false;
};

void Bring(StateBoard* board, Reader* reader, Rng* rng) {
  std::vector<Frame> frames;
  for (const Topic& topic : {kNodes, kQueue}) {
    const bool whole = reader->whole && topic == kNodes;
    board->Bring({topic, whole}, reader->round, TimePoint{1}, &frames);
  }
  // The connection is lost somewhere on the way: frames were read, and the id behind them was not.
  const bool cut = rng->OneIn(6);
  const auto kept =
      cut ? static_cast<std::size_t>(rng->Between(0, static_cast<std::int64_t>(frames.size()))) : frames.size();
  for (std::size_t i = 0; i < kept; ++i) reader->page.Read(*frames[i]);
  if (!cut) reader->round = board->round();
}

void RandomWalk(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed * 7919);
  Walk walk(seed);
  StateBoard board;
  std::vector<Reader> readers(4);
  readers[1].whole = readers[3].whole = true;
  for (const bool whole : {false, true}) board.Join({kNodes, whole});
  board.Join({kQueue, false});
  TimePoint now{1'000};
  for (int step = 0; step < 300; ++step) {
    walk.Step();
    now = now + Duration{250};
    board.Take(walk.Now(), now);
    for (Reader& reader : readers) {
      if (rng.OneIn(10)) reader.away = !reader.away;  // away for long: it is brought up to date at once later
      if (!reader.away) Bring(&board, &reader, &rng);
    }
  }
  for (Reader& reader : readers) {
    while (reader.round != board.round()) Bring(&board, &reader, &rng);
    const StreamPage whole = PageOf(*walk.Now(), reader.whole);
    EXPECT_EQ(reader.page.nodes(), whole.nodes());
    EXPECT_EQ(reader.page.queue(), whole.queue());
  }
}

TEST(StateBoard, FramesOfAnyWalkGiveTheLastState) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) RandomWalk(seed);
}

TEST(StateBoard, AllReadersAreSentTheSameBytes) {
  Walk walk(1);
  StateBoard board;
  board.Join({kQueue, false});
  for (int i = 0; i < 20; ++i) walk.Step();
  board.Take(walk.Now(), TimePoint{1});
  std::vector<Frame> one, other;
  board.Bring({kQueue, false}, 0, TimePoint{1}, &one);
  board.Bring({kQueue, false}, 0, TimePoint{1}, &other);
  ASSERT_FALSE(one.empty());
  EXPECT_EQ(one, other);  // the pointers
}

TEST(StateBoard, WhoHasSeenEverythingIsSentNothing) {
  Walk walk(1);
  StateBoard board;
  board.Join({kQueue, false});
  board.Take(walk.Now(), TimePoint{1});
  std::vector<Frame> frames;
  board.Bring({kQueue, false}, board.round(), TimePoint{1}, &frames);
  EXPECT_TRUE(frames.empty());
  EXPECT_FALSE(board.Take(walk.Now(), TimePoint{300}));  // another snapshot of the same rows
}

TEST(StateBoard, ReasonsThatOnlyFewMaySeeAreInTheWholeTextAlone) {
  core::ClusterState state;
  core::Node node;
  node.id = core::NodeId(1);
  node.name = "n1";
  node.suspect_until = TimePoint{5};
  node.suspect_why = "it said xyzzy";
  state.Put(node);
  server::Snapshot snapshot;
  snapshot.tables = state.tables();
  snapshot.liveness = std::make_shared<server::LivenessMap>();
  EXPECT_NE(NodesState(snapshot, true).front().find("xyzzy"), std::string::npos);
  EXPECT_EQ(NodesState(snapshot, false).front().find("xyzzy"), std::string::npos);
}

TEST(StateBoard, WhatNobodyWatchesIsForgottenAndBegunAnew) {
  Walk walk(1);
  StateBoard board;
  const StateBoard::Key key{kQueue, false};
  board.Join(key);
  for (int i = 0; i < 20; ++i) walk.Step();
  board.Take(walk.Now(), TimePoint{1'000});
  const std::uint64_t seen = board.round();
  board.Leave(key, TimePoint{1'000});
  board.Take(walk.Now(), TimePoint{2'000});
  EXPECT_EQ(board.size(), 1U);  // its reader may come again
  board.Take(walk.Now(), TimePoint{1'000} + StateBoard::kKept);
  EXPECT_EQ(board.size(), 0U);
  EXPECT_EQ(board.snapshot(), nullptr);
  for (int i = 0; i < 20; ++i) walk.Step();
  board.Join(key);
  board.Take(walk.Now(), TimePoint{90'000});
  std::vector<Frame> frames;
  board.Bring(key, seen, TimePoint{90'000}, &frames);
  StreamPage page;
  for (const Frame& frame : frames) page.Read(*frame);
  EXPECT_EQ(page.resets(), 1U);
  EXPECT_EQ(page.queue(), PageOf(*walk.Now(), false).queue());
}

// The row is written by hand: it says what the message does.
TEST(QueueRow, HasTheDialectsNamesAndValues) {
  core::ClusterState state;
  core::Job job;
  job.id = core::JobId(7);
  core::JobSpec spec;
  spec.name = "sft";
  spec.nodes = 3;
  job.spec = std::make_shared<const core::JobSpec>(spec);
  job.user = "kim";
  job.team = "llm";
  job.submitted_at = TimePoint{1'700'000'000'123};
  state.Put(job);
  server::Snapshot snapshot;
  snapshot.tables = state.tables();
  snapshot.verdicts = std::make_shared<core::Verdicts>();
  snapshot.policy = std::make_shared<core::Policy>();
  v1::Job message;
  server::JobToProto(snapshot, job, server::AttemptsShown::kNewest, TimePoint{1'700'000'001'000}, &message);
  const proto::Json whole = proto::MessageJson(message);
  const proto::Json row = proto::Json::parse(QueueState(snapshot).front())["jobs"][0];
  for (const char* name : {"id", "user", "team", "state", "priority", "submitted_at_ms", "submitted_at", "interrupts",
                           "steps_lost", "durable_step"}) {
    EXPECT_EQ(row[name], whole[name]) << name;
  }
  for (const char* name : {"name", "pool", "nodes", "gpus_per_node"}) EXPECT_EQ(row[name], whole["spec"][name]) << name;
  EXPECT_EQ(row["attempts"], whole["attempt_count"]);
  EXPECT_EQ(row["place"].size(), 5U);
}

}  // namespace
}  // namespace glim::gateway
