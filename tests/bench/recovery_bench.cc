// glim-bench-recovery: how long a scheduler takes to come back. `fill` writes a store that a busy cluster might have
// left behind; `measure` starts the real scheduler on it, asks it for its jobs as soon as it answers, lets all agents
// come back at once, and ends it again. Prints one line of JSON.
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "glim/v1/client_api.grpc.pb.h"
#include "tests/bench/agent_hello.h"
#include "tests/bench/bench_agents.h"
#include "tests/bench/bench_jobs.h"
#include "tests/bench/recovery_fill.h"
#include "tests/bench/scheduler_process.h"

namespace glim::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct MeasureOptions {
  std::string scheduler;  // the program
  std::string store;
  std::string folder;  // for its port file and log
  std::uint32_t agents = 1000;
};

int Fail(const std::string& what) {
  std::fprintf(stderr, "glim-bench-recovery: %s\n", what.c_str());
  return 1;
}

double Milliseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

// The first page of its jobs, and how many there are on it.
grpc::Status ListJobs(const std::string& server, int* jobs) {
  const auto stub = v1::ClientApi::NewStub(grpc::CreateChannel(server, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  AskAs(0, &context);
  v1::ListJobsResponse response;
  const grpc::Status status = stub->ListJobs(&context, {}, &response);
  *jobs = response.jobs_size();
  return status;
}

// When an agent was first told to launch a job that was waiting.
class FirstStart {
 public:
  void Note() {
    std::lock_guard lock(mutex_);
    if (!at_) at_ = Clock::now();
    changed_.notify_all();
  }
  std::optional<Clock::time_point> Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return at_.has_value(); });
    return at_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Clock::time_point> at_;
};

// A node whose task has run all along. `start`: where its task has ended meanwhile, so that it has room for the next
// job; none otherwise.
class OldTasks final : public BenchNode {
 public:
  explicit OldTasks(FirstStart* start) : start_(start) {}

  void TakeIn(const v1::DesiredState& desired) override {
    tasks_.assign(desired.tasks().begin(), desired.tasks().end());
    for (const v1::DesiredTask& task : tasks_) {
      if (start_ != nullptr && task.has_launch()) start_->Note();
    }
  }

  bool Report(v1::NodeReport* report) override {
    for (const v1::DesiredTask& task : tasks_) {
      Observe(task, start_ != nullptr && !task.has_launch(), report->add_tasks());
    }
    return false;
  }

 private:
  static void Observe(const v1::DesiredTask& wanted, bool ended, v1::ObservedTask* task) {
    *task->mutable_attempt() = wanted.attempt();
    task->set_index(wanted.index());
    task->set_phase(ended ? v1::ObservedTask::RELEASED : v1::ObservedTask::RUNNING);
    auto* rank = task->add_ranks();
    rank->set_rank(wanted.index());
    rank->set_connected(!ended);
    rank->set_step(200);
    rank->set_step_ms(200);
    rank->set_hold(-1);
    rank->set_restored_step(-1);
    rank->set_finished(ended);
    rank->set_exited(ended);
  }

  FirstStart* const start_;
  std::vector<v1::DesiredTask> tasks_;
};

int Measure(const MeasureOptions& options) {
  const auto began = Clock::now();
  SchedulerProcess scheduler(options.scheduler, options.store, options.folder);
  const int port = scheduler.WaitPort();
  if (port == 0) return Fail("the scheduler did not serve: see " + options.folder + "/scheduler.log");
  const std::string server = "127.0.0.1:" + std::to_string(port);
  int jobs = 0;
  const grpc::Status listed = ListJobs(server, &jobs);
  const auto served = Clock::now();
  if (!listed.ok() || jobs == 0) return Fail("ListJobs: " + listed.error_message());
  FirstStart start;
  BenchAgents agents({"127.0.0.1:" + std::to_string(scheduler.AgentsPort()), options.agents,
                      [](std::uint32_t number) { return MakeHello(kClusterId, NodeName(number), number); },
                      [&](std::uint32_t n) { return std::make_unique<OldTasks>(n == 1 ? &start : nullptr); }});
  Clock::time_point all_reported;
  if (!agents.WaitReported(kPatience, &all_reported)) return Fail(agents.error());
  const std::optional<Clock::time_point> first_start = start.Wait();
  if (!first_start) return Fail("no job started" + (agents.error().empty() ? "" : ": " + agents.error()));
  std::printf(
      "{\"exec_to_first_list_jobs_ms\": %.1f, \"exec_to_first_start_ms\": %.1f, "
      "\"exec_to_all_agents_reported_ms\": %.1f, \"agents\": %u}\n",
      Milliseconds(began, served), Milliseconds(began, *first_start), Milliseconds(began, all_reported),
      options.agents);
  return 0;
}

int Main(int argc, char** argv) {
  CLI::App app("How long a scheduler takes to come back", "glim-bench-recovery");
  app.require_subcommand(1);
  FillOptions fill;
  CLI::App* const filling = app.add_subcommand("fill", "write the store of a busy cluster");
  filling->add_option("--store", fill.store, "its URL; a new one")->required();
  filling->add_option("--running", fill.running, "jobs that run, each on its node [1000]")->check(CLI::Range(1, 5000));
  filling->add_option("--queued", fill.queued, "jobs that wait [10000]")->check(CLI::Range(1, 40'000));
  MeasureOptions measure;
  CLI::App* const measuring = app.add_subcommand("measure", "start the scheduler on it, once");
  measuring->add_option("--scheduler", measure.scheduler, "the program")->required()->check(CLI::ExistingFile);
  measuring->add_option("--store", measure.store, "its URL")->required();
  measuring->add_option("--folder", measure.folder, "for its port and log")->required()->check(CLI::ExistingDirectory);
  measuring->add_option("--agents", measure.agents, "as many as jobs run in it [1000]")->check(CLI::Range(1, 5000));
  CLI11_PARSE(app, argc, argv);
  if (measuring->parsed()) return Measure(measure);
  const Status filled = Fill(fill);
  return filled.ok() ? 0 : Fail(filled.message());
}

}  // namespace
}  // namespace glim::bench

int main(int argc, char** argv) { return glim::bench::Main(argc, argv); }
