// Searches of logs as they lie on a node: rotated, and with windows and pages that end anywhere.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "nodeagent/task/log_files.h"
#include "sdk/base/line_pages.h"
#include "sdk/base/rng.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

Result<LinePage> SearchLog(const std::string& path, const LineQuery& query) {
  const auto log = OpenLog::Open(path);
  if (!log.ok()) return log.status();
  return SearchLines(*log, query);
}

class LogSearchTest : public ::testing::Test {
 protected:
  void Write(const std::string& text, LogLimits limits = {}) {
    LogWriter writer(path_, limits);
    ASSERT_TRUE(writer.Open().ok());
    writer.Write(text);
  }
  static LineQuery For(const std::string& word) {
    LineQuery query;
    query.word = word;
    query.lines_max = 1000;
    query.bytes_max = 1 << 20;
    return query;
  }
  LinePage Page(const LineQuery& query) {
    auto page = SearchLog(path_, query);
    EXPECT_TRUE(page.ok()) << page.status().message();
    return page.ok() ? *page : LinePage{};
  }
  // All pages, one after the other: offset and text of each line, once.
  std::vector<std::string> All(LineQuery query) {
    std::vector<std::string> all;
    for (int pages = 0; pages < 100'000; ++pages) {
      const LinePage page = Page(query);
      for (const FoundText& line : page.lines) all.push_back(std::to_string(line.offset) + " " + line.text);
      if (page.done) return all;
      query.offset = page.next;
    }
    ADD_FAILURE() << "it goes on and on";
    return all;
  }

  const TempFolder folder_;
  const std::string path_ = LogPath(folder_.path(), 0);
};

// What a search of the whole text line by line finds.
std::vector<std::string> Expected(const std::string& text, std::size_t from, const std::string& word) {
  std::vector<std::string> lines;
  for (std::size_t at = from; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (line.find(word) != std::string::npos) lines.push_back(std::to_string(at) + " " + line);
    at = end + 1;
  }
  return lines;
}

TEST_F(LogSearchTest, FindsWhatALookAtEachLineFindsWhereverWindowsPagesAndFilesEnd) {
  Rng rng(7);
  for (int round = 0; round < 60; ++round) {
    std::filesystem::remove_all(folder_.path());
    std::filesystem::create_directory(folder_.path());
    std::string text;
    while (text.size() < 3000) {
      const std::int64_t length = rng.OneIn(8) ? rng.Between(0, 200) : rng.Between(0, 20);
      for (std::int64_t i = 0; i < length; ++i) text += static_cast<char>('a' + rng.Between(0, 2));
      text += '\n';
    }
    if (rng.OneIn(2)) text += "abc";  // a last line without an end
    Write(text, {700, 100});
    LineQuery query = For("abc");
    query.window_bytes = rng.Between(250, 600);
    query.lines_max = static_cast<std::size_t>(rng.Between(1, 9));
    query.bytes_max = static_cast<std::size_t>(rng.Between(1, 500));
    auto expected = Expected(text, 0, "abc");
    EXPECT_EQ(All(query), expected) << "round " << round;
    query.newest_first = true;
    std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(All(query), expected) << "newest first, round " << round;
  }
}

TEST_F(LogSearchTest, WhatRotationHasDroppedIsNotSearched) {
  std::string text;
  for (int i = 1000; i < 4000; ++i) text += "line " + std::to_string(i) + "\n";
  Write(text, {4096, 3});
  const auto all = All(For("line"));
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.back(), "29990 line 3999");
  EXPECT_EQ(all.front(), "20480 line 3048");
  LineQuery query = For("line");
  query.offset = 5;  // gone meanwhile
  EXPECT_EQ(All(query), all);
  query.newest_first = true;
  EXPECT_TRUE(Page(query).done) << "nothing is left before it";
  EXPECT_TRUE(Page(query).lines.empty());
}

