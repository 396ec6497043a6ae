#include "nodeagent/task/rank_state.h"

#include <gtest/gtest.h>

namespace glim::nodeagent {
namespace {

Taken Take(RankState& state, const std::string& line) { return TakeIn(state, ParseTaskLine(line)); }

TEST(RankState, ARepeatChangesNothing) {
  RankState state;
  EXPECT_EQ(Take(state, R"({"type":"progress","seq":1,"step":5})"), Taken::kProgress);
  EXPECT_EQ(Take(state, R"({"type":"progress","seq":3,"step":7})"), Taken::kProgress)
      << "a replaced progress leaves a gap";
  EXPECT_EQ(Take(state, R"({"type":"progress","seq":2,"step":6})"), Taken::kRepeat);
  EXPECT_EQ(Take(state, R"({"type":"leaving","seq":3,"agreement":1})"), Taken::kRepeat);
  EXPECT_EQ(state.step, 7);
  EXPECT_EQ(state.seq, 3u);
  EXPECT_FALSE(state.leaving);
}

TEST(RankState, ARefusedMessageCountsAsTakenIn) {
  RankState state;
  EXPECT_EQ(Take(state, R"({"type":"progress","seq":1})"), Taken::kRefused);
  EXPECT_EQ(state.seq, 1u);
  EXPECT_EQ(Take(state, "garbage"), Taken::kRefused);
  EXPECT_EQ(state.seq, 1u);
}

TEST(RankState, AnAnswerToAnOlderAgreementIsNotTakenForTheNewer) {
  RankState state;
  EXPECT_EQ(Take(state, R"({"type":"ack","seq":1,"agreement":2,"hold":20})"), Taken::kChange);
  EXPECT_EQ(Take(state, R"({"type":"ack","seq":2,"agreement":1,"hold":10})"), Taken::kChange);
  EXPECT_EQ(state.acked_agreement, 2u);
  EXPECT_EQ(state.hold, 20);
  EXPECT_EQ(Take(state, R"({"type":"needs","seq":3,"agreement":2,"seconds":9})"), Taken::kChange);
  EXPECT_EQ(Take(state, R"({"type":"needs","seq":4,"agreement":1,"seconds":1})"), Taken::kChange);
  EXPECT_EQ(state.extend_ms, 9000);
  EXPECT_FALSE(state.finished);
  EXPECT_EQ(Take(state, R"({"type":"ack","seq":5,"agreement":3,"finished":true})"), Taken::kChange);
  EXPECT_TRUE(state.finished);
}

TEST(RankState, ASaveSaidTwiceIsOneSave) {
  RankState state;
  for (int i = 1; i <= 3; ++i) {
    const std::string number = std::to_string(i);
    Take(state, R"({"type":"saved","seq":)" + number + R"(,"step":5,"path":"/a","bytes":)" + number + "}");
  }
  ASSERT_EQ(state.saves.size(), 1u);
  EXPECT_EQ(state.saves[0].bytes, 3);
}

TEST(RankState, AFailedRestoreNamesTheSaveAndIsKeptShort) {
  RankState state;
  EXPECT_EQ(Take(state, R"({"type":"restore_failed","seq":1,"step":5,"path":"/c/s","error":"bad checksum"})"),
            Taken::kChange);
  EXPECT_EQ(state.restore_failed, "/c/s: bad checksum");
  Take(state, R"({"type":"restore_failed","seq":2,"step":5,"path":"/c/s","error":"/c/s/shard-0: bad checksum"})");
  EXPECT_EQ(state.restore_failed, "/c/s/shard-0: bad checksum") << "its own words have the path";
  std::string umlauts;
  for (int i = 0; i < 600; ++i) umlauts += "ä";
  Take(state, R"({"type":"restore_failed","seq":3,"step":5,"path":"","error":"x)" + umlauts + "\"}");
  EXPECT_EQ(state.restore_failed.size(), 511u) << "cut at a character's beginning";
}

TEST(RankState, WhoGoesOnAllTheSameHasNotFailed) {
  RankState state;
  Take(state, R"({"type":"restore_failed","seq":1,"step":5,"path":"/c","error":"gone"})");
  Take(state, R"({"type":"restored","seq":2,"step":3})");
  EXPECT_EQ(state.restore_failed, "");
}

TEST(RankState, SavesThatFailAreCountedUntilOneIsMade) {
  RankState state;
  Take(state, R"({"type":"progress","seq":1,"step":41})");
  EXPECT_EQ(Take(state, R"({"type":"save_failed","seq":2,"step":39,"error":"no space"})"), Taken::kChange);
  EXPECT_EQ(Take(state, R"({"type":"save_failed","seq":2,"step":39,"error":"no space"})"), Taken::kRepeat);
  EXPECT_EQ(state.save_failure.step, 39);
  EXPECT_EQ(state.save_failure.count, 1u);
  Take(state, R"({"type":"save_failed","seq":3,"error":"quota"})");
  EXPECT_EQ(state.save_failure.step, 41) << "the last one that it reported";
  EXPECT_EQ(state.save_failure.why, "quota");
  EXPECT_EQ(state.save_failure.count, 2u);
  const auto back = ParseRankStates(ToJson({state}));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(ToJson(*back), ToJson({state}));
  EXPECT_EQ(back->at(0).save_failure.count, 2u) << "it outlives the agent";
  Take(state, R"({"type":"saved","seq":4,"step":41,"path":"/a"})");
  EXPECT_EQ(state.save_failure.count, 0u);
  EXPECT_EQ(ParseRankStates(ToJson({state}))->at(0).save_failure.count, 0u);
}

TEST(RankState, OfAFailedSaveSomeWordsAreKept) {
  RankState state;
  std::string umlauts;
  for (int i = 0; i < 600; ++i) umlauts += "ä";
  Take(state, R"({"type":"save_failed","seq":1,"step":5,"error":"x)" + umlauts + "\"}");
  EXPECT_EQ(state.save_failure.why.size(), 511u) << "cut at a character's beginning";
}

