// glim-bench-recovery: how long a scheduler takes to come back. `fill` writes a store that a busy cluster might have
// left behind; `measure` starts the real scheduler on it, asks it for its jobs as soon as it answers, lets all agents
// come back at once, and ends it again. Prints one line of JSON.
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "glim/v1/client_api.grpc.pb.h"
#include "tests/bench/recovery_agents.h"
#include "tests/bench/recovery_fill.h"

extern char** environ;

namespace glim::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{120};

struct MeasureOptions {
  std::string scheduler;  // the program
  std::string store;
  std::string folder;     // for its port file and log
  std::uint32_t agents = 1000;
};

int Fail(const std::string& what) {
  std::fprintf(stderr, "glim-bench-recovery: %s\n", what.c_str());
  return 1;
}

// The scheduler's process: ended with it, by SIGTERM and, if that does not help, SIGKILL.
class Scheduler {
 public:
  explicit Scheduler(const MeasureOptions& options) : port_file_(options.folder + "/port") {
    const std::string log = options.folder + "/scheduler.log";
    std::vector<std::string> words = {options.scheduler, "--listen", "127.0.0.1:0", "--store", options.store,
                                      "--port-file", port_file_, "--log-level", "error", "--config",
                                      options.folder + "/scheduler.yaml"};
    std::ofstream(options.folder + "/scheduler.yaml") << "metrics: none\n";
    ::unlink(port_file_.c_str());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (::posix_spawn(&pid_, options.scheduler.c_str(), &actions, nullptr, argv.data(), environ) != 0) pid_ = -1;
    ::posix_spawn_file_actions_destroy(&actions);
  }

  ~Scheduler() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGTERM);
    const auto end = Clock::now() + std::chrono::seconds(10);
    while (IsRunning() && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  bool IsRunning() {
    if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
    return pid_ > 0;
  }

  // The port that it serves; 0 if it ended instead, or took too long.
  int WaitPort() {
    const auto end = Clock::now() + kPatience;
    for (int port = 0; IsRunning() && Clock::now() < end;) {
      if (std::ifstream(port_file_) >> port) return port;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return 0;
  }

 private:
  const std::string port_file_;
  pid_t pid_ = -1;
};

v1::Hello MakeHello(std::uint32_t number) {
  const std::string zone = number % 2 ? "A" : "B";
  v1::Hello hello;
  hello.set_protocol_version(1);
  hello.set_cluster_id(kClusterId);
  hello.set_node_name(NodeName(number));
  hello.set_machine_id("machine-of-" + NodeName(number));
  hello.set_boot_id("boot-1");
  hello.mutable_labels()->set_pool("default");
  hello.mutable_labels()->set_zone(zone);
  hello.mutable_labels()->set_leaf(zone + std::to_string(number / 2 % 16));
  hello.mutable_labels()->set_gpu_type("A100");
  hello.mutable_labels()->set_gpu_count(8);
  hello.mutable_labels()->set_nvlink("none");
  hello.mutable_labels()->set_nic("infiniband");
  hello.mutable_labels()->set_simulated_gpus(true);
  hello.set_address("127.0.0.1");
  hello.set_agent_version("0.1.0");
  hello.set_runtime("process");
  return hello;
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
  Scheduler scheduler(options);
  const int port = scheduler.WaitPort();
  if (port == 0) return Fail("the scheduler did not serve: see " + options.folder + "/scheduler.log");
  const std::string server = "127.0.0.1:" + std::to_string(port);
  int jobs = 0;
  const grpc::Status listed = ListJobs(server, &jobs);
  const auto served = Clock::now();
  if (!listed.ok() || jobs == 0) return Fail("ListJobs: " + listed.error_message());
  RecoveryAgents agents(server, options.agents, MakeHello);
  RecoveryAgents::Times times;
  if (!agents.Wait(kPatience, &times)) return Fail(agents.error());
  std::printf("{\"exec_to_first_list_jobs_ms\": %.1f, \"exec_to_first_start_ms\": %.1f, "
              "\"exec_to_all_agents_reported_ms\": %.1f, \"agents\": %u}\n",
              Milliseconds(began, served), Milliseconds(began, times.first_start),
              Milliseconds(began, times.all_reported), options.agents);
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
