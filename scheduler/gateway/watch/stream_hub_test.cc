// GET /v1/stream of a real scheduler: what comes, to whom, after cuts, and how it ends.
#include "scheduler/gateway/watch/stream_hub.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "scheduler/gateway/testing/http_server_fixture.h"
#include "scheduler/gateway/watch/testing/stream_page.h"
#include "scheduler/server/testing/test_server.h"

namespace glim::gateway {
namespace {

// One reader: its connection, and the page that it fills.
class Stream {
 public:
  Stream(int port, const std::string& authorities, const std::string& token, const std::string& topics,
         const std::string& last_id = "")
      : client_(port, authorities) {
    TestHeaders headers = {{"Authorization", "Bearer " + token}};
    if (!last_id.empty()) headers.emplace_back("Last-Event-ID", last_id);
    client_.Send(RequestText("GET", "/v1/stream?topics=" + topics, headers));
  }

  // Reads until the page is so; false: the stream ended, or nothing came within the client's bound.
  bool Until(const std::function<bool(const StreamPage&)>& is) {
    while (!is(page)) {
      const std::string more = client_.ReadSome();
      if (more.empty()) return false;
      Feed(more);
    }
    return true;
  }

  std::string head;
  StreamPage page;

 private:
  // The body's chunks without their lengths.
  void Feed(const std::string& bytes) {
    raw_ += bytes;
    if (head.empty()) {
      const std::size_t end = raw_.find("\r\n\r\n");
      if (end == std::string::npos) return;
      head = raw_.substr(0, end);
      raw_.erase(0, end + 4);
    }
    if (head.find("hunked") == std::string::npos) return page.Read(std::exchange(raw_, {}));
    while (true) {
      const std::size_t line = raw_.find("\r\n");
      if (line == std::string::npos) return;
      const std::size_t length = std::stoul(raw_.substr(0, line), nullptr, 16);
      if (raw_.size() < line + 2 + length + 2) return;
      page.Read(std::string_view(raw_).substr(line + 2, length));
      raw_.erase(0, line + 2 + length + 2);
    }
  }

