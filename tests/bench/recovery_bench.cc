// glim-bench-recovery: how long a scheduler takes to come back. `fill` writes a store that a busy cluster might have
// left behind; `measure` starts the real scheduler on it, asks it for its jobs as soon as it answers, lets all agents
// come back at once, and ends it again. Prints one line of JSON.
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>

#include "glim/v1/client_api.grpc.pb.h"
#include "tests/bench/agent_hello.h"
#include "tests/bench/recovery_agents.h"
#include "tests/bench/recovery_fill.h"
#include "tests/bench/scheduler_process.h"

namespace glim::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{120};

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
  context.AddMetadata("glim-user", "bench");
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  v1::ListJobsResponse response;
  const grpc::Status status = stub->ListJobs(&context, {}, &response);
  *jobs = response.jobs_size();
  return status;
}

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
  RecoveryAgents agents("127.0.0.1:" + std::to_string(scheduler.AgentsPort()), options.agents,
                        [](std::uint32_t number) { return MakeHello(kClusterId, NodeName(number), number); });
  RecoveryAgents::Times times;
  if (!agents.Wait(kPatience, &times)) return Fail(agents.error());
  std::printf(
      "{\"exec_to_first_list_jobs_ms\": %.1f, \"exec_to_first_start_ms\": %.1f, "
      "\"exec_to_all_agents_reported_ms\": %.1f, \"agents\": %u}\n",
      Milliseconds(began, served), Milliseconds(began, times.first_start), Milliseconds(began, times.all_reported),
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
