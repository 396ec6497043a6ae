// What strangers and slow readers may take of the HTTP port: of a server of the room's own, with small bounds, in front
// of a real scheduler without identity.
#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "scheduler/gateway/gateway.h"
#include "scheduler/gateway/gzip_cache.h"
#include "scheduler/gateway/http_types.h"
#include "scheduler/gateway/testing/http_client.h"
#include "scheduler/server/testing/test_server.h"

namespace glim::gateway {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Feeds what the test says to whoever opens the stream.
class FedStream final : public StreamRoutes {
 public:
  Status Open(const StreamRequest& request, const StreamCaller& caller, std::shared_ptr<SseSink> sink) override {
    const std::lock_guard lock(mutex_);
    last_event_ = request.last_event_id;
    user_ = caller.user;
    if (refuses_) return Status(StatusCode::kResourceExhausted, "too many streams").WithReason("OVERLOADED");
    sink->OnClosed([this] {
      const std::lock_guard own(mutex_);
      ++closed_;
    });
    sink_ = std::move(sink);
    return Status::Ok();
  }
  std::shared_ptr<SseSink> sink() {
    const std::lock_guard lock(mutex_);
    return sink_;
  }
  int closed() {
    const std::lock_guard lock(mutex_);
    return closed_;
  }
  std::mutex mutex_;
  std::shared_ptr<SseSink> sink_;
  std::string last_event_, user_;
  bool refuses_ = false;
  int closed_ = 0;
};

class BoundsTest : public server::ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    options_.address = "127.0.0.1:0";
    options_.identity = false;
    options_.forward = {"glim-forwarded-peer", [](const std::string& peer) { return "- " + peer; }};
    options_.streams = &stream_;
    options_.bounds = {4, 6, std::size_t{1} << 20, std::size_t{2} << 20};
    options_.times = {kLong, kLong, kLong, kLong};
  }
  void TearDown() override {
    gateway_.reset();
    ServerTest::TearDown();
  }
  void Serve() {
    auto started = Gateway::Start(options_, channel_);
    ASSERT_TRUE(started.ok()) << started.status().message();
    gateway_ = std::move(started).value();
  }
  HttpClient Connect() const { return {gateway_->port(), ""}; }

  // What is not a test's matter: longer than the test waits for anything.
  static constexpr std::chrono::milliseconds kLong = std::chrono::hours(1);
  static constexpr std::chrono::milliseconds kShort{300};

  FedStream stream_;
  Gateway::Options options_;
  std::unique_ptr<Gateway> gateway_;
};

TEST_F(BoundsTest, OneConnectionAnswersManyRequestsAlsoWhenTheyAreSentAhead) {
  Serve();
  HttpClient client = Connect();
  std::string all;
  for (int i = 0; i < 50; ++i) all += RequestText("GET", "/v1/whoami", {{"Glim-User", "kim"}});
  client.Send(all);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(client.ReadReply().status, 200);
}

