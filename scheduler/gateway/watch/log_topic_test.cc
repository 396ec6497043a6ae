// A log's pieces become frames, and go on where the last one ended.
#include "scheduler/gateway/watch/log_topic.h"

#include <gtest/gtest.h>

#include "scheduler/gateway/watch/testing/stream_page.h"

namespace glim::gateway {
namespace {

class SilentCall final : public ReadStream {
 public:
  void Next() override { ++asked; }
  void Cancel() override { cancelled = true; }
  int asked = 0;
  bool cancelled = false;
};

struct Followed {
  Followed() {
    topic = std::make_shared<LogTopic>(&io, LogPlace{812, 3, 0, 5},
                                       [this](const v1::StreamLogRequest& request, ReadStream::Told told) {
                                         asked = request;
                                         tell = std::move(told);
                                         return call;
                                       });
    topic->Start();
  }
  void Come(std::int64_t offset, const std::string& data) {
    v1::StreamLogResponse piece;
    piece.set_offset(offset);
    piece.set_attempt(2);
    piece.set_data(data);
    tell(&piece, Status::Ok());
    Run();
  }
  void Run() {
    io.restart();
    io.run();
  }
  std::string Taken() {
    std::string text;
    topic->Take(&text);
    return text;
  }
  boost::asio::io_context io;
  std::shared_ptr<SilentCall> call = std::make_shared<SilentCall>();
  std::shared_ptr<LogTopic> topic;
  v1::StreamLogRequest asked;
  ReadStream::Told tell;
};

TEST(LogTopic, JoinsWhatComesAndGoesOnThere) {
  Followed log;
  EXPECT_EQ(log.asked.job_id(), 812U);
  EXPECT_EQ(log.asked.offset(), 5);
  EXPECT_TRUE(log.asked.follow());
  log.Come(5, "one ");
  log.Come(9, "two");
  const std::string text = log.Taken();
  EXPECT_EQ(text.find("event: log:812:3\n"), 0U);
  StreamPage page;
  page.Read(text);
  EXPECT_EQ(page.documents().at("log:812:3")["offset"], 5);
  EXPECT_EQ(page.logs().at("log:812:3"), "b25lIHR3bw==");
  EXPECT_EQ(log.topic->place(), (LogPlace{812, 3, 2, 12}));
  EXPECT_TRUE(log.Taken().empty());
}

TEST(LogTopic, APartThatIsMissingBeginsAFrameOfItsOwn) {
  Followed log;
  log.Come(5, "a");
  log.Come(100, "b");
  StreamPage page;
  page.Read(log.Taken());
  EXPECT_EQ(page.names().size(), 2U);
  EXPECT_EQ(log.topic->place().offset, 101);
}

TEST(LogTopic, AsksForNoMoreWhileMuchWaits) {
  Followed log;
  log.Come(5, std::string(std::size_t{300} << 10, 'x'));
  EXPECT_EQ(log.call->asked, 0);
  EXPECT_FALSE(log.Taken().empty());
  EXPECT_EQ(log.call->asked, 1);
}

TEST(LogTopic, TellsHowItEndedOnce) {
  Followed log;
  log.tell(nullptr, Status(StatusCode::kPermissionDenied, "no").WithReason("NOT_YOURS"));
  log.Run();
  StreamPage page;
  page.Read(log.Taken());
  EXPECT_EQ(page.documents().at("log:812:3")["end"]["reason"], "NOT_YOURS");
  EXPECT_TRUE(log.Taken().empty());
}

}  // namespace
}  // namespace glim::gateway
