// LogApi.SearchLog through agents' ServeLogs.
#include "scheduler/server/clients/log_search.h"

#include <gmock/gmock.h>

#include "glim/v1/log_api.grpc.pb.h"
#include "scheduler/server/testing/fake_agent.h"
#include "scheduler/server/testing/test_server.h"
#include "scheduler/store/sqlite/sqlite_db.h"

namespace glim::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using v1::ObservedTask;

class LogSearchTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    hello_ = MakeHello(server_->cluster_id(), "node-1");
    agent_ = std::make_unique<FakeAgent>(channel_, hello_);
    ASSERT_TRUE(agent_->WaitWelcome());
    logs_ = std::make_unique<FakeLogServer>(channel_, hello_);
  }
  void TearDown() override {
    logs_.reset();
    agent_.reset();
    ServerTest::TearDown();
  }
  // Eight ranks on one node.
  std::uint64_t Started() {
    v1::JobSpec spec = Spec("talks");
    spec.set_launcher(v1::LAUNCHER_PER_GPU);
    const std::uint64_t job = MustSubmit(spec);
    EXPECT_TRUE(agent_->WaitLaunch(job));
    agent_->Report({Observed(job, 1, 0, ObservedTask::RUNNING)});
    WaitState(job, "running");
    return job;
  }
  void End(std::uint64_t job) {
    agent_->Report({Observed(job, 1, 0, ObservedTask::RELEASED)});
    WaitState(job, "succeeded");
  }
  void Write(std::uint64_t job, std::uint32_t rank, const std::string& text, bool ended = false) {
    logs_->Append(std::to_string(job) + ".1." + std::to_string(rank), text, ended);
  }
  static v1::SearchLogRequest For(std::uint64_t job, const std::string& word) {
    v1::SearchLogRequest request;
    request.set_job_id(job);
    request.set_word(word);
    return request;
  }
  grpc::Status Search(const v1::SearchLogRequest& request, v1::SearchLogResponse* response) {
    grpc::ClientContext context;
    SetUser(&context);
    return v1::LogApi::NewStub(channel_)->SearchLog(&context, request, response);
  }
  v1::SearchLogResponse Found(const v1::SearchLogRequest& request) {
    v1::SearchLogResponse response;
    // The log stream may come up after the job.
    grpc::Status status;
    EXPECT_TRUE(Eventually([&] {
      response.Clear();
      status = Search(request, &response);
      return status.ok() &&
             (response.gaps_size() == 0 || response.gaps(0).why().find("does not serve") == std::string::npos);
    })) << status.error_message();
    return response;
  }
  static std::vector<std::string> Lines(const v1::SearchLogResponse& response) {
    std::vector<std::string> lines;
    for (const v1::FoundLine& line : response.lines()) {
      lines.push_back(std::to_string(line.rank()) + "@" + std::to_string(line.offset()) + " " + line.text());
    }
    return lines;
  }

  v1::Hello hello_;
  std::unique_ptr<FakeAgent> agent_;
  std::unique_ptr<FakeLogServer> logs_;
};

TEST_F(LogSearchTest, LinesOfAllRanksComeInTheirOrderAndInPages) {
  const std::uint64_t job = Started();
  for (std::uint32_t rank = 0; rank < 8; ++rank) Write(job, rank, "begin\nnan 1\nnan 2\n");
  v1::SearchLogRequest request = For(job, "nan");
  request.set_page_size(5);
  v1::SearchLogResponse page = Found(request);
  EXPECT_THAT(Lines(page), ElementsAre("0@6 nan 1", "0@12 nan 2", "1@6 nan 1", "1@12 nan 2", "2@6 nan 1"));
  EXPECT_EQ(page.attempt(), 1u);
  EXPECT_THAT(page.gaps(), IsEmpty());
  std::vector<std::string> all = Lines(page);
  while (!page.next_page_token().empty() && all.size() < 100) {
    request.set_page_token(page.next_page_token());
    page = Found(request);
    for (const std::string& line : Lines(page)) all.push_back(line);
  }
  EXPECT_EQ(all.size(), 16u);
  EXPECT_EQ(all.back(), "7@12 nan 2");

  request = For(job, "NAN 2");
  request.set_rank(3);
  EXPECT_THAT(Lines(Found(request)), IsEmpty());
  request.set_ignore_case(true);
  request.set_context(1);
  EXPECT_THAT(Lines(Found(request)), ElementsAre("3@6 nan 1", "3@12 nan 2"));
  request = For(job, "nan");
  request.set_rank(3);
  request.set_newest_first(true);
  EXPECT_THAT(Lines(Found(request)), ElementsAre("3@12 nan 2", "3@6 nan 1"));
}

