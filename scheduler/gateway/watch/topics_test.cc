#include "scheduler/gateway/watch/topics.h"

#include <gtest/gtest.h>

namespace glim::gateway {
namespace {

TEST(Topics, AreReadInOrderAndOnce) {
  const auto topics = ParseTopics("log:812:3,queue,job:812,nodes,queue,events");
  ASSERT_TRUE(topics.ok());
  std::string names;
  for (const Topic& topic : *topics) names += NameOf(topic) + " ";
  EXPECT_EQ(names, "nodes queue job:812 events log:812:3 ");
}

TEST(Topics, WhatIsNoneIsNamed) {
  for (const char* text : {"", "node", "nodes:1", "job", "job:", "job:0", "job:x", "job:1:2", "log:1",
                           "log:1:", "log::1", "log:1:-1", "queue,,nodes", "job:99999999999999999999"}) {
    const auto topics = ParseTopics(text);
    ASSERT_FALSE(topics.ok()) << text;
    EXPECT_EQ(topics.status().field(), "topics");
    EXPECT_EQ(topics.status().reason(), "BAD_FIELD");
  }
}

TEST(Topics, AreBounded) {
  std::string jobs, logs;
  for (std::size_t i = 1; i <= kTopicsMax; ++i) jobs += (i > 1 ? ",job:" : "job:") + std::to_string(i);
  EXPECT_TRUE(ParseTopics(jobs).ok());
  EXPECT_FALSE(ParseTopics(jobs + ",nodes").ok());
  for (std::size_t i = 0; i <= kLogsMax; ++i) logs += (i > 0 ? ",log:1:" : "log:1:") + std::to_string(i);
  EXPECT_FALSE(ParseTopics(logs).ok());
}

TEST(ResumeIds, AreReadAsTheyWereWritten) {
  const ResumeId plain{17, 4, 99, 5, {}};
  const ResumeId with_logs{17, 0, 0, 5, {{812, 0, 2, 4096}, {812, 7, 0, 0}}};
  for (const ResumeId& id : {plain, with_logs}) {
    const auto read = ReadResumeId(WriteResumeId(id));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, id);
  }
}

TEST(ResumeIds, OfOthersAreNone) {
  for (const char* text :
       {"", "7", "1.2.3", "1.2.3.4.5", "1.2.3.x", "1.2.3.4~1.2", "1.2.3.4~1.2.3.-4", "-1.2.3.4", "1.2.3.99999999999"}) {
    const auto id = ReadResumeId(text);
    EXPECT_FALSE(id) << text;
  }
  EXPECT_FALSE(ReadResumeId(std::string(5'000, '1')));
}

}  // namespace
}  // namespace glim::gateway
