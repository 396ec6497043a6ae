// glim-bench-state: what the state costs that changes all the time, in the core and the rows' codec alone. The rows
// that are stored while thousands of jobs step every second; and what is kept of a large job that was interrupted a
// thousand times, and how long a start takes to read it.
#include <cstdio>
#include <ctime>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <CLI/CLI.hpp>

#include "scheduler/core/core.h"
#include "scheduler/core/lifecycle/desired.h"
#include "scheduler/store/memory/memory_store.h"

namespace {

using namespace glim;
using namespace glim::core;

struct Options {
  std::uint32_t nodes = 10'000;
  std::uint32_t gang = 512;
  std::uint32_t attempts = 1'000;
  std::uint32_t seconds = 120;
};

double ThreadMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Nodes whose agents obey at once, on a store in memory.
class World {
 public:
  explicit World(std::uint32_t nodes) {
    policy_.node_lost_after = Hours(1'000'000);
    policy_.oversleep_max = Hours(1'000'000);
    epoch_ = store_.AcquireEpoch().value();
    for (std::uint32_t i = 0; i < nodes; ++i) {
      NodeConnected hello;
      hello.session = i + 1;
      hello.name = hello.machine_id = "n" + std::to_string(i);
      hello.labels.zone = "A";
      hello.labels.leaf = "leaf" + std::to_string(i / 32);
      hello.labels.gpu_count = 8;
      Do(hello);
    }
    Settle();
  }

  Reply Do(decltype(Event::what) what) {
    std::vector<Event> batch;
    batch.push_back({++seq_, now_, std::move(what)});
    return DriveBatch(batch).front();
  }

  std::vector<Reply> DriveBatch(const std::vector<Event>& batch) {
    DriveResult result = Drive(state_, policy_, batch, [&](const std::vector<Mutation>& mutations) {
      for (const Mutation& mutation : mutations) rows_ += std::holds_alternative<HistoryEntry>(mutation) ? 0 : 1;
      return store_.Commit(epoch_, mutations);
    });
    sync_.merge(result.sync);
    return std::move(result.replies);
  }

  JobId Submit(std::uint32_t nodes, std::uint32_t jobs = 1) {
    SubmitJobs submit;
    submit.user = "ann";
    JobSpec spec;
    spec.name = "bench";
    spec.workdir = "/";
    spec.run = "train";
    spec.nodes = nodes;
    submit.specs.assign(jobs, spec);
    return Do(submit).jobs.at(0);
  }

  // What starts runs, what is asked to leave saves and leaves.
  void Settle() {
    while (!sync_.empty()) {
      std::vector<Event> batch;
      for (const NodeId node : std::exchange(sync_, {})) batch.push_back({++seq_, now_, Obey(node)});
      DriveBatch(batch);
    }
  }