TEST_F(LogSearchTest, AWordInALineLongerThanAWindowIsFoundAndTheLineIsCut) {
  std::string text(10'000, 'x');
  text.replace(9'997, 3, "yes");
  text += "\nyes\n";
  Write(text);
  LineQuery query = For("yes");
  query.window_bytes = 998;  // the word lies across its end
  for (const bool newest : {false, true}) {
    query.newest_first = newest;
    const LinePage page = Page(query);
    EXPECT_TRUE(page.done);
    ASSERT_EQ(page.lines.size(), 2u) << newest;
    const FoundText& part = page.lines[newest ? 1 : 0];
    EXPECT_NE(part.text.find("yes"), std::string::npos);
    EXPECT_LE(part.text.size(), 4096u);
    EXPECT_EQ(page.lines[newest ? 0 : 1].offset, 10'001);
  }
  query.window_bytes = 1 << 20;
  query.newest_first = false;
  const LinePage page = Page(query);
  ASSERT_EQ(page.lines.size(), 2u);
  EXPECT_EQ(page.lines[0].offset, 0);
  EXPECT_TRUE(page.lines[0].cut);
}

TEST_F(LogSearchTest, LinesBesideAreToldOnceInTheOrderOfTheSearch) {
  Write("a\nb\nhit 1\nc\nhit 2\nd\ne\nf\ng\nhit 3");
  LineQuery query = For("hit");
  query.context = 1;
  std::vector<std::string> texts;
  for (const FoundText& line : Page(query).lines) texts.push_back((line.match ? "*" : "") + line.text);
  const std::vector<std::string> expected = {"b", "*hit 1", "c", "*hit 2", "d", "g", "*hit 3"};
  EXPECT_EQ(texts, expected);
  query.newest_first = true;
  texts.clear();
  for (const FoundText& line : Page(query).lines) texts.push_back((line.match ? "*" : "") + line.text);
  EXPECT_EQ(texts, std::vector<std::string>(expected.rbegin(), expected.rend()));
  query.context = kLineContextMax;
  EXPECT_EQ(Page(query).lines.size(), 10u);
  EXPECT_EQ(Page(query).lines.back().offset, 0);
}

TEST_F(LogSearchTest, APageThatMayNotGoOnSaysWhereItStands) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "nothing here\n";
  Write(text + "word\n");
  LineQuery query = For("word");
  query.window_bytes = 130;
  int windows = 0;
  query.go_on = [&windows](std::size_t) { return ++windows <= 3; };
  LinePage page = Page(query);
  EXPECT_FALSE(page.done);
  EXPECT_TRUE(page.lines.empty());
  EXPECT_EQ(page.next, 390);
  EXPECT_EQ(page.searched_bytes, 390);
  query.go_on = nullptr;
  query.offset = page.next;
  page = Page(query);
  EXPECT_TRUE(page.done);
  ASSERT_EQ(page.lines.size(), 1u);
  EXPECT_EQ(page.lines[0].offset, 1300);
  EXPECT_FALSE(SearchLog(LogPath(folder_.path(), 9), query).ok());
}

TEST_F(LogSearchTest, ATextInMemoryIsSearchedLikeALog) {
  const TextLines text("a hit\nnone\nhit", 1000);
  const auto page = SearchLines(text, For("hit"));
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->lines.size(), 2u);
  EXPECT_EQ(page->lines[1].offset, 1011);
  EXPECT_TRUE(page->done);
  EXPECT_TRUE(SearchLines(TextLines("", 7), For("hit"))->done);
}

TEST_F(LogSearchTest, AnOpenLogIsReadWhateverRotationDoes) {
  Write("first\n", {8, 2});
  const auto log = OpenLog::Open(path_);
  ASSERT_TRUE(log.ok());
  Write("second second second second\n", {8, 2});
  std::string text(6, '\0');
  EXPECT_EQ(log->Read(0, text).value(), 6u);
  EXPECT_EQ(text, "first\n");
  EXPECT_FALSE(All(For("first")).size() > 0) << "its file is gone by now";
}

}  // namespace
}  // namespace glim::nodeagent
