// glim-bench-starts: how many jobs a second a real scheduler starts and sees end, with its store on disk. Simulated
// agents end their tasks at once; jobs of 1 to 16 nodes are submitted in batches, so that some always wait. What is
// counted is what the scheduler's history says afterwards. Prints one line of JSON.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>

#include "glim/v1/client_api.grpc.pb.h"
#include "sdk/base/rng.h"
#include "tests/bench/agent_hello.h"
#include "tests/bench/bench_agents.h"
#include "tests/bench/bench_jobs.h"
#include "tests/bench/brief_tasks.h"
#include "tests/bench/scheduler_process.h"

namespace glim::bench {
namespace {

constexpr char kClusterId[] = "glim-bench-starts";
constexpr std::uint32_t kGpusPerNode = 8;

struct Options {
  std::string scheduler;  // the program
  std::string folder;     // for its store, port and log
  std::uint32_t agents = 1250;
  std::uint32_t nodes_max = 16;
  std::int64_t queued = 2000;
  int batch = 100;
  double seconds = 10;
  double warm_up = 10;  // small jobs go first: until those that start are as large as those that come
  bool ends_only = false;
  std::uint64_t seed = 1;
  std::string metrics = "none";  // where the scheduler serves them
};

struct Told {  // by the scheduler, of the measured time
  std::int64_t succeeded = 0;
  std::int64_t others = 0;
  std::int64_t started = 0;
  std::int64_t node_starts = 0;
};

int Fail(const std::string& what) {
  std::fprintf(stderr, "glim-bench-starts: %s\n", what.c_str());
  return 1;
}

class Client {
 public:
  Client(const std::string& server, const Options& options)
      : options_(options),
        stub_(v1::ClientApi::NewStub(grpc::CreateChannel(server, grpc::InsecureChannelCredentials()))),
        rng_(options.seed) {}

  grpc::Status SubmitBatch() {
    v1::SubmitRequest request;
    for (int i = 0; i < options_.batch; ++i) {
      *request.add_specs() = MakeSpec(static_cast<std::uint32_t>(rng_.Between(1, options_.nodes_max)), kGpusPerNode);
    }
    grpc::ClientContext context;
    AskAs(batches_++ % kUsers, &context);
    v1::SubmitResponse response;
    const grpc::Status status = stub_->Submit(&context, request, &response);
    if (status.ok()) submitted_ += response.job_ids_size();
    return status;
  }

  std::int64_t submitted() const { return submitted_; }

  // The history of [from_ms, to_ms), newest first, until it gets older than that.
  grpc::Status Count(std::int64_t from_ms, std::int64_t to_ms, Told* told) {
    v1::ListHistoryRequest request;
    request.set_page_size(1000);
    while (true) {
      grpc::ClientContext context;
      AskAs(0, &context);
      v1::ListHistoryResponse response;
      if (grpc::Status status = stub_->ListHistory(&context, request, &response); !status.ok()) return status;
      for (const v1::EndedJob& job : response.jobs()) {
        if (job.started_at_ms() >= from_ms && job.started_at_ms() < to_ms) {
          ++told->started;
          told->node_starts += job.nodes();
        }
        if (job.ended_at_ms() < from_ms) return grpc::Status::OK;
        if (job.ended_at_ms() >= to_ms) continue;
        ++(job.state() == "succeeded" ? told->succeeded : told->others);
      }
      if (response.next_page_token().empty()) return grpc::Status::OK;
      request.set_page_token(response.next_page_token());
    }
  }

