// glim-bench-reconnect: many agents, each with a certificate and a connection of its own, that come back by themselves
// whenever the scheduler does, with an agent's channel and an agent's pauses. `fill` enrols them; `run` keeps them
// connected until its standard input ends, and prints a line of JSON whenever all are back, have been welcomed, told
// what to run, and have reported, and one when the first of them goes again.
#include <absl/synchronization/mutex.h>
#include <grpcpp/grpcpp.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "glim/v1/agent_api.grpc.pb.h"
#include "nodeagent/identity/scheduler_link.h"
#include "nodeagent/sync/message_sizes.h"
#include "nodeagent/sync/reconnect.h"
#include "tests/bench/agent_hello.h"
#include "tests/bench/reconnect_fill.h"

namespace glim::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kTick = std::chrono::milliseconds(100);
constexpr auto kBeat = std::chrono::seconds(5);

struct RunOptions {
  std::string server;  // the agents' port
  std::string cluster;
  std::string folder;  // as `fill` has written it
  std::uint32_t first = 1;
  std::uint32_t last = 10'000;
};

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The number-th (from 1) of a file of certificates.
std::vector<std::string> CertificatesOf(const std::string& path) {
  const std::string all = TextOf(path);
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----\n";
  std::vector<std::string> found;
  for (std::size_t at = 0, end = 0; (end = all.find(kEnd, at)) != std::string::npos; at = end + kEnd.size()) {
    found.push_back(all.substr(at, end + kEnd.size() - at));
  }
  return found;
}

// Whatever is wanted runs, until it is to stop.
v1::ObservedTask Observe(const v1::DesiredTask& wanted) {
  const bool ended = wanted.has_stop();
  v1::ObservedTask task;
  *task.mutable_attempt() = wanted.attempt();
  task.set_index(wanted.index());
  task.set_phase(ended ? v1::ObservedTask::RELEASED : v1::ObservedTask::RUNNING);
  v1::ObservedRank* const rank = task.add_ranks();
  rank->set_rank(wanted.index());
  rank->set_connected(!ended);
  rank->set_step(-1);
  rank->set_hold(-1);
  rank->set_restored_step(-1);
  rank->set_exited(ended);
  return task;
}

class Fleet;

// One stream of an agent; gRPC's threads call it, and the fleet's. It deletes itself when it has ended.
class Life : public grpc::ClientBidiReactor<v1::AgentMessage, v1::SchedulerMessage> {
 public:
  Life(Fleet* fleet, std::uint32_t number, v1::AgentApi::Stub* stub, const v1::Hello& hello)
      : fleet_(fleet), number_(number) {
    *out_.mutable_hello() = hello;
    stub->async()->Sync(&context_, this);
    StartWrite(&out_);
    StartRead(&in_);
    StartCall();
  }
  void Cancel() { context_.TryCancel(); }
  // A sign of life, once it has been told what it should run.
  void Beat() {
    const std::lock_guard lock(mutex_);
    if (knows_ && !writing_) Report();
  }
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  void Report() {
    writing_ = true;
    again_ = false;
    *out_.mutable_report() = report_;
    StartWrite(&out_);
  }

  Fleet* const fleet_;
  const std::uint32_t number_;
  grpc::ClientContext context_;
  v1::SchedulerMessage in_;
  std::mutex mutex_;  // guards what follows
  v1::AgentMessage out_;
  v1::NodeReport report_;
  bool writing_ = true;  // the hello
  bool again_ = false;   // something is to be reported that the report under way does not say
  bool knows_ = false, told_ = false;
};

class Fleet {
 public:
  explicit Fleet(const RunOptions& options) : options_(options) {
    agents_.reserve(options.last - options.first + 1);
    const std::string key = TextOf(options.folder + "/key.pem");
    const std::string authorities = TextOf(options.folder + "/authorities.pem");
    const std::vector<std::string> certificates = CertificatesOf(options.folder + "/certificates.pem");
    for (std::uint32_t number = options.first; number <= options.last; ++number) {
      const grpc::SslCredentialsOptions tls{authorities, key, certificates.at(number - 1)};
      Agent& agent = agents_.emplace_back(number);
      agent.stub = v1::AgentApi::NewStub(
          nodeagent::ConnectScheduler(options.server, grpc::SslCredentials(tls), nodeagent::kDesiredMessageBytesMax));
      agent.hello = MakeHello(options.cluster, "node-" + std::to_string(number), number);
    }
    ticker_ = std::thread([this] { Run(); });
  }
  ~Fleet() {
    std::unique_lock lock(mutex_);
    ending_ = true;
    for (Agent& agent : agents_) {
      if (agent.life != nullptr) agent.life->Cancel();
    }
    changed_.wait(lock, [this] { return alive_ == 0; });
    lock.unlock();
    ticker_.join();
  }

