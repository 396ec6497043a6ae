#include "nodeagent/os/root_sockets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {
namespace {

namespace fs = std::filesystem;

class RootSocketsTest : public testing::Test {
 protected:
  RootSocketsTest() {
    char name[] = "/tmp/glim-proc-XXXXXX";
    proc_ = ::mkdtemp(name);
    fs::create_directories(proc_ + "/net");
    std::ofstream(proc_ + "/net/unix") << "Num       RefCount Protocol Flags    Type St Inode Path\n"
                                          "0000: 00000002 00000000 00010000 0001 01 100 @/containerd-shim/a\n"
                                          "0000: 00000002 00000000 00010000 0001 01 101 /run/file.sock\n"
                                          "0000: 00000003 00000000 00000000 0001 03 102 @connected\n"
                                          "0000: 00000002 00000000 00010000 0005 01 103 @a user's\n"
                                          "0000: 00000002 00000000 00010000 0001 01 104 @with blank\n"
                                          "torn\n";
  }
  ~RootSocketsTest() override { fs::remove_all(proc_); }

  void Process(const std::string& pid, int uid, const std::string& inode) const {
    const std::string folder = proc_ + "/" + pid;
    fs::create_directories(folder + "/fd");
    const std::string id = std::to_string(uid);
    std::ofstream(folder + "/status") << "Name:\tx\nUid:\t" << id << "\t" << id << "\t" << id << "\t" << id
                                      << "\nGid:\t0\n";
    fs::create_symlink("socket:[" + inode + "]", folder + "/fd/3");
    fs::create_symlink("/dev/null", folder + "/fd/0");
  }
  std::string proc_;
};

TEST_F(RootSocketsTest, AreThoseThatRootsProcessesListenOnWithoutAFile) {
  Process("1", 0, "100");
  Process("2", 0, "101");
  Process("3", 0, "102");
  Process("4", 1000, "103");
  Process("5", 0, "104");
  Process("6", 0, "100");  // a child that has it, too
  fs::create_directories(proc_ + "/self");
  EXPECT_THAT(RootsAbstractSockets(proc_), testing::ElementsAre("/containerd-shim/a", "with blank"));
}

TEST_F(RootSocketsTest, AreNoneWhereNothingCanBeRead) {
  EXPECT_THAT(RootsAbstractSockets(proc_ + "/none"), testing::IsEmpty());
}

TEST(RootSockets, AreToldInFewAndSafeWords) {
  const std::vector<std::string> names = {"plain", "line\nfeed \x1b[2J", std::string(300, 'x')};
  EXPECT_THAT(ReadSocketLines(ToSocketLines(names)),
              testing::ElementsAre("plain", "line?feed??[2J", std::string(108, 'x')));
  EXPECT_EQ(ReadSocketLines(ToSocketLines(std::vector<std::string>(100, "x"))).size(), 32u);
}

// The real ones, of this process: root's where the test is.
TEST(RootSockets, OfThisProcessAreThereAsLongAsItListens) {
  const std::string name = "glim-test-" + std::to_string(::getpid());
  const auto is_found = [&] {
    const auto all = RootsAbstractSockets();
    return std::find(all.begin(), all.end(), name) != all.end();
  };
  {
    const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_FALSE(is_found()) << "it does not listen yet";
    ASSERT_EQ(::listen(fd.get(), 1), 0);
    EXPECT_EQ(is_found(), ::geteuid() == 0);
  }
  EXPECT_FALSE(is_found());
}

}  // namespace
}  // namespace glim::nodeagent
