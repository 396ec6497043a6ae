// glim-bench-stream: what pages that watch cost. A real scheduler with simulated agents starts so many jobs a second,
// first without watchers and then with them: each holds GET /v1/stream open from an address of its own kind. Tells the
// processor time of the HTTP port's threads, what a submission takes both times, and how old a job is when the first
// frame of it is read. The programs share this machine's cores. Prints one line of JSON.
#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "glim/v1/client_api.grpc.pb.h"
#include "tests/bench/agent_hello.h"
#include "tests/bench/bench_agents.h"
#include "tests/bench/bench_jobs.h"
#include "tests/bench/brief_tasks.h"
#include "tests/bench/scheduler_process.h"

namespace glim::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kClusterId[] = "glim-bench-stream";
constexpr std::uint32_t kAddresses = 16;  // of 127.0.0.0/8: an address has 128 connections
static_assert(kUsers * 64 >= 1000, "a user has 64 streams");

struct Options {
  std::string scheduler;  // the program
  std::string folder;     // for its store, ports and log
  std::string topics = "nodes,queue";
  std::uint32_t agents = 1250;
  int watchers = 500;
  int rate = 100;  // jobs a second
  double seconds = 20;
};

int Fail(const std::string& what) {
  std::fprintf(stderr, "glim-bench-stream: %s\n", what.c_str());
  return 1;
}

double Percentile(std::vector<double> values, double part) {
  if (values.empty()) return -1;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<std::size_t>(part * static_cast<double>(values.size())))];
}

// Processor time of a process's threads whose names begin so.
double ThreadSeconds(int pid, const std::string& name) {
  double seconds = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", ignored)) {
    std::string line;
    std::getline(std::ifstream(entry.path() / "stat"), line);
    const std::size_t open = line.find('('), close = line.rfind(')');
    if (close == std::string::npos || line.compare(open + 1, name.size(), name) != 0) continue;
    std::istringstream rest(line.substr(close + 2));
    std::string word;
    for (int field = 3; field < 14 && rest >> word; ++field) {
    }
    double user = 0, system = 0;
    rest >> user >> system;
    seconds += (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
  return seconds;
}

// Reads all streams in one thread. A few are looked into; of the others the bytes are counted.
class Watchers {
 public:
  static constexpr int kLookedInto = 8;

  ~Watchers() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    for (const int socket : sockets_) ::close(socket);
    if (epoll_ >= 0) ::close(epoll_);
  }

  // False: one of them could not connect.
  bool Open(int port, const Options& options) {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < options.watchers; ++i) {
      const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockets_.push_back(socket);
      sockaddr_in from{}, to{};
      from.sin_family = to.sin_family = AF_INET;
      from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + static_cast<std::uint32_t>(i) % kAddresses);
      to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      to.sin_port = htons(static_cast<std::uint16_t>(port));
      if (::bind(socket, reinterpret_cast<sockaddr*>(&from), sizeof from) != 0) return false;
      if (::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) return false;
      const std::string request = "GET /v1/stream?topics=" + options.topics +
                                  " HTTP/1.1\r\nHost: 127.0.0.1\r\nGlim-User: bench" + std::to_string(i % kUsers) +
                                  "\r\n\r\n";
      if (::send(socket, request.data(), request.size(), MSG_NOSIGNAL) < 0) return false;
      epoll_event event{EPOLLIN, {.u32 = static_cast<std::uint32_t>(i)}};
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event);
    }
    waiting_.resize(kLookedInto);
    thread_ = std::thread([this] { Read(); });
    return true;
  }

  std::int64_t bytes() const { return bytes_; }
  std::int64_t reads() const { return reads_; }
  int ended() const { return ended_; }
  int begun() const { return begun_; }
  void Measure(bool on) { measuring_ = on; }
  // After the end.
  std::vector<double> Ages() {
    stop_ = true;
    thread_.join();
    return ages_ms_;
  }

 private:
  void Read() {
    std::vector<char> buffer(std::size_t{1} << 20);
    std::vector<bool> seen(sockets_.size());
    epoll_event events[64];
    while (!stop_) {
      const int ready = ::epoll_wait(epoll_, events, 64, 50);
      for (int i = 0; i < ready; ++i) {
        const std::uint32_t at = events[i].data.u32;
        const ssize_t got = ::recv(sockets_[at], buffer.data(), buffer.size(), 0);
        if (got <= 0) {
          ::epoll_ctl(epoll_, EPOLL_CTL_DEL, sockets_[at], nullptr);
          ++ended_;
          continue;
        }
        if (!seen[at]) ++begun_;
        seen[at] = true;
        bytes_ += got;
        ++reads_;
        if (at < kLookedInto) Look(&waiting_[at], std::string_view(buffer.data(), static_cast<std::size_t>(got)));
      }
    }
  }

  // How old the jobs are that a frame shows for the first time.
  void Look(std::string* waiting, std::string_view bytes) {
    static constexpr std::string_view kField = "\"submitted_at_ms\":";
    *waiting += bytes;
    const std::int64_t now = NowMs();
    for (std::size_t end = 0; (end = waiting->find("\n\n")) != std::string::npos; waiting->erase(0, end + 2)) {
      const std::string_view frame = std::string_view(*waiting).substr(0, end);
      if (!measuring_ || frame.find("\"reset\"") != std::string_view::npos) continue;
      for (std::size_t at = 0; (at = frame.find(kField, at)) != std::string_view::npos; ++at) {
        ages_ms_.push_back(static_cast<double>(now - std::atoll(frame.data() + at + kField.size())));
      }
    }
  }

  int epoll_ = -1;
  std::vector<int> sockets_;
  std::vector<std::string> waiting_;
  std::vector<double> ages_ms_;
  std::atomic<std::int64_t> bytes_ = 0, reads_ = 0;
  std::atomic<int> ended_ = 0, begun_ = 0;
  std::atomic<bool> measuring_ = false, stop_ = false;
  std::thread thread_;
};

