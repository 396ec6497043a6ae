#include "nodeagent/task/task_message.h"

#include <gtest/gtest.h>

#include "sdk/base/rng.h"

namespace glim::nodeagent {
namespace {

template <typename T>
T As(const std::string& line, std::uint64_t seq = 1) {
  const TaskMessage message = ParseTaskLine(line);
  EXPECT_EQ(message.seq, seq) << line;
  const T* body = std::get_if<T>(&message.body);
  if (const auto* refused = std::get_if<RefusedMessage>(&message.body)) ADD_FAILURE() << line << ": " << refused->error;
  return body ? *body : T();
}

TEST(TaskMessage, EachKindIsRead) {
  const auto hello = As<HelloMessage>(R"({"type":"hello","protocol":2,"rank":3,"pid":99,"sdk":"python 1"})", 0);
  EXPECT_EQ(hello.protocol, 2u);
  EXPECT_EQ(hello.rank, 3u);
  EXPECT_EQ(hello.pid, 99);
  EXPECT_EQ(hello.sdk, "python 1");
  const auto progress = As<ProgressMessage>(R"({"type":"progress","seq":1,"step":41,"step_ms":120.6})");
  EXPECT_EQ(progress.step, 41);
  EXPECT_EQ(progress.step_ms, 121);
  EXPECT_EQ(As<ProgressMessage>(R"({"seq":1,"step":-1,"type":"progress"})").step, -1);
  EXPECT_EQ(As<ProgressMessage>(R"({"type":"progress","seq":1,"step":7.0})").step, 7);
  const auto ack = As<AckMessage>(R"({"type":"ack","seq":1,"agreement":2,"hold":44})");
  EXPECT_EQ(ack.agreement, 2u);
  EXPECT_EQ(ack.hold, 44);
  EXPECT_FALSE(ack.finished);
  EXPECT_TRUE(As<AckMessage>(R"({"type":"ack","seq":1,"agreement":2,"finished":true})").finished);
  EXPECT_EQ(As<NeedsMessage>(R"({"type":"needs","seq":1,"agreement":2,"seconds":1.5})").extend_ms, 1500);
  const auto saved = As<SavedMessage>(
      R"({"type":"saved","seq":1,"step":9,"path":"/a/ä","bytes":5,"shard":1,"shards":2,"duration_ms":3,"more":[1]})");
  EXPECT_EQ(saved.step, 9);
  EXPECT_EQ(saved.path, "/a/ä");
  EXPECT_EQ(saved.bytes, 5);
  EXPECT_EQ(saved.shard, 1u);
  EXPECT_EQ(saved.shards, 2u);
  EXPECT_EQ(saved.duration_ms, 3);
  EXPECT_EQ(As<SavedMessage>(R"({"type":"saved","seq":1,"step":9,"path":"/a"})").shards, 1u);
  EXPECT_EQ(As<RestoredMessage>(R"({"type":"restored","seq":1,"step":9,"duration_ms":70})").duration_ms, 70);
  const auto failed =
      As<RestoreFailedMessage>(R"({"type":"restore_failed","seq":1,"step":9,"path":"/a/ä","error":"bad checksum"})");
  EXPECT_EQ(failed.step, 9);
  EXPECT_EQ(failed.path, "/a/ä");
  EXPECT_EQ(failed.error, "bad checksum");
  EXPECT_EQ(As<RestoreFailedMessage>(R"({"type":"restore_failed","seq":1,"step":-1,"path":"","error":"?"})").step, -1);
  const auto unsaved = As<SaveFailedMessage>(R"({"type":"save_failed","seq":1,"step":9,"error":"no space left"})");
  EXPECT_EQ(unsaved.step, 9);
  EXPECT_EQ(unsaved.error, "no space left");
  EXPECT_EQ(As<SaveFailedMessage>(R"({"type":"save_failed","seq":1,"error":"?"})").step, -1);
  EXPECT_EQ(As<LeavingMessage>(R"({"type":"leaving","seq":1,"agreement":0})").agreement, 0u);
  As<FinishedMessage>(R"({"type":"finished","seq":18014398509481984})", 18014398509481984u);
}

TEST(TaskMessage, WhatDoesNotFitIsRefusedWithTheField) {
  struct Case {
    std::string line;
    std::uint64_t seq;
    std::string said;
  };
  const Case cases[] = {
      {"", 0, "not a JSON object"},
      {"nonsense", 0, "not a JSON object"},
      {"[1]", 0, "not a JSON object"},
      {"{\"type\":\"progress\",\"seq\":1,\"step\":\"\xff\"}", 0, "not a JSON object in UTF-8"},
      {R"({"seq":4})", 4, "type: is missing"},
      {R"({"type":7,"seq":4})", 4, "type: must be a string"},
      {R"({"type":"dance","seq":4})", 4, "type: must be hello, progress"},
      {R"({"type":"progress","step":1})", 0, "seq: is missing"},
      {R"({"type":"progress","seq":0,"step":1})", 0, "seq: must be a whole number"},
      {R"({"type":"progress","seq":-1,"step":1})", 0, "seq: must be a whole number"},
      {R"({"type":"progress","seq":1.5,"step":1})", 0, "seq: must be a whole number"},
      {R"({"type":"progress","seq":99999999999999999999,"step":1})", 0, "seq: must be a whole number"},
      {R"({"type":"progress","seq":4})", 4, "step: is missing"},
      {R"({"type":"progress","seq":4,"step":null})", 4, "step: is missing"},
      {R"({"type":"progress","seq":4,"step":-2})", 4, "step: must be a whole number from -1"},
      {R"({"type":"progress","seq":4,"step":9007199254740993})", 4, "step: must be"},
      {R"({"type":"progress","seq":4,"step":1,"step_ms":-1})", 4, "step_ms: must be a number"},
      {R"({"type":"progress","seq":4,"step":1,"step_ms":"fast"})", 4, "step_ms: must be a number"},
      {R"({"type":"ack","seq":4,"agreement":1})", 4, "hold: is missing"},
      {R"({"type":"ack","seq":4,"hold":1})", 4, "agreement: is missing"},
      {R"({"type":"ack","seq":4,"agreement":0,"hold":1})", 4, "agreement: must be"},
      {R"({"type":"ack","seq":4,"agreement":1,"finished":"yes"})", 4, "finished: must be true or false"},
      {R"({"type":"needs","seq":4,"agreement":1,"seconds":1e300})", 4, "seconds: must be a number"},
      {R"({"type":"saved","seq":4,"step":-1,"path":"/a"})", 4, "step: must be"},
      {R"({"type":"saved","seq":4,"step":1})", 4, "path: is missing"},
      {R"({"type":"saved","seq":4,"step":1,"path":"/a","shard":2,"shards":2})", 4, "shard: must be less than shards"},
      {R"({"type":"saved","seq":4,"step":1,"path":"/a","shards":1000001})", 4, "from 1 to 1000000"},
      {R"({"type":"saved","seq":4,"step":1,"path":")" + std::string(5000, 'x') + "\"}", 4, "path: must be a string of"},
      {R"({"type":"restore_failed","seq":4,"step":1,"path":"/a"})", 4, "error: is missing"},
      {R"({"type":"restore_failed","seq":4,"step":1,"path":"/a","error":""})", 4, "error: must be a reason in words"},
      {R"({"type":"restore_failed","seq":4,"step":1,"error":"x"})", 4, "path: is missing"},
      {R"({"type":"save_failed","seq":4,"step":1})", 4, "error: is missing"},
      {R"({"type":"save_failed","seq":4,"step":1,"error":""})", 4, "error: must be a reason in words"},
      {R"({"type":"save_failed","seq":4,"step":-2,"error":"x"})", 4, "step: must be a whole number"},
      {R"({"type":"hello","protocol":2})", 0, "rank: is missing"},
      {R"({"type":"leaving","seq":4,"agreement":4294967296})", 4, "agreement: must be"},
      {"{\"type\":\"finished\",\"seq\":4,\"x\":\"" + std::string(70'000, 'x') + "\"}", 0, "longer than 64 KiB"},
      {std::string(60'000, '['), 0, "not a JSON object"},
  };
  for (const Case& c : cases) {
    const TaskMessage message = ParseTaskLine(c.line);
    EXPECT_EQ(message.seq, c.seq) << c.line.substr(0, 100);
    const auto* refused = std::get_if<RefusedMessage>(&message.body);
    ASSERT_TRUE(refused) << c.line.substr(0, 100);
    EXPECT_NE(refused->error.find(c.said), std::string::npos) << c.line.substr(0, 100) << " -> " << refused->error;
  }
}

TEST(TaskMessage, GarbageNeverDoesHarm) {
  const std::string seeds[] = {R"({"type":"saved","seq":1,"step":9,"path":"/a","bytes":5,"shard":1,"shards":2})",
                               R"({"type":"ack","seq":1,"agreement":2,"hold":44})",
                               R"({"type":"hello","protocol":2,"rank":3,"pid":99,"sdk":"python 1"})"};
  Rng rng(7);
  int refused = 0;
  for (int i = 0; i < 30'000; ++i) {
    std::string line = seeds[rng.Next() % 3];
    for (std::int64_t edits = rng.Between(1, 6); edits > 0 && !line.empty(); --edits) {
      const auto at = static_cast<std::size_t>(rng.Between(0, static_cast<std::int64_t>(line.size()) - 1));
      switch (rng.Next() % 4) {
        case 0: line[at] = static_cast<char>(rng.Next()); break;
        case 1: line.erase(at, static_cast<std::size_t>(rng.Between(1, 8))); break;
        case 2: line.insert(at, static_cast<std::size_t>(rng.Between(1, 20)), "9-.e\"{[,"[rng.Next() % 8]); break;
        default: line.insert(at, line.substr(0, at)); break;
      }
      if (line.size() > 200'000) line.resize(200'000);
    }
    const TaskMessage message = ParseTaskLine(line);
    const auto* error = std::get_if<RefusedMessage>(&message.body);
    refused += error ? 1 : 0;
    if (error) {
      ASSERT_FALSE(error->error.empty()) << line;
    }
  }
  EXPECT_GT(refused, 10'000);
}

}  // namespace
}  // namespace glim::nodeagent
