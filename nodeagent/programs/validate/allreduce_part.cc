#include "nodeagent/programs/validate/allreduce_part.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <memory>

#include "nodeagent/programs/validate/node_shape.h"
#include "nodeagent/programs/validate/stopwatch.h"
#include "sdk/hfreduce/communicator/communicator.h"
#include "sdk/hfreduce/rendezvous/tcp_store.h"
#include "sdk/io/unique_fd.h"

namespace glim::validate {
namespace {

constexpr std::size_t kElements = 4 << 20;  // 16 MiB of fp32 a rank
constexpr std::uint32_t kRanksMost = 8;
constexpr int kQuickTimes = 5;
constexpr int kFullTimes = 50;
constexpr int kPatienceMs = 120'000;

// What a rank writes into its pipe when it is done.
struct Outcome {
  double seconds = 0;  // of the best one
  char wrong[160] = {};
  char error[160] = {};
};

float ValueOf(std::uint32_t rank, std::size_t i) { return static_cast<float>((rank + 1) * (1 + i % 7)); }

// Small whole numbers: their sum is exact in fp32 in whatever order it is made.
std::string FirstWrongSum(const std::vector<float>& sums, std::uint32_t ranks) {
  const std::uint32_t of_ranks = ranks * (ranks + 1) / 2;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto wanted = static_cast<float>(of_ranks * (1 + i % 7));
    if (sums[i] == wanted) continue;
    return "a wrong sum at element " + std::to_string(i) + ": " + std::to_string(sums[i]) + " for " +
           std::to_string(wanted);
  }
  return "";
}

Status ReduceAsRank(std::uint32_t rank, std::uint32_t ranks, std::uint16_t port, int times, Outcome& outcome) {
  const auto store = hfreduce::TcpStore::Create({.host = "127.0.0.1", .port = port});
  if (!store.ok()) return store.status();
  hfreduce::CommunicatorOptions options;
  options.id = "validate";
  options.log = [](const std::string&) {};
  auto all = hfreduce::Communicator::Create(hfreduce::EvenTopology({1}, ranks), rank, **store, options);
  if (!all.ok()) return all.status();
  std::vector<float> in(kElements), out(kElements);
  for (std::size_t i = 0; i < kElements; ++i) in[i] = ValueOf(rank, i);
  outcome.seconds = 1e9;
  for (int time = 0; time < times; ++time) {
    if (Status ready = (*all)->Barrier().Wait(); !ready.ok()) return ready;
    const Stopwatch watch;
    hfreduce::Handle handle = (*all)->AllReduce(std::as_bytes(std::span(in)), std::as_writable_bytes(std::span(out)),
                                                DType::kF32, hfreduce::ReduceOp::kSum);
    if (Status done = handle.Wait(); !done.ok()) return done;
    outcome.seconds = std::min(outcome.seconds, watch.Seconds());
    const std::string wrong = FirstWrongSum(out, ranks);
    if (!wrong.empty() && outcome.wrong[0] == '\0')
      std::strncpy(outcome.wrong, wrong.c_str(), sizeof outcome.wrong - 1);
  }
  return (*all)->Barrier().Wait();
}

// In the child. Does not return.
[[noreturn]] void RankProcess(std::uint32_t rank, std::uint32_t ranks, int times, int port_pipe, int result_pipe) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Outcome outcome;
  std::uint16_t port = 0;
  if (::read(port_pipe, &port, sizeof port) == sizeof port) {
    const Status status = ReduceAsRank(rank, ranks, port, times, outcome);
    if (!status.ok()) std::strncpy(outcome.error, status.message().c_str(), sizeof outcome.error - 1);
  } else {
    std::strncpy(outcome.error, "the parent is gone", sizeof outcome.error - 1);
  }
  (void)!::write(result_pipe, &outcome, sizeof outcome);
  ::_exit(0);
}

struct Child {
  pid_t pid = -1;
  UniqueFd port;    // written by the parent
  UniqueFd result;  // read by the parent
};

Result<Child> StartRank(std::uint32_t rank, std::uint32_t ranks, int times) {
  std::array<int, 2> port{}, result{};
  if (::pipe(port.data()) != 0) return Status(StatusCode::kUnavailable, "no pipe can be made");
  UniqueFd port_read(port[0]), port_write(port[1]);
  if (::pipe(result.data()) != 0) return Status(StatusCode::kUnavailable, "no pipe can be made");
  UniqueFd result_read(result[0]), result_write(result[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return Status(StatusCode::kUnavailable, "no process can be started");
  if (pid == 0) RankProcess(rank, ranks, times, port_read.get(), result_write.get());
  return Child{pid, std::move(port_write), std::move(result_read)};
}

// A rank that hangs is killed; the others then say who is missing.
Outcome Await(Child& child) {
  Outcome outcome;
  pollfd ready{child.result.get(), POLLIN, 0};
  if (::poll(&ready, 1, kPatienceMs) <= 0) ::kill(child.pid, SIGKILL);
  if (::read(child.result.get(), &outcome, sizeof outcome) != sizeof outcome) {
    std::strncpy(outcome.error, "a rank has died, or hung", sizeof outcome.error - 1);
  }
  ::waitpid(child.pid, nullptr, 0);
  return outcome;
}

}  // namespace

Readings MeasureAllreduce(const Options& options) {
  const auto ranks = std::clamp(static_cast<std::uint32_t>(AllowedCpus().size()), 2U, kRanksMost);
  std::vector<Child> children;
  std::string error;
  for (std::uint32_t rank = 0; rank < ranks && error.empty(); ++rank) {
    Result<Child> child = StartRank(rank, ranks, options.full ? kFullTimes : kQuickTimes);
    if (child.ok()) children.push_back(std::move(*child));
    if (!child.ok()) error = child.status().message();
  }
  // Threads only now: no child has a copy of one.
  auto store = hfreduce::TcpStore::Create({.host = "127.0.0.1", .port = 0, .serve = true});
  if (!store.ok()) error = store.status().message();
  const std::uint16_t port = store.ok() ? (*store)->port() : 0;
  for (Child& child : children) {
    if (error.empty() && ::write(child.port.get(), &port, sizeof port) != sizeof port) error = "a rank has died";
    child.port.Reset();
  }
  Reading reading{
      .part = "allreduce", .what = "sum", .device = std::to_string(ranks) + " processes", .wrong = {}, .note = {}};
  double slowest = 0;
  for (Child& child : children) {
    const Outcome outcome = Await(child);
    slowest = std::max(slowest, outcome.seconds);
    if (error.empty()) error = outcome.error;
    if (reading.wrong.empty()) reading.wrong = outcome.wrong;
  }
  if (!error.empty()) return Status(StatusCode::kUnavailable, error);
  reading.value = static_cast<double>(kElements * sizeof(float)) / slowest / 1e9;
  return std::vector<Reading>{std::move(reading)};
}

}  // namespace glim::validate
