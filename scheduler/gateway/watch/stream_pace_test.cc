// What a stream is told beside its topics, by a clock that the test sets: that the connection lives, that the store is
// away, and that who does not read is let go.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>

#include "scheduler/gateway/watch/stream_hub.h"
#include "scheduler/gateway/watch/testing/stream_page.h"
#include "scheduler/server/testing/obedient_store.h"
#include "scheduler/server/testing/test_server.h"

namespace glim::gateway {
namespace {

// A connection whose reader takes what comes, or nothing.
class HeldSink final : public SseSink {
 public:
  bool Write(Frame frame) override {
    const std::lock_guard lock(mutex_);
    if (closed_ || (!reads_ && waiting_ > 0)) return false;
    if (!reads_) waiting_ += frame->size();
    text_ += *frame;
    page_.Read(*frame);
    return true;
  }
  std::size_t Waiting() const override {
    const std::lock_guard lock(mutex_);
    return waiting_;
  }
  void OnDrained(std::function<void()> drained) override { drained(); }
  void Close() override {
    std::function<void()> told;
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(closed_, true)) return;
      told = std::move(told_);
    }
    if (told) told();
  }
  void OnClosed(std::function<void()> closed) override {
    const std::lock_guard lock(mutex_);
    told_ = std::move(closed);
  }
  void Reads(bool reads) {
    const std::lock_guard lock(mutex_);
    reads_ = reads;
    if (reads) waiting_ = 0;
  }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  StreamPage page() const {
    const std::lock_guard lock(mutex_);
    return page_;
  }
  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

 private:
  mutable std::mutex mutex_;
  std::function<void()> told_;
  std::string text_;
  StreamPage page_;
  std::size_t waiting_ = 0;
  bool reads_ = true;
  bool closed_ = false;
};

class StreamPaceTest : public testing::Test {
 protected:
  void SetUp() override {
    server::SchedulerLoop::Options options;
    options.clock = [this] { return TimePoint{now_ms_.load()}; };
    auto loop =
        server::SchedulerLoop::Open(std::move(options), std::make_unique<server::ObedientStore>(orders_, data_));
    ASSERT_TRUE(loop.ok()) << loop.status().message();
    loop_ = std::move(loop).value();
    loop_->Start();
    MakeCluster();
    door_ = std::make_unique<server::Door>(loop_.get(), &limits_, server::Door::Mode::kPlaintext, nullptr);
    StreamHub::Pace pace;
    pace.look = Duration{1};
    hub_ = std::make_unique<StreamHub>(StreamHub::Parts{loop_.get(), door_.get(), &limits_, nullptr}, pace);
  }
  void TearDown() override {
    hub_.reset();
    if (loop_) loop_->Stop();
  }
  std::shared_ptr<HeldSink> Open() {
    auto sink = std::make_shared<HeldSink>();
    StreamRequest request;
    request.query = {{"topics", "queue,nodes"}};
    StreamCaller caller;
    caller.user = "kim";
    EXPECT_TRUE(hub_->Open(request, caller, sink).ok());
    return sink;
  }
  // Somebody who submits, and a node to run on.
  void MakeCluster() {
    core::User row;
    row.name = "kim";
    ASSERT_TRUE(loop_->Post(core::ChangeAccounts{{{row}}, "ada"}, nullptr).ok());
    core::NodeConnected node;
    node.name = "n1";
    node.session = 1;
    node.labels.gpu_count = 8;
    ASSERT_TRUE(loop_->Post(std::move(node), nullptr).ok());
  }
  // Posts a job; what comes of it is the store's to say.
  void Submit(const std::string& name) {
    core::JobSpec spec;
    spec.name = name;
    spec.workdir = "/tmp";
    spec.run = "true";
    core::SubmitJobs event{"kim", "", "", {spec}, false};
    ASSERT_TRUE(loop_->Post(std::move(event), nullptr).ok());
  }
  // A second after the job can be seen.
  void SubmitAndPass(const std::string& name) {
    const std::size_t jobs = loop_->snapshot()->tables.jobs.size() + 1;
    Submit(name);
    ASSERT_TRUE(Eventually([&] { return loop_->snapshot()->tables.jobs.size() == jobs; }));
    Pass(Seconds(1));
  }
  void Pass(Duration time) { now_ms_ += time.ms; }

