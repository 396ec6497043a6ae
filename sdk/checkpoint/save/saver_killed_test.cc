// A saver that is killed at any moment leaves a whole newest checkpoint, and nothing that the next one does not clear
// away.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "sdk/base/rng.h"
#include "sdk/base/testing/waits.h"
#include "sdk/checkpoint/load/checkpoint.h"
#include "sdk/checkpoint/load/load_range.h"
#include "sdk/checkpoint/save/testing/saver_fixture.h"

namespace glim::checkpoint {
namespace {

using testing::NoiseOf;

constexpr std::size_t kBytes = 3'000'001;

class SaverKilled : public SaverFixture {
 protected:
  // Saves step after step, each with noise of its own number, until it is killed; closes `first` when one is durable.
  [[noreturn]] void SaveForEver(std::uint32_t attempt, int first) const {
    SaverOptions options = Options();
    options.attempt = attempt;
    options.keep.newest = 2;
    options.images = 1 + attempt % 2;
    const auto saver = Saver::Create(options, testing::StandingClock);
    if (!saver.ok()) ::_exit(1);
    const std::uint64_t begin = ((*saver)->base() ? (*saver)->base()->step : 0) + 1;
    for (std::uint64_t step = begin;; ++step) {
      const std::vector<std::byte> data = NoiseOf(kBytes, step);
      SaveTensor tensor;
      tensor.info = {"t", DType::kU8, {kBytes}};
      tensor.data = data;
      const auto handle = (*saver)->SaveAsync(step, {&tensor, 1}, {}, {});
      if (!handle.ok()) ::_exit(1);
      if (step > begin) continue;
      if (!(*handle)->Wait().ok()) ::_exit(1);
      ::close(first);
    }
  }

  // Kills it when `ms` have passed; false: it had ended by itself.
  static bool KillAfter(pid_t pid, int ms) {
    const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    pollfd ended{fd, POLLIN, 0};
    const bool runs = ::poll(&ended, 1, ms) == 0;
    ::close(fd);
    ::kill(pid, SIGKILL);
    int status = 0;
    ::waitpid(pid, &status, 0);
    return runs;
  }
};

TEST_F(SaverKilled, AtRandomMoments) {
  constexpr std::uint32_t kRounds = 40;
  Rng rng(1);
  std::uint64_t newest_step = 0;
  for (std::uint32_t attempt = 1; attempt <= kRounds; ++attempt) {
    int first[2];
    ASSERT_EQ(::pipe(first), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::close(first[0]);
      SaveForEver(attempt, first[1]);
    }
    ::close(first[1]);
    // Every other one has saved something before.
    pollfd saved{first[0], POLLIN, 0};
    if (attempt % 2 == 0) {
      ASSERT_EQ(::poll(&saved, 1, LongWaitMs()), 1);
    }
    ::close(first[0]);
    ASSERT_TRUE(KillAfter(pid, static_cast<int>(rng.Between(0, 60))));
    if (!std::filesystem::exists(path() + "/job.json")) continue;
    const auto directory = Directory::Open(path(), "").value();
    const std::vector<CheckpointId> visible = directory->Visible().value();
    if (visible.empty()) {
      ASSERT_EQ(newest_step, 0u) << "attempt " << attempt << " lost what was there";
      continue;
    }
    ASSERT_GE(visible.back().step, newest_step);
    newest_step = visible.back().step;
    const auto checkpoint = OpenCheckpoint(*directory, visible.back(), {});
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    std::vector<std::byte> data(kBytes);
    const std::vector<LoadRange> all{{"t", 0, data}};
    ASSERT_TRUE((*checkpoint)->Load(all).ok());
    ASSERT_TRUE(data == NoiseOf(kBytes, newest_step)) << "step " << newest_step;
  }
  ASSERT_GE(newest_step, kRounds / 2);

  SaverOptions options = Options();
  options.attempt = kRounds + 1;
  options.keep.newest = 1;
  {
    const auto saver = Make(options);
    ASSERT_TRUE(Save(*saver, newest_step + 1, Bytes(10, 1)).ok());
  }
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path())) {
    if (!entry.is_directory()) left.insert(entry.path().lexically_relative(path()));
  }
  const std::string last = PathOf({options.attempt, newest_step + 1});
  for (const std::string& name : left) {
    const bool expected = name == "job.json" || name == "latest" || name.ends_with("/base.json") ||
                          name == last + "/manifest.json" || name == last + "/shard-00000-of-00001.safetensors";
    EXPECT_TRUE(expected) << name << " was left behind";
  }
}

}  // namespace
}  // namespace glim::checkpoint
