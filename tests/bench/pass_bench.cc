// glim-bench-pass: what a planning pass costs, and what a queued job weighs, in the core alone: a full cluster, a long
// queue of many shapes; again and again a job ends, another is submitted, and the pass that follows is measured. Then a
// new leader begins, and hears every node. --spellings and --local-saves make of the same load a hard one: what users
// write, and where saves lie, is to cost next to nothing.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "scheduler/core/core.h"
#include "scheduler/core/lifecycle/desired.h"
#include "scheduler/core/model/attempt_tasks.h"
#include "sdk/base/rng.h"

namespace {

using namespace glim;
using namespace glim::core;

struct Options {
  std::uint32_t nodes = 1250;
  std::uint32_t queued = 10'000;
  std::uint32_t shapes = 300;
  std::uint32_t passes = 300;
  std::uint32_t spellings = 0;  // of the same zones, in the specs; 0: no zones
  bool local_saves = false;     // every job that waits has one, in a node's own folder
};

std::int64_t ResidentKib() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

// Of this thread's processor time, which other programs on the machine disturb least. Nothing here waits.
double ThreadMicroseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {
    policy_.node_lost_after = Hours(1'000'000);
    policy_.unfinished_jobs_max = policy_.unfinished_jobs_per_user_max = 10'000'000;
    policy_.unfinished_spec_bytes_max = policy_.unfinished_spec_bytes_per_user_max = std::int64_t{1} << 40;
    policy_.starvation_bound = Hours(1'000'000);
    AddNodes();
    while (Submit(1)) Settle();
  }

