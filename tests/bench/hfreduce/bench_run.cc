#include "tests/bench/hfreduce/bench_run.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "sdk/hfreduce/kernels/reduce.h"
#include "sdk/hfreduce/rendezvous/tcp_store.h"
#include "sdk/hfreduce/testing/network.h"
#include "tests/bench/hfreduce/bench_rank.h"

namespace glim::hfreduce::bench {
namespace {

// A process for `body`; its exit code is 0 if that returns true.
pid_t Fork(const std::function<bool()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body() ? 0 : 1);
  return pid;
}

bool AllEndedWell(const std::vector<pid_t>& processes) {
  bool well = true;
  for (const pid_t pid : processes) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    well = well && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return well;
}

// A node: a process group, with --netns in a namespace that the parent connects before it says go.
bool RunNode(const Setup& setup, std::uint32_t node, int parent, Board& board) {
  ::setpgid(0, 0);
  if (setup.netns && ::unshare(CLONE_NEWNET) != 0) return false;
  std::uint16_t port = 0;
  if (::write(parent, "n", 1) != 1 || ::read(parent, &port, sizeof port) != sizeof port) return false;
  const Topology topology = setup.topology();
  std::vector<pid_t> ranks;
  for (std::uint32_t i = 0; i < setup.local; ++i) {
    const std::uint32_t rank = topology.FirstRankOf(node) + i;
    ranks.push_back(Fork([&] { return RunRank(setup, rank, port, board); }));
  }
  return AllEndedWell(ranks);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

nlohmann::json LinksOf(const Setup& setup, const Board& board) {
  nlohmann::json links = nlohmann::json::object();
  for (std::uint32_t from = 0; from < setup.nodes; ++from) {
    for (std::uint32_t to = 0; to < setup.nodes; ++to) {
      const std::uint64_t bytes = board.sent(from, to) / setup.iterations;
      if (bytes > 0) links[std::to_string(from) + "-" + std::to_string(to)] = bytes;
    }
  }
  return links;
}

std::string Line(const Setup& setup, const Board& board) {
  // The slowest rank's, in microseconds.
  std::vector<double> times(setup.iterations);
  double cpu = 0;
  const std::uint32_t ranks = setup.nodes * setup.local;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (std::uint32_t i = 0; i < setup.iterations; ++i) times[i] = std::max(times[i], board.time(rank, i));
    cpu += board.cpu(rank);
  }
  const double median = Median(times);
  const double algorithm = static_cast<double>(setup.bytes) / median / 1e3;
  const double n = setup.nodes;
  nlohmann::ordered_json line{{"bench", "hfreduce"},
                              {"nodes", setup.nodes},
                              {"local", setup.local},
                              {"zones", setup.zones},
                              {"transport", board.transport()},
                              {"netns", setup.netns},
                              {"congestion", setup.congestion},
                              {"bytes", setup.bytes},
                              {"dtype", NameOf(setup.type)},
                              {"op", NameOf(setup.op)},
                              {"memory", setup.memory},
                              {"result", setup.result},
                              {"iters", setup.iterations},
                              {"median_us", median},
                              {"best_us", *std::min_element(times.begin(), times.end())},
                              {"cpu_us", cpu / setup.iterations},
                              {"algbw_GBps", algorithm},
                              {"netbw_GBps", 2 * (n - 1) / n * algorithm},
                              {"bytes_per_link", LinksOf(setup, board)},
                              {"simd", SimdTarget()},
                              {"checked", true}};
  return line.dump();
}

}  // namespace

Result<std::string> Run(const Setup& setup) {
  if (Status status = setup.Check(); !status.ok()) return status;
  if (setup.netns) {
    if (Status status = MakeHub(setup.zones, setup.zone_mbit); !status.ok()) return status;
  }
  Result<std::unique_ptr<Board>> board = Board::Create(setup);
  if (!board.ok()) return board.status();
  const Topology topology = setup.topology();
  std::vector<pid_t> nodes;
  std::vector<int> links;
  // Before this process has the store's thread, which may hold a lock that a child would inherit (UCX's, in mmap).
  for (std::uint32_t node = 0; node < setup.nodes; ++node) {
    int pair[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
      return Status(StatusCode::kUnavailable, "socketpair");
    nodes.push_back(Fork([&] { return RunNode(setup, node, pair[1], **board); }));
    ::close(pair[1]);
    links.push_back(pair[0]);
  }
  TcpStoreOptions options;
  options.serve = true;
  if (setup.netns) options.host = kHubAddress;
  const auto store = TcpStore::Create(options);
  Status connected = store.ok() ? Status::Ok() : store.status();
  for (std::uint32_t node = 0; node < setup.nodes; ++node) {
    char byte = 0;
    if (connected.ok() && ::read(links[node], &byte, 1) == 1) {
      if (setup.netns) connected = ConnectNode(node, topology.nodes[node].zone, nodes[node]);
      const std::uint16_t port = (*store)->port();
      if (connected.ok() && ::write(links[node], &port, sizeof port) != sizeof port) {
        connected = {StatusCode::kUnavailable, "a node has died"};
      }
    }
    ::close(links[node]);
  }
  const bool well = AllEndedWell(nodes);
  if (!connected.ok()) return connected;
  if (!well) return Status(StatusCode::kUnavailable, "a rank failed: see above");
  return Line(setup, **board);
}

}  // namespace glim::hfreduce::bench