TEST_F(BoundsTest, WhatIsTooLargeIsRefused) {
  Serve();
  EXPECT_EQ(Connect().Ask("GET", "/v1/version", {{"X-Long", std::string(20'000, 'x')}}).status, 431);
  EXPECT_EQ(Connect().Ask("GET", "/v1/version?x=" + std::string(9'000, 'x')).status, 414);
  TestHeaders many;
  for (int i = 0; i < 120; ++i) many.emplace_back("X-" + std::to_string(i), "1");
  EXPECT_EQ(Connect().Ask("GET", "/v1/version", many).status, 431);
  HttpClient huge = Connect();
  huge.Send("POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999\r\n\r\n");
  EXPECT_EQ(huge.ReadReply().status, 413);
  HttpClient much = Connect();  // more than the address may have on its way
  much.Send("POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1500000\r\n\r\n");
  EXPECT_EQ(much.ReadReply().Reason(), "OVERLOADED");
}

TEST_F(BoundsTest, WhatIsNoHttpIsRefused) {
  Serve();
  for (const char* text : {"hello\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /v1/version HTTP/1.1\r\n\r\n",
                           "GET /v1/version HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                           "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
                           "GET //\x01 HTTP/1.1\r\nHost: a\r\n\r\n"}) {
    HttpClient client = Connect();
    client.Send(text);
    const HttpReply reply = client.ReadReply();
    EXPECT_EQ(reply.status, 400) << text;
    EXPECT_EQ(client.ReadSome(), "") << "and is hung up on";
  }
}

// A proxy that takes the end of a request elsewhere would hand one user's bytes on as another's request.
TEST_F(BoundsTest, ARequestWhoseEndCouldBeReadOtherwiseIsRefusedAndNothingBehindIt) {
  Serve();
  const std::string post = "POST /v1/plan HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
  const std::string behind = "GET /v1/version HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  const std::string chunk = "2\r\n{}\r\n0\r\n\r\n";
  const struct {
    int status;
    std::string text;
  } requests[] = {
      {501, "Transfer-Encoding: xchunked\r\n\r\n"},
      {501, "Transfer-Encoding: identity\r\n\r\n"},
      {501, "Transfer-Encoding: chunked, identity\r\n\r\n" + chunk},
      {501, "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunk},
      {501, "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk},
      {501, "Transfer-Encoding: \"chunked\"\r\n\r\n" + chunk},
      {501, "Transfer-Encoding: chunked;a=b\r\n\r\n" + chunk},
      {501, "Transfer-Encoding: chunk\r\n\r\n"},
      {501, "Transfer-Encoding:\r\n\r\n"},
      {400, "Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n{}"},
      {400, "Content-Length: 2\r\nTransfer-Encoding: identity\r\n\r\n{}"},
      {400, "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk},
      {400, "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n" + chunk},
      {400, "Transfer-Encoding:\r\n chunked\r\n\r\n" + chunk},
      {400, "X-Any: a\r\n\tContent-Length: 2\r\n\r\n{}"},
      {400, "Content-Length: 2, 2\r\n\r\n{}"},
      {400, "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"},
      {400, "Content-Length: +2\r\n\r\n{}"},
      {400, "Content-Length:\r\n\r\n"},
      {400, "Transfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\n\r\n"},
      {400, "Transfer-Encoding: chunked\r\n\r\n2 \r\n{}\r\n0\r\n\r\n"},
      {400, "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0;a\r\n\r\n"},
      {400, "Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n"},
      {400, "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nAuthorization: Bearer x\r\n\r\n"},
  };
  for (const auto& request : requests) {
    HttpClient client = Connect();
    client.Send(post + request.text + behind);
    EXPECT_EQ(client.ReadReply().status, request.status) << request.text;
    EXPECT_EQ(client.ReadSome(), "") << request.text;
  }
  HttpClient old = Connect();
  old.Send("POST /v1/plan HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + behind);
  EXPECT_EQ(old.ReadReply().status, 400);
  EXPECT_EQ(old.ReadSome(), "");
  HttpClient right = Connect();
  for (const char* word : {"chunked", "Chunked"}) {
    right.Send(post + "Transfer-Encoding: " + word + "\r\n\r\n" + chunk);
    EXPECT_EQ(right.ReadReply().Reason(), "INVALID_SPEC") << "it was read";
  }
}

// Each by the one time that is short.
TEST_F(BoundsTest, WhoIsSlowIsLetGo) {
  const auto nothing_is_held = [this] { return gateway_->connections() == 0 && gateway_->bytes_held() == 0; };
  options_.times = {kShort, kLong, kLong, kLong};
  Serve();
  {
    HttpClient head = Connect();
    head.Send("GET /v1/version HT");
    EXPECT_EQ(head.ReadReply().status, 408);
  }
  EXPECT_TRUE(Eventually(nothing_is_held));
  options_.times = {kLong, kShort, kLong, kLong};
  Serve();
  {
    HttpClient body = Connect();
    body.Send("POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n{");
    EXPECT_EQ(body.ReadReply().status, 408);
  }
  EXPECT_TRUE(Eventually(nothing_is_held));
  options_.times = {kLong, kLong, kShort, kLong};
  Serve();
  HttpClient idle = Connect();
  EXPECT_EQ(idle.Ask("GET", "/v1/whoami").status, 200);
  EXPECT_EQ(idle.ReadSome(), "") << "after its time between two requests";
  EXPECT_TRUE(Eventually(nothing_is_held));
}

TEST_F(BoundsTest, WhoAsksNothingIsLetGoWithinTheTimeOfAHandshake) {
  options_.times.head = kShort;
  Serve();
  HttpClient silent = Connect();
  EXPECT_EQ(silent.ReadSome(), "");
  EXPECT_TRUE(Eventually([this] { return gateway_->connections() == 0; })) << "it was let go, and not only waited for";
}

// Nobody shuts out an address by connections that ask nothing.
TEST_F(BoundsTest, WhoWaitsForNothingMakesRoomForTheNextOfItsAddress) {
  Serve();
  HttpClient used = Connect();
  ASSERT_EQ(used.Ask("GET", "/v1/whoami").status, 200);
  std::vector<std::unique_ptr<HttpClient>> silent;
  for (int i = 0; i < 8; ++i) silent.push_back(std::make_unique<HttpClient>(gateway_->port(), ""));
  EXPECT_EQ(Connect().Ask("GET", "/v1/whoami").status, 200);
  EXPECT_EQ(used.Ask("GET", "/v1/whoami").status, 200) << "who has asked something goes last";
  EXPECT_EQ(silent.front()->ReadSome(), "") << "who has waited longest goes first";
}

TEST_F(BoundsTest, AnAddressHasSoManyConnections) {
  Serve();
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<HttpClient>(gateway_->port(), ""));
    clients.back()->Send(RequestText("GET", "/v1/stream"));
    ASSERT_THAT(clients.back()->ReadSome(), HasSubstr("text/event-stream")) << "none of them is idle";
  }
  EXPECT_EQ(Connect().Ask("GET", "/v1/whoami").status, 0);
  clients.pop_back();
  EXPECT_TRUE(Eventually([this] { return Connect().Ask("GET", "/v1/whoami").status == 200; }));
}

TEST_F(BoundsTest, ABodyMayComeInChunksAndAfterAQuestion) {
  Serve();
  HttpClient client = Connect();
  client.Send(
      "POST /v1/plan HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n");
  EXPECT_THAT(client.ReadSome(), StartsWith("HTTP/1.1 100 Continue\r\n\r\n"));
  client.Send("2\r\n{}\r\n0\r\n\r\n");
  EXPECT_EQ(client.ReadReply().status, 400) << "of no job";
  HttpClient much = Connect();
  much.Send("POST /v1/plan HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "40000\r\n" + std::string(0x40000, 'x') + "\r\n";
  for (int i = 0; i < 5; ++i) much.Send(chunk);
  EXPECT_EQ(much.ReadReply().Reason(), "OVERLOADED");
}

TEST_F(BoundsTest, AStreamIsFedAndItsEndIsTold) {
  Serve();
  HttpClient client = Connect();
  client.Send(RequestText("GET", "/v1/stream", {{"Glim-User", "kim"}, {"Last-Event-ID", "7"}}));
  ASSERT_TRUE(Eventually([this] { return stream_.sink() != nullptr; }));
  EXPECT_EQ(stream_.user_, "kim");
  EXPECT_EQ(stream_.last_event_, "7");
  const auto frame = std::make_shared<const std::string>("id: 8\ndata: {}\n\n");
  EXPECT_TRUE(stream_.sink()->Write(frame));
  std::string heard;
  while (heard.find("data: {}") == std::string::npos) heard += client.ReadSome();
  EXPECT_THAT(heard, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_TRUE(Eventually([this] { return stream_.sink()->Waiting() == 0; }));
  client.HangUp();
  EXPECT_TRUE(Eventually([this] { return stream_.closed() == 1; }));
  EXPECT_FALSE(stream_.sink()->Write(frame));
}

TEST_F(BoundsTest, AStreamMayBeRefused) {
  stream_.refuses_ = true;
  Serve();
  EXPECT_EQ(Connect().Ask("GET", "/v1/stream").Reason(), "OVERLOADED");
}

TEST_F(BoundsTest, AReaderWhoTakesNothingHoldsLittleAndIsLetGo) {
  options_.times.write = std::chrono::milliseconds(500);
  Serve();
  HttpClient client = Connect();
  client.HoldLittle();
  client.Send(RequestText("GET", "/v1/stream"));
  ASSERT_TRUE(Eventually([this] { return stream_.sink() != nullptr; }));
  const auto frame = std::make_shared<const std::string>(std::size_t{256} << 10, 'x');
  std::size_t most = 0;
  bool refused = false;
  ASSERT_TRUE(Eventually([&] {
    refused = refused || !stream_.sink()->Write(frame);
    most = std::max(most, stream_.sink()->Waiting());
    return stream_.closed() == 1;
  }));
  EXPECT_TRUE(refused);
  EXPECT_LE(most, SseSink::kBytesMax);
}

TEST_F(BoundsTest, WithoutIdentityOtherSitesMakeBrowsersDoNothing) {
  Serve();
  const auto post = [&](const TestHeaders& headers) { return Connect().Ask("POST", "/v1/jobs/7/cancel", headers); };
  EXPECT_EQ(post({{"Origin", "http://evil.example"}}).Reason(), "CROSS_SITE");
  EXPECT_EQ(post({{"Sec-Fetch-Site", "cross-site"}}).Reason(), "CROSS_SITE");
  EXPECT_EQ(post({{"Host", "evil.example:7604"}, {"Origin", "http://evil.example:7604"}}).Reason(), "WRONG_HOST");
  EXPECT_EQ(post({{"Host", "localhost:7604"}, {"Origin", "http://localhost:7604"}}).status, 404) << "no such job";
}

TEST(GzipCache, WorksOnceForEqualTextsAndForgetsTheOldest) {
  GzipCache cache(std::size_t{4} << 10);
  const std::string text(100'000, 'a');
  EXPECT_EQ(cache.Of("\"1\"", text), cache.Of("\"1\"", text));
  EXPECT_EQ(cache.compressed(), 1U);
  for (int i = 0; i < 100; ++i) cache.Of("\"" + std::to_string(i) + "\"", text);
  EXPECT_LE(cache.bytes(), std::size_t{4} << 10);
}

TEST(ParseTarget, DecodesAndRefuses) {
  std::string path;
  NamedTexts query;
  ASSERT_TRUE(ParseTarget("/v1/jobs?name=a+b%2Bc&all&user=k%C3%A4&&x=", &path, &query));
  EXPECT_EQ(path, "/v1/jobs");
  EXPECT_EQ(query, (NamedTexts{{"name", "a b+c"}, {"all", ""}, {"user", "k\xc3\xa4"}, {"x", ""}}));
  for (const char* text : {"", "v1", "http://a/b", "/a?x=%", "/a?x=%2", "/a?x=%zz", "/a?x=%00", "/a#b"}) {
    EXPECT_FALSE(ParseTarget(text, &path, &query)) << text;
  }
}

}  // namespace
}  // namespace glim::gateway