  void Run() {
    const std::int64_t before = ResidentKib();
    Submit(options_.queued);
    const double kib = static_cast<double>(ResidentKib() - before);
    std::vector<double> pass;
    for (std::uint32_t i = 0; i < options_.passes; ++i) {
      now_ = now_ + Seconds(rng_.Between(1, 30));
      EndOne();
      SubmitOne();
      const double begin = ThreadMicroseconds();
      Plan plan = MakePlan(state_, policy_, now_);
      pass.push_back(ThreadMicroseconds() - begin);
      Do(PlanDecided{std::move(plan)});
      Settle();
    }
    std::sort(pass.begin(), pass.end());
    const auto at = [&](double p) { return pass[static_cast<std::size_t>(p * static_cast<double>(pass.size() - 1))]; };
    std::printf(
        "{\"nodes\":%u,\"queued\":%u,\"shapes\":%zu,\"running\":%zu,\"passes\":%u,\"pass_us_p50\":%.0f,"
        "\"pass_us_p99\":%.0f,\"pass_us_max\":%.0f,\"kib_per_100000_queued\":%.0f",
        options_.nodes, options_.queued, state_.index().queue.size(), Live().size(), options_.passes, at(0.5), at(0.99),
        pass.back(), kib * 100'000 / options_.queued);
    RunNewLeader();
  }

 private:
  void RunNewLeader() {
    if (options_.local_saves) LaySaves();
    double begin = ThreadMicroseconds();
    Do(LeaderStarted{});
    const double leader = ThreadMicroseconds() - begin;
    begin = ThreadMicroseconds();
    AddNodes();
    std::printf(",\"leader_us\":%.0f,\"reconnects_us\":%.0f}\n", leader, ThreadMicroseconds() - begin);
  }

  void LaySaves() {
    std::vector<Job> jobs;
    state_.tables().jobs.ForEach([&](JobId, const Job& job) {
      if (job.state == JobState::kQueued) jobs.push_back(job);
    });
    for (Job& job : jobs) {
      job.durable.step = 10;
      job.durable.path = job.durable.local = "step-10";
      job.durable.parts = {NodeId(1 + job.id.value % options_.nodes)};
      state_.Put(std::move(job));
    }
  }

  Reply Do(decltype(Event::what) what) {
    Transition transition = Apply(state_, policy_, Event{++seq_, now_, std::move(what)});
    sync_.merge(transition.sync);
    return transition.reply;
  }

  void AddNodes() {
    for (std::uint32_t i = 0; i < options_.nodes; ++i) {
      NodeConnected hello;
      hello.session = i + 1;
      hello.name = hello.machine_id = "n" + std::to_string(i);
      hello.labels.zone = i < options_.nodes / 2 ? "A" : "B";
      hello.labels.leaf = "leaf" + std::to_string(i / 32);
      hello.labels.gpu_count = 8;
      const NodeId id = Do(hello).node;
      Do(NodeReported{id, i + 1, true, {}});
    }
  }

  // Shape k: its user, size and class follow from k.
  SubmitJobs OfShape(std::uint32_t k) const {
    SubmitJobs submit;
    submit.user = "user" + std::to_string(k / 12);
    submit.team = "team";
    JobSpec spec;
    spec.name = "bench";
    spec.workdir = "/";
    spec.run = "train";
    spec.nodes = 1 + k % 16;
    constexpr PriorityClass kClasses[] = {PriorityClass::kNormal, PriorityClass::kLow, PriorityClass::kBelowNormal};
    spec.priority = kClasses[k % 3];
    if (options_.spellings > 0)
      spec.placement.zones = {"A", "x" + std::to_string(submitted_ % options_.spellings), "B"};
    submit.specs.push_back(spec);
    return submit;
  }

  void SubmitOne() {
    ++submitted_;
    Do(OfShape(static_cast<std::uint32_t>(rng_.Between(0, options_.shapes - 1))));
  }

  // True if something started.
  bool Submit(std::uint32_t jobs) {
    for (std::uint32_t i = 0; i < jobs; ++i) SubmitOne();
    Plan plan = MakePlan(state_, policy_, now_);
    const bool any = !plan.starts.empty();
    Do(PlanDecided{std::move(plan)});
    return any;
  }

  // What starts runs, what is asked to leave leaves.
  void Settle() {
    while (!sync_.empty()) {
      for (const NodeId node : std::exchange(sync_, {})) {
        NodeReported report{node, state_.liveness.at(node).session, true, {}};
        for (const DesiredTask& task : DesiredFor(state_.tables(), node)) {
          ObservedTask seen;
          seen.id = task.id;
          seen.phase = task.stop || task.interrupt ? TaskPhase::kReleased : TaskPhase::kRunning;
          seen.ranks = state_.FindTask(task.id)->ranks;
          for (Rank& rank : seen.ranks) rank.leaving = rank.exited = task.stop || task.interrupt;
          report.tasks.push_back(std::move(seen));
        }
        Do(std::move(report));
      }
      Plan plan = MakePlan(state_, policy_, now_);
      Do(PlanDecided{std::move(plan)});
    }
  }

  std::vector<AttemptId> Live() const {
    std::vector<AttemptId> live;
    for (const auto& [pool, attempts] : state_.index().live) live.insert(live.end(), attempts.begin(), attempts.end());
    return live;
  }

  void EndOne() {
    const std::vector<AttemptId> live = Live();
    const AttemptId id = live[static_cast<std::size_t>(rng_.Between(0, static_cast<std::int64_t>(live.size()) - 1))];
    std::vector<Event> reports;
    for (const Task* task : TasksOf(state_, id)) {
      ObservedTask seen;
      seen.id = task->id;
      seen.phase = TaskPhase::kReleased;
      seen.ranks = task->ranks;
      for (Rank& rank : seen.ranks) rank.exited = true;
      reports.push_back({++seq_, now_, NodeReported{task->node, state_.liveness.at(task->node).session, true, {seen}}});
    }
    if (!reports.empty()) Apply(state_, policy_, std::span<const Event>(reports));
    sync_.clear();
  }

  const Options options_;
  Policy policy_;
  ClusterState state_;
  Rng rng_{1};
  TimePoint now_{1'000'000};
  std::uint64_t seq_ = 0;
  std::uint64_t submitted_ = 0;
  std::set<NodeId> sync_;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The cost of a planning pass, and the memory of a queued job, as a line of JSON"};
  Options options;
  app.add_option("--nodes", options.nodes)->check(CLI::Range(64, 100'000))->capture_default_str();
  app.add_option("--queued", options.queued)->check(CLI::Range(1, 5'000'000))->capture_default_str();
  app.add_option("--shapes", options.shapes)->check(CLI::Range(1, 100'000))->capture_default_str();
  app.add_option("--spellings", options.spellings)->check(CLI::Range(0, 5'000'000))->capture_default_str();
  app.add_flag("--local-saves", options.local_saves);
  app.add_option("--passes", options.passes)->check(CLI::Range(1, 100'000))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Bench(options).Run();
  return 0;
}
