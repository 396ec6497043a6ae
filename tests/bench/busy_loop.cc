#include "tests/bench/busy_loop.h"

#include <chrono>
#include <cstdlib>
#include <future>
#include <string>
#include <utility>

#include "scheduler/core/lifecycle/desired.h"

namespace glim::bench {
namespace {

using Steady = std::chrono::steady_clock;

double MsSince(Steady::time_point begin) {
  return std::chrono::duration<double, std::milli>(Steady::now() - begin).count();
}

// The session of node n is n: they connect in that order to an empty cluster.
core::NodeReported ReportOf(const core::Tables& tables, core::NodeId node) {
  core::NodeReported report{node, node.value, true, {}};
  for (const core::DesiredTask& task : core::DesiredFor(tables, node)) {
    const bool leaves = task.stop || task.interrupt;
    core::ObservedTask seen;
    seen.id = task.id;
    seen.phase = leaves ? core::TaskPhase::kReleased : core::TaskPhase::kRunning;
    if (const core::Task* row = tables.tasks.Find(task.id)) seen.ranks = row->ranks;
    for (core::Rank& rank : seen.ranks) rank.leaving = rank.exited = leaves;
    report.tasks.push_back(std::move(seen));
  }
  return report;
}

}  // namespace

BusyLoop::BusyLoop(const Options& options, std::unique_ptr<store::Store> store) : options_(options) {
  server::SchedulerLoop::Options loop;
  loop.clock = server::MonotonicWallClock();
  loop.observer = this;
  loop.history.ended_jobs_max = options.ended_jobs_max;
  loop.policy.node_lost_after = Hours(1'000'000);
  loop.policy.starvation_bound = Hours(1'000'000);
  loop_ = server::SchedulerLoop::Open(std::move(loop), std::move(store)).value();
  loop_->set_on_sync([this](const std::set<core::NodeId>& nodes) {
    const std::lock_guard lock(mutex_);
    to_answer_.insert(nodes.begin(), nodes.end());
    wake_.notify_one();
  });
  loop_->Start();
  nodes_ = std::thread([this] { AnswerNodes(); });
}

BusyLoop::~BusyLoop() {
  End();
  {
    const std::lock_guard lock(mutex_);
    answering_ = false;
    wake_.notify_one();
  }
  nodes_.join();
  loop_->Stop();
}

core::Reply BusyLoop::Ask(server::SchedulerLoop::Payload what) {
  std::promise<core::Reply> done;
  if (!loop_->Post(std::move(what), [&](const core::Reply& reply) { done.set_value(reply); }).ok()) std::abort();
  return done.get_future().get();
}

void BusyLoop::Connect() {
  for (std::uint32_t i = 1; i <= options_.nodes; ++i) {
    core::NodeConnected hello;
    hello.session = i;
    hello.name = hello.machine_id = "n" + std::to_string(i);
    hello.labels.zone = i <= options_.nodes / 2 ? "A" : "B";
    hello.labels.leaf = "leaf" + std::to_string(i / 32);
    hello.labels.gpu_count = 8;
    const core::Reply reply = Ask(std::move(hello));
    if (reply.node.value != i) std::abort();
    Report(reply.node);
  }
}

// Shape k: its user, size and class follow from k.
core::SubmitJobs BusyLoop::OfShape(std::uint32_t shape, std::uint32_t jobs) const {
  constexpr core::PriorityClass kClasses[] = {core::PriorityClass::kNormal, core::PriorityClass::kLow,
                                              core::PriorityClass::kBelowNormal};
  core::SubmitJobs submit;
  submit.user = "user" + std::to_string(shape / 12);
  submit.team = "team";
  core::JobSpec spec;
  spec.name = "bench";
  spec.workdir = "/";
  spec.run = "train";
  spec.nodes = 1 + shape % 16;
  spec.priority = kClasses[shape % 3];
  submit.specs.assign(jobs, spec);
  return submit;
}

void BusyLoop::Begin() {
  Connect();
  const std::uint32_t each = options_.queued / options_.shapes + 1;
  for (std::uint32_t shape = 0; shape < options_.shapes; ++shape) {
    if (Ask(OfShape(shape, each)).jobs.size() != each) std::abort();
  }
  turning_ = true;
  turns_ = std::thread([this] { Turns(); });
}

// What each node is told it does at once.
void BusyLoop::AnswerNodes() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return !answering_ || !to_answer_.empty(); });
    if (!answering_) return;
    const auto nodes = std::exchange(to_answer_, {});
    lock.unlock();
    for (const core::NodeId node : nodes) Report(node);
    lock.lock();
  }
}

void BusyLoop::Report(core::NodeId node) {
  (void)loop_->PostUnbounded(ReportOf(loop_->snapshot()->tables, node), nullptr);  // one that stops takes none
}

void BusyLoop::Turns() {
  while (!stop_) {
    const auto begin = Steady::now();
    Turn();
    std::this_thread::sleep_until(begin + std::chrono::milliseconds(options_.turn_ms));
  }
}

void BusyLoop::Turn() {
  const server::SnapshotPtr snapshot = loop_->snapshot();
  std::vector<core::JobId> running;
  snapshot->tables.attempts.ForEach([&](core::AttemptId id, const core::Attempt& attempt) {
    if (attempt.state == core::AttemptState::kRunning) running.push_back(id.job);
  });
  if (!running.empty()) {
    core::CancelJob cancel;
    cancel.job = running[static_cast<std::size_t>(rng_.Between(0, static_cast<std::int64_t>(running.size()) - 1))];
    Ask(std::move(cancel));
  }
  const bool apart = apart_;
  const auto begin = Steady::now();
  const core::Reply reply = Ask(OfShape(static_cast<std::uint32_t>(rng_.Between(0, options_.shapes - 1)), 1));
  if (reply.jobs.empty()) std::abort();
  const std::lock_guard lock(mutex_);
  if (apart == apart_) times_[apart].answers_ms.push_back(MsSince(begin));
}

void BusyLoop::End() {
  stop_ = true;
  if (turns_.joinable()) turns_.join();
}

void BusyLoop::OnPass(double seconds) {
  if (!turning_) return;  // still being filled
  const std::lock_guard lock(mutex_);
  times_[apart_].passes_ms.push_back(seconds * 1e3);
}

BusyLoop::Times BusyLoop::TimesOf(bool apart) {
  const std::lock_guard lock(mutex_);
  return times_[apart];
}

std::size_t BusyLoop::Running() const {
  std::size_t running = 0;
  loop_->snapshot()->tables.attempts.ForEach([&](core::AttemptId, const core::Attempt& attempt) {
    running += attempt.state == core::AttemptState::kRunning ? 1 : 0;
  });
  return running;
}

}  // namespace glim::bench
