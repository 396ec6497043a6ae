// The chain of hashes: what was changed, added or taken away in the middle is named.
#include "scheduler/server/loop/audit_chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace glim::server {
namespace {

using ::testing::HasSubstr;

std::vector<store::AuditRow> Rows(AuditChain& chain, int count) {
  std::vector<store::AuditRow> rows;
  for (int i = 0; i < count; ++i) {
    AuditNote note;
    note.user = "kim";
    note.method = "/glim.v1.ClientApi/Cancel";
    note.object = "job " + std::to_string(i + 1);
    rows.push_back(chain.Next(std::move(note), "ok", TimePoint{1000 + i}));
  }
  return rows;
}

TEST(AuditChain, OfUntouchedRowsHoldsInPagesOfAnySize) {
  AuditChain chain;
  const auto rows = Rows(chain, 5);
  AuditChecker checker;
  EXPECT_TRUE(checker.Check({rows[0], rows[1]}));
  EXPECT_TRUE(checker.Check({}));
  EXPECT_TRUE(checker.Check({rows[2], rows[3], rows[4]}));
  EXPECT_EQ(checker.entries(), 5u);
  EXPECT_EQ(checker.end(), chain.end());
}

TEST(AuditChain, GoesOnWhereTheTrailEnds) {
  AuditChain first;
  auto rows = Rows(first, 2);
  AuditChain second(first.end());
  for (store::AuditRow& row : Rows(second, 2)) rows.push_back(std::move(row));
  EXPECT_EQ(rows.back().seq, 4u);
  EXPECT_TRUE(AuditChecker().Check(rows));
}

// Whatever field of whatever row is changed, and whichever row goes, comes or changes places.
TEST(AuditChain, NamesTheFirstRowThatDoesNotFit) {
  using Rowset = std::vector<store::AuditRow>;
  struct Case {
    const char* what;
    void (*tamper)(Rowset&);
    std::uint64_t broken_at;
  };
  const Case kCases[] = {
      {"user", [](Rowset& r) { r[2].user = "lee"; }, 3},
      {"token", [](Rowset& r) { r[2].token = "x"; }, 3},
      {"peer", [](Rowset& r) { r[2].peer = "x"; }, 3},
      {"method", [](Rowset& r) { r[2].method = "x"; }, 3},
      {"object", [](Rowset& r) { r[2].object = "job 9"; }, 3},
      {"before", [](Rowset& r) { r[2].before = "x"; }, 3},
      {"after", [](Rowset& r) { r[2].after = "x"; }, 3},
      {"outcome", [](Rowset& r) { r[2].outcome = "ROLE"; }, 3},
      {"time", [](Rowset& r) { r[2].at = TimePoint{1}; }, 3},
      {"a field's text moved to the next", [](Rowset& r) { r[2].before.swap(r[2].object); }, 3},
      {"a row made anew", [](Rowset& r) { r[2].user = "lee", r[2].hash = AuditHash(r[1].hash, r[2]); }, 4},
      {"a row taken away", [](Rowset& r) { r.erase(r.begin() + 2); }, 3},
      {"the first taken away", [](Rowset& r) { r.erase(r.begin()); }, 1},
      {"two exchanged", [](Rowset& r) { std::swap(r[1], r[2]); }, 2},
      {"one twice", [](Rowset& r) { r.insert(r.begin() + 2, r[1]); }, 3},
  };
  for (const Case& c : kCases) {
    AuditChain chain;
    auto rows = Rows(chain, 5);
    c.tamper(rows);
    AuditChecker checker;
    EXPECT_FALSE(checker.Check(rows)) << c.what;
    EXPECT_EQ(checker.broken_at(), c.broken_at) << c.what;
    EXPECT_THAT(checker.why(), HasSubstr("row " + std::to_string(c.broken_at))) << c.what;
    EXPECT_EQ(checker.entries(), c.broken_at - 1) << c.what;
  }
}

TEST(AuditChain, BeginsBehindWhatWentByItsAge) {
  AuditChain chain;
  const auto rows = Rows(chain, 5);
  AuditChecker checker({2, rows[1].hash});
  EXPECT_TRUE(checker.Check({rows[2], rows[3], rows[4]}));
  EXPECT_EQ(checker.entries(), 3u);
  EXPECT_FALSE(AuditChecker({2, rows[0].hash}).Check({rows[2]}));
}

// What is taken away at the end leaves a chain that holds: who has kept the last hash sees it.
TEST(AuditChain, ATruncatedEndIsShownByTheLastHash) {
  AuditChain chain;
  auto rows = Rows(chain, 5);
  rows.pop_back();
  AuditChecker checker;
  EXPECT_TRUE(checker.Check(rows));
  EXPECT_NE(checker.end(), chain.end());
}

TEST(AuditChain, StrangersTextIsMadePrintableAndCut) {
  AuditChain chain;
  AuditNote note;
  note.object = "job\n7\xff";
  note.after = std::string(10'000, 'x');
  const store::AuditRow row = chain.Next(note, "ok", TimePoint{1});
  EXPECT_EQ(row.object.find('\n'), std::string::npos);
  EXPECT_EQ(row.object.find('\xff'), std::string::npos);
  EXPECT_EQ(row.after.size(), kAuditFieldMax);
  EXPECT_TRUE(AuditChecker().Check({row}));
}

}  // namespace
}  // namespace glim::server