  std::atomic<std::int64_t> now_ms_{1'000'000};
  std::shared_ptr<server::ObedientStore::Orders> orders_ = std::make_shared<server::ObedientStore::Orders>();
  std::shared_ptr<store::MemoryData> data_ = std::make_shared<store::MemoryData>();
  server::CallerLimits limits_{{}, [this] { return TimePoint{now_ms_.load()}; }};
  std::unique_ptr<server::SchedulerLoop> loop_;
  std::unique_ptr<server::Door> door_;
  std::unique_ptr<StreamHub> hub_;
};

std::size_t Beats(const HeldSink& sink) {
  std::size_t beats = 0;
  const std::string text = sink.text();
  for (std::size_t at = 0; (at = text.find(HeartbeatText(), at)) != std::string::npos; ++at) ++beats;
  return beats;
}

TEST_F(StreamPaceTest, AQuietStreamIsHeardEveryFifteenSeconds) {
  const auto sink = Open();
  ASSERT_TRUE(Eventually([&] { return sink->page().resets() == 2 && Beats(*sink) == 1; }));
  for (std::size_t round = 2; round < 5; ++round) {
    Pass(Seconds(15));
    ASSERT_TRUE(Eventually([&] { return Beats(*sink) == round; })) << round;
  }
  EXPECT_EQ(sink->page().resets(), 2U) << "nothing else comes";
  EXPECT_NE(sink->page().last_id(), "") << "with the place where a new connection goes on";
}

TEST_F(StreamPaceTest, TellsWhenTheStoreIsAwayAndWhenItIsBack) {
  const auto sink = Open();
  ASSERT_TRUE(Eventually([&] { return sink->page().resets() == 2; }));
  EXPECT_FALSE(sink->page().documents().contains("stale")) << "the store is there";
  {
    const std::lock_guard lock(orders_->mutex);
    orders_->fail = Status(StatusCode::kUnavailable, "gave up after 6 tries").WithReason("STORE_UNREACHABLE");
  }
  Submit("first");
  ASSERT_TRUE(Eventually([&] { return sink->page().documents().contains("stale"); }));
  const proto::Json away = sink->page().documents().at("stale");
  EXPECT_EQ(away["stale_since_ms"], 1'000'000) << away;
  EXPECT_NE(away["message"].dump().find("gave up after 6 tries"), std::string::npos) << away;
  const auto late = Open();
  ASSERT_TRUE(Eventually([&] { return late->page().documents().contains("stale"); })) << "who comes later";

  {
    const std::lock_guard lock(orders_->mutex);
    orders_->fail = Status::Ok();
  }
  ASSERT_TRUE(Eventually([&] {
    Pass(Seconds(1));
    return sink->page().documents().at("stale")["stale_since_ms"] == 0 &&
           late->page().documents().at("stale")["stale_since_ms"] == 0;
  }));
}

TEST_F(StreamPaceTest, WhoDoesNotReadIsLetGoAndTheOthersGoOn) {
  const auto reads = Open();
  const auto stuck = Open();
  ASSERT_TRUE(Eventually([&] { return reads->page().resets() == 2 && stuck->page().resets() == 2; }));
  stuck->Reads(false);
  SubmitAndPass("first");
  ASSERT_TRUE(Eventually([&] { return reads->page().queue().size() == 1 && stuck->Waiting() > 0; }));
  SubmitAndPass("second");
  ASSERT_TRUE(Eventually([&] { return reads->page().queue().size() == 2; }));
  Pass(Seconds(17));
  SubmitAndPass("third");
  ASSERT_TRUE(Eventually([&] { return reads->page().queue().size() == 3; }));
  EXPECT_FALSE(stuck->closed()) << "twenty seconds have not passed since it began to wait";
  ASSERT_TRUE(Eventually([&] {
    Pass(Seconds(1));
    return stuck->closed();
  }));
  EXPECT_FALSE(reads->closed());
}

TEST_F(StreamPaceTest, WhoReadsAgainInTimeGetsTheNewestState) {
  const auto slow = Open();
  ASSERT_TRUE(Eventually([&] { return slow->page().resets() == 2; }));
  slow->Reads(false);
  for (const char* name : {"first", "second", "third"}) SubmitAndPass(name);
  ASSERT_TRUE(Eventually([&] { return slow->Waiting() > 0; }));
  slow->Reads(true);
  ASSERT_TRUE(Eventually([&] {
    Pass(Duration{250});
    return slow->page().queue().size() == 3;
  }));
  Pass(Seconds(30));
  Submit("fourth");
  ASSERT_TRUE(Eventually([&] {
    Pass(Duration{250});
    return slow->page().queue().size() == 4;
  }));
  EXPECT_FALSE(slow->closed());
}

}  // namespace
}  // namespace glim::gateway
