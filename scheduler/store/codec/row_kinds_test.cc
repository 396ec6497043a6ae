#include "scheduler/store/codec/row_kinds.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "scheduler/store/codec/state_loader.h"

namespace glim::store {
namespace {

template <typename Id>
void ComesBack(const Id& id, const std::string& text) {
  EXPECT_EQ(KeyText(id), text);
  Id back{};
  EXPECT_TRUE(ReadKey(text, back)) << text;
  EXPECT_EQ(back, id) << text;
}

TEST(RowKinds, KeysAreReadAsTheyAreWritten) {
  ComesBack(core::JobId(42), "42");
  ComesBack(core::NodeId(7), "7");
  ComesBack(core::AttemptId{core::JobId(42), 3}, "42.3");
  ComesBack(core::TaskId{{core::JobId(42), 3}, 0}, "42.3.0");
  ComesBack(core::ShareId{"vision", "kim"}, "vision/kim");
  ComesBack(core::ShareId{"", ""}, "/");
  ComesBack(core::ShareId{"", "domain/kim \"x\""}, "/domain/kim \"x\"");
  ComesBack(core::LifeTableId{3, "kim", 4, 90}, "3/4/90/kim");
  ComesBack(core::LifeTableId{0, "", 0, 0}, "0/0/0/");
  ComesBack(std::string("week 9"), "week 9");
}

TEST(RowKinds, WhatIsNoKeyIsRefused) {
  core::JobId job;
  core::TaskId task;
  core::ShareId share;
  core::LifeTableId table;
  for (const char* text : {"", "x", "1x", "1.2", "99999999999999999999"}) EXPECT_FALSE(ReadKey(text, job)) << text;
  for (const char* text : {"", "1", "1.2", "1.2.", "1.2.3.4", "1/2/3"}) EXPECT_FALSE(ReadKey(text, task)) << text;
  EXPECT_FALSE(ReadKey("vision", share));
  for (const char* text : {"", "1/2/3", "300/1/1/x"}) EXPECT_FALSE(ReadKey(text, table)) << text;
}

TEST(RowKinds, NoNameIsGivenToTwoKinds) {
  const auto kinds = StateLoader::Kinds();
  EXPECT_EQ(std::set(kinds.begin(), kinds.end()).size(), kinds.size());
}

TEST(RowKinds, AKindThatThisProgramDoesNotKnowIsANewerOnes) {
  EXPECT_TRUE(StateLoader::CheckKind("job").ok());
  const Status status = StateLoader::CheckKind("later_kind");
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.reason(), "STORE_TOO_NEW");
  EXPECT_EQ(status.message(),
            "the database has rows of kind later_kind, which this scheduler does not know: a newer one wrote it");
}

}  // namespace
}  // namespace glim::store
