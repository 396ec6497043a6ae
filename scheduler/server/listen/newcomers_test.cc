// Who has a turn at a port, where more come than have one.
#include "scheduler/server/listen/newcomers.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

namespace glim::server {
namespace {

class NewcomersTest : public ::testing::Test {
 protected:
  static constexpr TimePoint kStart{1'000'000};
  // Its other side, which sees when it is hung up on.
  UniqueFd Add(const std::string& host, int port, TimePoint since = kStart) {
    int both[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both), 0);
    waiting_.Add({host, host + ":" + std::to_string(port), 0, UniqueFd(both[0]), since});
    return UniqueFd(both[1]);
  }
  static bool IsHungUpOn(const UniqueFd& other) {
    char byte = 0;
    return ::recv(other.get(), &byte, 1, MSG_DONTWAIT) == 0;
  }
  std::vector<std::string> Turns() {
    std::vector<std::string> peers;
    while (!waiting_.empty()) peers.push_back(waiting_.Next().peer);
    return peers;
  }
  Newcomers waiting_;
};

TEST_F(NewcomersTest, AddressesHaveTurnsAndOfAnAddressWhoCameFirst) {
  for (int port = 1; port <= 4; ++port) Add("a", port);
  Add("b", 5);
  Add("c", 6);
  EXPECT_EQ(Turns(), (std::vector<std::string>{"a:1", "b:5", "c:6", "a:2", "a:3", "a:4"}));
  Add("a", 7);
  Add("b", 8);
  EXPECT_EQ(Turns(), (std::vector<std::string>{"b:8", "a:7"})) << "it was a's turn";
}

// A burst of one address waits in the kernel's queue, and loses nobody.
TEST_F(NewcomersTest, AreFullAsLongAsTurnsComeSoon) {
  std::vector<UniqueFd> others;
  for (int port = 1; port <= 64; ++port) {
    EXPECT_FALSE(waiting_.IsFull(kStart));
    others.push_back(Add("a", port));
  }
  EXPECT_TRUE(waiting_.IsFull(kStart + Milliseconds(999)));
  waiting_.Next();
  EXPECT_FALSE(waiting_.IsFull(kStart));
  for (std::size_t i = 1; i < others.size(); ++i) EXPECT_FALSE(IsHungUpOn(others[i]));
}

// Behind them in the kernel's queue may be another.
TEST_F(NewcomersTest, WhoFillsThemForLongMakesRoom) {
  std::vector<UniqueFd> others;
  for (int port = 1; port <= 64; ++port) others.push_back(Add("a", port));
  EXPECT_FALSE(waiting_.IsFull(kStart + Seconds(1)));
  const UniqueFd b = Add("b", 65, kStart + Seconds(1));
  EXPECT_TRUE(IsHungUpOn(others.back())) << "the last of those who have most";
  EXPECT_FALSE(IsHungUpOn(others.front()) || IsHungUpOn(b));
  EXPECT_EQ(waiting_.Next().peer, "a:1");
  EXPECT_EQ(waiting_.Next().peer, "b:65");
}

}  // namespace
}  // namespace glim::server
