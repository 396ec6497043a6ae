#include "tests/bench/recovery_fill.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "scheduler/core/core.h"
#include "scheduler/core/lifecycle/desired.h"
#include "scheduler/store/open_store.h"

namespace glim::bench {
namespace {

constexpr std::uint32_t kUsers = 20;
constexpr std::uint32_t kSpecsAtOnce = 100;

TimePoint Now() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count()};
}

class Filler {
 public:
  Filler(store::Store& store, std::uint64_t epoch) : store_(store), epoch_(epoch) {}

  template <typename What>
  void Add(What what) {
    batch_.push_back({++seq_, Now(), std::move(what)});
  }

  // One commit for all that was added.
  Status Drive() {
    const core::DriveResult result =
        core::Drive(state_, policy_, std::exchange(batch_, {}),
                    [&](const std::vector<core::Mutation>& mutations) { return store_.Commit(epoch_, mutations); });
    for (const core::Reply& reply : result.replies) {
      if (!reply.status.ok()) return reply.status;
    }
    return result.commit;
  }

  void Connect(std::uint32_t number) {
    core::NodeConnected hello;
    hello.session = number;
    hello.name = NodeName(number);
    hello.machine_id = "machine-of-" + hello.name;
    hello.boot_id = "boot-1";
    hello.labels.zone = number % 2 ? "A" : "B";
    hello.labels.leaf = hello.labels.zone + std::to_string(number / 2 % 16);
    hello.labels.gpu_type = "A100";
    hello.labels.gpu_count = 8;
    hello.labels.nic = "infiniband";
    hello.labels.simulated_gpus = true;
    hello.agent_version = "0.1.0";
    hello.runtime = "process";
    Add(std::move(hello));
  }

  void ReportRunning(std::uint32_t number) {
    core::NodeReported report;
    report.node = core::NodeId(number);
    report.session = number;
    report.current = true;
    for (const core::DesiredTask& wanted : core::DesiredFor(state_.tables(), report.node)) {
      core::ObservedTask& task = report.tasks.emplace_back();
      task.id = wanted.id;
      task.phase = core::TaskPhase::kRunning;
      core::Rank& rank = task.ranks.emplace_back();
      rank.connected = true;
      rank.step = 100;
      rank.step_time = Milliseconds(200);
    }
    Add(std::move(report));
  }

  // `nodes` and classes go round, so that the queue has many shapes.
  void Submit(std::uint32_t count, bool running) {
    using enum core::PriorityClass;
    constexpr core::PriorityClass kClasses[] = {kLow, kNormal, kAboveNormal};
    for (std::uint32_t first = 0; first < count; first += kSpecsAtOnce) {
      core::SubmitJobs submit;
      submit.user = "user-" + std::to_string(first / kSpecsAtOnce % kUsers);
      for (std::uint32_t i = first; i < std::min(count, first + kSpecsAtOnce); ++i) {
        core::JobSpec& spec = submit.specs.emplace_back();
        spec.name = (running ? "running-" : "queued-") + std::to_string(i);
        spec.workdir = "/tmp";
        spec.run = "python train.py";
        spec.priority = running ? kHigh : kClasses[i % 3];
        spec.nodes = running ? 1 : 1 << (i / 3 % 4);
      }
      Add(std::move(submit));
    }
  }

  std::size_t Count(core::JobState state) const {
    std::size_t count = 0;
    state_.tables().jobs.ForEach([&](core::JobId, const core::Job& job) { count += job.state == state; });
    return count;
  }

 private:
  store::Store& store_;
  const std::uint64_t epoch_;
  const core::Policy policy_;
  core::ClusterState state_;
  std::vector<core::Event> batch_;
  std::uint64_t seq_ = 0;
};

}  // namespace

std::string NodeName(std::uint32_t number) { return "node-" + std::to_string(number); }

Status Fill(const FillOptions& options) {
  auto store = store::OpenStore(options.store);
  if (!store.ok()) return store.status();
  const auto cluster = (*store)->ClusterId(kClusterId);
  if (!cluster.ok()) return cluster.status();
  const auto epoch = (*store)->AcquireEpoch();
  if (!epoch.ok()) return epoch.status();
  Filler filler(**store, *epoch);
  filler.Add(core::LeaderStarted{});
  for (std::uint32_t n = 1; n <= options.running; ++n) filler.Connect(n);
  if (Status s = filler.Drive(); !s.ok()) return s;
  filler.Submit(options.running, true);
  if (Status s = filler.Drive(); !s.ok()) return s;
  for (std::uint32_t n = 1; n <= options.running; ++n) filler.ReportRunning(n);
  if (Status s = filler.Drive(); !s.ok()) return s;
  filler.Submit(options.queued, false);
  if (Status s = filler.Drive(); !s.ok()) return s;
  const std::size_t running = filler.Count(core::JobState::kRunning), queued = filler.Count(core::JobState::kQueued);
  if (cluster.value() != kClusterId || running != options.running || queued != options.queued) {
    return Status(StatusCode::kInternal, "the store was not empty: " + std::to_string(running) + " jobs run, " +
                                             std::to_string(queued) + " wait");
  }
  return Status::Ok();
}

}  // namespace glim::bench