TEST(RankState, WhatAnOlderAgentWroteIsRead) {
  std::string text = ToJson({RankState()});
  const std::string newer = R"("restore_failed":"",)";
  const std::size_t at = text.find(newer);
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_TRUE(ParseRankStates(text.erase(at, newer.size())).ok());
}

// That it has said hello outlives the agent; an older agent wrote of the messages behind it alone.
TEST(RankState, TheHelloIsKept) {
  RankState greeted;
  greeted.greeted = true;
  EXPECT_TRUE(ParseRankStates(ToJson({greeted}))->at(0).greeted);
  EXPECT_FALSE(ParseRankStates(ToJson({RankState()}))->at(0).greeted);
  RankState spoke;
  spoke.seq = 1;
  std::string text = ToJson({spoke});
  const std::string newer = R"("greeted":false,)";
  text.erase(text.find(newer), newer.size());
  EXPECT_TRUE(ParseRankStates(text)->at(0).greeted);
}

TEST(RankState, ComesBackAsItWas) {
  RankState state;
  state.rank = 6;
  const char* lines[] = {R"({"type":"progress","seq":1,"step":41,"step_ms":120})",
                         R"({"type":"ack","seq":2,"agreement":1,"hold":43})",
                         R"({"type":"needs","seq":3,"agreement":1,"seconds":4})",
                         R"({"type":"saved","seq":4,"step":43,"path":"/a","bytes":2,"shard":1,"shards":2})",
                         R"({"type":"restored","seq":5,"step":30,"duration_ms":8})",
                         R"({"type":"finished","seq":6})",
                         R"({"type":"leaving","seq":7,"agreement":0})",
                         R"({"type":"restore_failed","seq":8,"step":30,"path":"/a","error":"gone"})"};
  for (const char* line : lines) Take(state, line);
  const auto back = ParseRankStates(ToJson({RankState(), state}));
  ASSERT_TRUE(back.ok()) << back.status().message();
  ASSERT_EQ(back->size(), 2u);
  const RankState& read = (*back)[1];
  EXPECT_EQ(ToJson({read}), ToJson({state}));
  EXPECT_EQ(read.seq, 8u);
  EXPECT_EQ(read.restore_failed, "/a: gone");
  EXPECT_EQ(read.step, 41);
  EXPECT_EQ(read.saves.at(0).shards, 2u);
  EXPECT_TRUE(read.leaving && read.yielded && read.finished);
  for (const char* text : {"", "{}", "[]", R"({"ranks":[{}]})", R"({"ranks":7})"}) {
    EXPECT_FALSE(ParseRankStates(text).ok()) << text;
  }
}

}  // namespace
}  // namespace glim::nodeagent
