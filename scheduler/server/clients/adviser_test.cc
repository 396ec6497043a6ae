// The adviser's thread: in order, some questions a user, a bound on all, and no question without an answer.
#include "scheduler/server/clients/adviser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <vector>

namespace glim::server {
namespace {

// A question that is being answered until it is let go.
struct Held {
  std::promise<void> begun, go;
  std::promise<Status> answer;
  Adviser::Task Task() {
    return {[this] {
              begun.set_value();
              go.get_future().wait();
              return Status::Ok();
            },
            [this](const Status& status) { answer.set_value(status); }};
  }
};

TEST(Adviser, AnswersWithWhatTheWorkFound) {
  Adviser adviser;
  std::promise<Status> answer;
  ASSERT_TRUE(adviser
                  .Post("kim", "p",
                        {[] { return InvalidArgument("nodes", "too many"); },
                         [&](const Status& status) { answer.set_value(status); }})
                  .ok());
  EXPECT_EQ(answer.get_future().get().field(), "nodes");
}

TEST(Adviser, AUsersQuestionsWaitForEachOtherUpToABound) {
  Adviser adviser;
  Held held;
  ASSERT_TRUE(adviser.Post("kim", "p", held.Task()).ok());
  held.begun.get_future().wait();
  const auto nothing = [] { return Status::Ok(); };
  std::atomic<int> answered = 0;
  for (std::size_t i = 1; i < Adviser::kOfUserMax; ++i) {
    EXPECT_TRUE(adviser.Post("kim", "p", {nothing, [&](const Status& status) { answered += status.ok(); }}).ok());
  }
  const Status refused = adviser.Post("kim", "p", {nothing, [](const Status&) { ADD_FAILURE() << "it was refused"; }});
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.reason(), "OVERLOADED");
  EXPECT_THAT(refused.message(), ::testing::HasSubstr("kim"));
  std::promise<void> others, again;
  EXPECT_TRUE(adviser.Post("lee", "p", {nothing, [&](const Status&) { others.set_value(); }}).ok());
  held.go.set_value();
  EXPECT_TRUE(held.answer.get_future().get().ok());
  others.get_future().wait();
  EXPECT_TRUE(adviser.Post("kim", "p", {nothing, [&](const Status&) { again.set_value(); }}).ok());
  again.get_future().wait();
  EXPECT_EQ(answered, static_cast<int>(Adviser::kOfUserMax) - 1) << "in order: before the last one";
}

TEST(Adviser, IsBoundedAndRefusesTheRestWhenItStops) {
  Adviser adviser;
  Held held;
  ASSERT_TRUE(adviser.Post("first", "p", held.Task()).ok());
  held.begun.get_future().wait();
  std::atomic<int> refused = 0;
  const auto wait = [&](std::size_t user) {
    return adviser.Post("u" + std::to_string(user), "p" + std::to_string(user % 4),
                        {[] { return Status::Ok(); },
                         [&](const Status& status) { refused += status.code() == StatusCode::kUnavailable; }});
  };
  for (std::size_t i = 0; i < Adviser::kWaitingMax; ++i) EXPECT_TRUE(wait(i).ok());
  EXPECT_EQ(wait(Adviser::kWaitingMax).reason(), "OVERLOADED");
  std::thread stop([&] { adviser.Stop(); });
  // Stop has taken the queue when a post is refused for that.
  while (wait(Adviser::kWaitingMax + 1).code() != StatusCode::kUnavailable) std::this_thread::yield();
  held.go.set_value();
  stop.join();
  EXPECT_TRUE(held.answer.get_future().get().ok()) << "what was begun is answered";
  EXPECT_EQ(refused, static_cast<int>(Adviser::kWaitingMax));
}

// Names are free to be made up: a peer does not get all the places by many of them.
TEST(Adviser, APeerHasItsPlacesAndLeavesOthers) {
  Adviser adviser;
  Held held;
  ASSERT_TRUE(adviser.Post("first", "elsewhere", held.Task()).ok());
  held.begun.get_future().wait();
  const auto ask = [&](const std::string& user, const std::string& peer) {
    return adviser.Post(user, peer, {[] { return Status::Ok(); }, [](const Status&) {}});
  };
  for (std::size_t i = 0; i < Adviser::kOfPeerMax; ++i) ASSERT_TRUE(ask("u" + std::to_string(i), "flood").ok());
  EXPECT_THAT(ask("one-more", "flood").message(), ::testing::HasSubstr("peer flood has as many"));
  EXPECT_TRUE(ask("kim", "other").ok());
  held.go.set_value();
  held.answer.get_future().wait();
}

}  // namespace
}  // namespace glim::server