 private:
  const Options& options_;
  const std::unique_ptr<v1::ClientApi::Stub> stub_;
  Rng rng_;
  int batches_ = 0;
  std::int64_t submitted_ = 0;
};

struct Window {
  std::int64_t from_ms = 0;
  std::int64_t to_ms = 0;
  std::int64_t reports = 0;
  double cpu_seconds = 0;  // of the scheduler
  std::int64_t queued_min = std::numeric_limits<std::int64_t>::max();
};

// Keeps the queue filled for so long. What fails is said in words; empty if nothing did.
std::string KeepBusy(const Options& options, const SchedulerProcess& scheduler, Client& client, BenchAgents& agents,
                     const std::atomic<std::int64_t>& launched, Window* window) {
  const std::int64_t begin = NowMs();
  const std::int64_t from = begin + static_cast<std::int64_t>(options.warm_up * 1000);
  const std::int64_t to = from + static_cast<std::int64_t>(options.seconds * 1000);
  for (std::int64_t now = begin; now < to; now = NowMs()) {
    const std::int64_t queued = client.submitted() - launched;
    if (now >= from && window->from_ms == 0) {
      window->from_ms = now;
      window->reports = agents.reports();
      window->cpu_seconds = scheduler.CpuSeconds();
    }
    if (window->from_ms != 0) window->queued_min = std::min(window->queued_min, queued);
    if (queued > options.queued - options.batch) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else if (const grpc::Status status = client.SubmitBatch(); !status.ok()) {
      return "Submit: " + status.error_message();
    }
  }
  window->to_ms = NowMs();
  window->reports = agents.reports() - window->reports;
  window->cpu_seconds = scheduler.CpuSeconds() - window->cpu_seconds;
  return agents.error();
}

int Run(const Options& options) {
  SchedulerProcess scheduler(options.scheduler, "sqlite:" + options.folder + "/glim.db", options.folder,
                             {"--cluster-id", kClusterId, "--metrics", options.metrics});
  const int port = scheduler.WaitPort();
  if (port == 0) return Fail("the scheduler did not serve: see " + options.folder + "/scheduler.log");
  const std::string server = "127.0.0.1:" + std::to_string(port);
  Client client(server, options);
  Window window;
  {
    std::atomic<std::int64_t> launched = 0;
    BenchAgents agents({"127.0.0.1:" + std::to_string(scheduler.AgentsPort()), options.agents,
                        [](std::uint32_t n) { return MakeHello(kClusterId, "node-" + std::to_string(n), n); },
                        [&](std::uint32_t) { return std::make_unique<BriefTasks>(!options.ends_only, &launched); }});
    if (!agents.WaitReported(kPatience)) return Fail(agents.error());
    const std::string error = KeepBusy(options, scheduler, client, agents, launched, &window);
    if (!error.empty()) return Fail(error);
  }
  Told told;
  const grpc::Status counted = client.Count(window.from_ms, window.to_ms, &told);
  if (!counted.ok()) return Fail("ListHistory: " + counted.error_message());
  if (told.others > 0) return Fail(std::to_string(told.others) + " jobs ended otherwise than by success");
  const double seconds = static_cast<double>(window.to_ms - window.from_ms) / 1000;
  const auto rate = [&](std::int64_t count) { return static_cast<double>(count) / seconds; };
  std::printf(
      "{\"agents\": %u, \"nodes_max\": %u, \"reports_a_task\": %d, \"seconds\": %.3f, \"succeeded\": %lld, "
      "\"jobs_per_second\": %.1f, \"starts_per_second\": %.1f, \"node_starts_per_second\": %.1f, "
      "\"reports_per_second\": %.1f, \"queued_min\": %lld, \"scheduler_cpu_ms_per_job\": %.3f}\n",
      options.agents, options.nodes_max, options.ends_only ? 1 : 2, seconds, static_cast<long long>(told.succeeded),
      rate(told.succeeded), rate(told.started), rate(told.node_starts), rate(window.reports),
      static_cast<long long>(window.queued_min),
      window.cpu_seconds * 1000 / static_cast<double>(std::max<std::int64_t>(1, told.succeeded)));
  return 0;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Jobs a second that a scheduler starts and sees end", "glim-bench-starts");
  app.add_option("--scheduler", options.scheduler, "the program")->required()->check(CLI::ExistingFile);
  app.add_option("--folder", options.folder, "a new one, for its store, port and log")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--agents", options.agents)->check(CLI::Range(1, 5000))->capture_default_str();
  app.add_option("--nodes-max", options.nodes_max, "jobs have 1 to so many")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--queued", options.queued, "jobs that wait, about")
      ->check(CLI::Range(100, 40'000))
      ->capture_default_str();
  app.add_option("--batch", options.batch, "jobs a submission")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--seconds", options.seconds, "that are measured")
      ->check(CLI::Range(0.5, 120.0))
      ->capture_default_str();
  app.add_option("--warm-up", options.warm_up, "seconds before that")
      ->check(CLI::Range(0.0, 60.0))
      ->capture_default_str();
  app.add_flag("--ends-only", options.ends_only, "a task's end is all that is reported of it, not that it runs");
  app.add_option("--metrics", options.metrics, "HOST:PORT of the scheduler's metrics, or none")->capture_default_str();
  app.add_option("--seed", options.seed, "of the jobs' sizes")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return Run(options);
}

}  // namespace
}  // namespace glim::bench

int main(int argc, char** argv) { return glim::bench::Main(argc, argv); }
