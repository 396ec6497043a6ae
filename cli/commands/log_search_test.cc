// glim logs --grep: what is asked, what is shown, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

#include "cli/testing/cli_fixture.h"

namespace glim::cli {
namespace {

using testing::HasSubstr;

class LogSearchTest : public CliTest {
 protected:
  static void Add(glim::v1::SearchLogResponse* page, std::uint32_t rank, std::int64_t offset, const std::string& text,
                  bool match = true) {
    page->set_attempt(2);
    glim::v1::FoundLine* const line = page->add_lines();
    line->set_rank(rank);
    line->set_offset(offset);
    line->set_text(text);
    line->set_match(match);
  }
};

TEST_F(LogSearchTest, PagesAreOneListAndEachLineIsShownOnce) {
  glim::v1::SearchLogResponse page;
  Add(&page, 0, 0, "before", false);
  Add(&page, 0, 7, "nan \x1b[2J here");
  Add(&page, 0, 100, "nan");
  page.set_next_page_token("t");
  glim::v1::SearchLogResponse next;
  Add(&next, 0, 100, "nan");
  Add(&next, 3, 0, "a nan of another rank");
  glim::v1::LogGap* const gap = next.add_gaps();
  gap->set_rank(1);
  gap->set_ranks(2);
  gap->set_node("n2");
  gap->set_why("it is away");
  server_.Lock()->found = {page, next};
  const GlimResult result = Glim({"logs", "7", "--grep", "nan", "-i", "-C", "1", "--newest-first", "--attempt", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("ranks 1 to 2 on node n2: not searched: it is away"));
  const auto state = server_.Lock();
  ASSERT_EQ(state->searches.size(), 2u);
  const glim::v1::SearchLogRequest& asked = state->searches[0];
  EXPECT_EQ(asked.job_id(), 7u);
  EXPECT_EQ(asked.attempt(), 2u);
  EXPECT_FALSE(asked.has_rank());
  EXPECT_EQ(asked.word(), "nan");
  EXPECT_TRUE(asked.ignore_case());
  EXPECT_TRUE(asked.newest_first());
  EXPECT_EQ(asked.context(), 1u);
  EXPECT_EQ(state->searches[1].page_token(), "t");
}

TEST_F(LogSearchTest, TheLastOfSoManyLinesHasItsContextToo) {
  glim::v1::SearchLogResponse page;
  Add(&page, 0, 0, "line 4", false);
  Add(&page, 0, 7, "line 5 nan");
  Add(&page, 0, 18, "line 6", false);
  Add(&page, 0, 25, "line 7", false);
  Add(&page, 0, 32, "line 8 nan");
  server_.Lock()->found = {page};
  const auto shown = [this](const char* context, const char* most) {
    return Glim({"logs", "7", "--grep", "nan", "--rank", "0", "-C", context, "-m", most}).out;
  };
  EXPECT_EQ(shown("1", "1"), "line 4\nline 5 nan\nline 6\n");
  EXPECT_EQ(shown("20", "1"), "line 4\nline 5 nan\nline 6\nline 7\n") << "up to the next one with the word";
  EXPECT_EQ(shown("0", "1"), "line 4\nline 5 nan\n") << "what the answer has before it";
}

TEST_F(LogSearchTest, LinesAreShownAsGrepDoes) {
  glim::v1::SearchLogResponse page;
  Add(&page, 0, 0, "before", false);
  Add(&page, 0, 7, "nan 1");
  Add(&page, 0, 100, "nan 2");
  page.mutable_lines(2)->set_cut(true);
  Add(&page, 3, 0, "nan 3");
  server_.Lock()->found = {page};
  GlimResult result = Glim({"logs", "7", "--grep", "nan", "-C", "1"});
  EXPECT_EQ(result.out, "rank 0- before\nrank 0: nan 1\n--\nrank 0: nan 2 ...\n--\nrank 3: nan 3\n") << result.err;
  result = Glim({"logs", "7", "--grep", "nan", "--rank", "0", "-m", "2"});
  EXPECT_EQ(result.out, "before\nnan 1\nnan 2 ...\n");
  EXPECT_EQ(server_.Lock()->searches.back().page_size(), 2u);
  EXPECT_EQ(server_.Lock()->searches.back().rank(), 0u);
  EXPECT_TRUE(server_.Lock()->searches.back().has_rank());
  result = Glim({"logs", "7", "--grep", "nan", "-o", "json"});
  const auto first = nlohmann::json::parse(result.out.substr(0, result.out.find('\n')));
  EXPECT_EQ(first["rank"], 0);
  EXPECT_EQ(first["offset"], 0);
  EXPECT_EQ(first["line"], "before");
  EXPECT_EQ(first["match"], false);
}

TEST_F(LogSearchTest, OnATerminalALineIsNoCommand) {
  glim::v1::SearchLogResponse page;
  Add(&page, 0, 7, "nan \x1b[2J\x1b[1mhere");
  server_.Lock()->found = {page};
  GlimOptions options = Options();
  options.terminal = true;
  GlimResult result = GlimProcess({"logs", "7", "--grep", "nan", "--rank", "0"}, options).Finish();
  EXPECT_EQ(result.out.find("\x1b[2J"), std::string::npos);
  EXPECT_THAT(result.out, HasSubstr("nan \\x1b[2J"));
  result = GlimProcess({"logs", "7", "--grep", "nan", "--rank", "0", "--raw"}, options).Finish();
  EXPECT_THAT(result.out, HasSubstr("nan \x1b[2J"));
}

TEST_F(LogSearchTest, OnATerminalAProgressBarDoesNotHideWhoseLineItIs) {
  glim::v1::SearchLogResponse page;
  Add(&page, 3, 7, "nan 10%\rnan 20%");
  server_.Lock()->found = {page};
  GlimOptions options = Options();
  options.terminal = true;
  const auto shown = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"logs", "7", "--grep", "nan"});
    return GlimProcess(std::move(more), options).Finish().out;
  };
  EXPECT_EQ(shown({}), "rank 3: nan 10%\rrank 3: nan 20%\n");
  EXPECT_EQ(shown({"--rank", "3"}), "nan 10%\rnan 20%\n");
  EXPECT_EQ(shown({"--raw"}), "rank 3: nan 10%\rnan 20%\n");
  EXPECT_EQ(Glim({"logs", "7", "--grep", "nan"}).out, "rank 3: nan 10%\rnan 20%\n") << "what is no terminal";
}

TEST_F(LogSearchTest, NothingFoundIsSaidAndNoFault) {
  const GlimResult result = Glim({"logs", "7", "--grep", "nan"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("no line holds 'nan'"));
}

TEST_F(LogSearchTest, WhatDoesNotGoTogetherIsRefused) {
  EXPECT_EQ(Glim({"logs", "7", "--grep", "nan", "-f"}).exit_code, 2);
  EXPECT_EQ(Glim({"logs", "7", "--grep", ""}).exit_code, 2);
  EXPECT_EQ(Glim({"logs", "7", "--ignore-case"}).exit_code, 2);
  EXPECT_EQ(Glim({"logs", "7", "--grep", "nan", "-C", "21"}).exit_code, 2);
  EXPECT_TRUE(server_.Lock()->searches.empty());
}

}  // namespace
}  // namespace glim::cli