  // Every rank of every node is at that step.
  void StepAll(std::int64_t step) {
    std::vector<Event> batch;
    for (auto& [node, tasks] : tasks_) {
      for (ObservedTask& task : tasks) {
        for (Rank& rank : task.ranks) rank.step = step;
      }
      batch.push_back({++seq_, now_, NodeReported{node, state_.liveness.at(node).session, true, tasks}});
      if (batch.size() == 2'000) DriveBatch(std::exchange(batch, {}));
    }
    if (!batch.empty()) DriveBatch(batch);
  }

  void Pass(Duration time) { now_ = now_ + time; }
  std::size_t rows() const { return rows_; }
  const ClusterState& state() const { return state_; }
  store::MemoryStore& store() { return store_; }
  const store::MemoryData& data() const { return *data_; }

 private:
  NodeReported Obey(NodeId node) {
    std::vector<ObservedTask>& tasks = tasks_[node];
    tasks.clear();
    for (const DesiredTask& want : DesiredFor(state_.tables(), node)) {
      ObservedTask& seen = tasks.emplace_back();
      seen.id = want.id;
      seen.ranks = state_.FindTask(want.id)->ranks;
      const bool leaves = want.stop || want.interrupt;
      seen.phase = leaves ? TaskPhase::kReleased : TaskPhase::kRunning;
      for (Rank& rank : seen.ranks) {
        rank.connected = !leaves;
        rank.leaving = rank.exited = leaves;
      }
    }
    return NodeReported{node, state_.liveness.at(node).session, true, tasks};
  }

  Policy policy_;
  ClusterState state_;
  std::shared_ptr<store::MemoryData> data_ = std::make_shared<store::MemoryData>();
  store::MemoryStore store_{data_};
  std::uint64_t epoch_ = 0;
  TimePoint now_{1'700'000'000'000};
  std::uint64_t seq_ = 0;
  std::size_t rows_ = 0;
  std::set<NodeId> sync_;
  std::map<NodeId, std::vector<ObservedTask>> tasks_;
};

void MeasureSteps(const Options& options, std::uint32_t nodes_a_job) {
  World world(options.nodes);
  world.Submit(nodes_a_job, options.nodes / nodes_a_job);
  world.Settle();
  world.StepAll(1);  // the first step ends a start, and is stored
  const std::size_t before = world.rows();
  const double begin = ThreadMilliseconds();
  for (std::uint32_t second = 0; second < options.seconds; ++second) {
    world.Pass(Seconds(1));
    world.StepAll(2 + second);
  }
  const double ms = ThreadMilliseconds() - begin;
  std::printf("{\"part\":\"steps\",\"nodes\":%u,\"nodes_a_job\":%u,\"rows_a_second\":%.1f,\"cpu_ms_a_second\":%.1f}\n",
              options.nodes, nodes_a_job, static_cast<double>(world.rows() - before) / options.seconds,
              ms / options.seconds);
}

struct Stored {
  std::size_t rows = 0;
  std::size_t bytes = 0;
};

Stored StoredOf(const store::MemoryData& data, std::string_view kind) {
  Stored stored;
  for (const auto& [key, body] : data.rows) {
    if (key.first != kind) continue;
    ++stored.rows;
    stored.bytes += key.first.size() + key.second.size() + body.size();
  }
  return stored;
}

void MeasureAttempts(const Options& options) {
  World world(options.gang);
  const JobId job = world.Submit(options.gang);
  world.Settle();
  while (world.state().FindJob(job)->attempts < options.attempts) {
    world.Do(SuspendJob{job, "ann"});
    world.Settle();
    world.Pass(Minutes(144));
    world.Do(ResumeJob{job, "ann"});
    world.Settle();
  }
  const Stored jobs = StoredOf(world.data(), "job");
  const Stored attempts = StoredOf(world.data(), "attempt");
  const Stored tasks = StoredOf(world.data(), "task");
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double begin = ThreadMilliseconds();
    if (!world.store().Load().ok()) std::abort();
    best = std::min(best, ThreadMilliseconds() - begin);
  }
  std::printf(
      "{\"part\":\"attempts\",\"nodes\":%u,\"attempts\":%u,\"attempt_rows\":%zu,\"task_rows\":%zu,\"bytes\":%zu,"
      "\"load_ms\":%.1f}\n",
      options.gang, options.attempts, attempts.rows, tasks.rows, jobs.bytes + attempts.bytes + tasks.bytes, best);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Rows stored while jobs step, and what is kept of a job with many attempts, as lines of JSON"};
  Options options;
  app.add_option("--nodes", options.nodes)->check(CLI::Range(64, 100'000))->capture_default_str();
  app.add_option("--gang", options.gang)->check(CLI::Range(1, 10'000))->capture_default_str();
  app.add_option("--attempts", options.attempts)->check(CLI::Range(1, 100'000))->capture_default_str();
  app.add_option("--seconds", options.seconds)->check(CLI::Range(1, 100'000))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a figure is told as soon as it is known
  MeasureSteps(options, 1);
  MeasureSteps(options, std::min(options.gang, options.nodes));
  MeasureAttempts(options);
  return 0;
}