  void Welcomed(std::uint32_t number) {
    const std::lock_guard lock(mutex_);
    agents_[number - options_.first].pauses.Succeeded();
  }
  void Back() {
    const std::lock_guard lock(mutex_);
    if (++back_ == agents_.size()) Tell("all_back");
  }
  void Ended(std::uint32_t number, bool was_back, const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    if (was_back && back_-- == agents_.size()) Tell("not_all");
    Agent& agent = agents_[number - options_.first];
    agent.life = nullptr;
    agent.again_at = Clock::now() + agent.pauses.Next(nodeagent::Reconnect::IsRefusal(status.error_code()));
    ++ends_[Words(status)];
    --alive_;
    changed_.notify_all();
  }

 private:
  struct Agent {
    explicit Agent(std::uint32_t number) : pauses(number) {}
    std::unique_ptr<v1::AgentApi::Stub> stub;
    v1::Hello hello;
    nodeagent::Reconnect pauses;
    Life* life = nullptr;  // null: between two
    Clock::time_point again_at;
    Clock::time_point beat_at;
  };

  static std::string Words(const grpc::Status& status) {
    return std::to_string(status.error_code()) + " " + status.error_message().substr(0, 80);
  }
  // With how streams ended since it was told last, by their words.
  void Tell(const char* event) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
    const nlohmann::json line = {{"event", event}, {"at_ms", ms}, {"ends", std::exchange(ends_, {})}};
    std::printf("%s\n", line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace).c_str());
    std::fflush(stdout);
  }

  void Run() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
      const auto now = Clock::now();
      for (std::uint32_t i = 0; i < agents_.size(); ++i) {
        Agent& agent = agents_[i];
        if (agent.life == nullptr && now >= agent.again_at) {
          ++alive_;
          agent.beat_at = now + kBeat * (i % 100) / 100;
          agent.life = new Life(this, options_.first + i, agent.stub.get(), agent.hello);
        } else if (agent.life != nullptr && now >= agent.beat_at) {
          agent.beat_at = now + kBeat;
          agent.life->Beat();
        }
      }
      changed_.wait_for(lock, kTick, [this] { return ending_; });
    }
  }

  const RunOptions& options_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::size_t back_ = 0;
  std::vector<Agent> agents_;
  std::size_t alive_ = 0;
  std::map<std::string, std::uint64_t> ends_;
  bool ending_ = false;
  std::thread ticker_;
};

void Life::OnReadDone(bool ok) {
  if (!ok) return;
  if (in_.has_welcome()) fleet_->Welcomed(number_);
  if (in_.has_desired()) {
    const std::lock_guard lock(mutex_);
    knows_ = true;
    report_.Clear();
    report_.set_epoch(in_.desired().epoch());
    report_.set_revision(in_.desired().revision());
    for (const v1::DesiredTask& task : in_.desired().tasks()) *report_.add_tasks() = Observe(task);
    again_ = true;
    if (!writing_) Report();
  }
  StartRead(&in_);
}

void Life::OnWriteDone(bool ok) {
  bool back = false;
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok) return;
    const bool was_hello = out_.has_hello();
    back = !was_hello && !std::exchange(told_, true);
    if (again_) Report();
  }
  if (back) fleet_->Back();
}

void Life::OnDone(const grpc::Status& status) {
  fleet_->Ended(number_, told_, status);
  delete this;
}

int RunFleet(const RunOptions& options) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // as the scheduler's: thousands live in one
  const rlimit files{1 << 16, 1 << 16};
  ::setrlimit(RLIMIT_NOFILE, &files);
  Fleet fleet(options);
  while (std::getchar() != EOF) {
  }
  return 0;
}

int Main(int argc, char** argv) {
  CLI::App app("Agents with certificates that come back", "glim-bench-reconnect");
  app.require_subcommand(1);
  ReconnectFillOptions fill;
  CLI::App* const filling = app.add_subcommand("fill", "enrol nodes in a store that nobody has open");
  filling->add_option("--store", fill.store)->required();
  filling->add_option("--key-file", fill.key_file)->required();
  filling->add_option("--folder", fill.folder)->required();
  filling->add_option("--agents", fill.agents)->check(CLI::Range(1, 20'000))->capture_default_str();
  RunOptions run;
  CLI::App* const running = app.add_subcommand("run", "keep them connected until standard input ends");
  running->add_option("--server", run.server)->required();
  running->add_option("--cluster", run.cluster)->required();
  running->add_option("--folder", run.folder)->required();
  running->add_option("--first", run.first)->capture_default_str();
  running->add_option("--last", run.last)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (running->parsed()) return RunFleet(run);
  const Status filled = FillIdentities(fill);
  if (filled.ok()) return 0;
  std::fprintf(stderr, "glim-bench-reconnect: %s\n", filled.message().c_str());
  return 1;
}

}  // namespace
}  // namespace glim::bench

int main(int argc, char** argv) { return glim::bench::Main(argc, argv); }
