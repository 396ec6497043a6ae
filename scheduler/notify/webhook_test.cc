// Webhooks against a real HTTP server.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "scheduler/notify/signature.h"
#include "scheduler/notify/target.h"
#include "scheduler/notify/testing/http_receiver.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::notify {
namespace {

constexpr char kSecret[] = "0123456789abcdef";

struct NotifyWebhookTest : ::testing::Test {
  NotifyWebhookTest() { WriteSecret(std::string(kSecret) + "\n", 0600); }

  void WriteSecret(const std::string& text, mode_t mode) {
    std::ofstream(Path()) << text;
    ::chmod(Path().c_str(), mode);
  }
  std::string Path() const { return folder.path() + "/secret"; }
  Target To(const std::string& url) const { return {TargetKind::kWebhook, {url, Path()}, {}}; }
  Status Send(const std::string& url) { return SendTo(To(url), message, stopping); }
  // "t=NUMBER,v1=..." is what Signature makes of the body with that number.
  static bool IsSigned(const HttpReceiver::Request& request, const std::string& secret) {
    const std::string header = request.Header("Glim-Signature");
    return Signature(secret, std::atoll(header.substr(2).c_str()), request.body) == header;
  }

  TempFolder folder;
  HttpReceiver receiver;
  std::atomic<bool> stopping{false};
  const Message message{5, "chat", {core::JobId(1), 1}, "c-5-chat", R"({"version":2})", {}};
};

TEST_F(NotifyWebhookTest, IsSigned) {
  ASSERT_TRUE(Send(receiver.url()).ok());
  const auto requests = receiver.requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].body, message.body);
  EXPECT_EQ(requests[0].Header("Glim-Delivery"), "c-5-chat");
  EXPECT_TRUE(IsSigned(requests[0], kSecret)) << requests[0].head;
  EXPECT_FALSE(IsSigned(requests[0], "another secret--"));
  const std::int64_t at = std::atoll(requests[0].Header("Glim-Signature").substr(2).c_str());
  EXPECT_NEAR(static_cast<double>(at), static_cast<double>(::time(nullptr)), 60);
}

TEST_F(NotifyWebhookTest, ANewSecretCountsAtOnce) {
  ASSERT_TRUE(Send(receiver.url()).ok());
  WriteSecret("fedcba9876543210", 0600);
  ASSERT_TRUE(Send(receiver.url()).ok());
  EXPECT_TRUE(IsSigned(receiver.requests().at(1), "fedcba9876543210"));
}

TEST_F(NotifyWebhookTest, OnlyASecretThatIsOne) {
  WriteSecret(kSecret, 0644);
  EXPECT_EQ(Send(receiver.url()).reason(), "NOT_PRIVATE");
  EXPECT_EQ(CheckTarget(To(receiver.url())).reason(), "NOT_PRIVATE");
  WriteSecret("short\n", 0600);
  EXPECT_EQ(Send(receiver.url()).reason(), "BAD_SECRET");
  EXPECT_TRUE(receiver.requests().empty()) << "nothing is sent unsigned";
}

TEST_F(NotifyWebhookTest, AnswersAreTakenAtTheirWord) {
  struct Row {
    const char* answer;
    const char* reason;  // empty: told
  };
  const Row rows[] = {{"204 No Content", ""},       {"500 Internal Server Error", "NOT_NOW"},
                      {"503 Busy", "NOT_NOW"},      {"429 Too Many", "NOT_NOW"},
                      {"404 Not Found", "REFUSED"}, {"410 Gone", "REFUSED"},
                      {"302 Found", "REFUSED"},     {"307 Temporary Redirect", "REFUSED"}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.answer);
    receiver.Answer({row.answer});
    const Status sent = Send(receiver.url());
    EXPECT_EQ(sent.reason(), row.reason) << sent.message();
    EXPECT_EQ(sent.ok(), *row.reason == 0);
  }
  EXPECT_EQ(receiver.requests().size(), std::size(rows)) << "no redirect is followed";
}

TEST_F(NotifyWebhookTest, NobodyThereIsTriedAgain) {
  const Status sent = Send("http://127.0.0.1:1/secret-path");
  EXPECT_EQ(sent.reason(), "NO_ANSWER");
  EXPECT_EQ(sent.message().find("secret-path"), std::string::npos) << "the log is read by more than the policy";
  EXPECT_EQ(Send("http://hooks.example/x").reason(), "BAD_URL");
}

TEST_F(NotifyWebhookTest, OneThatHangsEndsWhenTheSchedulerStops) {
  receiver.Answer({"hang"});
  std::thread stop([this] {
    receiver.Await(1);
    stopping = true;
  });
  EXPECT_EQ(Send(receiver.url()).reason(), "NO_ANSWER");
  stop.join();
}

}  // namespace
}  // namespace glim::notify