TEST_F(LogSearchTest, WhatTheNodeHasNoMoreIsSearchedInTheEndThatWasKept) {
  const std::uint64_t job = Started();
  Write(job, 0, "step 1\nTraceback: nan\n", true);
  Write(job, 1, "nan elsewhere\n", true);
  ASSERT_EQ(Lines(Found(For(job, "elsewhere"))).size(), 1u) << "the log stream is up";
  End(job);
  const std::string sql = "SELECT count(*) FROM log_tails WHERE job_id = " + std::to_string(job);
  ASSERT_TRUE(Eventually([&] {
    auto db = store::SqliteDb::Open((folder_ / "glim.db").string());
    return db.ok() && (*db)->QueryText(sql.c_str()).value() == "1";
  }));
  logs_.reset();
  agent_.reset();
  v1::SearchLogResponse found;
  ASSERT_TRUE(Eventually([&] {
    found.Clear();
    return Search(For(job, "nan"), &found).ok() && found.gaps_size() == 2;
  }));
  EXPECT_THAT(Lines(found), ElementsAre("0@7 Traceback: nan"));
  EXPECT_TRUE(found.gaps(0).kept_end());
  EXPECT_EQ(found.gaps(0).node(), "node-1");
  EXPECT_FALSE(found.gaps(1).kept_end());
  EXPECT_EQ(found.gaps(1).rank(), 1u);
  EXPECT_EQ(found.gaps(1).ranks(), 7u) << "alike in one gap";
  v1::SearchLogRequest one = For(job, "nan");
  one.set_rank(1);
  EXPECT_EQ(DetailOf(Search(one, &found)).reason(), "NO_LOG_STREAM") << "asked for alone, it is an error";
}

TEST_F(LogSearchTest, AnAgentOfAnEarlierReleaseIsSaidToBeOne) {
  const std::uint64_t job = Started();
  logs_->ForgetSearches();
  v1::SearchLogRequest request = For(job, "nan");
  request.set_rank(0);
  v1::SearchLogResponse found;
  grpc::Status status;
  EXPECT_TRUE(Eventually([&] {
    status = Search(request, &found);
    return DetailOf(status).reason() == "AGENT_TOO_OLD";
  })) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("node-1"));
}

TEST_F(LogSearchTest, WrongQuestionsAreAnsweredByTheField) {
  const std::uint64_t job = Started();
  v1::SearchLogResponse found;
  const auto field = [&](const std::function<void(v1::SearchLogRequest*)>& spoil) {
    v1::SearchLogRequest request = For(job, "nan");
    spoil(&request);
    const grpc::Status status = Search(request, &found);
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(DetailOf(status).fix().empty()) << status.error_message();
    return DetailOf(status).field();
  };
  EXPECT_EQ(field([](auto* r) { r->set_word(""); }), "word");
  EXPECT_EQ(field([](auto* r) { r->set_word(std::string(257, 'x')); }), "word");
  EXPECT_EQ(field([](auto* r) { r->set_word("a\nb"); }), "word");
  EXPECT_EQ(field([](auto* r) { r->set_context(21); }), "context");
  EXPECT_EQ(field([](auto* r) { r->set_rank(8); }), "rank");
  EXPECT_EQ(field([](auto* r) { r->set_attempt(2); }), "attempt");
  EXPECT_EQ(field([](auto* r) { r->set_job_id(4711); }), "job_id");
  EXPECT_EQ(field([](auto* r) { r->set_page_token("1.2"); }), "page_token");
  EXPECT_EQ(field([](auto* r) {
              v1::SearchLogRequest other = *r;
              other.set_word("inf");
              r->set_page_token(LogSearchToken(other, {1, 0, 5}));
            }),
            "page_token")
      << "of another search";
}

TEST(LogSearchTokenTest, ATokenIsReadAsItWasWritten) {
  v1::SearchLogRequest request;
  request.set_job_id(7);
  request.set_word("a.b");
  request.set_page_token(LogSearchToken(request, {3, 12, 9'000'000'000}));
  const auto place = ReadLogSearchToken(request);
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(place->attempt, 3u);
  EXPECT_EQ(place->rank, 12u);
  EXPECT_EQ(place->offset, 9'000'000'000);
  request.set_rank(11);
  EXPECT_FALSE(ReadLogSearchToken(request).ok());
  request.clear_rank();
  for (const char* bad : {"x", "1", "1.2.3.4.5", "..", "1.2.3.", "9999999999999999999999.1.1.1"}) {
    request.set_page_token(bad);
    EXPECT_FALSE(ReadLogSearchToken(request).ok()) << bad;
  }
}

}  // namespace
}  // namespace glim::server