struct Phase {
  std::vector<double> submit_ms;
  double http_seconds = 0;
  double seconds = 0;
};

// One job after the other, at the rate; what fails is said in words.
std::string SubmitAll(const Options& options, v1::ClientApi::Stub* stub, int pid, Phase* phase) {
  const auto begin = Clock::now();
  const double cpu = ThreadSeconds(pid, "http");
  const int jobs = static_cast<int>(options.seconds * options.rate);
  for (int i = 0; i < jobs; ++i) {
    std::this_thread::sleep_until(begin + std::chrono::microseconds(std::int64_t{1'000'000} * i / options.rate));
    v1::SubmitRequest request;
    *request.add_specs() = MakeSpec(1, 8);
    grpc::ClientContext context;
    AskAs(i % kUsers, &context);
    v1::SubmitResponse response;
    const auto asked = Clock::now();
    if (const grpc::Status status = stub->Submit(&context, request, &response); !status.ok()) {
      return "Submit: " + status.error_message();
    }
    phase->submit_ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - asked).count());
  }
  phase->seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  phase->http_seconds = ThreadSeconds(pid, "http") - cpu;
  return {};
}

int Run(const Options& options) {
  const std::string port_file = options.folder + "/http-port";
  SchedulerProcess scheduler(
      options.scheduler, "sqlite:" + options.folder + "/glim.db", options.folder,
      {"--cluster-id", kClusterId, "--listen-http", "127.0.0.1:0", "--http-port-file", port_file});
  const int port = scheduler.WaitPort();
  int http_port = 0;
  std::ifstream(port_file) >> http_port;
  if (port == 0 || http_port == 0) return Fail("the scheduler did not serve: see " + options.folder);
  const auto stub = v1::ClientApi::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  std::atomic<std::int64_t> launched_jobs = 0;
  BenchAgents agents({"127.0.0.1:" + std::to_string(scheduler.AgentsPort()), options.agents,
                      [](std::uint32_t n) { return MakeHello(kClusterId, "node-" + std::to_string(n), n); },
                      [&](std::uint32_t) { return std::make_unique<BriefTasks>(true, &launched_jobs); }});
  if (!agents.WaitReported(kPatience)) return Fail(agents.error());

  Phase warm, without, with;
  Options warm_up = options;
  warm_up.seconds = 3;
  const int pid = scheduler.pid();
  if (const std::string error = SubmitAll(warm_up, stub.get(), pid, &warm); !error.empty()) return Fail(error);
  if (const std::string error = SubmitAll(options, stub.get(), pid, &without); !error.empty()) return Fail(error);
  Watchers watchers;
  if (!watchers.Open(http_port, options)) return Fail("a watcher could not connect");
  if (const std::string error = SubmitAll(warm_up, stub.get(), pid, &warm); !error.empty()) return Fail(error);
  const std::int64_t bytes = watchers.bytes(), reads = watchers.reads();
  const std::int64_t launched = launched_jobs;
  watchers.Measure(true);
  if (const std::string error = SubmitAll(options, stub.get(), pid, &with); !error.empty()) return Fail(error);
  const std::int64_t starts = launched_jobs - launched;
  if (watchers.begun() < options.watchers || watchers.ended() > 0) {
    return Fail(std::to_string(watchers.begun()) + " streams began and " + std::to_string(watchers.ended()) + " ended");
  }
  const double read_mib = static_cast<double>(watchers.bytes() - bytes) / (1 << 20);
  const double per_watcher = static_cast<double>(watchers.reads() - reads) / options.watchers / with.seconds;
  const std::vector<double> ages = watchers.Ages();
  const double before = Percentile(without.submit_ms, 0.99), after = Percentile(with.submit_ms, 0.99);
  std::printf(
      "{\"agents\": %u, \"watchers\": %d, \"starts_per_second\": %.1f, \"http_cores\": %.4f, "
      "\"http_cores_without\": %.4f, \"mib_per_second\": %.2f, \"reads_per_watcher_second\": %.2f, "
      "\"submit_p50_ms_without\": %.3f, \"submit_p99_ms_without\": %.3f, \"submit_p50_ms\": %.3f, "
      "\"submit_p99_ms\": %.3f, \"submit_p99_ratio\": %.3f, \"frame_p50_ms\": %.1f, \"frame_p99_ms\": %.1f, "
      "\"frames_of\": %zu}\n",
      options.agents, options.watchers, static_cast<double>(starts) / with.seconds, with.http_seconds / with.seconds,
      without.http_seconds / without.seconds, read_mib / with.seconds, per_watcher, Percentile(without.submit_ms, 0.5),
      before, Percentile(with.submit_ms, 0.5), after, after / before, Percentile(ages, 0.5), Percentile(ages, 0.99),
      ages.size());
  return 0;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("What pages that watch the scheduler cost", "glim-bench-stream");
  app.add_option("--scheduler", options.scheduler, "the program")->required()->check(CLI::ExistingFile);
  app.add_option("--folder", options.folder, "a new one, for its store, ports and log")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--topics", options.topics)->capture_default_str();
  app.add_option("--agents", options.agents)->check(CLI::Range(1, 5000))->capture_default_str();
  app.add_option("--watchers", options.watchers)->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--rate", options.rate, "jobs a second")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--seconds", options.seconds, "each way")->check(CLI::Range(0.5, 120.0))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return Run(options);
}

}  // namespace
}  // namespace glim::bench

int main(int argc, char** argv) { return glim::bench::Main(argc, argv); }
