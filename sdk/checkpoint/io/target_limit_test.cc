#include "sdk/checkpoint/io/target_limit.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>

#include "sdk/base/check.h"
#include "sdk/base/testing/waits.h"

namespace glim::checkpoint {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

// For a turn that is not to be had, and for one that is.
steady_clock::time_point Soon() { return steady_clock::now() + milliseconds(20); }
steady_clock::time_point Late() { return steady_clock::now() + LongWait(); }

// A process that runs `body`; killed at the end if it is still there.
class Child {
 public:
  explicit Child(const std::function<void()>& body) : pid_(::fork()) {
    if (pid_ != 0) return;
    body();
    ::_exit(0);
  }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  ~Child() { Kill(); }
  void Kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    Join();
  }
  int Join() {
    int status = -1;
    GLIM_CHECK(::waitpid(std::exchange(pid_, 0), &status, 0) > 0, "waitpid");
    return status;
  }

 private:
  pid_t pid_;
};

class TargetLimitTest : public testing::Test {
 protected:
  TargetLimitTest() {
    GLIM_CHECK(::mkdtemp(base_.data()) != nullptr && ::pipe2(pipe_, O_CLOEXEC) == 0, "mkdtemp or pipe2");
  }
  ~TargetLimitTest() override {
    std::filesystem::remove_all(base_);
    ::close(pipe_[0]);
    ::close(pipe_[1]);
  }

  TargetLimit Limit(std::uint32_t writers) const { return TargetLimit(base_, "8-1", writers); }

  // A child that takes a turn, says 'X' by the pipe, and keeps it until it is killed.
  Child Holder(std::uint32_t writers) {
    return Child([&] {
      const auto turn = Limit(writers).Acquire(Late());
      Say(turn.ok() ? 'X' : '-');
      ::pause();
    });
  }
  void Say(char c) const { GLIM_CHECK(::write(pipe_[1], &c, 1) == 1, "write"); }
  char Hear() const {
    char c = 0;
    GLIM_CHECK(::read(pipe_[0], &c, 1) == 1, "read");
    return c;
  }
  std::size_t Tickets() const {
    std::size_t count = 0;
    if (!std::filesystem::exists(base_ + "/8-1")) return 0;
    for (const auto& entry : std::filesystem::directory_iterator(base_ + "/8-1")) {
      count += entry.path().filename().string().starts_with("ticket-") ? 1 : 0;
    }
    return count;
  }
  void AwaitTickets(std::size_t count) const {
    const auto deadline = Late();
    while (Tickets() != count) {
      GLIM_CHECK(steady_clock::now() < deadline, "the tickets never came");
      std::this_thread::yield();
    }
  }

  std::string base_ = testing::TempDir() + "target.XXXXXX";
  int pipe_[2] = {-1, -1};
};

TEST_F(TargetLimitTest, SoManyHaveATurnAtOnceAndTheNextGetsOneThatIsGivenBack) {
  std::optional<Result<WriterTurn>> first = Limit(2).Acquire(Late());
  const Result<WriterTurn> second = Limit(2).Acquire(Late());
  ASSERT_TRUE(first->ok() && second.ok());
  const Status third = Limit(2).Acquire(Soon()).status();
  EXPECT_EQ(third.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(third.message(), HasSubstr("8-1"));
  first.reset();
  EXPECT_TRUE(Limit(2).Acquire(Late()).ok());
}

TEST_F(TargetLimitTest, NothingIsLeftOfTurnsThatWereGivenBack) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(Limit(1).Acquire(Late()).ok());
    EXPECT_EQ(Tickets(), 0u);
  }
}

TEST_F(TargetLimitTest, TargetsDoNotLimitEachOther) {
  const Result<WriterTurn> one = TargetLimit(base_, "8-1", 1).Acquire(Late());
  const Result<WriterTurn> other = TargetLimit(base_, "8-2", 1).Acquire(Late());
  EXPECT_TRUE(one.ok() && other.ok());
}

TEST_F(TargetLimitTest, AKilledHolderGivesItsTurnBack) {
  Child holder = Holder(1);
  ASSERT_EQ(Hear(), 'X');
  EXPECT_FALSE(Limit(1).Acquire(Soon()).ok());
  holder.Kill();
  EXPECT_TRUE(Limit(1).Acquire(Late()).ok());
  EXPECT_EQ(Tickets(), 0u);
}

