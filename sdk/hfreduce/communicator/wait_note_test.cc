// What a rank says outside of itself while it waits for another, and that it says nothing otherwise.
#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/communicator/testing/ranks.h"
#include "sdk/io/unique_fd.h"

namespace glim::hfreduce {
namespace {

using ::testing::HasSubstr;
using testing::Ranks;
using testing::TestCommunicator;

// What this process says; "none": it has no such file.
std::string OwnNote() {
  DIR* files = ::opendir("/proc/self/fd");
  std::string note = "none";
  while (const dirent* entry = ::readdir(files)) {
    const std::string link = std::string("/proc/self/fd/") + entry->d_name;
    char target[64] = {};
    if (::readlink(link.c_str(), target, sizeof(target) - 1) <= 0) continue;
    if (!std::string(target).starts_with("/memfd:glim-waits")) continue;
    char text[512] = {};
    const UniqueFd file(::open(link.c_str(), O_RDONLY | O_CLOEXEC));
    if (::pread(file.get(), text, sizeof(text) - 1, 0) > 0) note = text;
  }
  ::closedir(files);
  return note;
}

// Its first word beside nothing; as it was, when it says nothing for long.
std::string AwaitNote() {
  std::string note;
  (void)Eventually([&] {
    note = OwnNote();
    return !note.empty() && note != "none";
  });
  return note;
}

// Rank 1 comes late: when rank 0 has said something. Returns what that was, and the note after the operation.
std::string SaidByRank0(const Topology& topology, bool waits, std::size_t bytes = 20'000) {
  int go[2], said[2];
  EXPECT_EQ(::pipe(go), 0);
  EXPECT_EQ(::pipe(said), 0);
  Ranks ranks(topology, TestCommunicator("tcp"), [&](Communicator& all) -> std::string {
    if (const Status met = all.Barrier().Wait(); !met.ok()) return met.message();
    std::vector<std::byte> buffer(bytes);
    if (all.rank() == 1) {
      char byte = 0;
      if (::read(go[0], &byte, 1) != 1) return "nobody said go";
      return all.AllReduce(buffer, buffer, DType::kF32, ReduceOp::kSum).Wait().message();
    }
    std::string note;
    const auto look = [&] {
      note = AwaitNote();
      (void)!::write(go[1], "x", 1);
    };
    Handle handle = all.AllReduce(buffer, buffer, DType::kF32, ReduceOp::kSum);
    std::thread looker;
    if (waits) {
      looker = std::thread(look);
    } else {
      look();
    }
    const Status status = handle.Wait();
    if (looker.joinable()) looker.join();
    note += "|" + OwnNote();
    (void)!::write(said[1], note.data(), note.size());
    return status.message();
  });
  EXPECT_EQ(ranks.WaitAll(), "");
  char text[1024] = {};
  EXPECT_GT(::read(said[0], text, sizeof(text) - 1), 0);
  for (const int end : {go[0], go[1], said[0], said[1]}) ::close(end);
  return text;
}

TEST(WaitNote, BetweenNodesItSaysWhichNodeAndInWhat) {
  for (const bool waits : {false, true}) {
    EXPECT_EQ(SaidByRank0(EvenTopology({2}, 1), waits),
              "hfreduce: waits for node 1 (rank 1) in AllReduce of 5000 fp32 (sum) (operation 2)|");
  }
}

TEST(WaitNote, ANodeThatBothTreesWaitForIsNamedOnce) {
  EXPECT_EQ(SaidByRank0(EvenTopology({2}, 1), true, 16 << 20),
            "hfreduce: waits for node 1 (rank 1) in AllReduce of 4194304 fp32 (sum) (operation 2)|");
}

TEST(WaitNote, OnANodeItSaysWhichRank) {
  for (const bool waits : {false, true}) {
    EXPECT_EQ(SaidByRank0(EvenTopology({1}, 2), waits),
              "hfreduce: rank 1 has not called AllReduce of 5000 fp32 (sum) (operation 2)|");
  }
}

TEST(WaitNote, WhoWaitsForNobodyHasNoFile) {
  Ranks ranks(EvenTopology({2}, 1), TestCommunicator("tcp"), [](Communicator& all) -> std::string {
    std::vector<std::byte> buffer(20'000);
    for (int i = 0; i < 100; ++i) {
      const Status status = all.AllReduce(buffer, buffer, DType::kF32, ReduceOp::kSum).Wait();
      if (!status.ok()) return status.message();
    }
    return OwnNote() == "none" ? "" : "it says: " + OwnNote();
  });
  EXPECT_EQ(ranks.WaitAll(), "");
}

}  // namespace
}  // namespace glim::hfreduce
