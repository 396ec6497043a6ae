#include "sdk/hfreduce/testing/network.h"

#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace glim::hfreduce::bench {
namespace {

// Of iproute2; no shell. Words are separated by single spaces.
Status Command(const std::string& line) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at <= line.size()) {
    const std::size_t space = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, space - at));
    at = space + 1;
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, argv[0], nullptr, nullptr, argv.data(), environ);
  if (error != 0) return {StatusCode::kUnavailable, "'" + line + "': " + std::strerror(error)};
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Status::Ok();
  return {StatusCode::kUnavailable, "'" + line + "' failed"};
}

Status Commands(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    if (Status status = Command(line); !status.ok()) return status;
  }
  return Status::Ok();
}

std::string BridgeOf(std::uint32_t zone) { return "zone" + std::to_string(zone); }

}  // namespace

std::string AddressOf(std::uint32_t node) { return "10.77.0." + std::to_string(node + 1); }

Status MakeHub(std::uint32_t zones, std::uint32_t zone_mbit) {
  if (::unshare(CLONE_NEWNET) != 0) {
    return {StatusCode::kPermissionDenied, std::string("--netns needs root: ") + std::strerror(errno)};
  }
  std::vector<std::string> lines{"ip link set lo up", "ip link add name zone0 type bridge", "ip link set zone0 up",
                                 std::string("ip addr add ") + kHubAddress + "/24 dev zone0"};
  if (zones == 2) {
    for (const char* line : {"ip link add name zone1 type bridge", "ip link set zone1 up",
                             "ip link add name across0 type veth peer name across1", "ip link set across0 master zone0",
                             "ip link set across1 master zone1", "ip link set across0 up", "ip link set across1 up"}) {
      lines.push_back(line);
    }
    if (zone_mbit > 0) {
      for (const char* side : {"across0", "across1"}) {
        lines.push_back(std::string("tc qdisc add dev ") + side + " root tbf rate " + std::to_string(zone_mbit) +
                        "mbit burst 512kb latency 50ms");
      }
    }
  }
  return Commands(lines);
}

Status ConnectNode(std::uint32_t node, std::uint32_t zone, pid_t pid) {
  const std::string name = std::to_string(node);
  const std::string process = std::to_string(pid);
  const std::string inside = "nsenter -t " + process + " -n ";
  return Commands({"ip link add name node" + name + " type veth peer name eth0 netns " + process,
                   "ip link set node" + name + " master " + BridgeOf(zone), "ip link set node" + name + " up",
                   inside + "ip addr add " + AddressOf(node) + "/24 dev eth0", inside + "ip link set eth0 up",
                   inside + "ip link set lo up"});
}

}  // namespace glim::hfreduce::bench