TEST_F(TargetLimitTest, AKilledWaiterHoldsNobodyUp) {
  Child holder = Holder(1);
  ASSERT_EQ(Hear(), 'X');
  Child waiter = Holder(1);
  AwaitTickets(2);
  waiter.Kill();
  holder.Kill();
  EXPECT_TRUE(Limit(1).Acquire(Late()).ok());
}

TEST_F(TargetLimitTest, AHolderThatForkedGivesItsTurnBackAllTheSame) {
  std::optional<Result<WriterTurn>> turn = Limit(1).Acquire(Late());
  ASSERT_TRUE(turn->ok());
  const Child child([] { ::pause(); });  // has the descriptor of the lock
  turn.reset();
  EXPECT_TRUE(Limit(1).Acquire(Late()).ok());
}

TEST_F(TargetLimitTest, TurnsComeInTheOrderOfAsking) {
  std::optional<Result<WriterTurn>> turn = Limit(1).Acquire(Late());
  ASSERT_TRUE(turn->ok());
  std::vector<Child> children;
  for (char name = 'a'; name <= 'f'; ++name) {
    children.emplace_back([this, name] {
      const auto mine = Limit(1).Acquire(Late());
      Say(mine.ok() ? name : '-');
    });
    AwaitTickets(children.size() + 1);
  }
  turn.reset();
  std::string heard;
  for (std::size_t i = 0; i < children.size(); ++i) heard += Hear();
  EXPECT_EQ(heard, "abcdef");
  for (Child& child : children) EXPECT_EQ(child.Join(), 0);
}

TEST_F(TargetLimitTest, NeverMoreThanAllowedWhateverTheProcesses) {
  void* shared = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* writing = new (shared) std::atomic<int>(0);
  auto* most = new (writing + 1) std::atomic<int>(0);
  {
    std::vector<Child> children;
    for (int i = 0; i < 6; ++i) {
      children.emplace_back([&] {
        for (int round = 0; round < 10; ++round) {
          const auto turn = Limit(2).Acquire(Late());
          if (!turn.ok()) ::_exit(1);
          const int now = writing->fetch_add(1) + 1;
          int before = most->load();
          while (before < now && !most->compare_exchange_weak(before, now)) {
          }
          std::this_thread::yield();
          writing->fetch_sub(1);
        }
      });
    }
    for (Child& child : children) EXPECT_EQ(child.Join(), 0);
  }
  EXPECT_GE(most->load(), 1);
  EXPECT_LE(most->load(), 2);
  EXPECT_EQ(Tickets(), 0u);
  ::munmap(shared, 4096);
}

// The deadline holds even when a process was stopped where it kept all others out.
TEST_F(TargetLimitTest, TheDeadlineHoldsWhenTheDoorIsShut) {
  ASSERT_TRUE(Limit(1).Acquire(Late()).ok());
  const UniqueFd door(::open((base_ + "/8-1/door").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(door.get(), LOCK_EX), 0);
  EXPECT_EQ(Limit(1).Acquire(Soon()).status().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(TargetLimitTest, OtherFilesAreNobodysTickets) {
  ASSERT_TRUE(Limit(1).Acquire(Late()).ok());
  for (const char* name : {"ticket-", "ticket-x", "ticket-1x", "ticket-99999999999999999999999", "README"}) {
    std::ofstream(base_ + "/8-1/" + name) << "?";
  }
  const Result<WriterTurn> turn = Limit(1).Acquire(Late());
  EXPECT_TRUE(turn.ok()) << turn.status().message();
}

TEST_F(TargetLimitTest, AFolderThatCannotBeUsedIsSaid) {
  const Status status = TargetLimit(base_ + "/none", "8-1", 1).Acquire(Soon()).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr(base_ + "/none/8-1"));
}

TEST_F(TargetLimitTest, ATargetIsAFileSystem) {
  const UniqueFd proc(::open("/proc", O_RDONLY | O_DIRECTORY)), base(::open(base_.c_str(), O_RDONLY | O_DIRECTORY));
  const UniqueFd sub(::open("/proc/self", O_RDONLY | O_DIRECTORY));
  EXPECT_EQ(TargetOf(proc.get()).value(), TargetOf(sub.get()).value());
  EXPECT_NE(TargetOf(proc.get()).value(), TargetOf(base.get()).value());
  EXPECT_FALSE(TargetOf(-1).ok());
}

}  // namespace
}  // namespace glim::checkpoint
