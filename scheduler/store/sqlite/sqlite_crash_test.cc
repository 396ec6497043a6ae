// A scheduler that is killed while it commits: what it had acknowledged is there, and every commit is whole.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/store/sqlite/sqlite_store.h"
#include "scheduler/store/testing/temp_dir.h"
#include "sdk/base/rng.h"
#include "sdk/base/testing/waits.h"

namespace glim::store {
namespace {

using core::JobId;

template <typename Row>
core::Mutation PutRow(const Row& row) {
  return std::make_shared<const Row>(row);
}

// Commit number n writes five rows that all say n, deletes the job of commit n - 10, and tells it in the history.
std::vector<core::Mutation> CommitNumber(std::uint64_t n) {
  core::Job job;
  job.id = JobId(n);
  job.spec = std::make_shared<core::JobSpec>();
  job.message = std::to_string(n) + std::string(n * 37 % 9000, '.');  // now and then some overflow pages
  core::Attempt attempt;
  attempt.id = {JobId(n), 1};
  attempt.last_step = static_cast<std::int64_t>(n);
  core::Task task;
  task.id = {attempt.id, 0};
  core::Node node;
  node.id = core::NodeId(1);
  node.name = "n1";
  node.message = std::to_string(n);
  core::HistoryEntry entry;
  entry.at = TimePoint{1};
  entry.job = JobId(n);
  std::vector<core::Mutation> mutations = {PutRow(job),  PutRow(attempt), PutRow(task),
                                           PutRow(node), entry,           core::PutIds{JobId(n + 1), core::NodeId(2)}};
  if (n > 10) {
    const core::AttemptId old{JobId(n - 10), 1};
    mutations.push_back(core::Deleted<core::Task>{{old, 0}});
    mutations.push_back(core::Deleted<core::Attempt>{old});
    mutations.push_back(core::Deleted<core::Job>{old.job});
  }
  return mutations;
}

AuditRow AuditOf(std::uint64_t n) {
  AuditRow row;
  row.seq = n;
  row.outcome = "ok";
  row.hash = std::to_string(n);
  return row;
}

// Which commit the state is of; fails if it is not exactly that one.
std::uint64_t WholeCommit(SqliteStore& store) {
  auto state = store.Load();
  EXPECT_TRUE(state.ok()) << state.status().message();
  if (!state.ok()) return 0;
  const core::Node* node = (*state)->FindNode(core::NodeId(1));
  if (node == nullptr) {
    EXPECT_TRUE((*state)->tables().jobs.empty());
    EXPECT_EQ(store.LastAudit().value().seq, 0u);
    return 0;
  }
  const std::uint64_t n = std::stoull(node->message);
  EXPECT_EQ((*state)->next_job_id, JobId(n + 1));
  EXPECT_EQ(store.LastAudit().value(), (AuditEnd{n, std::to_string(n)})) << "a change and its row are one commit";
  const std::uint64_t kept = std::min<std::uint64_t>(n, 10);
  EXPECT_EQ((*state)->tables().jobs.size(), kept);
  EXPECT_EQ((*state)->tables().attempts.size(), kept);
  EXPECT_EQ((*state)->tables().tasks.size(), kept);
  for (std::uint64_t id = n - kept + 1; id <= n; ++id) {
    const core::Attempt* attempt = (*state)->FindAttempt({JobId(id), 1});
    EXPECT_NE(attempt, nullptr) << id;
    if (attempt == nullptr) continue;
    EXPECT_EQ(attempt->last_step, static_cast<std::int64_t>(id));
  }
  const auto last = store.History({.job = JobId(n), .limit = 10});
  EXPECT_TRUE(last.ok());
  EXPECT_EQ(last->size(), 1u) << "of commit " << n;
  EXPECT_TRUE(store.History({.job = JobId(n + 1), .limit = 10})->empty());
  return n;
}

// In the child: commits from `first` on and writes each acknowledged number to the pipe, until it is killed or fails.
[[noreturn]] void CommitForEver(const std::string& path, std::uint64_t first, int pipe) {
  auto store = SqliteStore::Open(path);
  if (!store.ok()) ::_exit(2);
  const auto epoch = (*store)->AcquireEpoch();
  if (!epoch.ok()) ::_exit(3);
  for (std::uint64_t n = first;; ++n) {
    const Status status = (*store)->Commit(*epoch, CommitNumber(n), {}, {AuditOf(n)});
    if (!status.ok()) ::_exit(status.reason() == "STORE_IO" ? 10 : 4);
    if (::write(pipe, &n, sizeof n) != sizeof n) ::_exit(5);
  }
}

class CommittingChild {
 public:
  CommittingChild(const std::string& path, std::uint64_t first, rlim_t file_bytes_max = RLIM_INFINITY) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    read_end_ = ends[0];
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      ::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{file_bytes_max, file_bytes_max};
      if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(6);
      CommitForEver(path, first, ends[1]);
    }
    ::close(ends[1]);
  }
  ~CommittingChild() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(read_end_);
  }

  // Waits for the first acknowledgement, so that a kill hits a child at work.
  bool WaitUntilBusy() {
    pollfd ready{read_end_, POLLIN, 0};
    return ::poll(&ready, 1, LongWaitMs()) == 1;
  }
  void Kill() { ::kill(pid_, SIGKILL); }

  // Reaps the child and returns the last number it acknowledged, or 0.
  std::uint64_t Last(int* exit_status = nullptr) {
    std::uint64_t last = 0, number = 0;
    while (::read(read_end_, &number, sizeof number) == sizeof number) last = number;
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    if (exit_status != nullptr) *exit_status = status;
    return last;
  }

 private:
  pid_t pid_ = -1;
  int read_end_ = -1;
};

TEST(SqliteCrash, AcknowledgedCommitsSurviveAKillAndAllAreWhole) {
  const TempDir dir;
  const std::string path = dir.File("s.db");
  Rng rng(2024);
  std::uint64_t done = 0;
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    CommittingChild child(path, done + 1);
    ASSERT_TRUE(child.WaitUntilBusy());
    // The moment of the kill is the subject here, not a wait for something.
    std::this_thread::sleep_for(std::chrono::microseconds(rng.Between(0, 60'000)));
    child.Kill();
    int status = 0;
    const std::uint64_t acknowledged = child.Last(&status);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << WEXITSTATUS(status);
    auto store = SqliteStore::Open(path);
    ASSERT_TRUE(store.ok()) << store.status().message();
    const std::uint64_t found = WholeCommit(**store);
    ASSERT_GE(found, acknowledged);
    ASSERT_LE(found, acknowledged + 1) << "only the commit in flight may be there unacknowledged";
    ASSERT_GT(found, done) << "no progress";
    done = found;
  }
}

TEST(SqliteCrash, AWriteThatTheSystemRefusesLeavesWholeCommits) {
  const TempDir dir;
  const std::string path = dir.File("s.db");
  // The write-ahead log meets the limit in the middle of a commit.
  CommittingChild child(path, 1, 900'000);
  ASSERT_TRUE(child.WaitUntilBusy());
  int status = 0;
  const std::uint64_t acknowledged = child.Last(&status);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 10) << "expected STORE_IO";
  EXPECT_GT(acknowledged, 3u);
  auto store = SqliteStore::Open(path);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(WholeCommit(**store), acknowledged);
}

}  // namespace
}  // namespace glim::store
