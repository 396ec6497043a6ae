#include "sdk/hfreduce/node/segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>

#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/node/numa.h"
#include "sdk/hfreduce/node/process_identity.h"
#include "sdk/hfreduce/node/testing/forked.h"

namespace glim::hfreduce {
namespace {

using testing::Forked;
using testing::OpenDescriptors;
using testing::SegmentFilesOf;
using testing::TestOptions;

// Processes that have joined the segment of this test; 0 while it has no name.
std::uint32_t JoinedTo(const std::string& test) {
  const int fd = ::open(("/dev/shm/" + TestOptions(1, 0, test).name).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  std::uint32_t joined = 0;
  const bool read = ::pread(fd, &joined, sizeof(joined), offsetof(SegmentHeader, joined)) == sizeof(joined);
  ::close(fd);
  return read ? joined : 0;
}

TEST(ProcessIdentity, NamesALivingProcessOnly) {
  const ProcessIdentity self = ThisProcess();
  EXPECT_EQ(self.pid, ::getpid());
  EXPECT_TRUE(IsAlive(self));
  EXPECT_FALSE(IsAlive({self.pid, self.start_ticks + 1})) << "another process had the pid";
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_FALSE(IsAlive({child, self.start_ticks})) << "a zombie";
  ::waitpid(child, nullptr, 0);
}

TEST(Numa, AdviceNeverFails) {
  EXPECT_GE(NumaNodes(), 1);
  InterleaveOverNumaNodes(nullptr, 4096);
  PreferNumaNode(nullptr, 4096, 0);
  PreferNumaNode(nullptr, 4096, -1);
}

TEST(Segment, EveryProcessReadsTheOthersBuffersAndItsNameIsGone) {
  for (std::uint32_t ranks = 1; ranks <= 8; ++ranks) {
    Forked processes(ranks, [ranks](std::uint32_t rank) -> std::string {
      auto segment = Segment::Open(TestOptions(ranks, rank, "buffers"));
      if (!segment.ok()) return segment.status().message();
      // One rank removes it; another that comes to it meanwhile does not wait.
      if (!Eventually([] { return SegmentFilesOf("buffers").empty(); })) return "the name is still there";
      const auto small = (*segment)->Allocate(100);
      const auto buffer = (*segment)->Allocate(3'000'001);
      if (!small.ok() || !buffer.ok()) return "no memory";
      if (small->data() + small->size() > buffer->data()) return "buffers overlap";
      std::memset(buffer->data(), static_cast<int>(rank + 1), buffer->size());
      const auto offset = (*segment)->OffsetOf(buffer->data(), buffer->size());
      if (!offset) return "not in the segment";
      (*segment)->own().descriptors[0].in_offset = *offset;
      (*segment)->own().posted.Set(1);
      for (std::uint32_t other = 0; other < ranks; ++other) {
        RankState& state = (*segment)->rank(other);
        if (!Eventually([&] { return state.posted.Get() == 1; })) return "rank did not post";
        const std::byte* theirs = (*segment)->At(state.descriptors[0].in_offset, 3'000'001);
        if (theirs == nullptr || theirs[0] != std::byte(other + 1) || theirs[3'000'000] != std::byte(other + 1)) {
          return "not what " + std::to_string(other) + " wrote";
        }
        state.taken[0].value.fetch_add(1);
      }
      Eventually([&] { return (*segment)->own().taken[0].Get() == ranks; });
      return "";
    });
    EXPECT_EQ(processes.WaitAll(), "") << ranks;
  }
  EXPECT_TRUE(SegmentFilesOf("buffers").empty());
}

TEST(Segment, RangesOutsideTheArenasAreNotInIt) {
  auto segment = Segment::Open(TestOptions(1, 0, "ranges"));
  ASSERT_TRUE(segment.ok()) << segment.status().message();
  int local = 0;
  EXPECT_FALSE((*segment)->OffsetOf(&local, sizeof(local)));
  EXPECT_FALSE((*segment)->OffsetOf(&(*segment)->header(), 8)) << "the head is no buffer";
  const auto buffer = (*segment)->Allocate(4096);
  ASSERT_TRUE(buffer.ok());
  const std::uint64_t offset = (*segment)->OffsetOf(buffer->data(), 4096).value();
  EXPECT_EQ((*segment)->At(offset, 4096), buffer->data());
  EXPECT_EQ((*segment)->At(offset, ~std::size_t{0}), nullptr);
  EXPECT_EQ((*segment)->At(0, 8), nullptr);
  EXPECT_EQ((*segment)->At(~std::uint64_t{0} - 4, 8), nullptr);
  EXPECT_EQ((*segment)->Allocate(std::size_t{16} << 20).status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE((*segment)->Allocate((16 << 20) - 4096).ok() || (*segment)->Allocate(8 << 20).ok());
}

TEST(Segment, ALeftoverOfAKilledRunIsReplaced) {
  Forked killed(1, [](std::uint32_t) { return Segment::Open(TestOptions(2, 0, "leftover")).status().message(); });
  ASSERT_TRUE(Eventually([] { return SegmentFilesOf("leftover").size() == 1; }));
  killed.Signal(0, SIGKILL);
  EXPECT_EQ(killed.Wait(0), "signal 9");
  ASSERT_EQ(SegmentFilesOf("leftover").size(), 1u);
  Forked processes(
      2, [](std::uint32_t rank) { return Segment::Open(TestOptions(2, rank, "leftover")).status().message(); });
  EXPECT_EQ(processes.WaitAll(), "");
  EXPECT_TRUE(SegmentFilesOf("leftover").empty());
}

TEST(Segment, TheOthersRemoveWhatAKilledLeaderLeft) {
  Forked processes(3, [](std::uint32_t rank) -> std::string {
    return Segment::Open(TestOptions(4, rank, "killed-leader")).status().message();  // the fourth never comes
  });
  ASSERT_TRUE(Eventually([] { return JoinedTo("killed-leader") == 3; }));
  const pid_t leader = processes.pid(0);
  processes.Signal(0, SIGKILL);
  EXPECT_EQ(processes.Wait(0), "signal 9");
  for (std::uint32_t rank : {1u, 2u}) {
    EXPECT_EQ(processes.Wait(rank), "rank 0 (process " + std::to_string(leader) + ") died");
  }
  EXPECT_TRUE(SegmentFilesOf("killed-leader").empty());
}

TEST(Segment, WhoIsMissingIsNamed) {
  const Duration timeout = Slower(Milliseconds(1500));  // long enough for who does come
  Forked processes(2, [timeout](std::uint32_t rank) {
    SegmentOptions options = TestOptions(4, rank * 2, "missing");
    options.first_rank = 8;
    options.timeout = timeout;
    return Segment::Open(options).status().message();
  });
  EXPECT_EQ(processes.Wait(0), "not on the node within " + std::to_string(timeout.ms) + " ms: rank 9, rank 11");
  EXPECT_NE(processes.Wait(1).find("rank 9, rank 11"), std::string::npos);
  EXPECT_TRUE(SegmentFilesOf("missing").empty());
}

TEST(Segment, ProcessesThatWereGivenDifferentThingsAreNamed) {
  Forked processes(2, [](std::uint32_t rank) {
    SegmentOptions options = TestOptions(2, rank, "options");
    if (rank == 1) options.stage_bytes *= 2;
    return Segment::Open(options).status().message();
  });
  const std::string expected = "rank 1 was given stage_bytes 262144, rank 0 131072";
  EXPECT_EQ(processes.Wait(0), expected);
  EXPECT_EQ(processes.Wait(1), expected);
  EXPECT_TRUE(SegmentFilesOf("options").empty());
}

TEST(Segment, TwoProcessesWithOneRankAreFound) {
  Forked processes(3, [](std::uint32_t process) -> std::string {
    SegmentOptions options = TestOptions(3, process == 2 ? 1 : process, "twice");
    options.timeout = Slower(Milliseconds(1500));  // for rank 2, which nobody is
    const Status status = Segment::Open(options).status();
    return status.code() == StatusCode::kAlreadyExists ? "found" : "waited for rank 2";
  });
  EXPECT_EQ(processes.Wait(0), "waited for rank 2");
  const std::string first = processes.Wait(1);
  EXPECT_EQ(first == "found" ? "waited for rank 2" : "found", processes.Wait(2)) << "the other said " << first;
  EXPECT_TRUE(SegmentFilesOf("twice").empty());
}

TEST(Segment, AnotherSessionsSegmentIsNotJoined) {
  Forked other(1, [](std::uint32_t) { return Segment::Open(TestOptions(2, 0, "session")).status().message(); });
  ASSERT_TRUE(Eventually([] { return SegmentFilesOf("session").size() == 1; }));
  SegmentOptions options = TestOptions(2, 1, "session");
  options.session = 2;
  options.timeout = Milliseconds(200);
  EXPECT_EQ(Segment::Open(options).status().code(), StatusCode::kDeadlineExceeded);
  options.local_rank = 0;
  const Status taken = Segment::Open(options).status();
  EXPECT_EQ(taken.code(), StatusCode::kAlreadyExists);
  EXPECT_NE(taken.message().find("process " + std::to_string(other.pid(0))), std::string::npos) << taken.message();
  SegmentOptions first = TestOptions(2, 1, "session");
  EXPECT_TRUE(Segment::Open(first).ok()) << "the run that has the name is not disturbed";
  EXPECT_EQ(other.Wait(0), "");
}

TEST(Segment, ACompleteStrangerUnderItsNameIsRefused) {
  const std::string path = "/dev/shm/" + TestOptions(1, 0, "stranger").name;
  const int fd = ::creat(path.c_str(), 0600);
  ASSERT_GE(fd, 0);
  ::close(fd);
  const Status status = Segment::Open(TestOptions(1, 0, "stranger")).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.message();
  EXPECT_EQ(status.fix(), "remove " + path);
  EXPECT_TRUE(std::filesystem::exists(path)) << "it may be somebody's";
  std::filesystem::remove(path);
}

TEST(Segment, AFullFolderIsAnErrorAndNoSignal) {
  Forked process(1, [](std::uint32_t) -> std::string {
    const std::string folder = "/tmp/hfreduce-full-" + std::to_string(::getpid());
    ::mkdir(folder.c_str(), 0700);
    if (::unshare(::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", folder.c_str(), "tmpfs", 0, "size=1m") != 0) {
      ::rmdir(folder.c_str());
      return "this test must be allowed to mount";
    }
    SegmentOptions options = TestOptions(1, 0, "full");
    options.folder = folder;
    options.stage_bytes = 4 << 20;
    std::string wrong;
    {
      auto segment = Segment::Open(options);
      if (!segment.ok()) {
        wrong = segment.status().message();
      } else {
        if ((*segment)->Allocate(2 << 20).status().code() != StatusCode::kResourceExhausted) wrong += "allocated, ";
        if ((*segment)->ReserveStage().code() != StatusCode::kResourceExhausted) wrong += "staged, ";
        if (!(*segment)->Allocate(256 << 10).ok()) wrong += "nothing allocated";
      }
    }
    ::umount(folder.c_str());
    ::rmdir(folder.c_str());
    return wrong;
  });
  EXPECT_EQ(process.Wait(0), "");
}

TEST(Segment, AThousandRoundsLeaveNothing) {
  Forked processes(2, [](std::uint32_t rank) -> std::string {
    const int before = OpenDescriptors();
    for (int round = 0; round < 1000; ++round) {
      SegmentOptions options = TestOptions(2, rank, "rounds");
      options.session = static_cast<std::uint64_t>(round) + 1;
      auto segment = Segment::Open(options);
      if (!segment.ok()) return "round " + std::to_string(round) + ": " + segment.status().message();
      if (!(*segment)->bell().Descriptor().ok()) return "no descriptor";
    }
    return OpenDescriptors() == before ? "" : "descriptors leak";
  });
  EXPECT_EQ(processes.WaitAll(), "");
  EXPECT_TRUE(SegmentFilesOf("rounds").empty());
}

TEST(Bell, WakesWhoSleepsOnMemoryOrOnADescriptor) {
  Forked processes(2, [](std::uint32_t rank) -> std::string {
    auto opened = Segment::Open(TestOptions(2, rank, "bell"));
    if (!opened.ok()) return opened.status().message();
    Segment& segment = **opened;
    Counter& mine = segment.own().posted;
    Counter& theirs = segment.rank(1 - rank).posted;
    constexpr std::uint64_t kTurns = 2000;
    // Ping-pong: rank 0 sleeps in poll, rank 1 on the futex. A lost ring is a turn without end.
    const int descriptor = rank == 0 ? segment.bell().Descriptor().value() : -1;
    for (std::uint64_t turn = 1; turn <= kTurns; ++turn) {
      if (rank == 0) {
        mine.Set(turn);
        segment.bell().RingOthers();
      }
      while (theirs.Get() < turn) {
        rank == 0 ? segment.bell().PrepareDescriptor() : segment.bell().PrepareFutex();
        if (theirs.Get() >= turn) {
          segment.bell().Cancel();
        } else if (rank == 0) {
          pollfd poll{.fd = descriptor, .events = POLLIN, .revents = 0};
          if (::poll(&poll, 1, LongWaitMs()) == 0) return "nobody rang";
          segment.bell().Cancel();
        } else {
          segment.bell().SleepOnFutex(LongWaitDuration());
        }
      }
      if (rank == 1) {
        mine.Set(turn);
        segment.bell().RingOthers();
      }
    }
    return "";
  });
  EXPECT_EQ(processes.WaitAll(), "");
}

TEST(Bell, NobodyAsleepNoDatagram) {
  auto segment = Segment::Open(TestOptions(1, 0, "awake"));
  ASSERT_TRUE(segment.ok());
  pollfd poll{.fd = (*segment)->bell().Descriptor().value(), .events = POLLIN, .revents = 0};
  (*segment)->bell().RingAll();
  EXPECT_EQ(::poll(&poll, 1, 0), 0);
  (*segment)->bell().PrepareDescriptor();
  (*segment)->bell().RingAll();
  (*segment)->bell().RingAll();
  EXPECT_EQ(::poll(&poll, 1, 0), 1);
  (*segment)->bell().Cancel();
  EXPECT_EQ(::poll(&poll, 1, 0), 0) << "emptied";
}

}  // namespace
}  // namespace glim::hfreduce
