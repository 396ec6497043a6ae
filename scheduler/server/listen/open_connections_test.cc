// Who is connected: whose places are whose, who makes room, and who is hung up on.
#include "scheduler/server/listen/open_connections.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/server/listen/listener.h"
#include "sdk/io/unique_fd.h"

namespace glim::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class OpenConnectionsTest : public ::testing::Test {
 protected:
  static constexpr TimePoint kStart{1'000'000};
  using Socket = OpenConnections::Socket;

  void Make(std::size_t of_peer, std::size_t all) {
    OpenConnections::Kernel kernel;
    kernel.is_open = [this](Socket socket) { return ++looks_, !closed_.contains(socket.cookie); };
    kernel.counts = [this](Socket socket) {
      const net::TcpCounts counts{in_[socket.cookie], out_[socket.cookie]};
      return closed_.contains(socket.cookie) ? std::nullopt : std::optional(counts);
    };
    kernel.end = [this](Socket socket) { ended_.push_back(socket.cookie); };
    open_.emplace(ConnectionBounds{of_peer, all}, kernel);
  }
  // One who never shows who they are, and is no stranger.
  bool Take(const std::string& host, int fd, std::uint64_t cookie, TimePoint now = kStart) {
    return open_->Take(host, "", {fd, cookie}, now);
  }
  // A stranger; the descriptor's number is the port's.
  bool TakeStranger(const std::string& host, int port, TimePoint now = kStart) {
    return open_->Take(host, PeerOf(host, port), {port, Cookie(port)}, now);
  }
  static std::string PeerOf(const std::string& host, int port) { return host + ":" + std::to_string(port); }
  static std::uint64_t Cookie(int port) { return 1'000 + static_cast<std::uint64_t>(port); }

  std::optional<OpenConnections> open_;
  std::set<std::uint64_t> closed_;
  std::map<std::uint64_t, std::uint64_t> in_, out_;
  std::vector<std::uint64_t> ended_;
  int looks_ = 0;
};

TEST_F(OpenConnectionsTest, APeerHasSoManyAndAnotherHasRoom) {
  Make(2, 10);
  EXPECT_TRUE(Take("a", 1, 101));
  EXPECT_TRUE(Take("a", 2, 102));
  EXPECT_FALSE(Take("a", 3, 103));
  EXPECT_TRUE(Take("b", 4, 104));
  closed_ = {101};
  EXPECT_TRUE(Take("a", 5, 105, kStart + Seconds(1))) << "one of them is gone";
  EXPECT_FALSE(Take("a", 6, 106, kStart + Seconds(2)));
}

TEST_F(OpenConnectionsTest, AllTogetherHaveSoMany) {
  Make(2, 3);
  EXPECT_TRUE(Take("a", 1, 101));
  EXPECT_TRUE(Take("b", 2, 102));
  EXPECT_TRUE(Take("c", 3, 103));
  EXPECT_FALSE(Take("d", 4, 104));
  const int looks = looks_;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(Take("d", 4, 104, kStart + Milliseconds(50)));
  EXPECT_EQ(looks_, looks) << "a full port is not looked through for each who comes";
  closed_ = {101};
  EXPECT_TRUE(Take("d", 4, 104, kStart + Seconds(1)));
}

// A descriptor that is given out again was closed: nobody needs to look.
TEST_F(OpenConnectionsTest, ADescriptorIsOneConnection) {
  Make(1, 10);
  EXPECT_TRUE(Take("a", 7, 101));
  EXPECT_TRUE(Take("b", 7, 102));
  EXPECT_TRUE(Take("a", 8, 103));
  EXPECT_EQ(open_->count(), 2U);
}

TEST_F(OpenConnectionsTest, WithoutCookiesNobodyIsBounded) {
  Make(1, 1);
  for (int fd = 1; fd < 5; ++fd) EXPECT_TRUE(Take("a", fd, 0));
}

TEST_F(OpenConnectionsTest, TheOldestStrangerMakesRoomAndWhoHasShownWhoTheyAreStays) {
  Make(3, 10);
  for (int port = 1; port <= 3; ++port) EXPECT_TRUE(TakeStranger("a", port));
  EXPECT_EQ(open_->Proven("a:1", "kim"), Cookie(1));
  for (int port = 4; port <= 20; ++port) EXPECT_TRUE(TakeStranger("a", port));
  EXPECT_EQ(open_->count(), 3U);
  EXPECT_THAT(ended_, SizeIs(17));
  EXPECT_THAT(ended_, Not(Contains(Cookie(1))));
  EXPECT_EQ(ended_.front(), Cookie(2)) << "the oldest first";
  open_->Proven("a:19", "lee");
  EXPECT_TRUE(TakeStranger("a", 21)) << "in place of 20";
  open_->Proven("a:21", "max");
  EXPECT_FALSE(TakeStranger("a", 22)) << "all are known";
  EXPECT_EQ(open_->Proven("a:22", "kim"), 0U) << "there is no such connection";
}

TEST_F(OpenConnectionsTest, WhoIsGoneMakesRoomBeforeAStrangerHasTo) {
  Make(2, 10);
  EXPECT_TRUE(TakeStranger("a", 1) && TakeStranger("a", 2));
  open_->Proven("a:2", "kim");
  closed_ = {Cookie(2)};
  EXPECT_TRUE(TakeStranger("a", 3));
  EXPECT_THAT(ended_, IsEmpty());
}

TEST_F(OpenConnectionsTest, OfAllWhoAreConnectedStrangersMakeRoom) {
  Make(5, 4);
  EXPECT_TRUE(TakeStranger("a", 1) && TakeStranger("b", 2) && TakeStranger("c", 3) && TakeStranger("d", 4));
  open_->Proven("a:1", "kim");
  EXPECT_TRUE(TakeStranger("e", 5));
  EXPECT_THAT(ended_, ElementsAre(Cookie(2)));
}

// So one user leaves others of the address room.
TEST_F(OpenConnectionsTest, OneUserHasHalfOfAnAddress) {
  Make(4, 10);
  for (int port = 1; port <= 3; ++port) {
    EXPECT_TRUE(TakeStranger("a", port));
    open_->Proven(PeerOf("a", port), "kim");
  }
  EXPECT_THAT(ended_, ElementsAre(Cookie(1))) << "the oldest";
  EXPECT_TRUE(TakeStranger("a", 4));
  closed_ = {Cookie(2)};
  open_->Proven("a:4", "kim");
  EXPECT_THAT(ended_, SizeIs(1)) << "one of the three is gone by itself";
  EXPECT_TRUE(TakeStranger("a", 5));
  open_->Proven("a:5", "lee");
  EXPECT_THAT(ended_, SizeIs(1)) << "another user";
}

// The row of the user and that of the address go with the last of them.
TEST_F(OpenConnectionsTest, AUsersConnectionsMayAllBeClosedWhenOneMoreHasShownWhoTheyAre) {
  Make(2, 10);
  for (int port = 1; port <= 2; ++port) EXPECT_TRUE(TakeStranger("a", port));
  EXPECT_EQ(open_->Proven("a:1", "kim"), Cookie(1));
  closed_ = {Cookie(1), Cookie(2)};
  EXPECT_EQ(open_->Proven("a:2", "kim"), 0U) << "it is gone, too";
  EXPECT_EQ(open_->count(), 0U);
  EXPECT_THAT(ended_, IsEmpty());
}

// Their refusals are what they are sent.
TEST_F(OpenConnectionsTest, StrangersWhoGoOnBeingRefusedAreEnded) {
  Make(5, 10);
  EXPECT_FALSE(open_->EndGreedyStrangers(kStart)) << "nobody is looked for";
  EXPECT_TRUE(TakeStranger("a", 1) && TakeStranger("a", 2) && TakeStranger("a", 3));
  open_->Proven("a:3", "kim");
  out_ = {{Cookie(1), 4'000}, {Cookie(2), 20'000}, {Cookie(3), 20'000}};
  EXPECT_TRUE(open_->EndGreedyStrangers(kStart));
  EXPECT_THAT(ended_, ElementsAre(Cookie(2)));
  out_[Cookie(1)] = 20'000;
  EXPECT_TRUE(open_->EndGreedyStrangers(kStart + Seconds(10)));
  EXPECT_THAT(ended_, SizeIs(1)) << "who asks now and then may go on";
  open_->End(Cookie(3));
  EXPECT_THAT(ended_, ElementsAre(Cookie(2), Cookie(3)));
  closed_ = {Cookie(1), Cookie(2)};
  EXPECT_TRUE(open_->EndGreedyStrangers(kStart + Seconds(11)));
  EXPECT_FALSE(open_->EndGreedyStrangers(kStart + Seconds(12)));
  EXPECT_EQ(open_->count(), 1U) << "who is gone by itself is forgotten";
}

// Calls of the largest message may come before it is known that their token counts.
TEST_F(OpenConnectionsTest, StrangersWhoSendMoreThanTheirFirstCallsCanBeAreEnded) {
  Make(5, 10);
  EXPECT_TRUE(TakeStranger("a", 1) && TakeStranger("a", 2) && TakeStranger("a", 3));
  open_->Proven("a:3", "kim");
  in_ = {{Cookie(1), 64 << 20}, {Cookie(2), 66 << 20}, {Cookie(3), std::uint64_t{1} << 40}};
  EXPECT_TRUE(open_->EndGreedyStrangers(kStart));
  EXPECT_THAT(ended_, ElementsAre(Cookie(2)));
}

TEST_F(OpenConnectionsTest, StrangersWhoBeginMoreCallsThanStrangersDoAreEnded) {
  Make(5, 10);
  EXPECT_TRUE(TakeStranger("a", 1) && TakeStranger("a", 2) && TakeStranger("a", 3));
  EXPECT_THAT(open_->Strangers(), ElementsAre("a:1", "a:2", "a:3"));
  open_->Proven("a:3", "kim");
  const std::map<std::string, std::uint64_t> begun = {{"a:1", 200}, {"a:2", 400}, {"a:3", 900}, {"a:9", 900}};
  EXPECT_EQ(open_->EndStrangersWhoBegan(begun, kStart + Seconds(60)), 0U) << "a long time";
  EXPECT_EQ(open_->EndStrangersWhoBegan(begun, kStart), 1U);
  EXPECT_THAT(ended_, ElementsAre(Cookie(2)));
}

// gRPC does not tell whose connection it was: who has begun so many, and shown nothing in all this time.
TEST_F(OpenConnectionsTest, AStrangerWhoGoesOnAtTheBoundIsEndedThoughNotMany) {
  Make(5, 10);
  EXPECT_TRUE(TakeStranger("a", 1) && TakeStranger("a", 2) && TakeStranger("a", 3));
  open_->Proven("a:3", "kim");
  EXPECT_TRUE(TakeStranger("a", 4, kStart + Seconds(9)));
  const std::map<std::string, std::uint64_t> begun = {{"a:1", 31}, {"a:2", 33}, {"a:3", 900}, {"a:4", 200}};
  const TimePoint later = kStart + Seconds(10);
  EXPECT_EQ(open_->EndStrangersWhoBegan(begun, later), 0U);
  EXPECT_EQ(open_->EndStrangersWhoBegan(begun, later, 32), 1U);
  EXPECT_THAT(ended_, ElementsAre(Cookie(2))) << "the last has just come, and may show that their token counts";
}

// Nor does one who is ended for going on, some calls a second.
TEST_F(OpenConnectionsTest, WhoIsRefusedWithoutAFloodKeepsNobodyWaiting) {
  Make(100, 100);
  const TimePoint later = kStart + Seconds(10);
  EXPECT_TRUE(TakeStranger("a", 1) && TakeStranger("a", 2));
  for (int port = 11; port <= 18; ++port) EXPECT_TRUE(TakeStranger("a", port, later));
  EXPECT_EQ(open_->EndStrangersWhoBegan({{"a:1", 40}}, later), 0U);
  EXPECT_TRUE(open_->HasTurn(later + Milliseconds(10))) << "nobody floods";
  EXPECT_EQ(open_->EndStrangersWhoBegan({{"a:1", 40}}, later, 40), 1U);
  closed_ = {Cookie(1)};
  EXPECT_TRUE(open_->HasTurn(later + Milliseconds(10)));
}

// The rest waits: each has a turn, and so many at a time can begin something.
TEST_F(OpenConnectionsTest, SoManyStrangersHaveTheirFirstMomentsAtATime) {
  Make(100, 100);
  for (int port = 1; port <= 8; ++port) {
    EXPECT_TRUE(open_->HasTurn(kStart)) << port;
    EXPECT_TRUE(TakeStranger("a", port));
  }
  EXPECT_FALSE(open_->HasTurn(kStart + Milliseconds(5)));
  open_->Proven("a:7", "kim");
  EXPECT_TRUE(open_->HasTurn(kStart + Milliseconds(5))) << "one has shown who they are";
  EXPECT_TRUE(TakeStranger("a", 17, kStart + Milliseconds(5)));
  EXPECT_FALSE(open_->HasTurn(kStart + Milliseconds(5)));
  EXPECT_TRUE(open_->HasTurn(kStart + Milliseconds(10))) << "whoever they are";

  EXPECT_EQ(open_->EndStrangersWhoBegan({{"a:1", 900}}, kStart + Milliseconds(10)), 1U);
  EXPECT_FALSE(open_->HasTurn(kStart + Milliseconds(900))) << "while strangers flood they have longer";
  EXPECT_TRUE(open_->HasTurn(kStart + Milliseconds(1'100)));
}

TEST(ConnectionBounds, UsersAndAgentsLeaveEachOtherRoom) {
  for (const std::size_t descriptors : {std::size_t{1'024}, std::size_t{20'000}, std::size_t{65'536}}) {
    const ConnectionBounds users = UsersConnections(descriptors), agents = AgentsConnections(descriptors);
    EXPECT_LT(users.all + agents.all, descriptors);
    EXPECT_LT(users.of_peer, users.all) << "one host does not take all";
    EXPECT_GE(agents.all, descriptors / 2);
  }
}

// A number is another's as soon as it is closed: closing one more of a file's drops the locks on it.
TEST(RealKernel, LeavesAFileAloneThatHasGotTheNumberOfAConnection) {
  const std::string path = ::testing::TempDir() + "glim-locked-" + std::to_string(::getpid());
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(file);
  struct flock all {};
  all.l_type = F_WRLCK;
  ASSERT_EQ(::fcntl(file.get(), F_SETLK, &all), 0);
  const OpenConnections::Kernel kernel = OpenConnections::RealKernel();
  const OpenConnections::Socket was{file.get(), 123};
  EXPECT_FALSE(kernel.is_open(was));
  EXPECT_FALSE(kernel.counts(was));
  kernel.end(was);
  const pid_t another = ::fork();
  if (another == 0) ::_exit(::fcntl(file.get(), F_GETLK, &all) == 0 && all.l_type == F_WRLCK ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(another, &status, 0), another);
  EXPECT_EQ(status, 0) << "the lock is not there any more";
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace glim::server