  HttpClient client_;
  std::string raw_;
};

class StreamHubTest : public HttpServerTest {
 protected:
  std::unique_ptr<Stream> Open(const std::string& user, const std::string& topics, const std::string& last_id = "") {
    return OpenWith(TokenOf(user), topics, last_id);
  }
  std::unique_ptr<Stream> OpenWith(const std::string& token, const std::string& topics,
                                   const std::string& last_id = "") {
    return std::make_unique<Stream>(server_->http_port(), Authorities(), token, topics, last_id);
  }
  std::uint64_t MustSubmit(const std::string& name, const std::string& user = "kim") {
    return SubmitBy(TokenOf(user), Spec(name));
  }
  void Cancel(std::uint64_t id) {
    ASSERT_EQ(Ask("POST", "/v1/jobs/" + std::to_string(id) + "/cancel", TokenOf("kim"), "{}").status, 200);
  }
};

bool HasJob(const StreamPage& page, std::uint64_t id) { return page.queue().contains(std::to_string(id)); }

TEST_F(StreamHubTest, SendsTheStateAndThenWhatChanges) {
  const std::uint64_t first = MustSubmit("first");
  const auto stream = Open("kim", "queue,nodes");
  ASSERT_TRUE(stream->Until([&](const StreamPage& page) { return HasJob(page, first) && !page.nodes().empty(); }));
  EXPECT_NE(stream->head.find("text/event-stream"), std::string::npos);
  const std::uint64_t second = MustSubmit("second");
  ASSERT_TRUE(stream->Until([&](const StreamPage& page) { return HasJob(page, second); }));
  EXPECT_EQ(stream->page.queue().at(std::to_string(second))["name"], "second");
  EXPECT_EQ(stream->page.resets(), 2U);
  Cancel(first);
  ASSERT_TRUE(stream->Until([&](const StreamPage& page) { return !HasJob(page, first); }));
}

TEST_F(StreamHubTest, GoesOnBehindTheLastIdWithoutANewState) {
  const std::uint64_t first = MustSubmit("first");
  auto stream = Open("kim", "queue,events");
  ASSERT_TRUE(stream->Until([&](const StreamPage& page) {
    return HasJob(page, first) && !page.events().empty() && !page.last_id().empty();
  }));
  StreamPage page = stream->page;
  stream.reset();
  page.Cut();
  const std::uint64_t second = MustSubmit("second");
  stream = Open("kim", "queue,events", page.last_id());
  stream->page = page;
  const std::size_t events = page.events().size();
  ASSERT_TRUE(
      stream->Until([&](const StreamPage& now) { return HasJob(now, second) && now.events().size() > events; }));
  EXPECT_EQ(stream->page.resets(), page.resets());
  const auto& seqs = stream->page.events();
  EXPECT_EQ(std::set<std::uint64_t>(seqs.begin(), seqs.end()).size(), seqs.size()) << "an event came twice";
}

TEST_F(StreamHubTest, EventsGoOnAcrossAChangeOfTheLeader) {
  const std::uint64_t first = MustSubmit("first");
  auto stream = Open("kim", "queue,events");
  ASSERT_TRUE(stream->Until([&](const StreamPage& page) {
    return HasJob(page, first) && !page.events().empty() && !page.last_id().empty();
  }));
  StreamPage page = stream->page;
  stream.reset();
  page.Cut();
  const std::uint64_t second = MustSubmit("second");
  RestartServer();
  stream = Open("kim", "queue,events", page.last_id());
  stream->page = page;
  ASSERT_TRUE(stream->Until(
      [&](const StreamPage& now) { return HasJob(now, second) && now.events().size() > page.events().size(); }));
  EXPECT_EQ(stream->page.resets(), page.resets() + 1) << "the rounds are another leader's: a new state";
  const auto& seqs = stream->page.events();
  EXPECT_TRUE(std::is_sorted(seqs.begin(), seqs.end()));
  EXPECT_EQ(std::set<std::uint64_t>(seqs.begin(), seqs.end()).size(), seqs.size()) << "an event came twice";
}

TEST_F(StreamHubTest, AJobIsShownWholeToThoseWithARightToItAlone) {
  v1::JobSpec spec = Spec("secret-run");
  spec.set_run("xyzzy");
  spec.set_team("vision");
  const std::uint64_t id = SubmitBy(TokenOf("kim"), spec);
  const std::string topic = "job:" + std::to_string(id);
  for (const auto& [user, whole] :
       std::map<std::string, bool>{{"kim", true}, {"tess", true}, {"ora", true}, {"lee", false}, {"vera", false}}) {
    const auto stream = Open(user, topic);
    ASSERT_TRUE(stream->Until([&](const StreamPage& page) { return page.documents().contains(topic); })) << user;
    const proto::Json job = stream->page.documents().at(topic)["job"];
    EXPECT_EQ(job["id"], id);
    EXPECT_EQ(job.dump().find("xyzzy") != std::string::npos, whole) << user;
  }
}

TEST_F(StreamHubTest, EventsOfOthersJobsDoNotCome) {
  const std::uint64_t own = MustSubmit("own", "lee");
  const std::uint64_t others = MustSubmit("others", "kim");
  const auto stream = Open("lee", "events");
  const auto has = [&](const StreamPage& page, std::uint64_t job) {
    for (const auto& [name, data] : page.documents()) {
      if (data.contains("events") && data.dump().find("\"job_id\":" + std::to_string(job)) != std::string::npos) {
        return true;
      }
    }
    return false;
  };
  ASSERT_TRUE(stream->Until([&](const StreamPage& page) { return has(page, own); }));
  EXPECT_FALSE(has(stream->page, others));
}

TEST_F(StreamHubTest, ARevokedTokenEndsTheStreamAtOnce) {
  const std::string token = MakeToken("kim");
  const auto stream = OpenWith(token, "queue");
  ASSERT_TRUE(stream->Until([](const StreamPage& page) { return page.resets() == 1; }));
  ASSERT_EQ(Ask("DELETE", "/v1/tokens/" + IdOf(token), TokenOf("kim")).status, 200);
  ASSERT_TRUE(stream->Until([](const StreamPage& page) { return !page.bye().is_null(); }));
  EXPECT_EQ(stream->page.bye()["error"]["code"], "unauthenticated");
  EXPECT_FALSE(stream->Until([](const StreamPage&) { return false; })) << "it is closed";
}

TEST_F(StreamHubTest, RefusesWhatIsNoTopicAndWhoHasNoToken) {
  EXPECT_EQ(Ask("GET", "/v1/stream?topics=xyz", TokenOf("kim")).status, 400);
  EXPECT_EQ(Ask("GET", "/v1/stream", TokenOf("kim")).status, 400);
  EXPECT_EQ(Ask("GET", "/v1/stream?topics=queue").status, 401);
}

TEST_F(StreamHubTest, SaysGoodbyeWhenTheSchedulerStops) {
  const auto stream = Open("kim", "queue");
  ASSERT_TRUE(stream->Until([](const StreamPage& page) { return page.resets() == 1; }));
  server_->Stop();
  ASSERT_TRUE(stream->Until([](const StreamPage& page) { return !page.bye().is_null(); }));
  EXPECT_EQ(stream->page.bye()["error"]["reason"], "STOPPING");
}

class FewStreamsTest : public StreamHubTest {
 protected:
  void Configure() override {
    StreamHubTest::Configure();
    config_.limits.At(server::BoundOf::kUser, server::Bound::kStreams) = 2;
  }
};

TEST_F(FewStreamsTest, AUserHasSoManyAndEndedOnesCountNoMore) {
  auto one = Open("kim", "queue");
  auto two = Open("kim", "queue");
  for (const auto* stream : {&one, &two}) {
    ASSERT_TRUE((*stream)->Until([](const StreamPage& page) { return page.resets() == 1; }));
  }
  EXPECT_EQ(Ask("GET", "/v1/stream?topics=queue", TokenOf("kim")).status, 429);
  two.reset();
  EXPECT_TRUE(Eventually(
      [&] { return Open("kim", "queue")->Until([](const StreamPage& page) { return page.resets() == 1; }); }));
}

}  // namespace
}  // namespace glim::gateway
